"""Pools: conditional distributions of several HPYP experts.

Small alphabets multiply their experts, p(y|x) proportional to the product over m of p_m(y|c_m(x))
** weight_m; words mix them, p(w|x) = sum over m of share_m p_m(w|c_m(x)). An expert's weight
depends on how deep the restaurant of its context lies, and on the *bucket* of the number of its
customers (Jelinek & Mercer 1980). And it depends on the situation: *gates* are columns of the
context row (the tags of the two top items, say) whose symbols add to the weights of the experts.
Shares are the weights' softmax. One expert is the plain HPYP, a mixture without weights, unless
some outcomes are impossible. A pool without experts generates nothing, with probability 1.

The experts are a franchise while they learn, and a frozen table while they only predict.
"""

from dataclasses import dataclass, field
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, jitable, struct
from .franchise import (
    CUSTOMERS,
    PARENT,
    TIER,
    Franchise,
    deepest,
    dish_probability,
    restaurant_distribution,
)
from .table import BUCKETS, FrozenTable, add_logs, bucket_of, descend, distribution, freeze, surplus

# The sum of the initial weights of multiplied experts in the middle level, each at most 1.
_INITIAL_WEIGHT = 1.5
_ALL_POSSIBLE = np.empty((0, 0), dtype=np.bool_)
# The smallest log relative to the best outcome: each possible one keeps a positive probability.
_LEAST = -200.0
# For `_exp`.
_LOG2_E, _SHIFT = 1.4426950408889634, 6755399441055744.0
_LOG2_HIGH, _LOG2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10


@struct
class Weights(NamedTuple):
    """The weights of a pool's experts, or a gradient with respect to them."""

    # float64[tiers, BUCKETS]: the weight of an expert by the tier and the bucket of its restaurant;
    # empty for a plain pool.
    bucket: np.ndarray
    # float64[gates, symbols, experts]: what the symbol of a gate adds to each expert's weight.
    gate: np.ndarray


@struct
class Scratch(NamedTuple):
    """The experts of a pool in a context; one for each thread."""

    context: np.ndarray  # int32[elements]: a context row, for callers
    symbols: np.ndarray  # int32[gates]: symbols of the gates
    place: np.ndarray  # uint64[experts]: the restaurants
    weight_at: np.ndarray  # uint64[experts]: places of the weights in `Weights.bucket`, flattened
    weight: np.ndarray  # float64[experts]: the weights; exp(weight) if experts are mixed
    probability: np.ndarray  # float64[experts]: p(dish | context), if experts are mixed
    # float64[experts, alphabet]: the logs of distributions that are multiplied while they learn.
    logs: np.ndarray
    out: np.ndarray  # float64[alphabet]: a distribution of the pool
    # uint64[experts]: workspace of `table.descend`.
    row: np.ndarray  # The row of logs of each expert
    level: np.ndarray  # Its depth
    active: np.ndarray  # The experts that go on
    trial: np.ndarray  # Their next places
    reached: np.ndarray  # The experts whose dishes are looked at


@struct
class Pool(NamedTuple):
    """A conditional distribution."""

    experts: Any  # Franchise | FrozenTable: the counts while it learns, or frozen probabilities
    weights: Weights
    gradient: Weights  # The summed gradient of the log-likelihood
    gates: np.ndarray  # int32[gates]: columns of the context row
    # bool[kinds, alphabet]: which outcomes exist in which kind of context; empty if all do.
    possible: np.ndarray
    elements: np.ndarray  # int32[elements, *]: those of a context row, see each model's `contexts`
    mixed: bool  # Whether the experts are mixed; else they are multiplied
    scratch: Any = None  # Scratch: workspace of learning


@dataclass(frozen=True, eq=False)
class Conditional:
    """The definition of a conditional distribution, without counts; see `Pool`."""

    # The context list of each expert, most important element first; none if the outcome is not
    # generated.
    experts: tuple[tuple[str, ...], ...]
    elements: np.ndarray
    columns: np.ndarray  # int32[experts, depth]: see `Franchise`
    gates: np.ndarray
    mixed: bool  # Whether several experts are mixed; else they are multiplied
    possible: np.ndarray = field(default_factory=_ALL_POSSIBLE.copy)
    events_of_word: int = 1  # The highest number of events for each word of a sentence

    @property
    def is_plain(self) -> bool:
        """Whether it has no weights: its probabilities are those of its only expert, if any."""
        return len(self.experts) < (2 if len(self.possible) == 0 else 1)

    def initial_weights(self, symbols: int) -> Weights:
        """Return equal weights for all experts, higher ones for deeper restaurants.

        symbols (int): The number of symbols that a gate may have.
        """
        experts, depth = self.columns.shape
        level = np.tile(np.arange(depth + 1), experts) / max(depth, 1)
        weights = level
        if self.is_plain:
            weights = np.empty(0)
        elif not self.mixed:
            weights = min(1.0, _INITIAL_WEIGHT / max(experts, 1)) * (0.5 + level)
        return Weights(
            bucket=np.repeat(weights[:, None], BUCKETS, axis=1),
            gate=np.zeros((len(self.gates), symbols, experts)),
        )

    def pool(self, experts: Any, weights: Weights, gradient: Weights | None = None) -> Pool:
        """Return the pool of a franchise, or of a table, which needs no gradient."""
        gradient = weights if gradient is None else gradient
        fixed = self.gates, self.possible, self.elements, self.mixed or self.is_plain
        pool = Pool(experts, weights, gradient, *fixed)
        return pool._replace(scratch=workspace(pool))

    def table(self, franchise: Franchise) -> FrozenTable:
        """Return the frozen table of a seating, see `freeze`; it does not depend on weights."""
        return freeze(franchise, multiplied=not (self.mixed or self.is_plain))


@jitable
def workspace(pool):
    """Return workspace that fits a pool, for one thread."""
    experts, alphabet = len(pool.experts.columns), pool.experts.alphabet[0]
    floats, numbers = np.empty((2, experts)), np.empty((7, experts), dtype=np.uint64)
    return Scratch(
        np.empty(len(pool.elements), dtype=np.int32),
        np.empty(len(pool.gates), dtype=np.int32),
        numbers[0],
        numbers[1],
        floats[0],
        floats[1],
        np.empty((experts, 0 if pool.mixed else alphabet)),
        np.empty(alphabet),
        numbers[2],
        numbers[3],
        numbers[4],
        numbers[5],
        numbers[6],
    )


@jitable
def alphabet_of(pool):
    """Return the number of outcomes of a pool."""
    return pool.experts.alphabet[0]


@jitable
def is_plain(pool):
    """Whether a pool has no weights, see `Conditional.is_plain`."""
    return len(pool.weights.bucket) == 0


# Predictions.


@jitable
def predict(pool, row, kind, scratch, out):
    """Compute all probabilities of a pool that multiplies its experts or has one.

    row (int32[elements]): The context row.
    kind (int): The kind of context: the row of `possible`.
    scratch (Scratch): Overwritten, see `workspace`.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    if pool.mixed:
        distribution(pool.experts, 0, row, out)
        return
    read_symbols(pool, row, scratch.symbols)
    descend(pool.experts, row, NONE, scratch)
    multiply(pool, kind, scratch, out)


@jitable
def predict_one(pool, row, dish, scratch):
    """Return the probability of one dish under a pool that mixes its experts."""
    read_symbols(pool, row, scratch.symbols)
    descend(pool.experts, row, dish, scratch)
    return mix(pool, scratch)


@jitable
def find_shares(pool, row, scratch):
    """Find each expert's `weight` and `place` in a mixture. Returns the sum of the weights."""
    read_symbols(pool, row, scratch.symbols)
    descend(pool.experts, row, 0, scratch)
    return _weigh(pool, scratch)


@jitable
def read_symbols(pool, row, symbols):
    """Read the symbols of a pool's gates off a context row."""
    for gate in range(len(symbols)):
        symbols[gate] = row[pool.gates[gate]]


@jitable
def _weigh(pool, scratch):
    """Find the weights of the experts (0 in a plain pool), see `Scratch`. Returns their sum."""
    mass = 0.0
    for expert in range(len(scratch.weight)):
        weight, at = 0.0, scratch.weight_at[expert]
        if not is_plain(pool):
            weight = pool.weights.bucket[at // BUCKETS, at % BUCKETS]
        for gate in range(len(scratch.symbols)):
            weight += pool.weights.gate[gate, scratch.symbols[gate], expert]
        scratch.weight[expert] = exp(weight) if pool.mixed else weight
        mass += scratch.weight[expert]
    return mass


@jitable
def mix(pool, scratch):
    """Return the weighted mean of the experts' probabilities of a dish; 1 without experts."""
    if len(scratch.weight) == 0:
        return 1.0
    mass, total = _weigh(pool, scratch), 0.0
    for expert in range(len(scratch.weight)):
        total += scratch.weight[expert] * scratch.probability[expert]
    return total / mass


@jitable
def multiply(pool, kind, scratch, out):
    """Write the normalised product of the experts' distributions into `out`; 0 if impossible."""
    _weigh(pool, scratch)
    out[:] = 0.0
    add_logs(pool.experts, scratch, out)
    possible, highest, mass = pool.possible, -np.inf, 0.0
    for y in range(len(out)):
        if len(possible) == 0 or possible[kind, y]:
            highest = max(highest, out[y])
    for y in range(len(out)):
        out[y] = _exp(max(out[y] - highest, _LEAST))
    for y in range(len(out)):
        if len(possible) > 0 and not possible[kind, y]:
            out[y] = 0.0
        mass += out[y]
    for y in range(len(out)):
        out[y] /= mass


@jitable
def _exp(x):
    """Return exp(x) for -700 < x < 700, to the last bit or two. A loop over it has no calls and
    works on several numbers at once.
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


@jitable
def add_gradient(pool, dish, probability, share, scratch, out):
    """Add the gradient of a dish's log-probability with respect to the weights to `pool.gradient`,
    after the dish was predicted.

    probability (float): The probability of the dish, if experts are mixed.
    share (float): The factor of the gradient.
    out (float64[alphabet]): If experts are multiplied, p(. | context).
    """
    if is_plain(pool):
        return
    mass = 0.0
    for expert in range(len(scratch.weight)):
        mass += scratch.weight[expert]
    for expert in range(len(scratch.weight)):
        if pool.mixed:
            ratio = scratch.probability[expert] / probability
            change = scratch.weight[expert] / mass * (ratio - 1.0)
        else:
            change = surplus(pool.experts, expert, dish, out, scratch)
        at = scratch.weight_at[expert]
        pool.gradient.bucket[at // BUCKETS, at % BUCKETS] += share * change
        for gate in range(len(scratch.symbols)):
            pool.gradient.gate[gate, scratch.symbols[gate], expert] += share * change


# Experts while they learn: counts.


@distribution.register(Franchise)
@jitable
def _distribution(franchise, expert, row, out):
    restaurant_distribution(franchise, deepest(franchise, expert, row), out)


@descend.register(Franchise)
@jitable
def _descend(franchise, row, dish, scratch):
    for expert in range(len(scratch.place)):
        scratch.place[expert] = deepest(franchise, expert, row)
    look_up(franchise, dish, scratch)


@jitable
def find_weights(franchise, scratch):
    """Find the places of the experts' weights, given `scratch.place`."""
    for expert in range(len(scratch.place)):
        row = franchise.restaurants[np.int64(scratch.place[expert])]
        # The nearest restaurant that is not empty, or the root.
        while row[CUSTOMERS] == 0 and row[PARENT] != NONE:
            row = franchise.restaurants[row[PARENT]]
        scratch.weight_at[expert] = row[TIER] * BUCKETS
        if row[CUSTOMERS] > 0:
            scratch.weight_at[expert] += np.uint64(bucket_of(row[CUSTOMERS]))


@jitable
def look_up(franchise, dish, scratch):
    """Do the rest of `descend`, given `scratch.place`."""
    find_weights(franchise, scratch)
    for expert in range(len(scratch.place)):
        restaurant, logs = np.int64(scratch.place[expert]), scratch.logs[expert]
        if dish != NONE:
            scratch.probability[expert] = dish_probability(franchise, restaurant, dish)
            continue
        restaurant_distribution(franchise, restaurant, logs)
        for y in range(len(logs)):
            logs[y] = log(logs[y])


@add_logs.register(Franchise)
@jitable
def _add_logs(franchise, scratch, out):
    for expert in range(len(scratch.weight)):
        for y in range(len(out)):
            out[y] += scratch.weight[expert] * scratch.logs[expert, y]


@surplus.register(Franchise)
@jitable
def _surplus(franchise, expert, dish, out, scratch):
    found = scratch.logs[expert, dish]
    for y in range(len(out)):
        found -= out[y] * scratch.logs[expert, y]
    return found
