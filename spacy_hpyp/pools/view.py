"""A frozen view of a seating: what predictions read.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of
every other dish the parent's probability times one factor for the restaurant. So a prediction walks from the
root of an expert to the deepest restaurant of its context, and keeps the last number that it meets on the
way.

The children of a restaurant stand together, each where its symbol leads, with all that a prediction asks of
it in sixteen bytes. Numbers have 32 bits, logs of probabilities 16. Probabilities are rounded down, so that
those of all dishes sum up to 1 at most, and what is summed up from them stays a lower bound.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, overwrite, struct
from ..hpyp import franchise as column
from ..hpyp.franchise import Franchise, restaurant_probability, tables_of
from ..memory import giving_back

#: Restaurants are told apart by the buckets of their numbers of customers: 1, 2, 3 to 4, 5 to 8, and so on,
#: the last one being open.
BUCKETS = 8
BUCKET_BITS = 3

# What the numbers of a restaurant say.
KEY, FIRST, LIST, VALUE = range(4)
#: How many numbers a restaurant has.
WIDTH = 4
# An entry of a list, if experts are not multiplied.
DISH, SHARE = 0, 1
PAIR = 2

#: The unit of logs of 16 bits, in nats; whatever is less probable than the best by more than there is room
#: for is lifted.
LOG_STEP = 2.0**-10
_LOWEST, _HIGHEST = -(1 << 15), (1 << 15) - 1
#: Where experts are multiplied, outcomes are less.
DISHES = 0xFFFF
#: Above so many bits an entry of their lists has its dish.
DISH_SHIFT = 16

# What `KEY` is put together from.
_ROOM_BITS = 7
SYMBOL_SHIFT = BUCKET_BITS + _ROOM_BITS
#: Symbols are less than this.
SYMBOLS = (1 << 22) - 1
# Rooms below have a number of their own; of those above, only the first three binary digits are free.
_EXACT_ROOM = 16

#: Where nothing stands.
EMPTY = 0xFFFFFFFF
#: From here on, `LIST` stands for a single dish.
SINGLE = 0x80000000

_SPREAD = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
# An index that is known not to be negative takes fewer instructions.
_BUCKET_BITS, _ROOM, _TWO, _THREE, _FOUR = (
    np.uint64(each) for each in (BUCKET_BITS, (1 << _ROOM_BITS) - 1, 2, 3, 4)
)
# How much more a number may have been before it was rounded down.
_OVER = 1.0 + 2.0**-23
# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish
# never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5
_LEAST = 1.2e-38
# So many entries leave no room between them.
_FEW_ENTRIES = 4


@struct
class View(NamedTuple):
    """Finished probabilities of one distribution.

    columns (int32[experts, depth]), alphabet (int64[1]): As in `Franchise`.
    restaurants (uint32[*]): `WIDTH` numbers for each of the experts' roots, and behind them for each
        restaurant with customers. A restaurant is known by the place of its KEY.

        KEY: The context symbol that leads here from the parent, for how many children there is room, and the
            restaurant's bucket, see `key_of`; `EMPTY` where no restaurant stands.
        FIRST: Where its children begin.
        LIST: What it serves: the place in `servings` where several dishes begin, or a single dish d as ~(d +
            1), or `EMPTY` if there is nothing to list.

        If experts are multiplied, only the dishes that a restaurant serves differ from a row of logs, apart
        from a constant that is lost when the product is normalised. By how much is the *excess* of a dish. A
        restaurant that has a row lists nothing, and the others have that of the nearest one above.

        VALUE: Of the single dish its excess, as a float; if there are several, their number; if there is
            none, the number of the row.

        Otherwise:

        VALUE: What multiplies the parent's probability of a dish that the restaurant does not serve, as a
            float. The single dish gets what this leaves over. So that neither is known less precisely, the
            negative of that stands here where it is the smaller one.
    value (float32[*]): The same memory, to read the floats.
    servings (uint32[*]), serving_value (float32[*]): Lists, in one memory. If experts are multiplied, an
        entry is a dish and its excess, see `entry_of`. Otherwise it is a pair of DISH and SHARE, p(dish |
        restaurant), and a pair comes before each list that is none: `EMPTY` and for how many dishes there is
        room.
    row (int16[rows, alphabet]): Logs of all probabilities of restaurants that serve many dishes, if experts
        are multiplied, in units of `LOG_STEP`; the highest of each row is 0.
    """

    columns: np.ndarray
    alphabet: np.ndarray
    restaurants: np.ndarray
    value: np.ndarray
    servings: np.ndarray
    serving_value: np.ndarray
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


# What `KEY` says, see `View`.


@jit
def key_of(symbol, number, bucket):
    """`KEY` of a restaurant.

    number (int): See `room_number`.
    """
    return np.int64(symbol) << SYMBOL_SHIFT | np.int64(number) << BUCKET_BITS | bucket


@jit
def room_number(wanted):
    """The number of the smallest room that there is for so many children."""
    number = min(wanted, _EXACT_ROOM)
    while room_of(np.uint64(number) << _BUCKET_BITS) < wanted:
        number += 1
    return number


@jit
def room_of(key):
    """For how many children there is room (uint64).

    key (uint64): `KEY` of the restaurant.
    """
    number = (key >> _BUCKET_BITS) & _ROOM
    return number if number < _EXACT_ROOM else (_FOUR | (number & _THREE)) << ((number >> _TWO) - _TWO)


# Logs of 16 bits.


@jit
def entry_of(dish, excess):
    """An entry of a list of experts that are multiplied.

    excess (float): In nats.
    """
    return dish << DISH_SHIFT | (rounded_log(excess) & ((1 << DISH_SHIFT) - 1))


@jit
def rounded_log(number):
    """A log in units of `LOG_STEP`, as an integer of 16 bits.

    number (float): In nats.
    """
    return min(max(round(number / LOG_STEP), _LOWEST), _HIGHEST)


@jit
def dish_of(entry):
    """The dish of an entry of a list of experts that are multiplied."""
    return np.int64(entry >> DISH_SHIFT)


@jit
def excess_of(entry):
    """The excess of an entry of a list of experts that are multiplied, in nats."""
    return LOG_STEP * (np.int32(entry << DISH_SHIFT) >> DISH_SHIFT)


# Where something stands: a multiple of its number says, and if that place is taken, the next one that is not.


@jit
def first_try(number, room):
    """Which entry to look at first for a symbol or dish.

    number, room (uint64): The symbol or dish, and the number of entries.
    RETURNS (uint64): From 0 on.
    """
    return ((number * _SPREAD & _LOW) * room) >> _HALF


@jit
def find(table, first, room, width, shift, number):
    """The place of a symbol or dish in a table, or the empty one where it belongs, or `NONE` if there is
    neither.

    table (uint32[*]): With the number of the symbol or dish in the first number of each entry, above the
        lowest `shift` bits.
    first, room, width (int): Where the entries begin, how many they are, and how many numbers each has.
    """
    if room == 0:
        return NONE
    at = np.int64(first_try(np.uint64(number), np.uint64(room)))
    for _ in range(room):
        found = table[first + at * width]
        if found == EMPTY or found >> shift == number:
            return first + at * width
        at += 1
        if at == room:
            at = 0
    return NONE


@jit
def below(view, restaurant, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    room = np.int64(room_of(np.uint64(view.restaurants[restaurant])))
    first = np.int64(view.restaurants[restaurant + FIRST])
    place = find(view.restaurants, first, room, WIDTH, SYMBOL_SHIFT, symbol)
    return place if place != NONE and view.restaurants[place] != EMPTY else NONE


@jit
def bucket_of_restaurant(view, restaurant):
    """The bucket of a restaurant."""
    return view.restaurants[restaurant] & (BUCKETS - 1)


@jit
def deepest_in(view, expert, row):
    """The restaurant of the longest prefix of a context row that an expert has seen."""
    restaurant = np.int64(expert) * WIDTH
    for level in range(view.columns.shape[1]):
        if view.columns[expert, level] == NONE:
            break
        found = below(view, restaurant, row[view.columns[expert, level]])
        if found == NONE:
            break
        restaurant = found
    return restaurant


# Probabilities, where experts are not multiplied.


@jit
def share_of(view, restaurant, listed, dish, above):
    """p(dish | restaurant) if the restaurant serves the dish, else a negative number.

    listed (int): Its LIST.
    above (float): p(dish | its parent), or of a root the uniform distribution's.
    """
    if listed >= SINGLE:
        return _single_share(view, restaurant, above) if listed == EMPTY - 1 - dish else -1.0
    place = find(view.servings, listed + PAIR, np.int64(view.servings[listed + SHARE]), PAIR, 0, dish)
    if place == NONE or view.servings[place] == EMPTY:
        return -1.0
    return np.float64(view.serving_value[place + SHARE])


@jit
def _single_share(view, restaurant, above):
    """p(dish | restaurant) of the only dish of a restaurant."""
    stored = np.float64(view.value[restaurant + VALUE])
    if stored < 0.0:
        return above - stored * (1.0 - above)
    return max(stored * above, 1.0 - stored * _OVER * (1.0 - above))


@jit
def back_off_of(view, restaurant):
    """What multiplies the parent's probability of a dish that the restaurant does not serve."""
    stored = np.float64(view.value[restaurant + VALUE])
    return stored if stored >= 0.0 else 1.0 + stored * _OVER


@jit
def share_or_less(view, restaurant, listed, dish, above):
    """p(dish | restaurant), negative if the restaurant does not serve the dish.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors
    matter.

    listed (int): Its LIST.
    above (float): The same of its parent, or of a root the uniform distribution's.
    """
    share = share_of(view, restaurant, listed, dish, above) if above >= 0.0 else -1.0
    return share if share >= 0.0 else -abs(above) * back_off_of(view, restaurant)


@jit
def view_probability(view, expert, row, dish):
    """p(dish | context) under one expert.

    row (int32[elements]): The context row.
    """
    restaurant = np.int64(expert) * WIDTH
    probability, level = 1.0 / view.alphabet[0], 0
    while True:
        listed = np.int64(view.restaurants[restaurant + LIST])
        probability = share_or_less(view, restaurant, listed, dish, probability)
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            return abs(probability)
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        if restaurant == NONE:
            return abs(probability)
        level += 1


@jit
def view_distribution(view, expert, row, out):
    """p(. | context) of all dishes under one expert.

    row (int32[elements]): The context row.
    out (float64[alphabet]): Overwritten.
    """
    # Relative to the product of the back-off factors so far, only what a restaurant serves changes.
    out[:] = 1.0 / view.alphabet[0]
    restaurant, passed_on = np.int64(expert) * WIDTH, 1.0
    level = 0
    while restaurant != NONE:
        listed, above = np.int64(view.restaurants[restaurant + LIST]), passed_on
        passed_on *= back_off_of(view, restaurant)
        if listed < SINGLE:
            end = listed + PAIR + PAIR * np.int64(view.servings[listed + SHARE])
            for place in range(listed + PAIR, end, PAIR):
                if view.servings[place] != EMPTY:
                    out[view.servings[place]] = view.serving_value[place + SHARE] / passed_on
        elif listed != EMPTY:
            dish = EMPTY - 1 - listed
            out[dish] = _single_share(view, restaurant, out[dish] * above) / passed_on
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            break
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        level += 1
    for dish in range(len(out)):
        out[dish] *= passed_on


def product_below(view: View, expert: int, symbol: int) -> np.ndarray:
    """p(. | context) of all dishes under one of some experts that are multiplied, of a context of one symbol
    (float64[alphabet]).
    """
    root = expert * WIDTH
    restaurant = below(view, root, symbol)
    restaurant = root if restaurant == NONE else restaurant
    listed = int(view.restaurants[restaurant + LIST])
    logs = LOG_STEP * view.row[view.restaurants[(restaurant if listed == EMPTY else root) + VALUE]]
    if listed < SINGLE:
        for entry in view.servings[listed : listed + int(view.restaurants[restaurant + VALUE])]:
            logs[dish_of(entry)] += excess_of(entry)
    elif listed != EMPTY:
        logs[EMPTY - 1 - listed] += view.value[restaurant + VALUE]
    shares = np.array([exp(difference) for difference in logs - logs.max()])
    # Added up one after the other, as everywhere else.
    return shares / np.cumsum(shares)[-1]


# Making a view.


@jit
def finish(franchise):
    """The probabilities of the present seating.

    RETURNS (tuple[float64[*], float64[*]]): p(dish | restaurant) of every serving; and what multiplies the
        parent's probability of a dish that a restaurant does not serve.
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    probability = np.empty(franchise.used[column.N_SERVINGS])
    back_off = np.ones(franchise.used[column.N_RESTAURANTS])
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        if row[column.CUSTOMERS] > 0:
            tier = row[column.TIER]
            fresh = franchise.strength[tier] + franchise.discount[tier] * row[column.TABLES]
            back_off[restaurant] = fresh / (franchise.strength[tier] + row[column.CUSTOMERS])
        serving = row[column.FIRST]
        while serving != NONE:
            above = servings[serving, column.ABOVE]
            base = 1.0 / franchise.alphabet[0] if above == NONE else probability[above]
            probability[serving] = restaurant_probability(
                franchise, restaurant, servings[serving, column.SERVED], tables_of(servings[serving]), base
            )
            serving = servings[serving, column.NEXT]
    return probability, back_off


@giving_back
def make_view(franchise: Franchise, *, multiplied: bool = False) -> View:
    """Freeze the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants or servings than can be numbered.
    RAISES (ValueError): If there are more symbols, or more dishes of multiplied experts.
    """
    # There are millions of restaurants and servings: what is noted of each has 32 bits, and is let go when it
    # is not needed any more.
    if franchise.restaurants[: franchise.used[column.N_RESTAURANTS], column.SYMBOL].max(initial=0) >= SYMBOLS:
        raise ValueError(f"A view cannot tell more than {SYMBOLS} symbols apart. Use fewer words.")
    children, served = _count(franchise)
    if multiplied:
        if franchise.alphabet[0] > DISHES:
            raise ValueError(
                f"Experts of more than {DISHES} outcomes cannot be multiplied. Let them be mixed."
            )
        least = max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE))
        own_row, rows = _number_rows(franchise, served, least)
    numbers = _number_rooms(_room_for(children))
    # Made here, since NumPy asks for large pages of memory, in which places are found sooner.
    restaurants = _empty(WIDTH * (len(franchise.columns) + _places_of(numbers)))
    place = _settle(franchise, numbers, restaurants)
    del children, numbers
    # Lists of several dishes, one behind the other.
    rooms = served if multiplied else 1 + _room_for(served)
    width = 1 if multiplied else PAIR
    servings = _empty(width * int(rooms.sum(dtype=np.int64, where=served > 1)))
    if multiplied:
        logs = np.empty((rows, int(franchise.alphabet[0])), dtype=np.float32)
        _enter_excesses(franchise, place, own_row, served, logs, restaurants, servings)
        row = _round_rows(logs)
    else:
        row = np.empty((0, 0), dtype=np.int16)
        _enter_probabilities(franchise, place, served, rooms - 1, restaurants, servings)
    values = restaurants.view(np.float32), servings.view(np.float32)
    return View(franchise.columns, franchise.alphabet, restaurants, values[0], servings, values[1], row)


def _empty(numbers: int) -> np.ndarray:
    """A table of a view without entries (uint32[numbers])."""
    if numbers > SINGLE:
        raise MemoryError(
            f"A view cannot hold a table of {numbers} numbers. Use shorter contexts or less text."
        )
    return np.full(numbers, EMPTY, dtype=np.uint32)


def _room_for(counts: np.ndarray) -> np.ndarray:
    """How many entries are set apart for some symbols or dishes."""
    return np.where(counts <= _FEW_ENTRIES, counts, counts + counts // 2 + 1)


@jit
def _number_rooms(wanted):
    """The number of the room of each restaurant (uint8[*]), see `room_number`."""
    numbers = np.empty(len(wanted), dtype=np.uint8)
    for restaurant in range(len(wanted)):
        numbers[restaurant] = room_number(wanted[restaurant])
    return numbers


@jit
def _places_of(numbers):
    """How many places rooms with some numbers have together."""
    places = np.int64(0)
    for number in numbers:
        places += np.int64(room_of(np.uint64(key_of(0, number, 0))))
    return places


@jit
def _count(franchise):
    """How many restaurants with customers are the children of each restaurant, and how many dishes it serves
    (int32[restaurants] each).
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

    numbers (uint8[used]): The number of the room of each row's children.
    restaurants (uint32[*]): KEY and FIRST are entered.
    RETURNS (int32[used]): The place of each row, `NONE` of one without customers.
    """
    rows, experts = franchise.restaurants, len(franchise.columns)
    places = np.full(len(numbers), NONE, dtype=np.int32)
    free = np.int64(experts) * WIDTH
    # Parents before their children.
    for row in range(len(numbers)):
        customers, symbol, place = rows[row, column.CUSTOMERS], np.int64(0), np.int64(row) * WIDTH
        if row >= experts:
            if customers == 0:
                continue
            above = np.int64(places[rows[row, column.PARENT]])
            symbol = np.int64(rows[row, column.SYMBOL])
            room = np.int64(room_of(np.uint64(restaurants[above])))
            first = np.int64(restaurants[above + FIRST])
            place = find(restaurants, first, room, WIDTH, SYMBOL_SHIFT, symbol)
        key = key_of(symbol, numbers[row], bucket_of(customers) if customers > 0 else 0)
        places[row] = place
        restaurants[place], restaurants[place + FIRST] = key, free
        free += np.int64(room_of(np.uint64(key))) * WIDTH
    return places


@jit
def _number_rows(franchise, served, least):
    """Which restaurants have rows of logs, and how many dishes the others list.

    What the parent lists, a restaurant without a row lists too: with excesses of its own, or with its
    parent's.

    served (int32[*]): How many dishes each restaurant serves; overwritten with how many it lists.
    RETURNS (tuple[int32[*], int]): The row of each restaurant, or ~row of the nearest above it if it serves
        fewer dishes than `least`; and how many rows there are.
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
def _enter_excesses(franchise, places, own_row, lists, row, restaurants, servings):
    """Fill the rows of logs, and enter LIST and VALUE of all restaurants, and their lists.

    places (int32[*]): Where each restaurant stands, or `NONE`.
    own_row, lists (int32[*]): As `_number_rows` returns and leaves them. Lists of excesses are read as a
        whole, and have no gaps.
    row (float32[rows, alphabet]): In nats.
    """
    rows, seated, alphabet = franchise.restaurants, franchise.servings, franchise.alphabet[0]
    probability, back_offs = finish(franchise)
    value = restaurants.view(np.float32)
    # In the place of the factors, logs of their products since the row.
    passed_on = back_offs
    free = np.int64(0)
    for restaurant in range(len(places)):
        own, parent, count = (
            np.int64(places[restaurant]),
            rows[restaurant, column.PARENT],
            np.int64(lists[restaurant]),
        )
        if own == NONE:
            continue
        has_row = own_row[restaurant] >= 0
        number = own_row[restaurant] if has_row else ~own_row[restaurant]
        if not has_row:
            passed_on[restaurant] = passed_on[parent] + log(back_offs[restaurant])
        else:
            if parent == NONE:
                row[number] = log(back_offs[restaurant] / alphabet)
            else:
                # A restaurant serves no more than its parent: that has a row, too.
                row[number] = row[own_row[parent]] + np.float32(log(back_offs[restaurant]))
            passed_on[restaurant] = 0.0
            restaurants[own + LIST], restaurants[own + VALUE] = EMPTY, number
        if count > 1:
            restaurants[own + LIST], restaurants[own + VALUE] = free, count
            if lists[parent] > 1:
                above = np.int64(restaurants[places[parent] + LIST])
                overwrite(servings[free:], servings[above : above + count])
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish, found = seated[serving, column.DISH], log(probability[serving])
            if has_row:
                row[number, dish] = found
            elif seated[serving, column.SERVED] > 0:
                excess = found - passed_on[restaurant] - row[number, dish]
                if count > 1:
                    place = free
                    while servings[place] != EMPTY and dish_of(servings[place]) != dish:
                        place += 1
                    servings[place] = entry_of(dish, excess)
                else:
                    value[own + VALUE] = excess
                    restaurants[own + LIST] = EMPTY - 1 - dish
            serving = seated[serving, column.NEXT]
        free += count if count > 1 else 0


@jit
def _round_rows(row):
    """Rows of logs as a view has them (int16[rows, alphabet]).

    row (float32[rows, alphabet]): In nats.
    """
    rounded = np.empty(row.shape, dtype=np.int16)
    for number in range(len(row)):
        highest = row[number].max()
        for dish in range(row.shape[1]):
            rounded[number, dish] = rounded_log(row[number, dish] - highest)
    return rounded


@jit
def _enter_probabilities(franchise, places, served, rooms, restaurants, servings):
    """Enter LIST and VALUE of all restaurants, and their lists.

    places (int32[*]): Where each restaurant stands, or `NONE`.
    served, rooms (int32[*]): How many dishes it serves, and how many there is room for.
    """
    rows, seated = franchise.restaurants, franchise.servings
    probability, back_offs = finish(franchise)
    value, serving_value = restaurants.view(np.float32), servings.view(np.float32)
    free = np.int64(0)
    for restaurant in range(len(places)):
        own, count, room = (
            np.int64(places[restaurant]),
            np.int64(served[restaurant]),
            np.int64(rooms[restaurant]),
        )
        if own == NONE:
            continue
        back_off = back_offs[restaurant]
        value[own + VALUE] = (
            -_round_down(1.0 - back_off) if count == 1 and back_off > 0.5 else _round_down(back_off)
        )
        if count > 1:
            restaurants[own + LIST], servings[free + SHARE] = free, room
            free += PAIR
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish = seated[serving, column.DISH]
            if seated[serving, column.SERVED] > 0 and count > 1:
                place = find(servings, free, room, PAIR, 0, dish)
                servings[place], serving_value[place + SHARE] = (
                    dish,
                    _round_down(probability[serving]),
                )
            elif seated[serving, column.SERVED] > 0:
                restaurants[own + LIST] = EMPTY - 1 - dish
            serving = seated[serving, column.NEXT]
        free += PAIR * room if count > 1 else 0


@jit
def _round_down(number):
    """The next number of 32 bits that is not higher, and not 0."""
    rounded = np.float32(number)
    if rounded > number:
        rounded = np.nextafter(rounded, np.float32(0.0))
    return max(rounded, np.float32(_LEAST))
