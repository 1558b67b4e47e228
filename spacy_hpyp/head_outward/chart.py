"""The chart of all projective trees of a sentence, whose scores are factored by heads, children and siblings
(Eisner 1996).

Each head has its children on either side from the inside out: the first, the next ones, and STOP. The items
are

| item | words | what is complete |
| --- | --- | --- |
| `TREE` | all | a tree with the root's only child |
| `COMPLETE` h, b | from h to the boundary b | one side of h, with STOP; b ≤ h is on the left |
| `INCOMPLETE` h, d | from h to d | d as a child of h, with its side that faces h |
| `SIBLING` a, b | from a to b, a < b | right side of a, left side of b: adjacent children of a head |

and each is made of two others, or one, in as many ways as there are splits:

    TREE               = COMPLETE d, 0     + COMPLETE d, n                        d is the root's child
    COMPLETE h, b      = INCOMPLETE h, s   + COMPLETE s, b                        s is the last child
    INCOMPLETE h, d    = INCOMPLETE h, s   + SIBLING of s and d, or COMPLETE d    d follows s, or is the first
    SIBLING a, b       = COMPLETE a, r     + COMPLETE b, r                        they meet at boundary r

Every tree has one derivation. There are O(n²) items and O(n³) splits. `options` gives the score of a split,
and `parts` the items that it combines.

The exponential function of many numbers at once is arithmetic and no call, so that a loop is compiled to
instructions for several numbers each: calls of the C library would take most of the time of a sum over trees.
"""

from math import factorial, inf, log, log2
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable

# exp(x) = 2^k exp(r), where k is a whole number and |r| is at most log(2) / 2.
_LOG2_OF_E = log2(np.e)
# log(2) in two parts, so that k times the first is exact (Cody & Waite 1980).
_LOG_OF_2, _REST_OF_LOG_OF_2 = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
# A number with this added is rounded to a whole one, which the last bits of the sum are.
_ROUNDING = 1.5 * 2.0**52
# Of a float64: what is added to its exponent, and where that begins.
_BIAS, _EXPONENT = 1023, 52
# Below it exp(x) is taken for 0: it would have fewer bits than other numbers.
_LOWEST = -708.0
#: Values of items in a chart.
BEST, SUM = 0, 1
# Of Taylor's series; what comes after is less than the error of rounding.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / factorial(i) for i in range(2, 14))


@jit
def highest(weights):
    """Return the highest of some numbers (float64[*]), at least one."""
    found = weights[0]
    for i in range(1, len(weights)):
        found = max(found, weights[i])
    return found


@jit
def exponentiate(weights, scale):
    """Replace logs (float64[*]), at most 700 above a finite scale, by the numbers divided by exp(scale)."""
    for i in range(len(weights)):
        weights[i] = _exp(weights[i] - scale)


@jit
def log_sum(weights):
    """Return the log of a sum of numbers whose logs are given (float64[*], at least one; overwritten)."""
    scale = highest(weights)
    if scale == -inf or len(weights) == 1:
        return scale
    exponentiate(weights, scale)
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    return scale + log(total)


@jit
def _value(weights, value):
    return log_sum(weights) if value == SUM else highest(weights)


@jit
def _exp(x):
    is_tiny = not x >= _LOWEST
    x = _LOWEST if is_tiny else x
    rounded = x * _LOG2_OF_E + _ROUNDING
    k = rounded - _ROUNDING
    r = (x - k * _LOG_OF_2) - k * _REST_OF_LOG_OF_2
    # By Horner's rule, in two halves that do not wait for each other.
    power = r * r
    even = ((((_C12 * power + _C10) * power + _C8) * power + _C6) * power + _C4) * power + _C2
    odd = ((((_C13 * power + _C11) * power + _C9) * power + _C7) * power + _C5) * power + _C3
    series = 1.0 + (r + power * (even + r * odd))
    two_to_k = np.int64((np.float64(rounded).view(np.int64) + _BIAS) << _EXPONENT).view(np.float64)
    return 0.0 if is_tiny else series * two_to_k


#: Kinds of items.
TREE, COMPLETE, INCOMPLETE, SIBLING = range(4)
#: How many kinds there are.
KINDS = 4
#: Sides of a head, the rows of `ChartScores.stop`.
LEFT, RIGHT = 0, 1


class ChartScores(NamedTuple):
    """Scores of the trees of a sentence of n words: natural logs, minus infinity for impossible events.

    The score of a tree is the sum over its events. The arrays are contiguous.
    """

    root: np.ndarray  # float64[n]: word d is the root's only child
    # At h, d: d is the first child of h on its side, which is the right if d > h.
    first: np.ndarray  # float64[n, n]
    # At h, s, d: d is the child of h after s on the same side, h < s < d or d < s < h; the rest is not read.
    # In models without siblings s is always 0.
    next: np.ndarray  # float64[n, n, n] | float64[n, 1, n]
    stop: np.ndarray  # float64[2, n]: at `LEFT` or `RIGHT`, h: h has no child on that side
    last: np.ndarray  # float64[n, n]: at h, s: s is the last child of h on its side


class Chart(NamedTuple):
    """Log-sums over the derivations of the items of a sentence of n words, or scores of the best ones."""

    complete: np.ndarray  # float64[n, n + 1]: `COMPLETE` items
    across: np.ndarray  # float64[n + 1, n]: the same, transposed, for reading in order
    incomplete: np.ndarray  # float64[n, n]: `INCOMPLETE` items
    closed: np.ndarray  # float64[n, n]: the same, with STOP after them
    sibling: np.ndarray  # float64[n, n]: `SIBLING` items, from both ends
    total: float  # The `TREE`


@jitable
def choose(weights):
    """Return the best split of an item, the lowest among equals, given logs (float64[*])."""
    scale = highest(weights)
    best = 0
    while weights[best] < scale:
        best += 1
    return best


@jit
def options(scores, chart, kind, i, j, weights):
    """Compute the scores of the derivations of an item by their splits, into `weights` (float64[n + 1]).

    A split is the root's child of a `TREE`, the last child in a `COMPLETE` item, the sibling in an
    `INCOMPLETE` one (the head, if there is none), and the boundary in a `SIBLING` item.

    RETURNS (tuple[int, int]): The range of the splits, empty for `COMPLETE` items of a head alone.
    """
    if kind == SIBLING:
        for split in range(i + 1, j + 1):
            weights[split] = chart.complete[i, split] + chart.complete[j, split]
        return i + 1, j + 1
    if kind == COMPLETE:
        low, high = (i + 1, j) if j > i else (j, i)
        for split in range(low, high):
            weights[split] = chart.closed[i, split] + chart.across[j, split]
        return low, high
    if kind == INCOMPLETE:
        # A step of 0 in the array: there may be one row for all siblings.
        step = 1 if scores.next.shape[1] > 1 else 0
        low, high = (i + 1, j) if j > i else (j + 1, i)
        for split in range(low, high):
            weights[split] = (
                chart.incomplete[i, split] + chart.sibling[j, split] + scores.next[i, split * step, j]
            )
        weights[i] = scores.first[i, j] + chart.complete[j, facing(i, j)]
        return (i, j) if j > i else (j + 1, i + 1)
    n = len(scores.root)
    for split in range(n):
        weights[split] = scores.root[split] + chart.across[0, split] + chart.across[n, split]
    return 0, n


@jit
def parts(n, kind, i, j, split):
    """Return the items that a split of an item combines; a second kind of `NONE` says that it is one."""
    if kind == SIBLING:
        return COMPLETE, i, split, COMPLETE, j, split
    if kind == COMPLETE:
        return INCOMPLETE, i, split, COMPLETE, split, j
    if kind == INCOMPLETE:
        if split == i:
            return COMPLETE, j, facing(i, j), NONE, NONE, NONE
        return INCOMPLETE, i, split, SIBLING, min(split, j), max(split, j)
    return COMPLETE, split, 0, COMPLETE, split, n


@jit
def facing(head, child):
    """Return the boundary of a head on a child's side."""
    return head + 1 if child > head else head


@jit
def _fill(scores, value):
    """Return a chart of the best (`BEST`) or the summed (`SUM`) score of each item's derivations."""
    n = len(scores.root)
    chart = Chart(
        np.empty((n, n + 1)), np.empty((n + 1, n)), np.empty((n, n)), np.empty((n, n)), np.empty((n, n)), 0.0
    )
    weights = np.empty(n + 1)
    for h in range(n):
        for side, boundary in ((LEFT, h), (RIGHT, h + 1)):
            chart.complete[h, boundary] = chart.across[boundary, h] = scores.stop[side, h]
    for width in range(1, n):
        for a in range(n - width):
            b = a + width
            low, high = options(scores, chart, SIBLING, a, b, weights)
            chart.sibling[a, b] = chart.sibling[b, a] = _value(weights[low:high], value)
            for h, d, boundary in ((a, b, b + 1), (b, a, a)):
                low, high = options(scores, chart, INCOMPLETE, h, d, weights)
                chart.incomplete[h, d] = _value(weights[low:high], value)
                chart.closed[h, d] = chart.incomplete[h, d] + scores.last[h, d]
                low, high = options(scores, chart, COMPLETE, h, boundary, weights)
                chart.complete[h, boundary] = chart.across[boundary, h] = _value(weights[low:high], value)
    low, high = options(scores, chart, TREE, 0, 0, weights)
    total = _value(weights[low:high], value)
    return Chart(chart.complete, chart.across, chart.incomplete, chart.closed, chart.sibling, total)


@jitable
def _descend(scores, chart):
    """Return the heads of the best tree in a chart."""
    n = len(scores.root)
    heads = np.empty(n, dtype=np.int32)
    weights = np.empty(n + 1)
    # On it are at most two sides of each word that are empty, and items between each two words.
    stack = np.empty((3 * n, 3), dtype=np.int32)
    stack[0] = TREE, 0, 0
    size = 1
    while size > 0:
        size -= 1
        kind, i, j = stack[size]
        low, high = options(scores, chart, kind, i, j, weights)
        if low == high:
            continue
        split = low + choose(weights[low:high])
        if kind == TREE:
            heads[split] = NONE
        elif kind == INCOMPLETE:
            heads[j] = i
        kind, i, j, other, k, m = parts(n, kind, i, j, split)
        stack[size] = kind, i, j
        size += 1
        if other != NONE:
            stack[size] = other, k, m
            size += 1
    return heads


@jit
def best_chart(scores):
    """Return the best score of each item (the Viterbi algorithm in Eisner's chart)."""
    return _fill(scores, BEST)


@jit
def inside(scores):
    """Return the log-sum of each item's derivations (the inside algorithm in Eisner's chart)."""
    return _fill(scores, SUM)


@jit
def best_tree(scores):
    """Return the heads (int32[n]) of the projective tree with the highest score, and the score.

    The score is minus infinity if no tree is possible; then the tree is any projective one.
    """
    chart = best_chart(scores)
    return _descend(scores, chart), chart.total


@jit
def marginals(scores, chart):
    """Return the probability of each arc, given the chart of `inside`.

    From the tree down, the probability of each item is divided between its derivations in proportion to their
    inside sums (the outside algorithm without overflow).

    RETURNS (float64[n, n]): At h, d: h is the head of d; at d, d: d is the root's child. Each column sums to
        1. Zeros if no tree is possible.
    """
    n = len(scores.root)
    # Of items, by kind.
    probability = np.zeros((KINDS, n, n + 1))
    weights = np.zeros(n + 1)
    if chart.total > -inf:
        probability[TREE, 0, 0] = 1.0
    _divide(scores, chart, TREE, 0, 0, chart.total, probability, weights)
    found = np.empty((n, n))
    for d in range(n):
        found[d, d] = weights[d]
    for width in range(n - 1, 0, -1):
        for a in range(n - width):
            b = a + width
            for h, d, boundary in ((a, b, b + 1), (b, a, a)):
                _divide(
                    scores, chart, COMPLETE, h, boundary, chart.complete[h, boundary], probability, weights
                )
                _divide(scores, chart, INCOMPLETE, h, d, chart.incomplete[h, d], probability, weights)
                found[h, d] = probability[INCOMPLETE, h, d]
            _divide(scores, chart, SIBLING, a, b, chart.sibling[a, b], probability, weights)
    return found


@jit
def _divide(scores, chart, kind, i, j, total, probability, weights):
    """Divide the probability of an item among its parts; `weights` gets the share of each split."""
    whole = probability[kind, i, j]
    # As an impossible item has.
    if whole == 0.0:
        return
    low, high = options(scores, chart, kind, i, j, weights)
    exponentiate(weights[low:high], total)
    n = len(scores.root)
    for split in range(low, high):
        first, a, b, second, c, d = parts(n, kind, i, j, split)
        probability[first, a, b] += whole * weights[split]
        if second != NONE:
            probability[second, c, d] += whole * weights[split]


@jit
def minimum_bayes_risk_tree(probability):
    """Return the projective tree with the greatest sum of arc probabilities (float64[n, n]), and the sum."""
    n = len(probability)
    root = np.empty(n)
    for d in range(n):
        root[d] = probability[d, d]
    scores = ChartScores(
        root, probability, probability.reshape((n, 1, n)), np.zeros((2, n)), np.zeros((n, n))
    )
    return best_tree(scores)
