"""Seating and unseating customers in a franchise.

`seat` draws a table for a customer, and `unseat` takes a customer from one. Their undo variants
return what `undo_seat` and `restore` need to put the seating back.
"""

import numpy as np

from ..compiled import NONE, fetch, jit, jitable
from . import franchise as column
from .franchise import deepest, depth_of, first_slot, restaurant_probability, serving_of, slot_of


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
                serving = rows[restaurants[expert], column.FIRST]
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
        below = np.int32(franchise.used[column.N_RESTAURANTS])
        franchise.used[column.N_RESTAURANTS] += 1
        restaurants[below, column.PARENT] = restaurant
        restaurants[below, column.SYMBOL] = symbol
        restaurants[below, column.TIER] = restaurants[restaurant, column.TIER] + 1
        restaurants[below, column.CUSTOMERS] = 0
        restaurants[below, column.TABLES] = 0
        restaurants[below, column.FIRST] = NONE
        index[slot] = below
    return below


@jitable
def _open_serving(franchise, restaurant, dish, above):
    servings, restaurants = franchise.servings, franchise.restaurants
    serving = franchise.used[column.N_SERVINGS]
    franchise.used[column.N_SERVINGS] += 1
    before = restaurants[restaurant, column.FIRST]
    servings[serving, column.RESTAURANT] = restaurant
    servings[serving, column.DISH] = dish
    servings[serving, column.SERVED] = 0
    servings[serving, column.ABOVE] = above
    servings[serving, column.NEXT] = before
    servings[serving, column.OPEN] = 0
    servings[serving, column.CELL] = NONE
    restaurants[restaurant, column.FIRST] = serving
    if before != NONE:
        franchise.used[column.N_INDEXED] += 1
        index = franchise.serving_index
        index[slot_of(index, servings, restaurant, servings[before, column.DISH])] = before
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
        serving = franchise.servings[serving, column.ABOVE]
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
    cell = franchise.servings[serving, column.CELL]
    while cell != NONE and cells[cell, column.SIZE] < size:
        before = cell
        cell = cells[cell, column.LINK]
    after = cell
    if cell == NONE or cells[cell, column.SIZE] != size:
        cell = franchise.used[column.FREE_CELL]
        if cell == NONE:
            cell = franchise.used[column.N_CELLS]
            franchise.used[column.N_CELLS] += 1
        else:
            franchise.used[column.FREE_CELL] = cells[cell, column.LINK]
        cells[cell, column.SIZE] = size
        cells[cell, column.COUNT] = change
        cells[cell, column.LINK] = after
        after = cell
    else:
        cells[cell, column.COUNT] += change
        if cells[cell, column.COUNT] == 0:
            after = cells[cell, column.LINK]
            cells[cell, column.LINK] = franchise.used[column.FREE_CELL]
            franchise.used[column.FREE_CELL] = cell
    if before == NONE:
        franchise.servings[serving, column.CELL] = after
    else:
        cells[before, column.LINK] = after


@jitable
def _grow_table(franchise, serving, size):
    """Seat a customer at a table of a given size."""
    row = franchise.servings[serving]
    if row[column.OPEN] > 1:
        _count_table(franchise, serving, size, -1)
        _count_table(franchise, serving, size + 1, 1)
    row[column.SERVED] += 1
    franchise.restaurants[row[column.RESTAURANT], column.CUSTOMERS] += 1


@jitable
def _pick_table(franchise, serving, discount, rng):
    """Draw a table of size s with weight s - d. Returns its size."""
    row = franchise.servings[serving]
    if row[column.OPEN] <= 1:
        return row[column.SERVED]
    left = rng.random() * (row[column.SERVED] - discount * row[column.OPEN])
    cell = row[column.CELL]
    while True:
        size = franchise.cells[cell, column.SIZE]
        left -= (size - discount) * franchise.cells[cell, column.COUNT]
        if left < 0.0 or franchise.cells[cell, column.LINK] == NONE:
            return size
        cell = franchise.cells[cell, column.LINK]


@jitable
def _open_table(franchise, serving):
    """Seat a customer at a new table."""
    row = franchise.servings[serving]
    if row[column.OPEN] == 1:
        _count_table(franchise, serving, row[column.SERVED], 1)
    if row[column.OPEN] >= 1:
        _count_table(franchise, serving, 1, 1)
    row[column.OPEN] += 1
    row[column.SERVED] += 1
    franchise.restaurants[row[column.RESTAURANT], column.CUSTOMERS] += 1
    franchise.restaurants[row[column.RESTAURANT], column.TABLES] += 1


@jitable
def _shrink_table(franchise, serving, size):
    """Take a customer from a table of a given size; one of size 1 closes."""
    row = franchise.servings[serving]
    if row[column.OPEN] > 1:
        _count_table(franchise, serving, size, -1)
        if size > 1:
            _count_table(franchise, serving, size - 1, 1)
    row[column.SERVED] -= 1
    franchise.restaurants[row[column.RESTAURANT], column.CUSTOMERS] -= 1
    if size > 1:
        return
    franchise.restaurants[row[column.RESTAURANT], column.TABLES] -= 1
    row[column.OPEN] -= 1
    if row[column.OPEN] == 1:
        _count_table(franchise, serving, franchise.cells[row[column.CELL], column.SIZE], -1)


@jitable
def open_path(franchise, restaurant, dish):
    """Write the path to a restaurant into `path`, and its servings of a dish, made where missing,
    into `chain`. Returns its depth.
    """
    path = franchise.path
    depth = franchise.restaurants[restaurant, column.TIER] % len(path)
    for level in range(depth, -1, -1):
        path[level] = restaurant
        restaurant = franchise.restaurants[restaurant, column.PARENT]
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
        value[level + 1] = restaurant_probability(
            franchise, path[level], chain[level], value[level]
        )
    for level in range(depth, -1, -1):
        serving = chain[level]
        tier, tables = restaurants[path[level], column.TIER], servings[serving, column.OPEN]
        discount = franchise.discount[tier]
        joining = servings[serving, column.SERVED] - discount * tables
        fresh = franchise.strength[tier] + discount * restaurants[path[level], column.TABLES]
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
        serving = franchise.servings[serving, column.ABOVE]
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
    if serving == NONE or franchise.servings[serving, column.SERVED] == 0:
        return -1, 0
    closed = 0
    while serving != NONE:
        # All customers are equally likely.
        size = _pick_table(franchise, serving, 0.0, rng)
        _shrink_table(franchise, serving, size)
        if size > 1:
            return closed, size
        closed += 1
        serving = franchise.servings[serving, column.ABOVE]
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
    depth = franchise.restaurants[restaurant, column.TIER] % len(franchise.path)
    return depth == depth_of(franchise, expert) and unseat(franchise, restaurant, dish, rng)
