"""Seating and unseating customers in a franchise.

`seat` draws a table for a customer, and `unseat` takes a customer from one. Their undo variants
return what `undo_seat` and `restore` need to put the seating back.
"""

import numpy as np

from ..compiled import NONE, fetch, jit, jitable
from .franchise import (
    ABOVE,
    CELL,
    COUNT,
    CUSTOMERS,
    DISH,
    FIRST,
    FREE_CELL,
    LINK,
    N_CELLS,
    N_INDEXED,
    N_RESTAURANTS,
    N_SERVINGS,
    NEXT,
    OPEN,
    PARENT,
    RESTAURANT,
    SERVED,
    SIZE,
    SYMBOL,
    TABLES,
    TIER,
    deepest,
    depth_of,
    first_slot,
    restaurant_probability,
    serving_of,
    slot_of,
)


@jitable
def open_restaurants(franchise, row, restaurants):
    """Find or found the restaurant of a context under every expert.

    Nearly every step waits for memory, so those of all experts are fetched first.

    row (int32[elements]), restaurants (int32[experts]): The context row; overwritten.
    """
    columns, index, rows = franchise.columns, franchise.restaurant_index, franchise.restaurants
    for expert in range(len(restaurants)):
        restaurants[expert] = expert
    for level in range(columns.shape[1]):
        for expert in range(len(restaurants)):
            if columns[expert, level] != NONE:
                fetch(index, first_slot(index, restaurants[expert], row[columns[expert, level]]))
        for expert in range(len(restaurants)):
            if columns[expert, level] != NONE:
                below = index[first_slot(index, restaurants[expert], row[columns[expert, level]])]
                if below != NONE:
                    fetch(rows, np.int64(below) * rows.shape[1])
        for expert in range(len(restaurants)):
            if columns[expert, level] != NONE:
                symbol = row[columns[expert, level]]
                restaurants[expert] = _open_child(franchise, restaurants[expert], symbol)
                serving = rows[restaurants[expert], FIRST]
                if serving != NONE:
                    fetch(franchise.servings, np.int64(serving) * franchise.servings.shape[1])


@jitable
def open_restaurant(franchise, expert, row):
    """Find or found the restaurant of a context under one expert."""
    restaurant = expert
    for level in range(depth_of(franchise, expert)):
        restaurant = _open_child(franchise, restaurant, row[franchise.columns[expert, level]])
    return restaurant


@jitable
def _open_child(franchise, restaurant, symbol):
    restaurants, index = franchise.restaurants, franchise.restaurant_index
    slot = slot_of(index, restaurants, restaurant, symbol)
    below = index[slot]
    if below == NONE:
        below = np.int32(franchise.used[N_RESTAURANTS])
        franchise.used[N_RESTAURANTS] += 1
        restaurants[below, PARENT] = restaurant
        restaurants[below, SYMBOL] = symbol
        restaurants[below, TIER] = restaurants[restaurant, TIER] + 1
        restaurants[below, CUSTOMERS] = 0
        restaurants[below, TABLES] = 0
        restaurants[below, FIRST] = NONE
        index[slot] = below
    return below


@jitable
def _open_serving(franchise, restaurant, dish, above):
    servings, restaurants = franchise.servings, franchise.restaurants
    serving = franchise.used[N_SERVINGS]
    franchise.used[N_SERVINGS] += 1
    before = restaurants[restaurant, FIRST]
    servings[serving, RESTAURANT] = restaurant
    servings[serving, DISH] = dish
    servings[serving, SERVED] = 0
    servings[serving, ABOVE] = above
    servings[serving, NEXT] = before
    servings[serving, OPEN] = 0
    servings[serving, CELL] = NONE
    restaurants[restaurant, FIRST] = serving
    if before != NONE:
        franchise.used[N_INDEXED] += 1
        index = franchise.serving_index
        index[slot_of(index, servings, restaurant, servings[before, DISH])] = before
    return serving


@jitable
def _open_chain(franchise, depth, dish):
    """Find or make the servings of a dish along `path`, root first, in `chain`."""
    level = depth
    serving = NONE
    while level >= 0 and serving == NONE:
        serving = serving_of(franchise, franchise.path[level], dish)
        if serving == NONE:
            level -= 1
    found = level
    while level >= 0:
        franchise.chain[level] = serving
        serving = franchise.servings[serving, ABOVE]
        level -= 1
    for level in range(found + 1, depth + 1):
        above = franchise.chain[level - 1] if level > 0 else NONE
        franchise.chain[level] = _open_serving(franchise, franchise.path[level], dish, above)


@jitable
def _count_table(franchise, serving, size, change):
    """Change the number of tables of one size in the histogram of a serving.

    Cells are in the order of sizes, so that draws do not depend on the history of the seating.
    """
    cells = franchise.cells
    before = NONE
    cell = franchise.servings[serving, CELL]
    while cell != NONE and cells[cell, SIZE] < size:
        before = cell
        cell = cells[cell, LINK]
    after = cell
    if cell == NONE or cells[cell, SIZE] != size:
        cell = franchise.used[FREE_CELL]
        if cell == NONE:
            cell = franchise.used[N_CELLS]
            franchise.used[N_CELLS] += 1
        else:
            franchise.used[FREE_CELL] = cells[cell, LINK]
        cells[cell, SIZE] = size
        cells[cell, COUNT] = change
        cells[cell, LINK] = after
        after = cell
    else:
        cells[cell, COUNT] += change
        if cells[cell, COUNT] == 0:
            after = cells[cell, LINK]
            cells[cell, LINK] = franchise.used[FREE_CELL]
            franchise.used[FREE_CELL] = cell
    if before == NONE:
        franchise.servings[serving, CELL] = after
    else:
        cells[before, LINK] = after


@jitable
def _grow_table(franchise, serving, size):
    """Seat a customer at a table of a given size."""
    row = franchise.servings[serving]
    if row[OPEN] > 1:
        _count_table(franchise, serving, size, -1)
        _count_table(franchise, serving, size + 1, 1)
    row[SERVED] += 1
    franchise.restaurants[row[RESTAURANT], CUSTOMERS] += 1


@jitable
def _pick_table(franchise, serving, discount, rng):
    """Draw a table of size s with weight s - d. Returns its size."""
    row = franchise.servings[serving]
    if row[OPEN] <= 1:
        return row[SERVED]
    left = rng.random() * (row[SERVED] - discount * row[OPEN])
    cell = row[CELL]
    while True:
        size = franchise.cells[cell, SIZE]
        left -= (size - discount) * franchise.cells[cell, COUNT]
        if left < 0.0 or franchise.cells[cell, LINK] == NONE:
            return size
        cell = franchise.cells[cell, LINK]


@jitable
def _open_table(franchise, serving):
    """Seat a customer at a new table."""
    row = franchise.servings[serving]
    if row[OPEN] == 1:
        _count_table(franchise, serving, row[SERVED], 1)
    if row[OPEN] >= 1:
        _count_table(franchise, serving, 1, 1)
    row[OPEN] += 1
    row[SERVED] += 1
    franchise.restaurants[row[RESTAURANT], CUSTOMERS] += 1
    franchise.restaurants[row[RESTAURANT], TABLES] += 1


@jitable
def _shrink_table(franchise, serving, size):
    """Take a customer from a table of a given size; one of size 1 closes."""
    row = franchise.servings[serving]
    if row[OPEN] > 1:
        _count_table(franchise, serving, size, -1)
        if size > 1:
            _count_table(franchise, serving, size - 1, 1)
    row[SERVED] -= 1
    franchise.restaurants[row[RESTAURANT], CUSTOMERS] -= 1
    if size > 1:
        return
    franchise.restaurants[row[RESTAURANT], TABLES] -= 1
    row[OPEN] -= 1
    if row[OPEN] == 1:
        _count_table(franchise, serving, franchise.cells[row[CELL], SIZE], -1)


@jitable
def open_path(franchise, restaurant, dish):
    """Write the path to a restaurant into `path`, and its servings of a dish, made where missing,
    into `chain`. Returns its depth.
    """
    path = franchise.path
    depth = franchise.restaurants[restaurant, TIER] % len(path)
    for level in range(depth, -1, -1):
        path[level] = restaurant
        restaurant = franchise.restaurants[restaurant, PARENT]
    _open_chain(franchise, depth, dish)
    return depth


@jitable
def seat(franchise, restaurant, dish, rng):
    """Seat a customer for a dish; a new table sends one customer to the parent restaurant.

    restaurant (int): See `open_restaurant`.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (float): The predictive probability of the dish before.
    """
    return seat_with_undo(franchise, restaurant, dish, rng)[0]


@jitable
def seat_with_undo(franchise, restaurant, dish, rng):
    """`seat`, with the information that `undo_seat` needs.

    RETURNS (tuple[float, int, int]): The predictive probability; the number of opened tables, one
        above the other; and the new size of the table that the last customer joined, or 0.
    """
    path, chain, value = franchise.path, franchise.chain, franchise.value
    restaurants, servings = franchise.restaurants, franchise.servings
    depth = open_path(franchise, restaurant, dish)
    value[0] = 1.0 / franchise.alphabet[0]
    for level in range(depth + 1):
        row = servings[chain[level]]
        value[level + 1] = restaurant_probability(
            franchise, path[level], row[SERVED], row[OPEN], value[level]
        )
    for level in range(depth, -1, -1):
        serving = chain[level]
        tier, tables = restaurants[path[level], TIER], servings[serving, OPEN]
        discount = franchise.discount[tier]
        joining = servings[serving, SERVED] - discount * tables
        fresh = franchise.strength[tier] + discount * restaurants[path[level], TABLES]
        total = joining + fresh * value[level]
        if tables > 0 and _joins(franchise, discount, joining, total, rng):
            size = _pick_table(franchise, serving, discount, rng)
            _grow_table(franchise, serving, size)
            return value[depth + 1], depth - level, size + 1
        _open_table(franchise, serving)
    return value[depth + 1], depth + 1, 0


@jitable
def _joins(franchise, discount, joining, total, rng):
    """Whether a customer joins one of the dish's tables."""
    if franchise.own_tables[0] or discount == 1.0:
        return False
    return franchise.one_table[0] or rng.random() * total < joining


@jitable
def undo_seat(franchise, restaurant, dish, tables, size):
    """Undo `seat_with_undo`, whose results are `tables` and `size`."""
    serving = serving_of(franchise, restaurant, dish)
    for _ in range(tables):
        _shrink_table(franchise, serving, 1)
        serving = franchise.servings[serving, ABOVE]
    if serving != NONE:
        _shrink_table(franchise, serving, size)


@jitable
def unseat(franchise, restaurant, dish, rng):
    """Take a customer for a dish away; a table that closes takes one from the parent restaurant.

    RETURNS (bool): False, with nothing changed, if no such customer is seated.
    """
    return unseat_with_undo(franchise, restaurant, dish, rng)[0] >= 0


@jitable
def unseat_with_undo(franchise, restaurant, dish, rng):
    """`unseat`, with the information that `restore` needs.

    RETURNS (tuple[int, int]): The number of closed tables, -1 if no customer is seated; and the
        size of the table that the last customer left, with that customer, or 0.
    """
    serving = serving_of(franchise, restaurant, dish)
    if serving == NONE or franchise.servings[serving, SERVED] == 0:
        return -1, 0
    closed = 0
    while serving != NONE:
        # All customers are equally likely.
        size = _pick_table(franchise, serving, 0.0, rng)
        _shrink_table(franchise, serving, size)
        if size > 1:
            return closed, size
        closed += 1
        serving = franchise.servings[serving, ABOVE]
    return closed, 0


@jit
def restore(franchise, restaurant, dish, tables, size):
    """Undo `unseat_with_undo`, whose results are `tables` and `size`."""
    depth = open_path(franchise, restaurant, dish)
    for level in range(depth, depth - tables, -1):
        _open_table(franchise, franchise.chain[level])
    if tables <= depth:
        _grow_table(franchise, franchise.chain[depth - tables], size - 1)


@jit
def add(franchise, expert, row, dish, rng):
    """Seat a customer in the restaurant of a context row under one expert, see `seat`."""
    return seat(franchise, open_restaurant(franchise, expert, row), dish, rng)


@jit
def remove(franchise, expert, row, dish, rng):
    """`unseat` from the restaurant of a context row under one expert; False if there is none."""
    restaurant = deepest(franchise, expert, row)
    if franchise.restaurants[restaurant, TIER] % len(franchise.path) < depth_of(franchise, expert):
        return False
    return unseat(franchise, restaurant, dish, rng)
