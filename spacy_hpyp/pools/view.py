"""A frozen view of a seating: what predictions read.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of every other dish
the parent's probability times one factor for the restaurant. So a prediction walks from the root of an expert to the deepest
restaurant of its context, and keeps the last number that it meets on the way.

A view takes little memory, and a prediction few visits to it. The children of a restaurant stand together, each where its symbol
leads, with all that a prediction asks of it; the only child of an only child comes next to it. Numbers have 32 bits. Probabilities are
rounded down, so that those of all dishes sum up to 1 at most, and what is summed up from them stays a lower bound. A
view is made of plain arrays, which can be stored and read as they are.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, compiled, overwrite
from ..hpyp import franchise as seating
from ..hpyp.franchise import N_RESTAURANTS, NEXT, PARENT, Franchise
from .finished import finish

#: Restaurants are told apart by the buckets of their numbers of customers: 1, 2, 3 to 4, 5 to 8, and so on, the last one being open.
BUCKETS = 8
BUCKET_BITS = 3

# What the numbers of a restaurant say. What the last two are depends on the kind of view.
SYMBOL, FIRST, ROOM, LIST = range(4)
SHARE, BACK_OFF = 4, 5
EXCESS, ROW = 4, 5
#: Of a list longer than one, what stands in place of its only value.
LENGTH = 4
#: How many numbers a restaurant has.
WIDTH = 6
# The same for an entry of a list.
DISH, VALUE = 0, 1
PAIR = 2

#: Where nothing stands.
EMPTY = 0xFFFFFFFF
#: From here on, `LIST` stands for a single dish.
SINGLE = 0x80000000

# So many entries leave no room between them.
_FEW = 4
_SPREAD = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5
_LEAST = 1.2e-38


@by_reference
class View(NamedTuple):
    """Finished probabilities of one distribution.

    columns (int32[experts, depth]), alphabet (int64[1]): As in `Franchise`.
    restaurants (uint32[*]): `WIDTH` numbers for each of the experts' roots, and behind them for each restaurant with customers. A
        restaurant is known by the place of its first number.

        SYMBOL: The context symbol that leads here from the parent; `EMPTY` where no restaurant stands, or a root.
        FIRST, ROOM: Where its children begin, and for how many there is room; in the lowest bits of ROOM is the
            restaurant's bucket.
        LIST: What it serves: the place in `servings` where several dishes begin, or a single dish d as ~(d + 1), or `EMPTY` if
            there is nothing to list.

        If experts are multiplied, only the dishes that a restaurant serves differ from a row of logs, apart from a constant that
        is lost when the product is normalised. By how much is the *excess* of a dish.

        EXCESS: Of the single dish, as a float; if there are several, their number (LENGTH).
        ROW: The number of the row.

        Otherwise:

        SHARE: p(dish | restaurant) of the single dish, as a float; if there are several, for how many there is room (LENGTH).
        BACK_OFF: What multiplies the parent's probability of a dish that the restaurant does not serve, as a float.
    value (float32[*]): The same memory, to read the floats.
    servings (uint32[*]), serving_value (float32[*]): Pairs of DISH and VALUE, in one memory: an excess or a probability.
    row (float32[rows, alphabet]): Logs of all probabilities of restaurants that serve many dishes, if experts are multiplied.
    """

    columns: np.ndarray
    alphabet: np.ndarray
    restaurants: np.ndarray
    value: np.ndarray
    servings: np.ndarray
    serving_value: np.ndarray
    row: np.ndarray


def make_view(franchise: Franchise, *, multiplied: bool = False) -> View:
    """The view of the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants, or servings, than can be numbered.
    """
    finished = finish(franchise)
    starts, total = _count_children(finished, franchise.used[N_RESTAURANTS])
    _check_room(WIDTH * total)
    # Made here, since NumPy asks for large pages of memory, in which places are found sooner.
    restaurants = np.full(WIDTH * total, EMPTY, dtype=np.uint32)
    value = restaurants.view(np.float32)
    place = _settle(finished, starts, restaurants)
    if multiplied:
        own_row, rows = _number_rows(finished, max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE)))
        row = np.empty((rows, int(franchise.alphabet[0])), dtype=np.float32)
        excess = _fill_rows(finished, own_row, row)
        lists = _count_excesses(finished, own_row)
        servings = _new_servings(int(lists[lists > 1].sum(dtype=np.int64)))
        _list_excesses(finished, place, own_row, excess, lists, restaurants, value, servings, servings.view(np.float32))
    else:
        row = np.empty((0, 0), dtype=np.float32)
        servings = _new_servings(_count_shares(finished))
        _list_shares(finished, place, restaurants, value, servings, servings.view(np.float32))
    return view_of(franchise.columns, franchise.alphabet, restaurants, servings, row)


def _check_room(numbers: int) -> None:
    if numbers > SINGLE:
        raise MemoryError(f"A view cannot hold a table of {numbers} numbers. Use shorter contexts or less text.")


def _new_servings(entries: int) -> np.ndarray:
    _check_room(PAIR * entries)
    return np.full(PAIR * entries, EMPTY, dtype=np.uint32)


def view_of(
    columns: np.ndarray, alphabet: np.ndarray, restaurants: np.ndarray, servings: np.ndarray, row: np.ndarray
) -> View:
    """A view of its arrays."""
    return View(columns, alphabet, restaurants, restaurants.view(np.float32), servings, servings.view(np.float32), row)


@compiled
def bucket_of(customers):
    """The bucket of a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < BUCKETS - 1:
        customers >>= 1
        place += 1
    return place


# What comes from a file.


def is_sound(view: View, part: str, numbers: np.ndarray, begin: int, *, multiplied: bool) -> bool:
    """Whether compiled code can work on a piece of a view: no number leads outside of the arrays, and each is what it can be.

    part (str): Which array, "restaurants", "servings" or "row".
    numbers (uint32[*] | float32[*]): The piece, flattened; of whole entries.
    begin (int): How many numbers come before it.
    multiplied (bool): See `make_view`.
    """
    if part == "row":
        return bool(np.isfinite(numbers).all())
    if len(numbers) % (WIDTH if part == "restaurants" else PAIR):
        return False
    value = numbers.view(np.float32)
    if part == "servings":
        return _are_sound_servings(numbers, value, view.alphabet[0], multiplied)
    roots = max(0, len(view.columns) * WIDTH - begin)
    sizes = len(view.restaurants), len(view.servings), len(view.row)
    return len(view.restaurants) >= len(view.columns) * WIDTH and _are_sound_restaurants(
        numbers, value, roots, sizes, view.alphabet[0], multiplied
    )


@compiled
def _are_sound_restaurants(numbers, value, roots, sizes, alphabet, multiplied):
    for place in range(0, len(numbers), WIDTH):
        if numbers[place] == EMPTY and place >= roots:
            continue
        first, room = np.int64(numbers[place + FIRST]), np.int64(numbers[place + ROOM] >> BUCKET_BITS)
        if first % WIDTH > 0 or (room > 0 and first + room * WIDTH > sizes[0]):
            return False
        listed = np.int64(numbers[place + LIST])
        if listed < SINGLE:
            length = np.int64(numbers[place + LENGTH])
            if listed % PAIR > 0 or length == 0 or listed + length * PAIR > sizes[1]:
                return False
        elif listed != EMPTY and EMPTY - 1 - listed >= alphabet:
            return False
        single = value[place + SHARE] if listed >= SINGLE else np.float32(0.0)
        if multiplied:
            if numbers[place + ROW] >= sizes[2] or not np.isfinite(single):
                return False
        elif not (0.0 <= single <= 1.0 and 0.0 <= value[place + BACK_OFF] <= 1.0):
            return False
    return True


@compiled
def _are_sound_servings(numbers, value, alphabet, multiplied):
    for place in range(0, len(numbers), PAIR):
        if numbers[place] == EMPTY and not multiplied:
            continue
        found = value[place + VALUE]
        if numbers[place] >= alphabet or not (np.isfinite(found) if multiplied else 0.0 <= found <= 1.0):
            return False
    return True


# Where something stands: a multiple of its number says, and if that place is taken, the next one that is not.


@borrowing
def _room_for(count):
    """How many entries are set apart for some symbols or dishes."""
    return count if count <= _FEW else count + count // 4 + 1


@borrowing
def first_try(number, room):
    """Which entry to look at first for a symbol or dish.

    number, room (uint64): The symbol or dish, and the number of entries.
    RETURNS (uint64): From 0 on.
    """
    return ((number * _SPREAD & _LOW) * room) >> _HALF


@borrowing
def find(table, first, room, width, number):
    """The place of a symbol or dish in a table, or the empty one where it belongs, or `NONE` if there is neither.

    table (uint32[*]): With the symbol or dish as the first number of each entry.
    first, room, width (int): Where the entries begin, how many they are, and how many numbers each has.
    """
    if room == 0:
        return NONE
    at = np.int64(first_try(np.uint64(number), np.uint64(room)))
    for _ in range(room):
        found = table[first + at * width]
        if found == number or found == EMPTY:
            return first + at * width
        at += 1
        if at == room:
            at = 0
    return NONE


@borrowing
def below(view, restaurant, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    table = view.restaurants
    first, room = np.int64(table[restaurant + FIRST]), np.int64(table[restaurant + ROOM] >> BUCKET_BITS)
    place = find(table, first, room, WIDTH, symbol)
    return place if place != NONE and table[place] != EMPTY else NONE


@borrowing
def bucket_of_restaurant(view, restaurant):
    """The bucket of a restaurant."""
    return view.restaurants[restaurant + ROOM] & (BUCKETS - 1)


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
def share_of(view, restaurant, dish):
    """p(dish | restaurant) if the restaurant serves the dish, else a negative number."""
    listed = np.int64(view.restaurants[restaurant + LIST])
    if listed >= SINGLE:
        return np.float64(view.value[restaurant + SHARE]) if listed == EMPTY - 1 - dish else -1.0
    place = find(view.servings, listed, np.int64(view.restaurants[restaurant + LENGTH]), PAIR, dish)
    if place == NONE or view.servings[place] == EMPTY:
        return -1.0
    return np.float64(view.serving_value[place + VALUE])


@borrowing
def view_probability(view, expert, row, dish):
    """p(dish | context) under one expert.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors matter.

    row (int32[elements]): The context row.
    """
    restaurant = np.int64(expert) * WIDTH
    probability = 1.0 / view.alphabet[0]
    served = True
    level = 0
    while True:
        share = share_of(view, restaurant, dish) if served else -1.0
        served = share >= 0.0
        probability = share if served else probability * view.value[restaurant + BACK_OFF]
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            return probability
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        if restaurant == NONE:
            return probability
        level += 1


@borrowing
def probability_below(view, expert, symbol, dish):
    """p(dish | context) under one expert, of a context of one symbol."""
    root = np.int64(expert) * WIDTH
    above = share_of(view, root, dish)
    restaurant = below(view, root, symbol)
    share = share_of(view, restaurant, dish) if restaurant != NONE and above >= 0.0 else -1.0
    if share >= 0.0:
        return share
    probability = above if above >= 0.0 else view.value[root + BACK_OFF] / view.alphabet[0]
    return probability if restaurant == NONE else probability * view.value[restaurant + BACK_OFF]


@borrowing
def view_distribution(view, expert, row, out):
    """p(. | context) of all dishes under one expert.

    row (int32[elements]): The context row.
    out (float64[alphabet]): Overwritten.
    """
    # Relative to the product of the back-off factors so far, only what a restaurant serves changes.
    out[:] = 1.0 / view.alphabet[0]
    restaurant = np.int64(expert) * WIDTH
    passed_on = 1.0
    level = 0
    while restaurant != NONE:
        passed_on *= view.value[restaurant + BACK_OFF]
        listed = np.int64(view.restaurants[restaurant + LIST])
        if listed < SINGLE:
            for place in range(listed, listed + PAIR * np.int64(view.restaurants[restaurant + LENGTH]), PAIR):
                if view.servings[place] != EMPTY:
                    out[view.servings[place]] = view.serving_value[place + VALUE] / passed_on
        elif listed != EMPTY:
            out[EMPTY - 1 - listed] = view.value[restaurant + SHARE] / passed_on
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            break
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        level += 1
    for dish in range(len(out)):
        out[dish] *= passed_on


@compiled
def distribution_below(view, expert, symbol, multiplied, out):
    """p(. | context) of all dishes under one expert, of a context of one symbol.

    multiplied (bool): Whether the view was made for experts that are multiplied.
    out (float64[alphabet]): Overwritten.
    """
    if not multiplied:
        for dish in range(len(out)):
            out[dish] = probability_below(view, expert, symbol, dish)
        return
    restaurant = below(view, np.int64(expert) * WIDTH, symbol)
    restaurant = expert * WIDTH if restaurant == NONE else restaurant
    overwrite(out, view.row[np.int64(view.restaurants[restaurant + ROW])])
    listed = np.int64(view.restaurants[restaurant + LIST])
    if listed < SINGLE:
        for place in range(listed, listed + PAIR * np.int64(view.restaurants[restaurant + LENGTH]), PAIR):
            out[view.servings[place]] += view.serving_value[place + VALUE]
    elif listed != EMPTY:
        out[EMPTY - 1 - listed] += view.value[restaurant + EXCESS]
    highest, mass = -np.inf, 0.0
    for dish in range(len(out)):
        highest = max(highest, out[dish])
    for dish in range(len(out)):
        out[dish] = exp(out[dish] - highest)
        mass += out[dish]
    for dish in range(len(out)):
        out[dish] /= mass


# Making a view.


@compiled
def _count_children(finished, used):
    """Where the children of each row would begin in the order of their parents, and how many places restaurants take in the view."""
    rows, experts = finished.franchise.restaurants, len(finished.franchise.columns)
    starts = np.zeros(used + 1, dtype=np.int32)
    for row in range(experts, used):
        if rows[row, seating.CUSTOMERS] > 0:
            starts[rows[row, PARENT] + 1] += 1
    total = np.int64(experts)
    for row in range(used):
        total += _room_for(np.int64(starts[row + 1]))
        starts[row + 1] += starts[row]
    return starts, total


@compiled
def _settle(finished, starts, restaurants):
    """Give every restaurant with customers its place: those of one expert depth first, children in the order of the rows.

    restaurants (uint32[*]): SYMBOL, FIRST and ROOM are entered.
    RETURNS (int64[used]): The place of each row, `NONE` of one without customers.
    """
    rows, experts, used = finished.franchise.restaurants, len(finished.franchise.columns), len(starts) - 1
    children = np.empty(starts[used], dtype=np.int32)
    following = starts[:used].copy()
    for row in range(experts, used):
        if rows[row, seating.CUSTOMERS] > 0:
            parent = rows[row, PARENT]
            children[following[parent]] = row
            following[parent] += 1
    place = np.full(used, NONE, dtype=np.int64)
    free = np.int64(experts) * WIDTH
    waiting = np.empty(used, dtype=np.int32)
    for expert in range(experts):
        place[expert] = expert * WIDTH
        waiting[0] = expert
        count = 1
        while count > 0:
            count -= 1
            row = waiting[count]
            own, begin, end = place[row], np.int64(starts[row]), np.int64(starts[row + 1])
            room = _room_for(end - begin)
            customers = rows[row, seating.CUSTOMERS]
            restaurants[own + FIRST] = free
            restaurants[own + ROOM] = room << BUCKET_BITS | (bucket_of(customers) if customers > 0 else 0)
            for i in range(begin, end):
                symbol = rows[children[i], seating.SYMBOL]
                place[children[i]] = find(restaurants, free, room, WIDTH, symbol)
                restaurants[place[children[i]]] = symbol
            for i in range(end - 1, begin - 1, -1):
                waiting[count] = children[i]
                count += 1
            free += room * WIDTH
    return place


@borrowing
def _round_down(number):
    """The next number of 32 bits that is not higher, and not 0."""
    rounded = np.float32(number)
    if np.float64(rounded) > number:
        rounded = np.nextafter(rounded, np.float32(0.0))
    return max(rounded, np.float32(_LEAST))


@borrowing
def _served_in(finished, row):
    """How many dishes a restaurant serves."""
    count = 0
    serving = finished.franchise.restaurants[row, seating.FIRST]
    while serving != NONE:
        count += finished.franchise.servings[serving, seating.SERVED] > 0
        serving = finished.franchise.servings[serving, NEXT]
    return count


@compiled
def _count_shares(finished):
    """For how many dishes the lists have room."""
    total = np.int64(0)
    for row in range(len(finished.back_off)):
        count = _served_in(finished, row)
        total += _room_for(count) if count > 1 else 0
    return total


@compiled
def _list_shares(finished, places, restaurants, value, servings, serving_value):
    """Enter LIST, SHARE and BACK_OFF of all restaurants, and fill the lists."""
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
    free = np.int64(0)
    for row in range(len(places)):
        own = places[row]
        if own == NONE:
            continue
        value[own + BACK_OFF] = _round_down(finished.back_off[row])
        count = _served_in(finished, row)
        room = _room_for(count)
        restaurants[own + LIST], value[own + SHARE] = EMPTY, 0.0
        if count > 1:
            restaurants[own + LIST], restaurants[own + LENGTH] = free, room
        serving = rows[row, seating.FIRST]
        while serving != NONE:
            dish = seated[serving, seating.DISH]
            if seated[serving, seating.SERVED] > 0:
                share = _round_down(finished.probability[serving])
                if count == 1:
                    restaurants[own + LIST], value[own + SHARE] = EMPTY - 1 - dish, share
                else:
                    place = find(servings, free, room, PAIR, dish)
                    servings[place], serving_value[place + VALUE] = dish, share
            serving = seated[serving, NEXT]
        free += PAIR * room if count > 1 else 0


@compiled
def _number_rows(finished, least):
    """The row of logs of each restaurant, or ~row of the nearest above it if it serves fewer dishes; and how many rows there are."""
    own_row = np.empty(len(finished.back_off), dtype=np.int32)
    rows = 0
    for restaurant in range(len(own_row)):
        parent = finished.franchise.restaurants[restaurant, PARENT]
        if parent == NONE or _served_in(finished, restaurant) >= least:
            own_row[restaurant] = rows
            rows += 1
        else:
            own_row[restaurant] = min(own_row[parent], ~own_row[parent])
    return own_row, rows


@compiled
def _fill_rows(finished, own_row, row):
    """Write the rows of logs. Returns the excess of every serving in a restaurant without one (float32[*])."""
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
    excess = np.zeros(len(finished.probability), dtype=np.float32)
    # Logs of the products of the back-off factors since the row.
    passed_on = np.zeros(len(own_row))
    for restaurant in range(len(own_row)):
        place, parent = own_row[restaurant], rows[restaurant, PARENT]
        if place < 0:
            passed_on[restaurant] = passed_on[parent] + log(finished.back_off[restaurant])
        elif parent == NONE:
            row[place] = log(finished.back_off[restaurant] / finished.franchise.alphabet[0])
        else:
            # A restaurant serves no more than its parent: that has a row, too.
            row[place] = row[own_row[parent]] + np.float32(log(finished.back_off[restaurant]))
        serving = rows[restaurant, seating.FIRST]
        while serving != NONE:
            dish = seated[serving, seating.DISH]
            found = log(finished.probability[serving])
            if place >= 0:
                row[place, dish] = found
            else:
                excess[serving] = found - passed_on[restaurant] - row[~place, dish]
            serving = seated[serving, NEXT]
    return excess


@compiled
def _count_excesses(finished, own_row):
    """How many dishes each restaurant lists (int32[*]).

    What the parent lists, a restaurant without a row lists too: with excesses of its own, or with its parent's.
    """
    lists = np.zeros(len(own_row), dtype=np.int32)
    for row in range(len(own_row)):
        parent = finished.franchise.restaurants[row, PARENT]
        if own_row[row] < 0 and finished.franchise.restaurants[row, seating.CUSTOMERS] > 0:
            lists[row] = _served_in(finished, row) if own_row[parent] >= 0 else lists[parent]
    return lists


@compiled
def _list_excesses(finished, places, own_row, excess, lists, restaurants, value, servings, serving_value):
    """Enter LIST, EXCESS and ROW of all restaurants, and fill the lists."""
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
    free = np.int64(0)
    for row in range(len(places)):
        own, count = places[row], lists[row]
        if own == NONE:
            continue
        restaurants[own + LIST], value[own + EXCESS] = EMPTY, 0.0
        restaurants[own + ROW] = max(own_row[row], ~own_row[row])
        if count > 1:
            restaurants[own + LIST], restaurants[own + LENGTH] = free, count
            if lists[rows[row, PARENT]] > 1:
                above = np.int64(restaurants[places[rows[row, PARENT]] + LIST])
                overwrite(servings[free:], servings[above : above + PAIR * count])
        serving = rows[row, seating.FIRST] if count > 0 else NONE
        while serving != NONE:
            dish = seated[serving, seating.DISH]
            if seated[serving, seating.SERVED] > 0:
                if count == 1:
                    restaurants[own + LIST], value[own + EXCESS] = EMPTY - 1 - dish, excess[serving]
                else:
                    place = free
                    while servings[place] != EMPTY and servings[place] != dish:
                        place += PAIR
                    servings[place], serving_value[place + VALUE] = dish, excess[serving]
            serving = seated[serving, NEXT]
        free += PAIR * count if count > 1 else 0


@borrowing
def keep_best(dish, probability, found, value):
    """Enter a dish into a list of the best, kept in descending order; of equals the lower number comes first.

    dish (int32[best]), probability (float64[best]): The list, `NONE` and 0 where it is not full.
    """
    place = len(dish)
    while place > 0:
        other = probability[place - 1]
        if dish[place - 1] != NONE and (value < other or (value == other and found > dish[place - 1])):
            break
        place -= 1
    for i in range(len(dish) - 1, place, -1):
        dish[i] = dish[i - 1]
        probability[i] = probability[i - 1]
    if place < len(dish):
        dish[place] = found
        probability[place] = value
