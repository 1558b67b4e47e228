"""Seatings for the tests."""

from collections.abc import Sequence
from itertools import product

import numpy as np
from compiling import compiled

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.hpyp.franchise import (
    CELL,
    COUNT,
    LINK,
    PARENT,
    SERVED,
    SIZE,
    SYMBOL,
    Franchise,
    deepest,
    dish_probability,
    new_franchise,
    reserve,
    restaurant_distribution,
)
from spacy_hpyp.hpyp.seating import add, remove

deepest, dish_probability, restaurant_distribution = map(
    compiled, (deepest, dish_probability, restaurant_distribution)
)

#: All context rows of three elements of four symbols.
ROWS = np.array([*product(range(4), repeat=3)], dtype=np.int32)
Customer = tuple[tuple[int, ...], int]

#: Relative rounding error of a frozen table, per unit of an expert's weight. The table stores
#: 32-bit numbers. A probability is a product of one number for each level of its context, or is
#: computed from two logs below 16, each of which is off by half of 2**-20. Learned probabilities
#: have 64 bits and are compared more closely.
PRECISION = 2e-6
#: Relative difference between 64-bit sums and products computed in different orders.
ROUNDING = 1e-12


def seated_franchise(
    customers: Sequence[Customer],
    leaving: Sequence[Customer] = (),
    seed: int = 0,
    *,
    columns: np.ndarray,
    alphabet: int,
    **settings: bool,
) -> Franchise:
    """Seat customers with contexts and dishes under random hyperparameters, then remove some."""
    rng = np.random.default_rng(seed)
    empty = new_franchise(columns, alphabet, **settings)
    franchise = reserve(empty, len(customers) + len(leaving))
    franchise.discount[:] = rng.uniform(0.05, 0.95, len(franchise.discount))
    franchise.strength[:] = rng.exponential(size=len(franchise.strength)) - franchise.discount
    for change, moving in ((add, customers), (remove, leaving)):
        for context, dish in moving:
            for expert in range(len(columns)):
                assert change(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    return franchise


@jit
def draw_one(weights, rng):
    """Draw an option in proportion to its weight (float64[*])."""
    left = rng.random() * weights.sum()
    for option in range(len(weights) - 1):
        left -= weights[option]
        if left < 0.0:
            return option
    return len(weights) - 1


def context_of(franchise: Franchise, restaurant: int) -> tuple[int, tuple[int, ...]]:
    """The number of an expert, and the symbols on the path to a restaurant."""
    context: tuple[int, ...] = ()
    while franchise.restaurants[restaurant, PARENT] != NONE:
        context = (int(franchise.restaurants[restaurant, SYMBOL]), *context)
        restaurant = franchise.restaurants[restaurant, PARENT]
    return int(restaurant), context


def predictive_probability(franchise: Franchise, expert: int, row: np.ndarray, dish: int) -> float:
    """The probability of a dish in a context under one expert."""
    return dish_probability(franchise, deepest(franchise, expert, row), dish)


@jit
def predictive_distribution(
    franchise: Franchise, expert: int, row: np.ndarray, out: np.ndarray
) -> None:
    """The probabilities of all dishes in a context under one expert, into `out`
    (float64[alphabet]).
    """
    restaurant_distribution(franchise, deepest(franchise, expert, row), out)


@jit
def squared_sizes(franchise, squares):
    """Compute the sum of squared table sizes of every serving, which distinguishes partitions.

    squares (int64[servings]): Overwritten.
    """
    for serving in range(len(squares)):
        row = franchise.servings[serving]
        cell = row[CELL]
        squares[serving] = row[SERVED] ** 2 if cell == NONE else 0
        while cell != NONE:
            squares[serving] += franchise.cells[cell, COUNT] * franchise.cells[cell, SIZE] ** 2
            cell = franchise.cells[cell, LINK]
