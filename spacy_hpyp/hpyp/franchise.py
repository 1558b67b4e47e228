"""Chinese restaurant franchises: the counts of hierarchical Pitman-Yor processes.

A *franchise* holds one or more *experts* that predict the same alphabet of dishes. An expert is one
HPYP: a tree of restaurants in which the restaurant of a context prefix has the restaurant of the
prefix that is one element shorter as its parent, and whose root's base distribution is uniform over
the alphabet (B&B section 3.1). Expert ``m`` reads the elements ``columns[m]`` of a context row,
most important first; its root is restaurant ``m``. All restaurants of one expert at one depth form
a *tier* and share a discount and a strength.

A *serving* is a dish in one restaurant: its customers, its tables and, once there are two tables,
the histogram of table sizes as a chain of *cells* (Blunsom, Cohn, Goldwater & Johnson 2009).

The state is a NamedTuple of flat arrays that compiled functions change in place. `reserve` makes
room before a call; no compiled function extends an array. Empty restaurants and servings stay until
`storage.compact` drops them.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, struct

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
    """The seating of all experts of one distribution."""

    # int32[experts, depth]: the context-row element that each level of each expert reads, `NONE`
    # past its end.
    columns: np.ndarray
    # float64[experts * (depth + 1)]: discount d of each tier. With 0 its restaurants are Dirichlet
    # processes; with 1 every customer has a table of his own, so that they pass their parents'
    # probabilities on.
    discount: np.ndarray
    strength: np.ndarray  # float64[experts * (depth + 1)]: strength theta of each tier, theta > -d
    alphabet: np.ndarray  # int64[1]: the number of dishes
    # bool[1]: whether a restaurant has at most one table for each dish: the counts of interpolated
    # Kneser-Ney smoothing (Teh 2006, section 5), or the minimal path.
    one_table: np.ndarray
    # bool[1]: whether every customer has a table of his own, so that each restaurant counts
    # observations, as the estimators of Eisner (1996) do: the maximal path.
    own_tables: np.ndarray
    # int64[5]: restaurants, servings and cells so far, the first free cell or `NONE`, and servings
    # in the index.
    used: np.ndarray
    # int32[*, 6]: PARENT, SYMBOL (the context symbol that leads here from the parent), TIER,
    # CUSTOMERS, TABLES, FIRST (serving). A parent's number is smaller than its children's.
    restaurants: np.ndarray
    # int32[2**i]: open addressing from (parent, symbol) to the restaurant. The key is read off the
    # restaurant itself, which is looked at next anyway.
    restaurant_index: np.ndarray
    # int32[*, 7]: RESTAURANT, DISH, SERVED (customers), ABOVE (the serving of the same dish in the
    # parent restaurant), NEXT (serving of this restaurant), OPEN (tables) and CELL (the first, or
    # `NONE`).
    servings: np.ndarray
    # int32[2**i]: open addressing from (restaurant, dish) to the serving, of all but the first of
    # each restaurant.
    serving_index: np.ndarray
    cells: np.ndarray  # int32[*, 3]: SIZE of the table, COUNT of such tables, LINK to the next cell
    # Workspace of `seating`: int32[depth + 1] twice, float64[depth + 2].
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
) -> Franchise:
    """Return a franchise whose only restaurants are the experts' roots.

    columns (int32[experts, depth]): The elements that each expert reads, see `Franchise`.
    alphabet (int): The number of dishes.
    discount, strength (float): The initial hyperparameters of every tier.
    one_table, own_tables (bool): See `Franchise`; at most one of them is true.
    RAISES (ValueError): If the alphabet is empty.
    """
    if alphabet < 1:
        raise ValueError(f"An HPYP needs at least one dish, but its alphabet has {alphabet}.")
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    experts, depth = columns.shape
    tiers = experts * (depth + 1)
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
        servings=np.empty((_SMALLEST, 7), dtype=np.int32),
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
    """Count how often each dish is seated by the first expert (int64[dishes])."""
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    tier = franchise.restaurants[servings[:, RESTAURANT], TIER]
    # Each customer of an expert sits in one of its most specific restaurants.
    own = servings[tier == np.count_nonzero(franchise.columns[0] != NONE)]
    return np.bincount(own[:, DISH], own[:, SERVED], int(franchise.alphabet[0])).astype(np.int64)


def reserve(franchise: Franchise, events: int, cells: int | None = None) -> Franchise:
    """Make room for a number of events to be removed and added by every expert.

    cells (int | None): The number of new table sizes; by default as many as events may need.
    RETURNS (Franchise): The franchise to go on with; the argument must not be used any more.
    RAISES (MemoryError): If an array would have more rows than an int32 can number.
    """
    experts, depth = franchise.columns.shape
    servings = events * experts * (depth + 1)
    cells = 3 * servings if cells is None else cells
    return reserve_rows(franchise, events * experts * depth, servings, cells)


def reserve_rows(
    franchise: Franchise, restaurants: int, servings: int, cells: int, indexed: int | None = None
) -> Franchise:
    """Make room for a number of new restaurants, servings and cells; see `reserve`.

    indexed (int | None): How many servings are not first in their restaurants; by default all.
    """
    indexed = servings if indexed is None else indexed
    used, none = franchise.used, franchise.restaurants[:0]
    rows = _longer(franchise.restaurants, used[N_RESTAURANTS], restaurants)
    served = _longer(franchise.servings, used[N_SERVINGS], servings)
    entries, entries_served = used[N_RESTAURANTS] + restaurants, used[N_INDEXED] + indexed
    index, index_served = franchise.restaurant_index, franchise.serving_index
    return franchise._replace(
        restaurants=rows,
        servings=served,
        cells=_longer(franchise.cells, used[N_CELLS], cells),
        restaurant_index=_wider(index, entries, rows, used[N_RESTAURANTS], none),
        serving_index=_wider(index_served, entries_served, served, used[N_SERVINGS], rows),
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
    """Return an index with room for so many entries, see `fill_index`."""
    size = len(index)
    while entries > _FULLEST * size:
        size *= 2
    if size > len(index):
        index = np.full(size, NONE, dtype=np.int32)
        fill_index(index, rows, used, restaurants)
    return index


@jit
def fill_index(index, rows, used, restaurants):
    """Enter rows [0, used) into an empty open-addressing index under their first two columns; roots
    have no entry.

    restaurants (int32[*, 6]): For an index of servings, their restaurants: the first serving of
        each has no entry. Else empty.
    """
    for row in range(used):
        first = rows[row, 0]
        if first != NONE and (len(restaurants) == 0 or restaurants[first, FIRST] != row):
            index[slot_of(index, rows, first, rows[row, 1])] = row


@jitable
def first_slot(index, first, second):
    """Return the slot of an open-addressing index where the search for (first, second) begins."""
    mixed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    mixed += np.uint64(second) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed & np.uint64(len(index) - 1))


@jitable
def slot_of(index, rows, first, second):
    """Return the slot of the row that begins with (first, second), or the empty slot for it."""
    mask = np.int64(len(index) - 1)
    slot = first_slot(index, first, second)
    while index[slot] != NONE and (rows[index[slot], 0] != first or rows[index[slot], 1] != second):
        slot = (slot + 1) & mask
    return slot


@jitable
def child(franchise, parent, symbol):
    """Return the restaurant one context symbol below a restaurant, or `NONE`."""
    index = franchise.restaurant_index
    return index[slot_of(index, franchise.restaurants, parent, symbol)]


@jitable
def serving_of(franchise, restaurant, dish):
    """Return the serving of a dish in a restaurant, or `NONE`."""
    serving = franchise.restaurants[restaurant, FIRST]
    if serving == NONE or franchise.servings[serving, DISH] == dish:
        return serving
    if franchise.servings[serving, NEXT] == NONE:
        return NONE
    index = franchise.serving_index
    return index[slot_of(index, franchise.servings, restaurant, dish)]


@jitable
def depth_of(franchise, expert):
    """Return the number of context elements that an expert reads."""
    depth = 0
    while depth < franchise.columns.shape[1] and franchise.columns[expert, depth] != NONE:
        depth += 1
    return depth


@jitable
def deepest(franchise, expert, row):
    """Return an expert's restaurant of the longest prefix of a context row that has one."""
    restaurant = expert
    for level in range(depth_of(franchise, expert)):
        below = child(franchise, restaurant, row[franchise.columns[expert, level]])
        if below == NONE:
            break
        restaurant = below
    return restaurant


@jitable
def restaurant_probability(franchise, restaurant, serving, above):
    """Return the predictive probability of a dish in one restaurant (Teh 2006 equation 5).

    serving (int): The serving of the dish there, or `NONE`.
    above (float): The dish's probability in the parent restaurant.
    RETURNS (float): The probability; an empty restaurant passes its parent's on.
    """
    customers, served, tables = franchise.restaurants[restaurant, CUSTOMERS], 0, 0
    if customers == 0:
        return above
    if serving != NONE:
        served, tables = franchise.servings[serving, SERVED], franchise.servings[serving, OPEN]
    tier = franchise.restaurants[restaurant, TIER]
    discount, strength = franchise.discount[tier], franchise.strength[tier]
    fresh = strength + discount * franchise.restaurants[restaurant, TABLES]
    return (served - discount * tables + fresh * above) / (strength + customers)


@jitable
def dish_probability(franchise, restaurant, dish):
    """Return p(dish | restaurant), given the present seating."""
    probability, factor = 0.0, 1.0
    serving = NONE
    while restaurant != NONE:
        # All restaurants above one serve its dishes, too.
        if serving == NONE:
            serving = serving_of(franchise, restaurant, dish)
        else:
            serving = franchise.servings[serving, ABOVE]
        if serving != NONE:
            probability += factor * restaurant_probability(franchise, restaurant, serving, 0.0)
        factor *= restaurant_probability(franchise, restaurant, NONE, 1.0)
        restaurant = franchise.restaurants[restaurant, PARENT]
    return probability + factor / franchise.alphabet[0]


@jitable
def restaurant_distribution(franchise, restaurant, out):
    """Write p(. | restaurant), given the present seating, into `out` (float64[alphabet])."""
    depth = franchise.restaurants[restaurant, TIER] % len(franchise.path)
    out[:] = 1.0 / franchise.alphabet[0]
    for level in range(depth + 1):
        # Root first. Climbing again for each level needs no workspace, which threads would share.
        here = restaurant
        for _ in range(depth - level):
            here = franchise.restaurants[here, PARENT]
        out *= restaurant_probability(franchise, here, NONE, 1.0)
        serving = franchise.restaurants[here, FIRST]
        while serving != NONE:
            dish = franchise.servings[serving, DISH]
            out[dish] += restaurant_probability(franchise, here, serving, 0.0)
            serving = franchise.servings[serving, NEXT]
