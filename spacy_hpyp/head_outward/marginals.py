"""How probable each arc is, and the tree that is expected to have the most arcs right."""

from math import inf

import numpy as np

from ..compiled import NONE, borrowing, compiled
from .chart import COMPLETE, INCOMPLETE, KINDS, SIBLING, TREE, ChartScores, best_tree, options, parts
from .exponential import exponentiate


@compiled
def marginals(scores, chart):
    """The probability of each arc, where that of a tree is proportional to the exp of its score.

    From the tree down, the probability of each item is divided between its derivations in proportion to their inside sums
    (the outside algorithm, but for sums that could be too large or too small for a number).

    scores (ChartScores): Of a sentence of n words, at least one.
    chart (Chart): What `inside` gives for them.
    RETURNS (float64[n, n]): At h, d: h is the head of d; at d, d: d is the root's child. Each column sums to 1. Zeros if no tree
        is possible.
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
                _divide(scores, chart, COMPLETE, h, boundary, chart.complete[h, boundary], probability, weights)
                _divide(scores, chart, INCOMPLETE, h, d, chart.incomplete[h, d], probability, weights)
                found[h, d] = probability[INCOMPLETE, h, d]
            _divide(scores, chart, SIBLING, a, b, chart.sibling[a, b], probability, weights)
    return found


@borrowing
def _divide(scores, chart, kind, i, j, total, probability, weights):
    """Divide the probability of an item among those that it is made of; `weights` gets the share of each split."""
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


@compiled
def minimum_bayes_risk_tree(probability):
    """The projective tree with the greatest sum of its arcs' probabilities, so with the fewest wrong heads to be expected.

    probability (float64[n, n]): What `marginals` gives, for at least one word.
    RETURNS (tuple[int32[n], float]): The heads, as positions, `NONE` for the root's child; and the sum.
    """
    n = len(probability)
    root = np.empty(n)
    for d in range(n):
        root[d] = probability[d, d]
    scores = ChartScores(root, probability, probability.reshape((n, 1, n)), np.zeros((2, n)), np.zeros((n, n)))
    return best_tree(scores)
