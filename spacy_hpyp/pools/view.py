"""A frozen view of a seating: what predictions read.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of every other dish
the parent's probability times one factor for the restaurant. So a prediction walks from the root of an expert to the deepest
restaurant of its context, and keeps the last number that it meets on the way.

A view takes little memory, and a prediction few visits to it. The children of a restaurant stand together, each where its symbol
leads, with all that a prediction asks of it; an only child comes next to its parent. Numbers have 32 bits. Probabilities are
rounded down, so that those of all dishes sum up to 1 at most, and what is summed up from them stays a lower bound. A
view is made of plain arrays, which can be stored and read as they are.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled
from ..hpyp import franchise as seating
from ..hpyp.franchise import N_RESTAURANTS, NEXT, PARENT, Franchise
from .finished import finish

#: Restaurants are told apart by their customers: 1, 2, 3 to 4, 5 to 8, and so on, the last class being open.
STANDINGS = 8
_STANDING_BITS = 3

# Columns of `View.restaurants`. What the last two are depends on the kind of view.
SYMBOL, FIRST, ROOM, LIST = range(4)
SHARE, BACK_OFF = 4, 5
EXCESS, ROW = 4, 5
_WIDTH = 6
# Columns of `View.servings`, and of what a list longer than one says instead of its only value.
DISH, VALUE = 0, 1
LENGTH = 4

# So many entries leave no room between them.
_FEW = 4
_SPREAD = np.uint64(0x9E3779B1)
_LOW = np.uint64(0xFFFFFFFF)

# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5


class View(NamedTuple):
    """Finished probabilities of one distribution.

    columns (int32[experts, depth]), alphabet (int64[1]): As in `Franchise`.
    restaurants (int32[*, 6]): The experts' roots, and behind them all restaurants with customers.

        SYMBOL: The context symbol that leads here from the parent, or `NONE`: an entry that nothing stands in, or a root.
        FIRST, ROOM: Where its children stand, and how many entries they have there; in the lowest bits of ROOM is the
            restaurant's `standing`.
        LIST: The number of its only dish d as ~(d + 1), `NONE` if there is nothing to list, or the first of several in `servings`.

        If experts are multiplied, only the dishes that a restaurant serves differ from a row of logs, apart from a constant that
        is lost when the product is normalised. By how much is the *excess* of a dish.

        EXCESS: Of the only dish, as a float; of a longer list its LENGTH.
        ROW: The number of the row.

        Otherwise:

        SHARE: p(dish | restaurant) of the only dish, as a float; of a longer list the room that it has (LENGTH).
        BACK_OFF: What multiplies the parent's probability of a dish that the restaurant does not serve, as a float.
    value (float32[*, 6]): The same memory, to read the floats.
    servings (int32[*, 2]), serving_value (float32[*, 2]): DISH and VALUE of the dishes in lists, in one memory: their
        excesses or probabilities.
    row (float32[rows, alphabet]): Logs of all probabilities of restaurants that serve many dishes, if experts are multiplied.
    """

    columns: np.ndarray
    alphabet: np.ndarray
    restaurants: np.ndarray
    value: np.ndarray
    servings: np.ndarray
    serving_value: np.ndarray
    row: np.ndarray


def freeze(franchise: Franchise, *, multiplied: bool = False) -> View:
    """The view of the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants than can be numbered.
    """
    finished = finish(franchise)
    restaurants, place = _settle(finished, franchise.used[N_RESTAURANTS])
    if len(restaurants) > np.iinfo(np.int32).max >> _STANDING_BITS:
        raise MemoryError(f"A view cannot hold {len(restaurants)} restaurants. Use shorter contexts or less text.")
    if multiplied:
        own_row, rows = _number_rows(finished, max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE)))
        row = np.empty((rows, int(franchise.alphabet[0])), dtype=np.float32)
        excess = _fill_rows(finished, own_row, row)
        servings = _list_excesses(finished, place, own_row, excess, restaurants, restaurants.view(np.float32))
    else:
        row = np.empty((0, 0), dtype=np.float32)
        servings = _list_shares(finished, place, restaurants, restaurants.view(np.float32))
    return view_of(franchise.columns, franchise.alphabet, restaurants, servings, row)


def view_of(
    columns: np.ndarray, alphabet: np.ndarray, restaurants: np.ndarray, servings: np.ndarray, row: np.ndarray
) -> View:
    """A view of its arrays."""
    return View(columns, alphabet, restaurants, restaurants.view(np.float32), servings, servings.view(np.float32), row)


@compiled
def standing(customers):
    """The class of a restaurant with a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < STANDINGS - 1:
        customers >>= 1
        place += 1
    return place


# Where something stands: a multiple of its number says, and if that place is taken, the next one that is not.


@borrowing
def _room_for(count):
    """How many entries are set apart for some symbols or dishes."""
    return count if count <= _FEW else count + count // 4 + 1


@borrowing
def _first_try(number, room):
    """Where to look first for a symbol or dish among many."""
    return np.int64(((np.uint64(number) * _SPREAD & _LOW) * np.uint64(room)) >> np.uint64(32))


@borrowing
def _find(table, first, room, number):
    """The entry of a symbol or dish in a table, or the empty one where it belongs, or `NONE` if there is neither.

    table (int32[*, *]): With the symbol or dish in its first column, `NONE` where an entry is empty.
    first, room (int): Which entries are looked through.
    """
    return _find_from(table, first, room, _first_try(number, room), number)


@borrowing
def _find_from(table, first, room, at, number):
    """`_find`, where it is known which entry is to be looked at first."""
    for _ in range(room):
        if table[first + at, 0] == number or table[first + at, 0] == NONE:
            return first + at
        at += 1
        if at == room:
            at = 0
    return NONE


@borrowing
def below(view, restaurant, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    restaurants = view.restaurants
    entry = _find(restaurants, restaurants[restaurant, FIRST], restaurants[restaurant, ROOM] >> _STANDING_BITS, symbol)
    if entry == NONE or restaurants[entry, SYMBOL] == NONE:
        return NONE
    return entry


@borrowing
def all_below(view, row, level, experts, count, trial, symbol, place):
    """Let some experts go down by one level. That it looks at all places first, and only then at what stands there, lets the
    processor fetch them at the same time.

    row (int32[elements]): The context row.
    level (int): The level that the experts are at.
    experts (int32[*]), count (int): Which experts; those that find a restaurant are kept, in their order.
    trial, symbol (int32[*]): Workspace.
    place (int32[*]): The restaurant of each expert.
    RETURNS (int): How many are kept.
    """
    restaurants, columns = view.restaurants, view.columns
    tried = 0
    for i in range(count):
        expert = experts[i]
        room = restaurants[place[expert], ROOM] >> _STANDING_BITS
        if room == 0:
            continue
        # Only what has a column has children.
        at = _first_try(row[columns[expert, level]], room)
        experts[tried], trial[tried] = expert, at
        symbol[tried] = restaurants[restaurants[place[expert], FIRST] + at, SYMBOL]
        tried += 1
    left = 0
    for i in range(tried):
        expert = experts[i]
        wanted = row[columns[expert, level]]
        if symbol[i] == NONE:
            continue
        first = restaurants[place[expert], FIRST]
        entry = first + trial[i]
        if symbol[i] != wanted:
            room = restaurants[place[expert], ROOM] >> _STANDING_BITS
            entry = _find_from(restaurants, first, room, trial[i], wanted)
            if entry == NONE or restaurants[entry, SYMBOL] == NONE:
                continue
        place[expert] = entry
        experts[left] = expert
        left += 1
    return left


@borrowing
def standing_of(view, restaurant):
    """The `standing` of a restaurant."""
    return view.restaurants[restaurant, ROOM] & (STANDINGS - 1)


@borrowing
def deepest_in(view, expert, row):
    """The restaurant of the longest prefix of a context row that an expert has seen."""
    restaurant = expert
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
    listed = view.restaurants[restaurant, LIST]
    if listed < 0:
        return np.float64(view.value[restaurant, SHARE]) if listed == ~(dish + 1) else -1.0
    entry = _find(view.servings, listed, view.restaurants[restaurant, LENGTH], dish)
    if entry == NONE or view.servings[entry, DISH] == NONE:
        return -1.0
    return np.float64(view.serving_value[entry, VALUE])


@borrowing
def view_probability(view, expert, row, dish):
    """p(dish | context) under one expert.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors matter.

    row (int32[elements]): The context row.
    """
    restaurant = expert
    probability = 1.0 / view.alphabet[0]
    served = True
    level = 0
    while True:
        share = share_of(view, restaurant, dish) if served else -1.0
        served = share >= 0.0
        probability = share if served else probability * view.value[restaurant, BACK_OFF]
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            return probability
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        if restaurant == NONE:
            return probability
        level += 1


@borrowing
def probability_below(view, expert, symbol, dish):
    """p(dish | context) under one expert, of a context of one symbol."""
    above = share_of(view, expert, dish)
    restaurant = below(view, expert, symbol)
    share = share_of(view, restaurant, dish) if restaurant != NONE and above >= 0.0 else -1.0
    if share >= 0.0:
        return share
    probability = above if above >= 0.0 else view.value[expert, BACK_OFF] / view.alphabet[0]
    return probability if restaurant == NONE else probability * view.value[restaurant, BACK_OFF]


@compiled
def distribution_below(view, expert, symbol, plain, out):
    """p(. | context) of all dishes under one expert, of a context of one symbol.

    plain (bool): Whether the view has probabilities; else it has logs.
    out (float64[alphabet]): Overwritten.
    """
    restaurant = below(view, expert, symbol)
    restaurant = expert if restaurant == NONE else restaurant
    if plain:
        for dish in range(len(out)):
            out[dish] = probability_below(view, expert, symbol, dish)
    else:
        out[:] = view.row[view.restaurants[restaurant, ROW]]
        listed = view.restaurants[restaurant, LIST]
        if listed >= 0:
            for entry in range(listed, listed + view.restaurants[restaurant, LENGTH]):
                out[view.servings[entry, DISH]] += view.serving_value[entry, VALUE]
        elif listed != NONE:
            out[~listed - 1] += view.value[restaurant, EXCESS]
        out -= out.max()
        for dish in range(len(out)):
            out[dish] = exp(out[dish])
        out /= out.sum()


@borrowing
def view_distribution(view, expert, row, out):
    """p(. | context) of all dishes under one expert.

    row (int32[elements]): The context row.
    out (float64[alphabet]): Overwritten.
    """
    # Relative to the product of the back-off factors so far, only what a restaurant serves changes.
    out[:] = 1.0 / view.alphabet[0]
    restaurant = expert
    passed_on = 1.0
    level = 0
    while restaurant != NONE:
        passed_on *= view.value[restaurant, BACK_OFF]
        listed = view.restaurants[restaurant, LIST]
        if listed >= 0:
            for entry in range(listed, listed + view.restaurants[restaurant, LENGTH]):
                if view.servings[entry, DISH] != NONE:
                    out[view.servings[entry, DISH]] = view.serving_value[entry, VALUE] / passed_on
        elif listed != NONE:
            out[~listed - 1] = view.value[restaurant, SHARE] / passed_on
        if level == view.columns.shape[1] or view.columns[expert, level] == NONE:
            break
        restaurant = below(view, restaurant, row[view.columns[expert, level]])
        level += 1
    for dish in range(len(out)):
        out[dish] *= passed_on


# Making a view.


@compiled
def _settle(finished, used):
    """Give every restaurant with customers its place: those of one expert depth first, children in the order of the rows.

    RETURNS (tuple): The restaurants (int32[*, 6]) with SYMBOL, FIRST and ROOM; and the place of each row (int32[used]).
    """
    rows, experts = finished.restaurants, len(finished.columns)
    start = np.zeros(used + 1, dtype=np.int32)
    for row in range(experts, used):
        if rows[row, seating.CUSTOMERS] > 0:
            start[rows[row, PARENT] + 1] += 1
    total = np.int64(experts)
    for row in range(used):
        total += _room_for(np.int64(start[row + 1]))
        start[row + 1] += start[row]
    children = np.empty(start[used], dtype=np.int32)
    # Filled from behind, `start` ends up one row further: where row's children end is then where they began.
    for row in range(used - 1, experts - 1, -1):
        if rows[row, seating.CUSTOMERS] > 0:
            start[rows[row, PARENT] + 1] -= 1
            children[start[rows[row, PARENT] + 1]] = row
    restaurants = np.full((total, _WIDTH), NONE, dtype=np.int32)
    place = np.full(used, NONE, dtype=np.int32)
    for expert in range(experts):
        place[expert] = expert
    free = np.int64(experts)
    waiting = np.empty(used, dtype=np.int32)
    for expert in range(experts):
        waiting[0] = expert
        count = 1
        while count > 0:
            count -= 1
            row = waiting[count]
            own = place[row]
            begin, end = np.int64(start[row + 1]), np.int64(len(children))
            if row + 1 < used:
                end = np.int64(start[row + 2])
            room = _room_for(end - begin)
            customers = rows[row, seating.CUSTOMERS]
            restaurants[own, FIRST] = free
            restaurants[own, ROOM] = room << _STANDING_BITS | (standing(customers) if customers > 0 else 0)
            for i in range(begin, end):
                child = children[i]
                entry = _find(restaurants, free, room, rows[child, seating.SYMBOL])
                restaurants[entry, SYMBOL] = rows[child, seating.SYMBOL]
                place[child] = entry
            for i in range(end - 1, begin - 1, -1):
                waiting[count] = children[i]
                count += 1
            free += room
    return restaurants, place


@borrowing
def _round_down(number):
    """The next number of 32 bits that is not higher, and not 0."""
    rounded = np.float32(number)
    if np.float64(rounded) > number:
        rounded = np.nextafter(rounded, np.float32(0.0))
    return max(rounded, np.float32(1.2e-38))


@borrowing
def _served_in(finished, row):
    """How many dishes a restaurant serves."""
    count = 0
    serving = finished.restaurants[row, seating.FIRST]
    while serving != NONE:
        count += finished.servings[serving, seating.SERVED] > 0
        serving = finished.servings[serving, NEXT]
    return count


@compiled
def _list_shares(finished, place, restaurants, value):
    """Enter LIST, SHARE and BACK_OFF of all restaurants. Returns the servings (int32[*, 2]) that are listed."""
    rows, seated = finished.restaurants, finished.servings
    total = np.int64(0)
    for row in range(len(place)):
        count = _served_in(finished, row) if place[row] != NONE else 0
        total += _room_for(count) if count > 1 else 0
    servings = np.full((total, 2), NONE, dtype=np.int32)
    serving_value = servings.view(np.float32)
    free = 0
    for row in range(len(place)):
        own = place[row]
        if own == NONE:
            continue
        value[own, BACK_OFF] = _round_down(finished.back_off[row])
        count = _served_in(finished, row)
        room = _room_for(count)
        if count > 1:
            restaurants[own, LIST], restaurants[own, LENGTH] = free, room
        else:
            restaurants[own, LIST], value[own, SHARE] = NONE, 0.0
        serving = rows[row, seating.FIRST]
        while serving != NONE:
            dish = seated[serving, seating.DISH]
            if seated[serving, seating.SERVED] > 0:
                share = _round_down(finished.probability[serving])
                if count == 1:
                    restaurants[own, LIST], value[own, SHARE] = ~(dish + 1), share
                else:
                    entry = _find(servings, free, room, dish)
                    servings[entry, DISH], serving_value[entry, VALUE] = dish, share
            serving = seated[serving, NEXT]
        free += room if count > 1 else 0
    return servings


@compiled
def _number_rows(finished, least):
    """Which restaurants have a row of logs.

    least (float): How many dishes they serve.
    RETURNS (tuple): The row of each restaurant, or ~row of the nearest one above that has one (int32[*]); and how many there are.
    """
    own_row = np.empty(len(finished.back_off), dtype=np.int32)
    rows = 0
    for restaurant in range(len(own_row)):
        parent = finished.restaurants[restaurant, PARENT]
        if parent == NONE or _served_in(finished, restaurant) >= least:
            own_row[restaurant] = rows
            rows += 1
        else:
            own_row[restaurant] = min(own_row[parent], ~own_row[parent])
    return own_row, rows


@compiled
def _fill_rows(finished, own_row, row):
    """Write the rows of logs. Returns the excess of every serving in a restaurant without one (float32[*])."""
    rows, seated = finished.restaurants, finished.servings
    excess = np.zeros(len(finished.probability), dtype=np.float32)
    # Logs of the products of the back-off factors since the row.
    passed_on = np.zeros(len(own_row))
    for restaurant in range(len(own_row)):
        place, parent = own_row[restaurant], rows[restaurant, PARENT]
        if place < 0:
            passed_on[restaurant] = passed_on[parent] + log(finished.back_off[restaurant])
        elif parent == NONE:
            row[place] = log(finished.back_off[restaurant] / finished.alphabet[0])
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
def _list_excesses(finished, place, own_row, excess, restaurants, value):
    """Enter LIST, EXCESS and ROW of all restaurants. Returns the servings (int32[*, 2]) that are listed.

    What the parent lists, a restaurant without a row lists too: with excesses of its own, or with its parent's.
    """
    rows, seated = finished.restaurants, finished.servings
    listed = np.zeros(len(place), dtype=np.int32)
    total = np.int64(0)
    for row in range(len(place)):
        if place[row] == NONE or own_row[row] >= 0:
            continue
        parent = rows[row, PARENT]
        listed[row] = _served_in(finished, row) if own_row[parent] >= 0 else listed[parent]
        total += listed[row] if listed[row] > 1 else 0
    servings = np.full((total, 2), NONE, dtype=np.int32)
    serving_value = servings.view(np.float32)
    free = 0
    for row in range(len(place)):
        own = place[row]
        if own == NONE:
            continue
        count = listed[row]
        restaurants[own, LIST], value[own, EXCESS] = NONE, 0.0
        restaurants[own, ROW] = own_row[row] if own_row[row] >= 0 else ~own_row[row]
        if count == 0:
            continue
        if count > 1:
            restaurants[own, LIST], restaurants[own, LENGTH] = free, count
            if listed[rows[row, PARENT]] > 1:
                above = restaurants[place[rows[row, PARENT]], LIST]
                servings[free : free + count] = servings[above : above + count]
        serving = rows[row, seating.FIRST]
        while serving != NONE:
            dish = seated[serving, seating.DISH]
            if seated[serving, seating.SERVED] == 0:
                serving = seated[serving, NEXT]
                continue
            if count == 1:
                restaurants[own, LIST], value[own, EXCESS] = ~(dish + 1), excess[serving]
            else:
                entry = free
                while servings[entry, DISH] != NONE and servings[entry, DISH] != dish:
                    entry += 1
                servings[entry, DISH], serving_value[entry, VALUE] = dish, excess[serving]
            serving = seated[serving, NEXT]
        free += count if count > 1 else 0
    return servings


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


@compiled
def best_by_class(view, kind, classes, best):
    """The best dishes of each class for every restaurant of a view whose experts are not multiplied.

    A dish that a restaurant does not serve keeps its rank among those that it does not serve, and falls behind the
    others; so the parent's best and the restaurant's own dishes are all that needs to be compared.

    kind (int32[alphabet]): The class of each dish, or `NONE` for a dish that is never listed.
    classes (int): The number of classes.
    best (int): How many dishes of a class to keep.
    RETURNS (tuple): dish (int32[restaurants, classes, best]) and probability (float64[restaurants, classes, best]).
    """
    n = len(view.restaurants)
    dish = np.full((n, classes, best), NONE, dtype=np.int32)
    probability = np.zeros((n, classes, best))
    for expert in range(len(view.columns)):
        _enter_served(view, expert, kind, dish[expert], probability[expert])
        value = view.value[expert, BACK_OFF] / len(kind)
        for found in range(len(kind)):
            if kind[found] != NONE and share_of(view, expert, found) < 0.0:
                keep_best(dish[expert, kind[found]], probability[expert, kind[found]], found, value)
    # Children stand behind their parents.
    for parent in range(n):
        if parent >= len(view.columns) and view.restaurants[parent, SYMBOL] == NONE:
            continue
        first, room = view.restaurants[parent, FIRST], view.restaurants[parent, ROOM] >> _STANDING_BITS
        for restaurant in range(first, first + room):
            if view.restaurants[restaurant, SYMBOL] == NONE:
                continue
            _enter_served(view, restaurant, kind, dish[restaurant], probability[restaurant])
            for group in range(classes):
                for i in range(best):
                    found = dish[parent, group, i]
                    if found == NONE:
                        break
                    if share_of(view, restaurant, found) < 0.0:
                        value = view.value[restaurant, BACK_OFF] * probability[parent, group, i]
                        keep_best(dish[restaurant, group], probability[restaurant, group], found, value)
    return dish, probability


@borrowing
def _enter_served(view, restaurant, kind, dish, probability):
    """Enter the dishes that a restaurant serves into lists of the best of each class, see `keep_best`."""
    listed = view.restaurants[restaurant, LIST]
    if listed >= 0:
        for entry in range(listed, listed + view.restaurants[restaurant, LENGTH]):
            found = view.servings[entry, DISH]
            if found != NONE and kind[found] != NONE:
                value = np.float64(view.serving_value[entry, VALUE])
                keep_best(dish[kind[found]], probability[kind[found]], found, value)
    elif listed != NONE and kind[~listed - 1] != NONE:
        found = ~listed - 1
        keep_best(dish[kind[found]], probability[kind[found]], found, np.float64(view.value[restaurant, SHARE]))
