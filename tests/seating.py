"""Seatings for the tests."""

from collections.abc import Sequence

import numpy as np

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.hpyp.franchise import (
    CELL,
    COUNT,
    LINK,
    SERVED,
    SIZE,
    Franchise,
    deepest,
    dish_probability,
    new_franchise,
    reserve,
    restaurant_distribution,
)
from spacy_hpyp.hpyp.seating import add, remove
from spacy_hpyp.pools.pool import FrozenPool
from spacy_hpyp.pools.view import LOG_STEP, make_view

Customer = tuple[tuple[int, ...], int]

#: A frozen view has numbers of 32 bits, of which a probability multiplies one for each level of its context:
#: so much, relatively,
#: may be lost. What is learned or counted has 64 bits and is compared more closely.
PRECISION = 1e-6
#: Where experts are multiplied, logs have 16 bits: so much, relatively, may be lost for each unit of an
#: expert's weight.
LOG_PRECISION = 2 * LOG_STEP
#: What sums and products of 64 bits may differ by, in another order.
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
    """Customers, each with a context and a dish, sit down under random hyperparameters, and some leave
    again.
    """
    rng = np.random.default_rng(seed)
    franchise = reserve(new_franchise(columns, alphabet, one_table=one_table), len(customers) + len(leaving))
    franchise.discount[:] = rng.uniform(0.05, 0.95, len(franchise.discount))
    franchise.strength[:] = rng.exponential(size=len(franchise.strength)) - franchise.discount
    for change, moving in ((add, customers), (remove, leaving)):
        for context, dish in moving:
            for expert in range(len(columns)):
                change(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    return franchise


def predictive_probability(franchise: Franchise, expert: int, row: np.ndarray, dish: int) -> float:
    """The probability of a dish in a context under one expert."""
    return dish_probability(franchise, deepest(franchise, expert, row), dish)


@jit
def predictive_distribution(franchise: Franchise, expert: int, row: np.ndarray, out: np.ndarray) -> None:
    """The probabilities of all dishes in a context under one expert, into `out` (float64[alphabet])."""
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


def precision_of(model):
    """What a model may lose of a probability when it is frozen, relatively, see `PRECISION`."""
    return max(
        PRECISION if each.is_plain or each.mixed else LOG_PRECISION for each in model.conditionals.values()
    )


def freeze_pool(franchise, weights, gates, possible, elements, *, mixed):
    """A pool while it predicts, by the view of its present seating."""
    view = make_view(franchise, multiplied=len(weights.bucket) > 0 and not mixed)
    return FrozenPool(view, weights, gates, possible, elements, mixed)
