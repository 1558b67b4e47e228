"""Pools: one conditional distribution made of several HPYP experts.

Small alphabets multiply their experts, p(y|x) proportional to the product over m of p_m(y|c_m(x)) **
weight_m; words mix them, p(w|x) = sum over m of share_m p_m(w|c_m(x)). How much an expert has to say depends
on how much it has seen: its weight is chosen by how deep the restaurant lies that its context leads to, and
by the *bucket* of the number of its
customers (Jelinek & Mercer 1980). And it depends on the situation: *gates* are columns of the context row
(the tags of the two top items, say) whose symbols add to the weights of the experts. Shares are the weights'
softmax. One expert is the plain HPYP either way. A pool without experts says nothing: its outcome is not
generated and has probability 1.

Weights are learned while the pool is: what it predicts for events that have just been removed is held out.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, inner, maker
from ..hpyp.franchise import CUSTOMERS, TIER, Franchise, dish_probability, restaurant_distribution, seen
from ..hpyp.seating import seat, seat_as, seat_noting, unseat, unseat_as, unseat_noting
from .expert_cache import ExpertCache, new_expert_cache, recall_all
from .view import (
    BUCKETS,
    EMPTY,
    LOG_STEP,
    SINGLE,
    View,
    bucket_of,
    dish_of,
    excess_of,
    view_distribution,
    view_probability,
)

# What is possible keeps a probability that has a logarithm, however sure the experts are of something else.
_LEAST = -200.0


@by_reference
class Weights(NamedTuple):
    """The weights of a pool's experts, or a gradient with respect to them.

    bucket (float64[tiers, BUCKETS]): The weight of an expert by the tier and the bucket of its restaurant;
        empty for a pool of one expert whose every outcome is always possible, which needs none.
    gate (float64[gates, symbols, experts]): What the symbol of a gate adds to the weight of each expert.
    """

    bucket: np.ndarray
    gate: np.ndarray


@by_reference
class SeatedPool(NamedTuple):
    """A pool while it learns.

    franchise (Franchise): The seating of all experts.
    weights (Weights): The weights.
    gradient (Weights): Where the gradient of the log-likelihood is added up.
    gates (int32[gates]): Columns of the context row.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all do.
    elements (int32[elements, 4]): What the entries of a context row are; opaque here.
    scratch (float64[experts + 1, alphabet]): Workspace; of a pool that mixes its experts float64[4, experts].
    mixed (bool): Whether the experts are mixed; else they are multiplied.
    """

    franchise: Franchise
    weights: Weights
    gradient: Weights
    gates: np.ndarray
    possible: np.ndarray
    elements: np.ndarray
    scratch: np.ndarray
    mixed: bool


@by_reference
class FrozenPool(NamedTuple):
    """A pool while it predicts: as `SeatedPool`, with `finished` probabilities (View) in place of the
    seating.
    """

    # Numba reads no field that is called `view`.
    finished: View
    weights: Weights
    gates: np.ndarray
    possible: np.ndarray
    elements: np.ndarray
    mixed: bool


@borrowing
def is_plain(pool):
    """Whether a pool's probabilities are those of its only expert, or it has none."""
    return len(pool.weights.bucket) == 0


@borrowing
def unseat_all_noting(franchise, restaurants, dish, rng, moved):
    """Remove one event from every expert, noting what `seat_all_as` needs to undo it.

    moved (int32[experts, 2]): Overwritten, see `unseat_noting`.
    RETURNS (bool): Whether it was seated everywhere.
    """
    removed = True
    for expert in range(len(restaurants)):
        moved[expert, 0], moved[expert, 1] = unseat_noting(franchise, restaurants[expert], dish, rng)
        removed = removed and moved[expert, 0] >= 0
    return removed


@borrowing
def seat_all_as(franchise, restaurants, dish, moved):
    """Add the event again that `unseat_all_noting` has removed, as it was."""
    for expert in range(len(restaurants)):
        seat_as(franchise, restaurants[expert], dish, moved[expert, 0], moved[expert, 1])


@borrowing
def seat_all_noting(franchise, restaurants, dish, rng, moved):
    """Add one event to every expert, with what `unseat_all_as` needs to undo it.

    moved (int32[experts, 2]): Overwritten, see `seat_noting`.
    """
    for expert in range(len(restaurants)):
        _, moved[expert, 0], moved[expert, 1] = seat_noting(franchise, restaurants[expert], dish, rng)


@borrowing
def unseat_all_as(franchise, restaurants, dish, moved):
    """Remove the event again that `seat_all_noting` has added."""
    for expert in range(len(restaurants)):
        unseat_as(franchise, restaurants[expert], dish, moved[expert, 0], moved[expert, 1])


@borrowing
def move_all(franchise, restaurants, dish, rng):
    """Let the customers of one event, one for each expert, leave and sit down again: a Gibbs step for each of
    them.

    RETURNS (tuple[bool, float]): Whether they were all seated (if not, the others have not moved); and the
        sum of the logs of the dish's probability under each expert, in nats, given all customers but the one
        who moves.
    """
    total = 0.0
    for restaurant in restaurants:
        if not unseat(franchise, restaurant, dish, rng):
            return False, total
        total += log(seat(franchise, restaurant, dish, rng))
    return True, total


@borrowing
def gate_weight(pool, symbols, expert):
    """What the gates add to an expert's weight.

    symbols (int32[gates]): The symbols of the gates.
    """
    weight = 0.0
    for gate in range(len(symbols)):
        weight += pool.weights.gate[gate, symbols[gate], expert]
    return weight


@borrowing
def expert_weight(pool, restaurant, symbols, expert):
    """The weight of an expert whose context leads to a restaurant that is not empty."""
    row = pool.franchise.restaurants[restaurant]
    return pool.weights.bucket[row[TIER], bucket_of(row[CUSTOMERS])] + gate_weight(pool, symbols, expert)


@borrowing
def seat_event(pool, restaurants, symbols, kind, dish, rng):
    """`learn_event`, and add the event to every expert."""
    if is_plain(pool):
        return log(seat(pool.franchise, restaurants[0], dish, rng)) if len(restaurants) > 0 else 0.0
    if pool.mixed:
        _find_shares(pool, restaurants, symbols)
        for expert in range(len(restaurants)):
            pool.scratch[1, expert] = seat(pool.franchise, restaurants[expert], dish, rng)
        return _learn_shares(pool, symbols, len(restaurants))
    log_probability = learn_event(pool, restaurants, symbols, kind, dish)
    for restaurant in restaurants:
        seat(pool.franchise, restaurant, dish, rng)
    return log_probability


@borrowing
def learn_event(pool, restaurants, symbols, kind, dish):
    """`predict_event`, and add the gradient of the log-probability up."""
    log_probability = predict_event(pool, restaurants, symbols, kind, dish)
    if is_plain(pool):
        return log_probability
    if pool.mixed:
        return _learn_shares(pool, symbols, len(restaurants))
    total = pool.scratch[len(restaurants)]
    for expert in range(len(restaurants)):
        row = pool.franchise.restaurants[seen(pool.franchise, restaurants[expert])]
        out = pool.scratch[expert]
        expected = 0.0
        for y in range(len(out)):
            expected += total[y] * out[y]
        pool.gradient.bucket[row[TIER], bucket_of(row[CUSTOMERS])] += out[dish] - expected
        for gate in range(len(symbols)):
            pool.gradient.gate[gate, symbols[gate], expert] += out[dish] - expected
    return log_probability


@borrowing
def predict_event(pool, restaurants, symbols, kind, dish):
    """The log-probability of one event, given the present seating.

    Leaves in `pool.scratch`, of a product, the logs of the experts' distributions, and behind them the
    probabilities of the pool; of a mixture, the experts' shares and their probabilities of the dish.

    restaurants (int32[experts]): Where the context leads under each expert.
    symbols (int32[gates]): The symbols of the gates.
    kind (int): Of the context: the row of `possible`.
    RETURNS (float): The log-probability of the dish, in nats.
    """
    if is_plain(pool):
        return log(dish_probability(pool.franchise, restaurants[0], dish)) if len(restaurants) > 0 else 0.0
    if pool.mixed:
        _find_shares(pool, restaurants, symbols)
        mass = 0.0
        for expert in range(len(restaurants)):
            pool.scratch[1, expert] = dish_probability(pool.franchise, restaurants[expert], dish)
            mass += pool.scratch[0, expert] * pool.scratch[1, expert]
        return log(mass)
    total = pool.scratch[len(restaurants)]
    total[:] = 0.0
    for expert in range(len(restaurants)):
        restaurant = seen(pool.franchise, restaurants[expert])
        weight = expert_weight(pool, restaurant, symbols, expert)
        out = pool.scratch[expert]
        restaurant_distribution(pool.franchise, restaurant, out)
        for y in range(len(out)):
            out[y] = log(out[y])
            total[y] += weight * out[y]
    return normalise(total, pool.possible, kind, dish)


@borrowing
def normalise(total, possible, kind, dish):
    """Turn unnormalised log-probabilities into probabilities in place. Returns the log-probability of a dish."""
    highest = -np.inf
    for y in range(len(total)):
        if len(possible) == 0 or possible[kind, y]:
            highest = max(highest, total[y])
    chosen = max(total[dish] - highest, _LEAST)
    mass = 0.0
    for y in range(len(total)):
        if len(possible) == 0 or possible[kind, y]:
            total[y] = exp(max(total[y] - highest, _LEAST))
            mass += total[y]
        else:
            total[y] = 0.0
    for y in range(len(total)):
        total[y] /= mass
    return chosen - log(mass)


@borrowing
def _find_shares(pool, restaurants, symbols):
    """What each expert of a mixture is worth, and the places of its weight, in `pool.scratch`."""
    share, tier, place = pool.scratch[0], pool.scratch[2], pool.scratch[3]
    mass = 0.0
    for expert in range(len(restaurants)):
        restaurant = seen(pool.franchise, restaurants[expert])
        row = pool.franchise.restaurants[restaurant]
        tier[expert], place[expert] = row[TIER], bucket_of(row[CUSTOMERS])
        share[expert] = exp(expert_weight(pool, restaurant, symbols, expert))
        mass += share[expert]
    for expert in range(len(restaurants)):
        share[expert] /= mass


@borrowing
def _learn_shares(pool, symbols, experts):
    """Add the gradient of what is in `pool.scratch` up. Returns the log-probability that it makes."""
    share, probability, tier, place = pool.scratch[0], pool.scratch[1], pool.scratch[2], pool.scratch[3]
    total = 0.0
    for expert in range(experts):
        total += share[expert] * probability[expert]
    for expert in range(experts):
        change = share[expert] * probability[expert] / total - share[expert]
        pool.gradient.bucket[int(tier[expert]), int(place[expert])] += change
        for gate in range(len(symbols)):
            pool.gradient.gate[gate, symbols[gate], expert] += change
    return log(total)


@borrowing
def read_symbols(pool, row, symbols):
    """The symbols of a pool's gates in a context row.

    symbols (int32[gates]): Overwritten.
    """
    for gate in range(len(symbols)):
        symbols[gate] = row[pool.gates[gate]]


@by_reference
class Scratch(NamedTuple):
    """Workspace for predictions of a frozen pool, one for each thread.

    cache (ExpertCache): What the experts have said lately.
    symbols (int32[gates]): Symbols of the gates.
    """

    cache: ExpertCache
    symbols: np.ndarray


@maker
def new_scratch(pool):
    """Workspace that fits a frozen pool."""
    return Scratch(new_expert_cache(pool.finished), np.empty(len(pool.gates), dtype=np.int32))


@borrowing
def product_distribution(pool, row, kind, scratch, out):
    """All probabilities of a product pool in a context.

    kind (int): Of the context: the row of `possible`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    view, cache = pool.finished, scratch.cache
    if is_plain(pool):
        view_distribution(view, 0, row, out)
        return
    recall_all(view, pool.weights.bucket, row, NONE, cache)
    read_symbols(pool, row, scratch.symbols)
    out[:] = 0.0
    for expert in range(len(cache.weight)):
        cache.weight[expert] += gate_weight(pool, scratch.symbols, expert)
        weight, logs = LOG_STEP * cache.weight[expert], view.row[cache.row[expert]]
        for y in range(len(out)):
            out[y] += weight * logs[y]
    for expert in range(len(cache.weight)):
        weight, listed = cache.weight[expert], np.int64(cache.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(cache.probability[expert])]:
                out[dish_of(entry)] += weight * excess_of(entry)
        elif listed != EMPTY:
            out[EMPTY - 1 - listed] += weight * cache.probability[expert]
    normalise(out, pool.possible, kind, 0)


@borrowing
def mixture_probability(pool, row, dish, scratch):
    """The probability of one dish under a mixture pool in a context."""
    view, cache = pool.finished, scratch.cache
    if view.columns.shape[0] == 0:
        return 1.0
    if is_plain(pool):
        return view_probability(view, 0, row, dish)
    mass, total = find_shares(pool, row, dish, scratch), 0.0
    for expert in range(len(cache.weight)):
        total += cache.weight[expert] * cache.probability[expert]
    return total / mass


@borrowing
def find_shares(pool, row, dish, scratch):
    """What each expert of a mixture pool is worth in a context, into `scratch.cache.weight`; with its
    probability of a dish, into `scratch.cache.probability`. Returns the sum of the former.
    """
    cache, mass = scratch.cache, 0.0
    recall_all(pool.finished, pool.weights.bucket, row, dish, cache)
    read_symbols(pool, row, scratch.symbols)
    for expert in range(len(cache.weight)):
        cache.weight[expert] = exp(cache.weight[expert] + gate_weight(pool, scratch.symbols, expert))
        mass += cache.weight[expert]
    return mass


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
    view, cache = pool.finished, scratch.cache
    for expert in range(len(cache.weight)):
        logs = view.row[cache.row[expert]]
        change = np.float64(logs[dish])
        for y in range(len(out)):
            change -= out[y] * logs[y]
        change *= LOG_STEP
        listed = np.int64(cache.list[expert])
        if listed < SINGLE:
            for entry in view.servings[listed : listed + np.int64(cache.probability[expert])]:
                served = dish_of(entry)
                change += excess_of(entry) * ((served == dish) - out[served])
        elif listed != EMPTY:
            served = EMPTY - 1 - listed
            change += cache.probability[expert] * ((served == dish) - out[served])
        _add_change(expert, share * change, scratch, gradient)


@inner
def add_mixture_gradient(pool, row, dish, share, scratch, gradient):
    """Add the gradient of a dish's log-probability under a mixture pool with respect to the weights, see
    `add_product_gradient`.
    """
    if is_plain(pool):
        return
    probability = mixture_probability(pool, row, dish, scratch)
    cache, mass = scratch.cache, 0.0
    for expert in range(len(cache.weight)):
        mass += cache.weight[expert]
    for expert in range(len(cache.weight)):
        change = cache.weight[expert] / mass * (cache.probability[expert] / probability - 1.0)
        _add_change(expert, share * change, scratch, gradient)


@inner
def _add_change(expert, change, scratch, gradient):
    at = np.int64(scratch.cache.weight_at[expert])
    gradient.bucket[at // BUCKETS, at % BUCKETS] += change
    for gate in range(len(scratch.symbols)):
        gradient.gate[gate, scratch.symbols[gate], expert] += change
