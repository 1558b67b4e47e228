"""The predictions of a pool, frozen (`FrozenPool`) or while it is learning (`SeatedPool`).

`predict` gives the distribution of a pool that multiplies its experts, `predict_one` the probability of one
dish under any other pool. Sampling of derivations uses them in both states.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from ..compiled import (
    NONE,
    borrowing,
    by_reference,
    generic,
    generic_maker,
    implements,
    inner,
    maker,
    overwrite,
)
from ..hpyp.franchise import deepest, deepest_of, dish_probability, restaurant_distribution
from .experts import Answers, ask_experts, new_answers
from .pool import FrozenPool, SeatedPool, gate_weight, is_plain, normalise, predict_event, read_symbols
from .view import (
    BUCKETS,
    EMPTY,
    LOG_STEP,
    SINGLE,
    dish_of,
    excess_of,
    view_distribution,
    view_probability,
)


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


@implements(alphabet_of, FrozenPool)
@borrowing
def _frozen_alphabet(pool):
    return pool.finished.alphabet[0]


@implements(alphabet_of, SeatedPool)
@borrowing
def _seated_alphabet(pool):
    return pool.franchise.alphabet[0]


@by_reference
class SeatedScratch(NamedTuple):
    """Workspace for predictions of a pool that is learning, one for each thread.

    place (int32[experts]): Restaurants.
    symbols (int32[gates]): Symbols of the gates.
    values (float64[*, *]): As `SeatedPool.scratch`.
    """

    place: np.ndarray
    symbols: np.ndarray
    values: np.ndarray


@implements(workspace, SeatedPool)
@maker
def _seated_workspace(pool):
    return SeatedScratch(
        np.empty(len(pool.franchise.columns), dtype=np.int32),
        np.empty(len(pool.gates), dtype=np.int32),
        np.empty(pool.scratch.shape),
    )


@implements(predict, SeatedPool)
@inner
def _seated_distribution(pool, row, kind, scratch, out):
    if is_plain(pool):
        restaurant_distribution(pool.franchise, deepest(pool.franchise, 0, row), out)
        return
    deepest_of(pool.franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    predict_event(pool, scratch.place, scratch.symbols, kind, 0, scratch.values)
    overwrite(out, scratch.values[len(scratch.place)])


@implements(predict_one, SeatedPool)
@inner
def _seated_probability(pool, row, dish, scratch):
    if len(pool.franchise.columns) == 0:
        return 1.0
    if is_plain(pool):
        return dish_probability(pool.franchise, deepest(pool.franchise, 0, row), dish)
    deepest_of(pool.franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    return exp(predict_event(pool, scratch.place, scratch.symbols, 0, dish, scratch.values))


# Frozen pools.


@by_reference
class Scratch(NamedTuple):
    """Workspace for predictions of a frozen pool, one for each thread.

    answers (Answers): What the experts say in the context.
    symbols (int32[gates]): Symbols of the gates.
    """

    answers: Answers
    symbols: np.ndarray


@maker
def new_scratch(pool):
    """Workspace that fits a frozen pool."""
    return Scratch(new_answers(pool.finished), np.empty(len(pool.gates), dtype=np.int32))


@borrowing
def product_distribution(pool, row, kind, scratch, out):
    """All probabilities of a product pool in a context.

    kind (int): Of the context: the row of `possible`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    view, answers = pool.finished, scratch.answers
    if is_plain(pool):
        view_distribution(view, 0, row, out)
        return
    ask_experts(view, pool.weights.bucket, row, NONE, answers)
    read_symbols(pool, row, scratch.symbols)
    out[:] = 0.0
    for expert in range(len(answers.weight)):
        answers.weight[expert] += gate_weight(pool, scratch.symbols, expert)
        weight, logs = LOG_STEP * answers.weight[expert], view.row[answers.row[expert]]
        for y in range(len(out)):
            out[y] += weight * logs[y]
    for expert in range(len(answers.weight)):
        weight, listed = answers.weight[expert], np.int64(answers.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(answers.probability[expert])]:
                out[dish_of(entry)] += weight * excess_of(entry)
        elif listed != EMPTY:
            out[EMPTY - 1 - listed] += weight * answers.probability[expert]
    normalise(out, pool.possible, kind, 0)


@borrowing
def mixture_probability(pool, row, dish, scratch):
    """The probability of one dish under a mixture pool in a context."""
    view, answers = pool.finished, scratch.answers
    if view.columns.shape[0] == 0:
        return 1.0
    if is_plain(pool):
        return view_probability(view, 0, row, dish)
    mass, total = find_shares(pool, row, dish, scratch), 0.0
    for expert in range(len(answers.weight)):
        total += answers.weight[expert] * answers.probability[expert]
    return total / mass


@borrowing
def find_shares(pool, row, dish, scratch):
    """What each expert of a mixture pool is worth in a context, into `scratch.answers.weight`; with its
    probability of a dish, into `scratch.answers.probability`. Returns the sum of the former.
    """
    answers, mass = scratch.answers, 0.0
    ask_experts(pool.finished, pool.weights.bucket, row, dish, answers)
    read_symbols(pool, row, scratch.symbols)
    for expert in range(len(answers.weight)):
        answers.weight[expert] = exp(answers.weight[expert] + gate_weight(pool, scratch.symbols, expert))
        mass += answers.weight[expert]
    return mass


implements(workspace, FrozenPool)(new_scratch)
implements(predict, FrozenPool)(product_distribution)
implements(predict_one, FrozenPool)(mixture_probability)


@inner
def add_product_gradient(pool, row, kind, dish, share, scratch, out, gradient):
    """Add the gradient of a dish's log-probability under a product pool with respect to the weights.

    row (int32[elements]), kind (int): The context, see `product_distribution`.
    share (float): How much of the gradient is added.
    out (float64[alphabet]): Overwritten with p(. | context).
    gradient (Weights): Added to.
    """
    if is_plain(pool):
        return
    product_distribution(pool, row, kind, scratch, out)
    view, answers = pool.finished, scratch.answers
    for expert in range(len(answers.weight)):
        logs = view.row[answers.row[expert]]
        change = np.float64(logs[dish])
        for y in range(len(out)):
            change -= out[y] * logs[y]
        change *= LOG_STEP
        listed = np.int64(answers.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(answers.probability[expert])]:
                served = dish_of(entry)
                change += excess_of(entry) * ((served == dish) - out[served])
        elif listed != EMPTY:
            served = EMPTY - 1 - listed
            change += answers.probability[expert] * ((served == dish) - out[served])
        _add_change(expert, share * change, scratch, gradient)


@inner
def add_mixture_gradient(pool, row, dish, share, scratch, gradient):
    """Add the gradient of a dish's log-probability under a mixture pool with respect to the weights, see
    `add_product_gradient`.
    """
    if is_plain(pool):
        return
    probability = mixture_probability(pool, row, dish, scratch)
    answers, mass = scratch.answers, 0.0
    for expert in range(len(answers.weight)):
        mass += answers.weight[expert]
    for expert in range(len(answers.weight)):
        change = answers.weight[expert] / mass * (answers.probability[expert] / probability - 1.0)
        _add_change(expert, share * change, scratch, gradient)


@inner
def _add_change(expert, change, scratch, gradient):
    at = np.int64(scratch.answers.weight_at[expert])
    gradient.bucket[at // BUCKETS, at % BUCKETS] += change
    for gate in range(len(scratch.symbols)):
        gradient.gate[gate, scratch.symbols[gate], expert] += change
