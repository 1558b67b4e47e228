"""The chart of all projective trees of a sentence (Eisner 1996).

The score of a tree is a sum over its heads, children and siblings. Each head generates its children
on either side from the inside out: the first, the next ones, and STOP. The items are

| item | words | content |
| --- | --- | --- |
| `TREE` | all | a tree with the root's only child |
| `COMPLETE` h, b | from h to the boundary b | one side of h, with STOP; b ≤ h is on the left |
| `INCOMPLETE` h, d | from h to d | d as a child of h, with its side that faces h |
| `SIBLING` a, b | from a to b, a < b | a's right and b's left side: adjacent children of a head |

Each split of an item combines two other items, or extends one:

    TREE            = COMPLETE d, 0   + COMPLETE d, n      d is the root's child
    COMPLETE h, b   = INCOMPLETE h, s + COMPLETE s, b      s is the last child
    INCOMPLETE h, d = INCOMPLETE h, s + SIBLING s, d       d follows s
    INCOMPLETE h, d = COMPLETE d                           d is the first child
    SIBLING a, b    = COMPLETE a, r   + COMPLETE b, r      they meet at boundary r

Every tree has one derivation. There are O(n²) items and O(n³) splits. `options` gives the score of
a split, and `parts` the items that it combines.

`exponentiate` does not call the C library, so that the compiler can vectorise it: these calls would
dominate the time of a sum over trees.
"""

from heapq import heapify, heappop, heappush
from math import factorial, inf, log, log2
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable

# exp(x) = 2^k exp(r), where k is a whole number and |r| is at most log(2) / 2.
_LOG2_OF_E = log2(np.e)
# log(2) in two parts, so that k times the first is exact (Cody & Waite 1980).
_LOG_OF_2 = float.fromhex("0x1.62e42feep-1")
_REST_OF_LOG_OF_2 = float.fromhex("0x1.a39ef35793c76p-33")
# Adding this to a number rounds it to an integer, in the last bits of the sum.
_ROUNDING = 1.5 * 2.0**52
# The bias and the first bit of a float64's exponent.
_BIAS, _EXPONENT = 1023, 52
# Below this, exp(x) would be subnormal and is set to 0.
_LOWEST = -708.0
#: Values of items in a chart.
BEST, SUM = 0, 1
# Taylor coefficients; the remainder is less than the rounding error.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / factorial(i) for i in range(2, 14)
)


@jitable
def highest(weights):
    """Return the highest of at least one number (float64[*])."""
    best = weights[0]
    for i in range(1, len(weights)):
        best = max(best, weights[i])
    return best


@jitable
def exponentiate(weights, scale):
    """Replace x (float64[*]) by exp(x - scale); the scale is finite, x - scale at most 700."""
    for i in range(len(weights)):
        weights[i] = _exp(weights[i] - scale)


@jitable
def log_sum(weights):
    """Return the log of the sum of exp(weights) (float64[*], at least one; overwritten)."""
    scale = highest(weights)
    if scale == -inf or len(weights) == 1:
        return scale
    exponentiate(weights, scale)
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    return scale + log(total)


@jitable
def _value(weights, value):
    return log_sum(weights) if value == SUM else highest(weights)


@jitable
def _exp(x):
    is_tiny = not x >= _LOWEST
    x = _LOWEST if is_tiny else x
    rounded = x * _LOG2_OF_E + _ROUNDING
    k = rounded - _ROUNDING
    r = (x - k * _LOG_OF_2) - k * _REST_OF_LOG_OF_2
    # Horner's rule for the even and the odd terms, which run in parallel.
    power = r * r
    even = ((((_C12 * power + _C10) * power + _C8) * power + _C6) * power + _C4) * power + _C2
    odd = ((((_C13 * power + _C11) * power + _C9) * power + _C7) * power + _C5) * power + _C3
    series = 1.0 + (r + power * (even + r * odd))
    two_to_k = np.int64((np.float64(rounded).view(np.int64) + _BIAS) << _EXPONENT).view(np.float64)
    return 0.0 if is_tiny else series * two_to_k


#: Kinds of items, and their number.
TREE, COMPLETE, INCOMPLETE, SIBLING = range(4)
KINDS = 4
#: Sides of a head, the rows of `ChartScores.stop`.
LEFT, RIGHT = 0, 1


class ChartScores(NamedTuple):
    """Scores of the trees of a sentence of n words, in nats; minus infinity if impossible.

    The score of a tree is the sum over its events. The arrays are contiguous.
    """

    root: np.ndarray  # float64[n]: word d is the root's only child
    first: np.ndarray  # float64[n, n]: [h, d]: d is the first child of h on its side
    # [h, s, d]: d is the child of h after s on the same side, h < s < d or d < s < h; other entries
    # are not read. In models without siblings, s is always 0.
    next: np.ndarray  # float64[n, n, n] | float64[n, 1, n]
    stop: np.ndarray  # float64[2, n]: [`LEFT` or `RIGHT`, h]: h has no child on that side
    last: np.ndarray  # float64[n, n]: [h, s]: s is the last child of h on its side


class Chart(NamedTuple):
    """Log-sums over the derivations of each item of a sentence of n words, or the best scores."""

    complete: np.ndarray  # float64[n, n + 1]: `COMPLETE` items
    across: np.ndarray  # float64[n + 1, n]: the transpose, for sequential reads
    incomplete: np.ndarray  # float64[n, n]: `INCOMPLETE` items
    closed: np.ndarray  # float64[n, n]: `INCOMPLETE` items, with STOP after the child
    sibling: np.ndarray  # float64[n, n]: `SIBLING` items, symmetric
    total: float  # The `TREE`


@jitable
def options(scores, chart, kind, i, j, weights):
    """Write the score of each split of an item into `weights` (float64[n + 1]).

    A split is the root's child of a `TREE`, the last child in a `COMPLETE` item, the sibling in an
    `INCOMPLETE` one (the head for a first child), and the boundary in a `SIBLING` item.

    kind, i, j (int): The item, see the module; a `TREE` needs no i and j.
    RETURNS (tuple[int, int]): The half-open range of splits; empty if `COMPLETE` has one word.
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
        # Models without siblings have one row for all.
        step = 1 if scores.next.shape[1] > 1 else 0
        low, high = (i + 1, j) if j > i else (j + 1, i)
        for split in range(low, high):
            weights[split] = (
                chart.incomplete[i, split]
                + chart.sibling[j, split]
                + scores.next[i, split * step, j]
            )
        weights[i] = scores.first[i, j] + chart.complete[j, facing(i, j)]
        return (i, j) if j > i else (j + 1, i + 1)
    n = len(scores.root)
    for split in range(n):
        weights[split] = scores.root[split] + chart.across[0, split] + chart.across[n, split]
    return 0, n


@jitable
def parts(n, kind, i, j, split):
    """Return the kind, i and j of both items that a split combines; `NONE` without a second."""
    if kind == SIBLING:
        return COMPLETE, i, split, COMPLETE, j, split
    if kind == COMPLETE:
        return INCOMPLETE, i, split, COMPLETE, split, j
    if kind == INCOMPLETE:
        if split == i:
            return COMPLETE, j, facing(i, j), NONE, NONE, NONE
        return INCOMPLETE, i, split, SIBLING, min(split, j), max(split, j)
    return COMPLETE, split, 0, COMPLETE, split, n


@jitable
def facing(head, child):
    """Return the boundary of a head on a child's side."""
    return head + 1 if child > head else head


@jitable
def _fill(scores, value):
    """Return a chart of the best score (`BEST`: the Viterbi algorithm) or log-sum (`SUM`) of each
    item's derivations.
    """
    n = len(scores.root)
    complete, across = np.empty((n, n + 1)), np.empty((n + 1, n))
    incomplete, closed, sibling = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    chart = Chart(complete, across, incomplete, closed, sibling, 0.0)
    weights = np.empty(n + 1)
    for h in range(n):
        for side, boundary in ((LEFT, h), (RIGHT, h + 1)):
            complete[h, boundary] = across[boundary, h] = scores.stop[side, h]
    for width in range(1, n):
        for a in range(n - width):
            b = a + width
            low, high = options(scores, chart, SIBLING, a, b, weights)
            sibling[a, b] = sibling[b, a] = _value(weights[low:high], value)
            for h, d, boundary in ((a, b, b + 1), (b, a, a)):
                low, high = options(scores, chart, INCOMPLETE, h, d, weights)
                incomplete[h, d] = _value(weights[low:high], value)
                closed[h, d] = incomplete[h, d] + scores.last[h, d]
                low, high = options(scores, chart, COMPLETE, h, boundary, weights)
                total = _value(weights[low:high], value)
                complete[h, boundary] = across[boundary, h] = total
    low, high = options(scores, chart, TREE, 0, 0, weights)
    total = _value(weights[low:high], value)
    return Chart(complete, across, incomplete, closed, sibling, total)


@jitable
def _descend(scores, chart):
    """Return the heads of the best tree in a chart."""
    n = len(scores.root)
    heads = np.empty(n, dtype=np.int32)
    weights = np.empty(n + 1)
    # At most two empty sides of each word, and the items between neighbours.
    stack = np.empty((3 * n, 3), dtype=np.int32)
    stack[0] = TREE, 0, 0
    size = 1
    while size > 0:
        size -= 1
        kind, i, j = stack[size]
        low, high = options(scores, chart, kind, i, j, weights)
        if low == high:
            continue
        # The first of the best splits.
        split = low + np.argmax(weights[low:high])
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
def inside(scores):
    """Return the log-sum over each item's derivations (the inside algorithm in Eisner's chart)."""
    return _fill(scores, SUM)


@jitable
def best_tree(scores):
    """Return the projective tree (int32[n]) with the highest score, and the score.

    The root's child has the head `NONE`. If no tree is possible, any is returned with -infinity.
    """
    chart = _fill(scores, BEST)
    return _descend(scores, chart), chart.total


@jit
def marginals(scores, chart):
    """Return the probability of each arc, given the chart of `inside`.

    From the tree down, the splits of an item share its probability in proportion to their inside
    sums (the outside algorithm without overflow).

    RETURNS (float64[n, n]): [h, d]: h is the head of d; [d, d]: d is the root's child. Each column
        sums to 1. Zeros if no tree is possible.
    """
    n = len(scores.root)
    probability = np.zeros((KINDS, n, n + 1))
    weights = np.zeros(n + 1)
    if chart.total > -inf:
        probability[TREE, 0, 0] = 1.0
    _divide(scores, chart, TREE, 0, 0, chart.total, probability, weights)
    arcs = np.empty((n, n))
    for d in range(n):
        arcs[d, d] = weights[d]
    for width in range(n - 1, 0, -1):
        for a in range(n - width):
            b = a + width
            for h, d, boundary in ((a, b, b + 1), (b, a, a)):
                total = chart.complete[h, boundary]
                _divide(scores, chart, COMPLETE, h, boundary, total, probability, weights)
                total = chart.incomplete[h, d]
                _divide(scores, chart, INCOMPLETE, h, d, total, probability, weights)
                arcs[h, d] = probability[INCOMPLETE, h, d]
            _divide(scores, chart, SIBLING, a, b, chart.sibling[a, b], probability, weights)
    return arcs


@jitable
def _divide(scores, chart, kind, i, j, total, probability, weights):
    """Add the probability of an item to its parts; `weights` gets the share of each split."""
    whole = probability[kind, i, j]
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
    """Return the projective tree with the highest sum of arc probabilities, and the sum.

    probability (float64[n, n]): See `marginals`; for the result see `best_tree`.
    """
    n = len(probability)
    root = np.diag(probability).copy()
    scores = ChartScores(
        root, probability, probability.reshape((n, 1, n)), np.zeros((2, n)), np.zeros((n, n))
    )
    return best_tree(scores)


# The k best trees (Huang & Chiang 2005, algorithm 2). Each item, from small to large, gets the list
# of its k best derivations. A derivation is a split and the rank of a derivation of each part. Its
# successors replace one part by the next derivation; the first part only if the second has rank 0,
# so that each derivation is reached in one way.


@jit
def k_best(scores, k):
    """Return the k best projective trees, or all possible ones if they are fewer, the best first.

    RETURNS (tuple[int32[m, n], float64[m]]): Heads, `NONE` for the root's child, and scores.
    """
    n = len(scores.root)
    chart = _fill(scores, BEST)
    weights = np.empty(n + 1)
    # Score, split, and the ranks of the parts; one item after the other.
    derivations = [(0.0, 0, 0, 0) for _ in range(0)]
    # The range of each item's derivations.
    items = KINDS * n * (n + 1)
    first, end = np.zeros(items, dtype=np.int64), np.zeros(items, dtype=np.int64)
    for h in range(n):
        for side, boundary in ((LEFT, h), (RIGHT, h + 1)):
            item = _number(n, COMPLETE, h, boundary)
            first[item], end[item] = len(derivations), len(derivations) + 1
            derivations.append((scores.stop[side, h], NONE, NONE, NONE))
    for width in range(1, n):
        for a in range(n - width):
            b = a + width
            _rank(scores, chart, SIBLING, a, b, k, weights, derivations, first, end)
            for h, d, boundary in ((a, b, b + 1), (b, a, a)):
                _rank(scores, chart, INCOMPLETE, h, d, k, weights, derivations, first, end)
                _rank(scores, chart, COMPLETE, h, boundary, k, weights, derivations, first, end)
    _rank(scores, chart, TREE, 0, 0, k, weights, derivations, first, end)
    item = _number(n, TREE, 0, 0)
    count = end[item] - first[item]
    heads, totals = np.empty((count, n), dtype=np.int32), np.empty(count)
    for rank in range(count):
        totals[rank] = derivations[first[item] + rank][0]
        _read_heads(n, derivations, first, rank, heads[rank])
    return heads, totals


@jitable
def _number(n, kind, i, j):
    return (kind * n + i) * (n + 1) + j


@jitable
def _rank(scores, chart, kind, i, j, k, weights, derivations, first, end):
    """Find the k best derivations of an item, given those of its parts."""
    n = len(scores.root)
    low, high = options(scores, chart, kind, i, j, weights)
    waiting = [
        (-weights[split], split, 0, 0) for split in range(low, high) if weights[split] > -inf
    ]
    heapify(waiting)
    item = _number(n, kind, i, j)
    first[item] = len(derivations)
    while len(waiting) > 0 and len(derivations) - first[item] < k:
        cost, split, one, other = heappop(waiting)
        derivations.append((-cost, split, one, other))
        left, a, b, right, c, d = parts(n, kind, i, j, split)
        # Adding differences keeps the scores in order; new sums could round upwards.
        place = _number(n, left, a, b)
        if other == 0 and first[place] + one + 1 < end[place]:
            gain = derivations[first[place] + one + 1][0] - derivations[first[place] + one][0]
            heappush(waiting, (cost - gain, split, one + 1, other))
        place = _number(n, right, c, d)
        if right != NONE and first[place] + other + 1 < end[place]:
            gain = derivations[first[place] + other + 1][0] - derivations[first[place] + other][0]
            heappush(waiting, (cost - gain, split, one, other + 1))
    end[item] = len(derivations)


@jitable
def _read_heads(n, derivations, first, rank, heads):
    """Read the heads from the derivation of the `TREE` with the given rank."""
    stack = [(TREE, 0, 0, rank)]
    while len(stack) > 0:
        kind, i, j, rank = stack.pop()
        _, split, one, other = derivations[first[_number(n, kind, i, j)] + rank]
        if split == NONE:
            continue
        if kind == TREE:
            heads[split] = NONE
        elif kind == INCOMPLETE:
            heads[j] = i
        left, a, b, right, c, d = parts(n, kind, i, j, split)
        stack.append((left, a, b, one))
        if right != NONE:
            stack.append((right, c, d, other))
