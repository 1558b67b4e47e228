"""How a view is made of the finished probabilities of a seating."""

from math import log

import numpy as np

from ..compiled import NONE, borrowing, compiled, overwrite
from ..hpyp import franchise as seating
from ..hpyp.franchise import N_RESTAURANTS, NEXT, PARENT, Franchise
from .finished import finish
from .view import (
    BACK_OFF,
    BUCKET_BITS,
    EMPTY,
    EXCESS,
    FIRST,
    LENGTH,
    LIST,
    PAIR,
    ROOM,
    ROW,
    SHARE,
    SINGLE,
    VALUE,
    WIDTH,
    View,
    bucket_of,
    find,
    room_for,
    view_of,
)

# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5
_LEAST = 1.2e-38


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
        total += room_for(np.int64(starts[row + 1]))
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
            room = room_for(end - begin)
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
        total += room_for(count) if count > 1 else 0
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
        room = room_for(count)
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
