"""The predictions of a pool, frozen (`FrozenPool`) or while it is learning (`SeatedPool`).

`predict` gives the distribution of a pool that multiplies its experts, `predict_one` the probability of one
dish under any other pool. Sampling of derivations uses them in both states.

A view does not fit a processor's cache: nearly every step towards the deepest restaurant of a context waits
for the memory. So all experts go down level by level, and at each level all places are fetched before any is
looked at, with what they serve behind them: a processor fetches a dozen of them in the time of one. One after
the other they take a quarter more time of a parse (French Sequoia: 6,700 for 8,500 words per second).
"""

from math import exp
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, dispatch, fetch, jit, jitable, overwrite, struct
from ..hpyp.franchise import deepest, deepest_of, dish_probability, restaurant_distribution
from .pool import FrozenPool, SeatedPool, gate_weight, is_plain, normalise, predict_event, read_symbols
from .view import (
    BUCKETS,
    EMPTY,
    FIRST,
    LIST,
    LOG_STEP,
    SINGLE,
    SYMBOL_SHIFT,
    VALUE,
    WIDTH,
    below,
    bucket_of_restaurant,
    dish_of,
    excess_of,
    first_try,
    room_of,
    share_or_less,
    view_distribution,
    view_probability,
)

# How many logs a processor fetches at once.
_LINE = np.uint64(32)

# An index that is known not to be negative takes fewer instructions.
_ONE, _FIRST, _LIST, _VALUE, _WIDTH = (np.uint64(each) for each in (1, FIRST, LIST, VALUE, WIDTH))
_SHIFT, _ONLY = np.uint32(SYMBOL_SHIFT), np.uint32(SINGLE)
_EMPTY, _NOTHING = np.uint32(EMPTY), np.uint64(0)


@dispatch
def workspace(pool):
    """Workspace that fits a pool."""


@dispatch
def alphabet_of(pool):
    """The number of outcomes of a pool."""


@dispatch
def predict(pool, row, kind, scratch, out):
    """All probabilities of a pool that multiplies its experts.

    row (int32[elements]): The context row.
    kind (int): Of the context: the row of `possible`.
    scratch: See `workspace`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """


@dispatch
def predict_one(pool, row, dish, scratch):
    """The probability of one dish under a pool that mixes its experts."""


@alphabet_of.register(FrozenPool)
@jit
def _frozen_alphabet(pool):
    return pool.finished.alphabet[0]


@alphabet_of.register(SeatedPool)
@jit
def _seated_alphabet(pool):
    return pool.franchise.alphabet[0]


@struct
class SeatedScratch(NamedTuple):
    """Workspace for predictions of a pool that is learning, one for each thread.

    place (int32[experts]): Restaurants.
    symbols (int32[gates]): Symbols of the gates.
    values (float64[*, *]): As `SeatedPool.scratch`.
    """

    place: np.ndarray
    symbols: np.ndarray
    values: np.ndarray


@workspace.register(SeatedPool)
@jitable
def _seated_workspace(pool):
    return SeatedScratch(
        np.empty(len(pool.franchise.columns), dtype=np.int32),
        np.empty(len(pool.gates), dtype=np.int32),
        np.empty(pool.scratch.shape),
    )


@predict.register(SeatedPool)
@jitable
def _seated_distribution(pool, row, kind, scratch, out):
    if is_plain(pool):
        restaurant_distribution(pool.franchise, deepest(pool.franchise, 0, row), out)
        return
    deepest_of(pool.franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    predict_event(pool, scratch.place, scratch.symbols, kind, 0, scratch.values)
    overwrite(out, scratch.values[len(scratch.place)])


@predict_one.register(SeatedPool)
@jitable
def _seated_probability(pool, row, dish, scratch):
    if len(pool.franchise.columns) == 0:
        return 1.0
    if is_plain(pool):
        return dish_probability(pool.franchise, deepest(pool.franchise, 0, row), dish)
    deepest_of(pool.franchise, row, scratch.place)
    read_symbols(pool, row, scratch.symbols)
    return exp(predict_event(pool, scratch.place, scratch.symbols, 0, dish, scratch.values))


# Frozen pools.


@struct
class Scratch(NamedTuple):
    """What each expert of a frozen pool says in a context, and workspace to find it; one for each thread.

    symbols (int32[gates]): Symbols of the gates.
    weight (float64[experts]): The weight that the expert has in the deepest restaurant of the context.
    weight_at (uint32[experts]): Where that stands in `pool.Weights.bucket`, flattened.
    probability (float64[experts]): Of experts that are mixed, p(dish | context), negative where the
        restaurant does not serve the dish. Of others what the restaurant's single dish has in excess of its
        row, or how many dishes it lists.
    row, list (uint32[experts]): Of experts that are multiplied, the restaurant's row; and its list, see
        `View`.
    place, level (uint32[experts]): The restaurant that the expert has come to, and how deep that is.
    active (uint32[experts]): The experts that go on.
    trial (uint32[experts]): Where to look next.
    reached (uint32[experts]): The experts that have come to a restaurant whose dishes are to be looked at.
    """

    symbols: np.ndarray
    weight: np.ndarray
    weight_at: np.ndarray
    probability: np.ndarray
    row: np.ndarray
    list: np.ndarray
    place: np.ndarray
    level: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    reached: np.ndarray


@jitable
def new_scratch(pool):
    """Workspace that fits a frozen pool."""
    experts = len(pool.finished.columns)
    symbols, floats = np.empty(len(pool.gates), dtype=np.int32), np.empty((2, experts))
    of = np.empty((8, experts), dtype=np.uint32)
    return Scratch(symbols, floats[0], of[0], floats[1], of[1], of[2], of[3], of[4], of[5], of[6], of[7])


@jit
def ask_experts(view, weights, row, dish, scratch):
    """Find what every expert says in a context.

    weights (float64[tiers, BUCKETS]): By tier and bucket, see `pool.Weights`.
    row (int32[elements]): The context row.
    dish (int): The dish whose probability is asked for; `NONE` where experts are multiplied.
    scratch (Scratch): Overwritten.
    """
    _go_down(view, row, dish, scratch)
    depth = view.columns.shape[1]
    for expert in range(len(view.columns)):
        place = np.int64(scratch.place[expert])
        tier = np.int64(expert) * (depth + 1) + np.int64(scratch.level[expert])
        bucket = np.int64(bucket_of_restaurant(view, place))
        scratch.weight_at[expert] = tier * BUCKETS + bucket
        scratch.weight[expert] = weights[tier, bucket]
        if dish != NONE:
            scratch.probability[expert] = abs(scratch.probability[expert])
            continue
        begin = np.uint64(scratch.row[expert]) * np.uint64(view.row.shape[1])
        for at in range(begin, begin + np.uint64(view.row.shape[1]), _LINE):
            fetch(view.row, at)
        if scratch.list[expert] < _ONLY:
            fetch(view.servings, scratch.list[expert])
            scratch.probability[expert] = view.restaurants[place + VALUE]
        else:
            scratch.probability[expert] = view.value[place + VALUE]


@jit
def _go_down(view, row, dish, scratch):
    """Let all experts find the deepest restaurant of their context, and the probability of the dish there."""
    table, columns = view.restaurants, view.columns
    place, active, trial, reached = scratch.place, scratch.active, scratch.trial, scratch.reached
    left = np.uint64(len(columns))
    for expert in range(left):
        active[expert], reached[expert], scratch.level[expert] = expert, expert, 0
        place[expert] = expert * _WIDTH
        scratch.list[expert], scratch.row[expert] = (
            table[place[expert] + _LIST],
            table[place[expert] + _VALUE],
        )
        scratch.probability[expert] = 1.0 / view.alphabet[0]
    served = left if dish != NONE else _NOTHING
    for level in range(columns.shape[1]):
        tried = _NOTHING
        for a in range(left):
            expert = active[a]
            restaurant = np.uint64(place[expert])
            room = room_of(np.uint64(table[restaurant]))
            # Where there is a child, the expert reads a symbol.
            if room != _NOTHING:
                symbol = np.uint64(np.uint32(row[columns[expert, level]]))
                at = first_try(symbol, room) * _WIDTH + np.uint64(table[restaurant + _FIRST])
                active[tried], trial[tried] = expert, at
                tried += _ONE
                fetch(table, at)
        _look_up(view, dish, served, scratch)
        left = served = _NOTHING
        for a in range(tried):
            expert, at = active[a], np.uint64(trial[a])
            wanted = np.uint32(row[columns[expert, level]])
            if table[at] >> _SHIFT != wanted:
                if table[at] == _EMPTY:
                    continue
                other = below(view, np.int64(place[expert]), wanted)
                if other == NONE:
                    continue
                at = np.uint64(other)
            place[expert], scratch.level[expert] = at, level + 1
            active[left] = expert
            left += _ONE
            if dish != NONE:
                reached[served] = expert
                served += _ONE
            listed = scratch.list[expert] = table[at + _LIST]
            if dish == NONE and listed == _EMPTY:
                scratch.row[expert] = table[at + _VALUE]
            elif dish != NONE and listed < _ONLY and scratch.probability[expert] >= 0.0:
                fetch(view.servings, np.uint64(listed))
        if left == _NOTHING:
            break
    _look_up(view, dish, served, scratch)


@jit
def _look_up(view, dish, count, scratch):
    """Find the probability of the dish where the first experts of `reached` have come to."""
    probability = scratch.probability
    for a in range(count):
        expert = scratch.reached[a]
        place, listed = np.int64(scratch.place[expert]), np.int64(scratch.list[expert])
        probability[expert] = share_or_less(view, place, listed, dish, probability[expert])


@jit
def product_distribution(pool, row, kind, scratch, out):
    """All probabilities of a product pool in a context.

    kind (int): Of the context: the row of `possible`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    view = pool.finished
    if is_plain(pool):
        view_distribution(view, 0, row, out)
        return
    ask_experts(view, pool.weights.bucket, row, NONE, scratch)
    read_symbols(pool, row, scratch.symbols)
    out[:] = 0.0
    for expert in range(len(scratch.weight)):
        scratch.weight[expert] += gate_weight(pool, scratch.symbols, expert)
        weight, logs = LOG_STEP * scratch.weight[expert], view.row[scratch.row[expert]]
        for y in range(len(out)):
            out[y] += weight * logs[y]
    for expert in range(len(scratch.weight)):
        weight, listed = scratch.weight[expert], np.int64(scratch.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(scratch.probability[expert])]:
                out[dish_of(entry)] += weight * excess_of(entry)
        elif listed != EMPTY:
            out[EMPTY - 1 - listed] += weight * scratch.probability[expert]
    normalise(out, pool.possible, kind, 0)


@jit
def mixture_probability(pool, row, dish, scratch):
    """The probability of one dish under a mixture pool in a context."""
    view = pool.finished
    if view.columns.shape[0] == 0:
        return 1.0
    if is_plain(pool):
        return view_probability(view, 0, row, dish)
    mass, total = find_shares(pool, row, dish, scratch), 0.0
    for expert in range(len(scratch.weight)):
        total += scratch.weight[expert] * scratch.probability[expert]
    return total / mass


@jit
def find_shares(pool, row, dish, scratch):
    """What each expert of a mixture pool is worth in a context, into `scratch.weight`; with its
    probability of a dish, into `scratch.probability`. Returns the sum of the former.
    """
    mass = 0.0
    ask_experts(pool.finished, pool.weights.bucket, row, dish, scratch)
    read_symbols(pool, row, scratch.symbols)
    for expert in range(len(scratch.weight)):
        scratch.weight[expert] = exp(scratch.weight[expert] + gate_weight(pool, scratch.symbols, expert))
        mass += scratch.weight[expert]
    return mass


workspace.register(FrozenPool)(new_scratch)
predict.register(FrozenPool)(product_distribution)
predict_one.register(FrozenPool)(mixture_probability)


@jitable
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
    view = pool.finished
    for expert in range(len(scratch.weight)):
        logs = view.row[scratch.row[expert]]
        change = np.float64(logs[dish])
        for y in range(len(out)):
            change -= out[y] * logs[y]
        change *= LOG_STEP
        listed = np.int64(scratch.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(scratch.probability[expert])]:
                served = dish_of(entry)
                change += excess_of(entry) * ((served == dish) - out[served])
        elif listed != EMPTY:
            served = EMPTY - 1 - listed
            change += scratch.probability[expert] * ((served == dish) - out[served])
        _add_change(expert, share * change, scratch, gradient)


@jitable
def add_mixture_gradient(pool, row, dish, share, scratch, gradient):
    """Add the gradient of a dish's log-probability under a mixture pool with respect to the weights, see
    `add_product_gradient`.
    """
    if is_plain(pool):
        return
    probability = mixture_probability(pool, row, dish, scratch)
    mass = 0.0
    for expert in range(len(scratch.weight)):
        mass += scratch.weight[expert]
    for expert in range(len(scratch.weight)):
        change = scratch.weight[expert] / mass * (scratch.probability[expert] / probability - 1.0)
        _add_change(expert, share * change, scratch, gradient)


@jitable
def _add_change(expert, change, scratch, gradient):
    at = np.int64(scratch.weight_at[expert])
    gradient.bucket[at // BUCKETS, at % BUCKETS] += change
    for gate in range(len(scratch.symbols)):
        gradient.gate[gate, scratch.symbols[gate], expert] += change
