"""Franchises as bytes: written compactly, and checked before anything compiled reads them.

Empty restaurants are left out. Those that remain are numbered breadth first, expert by expert, and described
by columns of small numbers (how many children, which symbol, how many dishes, ...), which compress to a few
bits each. Dishes and customers are listed for the restaurants of whole contexts alone: all others serve what
is served below them, a customer for each table there. That, and everything else, such as parents, tiers and
totals, follows and is rebuilt.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..compat.memory import giving_back
from ..compiled import NONE, compiled
from ..storage.format import smallest
from . import franchise as column
from .franchise import Franchise, new_franchise, reserve_rows, tables_of, walk_cells

_COLUMNS = ("children", "symbol", "dishes", "dish", "customers", "tables", "kinds", "size", "count")
# Of so many rows of a franchise that was stored, there is room for one more.
_SPARE = 8


@giving_back
def pack(franchise: Franchise) -> dict[str, Any]:
    """Return a franchise as arrays that `storage.format.dump` compresses well."""
    # There are millions of rows, so that they are numbered, counted and sorted in 32 bits, and each column is
    # copied by itself.
    experts = len(franchise.columns)
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    order, number, sizes = _number_occupied(franchise)
    inner = order[experts:]
    children = smallest(_count(number[restaurants[inner, column.PARENT]], len(order)))
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
    opened = servings[rows, column.OPEN] if len(kinds) else np.empty(0, dtype=np.int32)
    deepest = _is_deepest(restaurants[order, column.TIER], franchise.columns)
    rows, dishes = rows[np.repeat(deepest, dishes)], dishes[deepest]
    return {
        "discount": franchise.discount.copy(),
        "strength": franchise.strength.copy(),
        "restaurants": sizes,
        "children": children,
        "symbol": smallest(restaurants[inner, column.SYMBOL]),
        "dishes": smallest(dishes),
        "dish": smallest(servings[rows, column.DISH]),
        "customers": smallest(servings[rows, column.SERVED]),
        # None where each dish has a single one.
        "tables": smallest(opened),
        "kinds": smallest(kinds),
        "size": smallest(size),
        "count": smallest(tables),
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

    RETURNS (tuple): The restaurants in the order of their numbers, int32[*]; the number of each restaurant or
        `NONE`, int32[*]; and how many each expert has besides its root.
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
            found = found[
                np.lexsort((restaurants[found, column.SYMBOL], number[restaurants[found, column.PARENT]]))
            ]
            number[found] = np.arange(count, count + len(found))
            count += len(found)
            order.append(found)
        sizes.append(count - start)
    return np.concatenate(order), number, sizes


def _list_cells(franchise: Franchise, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For servings with several tables: how many table sizes each has; and all of their sizes and counts."""
    rows = (
        rows[franchise.servings[rows, column.OPEN] > 1]
        if franchise.servings.shape[1] > column.OPEN
        else rows[:0]
    )
    kinds, cells = walk_cells(franchise, rows)
    owner = np.repeat(np.arange(len(rows)), kinds)
    cells = cells[np.lexsort((cells[:, column.SIZE], owner))]
    return kinds, cells[:, column.SIZE], cells[:, column.COUNT]


def unpack_experts(
    packed: Any, columns: np.ndarray, alphabet: int, *, one_table: bool = False, own_tables: bool = False
) -> Iterator[Franchise]:
    """Rebuild the experts of a franchise one after the other, each as a franchise of its own in which nothing
    can be found: a view needs no more than the rows. Only when all are there is all that was packed known to
    be sound.

    See `unpack`.
    """
    levels = np.sum(columns != NONE, axis=1)
    experts, depth = columns.shape
    discount, strength = packed["discount"], packed["strength"]
    sizes = packed["restaurants"]
    found = (packed[name] for name in _COLUMNS)
    children, symbol, dishes, dish, entered, opened, kinds, size, count = found
    begins = [experts + sum(sizes[:expert]) for expert in range(experts + 1)]
    # Roots come before all others.
    families = [np.append(children[e], children[begins[e] : begins[e + 1]]) for e in range(experts)]
    bounds = [_generations(*each) for each in zip(families, levels)]
    # Of whole contexts, of which roots may be some.
    spans = [
        (bound[-2], bound[-1]) if len(bound) == 2 else (bound[-2] - 1, bound[-1] - 1) for bound in bounds
    ]
    listed, restaurant, serving = {}, 0, 0
    for expert in np.argsort(levels > 0, kind="stable").tolist():
        own = dishes[restaurant : restaurant + spans[expert][1] - spans[expert][0]]
        listed[expert] = own, slice(serving, serving + int(own.sum()))
        restaurant, serving = restaurant + len(own), listed[expert][1].stop
    several = opened > 1
    kinds = kinds.astype(np.int64)
    kind, cell = np.cumsum(several) - 1, np.cumsum(kinds) - kinds
    width = column.OPEN if one_table and not np.any(discount == 1.0) else column.CELL + 1
    roots = [len(np.unique(dish[listed[expert][1]])) if len(opened) else 0 for expert in range(experts)]
    root, inner = 0, sum(roots)
    for expert, bound in enumerate(bounds):
        own_tiers = slice(expert * (depth + 1), (expert + 1) * (depth + 1))
        rows = np.empty((bound[-1], 6), dtype=np.int32)
        rows[0], rows[1:, column.PARENT] = NONE, np.repeat(np.arange(len(rows)), families[expert])
        rows[1:, column.SYMBOL] = symbol[begins[expert] - experts : begins[expert + 1] - experts]
        rows[:, column.TIER] = np.repeat(np.arange(len(bound) - 1), np.diff(bound))
        parent, deepest = rows[:, column.PARENT], bound[-2]
        own, chosen = listed[expert]
        place = np.repeat(np.arange(deepest, len(rows), dtype=np.int32), own)
        place, served_dish, above = _with_inner(place, dish[chosen].astype(np.int32), parent, alphabet)
        served = np.empty((len(place), width), dtype=np.int32)
        served[:, column.RESTAURANT], served[:, column.DISH], served[:, column.ABOVE] = (
            place,
            served_dish,
            above,
        )
        tables, customers = np.ones(len(place), dtype=np.int32), served[:, column.SERVED]
        if len(opened):
            # Where its servings are among all: those of roots come first.
            at = np.arange(len(served)) + np.where(place == 0, root, inner - roots[expert])
            root, inner = root + roots[expert], inner + len(served) - roots[expert]
            tables[:] = opened[at]
        sent = np.bincount(above[above != NONE], tables[above != NONE], len(served))
        customers[:] = sent
        customers[place >= deepest] = entered[chosen]
        shared = np.flatnonzero(tables > 1)
        cells = np.empty((0, 3), dtype=np.int32)
        if width > column.OPEN:
            served[:, column.OPEN], served[:, column.CELL] = tables, NONE
        if len(shared):
            number = kind[at[shared]]
            some = kinds[number]
            first = np.cumsum(some) - some
            chosen, owner = (
                np.repeat(cell[number] - first, some) + np.arange(some.sum()),
                np.repeat(shared, some),
            )
            cells = np.column_stack([size[chosen], count[chosen], np.arange(1, len(chosen) + 1)]).astype(
                np.int32
            )
            cells[_ends(owner), column.LINK] = NONE
            served[shared, column.CELL] = first
        franchise = new_franchise(
            columns[[expert]], alphabet, one_table=one_table, own_tables=own_tables
        )._replace(
            discount=discount[own_tiers].copy(),
            strength=strength[own_tiers].copy(),
            used=np.array([len(rows), len(served), len(cells), NONE, 0], dtype=np.int64),
            restaurants=rows,
            servings=served,
            cells=cells,
        )
        _add_up(franchise)
        yield franchise


def unpack(
    packed: Any, columns: np.ndarray, alphabet: int, *, one_table: bool = False, own_tables: bool = False
) -> Franchise:
    """Rebuild a franchise from what `pack` made of it.

    columns (int32[experts, depth]), alphabet (int), one_table, own_tables (bool): What the franchise has to
        fit, see `Franchise`. With one table at most for each dish, or one for each customer, it is a seating
        that could have been sampled too, but not the other way round.
    RETURNS (Franchise): The seating; later draws from it are those of the original.
    """
    how = {"one_table": one_table, "own_tables": own_tables}
    return joined(new_franchise(columns, alphabet, **how), unpack_experts(packed, columns, alphabet, **how))


@giving_back
def joined(franchise: Franchise, experts: Iterable[Franchise], *, indexed: bool = True) -> Franchise:
    """A franchise, empty so far, with the seatings of its experts, see `unpack_experts`. There is room in it,
    which takes no memory.

    indexed (bool): Whether rows can be found by their symbols and dishes; a view needs only the rows.
    """
    found = [*experts]
    used = np.sum([franchise.used * 0, *(own.used for own in found)], axis=0)
    used[column.FREE_CELL] = NONE
    like = [franchise, *found][-1]
    restaurants, servings, cells = (
        np.empty((total + total // _SPARE, rows.shape[1]), dtype=np.int32)
        for total, rows in zip(used.tolist(), (like.restaurants, like.servings, like.cells))
    )
    tiers = len(franchise.path)
    # Where what comes next begins: restaurants that are no roots, the servings of roots, others, and cells.
    at, cell = len(found), 0
    top, inner = 0, sum(np.count_nonzero(own.servings[:, column.RESTAURANT] == 0) for own in found)
    for expert in range(len(found)):
        # Each is let go when it has been entered.
        own = found.pop(0)
        first = np.count_nonzero(own.servings[:, column.RESTAURANT] == 0)
        of_restaurants, of_servings, of_cells = (1, expert, at - 1), (first, top, inner - first), (0, 0, cell)
        for table, links, moves in (
            (own.restaurants, (column.PARENT,), of_restaurants),
            (own.restaurants, (column.FIRST,), of_servings),
            (own.servings, (column.RESTAURANT,), of_restaurants),
            (own.servings, (column.ABOVE, column.NEXT), of_servings),
            (own.servings, range(column.CELL, own.servings.shape[1]), of_cells),
            (own.cells, (column.LINK,), of_cells),
        ):
            for link in links:
                table[:, link] = _moved(table[:, link], *moves)
        own.restaurants[:, column.TIER] += expert * tiers
        restaurants[expert], restaurants[at : at + len(own.restaurants) - 1] = (
            own.restaurants[0],
            own.restaurants[1:],
        )
        servings[top : top + first], servings[inner : inner + len(own.servings) - first] = np.split(
            own.servings, [first]
        )
        cells[cell : cell + len(own.cells)] = own.cells
        for name in ("discount", "strength"):
            getattr(franchise, name)[expert * tiers : (expert + 1) * tiers] = getattr(own, name)
        at, cell = at + len(own.restaurants) - 1, cell + len(own.cells)
        top, inner = top + first, inner + len(own.servings) - first
    used[column.N_INDEXED] = np.count_nonzero(servings[: used[column.N_SERVINGS], column.NEXT] != NONE)
    # Indices are made for what is there.
    rows = {"restaurants": restaurants, "servings": servings, "cells": cells}
    none = {name: np.full(1, NONE, dtype=np.int32) for name in ("restaurant_index", "serving_index")}
    franchise = franchise._replace(used=used, **rows, **none)
    return reserve_rows(franchise, 0, 0, 0) if indexed else franchise


def _moved(numbers: np.ndarray, first: int, by_of_first: int, by: int) -> np.ndarray:
    """The numbers of rows of one expert among those of all: so many of the first are raised by another number
    than the others.
    """
    return np.where(numbers == NONE, NONE, numbers + np.where(numbers < first, by_of_first, by))


def _is_deepest(tier: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which restaurants are those of whole contexts, by their tiers (bool[*]): what they serve has been
    observed there.
    """
    levels = np.sum(columns != NONE, axis=1)
    return tier % (columns.shape[1] + 1) == levels[tier // (columns.shape[1] + 1)]


def _with_inner(
    place: np.ndarray, dish: np.ndarray, parent: np.ndarray, alphabet: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Servings of the restaurants of whole contexts, and those that there are above them, in the order of
    restaurants and dishes.

    place, dish (int32[*]): Of each serving, in this order.
    parent (int32[restaurants]): See `Franchise`.
    RETURNS (tuple): Their places and dishes, and the serving above each, `NONE` in a root (int32[*] each).
    """
    found, links, begin = [(place, dish)], [], 0
    while len(found[-1][0]):
        begin += len(found[-1][0])
        *served, link = _above(*found[-1], parent, alphabet, begin)
        found.append(served)
        links.append(link)
    place, dish = map(np.concatenate, zip(*found))
    rows = _sort(np.arange(len(dish), dtype=np.int32), dish, _count(dish, alphabet))
    rows = _sort(rows, place[rows], _count(place, len(parent)))
    # What stands behind the last one is nobody's.
    number = np.full(len(rows) + 1, NONE, dtype=np.int32)
    number[rows] = np.arange(len(rows), dtype=np.int32)
    return place[rows], dish[rows], number[np.concatenate([*links, dish[:0]])[rows]]


@compiled
def _above(place, dish, parent, alphabet, begin):
    """What parents serve of what their children do: places, dishes, and where that of each serving stands
    (int32[*] each), counted from `begin`.

    place, dish (int32[*]): Of each serving. The children of a parent stand together.
    """
    places, dishes = np.empty_like(place), np.empty_like(place)
    link = np.full(len(place), NONE, dtype=np.int32)
    row = np.full(alphabet, NONE, dtype=np.int32)
    used, first, last = 0, 0, NONE
    for i in range(len(place)):
        above = parent[place[i]]
        if above == NONE:
            continue
        if above != last:
            last, first = above, used
        if row[dish[i]] < first:
            row[dish[i]] = used
            places[used], dishes[used] = above, dish[i]
            used += 1
        link[i] = begin + row[dish[i]]
    return places[:used], dishes[:used], link


def _generations(children: np.ndarray, levels: int) -> list[int]:
    """Where each generation of an expert's restaurants begins, the root's being the first, and where the last
    one ends.

    children (int[*]): How many each restaurant has, in breadth-first order.
    """
    bounds = [0, 1]
    for _ in range(levels):
        bounds.append(bounds[-1] + int(children[bounds[-2] : bounds[-1]].sum()))
    return bounds


def _ends(group: np.ndarray) -> np.ndarray:
    """Whether each entry is the last of its run."""
    return np.append(np.diff(group) != 0, True)[: len(group)]


@compiled
def _add_up(franchise):
    """Enter the customers and tables of every restaurant, its first serving, and the next of each serving,
    which stand in the order of the restaurants.
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        row[column.CUSTOMERS], row[column.TABLES], row[column.FIRST] = 0, 0, NONE
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = restaurants[servings[serving, column.RESTAURANT]]
        servings[serving, column.NEXT] = NONE
        if row[column.FIRST] == NONE:
            row[column.FIRST] = serving
        else:
            servings[serving - 1, column.NEXT] = serving
        row[column.CUSTOMERS] += servings[serving, column.SERVED]
        row[column.TABLES] += tables_of(servings[serving])
