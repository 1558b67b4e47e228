"""Franchises as bytes: written compactly, and checked before anything compiled reads them.

Empty restaurants are left out. Those that remain are numbered breadth first, expert by expert, and described by columns
of small numbers (how many children, which symbol, how many dishes, ...), which compress to a few bits each. Everything
else, such as parents, tiers and totals, follows from these and is rebuilt.
"""

from typing import Any

import numpy as np

from ..compiled import NONE, compiled
from ..storage.arrays import FEW, HIGHEST, PER_BYTE, pack_integers, unpack_integers
from . import franchise as column
from .franchise import Franchise, fill_index, new_franchise, reserve_rows, serving_of, walk_cells

_COLUMNS = ("children", "symbol", "dishes", "dish", "customers", "tables", "kinds", "size", "count")
_HIGHEST_STRENGTH = 1e9


def pack(franchise: Franchise) -> dict[str, Any]:
    """A franchise as a dictionary that srsly can write."""
    # There are millions of rows, so that they are numbered in 32 bits, and each column is copied by itself.
    experts = len(franchise.columns)
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    order, number, sizes = _number_occupied(franchise)
    count = len(order)
    inner = order[experts:]
    children = np.bincount(number[restaurants[inner, column.PARENT]], minlength=count)
    rows = np.flatnonzero(servings[:, column.SERVED] > 0).astype(np.int32)
    place = number[servings[rows, column.RESTAURANT]]
    del number
    sorting = np.lexsort((servings[rows, column.DISH], place))
    rows, place = rows[sorting], place[sorting]
    del sorting
    dishes = np.bincount(place, minlength=count)
    del place
    kinds, size, tables = _list_cells(franchise, rows)
    return {
        "discount": franchise.discount.tolist(),
        "strength": franchise.strength.tolist(),
        "restaurants": sizes,
        "children": pack_integers(children),
        "symbol": pack_integers(restaurants[inner, column.SYMBOL]),
        "dishes": pack_integers(dishes),
        "dish": pack_integers(servings[rows, column.DISH]),
        "customers": pack_integers(servings[rows, column.SERVED]),
        "tables": pack_integers(servings[rows, column.OPEN]),
        "kinds": pack_integers(kinds),
        "size": pack_integers(size),
        "count": pack_integers(tables),
    }


def _number_occupied(franchise: Franchise) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Number the restaurants that are not empty: roots, then each expert's, breadth first.

    RETURNS (tuple): The restaurants in the order of their numbers, int32[*]; the number of each restaurant or `NONE`, int32[*]; and how many
        each expert has besides its root.
    """
    experts, depth = franchise.columns.shape
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    number = np.full(len(restaurants), NONE, dtype=np.int32)
    number[:experts] = np.arange(experts)
    order = [np.arange(experts, dtype=np.int32)]
    count = experts
    sizes = []
    occupied = np.flatnonzero(restaurants[:, column.CUSTOMERS] > 0).astype(np.int32)
    occupied = occupied[np.argsort(restaurants[occupied, column.TIER], kind="stable")]
    bounds = np.searchsorted(restaurants[occupied, column.TIER], np.arange(experts * (depth + 1) + 1))
    for expert in range(experts):
        start = count
        for level in range(1, depth + 1):
            tier = expert * (depth + 1) + level
            found = occupied[bounds[tier] : bounds[tier + 1]]
            found = found[np.lexsort((restaurants[found, column.SYMBOL], number[restaurants[found, column.PARENT]]))]
            number[found] = np.arange(count, count + len(found))
            count += len(found)
            order.append(found)
        sizes.append(count - start)
    return np.concatenate(order), number, sizes


def _list_cells(franchise: Franchise, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For servings with several tables: how many table sizes each has; and all of their sizes and counts."""
    rows = rows[franchise.servings[rows, column.OPEN] > 1]
    kinds, cells = walk_cells(franchise, rows)
    owner = np.repeat(np.arange(len(rows)), kinds)
    cells = cells[np.lexsort((cells[:, column.SIZE], owner))]
    return kinds, cells[:, column.SIZE], cells[:, column.COUNT]


def unpack(
    packed: Any, columns: np.ndarray, alphabet: int, *, one_table: bool = False, own_tables: bool = False
) -> Franchise:
    """Rebuild a franchise from what `pack` made of it.

    columns (int32[experts, depth]), alphabet (int), one_table, own_tables (bool): What the franchise has to fit, see
        `Franchise`. With one table at most for each dish, or one for each customer, it is a seating that could have been sampled
        too, but not the other way round.
    RETURNS (Franchise): The seating; later draws from it are those of the original.
    RAISES (ValueError): If the content is damaged or is no seating of such a franchise.
    """
    franchise = new_franchise(columns, alphabet, one_table=one_table, own_tables=own_tables)
    experts, depth = columns.shape
    try:
        # Some columns, as one of nothing but single tables, take no room. All of them together do.
        most = max(FEW, PER_BYTE * sum(len(packed[name]["data"]) for name in _COLUMNS))
        discount = np.array(packed["discount"], dtype=np.float64)
        strength = np.array(packed["strength"], dtype=np.float64)
        sizes = [int(size) for size in packed["restaurants"]]
        children, symbol, dishes, dish, customers, tables, kinds, size, count = (
            unpack_integers(packed[name], most) for name in _COLUMNS
        )
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a part of a distribution is missing or of the wrong kind ({error})") from error
    tiers = experts * (depth + 1)
    _require(discount.shape == strength.shape == (tiers,), "the hyperparameters do not fit the context lists")
    _require((discount >= 0) & (discount <= 1) & np.isfinite(strength), "a discount is not between 0 and 1")
    _require(strength > -discount, "a strength is not above the negative discount")
    _require(strength < _HIGHEST_STRENGTH, "a strength is too large")
    n = experts + sum(sizes)
    are_counted = len(sizes) == experts and min(sizes, default=0) >= 0
    _require(are_counted, "the number of experts is not that of the context lists")
    _require(len(children) == len(dishes) == n and len(symbol) == n - experts, "the restaurants are not all there")
    parent, tier = _parents(children, sizes, columns)
    _require(_ascending(parent[experts:], symbol), "two restaurants have the same context")
    _require(len(dish) == len(customers) == len(tables) == dishes.sum(), "the servings are not all there")
    _require(int(dish.max(initial=0)) < alphabet, "a dish is not in the alphabet")
    restaurant = np.repeat(np.arange(n, dtype=np.int32), dishes)
    _require(_ascending(restaurant, dish), "a restaurant serves a dish twice")
    _require((1 <= tables) & (tables <= customers), "a serving has no table or more tables than customers")
    crowd = np.bincount(restaurant, weights=customers, minlength=n)
    _require(int(crowd.max(initial=0)) < HIGHEST, "a restaurant has more customers than can be counted")
    several = np.flatnonzero(tables > 1)
    # With a discount of 1 there is no choice.
    no_choice = discount[tier[restaurant]] == 1.0
    single = (tables == 1) | no_choice | (not one_table)
    _require(single, "a restaurant has several tables for a dish: its seating was sampled")
    own = (tables == customers) | ~(own_tables | no_choice)
    _require(own, "customers share a table where raw counts or a discount of 1 give each one of his own")
    _require(len(kinds) == len(several) and kinds.sum() == len(size) == len(count), "the table sizes are not all there")
    owner = np.repeat(several, kinds)
    _require((size > 0) & (count > 0), "a table is empty")
    _require(_ascending(owner, size), "a table size is listed twice")
    seats = np.bincount(owner, weights=size.astype(np.int64) * count, minlength=len(dish))[several]
    at_tables = np.bincount(owner, weights=count, minlength=len(dish))[several]
    _require((seats == customers[several]) & (at_tables == tables[several]), "the table sizes do not add up")
    franchise.discount[:] = discount
    franchise.strength[:] = strength
    franchise = reserve_rows(franchise, n, len(dish), len(size))
    franchise.used[: column.N_CELLS + 1] = n, len(dish), len(size)
    rows = franchise.restaurants[:n]
    rows[:, column.PARENT], rows[:, column.TIER] = parent, tier
    rows[:experts, column.SYMBOL], rows[experts:, column.SYMBOL] = NONE, symbol
    rows[:, column.CUSTOMERS] = crowd
    rows[:, column.TABLES] = np.bincount(restaurant, weights=tables, minlength=n)
    first = np.cumsum(dishes) - dishes
    rows[:, column.FIRST] = np.where(dishes > 0, first, NONE)
    served = franchise.servings[: len(dish)]
    served[:, column.RESTAURANT], served[:, column.DISH], served[:, column.SERVED], served[:, column.OPEN] = (
        restaurant,
        dish,
        customers,
        tables,
    )
    served[:, column.CELL] = NONE
    served[several, column.CELL] = np.cumsum(kinds) - kinds
    served[:, column.NEXT] = np.where(_ends(restaurant), NONE, np.arange(1, len(dish) + 1))
    cells = franchise.cells[: len(size)]
    cells[:, column.SIZE], cells[:, column.COUNT] = size, count
    cells[:, column.LINK] = np.where(_ends(owner), NONE, np.arange(1, len(size) + 1))
    fill_index(franchise.restaurant_index, franchise.restaurants, n)
    fill_index(franchise.serving_index, franchise.servings, len(dish))
    _link_above(franchise)
    above = served[:, column.ABOVE]
    _require((above != NONE) | (parent[restaurant] == NONE), "a dish is unknown to the parent restaurant")
    sent = np.bincount(above[above != NONE], weights=tables[above != NONE], minlength=len(dish))
    levels = np.sum(columns != NONE, axis=1)
    inner = (tier % (depth + 1) < levels[tier // (depth + 1)])[restaurant]
    _require(sent[inner] == customers[inner], "customers and the tables below them do not agree")
    return franchise


def _require(condition: bool | np.ndarray, problem: str) -> None:
    if not np.all(condition):
        raise ValueError(problem)


def _parents(children: np.ndarray, sizes: list[int], columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parent and tier of every restaurant, from the numbers of children in breadth-first order."""
    experts, depth = columns.shape
    parent = np.full(len(children), NONE, dtype=np.int32)
    tier = np.empty(len(children), dtype=np.int32)
    start = experts
    for expert, size in enumerate(sizes):
        levels = int(np.sum(columns[expert] != NONE))
        generation = np.array([expert])
        tier[expert] = expert * (depth + 1)
        end = start + size
        for level in range(1, levels + 1):
            born = int(children[generation].sum())
            _require(start + born <= end, "there are more children than restaurants")
            parent[start : start + born] = np.repeat(generation, children[generation])
            generation = np.arange(start, start + born)
            tier[generation] = expert * (depth + 1) + level
            start += born
        _require(start == end and not children[generation].any(), "the restaurants do not form a tree of contexts")
    return parent, tier


def _ascending(group: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Where values ascend strictly within runs of equal groups."""
    return (np.diff(group) != 0) | (np.diff(value) > 0)


def _ends(group: np.ndarray) -> np.ndarray:
    """Whether each entry is the last of its run."""
    return np.append(np.diff(group) != 0, True)[: len(group)]


@compiled
def _link_above(franchise):
    """Enter every serving's serving of the same dish in the parent restaurant, `NONE` if there is none."""
    servings = franchise.servings
    for serving in range(franchise.used[column.N_SERVINGS]):
        parent = franchise.restaurants[servings[serving, column.RESTAURANT], column.PARENT]
        servings[serving, column.ABOVE] = (
            NONE if parent == NONE else serving_of(franchise, parent, servings[serving, column.DISH])
        )
