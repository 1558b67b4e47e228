"""Seatings for the tests."""

from collections.abc import Sequence

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

Customer = tuple[tuple[int, ...], int]

#: A frozen table has numbers of 32 bits. A probability multiplies one for each level of its
#: context, or is made of two logs below 16, which are off by half of 2**-20 each: so much,
#: relatively, may be lost for each unit of an expert's weight. Probabilities that are learned have
#: 64 bits and are compared more closely.
PRECISION = 2e-6
#: The difference that another order makes to sums and products of 64 bits.
ROUNDING = 1e-12


def seated_franchise(
    customers: Sequence[Customer],
    leaving: Sequence[Customer] = (),
    seed: int = 0,
    *,
    columns: np.ndarray,
    alphabet: int,
    one_table: bool = False,
) -> Franchise:
    """Customers, each with a context and a dish, sit down under random hyperparameters, and some
    leave again.
    """
    rng = np.random.default_rng(seed)
    franchise = reserve(
        new_franchise(columns, alphabet, one_table=one_table), len(customers) + len(leaving)
    )
    franchise.discount[:] = rng.uniform(0.05, 0.95, len(franchise.discount))
    franchise.strength[:] = rng.exponential(size=len(franchise.strength)) - franchise.discount
    for change, moving in ((add, customers), (remove, leaving)):
        for context, dish in moving:
            for expert in range(len(columns)):
                change(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    return franchise


def context_of(franchise: Franchise, restaurant: int) -> tuple[int, tuple[int, ...]]:
    """The number of an expert, and the symbols that lead to a restaurant."""
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
    """The sum of squared table sizes of every serving, which tells partitions apart.

    squares (int64[servings]): Overwritten.
    """
    for serving in range(len(squares)):
        row = franchise.servings[serving]
        cell = row[CELL]
        squares[serving] = row[SERVED] ** 2 if cell == NONE else 0
        while cell != NONE:
            squares[serving] += franchise.cells[cell, COUNT] * franchise.cells[cell, SIZE] ** 2
            cell = franchise.cells[cell, LINK]
