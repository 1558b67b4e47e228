"""How a view is made of the finished probabilities of a seating."""

from math import log

import numpy as np

from ..compat.memory import giving_back
from ..compiled import NONE, borrowing, compiled, overwrite
from ..hpyp import franchise as column
from ..hpyp.franchise import Franchise
from . import view as offset
from .finished import finish
from .view import (
    DISHES,
    EMPTY,
    PAIR,
    SHARE,
    SINGLE,
    SYMBOL_SHIFT,
    SYMBOLS,
    WIDTH,
    View,
    bucket_of,
    dish_of,
    entry_of,
    find,
    key_of,
    room_number,
    room_of,
    rounded_log,
)

# A restaurant that serves at least this part of the alphabet, or so many dishes, has a row of logs; one dish
# never makes a row.
_DENSE_SHARE = 0.12
_DENSE = 5
_LEAST = 1.2e-38
# So many entries leave no room between them.
_FEW_ENTRIES = 4


@giving_back
def make_view(franchise: Franchise, *, multiplied: bool = False) -> View:
    """Freeze the present seating.

    multiplied (bool): Whether its experts are multiplied.
    RAISES (MemoryError): If there are more restaurants or servings than can be numbered.
    RAISES (ValueError): If there are more symbols, or more dishes of multiplied experts.
    """
    # There are millions of restaurants and servings: what is noted of each has 32 bits, and is let go when it
    # is not needed any more.
    if franchise.restaurants[: franchise.used[column.N_RESTAURANTS], column.SYMBOL].max() >= SYMBOLS:
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
        _enter_excesses(finish(franchise), place, own_row, served, logs, restaurants, servings)
        row = _round_rows(logs)
    else:
        row = np.empty((0, 0), dtype=np.int16)
        _enter_probabilities(finish(franchise), place, served, rooms - 1, restaurants, servings)
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


@compiled
def _number_rooms(wanted):
    """The number of the room of each restaurant (uint8[*]), see `room_number`."""
    numbers = np.empty(len(wanted), dtype=np.uint8)
    for restaurant in range(len(wanted)):
        numbers[restaurant] = room_number(wanted[restaurant])
    return numbers


@compiled
def _places_of(numbers):
    """How many places rooms with some numbers have together."""
    places = np.int64(0)
    for number in numbers:
        places += np.int64(room_of(np.uint64(key_of(0, number, 0))))
    return places


@compiled
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


@compiled
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
            first = np.int64(restaurants[above + offset.FIRST])
            place = find(restaurants, first, room, WIDTH, SYMBOL_SHIFT, symbol)
        key = key_of(symbol, numbers[row], bucket_of(customers) if customers > 0 else 0)
        places[row] = place
        restaurants[place], restaurants[place + offset.FIRST] = key, free
        free += np.int64(room_of(np.uint64(key))) * WIDTH
    return places


@compiled
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


@compiled
def _enter_excesses(finished, places, own_row, lists, row, restaurants, servings):
    """Fill the rows of logs, and enter LIST and VALUE of all restaurants, and their lists.

    finished (Finished): Its back-off factors are overwritten.
    places (int32[*]): Where each restaurant stands, or `NONE`.
    own_row, lists (int32[*]): As `_number_rows` returns and leaves them. Lists of excesses are read as a
        whole, and have no gaps.
    row (float32[rows, alphabet]): In nats.
    """
    rows, seated, alphabet = (
        finished.franchise.restaurants,
        finished.franchise.servings,
        finished.franchise.alphabet[0],
    )
    value = restaurants.view(np.float32)
    # In the place of the factors, logs of their products since the row.
    passed_on = finished.back_off
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
            passed_on[restaurant] = passed_on[parent] + log(finished.back_off[restaurant])
        else:
            if parent == NONE:
                row[number] = log(finished.back_off[restaurant] / alphabet)
            else:
                # A restaurant serves no more than its parent: that has a row, too.
                row[number] = row[own_row[parent]] + np.float32(log(finished.back_off[restaurant]))
            passed_on[restaurant] = 0.0
            restaurants[own + offset.LIST], restaurants[own + offset.VALUE] = EMPTY, number
        if count > 1:
            restaurants[own + offset.LIST], restaurants[own + offset.VALUE] = free, count
            if lists[parent] > 1:
                above = np.int64(restaurants[places[parent] + offset.LIST])
                overwrite(servings[free:], servings[above : above + count])
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish, found = seated[serving, column.DISH], log(finished.probability[serving])
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
                    value[own + offset.VALUE] = excess
                    restaurants[own + offset.LIST] = EMPTY - 1 - dish
            serving = seated[serving, column.NEXT]
        free += count if count > 1 else 0


@compiled
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


@compiled
def _enter_probabilities(finished, places, served, rooms, restaurants, servings):
    """Enter LIST and VALUE of all restaurants, and their lists.

    places (int32[*]): Where each restaurant stands, or `NONE`.
    served, rooms (int32[*]): How many dishes it serves, and how many there is room for.
    """
    rows, seated = finished.franchise.restaurants, finished.franchise.servings
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
        back_off = finished.back_off[restaurant]
        value[own + offset.VALUE] = (
            -_round_down(1.0 - back_off) if count == 1 and back_off > 0.5 else _round_down(back_off)
        )
        if count > 1:
            restaurants[own + offset.LIST], servings[free + SHARE] = free, room
            free += PAIR
        serving = rows[restaurant, column.FIRST]
        while serving != NONE:
            dish = seated[serving, column.DISH]
            if seated[serving, column.SERVED] > 0 and count > 1:
                place = find(servings, free, room, PAIR, 0, dish)
                servings[place], serving_value[place + SHARE] = (
                    dish,
                    _round_down(finished.probability[serving]),
                )
            elif seated[serving, column.SERVED] > 0:
                restaurants[own + offset.LIST] = EMPTY - 1 - dish
            serving = seated[serving, column.NEXT]
        free += PAIR * room if count > 1 else 0


@borrowing
def _round_down(number):
    """The next number of 32 bits that is not higher, and not 0."""
    rounded = np.float32(number)
    if rounded > number:
        rounded = np.nextafter(rounded, np.float32(0.0))
    return max(rounded, np.float32(_LEAST))
