"""Chinese restaurant franchises: the seating behind hierarchical Pitman-Yor processes.

A *franchise* holds one or more *experts* that predict the same alphabet of dishes. An expert is one
HPYP: a tree of restaurants in which the restaurant of a context prefix has the restaurant of the
prefix that is one element shorter as its parent, and whose root's base distribution is uniform over
the alphabet (B&B section 3.1). Expert ``m`` reads the elements ``columns[m]`` of a context row,
most important first; its root is restaurant ``m``. All restaurants of one expert at one depth form
a *tier* and share a discount and a strength.

A *serving* is a dish as one restaurant serves it: its customers, its tables and, once there are two
tables, the histogram of table sizes as a chain of *cells* (Blunsom, Cohn, Goldwater & Johnson
2009). With one table the histogram is the number of customers and takes no room.

The state is a NamedTuple of flat arrays that compiled functions change in place. `reserve` makes
room before a call; no compiled function allocates or writes beyond what has been reserved.
Restaurants and servings that their last customer has left stay, since he may come back, until
`storage.compact` lets them go.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, overwrite, struct

# Columns of `Franchise.restaurants`.
PARENT, SYMBOL, TIER, CUSTOMERS, TABLES, FIRST = range(6)
# Columns of `Franchise.servings`.
RESTAURANT, DISH, SERVED, ABOVE, NEXT, OPEN, CELL = range(7)
# Columns of `Franchise.cells`.
SIZE, COUNT, LINK = range(3)
# Entries of `Franchise.used`.
N_RESTAURANTS, N_SERVINGS, N_CELLS, FREE_CELL, N_INDEXED = range(5)

_SMALLEST = 64
_FULLEST = 0.6


@struct
class Franchise(NamedTuple):
    """The seating of all experts of one distribution.

    columns (int32[experts, depth]): The context-row element that each level of each expert reads,
        `NONE` past its end.
    discount (float64[experts * (depth + 1)]): Discount d of each tier. With 0 its restaurants are
        Dirichlet processes; with 1 every customer has a table of his own, so that they pass their
        parents' probabilities on.
    strength (float64[experts * (depth + 1)]): Strength theta of each tier, theta > -d.
    alphabet (int64[1]): The number of dishes.
    one_table (bool[1]): Whether a restaurant has one table at most for each dish, instead of as
        many as are sampled. These are the counts of interpolated Kneser-Ney smoothing (Teh 2006,
        section 5): the minimal path.
    own_tables (bool[1]): Whether every customer has a table of his own, so that each restaurant
        counts what has been observed, as the estimators of Eisner (1996) do: the maximal path.
    used (int64[5]): Restaurants, servings and cells in use, the first free cell, and servings in
    the index. restaurants (int32[*, 6]): PARENT, SYMBOL (the context symbol that leads here from
        the parent), TIER, CUSTOMERS, TABLES, FIRST (serving). A parent's number is smaller than its
        children's.
    restaurant_index (int32[2**i]): Open addressing from (parent, symbol) to the restaurant. The key
        is read off the restaurant itself, which is looked at next anyway.
    servings (int32[*, 5 or 7]): RESTAURANT, DISH, SERVED (customers), ABOVE (the serving of the
        same dish in the parent restaurant), NEXT (serving of this restaurant); and unless there is
        one table at most, OPEN (tables) and CELL (first, or `NONE`).
    serving_index (int32[2**i]): Open addressing from (restaurant, dish) to the serving, of all but
        the first of each restaurant.
    cells (int32[*, 3]): SIZE of the table, COUNT of such tables, LINK to the next cell.
    path (int32[depth + 1]), chain (int32[depth + 1]), value (float64[depth + 2]): Workspace of
        those who seat customers.
    """

    columns: np.ndarray
    discount: np.ndarray
    strength: np.ndarray
    alphabet: np.ndarray
    one_table: np.ndarray
    own_tables: np.ndarray
    used: np.ndarray
    restaurants: np.ndarray
    restaurant_index: np.ndarray
    servings: np.ndarray
    serving_index: np.ndarray
    cells: np.ndarray
    path: np.ndarray
    chain: np.ndarray
    value: np.ndarray


def new_franchise(
    columns: np.ndarray,
    alphabet: int,
    discount: float = 0.5,
    strength: float = 0.5,
    *,
    one_table: bool = False,
    own_tables: bool = False,
    passes_on: bool = False,
) -> Franchise:
    """An empty franchise.

    columns (int32[experts, depth]): What each expert reads, see `Franchise`.
    alphabet (int): The number of dishes.
    discount, strength (float): The first value of every tier's hyperparameters.
    one_table, own_tables (bool): See `Franchise`; one of them at most.
    passes_on (bool): Whether a discount may be 1, so that there are several tables for a dish in
    any case. RETURNS (Franchise): With the experts' roots as its only restaurants.
    RAISES (ValueError): If the alphabet is empty.
    """
    if alphabet < 1:
        raise ValueError(
            f"An HPYP needs at least one dish to serve, but its alphabet has {alphabet}."
        )
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    experts, depth = columns.shape
    tiers = experts * (depth + 1)
    width = OPEN if one_table and not passes_on else CELL + 1
    franchise = Franchise(
        columns=columns,
        discount=np.full(tiers, discount),
        strength=np.full(tiers, strength),
        alphabet=np.array([alphabet], dtype=np.int64),
        one_table=np.array([one_table]),
        own_tables=np.array([own_tables]),
        used=np.array([0, 0, 0, NONE, 0], dtype=np.int64),
        restaurants=np.empty((_SMALLEST, 6), dtype=np.int32),
        restaurant_index=np.full(2 * _SMALLEST, NONE, dtype=np.int32),
        servings=np.empty((_SMALLEST, width), dtype=np.int32),
        serving_index=np.full(2 * _SMALLEST, NONE, dtype=np.int32),
        cells=np.empty((_SMALLEST, 3), dtype=np.int32),
        path=np.empty(depth + 1, dtype=np.int32),
        chain=np.empty(depth + 1, dtype=np.int32),
        value=np.empty(depth + 2),
    )
    franchise = reserve_rows(franchise, experts, 0, 0)
    for expert in range(experts):
        franchise.restaurants[expert] = (NONE, NONE, expert * (depth + 1), 0, 0, NONE)
    franchise.used[N_RESTAURANTS] = experts
    return franchise


def dish_counts(franchise: Franchise) -> np.ndarray:
    """How often each dish is seated by the first expert (int64[dishes])."""
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    tier = franchise.restaurants[servings[:, RESTAURANT], TIER]
    # Each customer of an expert sits in one of its most specific restaurants.
    own = servings[tier == np.count_nonzero(franchise.columns[0] != NONE)]
    return np.bincount(own[:, DISH], own[:, SERVED], int(franchise.alphabet[0])).astype(np.int64)


def reserve(franchise: Franchise, events: int) -> Franchise:
    """Make room for a number of events to be removed and added by every expert.

    RETURNS (Franchise): The franchise to go on with; the one passed in must not be used any more.
    """
    return reserve_rows(franchise, *_rows_for(franchise, events))


def reserve_to_leave(franchise: Franchise, events: int) -> Franchise:
    """Make room for any customers to leave, after a number of events has been looked for that are
    not there; see `reserve`.
    """
    restaurants, servings, _ = _rows_for(franchise, events)
    # There are never more sizes of tables than tables.
    tables = franchise.servings[: franchise.used[N_SERVINGS], OPEN:CELL]
    return reserve_rows(franchise, restaurants, servings, int(tables.sum()))


def copied(franchise: Franchise) -> Franchise:
    """A franchise whose changes leave the original as it is."""
    return Franchise(*(part.copy() if isinstance(part, np.ndarray) else part for part in franchise))


def _rows_for(franchise: Franchise, events: int) -> tuple[int, int, int]:
    """How many restaurants, servings and cells so many events may need."""
    experts, depth = franchise.columns.shape
    servings = events * experts * (depth + 1)
    return events * experts * depth, servings, 3 * servings


def reserve_rows(
    franchise: Franchise, restaurants: int, servings: int, cells: int, indexed: int | None = None
) -> Franchise:
    """Make room for a number of new restaurants, servings and cells; see `reserve`.

    indexed (int | None): How many of the servings are not the first ones of their restaurants, if
        it is known.
    """
    indexed = servings if indexed is None else indexed
    used, few = franchise.used, franchise.restaurants[:0]
    rows = _longer(franchise.restaurants, used[N_RESTAURANTS], restaurants)
    served = _longer(franchise.servings, used[N_SERVINGS], servings)
    held = _longer(franchise.cells, used[N_CELLS], cells)
    index = _wider(
        franchise.restaurant_index,
        used[N_RESTAURANTS] + restaurants,
        rows,
        used[N_RESTAURANTS],
        few,
    )
    of_served = _wider(
        franchise.serving_index, used[N_INDEXED] + indexed, served, used[N_SERVINGS], rows
    )
    return franchise._replace(
        restaurants=rows,
        servings=served,
        cells=held,
        restaurant_index=index,
        serving_index=of_served,
    )


def _longer(rows: np.ndarray, used: int, more: int) -> np.ndarray:
    needed = used + more
    if needed <= len(rows):
        return rows
    if needed > np.iinfo(np.int32).max:
        raise MemoryError(
            f"A franchise cannot hold {needed} entries. Use shorter contexts or less text."
        )
    longer = np.empty((max(needed, len(rows) + len(rows) // 2), rows.shape[1]), dtype=rows.dtype)
    longer[:used] = rows[:used]
    return longer


def _wider(
    index: np.ndarray, entries: int, rows: np.ndarray, used: int, restaurants: np.ndarray
) -> np.ndarray:
    """An index with room for so many entries, see `fill_index`."""
    size = len(index)
    while entries > _FULLEST * size:
        size *= 2
    if size == len(index):
        return index
    index = np.full(size, NONE, dtype=np.int32)
    fill_index(index, rows, used, restaurants)
    return index


@jit
def fill_index(index, rows, used, restaurants):
    """Enter rows [0, used) into an empty open-addressing index under their first two columns; where
    the first is `NONE` (roots) there is no entry.

    restaurants (int32[*, 6]): Of servings, those that they belong to: the first one of each has no
        entry. Otherwise nothing.
    RETURNS (int): How many entries there are.
    """
    entries = 0
    for row in range(used):
        if rows[row, 0] != NONE and (
            len(restaurants) == 0 or restaurants[rows[row, 0], FIRST] != row
        ):
            index[slot_of(index, rows, rows[row, 0], rows[row, 1])] = row
            entries += 1
    return entries


@jit
def first_slot(index, first, second):
    """Where in an open-addressing index to look first for (first, second)."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(second) * np.uint64(
        0xC2B2AE3D27D4EB4F
    )
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(len(index) - 1))


@jit
def slot_of(index, rows, first, second):
    """Where the row with (first, second) in its first two columns stands in an open-addressing
    index, or the empty slot where it belongs.
    """
    mask = np.int64(len(index) - 1)
    slot = first_slot(index, first, second)
    while index[slot] != NONE and (rows[index[slot], 0] != first or rows[index[slot], 1] != second):
        slot = (slot + 1) & mask
    return slot


@jit
def tables_of(serving):
    """How many tables there are for a dish, by a row of `servings`."""
    return serving[OPEN] if len(serving) > OPEN else min(serving[SERVED], np.int32(1))


@jit
def child(franchise, parent, symbol):
    """The restaurant one context symbol below a restaurant, or `NONE`."""
    return franchise.restaurant_index[
        slot_of(franchise.restaurant_index, franchise.restaurants, parent, symbol)
    ]


@jit
def serving_of(franchise, restaurant, dish):
    """The serving of a dish in a restaurant, or `NONE`."""
    serving = franchise.restaurants[restaurant, FIRST]
    if serving == NONE or franchise.servings[serving, DISH] == dish:
        return serving
    if franchise.servings[serving, NEXT] == NONE:
        return NONE
    return franchise.serving_index[
        slot_of(franchise.serving_index, franchise.servings, restaurant, dish)
    ]


@jit
def walk_cells(franchise, rows):
    """The cells of some servings.

    rows (int64[*]): Which servings.
    RETURNS (tuple[int64[*], int32[*, 3]]): How many each has, and the cells, one serving after the
    other.
    """
    kinds = np.zeros(len(rows), dtype=np.int64)
    cells = np.empty((franchise.used[N_CELLS], 3), dtype=np.int32)
    filled = 0
    for i in range(len(rows)):
        cell = franchise.servings[rows[i], CELL]
        while cell != NONE:
            overwrite(cells[filled], franchise.cells[cell])
            filled += 1
            kinds[i] += 1
            cell = franchise.cells[cell, LINK]
    return kinds, cells[:filled]


@jit
def depth_of(franchise, expert):
    """The number of context elements that an expert reads."""
    depth = 0
    while depth < franchise.columns.shape[1] and franchise.columns[expert, depth] != NONE:
        depth += 1
    return depth


@jit
def deepest(franchise, expert, row):
    """The restaurant of the longest prefix of a context row that an expert has seen."""
    restaurant = expert
    for level in range(depth_of(franchise, expert)):
        below = child(franchise, restaurant, row[franchise.columns[expert, level]])
        if below == NONE:
            break
        restaurant = below
    return restaurant


@jit
def seen(franchise, restaurant):
    """The restaurant, or the nearest above it that is not empty, or the root."""
    while (
        franchise.restaurants[restaurant, CUSTOMERS] == 0
        and franchise.restaurants[restaurant, PARENT] != NONE
    ):
        restaurant = franchise.restaurants[restaurant, PARENT]
    return restaurant


@jit
def deepest_of(franchise, row, restaurants):
    """`deepest` of all experts at once: the look-ups of a level do not wait for each other.

    restaurants (int32[experts]): Overwritten.
    """
    columns = franchise.columns
    for expert in range(len(restaurants)):
        restaurants[expert] = expert
    for level in range(columns.shape[1]):
        for expert in range(len(restaurants)):
            if columns[expert, level] != NONE and restaurants[expert] >= 0:
                below = child(franchise, restaurants[expert], row[columns[expert, level]])
                restaurants[expert] = below if below != NONE else ~restaurants[expert]
    for expert in range(len(restaurants)):
        if restaurants[expert] < 0:
            restaurants[expert] = ~restaurants[expert]


@jit
def restaurant_probability(franchise, restaurant, served, tables, above):
    """Predictive probability of a dish in one restaurant (Teh 2006 equation 5).

    served, tables (int): Customers and tables of the dish in the restaurant.
    above (float): The dish's probability in the parent restaurant.
    RETURNS (float): The probability; an empty restaurant passes its parent's value on.
    """
    customers = franchise.restaurants[restaurant, CUSTOMERS]
    if customers == 0:
        return above
    tier = franchise.restaurants[restaurant, TIER]
    discount = franchise.discount[tier]
    strength = franchise.strength[tier]
    fresh = strength + discount * franchise.restaurants[restaurant, TABLES]
    return (served - discount * tables + fresh * above) / (strength + customers)


@jit
def dish_probability(franchise, restaurant, dish):
    """Probability of a dish in a restaurant, given the present seating; what `seat` would return.

    RETURNS (float): p(dish | restaurant).
    """
    restaurants, servings = franchise.restaurants, franchise.servings
    probability, factor = 0.0, 1.0
    serving = NONE
    while restaurant != NONE:
        # What one restaurant serves, all above it serve too.
        serving = (
            serving_of(franchise, restaurant, dish) if serving == NONE else servings[serving, ABOVE]
        )
        if serving != NONE:
            served, tables = servings[serving, SERVED], tables_of(servings[serving])
            probability += factor * restaurant_probability(
                franchise, restaurant, served, tables, 0.0
            )
        factor *= restaurant_probability(franchise, restaurant, 0, 0, 1.0)
        restaurant = restaurants[restaurant, PARENT]
    return probability + factor / franchise.alphabet[0]


@jit
def restaurant_distribution(franchise, restaurant, out):
    """Probabilities of all dishes in a restaurant, given the present seating.

    out (float64[alphabet]): Overwritten with p(. | restaurant).
    """
    depth = franchise.restaurants[restaurant, TIER] % len(franchise.path)
    out[:] = 1.0 / franchise.alphabet[0]
    for level in range(depth + 1):
        # Root first. To climb again for each level takes no workspace, so that several threads may
        # ask at once.
        here = restaurant
        for _ in range(depth - level):
            here = franchise.restaurants[here, PARENT]
        out *= restaurant_probability(franchise, here, 0, 0, 1.0)
        serving = franchise.restaurants[here, FIRST]
        while serving != NONE:
            row = franchise.servings[serving]
            out[row[DISH]] += restaurant_probability(
                franchise, here, row[SERVED], tables_of(row), 0.0
            )
            serving = row[NEXT]
