"""Franchises as bytes: written compactly, and checked before anything compiled reads them.

Empty restaurants are left out. Those that remain are numbered breadth first, expert by expert, and described by columns
of small numbers (how many children, which symbol, how many dishes, ...), which compress to a few bits each. Dishes and customers are
listed for the restaurants of whole contexts alone: all others serve what is served below them, a customer for each table there. That, and
everything else, such as parents, tiers and totals, follows and is rebuilt.
"""

from typing import Any

import numpy as np

from ..compat.memory import giving_back
from ..compiled import NONE, compiled
from ..storage.arrays import FEW, HIGHEST, PER_BYTE, pack_integers, unpack_integers
from . import franchise as column
from .franchise import Franchise, fill_index, new_franchise, reserve_rows, walk_cells

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
    opened = servings[rows if len(kinds) else rows[:0], column.OPEN]
    deepest = _is_deepest(restaurants[order, column.TIER], franchise.columns)
    rows, dishes = rows[np.repeat(deepest, dishes)], dishes[deepest]
    return {
        "discount": franchise.discount.tolist(),
        "strength": franchise.strength.tolist(),
        "restaurants": sizes,
        "children": children,
        "symbol": pack_integers(restaurants[inner, column.SYMBOL]),
        "dishes": pack_integers(dishes),
        "dish": pack_integers(servings[rows, column.DISH]),
        "customers": pack_integers(servings[rows, column.SERVED]),
        # None where each dish has a single one.
        "tables": pack_integers(opened),
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
    packed: Any,
    columns: np.ndarray,
    alphabet: int,
    *,
    one_table: bool = False,
    own_tables: bool = False,
    indexed: bool = True,
) -> Franchise:
    """Rebuild a franchise from what `pack` made of it.

    columns (int32[experts, depth]), alphabet (int), one_table, own_tables (bool): What the franchise has to fit, see
        `Franchise`. With one table at most for each dish, or one for each customer, it is a seating that could have been sampled
        too, but not the other way round.
    indexed (bool): Whether restaurants and servings are to be found, as they must be where anything is seated: a view needs no more than
        the rows.
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
    _require(len(children) == n and len(symbol) == n - experts, "the restaurants are not all there")
    # Each column is entered where it belongs, and checked there: copies of all of them would take as much memory again.
    franchise = reserve_rows(franchise, n, 0, 0)
    rows = franchise.restaurants[:n]
    parent, tier = rows[:, column.PARENT], rows[:, column.TIER]
    parent[:], tier[:] = _parents(children, sizes, columns)
    rows[experts:, column.SYMBOL] = symbol
    del children, symbol
    _require(_ascending(parent[experts:], rows[experts:, column.SYMBOL]), "two restaurants have the same context")
    deepest = _is_deepest(tier, columns)
    dish, entered = read("dish"), read("customers")
    whole = len(dishes) in (np.count_nonzero(deepest), n) and len(dish) == len(entered) == dishes.sum()
    _require(whole, "the servings are not all there")
    _require(int(dish.max(initial=0)) < alphabet, "a dish is not in the alphabet")
    if len(dishes) == n:
        # Files of earlier versions list what all restaurants serve.
        own = np.repeat(deepest, dishes)
        dish, entered, dishes = dish[own], entered[own], dishes[deepest]
    place = np.repeat(np.flatnonzero(deepest).astype(np.int32), dishes)
    _require(_ascending(place, dish), "a restaurant serves a dish twice")
    place, dish, above = _with_inner(place, dish, parent, alphabet)
    franchise = reserve_rows(franchise, 0, len(dish), 0)
    served = franchise.servings[: len(dish)]
    restaurant, customers, tables = (served[:, each] for each in (column.RESTAURANT, column.SERVED, column.OPEN))
    restaurant[:], served[:, column.DISH], served[:, column.ABOVE] = place, dish, above
    opened = read("tables")
    _require(len(opened) in (0, len(served)), "the servings are not all there")
    tables[:] = opened if len(opened) else 1
    sent = np.bincount(above[above != NONE], tables[above != NONE], len(served))
    _require(sent < HIGHEST, "a restaurant has more customers than can be counted")
    customers[:] = sent
    customers[deepest[place]] = entered
    _require((1 <= tables) & (tables <= customers), "a serving has no table or more tables than customers")
    franchise.used[: column.N_CELLS] = n, len(served)
    _require(_add_up(franchise) < HIGHEST, "a restaurant has more customers than can be counted")
    del place, dish, dishes, above, sent
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
    if indexed:
        fill_index(franchise.restaurant_index, franchise.restaurants, n)
        fill_index(franchise.serving_index, franchise.servings, len(served))
    return franchise


def _is_deepest(tier: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Which restaurants are those of whole contexts, by their tiers (bool[*]): what they serve has been observed there."""
    levels = np.sum(columns != NONE, axis=1)
    return tier % (columns.shape[1] + 1) == levels[tier // (columns.shape[1] + 1)]


def _with_inner(
    place: np.ndarray, dish: np.ndarray, parent: np.ndarray, alphabet: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Servings of the restaurants of whole contexts, and those that there are above them, in the order of restaurants and dishes.

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
    """What parents serve of what their children do: places, dishes, and where that of each serving stands (int32[*] each), counted from `begin`.

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
