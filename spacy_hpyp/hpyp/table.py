"""The frozen table of a distribution: probabilities of a seating that does not change.

A restaurant that serves a dish gives it a fixed probability. It gives every other dish its parent's
probability times one factor, the back-off factor. So a prediction walks from the root of an expert
to the deepest restaurant of its context, and keeps the last probability that it meets on the way.

The children of a restaurant stand together in a room, each as near as possible to the place that a
hash of its symbol names. The dishes of a restaurant are found in the same way.

Where experts are multiplied, only logs up to a constant matter. Restaurants that serve many dishes
have a row with the logs of all. The others list the *excess* of each dish that they or their
parents serve over the nearest row above. So a prediction reads one row and one list for each
expert.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, overwrite, struct
from ..memory import giving_back
from . import franchise as column
from .franchise import Franchise, restaurant_probability, tables_of

#: Restaurants are told apart by the buckets of their numbers of customers: 1, 2, 3 to 4, 5 to 8,
#: and so on, the last one being open.
BUCKETS = 8

RESTAURANT = np.dtype(
    [("key", np.uint32), ("children", np.uint32), ("dishes", np.uint32), ("value", np.float32)]
)
ENTRY = np.dtype([("key", np.uint32), ("value", np.float32)])

#: The key where nothing stands.
EMPTY = 0xFFFFFFFF
#: From here on `dishes` is a single dish, and from there on the number of a row.
SINGLE, ROW = 0x80000000, 0xC0000000
#: The symbol stands above so many bits of a restaurant's key. With these in one number a restaurant
#: has 16 bytes, and all that the way down reads of it is in one line of a processor's cache.
#: Children in the order of hashes, with the end of a room in the next restaurant, took 30 % more
#: time to be found.
SYMBOL_SHIFT = 8
_BUCKET_BITS, _ROOM_BITS = np.uint32(3), np.uint32(31)
# Up to so many children have a room without gaps, and more a power of two.
_EXACT = 4

_SPREAD, _LOW, _HALF = np.uint64(0x9E3779B1), np.uint64(0xFFFFFFFF), np.uint64(32)
# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs;
# one dish never makes a row.
_DENSE_SHARE, _DENSE = 0.12, 5
# No probability or factor is rounded to 0.
_LEAST = 1.2e-38


@struct
class FrozenTable(NamedTuple):
    """Probabilities of one distribution.

    columns (int32[experts, depth]), alphabet (int64[1]): As in `Franchise`.
    restaurants (RESTAURANT[*]): The experts' roots, and all other restaurants with customers.
        key: The context symbol that leads here from the parent, the size of the room for children,
            and the bucket, see `_settle`; `EMPTY` where no restaurant stands.
        children: Where that room begins.
        dishes: Where a list begins in `entries`, or `SINGLE` and the only dish, or `ROW` and the
            number of a row (0 if experts are mixed: no dish at all).
        value: If experts are multiplied, the excess of the only dish in nats. Otherwise the
            back-off factor, or if that is above 1/2 and there is one dish the negative of its
            complement: the dish has all that is not passed on, and both are known precisely.
    entries (ENTRY[*]): Lists. The first entry of each has the number of the others in place of a
        key. Those have dishes, and p(dish | restaurant), with gaps; or if experts are multiplied,
        excesses in nats.
    row (float32[rows, alphabet]): Logs of probabilities, in nats, up to a constant of the row.
    """

    columns: np.ndarray
    alphabet: np.ndarray
    restaurants: np.ndarray
    entries: np.ndarray
    row: np.ndarray


@jit
def bucket_of(customers):
    """The bucket of a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < BUCKETS - 1:
        customers >>= 1
        place += 1
    return place


@jit
def room_of(key):
    """For how many children of a restaurant there is room (uint64), by its key (uint32)."""
    number = np.uint64((key >> _BUCKET_BITS) & _ROOM_BITS)
    return number if number <= np.uint64(_EXACT) else np.uint64(1) << (number - np.uint64(2))


@jit
def first_try(number, room):
    """Where in a room to look first for a symbol or dish (uint64).

    number, room (uint64): The symbol or dish, and the size of the room.
    """
    return ((number * _SPREAD & _LOW) * room) >> _HALF


@jit
def find(table, first, room, shift, number):
    """The place of a symbol or dish in a room, or the empty place where it belongs, or `NONE` if
    there is neither.

    table: Restaurants or entries, with the number above the lowest `shift` bits of the key.
    first, room (int): Where the room begins, and how large it is.
    """
    if room == 0:
        return NONE
    at = np.int64(first_try(np.uint64(number), np.uint64(room)))
    for _ in range(room):
        key = table[first + at].key
        if key == EMPTY or key >> shift == number:
            return first + at
        at += 1
        if at == room:
            at = 0
    return NONE


# Probabilities.


@jit
def child_of(table, restaurant, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    here = table.restaurants[restaurant]
    place = find(
        table.restaurants,
        np.int64(here.children),
        np.int64(room_of(here.key)),
        SYMBOL_SHIFT,
        symbol,
    )
    return place if place != NONE and table.restaurants[place].key != EMPTY else NONE


@jit
def back_off_of(table, restaurant):
    """The factor of the parent's probability of a dish that a restaurant does not serve."""
    stored = np.float64(table.restaurants[restaurant].value)
    return stored if stored >= 0.0 else 1.0 + stored


@jit
def share_or_less(table, restaurant, dish, above):
    """p(dish | restaurant) under an expert that is mixed, negative if the restaurant does not serve
    the dish.

    What a restaurant does not serve, none below it serves either.

    above (float): The same of its parent, or of a root the uniform distribution's.
    """
    listed = np.int64(table.restaurants[restaurant].dishes)
    if above >= 0.0:
        if listed < SINGLE:
            place = find(table.entries, listed + 1, np.int64(table.entries[listed].key), 0, dish)
            if place != NONE and table.entries[place].key != EMPTY:
                return np.float64(table.entries[place].value)
        elif listed == SINGLE + dish:
            stored = np.float64(table.restaurants[restaurant].value)
            return above - stored * (1.0 - above) if stored < 0.0 else 1.0 - stored * (1.0 - above)
    return -abs(above) * back_off_of(table, restaurant)


@jit
def probability(table, expert, row, dish):
    """p(dish | context) under an expert that is mixed.

    row (int32[elements]): The context row.
    """
    restaurant, level = np.int64(expert), 0
    found = share_or_less(table, restaurant, dish, 1.0 / table.alphabet[0])
    while level < table.columns.shape[1] and table.columns[expert, level] != NONE:
        restaurant = child_of(table, restaurant, row[table.columns[expert, level]])
        if restaurant == NONE:
            break
        found = share_or_less(table, restaurant, dish, found)
        level += 1
    return abs(found)


@jit
def distribution(table, expert, row, out):
    """p(. | context) of all dishes under one expert.

    row (int32[elements]): The context row.
    out (float64[alphabet]): Overwritten.
    """
    restaurant, level, multiplied, with_row = np.int64(expert), 0, len(table.row) > 0, np.int64(0)
    out[:] = 1.0 / table.alphabet[0]
    while True:
        here = table.restaurants[restaurant]
        if multiplied:
            with_row = here.dishes - ROW if here.dishes >= ROW else with_row
        else:
            _enter_dishes(table, restaurant, out)
        if level == table.columns.shape[1] or table.columns[expert, level] == NONE:
            break
        below = child_of(table, restaurant, row[table.columns[expert, level]])
        if below == NONE:
            break
        restaurant, level = below, level + 1
    if multiplied:
        out[:] = 0.0
        add_row(table, with_row, 1.0, out)
        add_excesses(
            table,
            table.restaurants[restaurant].dishes,
            table.restaurants[restaurant].value,
            1.0,
            out,
        )
        mass = 0.0
        for dish in range(len(out)):
            out[dish] = exp(out[dish])
            mass += out[dish]
        for dish in range(len(out)):
            out[dish] /= mass


@jit
def _enter_dishes(table, restaurant, out):
    """Turn the probabilities of a restaurant's parent, under an expert that is mixed, into its
    own.
    """
    listed, back_off = (
        np.int64(table.restaurants[restaurant].dishes),
        back_off_of(table, restaurant),
    )
    if SINGLE <= listed < ROW:
        dish = listed - SINGLE
        above, out[dish] = out[dish], 0.0
        for other in range(len(out)):
            out[other] *= back_off
        out[dish] = share_or_less(table, restaurant, dish, above)
        return
    for dish in range(len(out)):
        out[dish] *= back_off
    if listed < SINGLE:
        for place in range(listed + 1, listed + 1 + table.entries[listed].key):
            if table.entries[place].key != EMPTY:
                out[table.entries[place].key] = table.entries[place].value


@jit
def add_row(table, number, weight, out):
    """Add a row of logs, times a weight, to `out` (float64[alphabet])."""
    logs = table.row[number]
    for dish in range(len(out)):
        out[dish] += weight * logs[dish]


@jit
def add_excesses(table, listed, excess, weight, out):
    """Add excesses over a row, times a weight, to `out` (float64[alphabet]).

    listed (uint32), excess (float32): The restaurant's `dishes` and `value`.
    """
    if listed < SINGLE:
        first = np.int64(listed) + 1
        for place in range(first, first + np.int64(table.entries[listed].key)):
            out[table.entries[place].key] += weight * table.entries[place].value
    elif listed < ROW:
        out[listed - SINGLE] += weight * excess


# Making a table.


@giving_back
def freeze(franchise: Franchise, *, multiplied: bool = False) -> FrozenTable:
    """The table of the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants or entries than can be numbered.
    RAISES (ValueError): If there are too many symbols.
    """
    # There are millions of restaurants: what is noted of each has 32 bits, and is let go when it is
    # not needed any more.
    symbols = franchise.restaurants[: franchise.used[column.N_RESTAURANTS], column.SYMBOL]
    if symbols.max(initial=0) >= EMPTY >> SYMBOL_SHIFT:
        raise ValueError(f"A table has at most {EMPTY >> SYMBOL_SHIFT} symbols. Use fewer words.")
    children, served = _count(franchise)
    numbers = np.where(children <= _EXACT, children, np.ceil(np.log2(1.25 * children + 1e-9)) + 2)
    numbers = numbers.astype(np.uint32)
    rooms = int(np.where(numbers <= _EXACT, numbers, 1 << (numbers - 2)).sum(dtype=np.int64))
    restaurants = np.empty(len(franchise.columns) + rooms, dtype=RESTAURANT)
    restaurants["key"] = EMPTY
    place = _settle(franchise, numbers, restaurants)
    probability, back_off = finish(franchise)
    row = np.empty((0, 0), dtype=np.float32)
    if multiplied:
        least = max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE))
        own_row, rows = _number_rows(franchise, served, least)
        row = np.empty((rows, int(franchise.alphabet[0])), dtype=np.float32)
    else:
        served[served > 1] += served[served > 1] // 2
    entries = np.empty(int((served + 1).sum(dtype=np.int64, where=served > 1)), dtype=ENTRY)
    entries["key"] = EMPTY
    if max(len(restaurants), len(entries)) >= SINGLE:
        raise MemoryError(
            "A table cannot hold so many restaurants. Use shorter contexts or less text."
        )
    if multiplied:
        _enter_logs(
            franchise, place, served, probability, back_off, restaurants, entries, own_row, row
        )
    else:
        _enter_probabilities(franchise, place, served, probability, back_off, restaurants, entries)
    return FrozenTable(franchise.columns, franchise.alphabet, restaurants, entries, row)


@jit
def finish(franchise):
    """The probabilities of the present seating.

    RETURNS (tuple[float64[*], float64[*]]): p(dish | restaurant) of every serving; and what
        multiplies the parent's probability of a dish that a restaurant does not serve.
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    probability = np.empty(franchise.used[column.N_SERVINGS])
    back_off = np.empty(franchise.used[column.N_RESTAURANTS])
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        back_off[restaurant] = restaurant_probability(franchise, restaurant, 0, 0, 1.0)
        serving = restaurants[restaurant, column.FIRST]
        while serving != NONE:
            above = servings[serving, column.ABOVE]
            base = 1.0 / franchise.alphabet[0] if above == NONE else probability[above]
            probability[serving] = restaurant_probability(
                franchise,
                restaurant,
                servings[serving, column.SERVED],
                tables_of(servings[serving]),
                base,
            )
            serving = servings[serving, column.NEXT]
    return probability, back_off


@jit
def _count(franchise):
    """How many restaurants with customers are the children of each restaurant, and how many dishes
    it serves (int32[restaurants] each).
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    children = np.zeros(franchise.used[column.N_RESTAURANTS], dtype=np.int32)
    served = np.zeros(franchise.used[column.N_RESTAURANTS], dtype=np.int32)
    for restaurant in range(len(franchise.columns), len(children)):
        if restaurants[restaurant, column.CUSTOMERS] > 0:
            children[restaurants[restaurant, column.PARENT]] += 1
    for serving in range(franchise.used[column.N_SERVINGS]):
        if servings[serving, column.SERVED] > 0:
            served[servings[serving, column.RESTAURANT]] += 1
    return children, served


@jit
def _settle(franchise, numbers, restaurants):
    """Give every restaurant with customers its place.

    numbers (uint32[used]): The number of the room of each row's children, see `room_of`.
    restaurants (RESTAURANT[*]): `key` and `children` are entered.
    RETURNS (int32[used]): The place of each row, `NONE` of one without customers.
    """
    rows, experts = franchise.restaurants, len(franchise.columns)
    places = np.full(len(numbers), NONE, dtype=np.int32)
    free = np.int64(experts)
    # Parents before their children.
    for row in range(len(numbers)):
        customers, symbol, place = rows[row, column.CUSTOMERS], np.int64(0), np.int64(row)
        if row >= experts:
            if customers == 0:
                continue
            above = restaurants[places[rows[row, column.PARENT]]]
            first, symbol = np.int64(above.children), np.int64(rows[row, column.SYMBOL])
            place = find(restaurants, first, np.int64(room_of(above.key)), SYMBOL_SHIFT, symbol)
        bucket = bucket_of(customers) if customers > 0 else 0
        here = restaurants[place]
        places[row], here.children = place, free
        here.key = symbol << SYMBOL_SHIFT | np.int64(numbers[row]) << 3 | bucket
        free += np.int64(room_of(here.key))
    return places


@jit
def _enter_probabilities(franchise, places, rooms, probability, back_off, restaurants, entries):
    """Fill `dishes`, `value` and lists, if experts are mixed.

    rooms (int32[used]): For how many dishes there is room: one or none, or in a list.
    probability (float64[*]), back_off (float64[*]): See `finish`.
    """
    rows, seated = franchise.restaurants, franchise.servings
    free = np.int64(0)
    for restaurant in range(len(places)):
        if places[restaurant] == NONE:
            continue
        here, room = restaurants[places[restaurant]], np.int64(rooms[restaurant])
        passed_on = back_off[restaurant]
        single = room == 1 and passed_on > 0.5
        here.value = passed_on - 1.0 if single else max(passed_on, _LEAST)
        here.dishes = ROW
        if room > 1:
            here.dishes, entries[free].key = free, room
            free += 1
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish = np.int64(seated[serving, column.DISH])
            if seated[serving, column.SERVED] > 0 and room > 1:
                entry = entries[find(entries, free, room, 0, dish)]
                entry.key, entry.value = dish, max(probability[serving], _LEAST)
            elif seated[serving, column.SERVED] > 0:
                here.dishes = SINGLE + dish
            serving = seated[serving, column.NEXT]
        free += room if room > 1 else 0


@jit
def _number_rows(franchise, served, least):
    """Which restaurants have rows of logs, and how many dishes the others list.

    What the parent lists, a restaurant without a row lists too: with excesses of its own, or with
    its parent's.

    served (int32[*]): How many dishes each restaurant serves; overwritten with how many it lists.
    RETURNS (tuple[int32[*], int]): The row of each restaurant, or ~row of the nearest above it if
        it serves fewer dishes than `least`; and how many rows there are.
    """
    own_row = np.empty(len(served), dtype=np.int32)
    rows = 0
    for restaurant in range(len(served)):
        parent = franchise.restaurants[restaurant, column.PARENT]
        if parent == NONE or served[restaurant] >= least:
            own_row[restaurant], served[restaurant] = rows, 0
            rows += 1
            continue
        own_row[restaurant] = min(own_row[parent], ~own_row[parent])
        if franchise.restaurants[restaurant, column.CUSTOMERS] > 0 and own_row[parent] < 0:
            served[restaurant] = served[parent]
    return own_row, rows


@jit
def _enter_logs(
    franchise, places, listed, probability, back_off, restaurants, entries, own_row, row
):
    """Fill `dishes`, `value`, lists and rows, if experts are multiplied.

    probability (float64[*]), back_off (float64[*]): See `finish`; the second is overwritten.
    own_row, listed (int32[*]): As `_number_rows` returns and leaves them.
    row (float32[rows, alphabet]): Overwritten.
    """
    rows, seated, alphabet = franchise.restaurants, franchise.servings, franchise.alphabet[0]
    # In the place of the factors, logs of their products since the row.
    passed_on = back_off
    free = np.int64(0)
    for restaurant in range(len(places)):
        if places[restaurant] == NONE:
            continue
        here, count = restaurants[places[restaurant]], np.int64(listed[restaurant])
        parent, number, factor = (
            rows[restaurant, column.PARENT],
            own_row[restaurant],
            log(back_off[restaurant]),
        )
        if number >= 0:
            passed_on[restaurant], here.dishes = 0.0, ROW + number
            if parent == NONE:
                row[number] = factor - log(alphabet)
            else:
                # A restaurant serves no more than its parent: that has a row, too.
                row[number] = row[own_row[parent]] + np.float32(factor)
        else:
            passed_on[restaurant] = passed_on[parent] + factor
        if count > 1:
            here.dishes, entries[free].key = free, count
            free += 1
            if own_row[parent] < 0:
                above = np.int64(restaurants[places[parent]].dishes) + 1
                overwrite(entries[free:], entries[above : above + count])
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish, found = np.int64(seated[serving, column.DISH]), log(probability[serving])
            if number >= 0:
                row[number, dish] = found
            elif seated[serving, column.SERVED] > 0:
                excess = found - passed_on[restaurant] - row[~number, dish]
                if count > 1:
                    place = free
                    while entries[place].key != EMPTY and entries[place].key != dish:
                        place += 1
                    entries[place].key, entries[place].value = dish, excess
                else:
                    here.dishes, here.value = SINGLE + dish, excess
            serving = seated[serving, column.NEXT]
        free += count if count > 1 else 0
