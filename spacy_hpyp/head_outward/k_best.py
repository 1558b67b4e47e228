"""The k best trees (Huang & Chiang 2005, algorithm 2).

Each item, from small to large, gets the list of its k best derivations. A derivation is a split and
the rank of a derivation of each part. Its successors replace one part by the next derivation; the
first part only if the second has rank 0, so that each derivation is reached in one way.
"""

from heapq import heapify, heappop, heappush
from math import inf

import numpy as np

from ..compiled import NONE, jit, jitable
from .chart import (
    COMPLETE,
    INCOMPLETE,
    KINDS,
    LEFT,
    RIGHT,
    SIBLING,
    TREE,
    best_chart,
    options,
    parts,
)


@jit
def k_best(scores, k):
    """Return the k best projective trees, or all possible ones if they are fewer, the best first.

    RETURNS (tuple[int32[m, n], float64[m]]): Heads, `NONE` for the root's child, and scores.
    """
    n = len(scores.root)
    chart = best_chart(scores)
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
        _read(n, derivations, first, rank, heads[rank])
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
def _read(n, derivations, first, rank, heads):
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
