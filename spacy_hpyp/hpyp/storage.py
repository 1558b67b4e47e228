"""Franchises as bytes: written compactly, and checked before anything compiled reads them.

Empty restaurants are left out. Those that remain are numbered breadth first, expert by expert, and described by columns
of small numbers (how many children, which symbol, how many dishes, ...), which compress to a few bits each. Everything
else, such as parents, tiers and totals, follows from these and is rebuilt.
"""

from typing import Any

import numpy as np

from ..compat.memory import giving_back
from ..compiled import NONE, compiled
from ..storage.arrays import FEW, HIGHEST, PER_BYTE, pack_integers, unpack_integers
from . import franchise as column
from .franchise import Franchise, fill_index, new_franchise, reserve_rows, serving_of, walk_cells

_COLUMNS = ("children", "symbol", "dishes", "dish", "customers", "tables", "kinds", "size", "count")
_HIGHEST_STRENGTH = 1e9


@giving_back
def pack(franchise: Franchise) -> dict[str, Any]:
    """A franchise as a dictionary that srsly can write."""
    # There are millions of rows, so that they are numbered, counted and sorted in 32 bits, and each column is copied by itself.
    experts = len(franchise.columns)
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    order, number, sizes = _number_occupied(franchise)
    inner = order[experts:]
    children = pack_integers(_count(number[restaurants[inner, column.PARENT]], len(order)))
    rows = np.flatnonzero(servings[:, column.SERVED] > 0).astype(np.int32)
    dish = servings[rows, column.DISH]
    rows = _sort(rows, dish, _count(dish, int(franchise.alphabet[0])))
    del dish
    place = number[servings[rows, column.RESTAURANT]]
    del number
    dishes = _count(place, len(order))
    rows = _sort(rows, place, dishes)
    del place
    kinds, size, tables = _list_cells(franchise, rows)
    return {
        "discount": franchise.discount.tolist(),
        "strength": franchise.strength.tolist(),
        "restaurants": sizes,
        "children": children,
        "symbol": pack_integers(restaurants[inner, column.SYMBOL]),
        "dishes": pack_integers(dishes),
        "dish": pack_integers(servings[rows, column.DISH]),
        "customers": pack_integers(servings[rows, column.SERVED]),
        "tables": pack_integers(servings[rows, column.OPEN]),
        "kinds": pack_integers(kinds),
        "size": pack_integers(size),
        "count": pack_integers(tables),
    }


@compiled
def _count(values, below):
    """How often each number from 0 on occurs (int32[below])."""
    counts = np.zeros(below, dtype=np.int32)
    for value in values:
        counts[value] += 1
    return counts


@compiled
def _sort(rows, keys, counts):
    """Rows in the order of their keys, of which each occurs so often; those of one key stay in their order."""
    # Where the next one of each key goes.
    following = np.zeros_like(counts)
    for key in range(1, len(counts)):
        following[key] = following[key - 1] + counts[key - 1]
    found = np.empty_like(rows)
    for i in range(len(rows)):
        found[following[keys[i]]] = rows[i]
        following[keys[i]] += 1
    return found


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


@giving_back
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
    except (KeyError, TypeError, OverflowError) as error:
        raise ValueError(f"a part of a distribution is missing or of the wrong kind ({error})") from error

    def read(name: str) -> np.ndarray:
        return unpack_integers(packed[name], most)

    tiers = experts * (depth + 1)
    _require(discount.shape == strength.shape == (tiers,), "the hyperparameters do not fit the context lists")
    _require((discount >= 0) & (discount <= 1) & np.isfinite(strength), "a discount is not between 0 and 1")
    _require(strength > -discount, "a strength is not above the negative discount")
    _require(strength < _HIGHEST_STRENGTH, "a strength is too large")
    franchise.discount[:] = discount
    franchise.strength[:] = strength
    n = experts + sum(sizes)
    are_counted = len(sizes) == experts and min(sizes, default=0) >= 0
    _require(are_counted, "the number of experts is not that of the context lists")
    children, symbol, dishes = read("children"), read("symbol"), read("dishes")
    _require(len(children) == len(dishes) == n and len(symbol) == n - experts, "the restaurants are not all there")
    # Each column is entered where it belongs, and checked there: copies of all of them would take as much memory again.
    franchise = reserve_rows(franchise, n, 0, 0)
    rows = franchise.restaurants[:n]
    parent, tier = rows[:, column.PARENT], rows[:, column.TIER]
    parent[:], tier[:] = _parents(children, sizes, columns)
    rows[experts:, column.SYMBOL] = symbol
    del children, symbol
    _require(_ascending(parent[experts:], rows[experts:, column.SYMBOL]), "two restaurants have the same context")
    dish = read("dish")
    _require(len(dish) == dishes.sum(), "the servings are not all there")
    franchise = reserve_rows(franchise, 0, len(dish), 0)
    served = franchise.servings[: len(dish)]
    restaurant, customers, tables = (served[:, each] for each in (column.RESTAURANT, column.SERVED, column.OPEN))
    restaurant[:] = np.repeat(np.arange(n, dtype=np.int32), dishes)
    served[:, column.DISH] = dish
    del dish, dishes
    for name, entered in (("customers", customers), ("tables", tables)):
        found = read(name)
        _require(len(found) == len(entered), "the servings are not all there")
        entered[:] = found
    _require(int(served[:, column.DISH].max(initial=0)) < alphabet, "a dish is not in the alphabet")
    _require(_ascending(restaurant, served[:, column.DISH]), "a restaurant serves a dish twice")
    _require((1 <= tables) & (tables <= customers), "a serving has no table or more tables than customers")
    franchise.used[: column.N_CELLS] = n, len(served)
    _require(_add_up(franchise) < HIGHEST, "a restaurant has more customers than can be counted")
    # With a discount of 1 there is no choice.
    no_choice = (discount == 1.0)[tier][restaurant]
    single = (tables == 1) | no_choice | (not one_table)
    _require(single, "a restaurant has several tables for a dish: its seating was sampled")
    own = (tables == customers) | ~(own_tables | no_choice)
    _require(own, "customers share a table where raw counts or a discount of 1 give each one of his own")
    several = np.flatnonzero(tables > 1)
    kinds, size, count = read("kinds"), read("size"), read("count")
    _require(len(kinds) == len(several) and kinds.sum() == len(size) == len(count), "the table sizes are not all there")
    owner = np.repeat(several, kinds)
    _require((size > 0) & (count > 0), "a table is empty")
    _require(_ascending(owner, size), "a table size is listed twice")
    seats, at_tables = (
        np.bincount(np.repeat(np.arange(len(several)), kinds), weights=each, minlength=len(several))
        for each in (size.astype(np.int64) * count, count)
    )
    _require((seats == customers[several]) & (at_tables == tables[several]), "the table sizes do not add up")
    franchise = reserve_rows(franchise, 0, 0, len(size))
    franchise.used[column.N_CELLS] = len(size)
    served[:, column.CELL] = NONE
    served[several, column.CELL] = np.cumsum(kinds) - kinds
    cells = franchise.cells[: len(size)]
    cells[:, column.SIZE], cells[:, column.COUNT] = size, count
    cells[:, column.LINK] = np.where(_ends(owner), NONE, np.arange(1, len(size) + 1))
    fill_index(franchise.restaurant_index, franchise.restaurants, n)
    fill_index(franchise.serving_index, franchise.servings, len(served))
    sent = _link_above(franchise)
    known = (served[:, column.ABOVE] != NONE) | (parent[restaurant] == NONE)
    _require(known, "a dish is unknown to the parent restaurant")
    inner = np.arange(depth + 1) < np.sum(columns != NONE, axis=1, keepdims=True)
    agree = (sent == customers) | ~inner.ravel()[tier][restaurant]
    _require(agree, "customers and the tables below them do not agree")
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
    return (group[1:] != group[:-1]) | (value[1:] > value[:-1])


def _ends(group: np.ndarray) -> np.ndarray:
    """Whether each entry is the last of its run."""
    return np.append(np.diff(group) != 0, True)[: len(group)]


@compiled
def _add_up(franchise):
    """Enter the customers and tables of every restaurant, its first serving, and the next of each serving, which stand in the order of the
    restaurants.

    RETURNS (int): The highest number of customers.
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        row[column.CUSTOMERS], row[column.TABLES], row[column.FIRST] = 0, 0, NONE
    highest = customers = np.int64(0)
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = restaurants[servings[serving, column.RESTAURANT]]
        servings[serving, column.NEXT] = NONE
        if row[column.FIRST] == NONE:
            row[column.FIRST] = serving
            customers = np.int64(0)
        else:
            servings[serving - 1, column.NEXT] = serving
        # Too many for 32 bits, if the file is damaged.
        customers += servings[serving, column.SERVED]
        highest = max(highest, customers)
        row[column.CUSTOMERS] = customers
        row[column.TABLES] += servings[serving, column.OPEN]
    return highest


@compiled
def _link_above(franchise):
    """Enter every serving's serving of the same dish in the parent restaurant, `NONE` if there is none.

    RETURNS (int64[servings]): How many tables there are below each serving.
    """
    servings = franchise.servings
    sent = np.zeros(franchise.used[column.N_SERVINGS], dtype=np.int64)
    for serving in range(len(sent)):
        parent = franchise.restaurants[servings[serving, column.RESTAURANT], column.PARENT]
        above = NONE if parent == NONE else serving_of(franchise, parent, servings[serving, column.DISH])
        servings[serving, column.ABOVE] = above
        if above != NONE:
            sent[above] += servings[serving, column.OPEN]
    return sent
