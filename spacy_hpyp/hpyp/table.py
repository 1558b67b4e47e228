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

A table does not fit a processor's cache: nearly every step towards the deepest restaurant of a
context waits for the memory. So all experts go down level by level, and at each level all places
are fetched before any is looked at, with what they serve behind them: a processor fetches a dozen
of them in the time of one. One after the other they take a quarter more time of a parse (French
Sequoia: 6,700 for 8,500 words per second).
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, dispatch, fetch, jit, jitable, overwrite, struct
from ..memory import giving_back
from . import franchise as column
from .franchise import Franchise, restaurant_probability

#: Restaurants are distinguished by buckets of their numbers of customers: 1, 2, 3 to 4, 5 to 8, and
#: so on. The last bucket is open.
BUCKETS = 8

RESTAURANT = np.dtype(
    [("key", np.uint32), ("children", np.uint32), ("dishes", np.uint32), ("value", np.float32)]
)
ENTRY = np.dtype([("key", np.uint32), ("value", np.float32)])

#: The key of an empty slot.
EMPTY = 0xFFFFFFFF
#: From `SINGLE` on, `dishes` is a single dish; from `ROW` on, the number of a row.
SINGLE, ROW = 0x80000000, 0xC0000000
# The number of bits below the symbol in a restaurant's key. With both in one number, a restaurant
# has 16 bytes, in one cache line. Children in the order of hashes, with the end of a room in the
# next restaurant, took 30 % longer to look up.
_SYMBOL_SHIFT = 8
_BUCKET_BITS, _ROOM_BITS = np.uint32(3), np.uint32(31)
# Up to this many children have a room without gaps; larger rooms are powers of two.
_EXACT = 4

_SPREAD, _LOW, _HALF = np.uint64(0x9E3779B1), np.uint64(0xFFFFFFFF), np.uint64(32)
# Indices that are known to be non-negative take fewer instructions.
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_SINGLE, _ROW, _EMPTY = np.uint32(SINGLE), np.uint32(ROW), np.uint32(EMPTY)
_SYMBOL = np.uint32(_SYMBOL_SHIFT)
# Roots, and restaurants that serve at least this share of the alphabet, or this many dishes, have a
# row of logs. One dish never makes a row, but for roots.
_DENSE_SHARE, _DENSE = 0.12, 5
# The smallest probability or factor, so that none is rounded to 0.
_LEAST = 1.2e-38
# The number of logs in a cache line.
_LINE = 16


@struct
class FrozenTable(NamedTuple):
    """Probabilities of one distribution."""

    columns: np.ndarray  # int32[experts, depth]: as in `Franchise`
    alphabet: np.ndarray  # int64[1]: the number of dishes
    # RESTAURANT[*]: the experts' roots, and all other restaurants with customers.
    #   key: The context symbol that leads here from the parent, the size of the room for children,
    #     and the bucket, see `_settle`; `EMPTY` where there is no restaurant.
    #   children: The beginning of that room.
    #   dishes: The beginning of a list in `entries`, or `SINGLE` and the only dish, or `ROW` and
    #     the number of a row (0 if experts are mixed: no dish at all).
    #   value: If experts are multiplied, the excess of the only dish in nats. Otherwise the
    #     back-off factor, or if that is above 1/2 and there is one dish the negative of its
    #     complement: the dish has all that is not passed on, and both are known precisely.
    restaurants: np.ndarray
    # ENTRY[*]: lists. The key of the first entry of each is the number of the others. Those have
    # dishes, and p(dish | restaurant), with gaps; or if experts are multiplied, excesses in nats.
    entries: np.ndarray
    row: np.ndarray  # float32[rows, alphabet]: log-probabilities (nats); empty for mixed experts


@jitable
def bucket_of(customers):
    """Return the bucket of a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < BUCKETS - 1:
        customers >>= 1
        place += 1
    return place


@jitable
def _room_of(key):
    """Return for how many children of a restaurant there is room (uint64), by its key (uint32)."""
    number = np.uint64((key >> _BUCKET_BITS) & _ROOM_BITS)
    return number if number <= np.uint64(_EXACT) else np.uint64(1) << (number - np.uint64(2))


@jitable
def _first_try(number, room):
    """Return the place in a room where the search for a symbol or dish begins (uint64 each)."""
    return ((number * _SPREAD & _LOW) * room) >> _HALF


@jitable
def _find(rows, first, room, shift, number):
    """Return the place of a symbol or dish in a room of restaurants or entries, or the empty place
    where it belongs, or `NONE`. The number stands above the lowest `shift` bits of a key.
    """
    if room == 0:
        return NONE
    at = np.int64(_first_try(np.uint64(number), np.uint64(room)))
    for _ in range(room):
        key = rows[first + at].key
        if key == EMPTY or key >> shift == number:
            return first + at
        at += 1
        if at == room:
            at = 0
    return NONE


@jitable
def child_of(table, restaurant, symbol):
    """Return the restaurant one context symbol below a restaurant, or `NONE`."""
    here = table.restaurants[restaurant]
    first, room = np.int64(here.children), np.int64(_room_of(here.key))
    place = _find(table.restaurants, first, room, _SYMBOL_SHIFT, symbol)
    return place if place != NONE and table.restaurants[place].key != EMPTY else NONE


@jitable
def _back_off_of(table, restaurant):
    """Return the factor of the parent's probability of a dish that a restaurant does not serve."""
    stored = np.float64(table.restaurants[restaurant].value)
    return stored if stored >= 0.0 else 1.0 + stored


@jitable
def _probability(table, restaurant, dish, above):
    """Return p(dish | restaurant) under an expert that is mixed, given that of the parent: negative
    if the restaurant does not serve the dish, as then none below it does.
    """
    listed = np.int64(table.restaurants[restaurant].dishes)
    if above >= 0.0:
        if listed < SINGLE:
            place = _find(table.entries, listed + 1, np.int64(table.entries[listed].key), 0, dish)
            if place != NONE and table.entries[place].key != EMPTY:
                return np.float64(table.entries[place].value)
        elif listed == SINGLE + dish:
            stored = np.float64(table.restaurants[restaurant].value)
            return above - stored * (1.0 - above) if stored < 0.0 else 1.0 - stored * (1.0 - above)
    return -abs(above) * _back_off_of(table, restaurant)


@dispatch
def distribution(experts, expert, row, out):
    """Write p(. | context) of one expert into `out` (float64[alphabet])."""


@distribution.register(FrozenTable)
@jit
def _distribution(table, expert, row, out):
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
        _add_row(table, with_row, 1.0, out)
        _add_excesses(table, restaurant, 1.0, out)
        mass = 0.0
        for dish in range(len(out)):
            out[dish] = exp(out[dish])
            mass += out[dish]
        for dish in range(len(out)):
            out[dish] /= mass


@jitable
def _enter_dishes(table, restaurant, out):
    """Turn the distribution of a restaurant's parent into its own, if experts are mixed."""
    listed = np.int64(table.restaurants[restaurant].dishes)
    back_off, single = _back_off_of(table, restaurant), 0.0
    if SINGLE <= listed < ROW:
        single = _probability(table, restaurant, listed - SINGLE, out[listed - SINGLE])
    for dish in range(len(out)):
        out[dish] *= back_off
    if SINGLE <= listed < ROW:
        out[listed - SINGLE] = single
    elif listed < SINGLE:
        for place in range(listed + 1, listed + 1 + table.entries[listed].key):
            if table.entries[place].key != EMPTY:
                out[table.entries[place].key] = table.entries[place].value


# All experts at once, see `pool.Scratch`; `pool` has the same for counts.


@dispatch
def descend(experts, row, dish, scratch):
    """Find, in `scratch`, the deepest restaurant of a context under each expert, the place of its
    weight, and the probability of a dish there; or what `add_logs` needs, if the dish is `NONE`.
    """


@descend.register(FrozenTable)
@jitable
def _descend(table, row, dish, scratch):
    tiers, width = np.uint64(table.columns.shape[1] + 1), np.uint64(table.row.shape[1])
    _go_down(table, row, dish, scratch)
    for expert in range(np.uint64(len(scratch.place))):
        here = table.restaurants[scratch.place[expert]]
        bucket = np.uint64(here.key) & np.uint64(BUCKETS - 1)
        tier = expert * tiers + scratch.level[expert]
        scratch.weight_at[expert] = tier * np.uint64(BUCKETS) + bucket
        if dish != NONE:
            scratch.probability[expert] = abs(scratch.probability[expert])
            continue
        if here.dishes < _SINGLE:
            fetch(table.entries, here.dishes)
        begin = scratch.row[expert] * width
        for at in range(begin, begin + width, np.uint64(_LINE)):
            fetch(table.row, at)


@jitable
def _go_down(table, row, dish, scratch):
    restaurants, columns = table.restaurants, table.columns
    place, active, trial, reached = scratch.place, scratch.active, scratch.trial, scratch.reached
    left = np.uint64(len(columns))
    for expert in range(left):
        active[expert], reached[expert], scratch.level[expert] = expert, expert, _ZERO
        place[expert] = expert
        scratch.row[expert] = np.uint64(restaurants[expert].dishes - _ROW)
        scratch.probability[expert] = 1.0 / table.alphabet[0]
    served = left if dish != NONE else _ZERO
    for level in range(columns.shape[1]):
        tried = _ZERO
        for a in range(left):
            expert = active[a]
            here = restaurants[place[expert]]
            room = _room_of(here.key)
            # An expert whose restaurant has children reads a symbol.
            if room != _ZERO:
                symbol = np.uint64(np.uint32(row[columns[expert, level]]))
                at = np.uint64(here.children) + _first_try(symbol, room)
                active[tried], trial[tried] = expert, at
                tried += _ONE
                fetch(restaurants, at)
        _look_up(table, dish, served, scratch)
        left = served = _ZERO
        for a in range(tried):
            expert, at = active[a], trial[a]
            wanted = np.uint32(row[columns[expert, level]])
            if restaurants[at].key >> _SYMBOL != wanted:
                if restaurants[at].key == _EMPTY:
                    continue
                found = child_of(table, place[expert], np.int64(wanted))
                if found == NONE:
                    continue
                at = np.uint64(found)
            place[expert], scratch.level[expert] = at, np.uint64(level + 1)
            active[left] = expert
            left += _ONE
            dishes = restaurants[at].dishes
            if dish != NONE:
                reached[served] = expert
                served += _ONE
                if dishes < _SINGLE and scratch.probability[expert] >= 0.0:
                    fetch(table.entries, dishes)
            elif dishes >= _ROW:
                scratch.row[expert] = np.uint64(dishes - _ROW)
        if left == _ZERO:
            break
    _look_up(table, dish, served, scratch)


@jitable
def _look_up(table, dish, count, scratch):
    """Find the probability of the dish under the first experts of `reached`."""
    probability = scratch.probability
    for a in range(count):
        expert = scratch.reached[a]
        above = probability[expert]
        probability[expert] = _probability(table, scratch.place[expert], dish, above)


@dispatch
def add_logs(experts, scratch, out):
    """Add the logs of all experts, times their weights, to `out` (float64[alphabet])."""


@add_logs.register(FrozenTable)
@jitable
def _add_logs(table, scratch, out):
    for expert in range(len(scratch.weight)):
        _add_row(table, scratch.row[expert], scratch.weight[expert], out)
    for expert in range(len(scratch.weight)):
        _add_excesses(table, scratch.place[expert], scratch.weight[expert], out)


@jitable
def _add_row(table, number, weight, out):
    logs = table.row[number]
    for dish in range(len(out)):
        out[dish] += weight * logs[dish]


@jitable
def _add_excesses(table, restaurant, weight, out):
    here = table.restaurants[restaurant]
    listed = here.dishes
    if listed < SINGLE:
        first = np.int64(listed) + 1
        for place in range(first, first + np.int64(table.entries[listed].key)):
            out[table.entries[place].key] += weight * table.entries[place].value
    elif listed < ROW:
        out[listed - SINGLE] += weight * here.value


@dispatch
def surplus(experts, expert, dish, out, scratch):
    """Return the log-probability of a dish under an expert that is multiplied, less the mean over
    all dishes by their probabilities `out`, in nats.
    """


@surplus.register(FrozenTable)
@jitable
def _surplus(table, expert, dish, out, scratch):
    here, logs = table.restaurants[scratch.place[expert]], table.row[scratch.row[expert]]
    found = np.float64(logs[dish])
    for y in range(len(out)):
        found -= out[y] * logs[y]
    if here.dishes < _SINGLE:
        first = np.int64(here.dishes) + 1
        for place in range(first, first + np.int64(table.entries[first - 1].key)):
            served = np.int64(table.entries[place].key)
            found += table.entries[place].value * ((served == dish) - out[served])
    elif here.dishes < _ROW:
        served = np.int64(here.dishes - _SINGLE)
        found += here.value * ((served == dish) - out[served])
    return found


# Freezing.


@giving_back
def freeze(franchise: Franchise, *, multiplied: bool = False) -> FrozenTable:
    """Return the table of the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants or entries than can be numbered.
    RAISES (ValueError): If there are too many symbols.
    """
    # There are millions of restaurants: arrays of numbers of restaurants or dishes have 32 bits.
    rows = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    if rows[:, column.SYMBOL].max(initial=0) >= EMPTY >> _SYMBOL_SHIFT:
        raise ValueError(f"A table has at most {EMPTY >> _SYMBOL_SHIFT} symbols. Use fewer words.")
    # The children with customers, and the dishes, of each restaurant.
    children = _count(rows[len(franchise.columns) :], column.CUSTOMERS, column.PARENT, len(rows))
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    served = _count(servings, column.SERVED, column.RESTAURANT, len(rows))
    numbers = np.where(children <= _EXACT, children, np.ceil(np.log2(1.25 * children + 1e-9)) + 2)
    numbers = numbers.astype(np.uint32)
    rooms = int(np.where(numbers <= _EXACT, numbers, 1 << (numbers - 2)).sum(dtype=np.int64))
    restaurants = np.empty(len(franchise.columns) + rooms, dtype=RESTAURANT)
    restaurants["key"] = EMPTY
    place = _settle(franchise, numbers, restaurants)
    probability, back_off = _probabilities(franchise)
    row = np.empty((0, 0), dtype=np.float32)
    if multiplied:
        least = max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE))
        own_row, dense = _number_rows(franchise, served, least)
        row = np.empty((dense, int(franchise.alphabet[0])), dtype=np.float32)
    else:
        served[served > 1] += served[served > 1] // 2
    entries = np.empty(int((served + 1).sum(dtype=np.int64, where=served > 1)), dtype=ENTRY)
    entries["key"] = EMPTY
    if max(len(restaurants), len(entries)) >= SINGLE:
        raise MemoryError(
            "A table cannot hold so many restaurants. Use shorter contexts or less text."
        )
    table = FrozenTable(franchise.columns, franchise.alphabet, restaurants, entries, row)
    if multiplied:
        _enter_logs(franchise, place, served, probability, back_off, table, own_row)
    else:
        _enter_probabilities(franchise, place, served, probability, back_off, table)
    return table


def _count(rows: np.ndarray, customers: int, place: int, places: int) -> np.ndarray:
    """Count the rows with customers by the number in the column `place` (int32[places])."""
    occupied = rows[rows[:, customers] > 0, place]
    return np.bincount(occupied, minlength=places).astype(np.int32)


@jit
def _probabilities(franchise):
    """Return p(dish | restaurant) of every serving, and the back-off factor of every restaurant."""
    probability = np.empty(franchise.used[column.N_SERVINGS])
    back_off = np.empty(franchise.used[column.N_RESTAURANTS])
    for restaurant in range(len(back_off)):
        back_off[restaurant] = restaurant_probability(franchise, restaurant, NONE, 1.0)
    # A serving's number is smaller than those of the servings below it.
    for serving in range(len(probability)):
        row = franchise.servings[serving]
        above = row[column.ABOVE]
        base = 1.0 / franchise.alphabet[0] if above == NONE else probability[above]
        probability[serving] = restaurant_probability(
            franchise, row[column.RESTAURANT], serving, base
        )
    return probability, back_off


@jit
def _settle(franchise, numbers, restaurants):
    """Enter `key` and `children` of restaurants with customers, given the numbers of the rooms of
    their children (`_room_of`). Returns the place of each restaurant, or `NONE`.
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
            first, room = np.int64(above.children), np.int64(_room_of(above.key))
            symbol = np.int64(rows[row, column.SYMBOL])
            place = _find(restaurants, first, room, _SYMBOL_SHIFT, symbol)
        bucket = bucket_of(customers) if customers > 0 else 0
        here = restaurants[place]
        places[row], here.children = place, free
        here.key = symbol << _SYMBOL_SHIFT | np.int64(numbers[row]) << 3 | bucket
        free += np.int64(_room_of(here.key))
    return places


@jit
def _enter_probabilities(franchise, places, rooms, probability, back_off, table):
    """Fill `dishes`, `value` and lists with room for so many dishes, if experts are mixed."""
    rows, seated, entries = franchise.restaurants, franchise.servings, table.entries
    free = np.int64(0)
    for restaurant in range(len(places)):
        if places[restaurant] == NONE:
            continue
        here, room = table.restaurants[places[restaurant]], np.int64(rooms[restaurant])
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
                entry = entries[_find(entries, free, room, 0, dish)]
                entry.key, entry.value = dish, max(probability[serving], _LEAST)
            elif seated[serving, column.SERVED] > 0:
                here.dishes = SINGLE + dish
            serving = seated[serving, column.NEXT]
        free += room if room > 1 else 0


@jit
def _number_rows(franchise, served, least):
    """Return the row of logs of each root or restaurant of at least `least` dishes, or ~row of the
    nearest one above it; and the number of rows. `served` becomes the number of listed dishes: a
    restaurant without a row also lists what its parent lists.
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
def _enter_logs(franchise, places, listed, probability, back_off, table, own_row):
    """Fill `dishes`, `value`, lists and rows, if experts are multiplied; see `_number_rows`."""
    rows, seated, alphabet = franchise.restaurants, franchise.servings, franchise.alphabet[0]
    restaurants, entries, logs = table.restaurants, table.entries, table.row
    free = np.int64(0)
    for restaurant in range(len(places)):
        if places[restaurant] == NONE:
            continue
        here, count = restaurants[places[restaurant]], np.int64(listed[restaurant])
        parent, number = rows[restaurant, column.PARENT], own_row[restaurant]
        factor = log(back_off[restaurant])
        if number >= 0:
            # Replace the factors by logs of their products since the row.
            back_off[restaurant], here.dishes = 0.0, ROW + number
            if parent == NONE:
                logs[number] = factor - log(alphabet)
            else:
                # A restaurant serves no more than its parent, so the parent has a row, too.
                above, more = own_row[parent], np.float32(factor)
                for dish in range(alphabet):
                    logs[number, dish] = logs[above, dish] + more
        else:
            back_off[restaurant] = back_off[parent] + factor
        if count > 1:
            here.dishes, entries[free].key = free, count
            free += 1
            if own_row[parent] < 0:
                begin = np.int64(restaurants[places[parent]].dishes) + 1
                overwrite(entries[free:], entries[begin : begin + count])
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish, found = np.int64(seated[serving, column.DISH]), log(probability[serving])
            if number >= 0:
                logs[number, dish] = found
            elif seated[serving, column.SERVED] > 0:
                excess = found - back_off[restaurant] - logs[~number, dish]
                if count > 1:
                    place = free
                    while entries[place].key != EMPTY and entries[place].key != dish:
                        place += 1
                    entries[place].key, entries[place].value = dish, excess
                else:
                    here.dishes, here.value = SINGLE + dish, excess
            serving = seated[serving, column.NEXT]
        free += count if count > 1 else 0
