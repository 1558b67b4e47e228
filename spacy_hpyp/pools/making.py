"""How a view is made of the finished probabilities of a seating."""

from math import log

import numpy as np

from ..compiled import NONE, compiled, overwrite
from ..hpyp import franchise as column
from ..hpyp.franchise import Franchise
from . import view as offset
from .finished import finish
from .view import BUCKET_BITS, EMPTY, PAIR, SINGLE, WIDTH, View, bucket_of, find, view_of

# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5
_LEAST = 1.2e-38
# So many entries leave no room between them.
_FEW_ENTRIES = 4


def make_view(franchise: Franchise, *, multiplied: bool = False) -> View:
    """The view of the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants, or servings, than can be numbered.
    """
    finished = finish(franchise)
    experts, used = len(franchise.columns), len(finished.back_off)
    inner = franchise.restaurants[experts:used]
    children = np.bincount(inner[inner[:, column.CUSTOMERS] > 0, column.PARENT], minlength=used).astype(np.int32)
    rooms = _room_for(children)
    total = experts + int(rooms.sum(dtype=np.int64))
    _check_room(WIDTH * total)
    # Made here, since NumPy asks for large pages of memory, in which places are found sooner.
    restaurants = np.full(WIDTH * total, EMPTY, dtype=np.uint32)
    value = restaurants.view(np.float32)
    place = _settle(finished, children, rooms, restaurants)
    seated = franchise.servings[: len(finished.probability)]
    served = np.bincount(seated[seated[:, column.SERVED] > 0, column.RESTAURANT], minlength=used).astype(np.int32)
    if multiplied:
        least = max(2.0, min(_DENSE_SHARE * franchise.alphabet[0], _DENSE))
        own_row, rows, lists = _number_rows(finished, served, least)
        row = np.empty((rows, int(franchise.alphabet[0])), dtype=np.float32)
        listed, room = _fill_rows(finished, own_row, row), lists
        beside = np.maximum(own_row, ~own_row).view(np.uint32)
    else:
        row = np.empty((0, 0), dtype=np.float32)
        listed, lists, room = _round_down(finished.probability), served, _room_for(served)
        beside = _round_down(finished.back_off).view(np.uint32)
    entries = int(room[lists > 1].sum(dtype=np.int64))
    _check_room(PAIR * entries)
    servings = np.full(PAIR * entries, EMPTY, dtype=np.uint32)
    _list_dishes(
        finished,
        place,
        beside,
        lists,
        room,
        listed,
        multiplied,
        restaurants,
        value,
        servings,
        servings.view(np.float32),
    )
    return view_of(franchise.columns, franchise.alphabet, restaurants, servings, row)


def _check_room(numbers: int) -> None:
    if numbers > SINGLE:
        raise MemoryError(f"A view cannot hold a table of {numbers} numbers. Use shorter contexts or less text.")


def _room_for(counts: np.ndarray) -> np.ndarray:
    """How many entries are set apart for some symbols or dishes."""
    return np.where(counts <= _FEW_ENTRIES, counts, counts + counts // 4 + 1)


def _round_down(numbers: np.ndarray) -> np.ndarray:
    """The next numbers of 32 bits that are not higher, and not 0."""
    rounded = numbers.astype(np.float32)
    np.nextafter(rounded, np.float32(0.0), out=rounded, where=rounded > numbers)
    return np.maximum(rounded, np.float32(_LEAST), out=rounded)


@compiled
def _settle(finished, counts, rooms, restaurants):
    """Give every restaurant with customers its place: those of one expert depth first, children in the order of the rows.

    counts, rooms (int32[used]): How many children each row has, and for how many there is room.
    restaurants (uint32[*]): SYMBOL, FIRST and ROOM are entered.
    RETURNS (int64[used]): The place of each row, `NONE` of one without customers.
    """
    rows, experts, used = finished.franchise.restaurants, len(finished.franchise.columns), len(counts)
    children = np.empty(counts.sum(), dtype=np.int32)
    # Where those of the next row begin, until all are entered.
    following = np.zeros(used, dtype=np.int32)
    for row in range(1, used):
        following[row] = following[row - 1] + counts[row - 1]
    for row in range(experts, used):
        if rows[row, column.CUSTOMERS] > 0:
            parent = rows[row, column.PARENT]
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
            own, end, room = place[row], following[row], np.int64(rooms[row])
            begin = end - counts[row]
            customers = rows[row, column.CUSTOMERS]
            restaurants[own + offset.FIRST] = free
            restaurants[own + offset.ROOM] = room << BUCKET_BITS | (bucket_of(customers) if customers > 0 else 0)
            for i in range(begin, end):
                symbol = rows[children[i], column.SYMBOL]
                place[children[i]] = find(restaurants, free, room, WIDTH, symbol)
                restaurants[place[children[i]]] = symbol
            for i in range(end - 1, begin - 1, -1):
                waiting[count] = children[i]
                count += 1
            free += room * WIDTH
    return place


@compiled
def _number_rows(finished, served, least):
    """Which restaurants have rows of logs, and how many dishes the others list.

    What the parent lists, a restaurant without a row lists too: with excesses of its own, or with its parent's.

    served (int32[*]): How many dishes each restaurant serves.
    RETURNS (tuple[int32[*], int, int32[*]]): The row of each restaurant, or ~row of the nearest above it if it serves fewer dishes than
        `least`; how many rows there are; and how many dishes each restaurant lists.
    """
    own_row, lists = np.empty(len(served), dtype=np.int32), np.zeros(len(served), dtype=np.int32)
    rows = 0
    for row in range(len(served)):
        parent = finished.franchise.restaurants[row, column.PARENT]
        if parent == NONE or served[row] >= least:
            own_row[row] = rows
            rows += 1
            continue
        own_row[row] = min(own_row[parent], ~own_row[parent])
        if finished.franchise.restaurants[row, column.CUSTOMERS] > 0:
            lists[row] = served[row] if own_row[parent] >= 0 else lists[parent]
    return own_row, rows, lists


@compiled
def _fill_rows(finished, own_row, row):
    """Write the rows of logs. Returns the excess of every serving in a restaurant without one (float32[*])."""
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
    excess = np.zeros(len(finished.probability), dtype=np.float32)
    # Logs of the products of the back-off factors since the row.
    passed_on = np.zeros(len(own_row))
    for restaurant in range(len(own_row)):
        place, parent = own_row[restaurant], rows[restaurant, column.PARENT]
        if place < 0:
            passed_on[restaurant] = passed_on[parent] + log(finished.back_off[restaurant])
        elif parent == NONE:
            row[place] = log(finished.back_off[restaurant] / finished.franchise.alphabet[0])
        else:
            # A restaurant serves no more than its parent: that has a row, too.
            row[place] = row[own_row[parent]] + np.float32(log(finished.back_off[restaurant]))
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish = seated[serving, column.DISH]
            found = log(finished.probability[serving])
            if place >= 0:
                row[place, dish] = found
            else:
                excess[serving] = found - passed_on[restaurant] - row[~place, dish]
            serving = seated[serving, column.NEXT]
    return excess


@compiled
def _list_dishes(
    finished, places, beside, lists, rooms, listed, multiplied, restaurants, value, servings, serving_value
):
    """Enter LIST, its only value and what stands beside it of all restaurants, and fill the lists.

    places (int64[*]): Where each restaurant stands, or `NONE`.
    beside (uint32[*]): ROW, or the bits of BACK_OFF.
    lists, rooms (int32[*]): How many dishes it lists, and how many there is room for. Lists of excesses are read as a whole, and have no gaps.
    listed (float32[*]): The value of each serving.
    """
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
    free = np.int64(0)
    for row in range(len(places)):
        own, count = places[row], lists[row]
        if own == NONE:
            continue
        restaurants[own + offset.LIST], value[own + offset.SHARE] = EMPTY, 0.0
        restaurants[own + offset.ROW] = beside[row]
        room = np.int64(rooms[row])
        if count > 1:
            restaurants[own + offset.LIST], restaurants[own + offset.LENGTH] = free, room
            if multiplied and lists[rows[row, column.PARENT]] > 1:
                above = np.int64(restaurants[places[rows[row, column.PARENT]] + offset.LIST])
                overwrite(servings[free:], servings[above : above + PAIR * count])
        serving = rows[row, column.FIRST] if count > 0 else NONE
        while serving != NONE:
            dish = seated[serving, column.DISH]
            if seated[serving, column.SERVED] > 0:
                if count == 1:
                    restaurants[own + offset.LIST], value[own + offset.SHARE] = EMPTY - 1 - dish, listed[serving]
                else:
                    place = free
                    if multiplied:
                        while servings[place] != EMPTY and servings[place] != dish:
                            place += PAIR
                    else:
                        place = find(servings, free, room, PAIR, dish)
                    servings[place], serving_value[place + offset.VALUE] = dish, listed[serving]
            serving = seated[serving, column.NEXT]
        free += PAIR * room if count > 1 else 0
