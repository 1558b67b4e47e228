"""Franchises as columns of small numbers, which compress to a few bits each.

Restaurants and servings without customers are left out. Restaurants are numbered breadth first; of
each the number of its children and its symbol are kept. Dishes and customers are listed for the
restaurants of whole contexts alone: all others serve what is served below them, a customer for each
table there.
"""

from typing import Any

import numpy as np

from ..compiled import NONE, jit
from ..memory import giving_back
from . import franchise as column
from .franchise import Franchise, fill_index, new_franchise, reserve_rows, tables_of, walk_cells
from .seating import open_path

# Restaurants and servings without customers are let go when they are at least this part of all.
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
    kinds, cells = _list_cells(franchise, rows)
    deepest = _is_deepest(restaurants[:, column.TIER], franchise.columns)
    listed = rows[deepest[number[servings[rows, column.RESTAURANT]]]]
    inner = number[restaurants[len(franchise.columns) :, column.PARENT]]
    return {
        "discount": franchise.discount.copy(),
        "strength": franchise.strength.copy(),
        "servings": len(rows),
        "children": np.bincount(inner, minlength=len(order)),
        "symbol": restaurants[len(franchise.columns) :, column.SYMBOL],
        "dishes": np.bincount(place, minlength=len(order))[deepest],
        "dish": servings[listed, column.DISH],
        "customers": servings[listed, column.SERVED],
        # None where each dish has a single one.
        "tables": servings[rows, column.OPEN] if len(kinds) else np.empty(0, dtype=np.int32),
        "kinds": kinds,
        "size": cells[:, column.SIZE],
        "count": cells[:, column.COUNT],
    }


def _number_occupied(franchise: Franchise) -> tuple[np.ndarray, np.ndarray]:
    """Number roots and restaurants that are not empty breadth first, children in the order of their
    symbols.

    RETURNS (tuple[int64[*], int64[*]]): The restaurants in the order of their numbers, and the
        number of each restaurant.
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
    """Which restaurants are those of whole contexts, by their tiers (bool[*])."""
    levels = np.sum(columns != NONE, axis=1)
    return tier % (columns.shape[1] + 1) == levels[tier // (columns.shape[1] + 1)]


def _list_cells(franchise: Franchise, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For servings with several tables: how many table sizes each has, and their cells."""
    tables = franchise.servings[rows, column.OPEN : column.CELL].max(axis=1, initial=0)
    return walk_cells(franchise, rows[tables > 1])


@giving_back
def unpack(packed: Any, franchise: Franchise) -> Franchise:
    """Rebuild a franchise from what `pack` made of it.

    franchise (Franchise): An empty one that the seating fits. With one table at most for each dish,
        or one for each customer, it is a seating that could have been sampled too, but not the
        other way round.
    RETURNS (Franchise): The seating; later draws from it are those of the original.
    """
    columns = franchise.columns
    franchise.discount[:], franchise.strength[:] = packed["discount"], packed["strength"]
    count = len(packed["children"])
    # The first serving of a restaurant needs no place in the index.
    indexed = packed["servings"] - len(packed["symbol"])
    rows = len(packed["symbol"]), packed["servings"], len(packed["size"])
    franchise = reserve_rows(franchise, *rows, indexed=indexed)
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
    if franchise.servings.shape[1] > column.OPEN:
        servings[:, column.OPEN] = 1
    if len(packed["tables"]):
        rows = np.lexsort((servings[:, column.DISH], servings[:, column.RESTAURANT]))
        servings[rows, column.OPEN] = packed["tables"]
        _enter_cells(franchise, rows[packed["tables"] > 1], packed)
    _add_up(franchise)
    return franchise


@jit
def _enter_tiers(restaurants, experts):
    for restaurant in range(experts, len(restaurants)):
        restaurants[restaurant, column.TIER] = (
            restaurants[restaurants[restaurant, column.PARENT], column.TIER] + 1
        )


@jit
def _serve(franchise, place, dish, customers):
    """Enter what restaurants of whole contexts serve, and what is served above them."""
    for i in range(len(place)):
        depth = open_path(franchise, place[i], dish[i])
        franchise.servings[franchise.chain[depth], column.SERVED] = customers[i]


def _enter_cells(franchise: Franchise, rows: np.ndarray, packed: Any) -> None:
    """Enter the sizes of the tables of servings that have several."""
    kinds = packed["kinds"].astype(np.int64)
    franchise.used[column.N_CELLS] = kinds.sum()
    cells = franchise.cells[: kinds.sum()]
    cells[:, column.SIZE], cells[:, column.COUNT] = packed["size"], packed["count"]
    cells[:, column.LINK] = np.arange(1, len(cells) + 1)
    cells[np.cumsum(kinds) - 1, column.LINK] = NONE
    franchise.servings[rows, column.CELL] = np.cumsum(kinds) - kinds


@jit
def _add_up(franchise):
    """Enter the customers whom tables below have sent, and the customers and tables of each
    restaurant.
    """
    servings, restaurants = franchise.servings, franchise.restaurants
    for serving in range(franchise.used[column.N_SERVINGS]):
        above = servings[serving, column.ABOVE]
        if above != NONE:
            servings[above, column.SERVED] += (
                servings[serving, column.OPEN] if servings.shape[1] > column.OPEN else 1
            )
    restaurants[: franchise.used[column.N_RESTAURANTS], column.CUSTOMERS : column.TABLES + 1] = 0
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = restaurants[servings[serving, column.RESTAURANT]]
        row[column.CUSTOMERS] += servings[serving, column.SERVED]
        row[column.TABLES] += tables_of(servings[serving])


def compact(franchise: Franchise) -> Franchise:
    """Let go of restaurants and servings without customers, if they are many; no later draw
    changes.

    RETURNS (Franchise): The franchise to go on with; the one passed in must not be used any more.
    """
    used = franchise.used
    customers = franchise.restaurants[: used[column.N_RESTAURANTS], column.CUSTOMERS]
    served = franchise.servings[: used[column.N_SERVINGS], column.SERVED]
    rows = len(customers) + len(served)
    if np.count_nonzero(customers) + np.count_nonzero(served) > (1.0 - _WORTHWHILE) * rows:
        return franchise
    empty = new_franchise(
        franchise.columns,
        int(franchise.alphabet[0]),
        one_table=bool(franchise.one_table[0]),
        own_tables=bool(franchise.own_tables[0]),
        passes_on=franchise.servings.shape[1] > column.OPEN,
    )
    return unpack(pack(franchise), empty)
