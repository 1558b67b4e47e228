"""The predictions of a pool, frozen (`FrozenPool`) or while it is learning (`SeatedPool`).

`predict` gives the distribution of a pool that multiplies its experts or has one, `predict_one` the
probability of one dish under a pool that mixes them.

A table does not fit a processor's cache: nearly every step towards the deepest restaurant of a
context waits for the memory. So all experts go down level by level, and at each level all places
are fetched before any is looked at, with what they serve behind them: a processor fetches a dozen
of them in the time of one. One after the other they take a quarter more time of a parse (French
Sequoia: 6,700 for 8,500 words per second).
"""

from math import exp

import numpy as np

from ..compiled import NONE, dispatch, fetch, jit, jitable, overwrite
from .franchise import deepest, deepest_of, restaurant_distribution
from .pool import (
    FrozenPool,
    SeatedPool,
    add_gradient,
    find_mass,
    mix,
    new_scratch,
    normalise,
    predict_event,
    read_symbols,
    surplus,
    weigh,
)
from .table import (
    BUCKETS,
    EMPTY,
    ROW,
    SINGLE,
    SYMBOL_SHIFT,
    add_excesses,
    add_row,
    child_of,
    distribution,
    first_try,
    room_of,
    share_or_less,
)

# How many logs a processor fetches at once.
_LINE = 16
# An index that is known not to be negative takes fewer instructions.
_ONE, _NOTHING = np.uint64(1), np.uint64(0)
_SINGLE, _ROW, _EMPTY = np.uint32(SINGLE), np.uint32(ROW), np.uint32(EMPTY)
_SYMBOL = np.uint32(SYMBOL_SHIFT)


@dispatch
def workspace(pool):
    """Workspace that fits a pool."""


@dispatch
def alphabet_of(pool):
    """The number of outcomes of a pool."""


@dispatch
def predict(pool, row, kind, scratch, out):
    """All probabilities of a pool that multiplies its experts or has one.

    row (int32[elements]): The context row.
    kind (int): Of the context: the row of `possible`.
    scratch: See `workspace`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """


@dispatch
def predict_one(pool, row, dish, scratch):
    """The probability of one dish under a pool that mixes its experts."""


# Pools that learn.


@alphabet_of.register(SeatedPool)
@jit
def _seated_alphabet(pool):
    return pool.franchise.alphabet[0]


@workspace.register(SeatedPool)
@jitable
def _seated_workspace(pool):
    return new_scratch(len(pool.gates), len(pool.franchise.columns), len(pool.scratch.out))


@predict.register(SeatedPool)
@jitable
def _seated_distribution(pool, row, kind, scratch, out):
    if pool.mixed:
        restaurant_distribution(pool.franchise, deepest(pool.franchise, 0, row), out)
        return
    deepest_of(pool.franchise, row, scratch.restaurant)
    read_symbols(pool, row, scratch.symbols)
    predict_event(pool, scratch.restaurant, scratch.symbols, kind, 0, scratch)
    overwrite(out, scratch.out)


@predict_one.register(SeatedPool)
@jitable
def _seated_probability(pool, row, dish, scratch):
    deepest_of(pool.franchise, row, scratch.restaurant)
    read_symbols(pool, row, scratch.symbols)
    return exp(predict_event(pool, scratch.restaurant, scratch.symbols, 0, dish, scratch))


@surplus.register(SeatedPool)
@jitable
def _seated_surplus(pool, expert, dish, out, scratch):
    found = scratch.logs[expert, dish]
    for y in range(len(out)):
        found -= out[y] * scratch.logs[expert, y]
    return found


# Frozen pools.


@workspace.register(FrozenPool)
@jitable
def _frozen_workspace(pool):
    return new_scratch(len(pool.gates), len(pool.finished.columns), 0)


@jit
def ask_experts(pool, row, dish, scratch):
    """Find what the experts of a pool say in a context: all of `Scratch` but their weights.

    row (int32[elements]): The context row.
    dish (int): The dish whose probability is asked for; `NONE` where experts are multiplied.
    scratch (Scratch): Overwritten.
    """
    table, tiers = pool.finished, np.uint64(pool.finished.columns.shape[1] + 1)
    read_symbols(pool, row, scratch.symbols)
    _go_down(table, row, dish, scratch)
    for expert in range(np.uint64(len(scratch.place))):
        here = table.restaurants[scratch.place[expert]]
        bucket = np.uint64(here.key) & np.uint64(BUCKETS - 1)
        tier = expert * tiers + scratch.level[expert]
        scratch.weight_at[expert] = tier * np.uint64(BUCKETS) + bucket
        if dish != NONE:
            scratch.probability[expert] = abs(scratch.probability[expert])
            continue
        if here.dishes < _SINGLE:
            fetch(table.entries, here.dishes)
        begin, width = (
            scratch.row[expert] * np.uint64(table.row.shape[1]),
            np.uint64(table.row.shape[1]),
        )
        for at in range(begin, begin + width, np.uint64(_LINE)):
            fetch(table.row, at)


@jit
def _go_down(table, row, dish, scratch):
    """Let all experts find the deepest restaurant of their context, and the probability of the dish
    there.
    """
    restaurants, columns = table.restaurants, table.columns
    place, active, trial, reached = scratch.place, scratch.active, scratch.trial, scratch.reached
    left = np.uint64(len(columns))
    for expert in range(left):
        active[expert], reached[expert], scratch.level[expert] = expert, expert, _NOTHING
        place[expert] = expert
        scratch.row[expert] = np.uint64(restaurants[expert].dishes - _ROW)
        scratch.probability[expert] = 1.0 / table.alphabet[0]
    served = left if dish != NONE else _NOTHING
    for level in range(columns.shape[1]):
        tried = _NOTHING
        for a in range(left):
            expert = active[a]
            here = restaurants[place[expert]]
            room = room_of(here.key)
            # Where there is a child, the expert reads a symbol.
            if room != _NOTHING:
                symbol = np.uint64(np.uint32(row[columns[expert, level]]))
                at = np.uint64(here.children) + first_try(symbol, room)
                active[tried], trial[tried] = expert, at
                tried += _ONE
                fetch(restaurants, at)
        _look_up(table, dish, served, scratch)
        left = served = _NOTHING
        for a in range(tried):
            expert, at = active[a], trial[a]
            wanted = np.uint32(row[columns[expert, level]])
            if restaurants[at].key >> _SYMBOL != wanted:
                if restaurants[at].key == _EMPTY:
                    continue
                found = child_of(table, place[expert], np.int64(wanted))
                if found == NONE:
                    continue
                at = np.uint64(found)
            place[expert], scratch.level[expert] = at, np.uint64(level + 1)
            active[left] = expert
            left += _ONE
            dishes = restaurants[at].dishes
            if dish != NONE:
                reached[served] = expert
                served += _ONE
                if dishes < _SINGLE and scratch.probability[expert] >= 0.0:
                    fetch(table.entries, dishes)
            elif dishes >= _ROW:
                scratch.row[expert] = np.uint64(dishes - _ROW)
        if left == _NOTHING:
            break
    _look_up(table, dish, served, scratch)


@jit
def _look_up(table, dish, count, scratch):
    """Find the probability of the dish where the first experts of `reached` have come to."""
    probability = scratch.probability
    for a in range(count):
        expert = scratch.reached[a]
        probability[expert] = share_or_less(table, scratch.place[expert], dish, probability[expert])


@jit
def product_distribution(pool, row, kind, scratch, out):
    """All probabilities of a pool that multiplies its experts or has one, in a context.

    kind (int): Of the context: the row of `possible`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    table = pool.finished
    if pool.mixed:
        distribution(table, 0, row, out)
        return
    ask_experts(pool, row, NONE, scratch)
    weigh(pool, scratch)
    out[:] = 0.0
    for expert in range(len(scratch.weight)):
        add_row(table, scratch.row[expert], scratch.weight[expert], out)
    for expert in range(len(scratch.weight)):
        here = table.restaurants[scratch.place[expert]]
        add_excesses(table, here.dishes, here.value, scratch.weight[expert], out)
    normalise(out, pool.possible, kind)


@jit
def mixture_probability(pool, row, dish, scratch):
    """The probability of one dish under a pool that mixes its experts, in a context."""
    ask_experts(pool, row, dish, scratch)
    return mix(pool, scratch)


@jit
def find_shares(pool, row, dish, scratch):
    """Find the weight and the place of each expert of a mixture in a context. Returns the sum of
    the weights.
    """
    ask_experts(pool, row, dish, scratch)
    return find_mass(pool, scratch)


predict.register(FrozenPool)(product_distribution)
predict_one.register(FrozenPool)(mixture_probability)


@alphabet_of.register(FrozenPool)
@jit
def _frozen_alphabet(pool):
    return pool.finished.alphabet[0]


@surplus.register(FrozenPool)
@jitable
def _frozen_surplus(pool, expert, dish, out, scratch):
    table = pool.finished
    here, logs = table.restaurants[scratch.place[expert]], table.row[scratch.row[expert]]
    found = np.float64(logs[dish])
    for y in range(len(out)):
        found -= out[y] * logs[y]
    if here.dishes < _SINGLE:
        first = np.int64(here.dishes) + 1
        for place in range(first, first + np.int64(table.entries[first - 1].key)):
            served = np.int64(table.entries[place].key)
            found += table.entries[place].value * ((served == dish) - out[served])
    elif here.dishes < _ROW:
        served = np.int64(here.dishes - _SINGLE)
        found += here.value * ((served == dish) - out[served])
    return found


@jitable
def add_event_gradient(pool, row, kind, dish, share, scratch, out, gradient):
    """Add the gradient of a dish's log-probability under a frozen pool with respect to the weights.

    row (int32[elements]), kind (int): The context, see `product_distribution`.
    share (float): How much of the gradient is added.
    out (float64[alphabet]): Workspace.
    gradient (Weights): Added to.
    """
    probability = 1.0
    if pool.mixed:
        probability = mixture_probability(pool, row, dish, scratch)
    else:
        product_distribution(pool, row, kind, scratch, out)
    add_gradient(pool, dish, probability, share, scratch, out, gradient)
