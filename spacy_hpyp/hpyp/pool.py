"""Pools: one conditional distribution made of several HPYP experts.

Small alphabets multiply their experts, p(y|x) proportional to the product over m of p_m(y|c_m(x))
** weight_m; words mix them, p(w|x) = sum over m of share_m p_m(w|c_m(x)). An expert's weight
depends on how deep the restaurant of its context lies, and on the *bucket* of the number of its
customers (Jelinek & Mercer 1980). And it depends on the situation: *gates* are columns of the
context row (the tags of the two top items, say) whose symbols add to the weights of the experts.
Shares are the weights' softmax. One expert is the plain HPYP: it is a mixture without weights. A
pool without experts says nothing: its outcome is not generated and has probability 1.

Weights are learned while the pool is: what it predicts for events that have just been removed is
held out.
"""

from dataclasses import dataclass, field
from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import dispatch, jit, jitable, struct
from .franchise import CUSTOMERS, TIER, Franchise, dish_probability, restaurant_distribution, seen
from .seating import seat, seat_as, seat_noting, unseat, unseat_as, unseat_noting
from .table import BUCKETS, FrozenTable, bucket_of, freeze

# What the weights of multiplied experts add up to at first, half way down; each is at most 1 there.
_FIRST_WEIGHT = 1.5
_ALL_POSSIBLE = np.empty((0, 0), dtype=np.bool_)
# What is possible keeps a probability that has a logarithm, however sure the experts are of
# something else.
_LEAST = -200.0
# For `_exp`.
_LOG2_E, _SHIFT = 1.4426950408889634, 6755399441055744.0
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@struct
class Weights(NamedTuple):
    """The weights of a pool's experts, or a gradient with respect to them.

    bucket (float64[tiers, BUCKETS]): The weight of an expert by the tier and the bucket of its
        restaurant; empty for a pool of one expert whose every outcome is always possible, which
        needs none.
    gate (float64[gates, symbols, experts]): What the symbol of a gate adds to the weight of each
    expert.
    """

    bucket: np.ndarray
    gate: np.ndarray


@struct
class Scratch(NamedTuple):
    """The experts of a pool in a context, and workspace to find them; one for each thread.

    symbols (int32[gates]): Symbols of the gates.
    weight (float64[experts]): The weight of the expert; exp(weight) if experts are mixed.
    weight_at (uint64[experts]): The place of its first part in `Weights.bucket`, flattened.
    probability (float64[experts]): If experts are mixed, p(dish | context), on the way there
        negative where the restaurant does not serve the dish.
    restaurant (int32[experts]), logs (float64[experts, alphabet]), out (float64[alphabet]): Of a
        pool that learns, the restaurants; and if experts are multiplied the logs of their
        distributions, and the distribution of the pool.
    place, row (uint64[experts]): Of a frozen pool, the restaurants; and if experts are multiplied
        the row of each, or of the nearest restaurant above it that has one.
    level, active, trial, reached (uint64[experts]): How deep experts have come; those that go on;
        where they look next; and those that have come to a restaurant whose dishes are to be looked
        at.
    """

    symbols: np.ndarray
    weight: np.ndarray
    weight_at: np.ndarray
    probability: np.ndarray
    restaurant: np.ndarray
    logs: np.ndarray
    out: np.ndarray
    place: np.ndarray
    row: np.ndarray
    level: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    reached: np.ndarray


@jitable
def new_scratch(gates, experts, alphabet):
    """Workspace for so many gates, experts, and outcomes of experts that are multiplied while they
    learn.
    """
    floats, numbers = np.empty((2, experts)), np.empty((7, experts), dtype=np.uint64)
    return Scratch(
        np.empty(gates, dtype=np.int32),
        floats[0],
        numbers[0],
        floats[1],
        np.empty(experts, dtype=np.int32),
        np.empty((experts, alphabet)),
        np.empty(alphabet),
        numbers[1],
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        numbers[6],
    )


@struct
class SeatedPool(NamedTuple):
    """A pool while it learns.

    franchise (Franchise): The seating of all experts.
    weights (Weights): The weights.
    gradient (Weights): Where the gradient of the log-likelihood is added up.
    gates (int32[gates]): Columns of the context row.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all
        do.
    elements (int32[elements, 4]): What the entries of a context row are; opaque here.
    scratch (Scratch): Workspace.
    mixed (bool): Whether the experts are mixed; else they are multiplied.
    """

    franchise: Franchise
    weights: Weights
    gradient: Weights
    gates: np.ndarray
    possible: np.ndarray
    elements: np.ndarray
    scratch: Scratch
    mixed: bool


@struct
class FrozenPool(NamedTuple):
    """A pool while it predicts: as `SeatedPool`, with `finished` probabilities (FrozenTable) in
    place of the seating.
    """

    finished: FrozenTable
    weights: Weights
    gates: np.ndarray
    possible: np.ndarray
    elements: np.ndarray
    mixed: bool


@dataclass(frozen=True, eq=False)
class Conditional:
    """A conditional distribution, without what it has seen.

    name (str): What it is a distribution of.
    experts (tuple[tuple[str, ...], ...]): The context list of each expert, most important element
        first; none if the outcome is not generated.
    elements (int32[elements, 4]): What a context row holds; opaque here.
    columns (int32[experts, depth]): What each expert reads of it, see `Franchise`.
    gates (int32[gates]): The entries of a context row whose symbols add to the weights of the
        experts.
    mixed (bool): Whether its experts are mixed; else they are multiplied.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all
        do.
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

    @property
    def is_mixed(self) -> bool:
        """Whether its experts are mixed: the only one is, without weights."""
        return self.mixed or self.is_plain

    def first_weights(self, symbols: int) -> Weights:
        """Weights before any are learned: all experts are worth the same, and deeper restaurants
        more.

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
        alphabet = 0 if self.is_mixed else int(franchise.alphabet[0])
        scratch = new_scratch(len(self.gates), len(self.columns), alphabet)
        fixed = self.gates, self.possible, self.elements
        return SeatedPool(franchise, weights, gradient, *fixed, scratch, self.is_mixed)

    def table(self, franchise: Franchise) -> FrozenTable:
        """The frozen table of a seating; it does not depend on weights."""
        return freeze(franchise, multiplied=not self.is_mixed)

    def frozen(self, table: FrozenTable, weights: Weights) -> FrozenPool:
        """The pool while it predicts.

        table (FrozenTable): Of its seating.
        """
        return FrozenPool(table, weights, self.gates, self.possible, self.elements, self.is_mixed)


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
        moved[expert, 0], moved[expert, 1] = unseat_noting(
            franchise, restaurants[expert], dish, rng
        )
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
        _, moved[expert, 0], moved[expert, 1] = seat_noting(
            franchise, restaurants[expert], dish, rng
        )


@jit
def unseat_all_as(franchise, restaurants, dish, moved):
    """Remove the event again that `seat_all_noting` has added."""
    for expert in range(len(restaurants)):
        unseat_as(franchise, restaurants[expert], dish, moved[expert, 0], moved[expert, 1])


@jit
def move_all(franchise, restaurants, dish, rng):
    """Let the customers of one event, one for each expert, leave and sit down again: a Gibbs step
    for each of them.

    RETURNS (tuple[bool, float]): Whether they were all seated (if not, the others have not moved);
        and the sum of the logs of the dish's probability under each expert, in nats, given all
        customers but the one who moves.
    """
    total = 0.0
    for restaurant in restaurants:
        if not unseat(franchise, restaurant, dish, rng):
            return False, total
        total += log(seat(franchise, restaurant, dish, rng))
    return True, total


# Predictions, of a pool that learns and of a frozen one.


@dispatch
def surplus(pool, expert, dish, out, scratch):
    """The log-probability of a dish under an expert that is multiplied, less the mean over all
    dishes by their probabilities `out` (float64[alphabet]), in nats.
    """


@jit
def read_symbols(pool, row, symbols):
    """The symbols of a pool's gates in a context row.

    symbols (int32[gates]): Overwritten.
    """
    for gate in range(len(symbols)):
        symbols[gate] = row[pool.gates[gate]]


@jit
def weigh(pool, scratch):
    """Find the weight of each expert in a context, from `weight_at` and `symbols`. A pool of one
    expert that is mixed has none, which stand for 0.
    """
    for expert in range(len(scratch.weight)):
        weight, at = 0.0, scratch.weight_at[expert]
        if not is_plain(pool):
            weight = pool.weights.bucket[at // BUCKETS, at % BUCKETS]
        for gate in range(len(scratch.symbols)):
            weight += pool.weights.gate[gate, scratch.symbols[gate], expert]
        scratch.weight[expert] = weight


@jit
def find_mass(pool, scratch):
    """`weigh` experts that are mixed: the weight becomes exp(weight). Returns their sum."""
    weigh(pool, scratch)
    mass = 0.0
    for expert in range(len(scratch.weight)):
        scratch.weight[expert] = exp(scratch.weight[expert])
        mass += scratch.weight[expert]
    return mass


@jit
def mix(pool, scratch):
    """The mean of the experts' probabilities of a dish, `scratch.probability`, by their weights."""
    if len(scratch.weight) == 0:
        return 1.0
    mass, total = find_mass(pool, scratch), 0.0
    for expert in range(len(scratch.weight)):
        total += scratch.weight[expert] * scratch.probability[expert]
    return total / mass


@jit
def normalise(total, possible, kind):
    """Turn unnormalised log-probabilities into probabilities in place.

    total (float64[alphabet]): Overwritten.
    """
    highest, mass = -np.inf, 0.0
    for y in range(len(total)):
        if len(possible) == 0 or possible[kind, y]:
            highest = max(highest, total[y])
    for y in range(len(total)):
        total[y] = _exp(max(total[y] - highest, _LEAST))
    for y in range(len(total)):
        if len(possible) > 0 and not possible[kind, y]:
            total[y] = 0.0
        mass += total[y]
    for y in range(len(total)):
        total[y] /= mass


@jit
def _exp(x):
    """exp(x) for -700 < x < 700, to the last bit or two. A loop over it has no calls and works on
    several numbers at once.
    """
    # x = n log 2 + r: the bits of n stand at the end of a number this large.
    shifted = x * _LOG2_E + _SHIFT
    n = shifted - _SHIFT
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = (p * r + 0.5) * r * r + r + 1.0
    return p * np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)


@jit
def add_gradient(pool, dish, probability, share, scratch, out, gradient):
    """Add the gradient of a dish's log-probability with respect to the weights, after it was
    predicted.

    probability (float): Of the dish.
    share (float): How much of the gradient is added.
    out (float64[alphabet]): If experts are multiplied, p(. | context).
    gradient (Weights): Added to.
    """
    if is_plain(pool):
        return
    mass = 0.0
    for expert in range(len(scratch.weight)):
        mass += scratch.weight[expert]
    for expert in range(len(scratch.weight)):
        if pool.mixed:
            change = (
                scratch.weight[expert] / mass * (scratch.probability[expert] / probability - 1.0)
            )
        else:
            change = surplus(pool, expert, dish, out, scratch)
        at = scratch.weight_at[expert]
        gradient.bucket[at // BUCKETS, at % BUCKETS] += share * change
        for gate in range(len(scratch.symbols)):
            gradient.gate[gate, scratch.symbols[gate], expert] += share * change


# Events of a pool that is learning.


@jit
def locate(pool, restaurants, symbols, scratch):
    """Find where the weights of experts stand in a context; see `predict_event`."""
    for gate in range(len(symbols)):
        scratch.symbols[gate] = symbols[gate]
    for expert in range(len(restaurants)):
        row = pool.franchise.restaurants[seen(pool.franchise, restaurants[expert])]
        scratch.weight_at[expert] = row[TIER] * BUCKETS
        if row[CUSTOMERS] > 0:
            scratch.weight_at[expert] += np.uint64(bucket_of(row[CUSTOMERS]))


@jit
def predict_event(pool, restaurants, symbols, kind, dish, scratch):
    """The log-probability of one event, given the present seating.

    restaurants (int32[experts]): Where the context leads under each expert.
    symbols (int32[gates]): The symbols of the gates.
    kind (int): Of the context: the row of `possible`.
    scratch (Scratch): Overwritten.
    RETURNS (float): In nats.
    """
    locate(pool, restaurants, symbols, scratch)
    for expert in range(len(restaurants)):
        if pool.mixed:
            scratch.probability[expert] = dish_probability(
                pool.franchise, restaurants[expert], dish
            )
        else:
            restaurant_distribution(pool.franchise, restaurants[expert], scratch.logs[expert])
            for y in range(len(scratch.out)):
                scratch.logs[expert, y] = log(scratch.logs[expert, y])
    if pool.mixed:
        return log(mix(pool, scratch))
    weigh(pool, scratch)
    scratch.out[:] = 0.0
    for expert in range(len(restaurants)):
        for y in range(len(scratch.out)):
            scratch.out[y] += scratch.weight[expert] * scratch.logs[expert, y]
    normalise(scratch.out, pool.possible, kind)
    return log(scratch.out[dish])


@jit
def learn_event(pool, restaurants, symbols, kind, dish):
    """`predict_event`, and add the gradient of the log-probability up."""
    scratch = pool.scratch
    log_probability = predict_event(pool, restaurants, symbols, kind, dish, scratch)
    add_gradient(pool, dish, exp(log_probability), 1.0, scratch, scratch.out, pool.gradient)
    return log_probability


@jit
def seat_event(pool, restaurants, symbols, kind, dish, rng):
    """`learn_event`, and add the event to every expert."""
    scratch = pool.scratch
    if not pool.mixed:
        log_probability = learn_event(pool, restaurants, symbols, kind, dish)
        for restaurant in restaurants:
            seat(pool.franchise, restaurant, dish, rng)
        return log_probability
    locate(pool, restaurants, symbols, scratch)
    for expert in range(len(restaurants)):
        scratch.probability[expert] = seat(pool.franchise, restaurants[expert], dish, rng)
    probability = mix(pool, scratch)
    add_gradient(pool, dish, probability, 1.0, scratch, scratch.out, pool.gradient)
    return log(probability)
