"""What a pool predicts, whether it is still learning (`SeatedPool`) or frozen (`FrozenPool`).

Inference that draws samples is the same in both cases: while a model learns, a derivation is drawn given the
seating of all other sentences; afterwards, given a view. The functions of this module are compiled for either
kind of pool.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference, generic, generic_maker, implements, inner, maker
from ..hpyp.franchise import deepest, deepest_of, dish_probability, restaurant_distribution, seen
from .pool import (
    FrozenPool,
    SeatedPool,
    expert_weight,
    is_plain,
    mixture_probability,
    new_scratch,
    normalise,
    product_distribution,
    read_symbols,
)


@by_reference
class SeatedScratch(NamedTuple):
    """Workspace for predictions of a pool that is learning.

    place (int32[experts]): Restaurants.
    symbols (int32[gates]): Symbols of the gates.
    out (float64[alphabet]): The distribution of one expert.
    """

    place: np.ndarray
    symbols: np.ndarray
    out: np.ndarray


@generic_maker
def workspace(pool):
    """Workspace that fits a pool."""


@generic
def alphabet_of(pool):
    """The number of outcomes of a pool."""


@generic
def predict(pool, row, kind, scratch, out):
    """All probabilities of a pool that multiplies its experts.

    row (int32[elements]): The context row.
    kind (int): Of the context: the row of `possible`.
    scratch: See `workspace`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """


@generic
def predict_one(pool, row, dish, scratch):
    """The probability of one dish under a pool that mixes its experts."""


implements(workspace, FrozenPool)(new_scratch)
implements(predict, FrozenPool)(product_distribution)
implements(predict_one, FrozenPool)(mixture_probability)


@implements(alphabet_of, FrozenPool)
@borrowing
def _frozen_alphabet(pool):
    return pool.finished.alphabet[0]


@implements(alphabet_of, SeatedPool)
@borrowing
def _seated_alphabet(pool):
    return pool.franchise.alphabet[0]


@implements(workspace, SeatedPool)
@maker
def _seated_workspace(pool):
    return SeatedScratch(
        np.empty(len(pool.franchise.columns), dtype=np.int32),
        np.empty(len(pool.gates), dtype=np.int32),
        np.empty(pool.franchise.alphabet[0]),
    )


@implements(predict, SeatedPool)
@inner
def _seated_distribution(pool, row, kind, scratch, out):
    franchise = pool.franchise
    if is_plain(pool):
        restaurant_distribution(franchise, deepest(franchise, 0, row), out)
        return
    # Not by `predict_event`: several threads may ask at once.
    deepest_of(franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    out[:] = 0.0
    for expert in range(len(scratch.place)):
        restaurant = seen(franchise, scratch.place[expert])
        weight = expert_weight(pool, restaurant, scratch.symbols, expert)
        restaurant_distribution(franchise, restaurant, scratch.out)
        for y in range(len(out)):
            out[y] += weight * np.log(scratch.out[y])
    normalise(out, pool.possible, kind, 0)


@implements(predict_one, SeatedPool)
@inner
def _seated_probability(pool, row, dish, scratch):
    franchise = pool.franchise
    if len(franchise.columns) == 0:
        return 1.0
    if is_plain(pool):
        return dish_probability(franchise, deepest(franchise, 0, row), dish)
    deepest_of(franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    mass, total = 0.0, 0.0
    for expert in range(len(scratch.place)):
        restaurant = seen(franchise, scratch.place[expert])
        share = np.exp(expert_weight(pool, restaurant, scratch.symbols, expert))
        mass += share
        total += share * dish_probability(franchise, scratch.place[expert], dish)
    return total / mass
