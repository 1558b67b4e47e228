"""A frozen view of a seating: what predictions read.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of
every other dish the parent's probability times one factor for the restaurant. So a prediction walks from the
root of an expert to the deepest restaurant of its context, and keeps the last number that it meets on the
way.

The children of a restaurant stand together, each where its symbol leads, with all that a prediction asks of it
in sixteen bytes. Numbers have 32 bits, logs of probabilities 16.
Probabilities are rounded down, so that those of all dishes sum up to 1 at most, and what is summed up from
them stays a lower bound.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, compiled

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


@by_reference
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


@compiled
def bucket_of(customers):
    """The bucket of a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < BUCKETS - 1:
        customers >>= 1
        place += 1
    return place


# What `KEY` says, see `View`.


@borrowing
def key_of(symbol, number, bucket):
    """`KEY` of a restaurant.

    number (int): See `room_number`.
    """
    return np.int64(symbol) << SYMBOL_SHIFT | np.int64(number) << BUCKET_BITS | bucket


@borrowing
def room_number(wanted):
    """The number of the smallest room that there is for so many children."""
    number = min(wanted, _EXACT_ROOM)
    while room_of(np.uint64(number) << _BUCKET_BITS) < wanted:
        number += 1
    return number


@borrowing
def room_of(key):
    """For how many children there is room (uint64).

    key (uint64): `KEY` of the restaurant.
    """
    number = (key >> _BUCKET_BITS) & _ROOM
    return number if number < _EXACT_ROOM else (_FOUR | (number & _THREE)) << ((number >> _TWO) - _TWO)


# Logs of 16 bits.


@borrowing
def entry_of(dish, excess):
    """An entry of a list of experts that are multiplied.

    excess (float): In nats.
    """
    return dish << DISH_SHIFT | (rounded_log(excess) & ((1 << DISH_SHIFT) - 1))


@borrowing
def rounded_log(number):
    """A log in units of `LOG_STEP`, as an integer of 16 bits.

    number (float): In nats.
    """
    return min(max(round(number / LOG_STEP), _LOWEST), _HIGHEST)


@borrowing
def dish_of(entry):
    """The dish of an entry of a list of experts that are multiplied."""
    return np.int64(entry >> DISH_SHIFT)


@borrowing
def excess_of(entry):
    """The excess of an entry of a list of experts that are multiplied, in nats."""
    return LOG_STEP * (np.int32(entry << DISH_SHIFT) >> DISH_SHIFT)


# Where something stands: a multiple of its number says, and if that place is taken, the next one that is not.


@borrowing
def first_try(number, room):
    """Which entry to look at first for a symbol or dish.

    number, room (uint64): The symbol or dish, and the number of entries.
    RETURNS (uint64): From 0 on.
    """
    return ((number * _SPREAD & _LOW) * room) >> _HALF


@borrowing
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


@borrowing
def below(view, restaurant, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    room = np.int64(room_of(np.uint64(view.restaurants[restaurant])))
    first = np.int64(view.restaurants[restaurant + FIRST])
    place = find(view.restaurants, first, room, WIDTH, SYMBOL_SHIFT, symbol)
    return place if place != NONE and view.restaurants[place] != EMPTY else NONE


@borrowing
def bucket_of_restaurant(view, restaurant):
    """The bucket of a restaurant."""
    return view.restaurants[restaurant] & (BUCKETS - 1)


@borrowing
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


@borrowing
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


@borrowing
def _single_share(view, restaurant, above):
    """p(dish | restaurant) of the only dish of a restaurant."""
    stored = np.float64(view.value[restaurant + VALUE])
    if stored < 0.0:
        return above - stored * (1.0 - above)
    return max(stored * above, 1.0 - stored * _OVER * (1.0 - above))


@borrowing
def back_off_of(view, restaurant):
    """What multiplies the parent's probability of a dish that the restaurant does not serve."""
    stored = np.float64(view.value[restaurant + VALUE])
    return stored if stored >= 0.0 else 1.0 + stored * _OVER


@borrowing
def share_or_less(view, restaurant, listed, dish, above):
    """p(dish | restaurant), negative if the restaurant does not serve the dish.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors
    matter.

    listed (int): Its LIST.
    above (float): The same of its parent, or of a root the uniform distribution's.
    """
    share = share_of(view, restaurant, listed, dish, above) if above >= 0.0 else -1.0
    return share if share >= 0.0 else -abs(above) * back_off_of(view, restaurant)


@borrowing
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


@borrowing
def probability_below(view, expert, symbol, dish):
    """p(dish | context) under one expert, of a context of one symbol."""
    root = np.int64(expert) * WIDTH
    probability = share_or_less(
        view, root, np.int64(view.restaurants[root + LIST]), dish, 1.0 / view.alphabet[0]
    )
    restaurant = below(view, root, symbol)
    if restaurant != NONE:
        listed = np.int64(view.restaurants[restaurant + LIST])
        probability = share_or_less(view, restaurant, listed, dish, probability)
    return abs(probability)


@borrowing
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
