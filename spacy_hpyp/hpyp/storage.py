"""Franchises as columns of small numbers, which compress to a few bits each.

Restaurants and servings without customers are left out. Restaurants are numbered breadth first; the
number of children and the symbol of each are kept. Dishes and customers are listed for the
restaurants of whole contexts alone: all others serve what is served below them, a customer for each
table there.
"""

from typing import Any

import numpy as np

from ..compiled import NONE, jit, overwrite
from ..memory import giving_back
from . import franchise as column
from .franchise import Franchise, fill_index, new_franchise, reserve_rows
from .seating import open_path

# Empty restaurants and servings are dropped when they are at least this share of all.
_WORTHWHILE = 0.25


@giving_back
def pack(franchise: Franchise) -> dict[str, Any]:
    """Return a franchise as arrays that `storage.dump` compresses well."""
    order, number = _number_occupied(franchise)
    restaurants = franchise.restaurants[order]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    rows = np.flatnonzero(servings[:, column.SERVED] > 0)
    place = number[servings[rows, column.RESTAURANT]]
    rows = rows[np.lexsort((servings[rows, column.DISH], place))]
    kinds, cells = _walk_cells(franchise, rows[servings[rows, column.OPEN] > 1])
    deepest = _is_deepest(restaurants[:, column.TIER], franchise.columns)
    listed = rows[deepest[number[servings[rows, column.RESTAURANT]]]]
    inner = number[restaurants[len(franchise.columns) :, column.PARENT]]
    return {
        "discount": franchise.discount.copy(),
        "strength": franchise.strength.copy(),
        "children": np.bincount(inner, minlength=len(order)),
        "symbol": restaurants[len(franchise.columns) :, column.SYMBOL],
        "dishes": np.bincount(place, minlength=len(order))[deepest],
        "dish": servings[listed, column.DISH],
        "customers": servings[listed, column.SERVED],
        "tables": servings[rows, column.OPEN],
        "kinds": kinds,
        "size": cells[:, column.SIZE],
        "count": cells[:, column.COUNT],
    }


def _number_occupied(franchise: Franchise) -> tuple[np.ndarray, np.ndarray]:
    """Number roots and occupied restaurants breadth first, children in the order of their symbols.
    Returns these restaurants in this order, and the number of each restaurant, if it is occupied.
    """
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    number = np.arange(len(restaurants))
    order = [number[: len(franchise.columns)].copy()]
    count = len(franchise.columns)
    level = restaurants[:, column.TIER] % len(franchise.path)
    level[restaurants[:, column.CUSTOMERS] == 0] = NONE
    for depth in range(1, len(franchise.path)):
        found = np.flatnonzero(level == depth)
        parent = number[restaurants[found, column.PARENT]]
        found = found[np.lexsort((restaurants[found, column.SYMBOL], parent))]
        number[found] = np.arange(count, count + len(found))
        count += len(found)
        order.append(found)
    return np.concatenate(order), number


def _is_deepest(tier: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Tell by their tiers which restaurants are those of whole contexts (bool[*])."""
    levels = np.sum(columns != NONE, axis=1)
    return tier % (columns.shape[1] + 1) == levels[tier // (columns.shape[1] + 1)]


@jit
def _walk_cells(franchise, rows):
    """Return the number of cells of each of some servings, and the cells in order."""
    kinds = np.zeros(len(rows), dtype=np.int64)
    cells = np.empty((franchise.used[column.N_CELLS], 3), dtype=np.int32)
    filled = 0
    for i in range(len(rows)):
        cell = franchise.servings[rows[i], column.CELL]
        while cell != NONE:
            overwrite(cells[filled], franchise.cells[cell])
            filled += 1
            kinds[i] += 1
            cell = franchise.cells[cell, column.LINK]
    return kinds, cells[:filled]


@giving_back
def unpack(packed: Any, franchise: Franchise) -> Franchise:
    """Rebuild a franchise from the result of `pack`.

    franchise (Franchise): An empty one that fits, not to be used afterwards. A seating with a table
        for each dish or customer is also a sampled one, but not the other way round.
    RETURNS (Franchise): The seating; later draws from it are those of the original.
    """
    columns = franchise.columns
    franchise.discount[:], franchise.strength[:] = packed["discount"], packed["strength"]
    count, founded, served = len(packed["children"]), len(packed["symbol"]), len(packed["tables"])
    # The first serving of a restaurant needs no place in the index.
    franchise = reserve_rows(
        franchise, founded, served, len(packed["size"]), indexed=served - founded
    )
    restaurants = franchise.restaurants[:count]
    restaurants[len(columns) :, column.PARENT] = np.repeat(np.arange(count), packed["children"])
    restaurants[len(columns) :, column.SYMBOL] = packed["symbol"]
    restaurants[:, column.FIRST] = NONE
    franchise.used[column.N_RESTAURANTS] = count
    _enter_tiers(restaurants, len(columns))
    fill_index(franchise.restaurant_index, restaurants, count, restaurants[:0])
    deepest = np.flatnonzero(_is_deepest(restaurants[:, column.TIER], columns))
    _serve(franchise, np.repeat(deepest, packed["dishes"]), packed["dish"], packed["customers"])
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    rows = np.lexsort((servings[:, column.DISH], servings[:, column.RESTAURANT]))
    servings[rows, column.OPEN] = packed["tables"]
    # The table sizes of servings that have several tables.
    ends = np.cumsum(packed["kinds"].astype(np.int64))
    cells = franchise.cells[: len(packed["size"])]
    franchise.used[column.N_CELLS] = len(cells)
    cells[:, column.SIZE], cells[:, column.COUNT] = packed["size"], packed["count"]
    cells[:, column.LINK] = np.arange(1, len(cells) + 1)
    cells[ends - 1, column.LINK] = NONE
    servings[rows[packed["tables"] > 1], column.CELL] = ends - packed["kinds"]
    _add_up(franchise)
    return franchise


@jit
def _enter_tiers(restaurants, experts):
    for restaurant in range(experts, len(restaurants)):
        above = restaurants[restaurant, column.PARENT]
        restaurants[restaurant, column.TIER] = restaurants[above, column.TIER] + 1


@jit
def _serve(franchise, place, dish, customers):
    """Enter the servings of restaurants of whole contexts, and those above them."""
    for i in range(len(place)):
        depth = open_path(franchise, place[i], dish[i])
        franchise.servings[franchise.chain[depth], column.SERVED] = customers[i]


@jit
def _add_up(franchise):
    """Enter the customers sent by tables below, and the customers and tables of restaurants."""
    servings, restaurants = franchise.servings, franchise.restaurants
    for serving in range(franchise.used[column.N_SERVINGS]):
        above = servings[serving, column.ABOVE]
        if above != NONE:
            servings[above, column.SERVED] += servings[serving, column.OPEN]
    restaurants[: franchise.used[column.N_RESTAURANTS], column.CUSTOMERS : column.TABLES + 1] = 0
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = restaurants[servings[serving, column.RESTAURANT]]
        row[column.CUSTOMERS] += servings[serving, column.SERVED]
        row[column.TABLES] += servings[serving, column.OPEN]


def compact(franchise: Franchise) -> Franchise:
    """Drop restaurants and servings without customers, if they are many; no later draw changes.

    RETURNS (Franchise): The franchise to go on with; the argument must not be used any more.
    """
    used = franchise.used
    customers = franchise.restaurants[: used[column.N_RESTAURANTS], column.CUSTOMERS]
    served = franchise.servings[: used[column.N_SERVINGS], column.SERVED]
    rows = len(customers) + len(served)
    if np.count_nonzero(customers) + np.count_nonzero(served) > (1.0 - _WORTHWHILE) * rows:
        return franchise
    settings = {"one_table": franchise.one_table[0], "own_tables": franchise.own_tables[0]}
    empty = new_franchise(franchise.columns, franchise.alphabet[0], **settings)
    return unpack(pack(franchise), empty)
