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

from dataclasses import dataclass, field
from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import jit, struct
from ..hpyp.franchise import CUSTOMERS, TIER, Franchise, dish_probability, restaurant_distribution, seen
from ..hpyp.seating import seat, seat_as, seat_noting, unseat, unseat_as, unseat_noting
from .view import BUCKETS, View, bucket_of, make_view

# What the weights of multiplied experts add up to at first, half way down; each is at most 1 there.
_FIRST_WEIGHT = 1.5
_ALL_POSSIBLE = np.empty((0, 0), dtype=np.bool_)
# What is possible keeps a probability that has a logarithm, however sure the experts are of something else.
_LEAST = -200.0


@struct
class Weights(NamedTuple):
    """The weights of a pool's experts, or a gradient with respect to them.

    bucket (float64[tiers, BUCKETS]): The weight of an expert by the tier and the bucket of its restaurant;
        empty for a pool of one expert whose every outcome is always possible, which needs none.
    gate (float64[gates, symbols, experts]): What the symbol of a gate adds to the weight of each expert.
    """

    bucket: np.ndarray
    gate: np.ndarray


@struct
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


@struct
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


@dataclass(frozen=True, eq=False)
class Conditional:
    """A conditional distribution, without what it has seen.

    name (str): What it is a distribution of.
    experts (tuple[tuple[str, ...], ...]): The context list of each expert, most important element first; none
        if the outcome is not generated.
    elements (int32[elements, 4]): What a context row holds; opaque here.
    columns (int32[experts, depth]): What each expert reads of it, see `Franchise`.
    gates (int32[gates]): The entries of a context row whose symbols add to the weights of the experts.
    mixed (bool): Whether its experts are mixed; else they are multiplied.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all do.
    events_of_word (int): How many outcomes a word of a sentence has at most.
    """

    name: str
    experts: tuple[tuple[str, ...], ...]
    elements: np.ndarray
    columns: np.ndarray
    gates: np.ndarray
    mixed: bool
    possible: np.ndarray = field(default_factory=_ALL_POSSIBLE.copy)
    events_of_word: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether its probabilities are those of its only expert, or it has none: then there are no
        weights.
        """
        return len(self.experts) < (2 if len(self.possible) == 0 else 1)

    def first_weights(self, symbols: int) -> Weights:
        """Weights before any are learned: all experts are worth the same, and deeper restaurants more.

        symbols (int): How many symbols a gate may have.
        """
        experts, depth = self.columns.shape
        level = np.tile(np.arange(depth + 1), experts) / max(depth, 1)
        weights = level if self.mixed else min(1.0, _FIRST_WEIGHT / max(experts, 1)) * (0.5 + level)
        if self.is_plain:
            weights = np.empty(0)
        return Weights(
            bucket=np.repeat(weights[:, None], BUCKETS, axis=1),
            gate=np.zeros((len(self.gates), symbols, experts)),
        )

    def seated(self, franchise: Franchise, weights: Weights, gradient: Weights) -> SeatedPool:
        """The pool while it learns.

        franchise (Franchise): Its seating.
        weights, gradient (Weights): See `SeatedPool`.
        """
        experts = len(self.columns)
        return SeatedPool(
            franchise=franchise,
            weights=weights,
            gradient=gradient,
            gates=self.gates,
            possible=self.possible,
            elements=self.elements,
            scratch=np.empty((4, experts) if self.mixed else (experts + 1, int(franchise.alphabet[0]))),
            mixed=self.mixed,
        )

    def view(self, franchise: Franchise) -> View:
        """The frozen view of a seating; it does not depend on weights."""
        return make_view(franchise, multiplied=not self.is_plain and not self.mixed)

    def frozen(self, view: View, weights: Weights) -> FrozenPool:
        """The pool while it predicts.

        view (View): Of its seating.
        """
        return FrozenPool(view, weights, self.gates, self.possible, self.elements, self.mixed)


@jit
def is_plain(pool):
    """Whether a pool's probabilities are those of its only expert, or it has none."""
    return len(pool.weights.bucket) == 0


@jit
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


@jit
def seat_all_as(franchise, restaurants, dish, moved):
    """Add the event again that `unseat_all_noting` has removed, as it was."""
    for expert in range(len(restaurants)):
        seat_as(franchise, restaurants[expert], dish, moved[expert, 0], moved[expert, 1])


@jit
def seat_all_noting(franchise, restaurants, dish, rng, moved):
    """Add one event to every expert, with what `unseat_all_as` needs to undo it.

    moved (int32[experts, 2]): Overwritten, see `seat_noting`.
    """
    for expert in range(len(restaurants)):
        _, moved[expert, 0], moved[expert, 1] = seat_noting(franchise, restaurants[expert], dish, rng)


@jit
def unseat_all_as(franchise, restaurants, dish, moved):
    """Remove the event again that `seat_all_noting` has added."""
    for expert in range(len(restaurants)):
        unseat_as(franchise, restaurants[expert], dish, moved[expert, 0], moved[expert, 1])


@jit
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


@jit
def gate_weight(pool, symbols, expert):
    """What the gates add to an expert's weight.

    symbols (int32[gates]): The symbols of the gates.
    """
    weight = 0.0
    for gate in range(len(symbols)):
        weight += pool.weights.gate[gate, symbols[gate], expert]
    return weight


@jit
def expert_weight(pool, restaurant, symbols, expert):
    """The weight of an expert whose context leads to a restaurant that is not empty."""
    row = pool.franchise.restaurants[restaurant]
    return pool.weights.bucket[row[TIER], bucket_of(row[CUSTOMERS])] + gate_weight(pool, symbols, expert)


@jit
def seat_event(pool, restaurants, symbols, kind, dish, rng):
    """`learn_event`, and add the event to every expert."""
    if is_plain(pool):
        return log(seat(pool.franchise, restaurants[0], dish, rng)) if len(restaurants) > 0 else 0.0
    if pool.mixed:
        _find_shares(pool, restaurants, symbols, pool.scratch)
        for expert in range(len(restaurants)):
            pool.scratch[1, expert] = seat(pool.franchise, restaurants[expert], dish, rng)
        return _learn_shares(pool, symbols, len(restaurants))
    log_probability = learn_event(pool, restaurants, symbols, kind, dish)
    for restaurant in restaurants:
        seat(pool.franchise, restaurant, dish, rng)
    return log_probability


@jit
def learn_event(pool, restaurants, symbols, kind, dish):
    """`predict_event`, and add the gradient of the log-probability up."""
    log_probability = predict_event(pool, restaurants, symbols, kind, dish, pool.scratch)
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


@jit
def predict_event(pool, restaurants, symbols, kind, dish, scratch):
    """The log-probability of one event, given the present seating.

    restaurants (int32[experts]): Where the context leads under each expert.
    symbols (int32[gates]): The symbols of the gates.
    kind (int): Of the context: the row of `possible`.
    scratch (float64[*, *]): As `SeatedPool.scratch`. Overwritten: of a product with the logs of the experts'
        distributions, and behind them the probabilities of the pool; of a mixture with the experts' shares
        and their probabilities of the dish.
    RETURNS (float): The log-probability of the dish, in nats.
    """
    if is_plain(pool):
        return log(dish_probability(pool.franchise, restaurants[0], dish)) if len(restaurants) > 0 else 0.0
    if pool.mixed:
        _find_shares(pool, restaurants, symbols, scratch)
        mass = 0.0
        for expert in range(len(restaurants)):
            scratch[1, expert] = dish_probability(pool.franchise, restaurants[expert], dish)
            mass += scratch[0, expert] * scratch[1, expert]
        return log(mass)
    total = scratch[len(restaurants)]
    total[:] = 0.0
    for expert in range(len(restaurants)):
        restaurant = seen(pool.franchise, restaurants[expert])
        weight = expert_weight(pool, restaurant, symbols, expert)
        out = scratch[expert]
        restaurant_distribution(pool.franchise, restaurant, out)
        for y in range(len(out)):
            out[y] = log(out[y])
            total[y] += weight * out[y]
    return normalise(total, pool.possible, kind, dish)


@jit
def normalise(total, possible, kind, dish):
    """Turn unnormalised log-probabilities into probabilities in place. Returns the log-probability of a
    dish.
    """
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


@jit
def _find_shares(pool, restaurants, symbols, scratch):
    """The share of each expert of a mixture, and the places of its weight, in `scratch`."""
    share, tier, place = scratch[0], scratch[2], scratch[3]
    mass = 0.0
    for expert in range(len(restaurants)):
        restaurant = seen(pool.franchise, restaurants[expert])
        row = pool.franchise.restaurants[restaurant]
        tier[expert], place[expert] = row[TIER], bucket_of(row[CUSTOMERS])
        share[expert] = exp(expert_weight(pool, restaurant, symbols, expert))
        mass += share[expert]
    for expert in range(len(restaurants)):
        share[expert] /= mass


@jit
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


@jit
def read_symbols(pool, row, symbols):
    """The symbols of a pool's gates in a context row.

    symbols (int32[gates]): Overwritten.
    """
    for gate in range(len(symbols)):
        symbols[gate] = row[pool.gates[gate]]
