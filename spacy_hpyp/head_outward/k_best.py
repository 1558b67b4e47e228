"""The k best trees, found lazily (Huang & Chiang 2005, algorithm 3).

Each item keeps a list of its derivations so far, the best first, and candidates for the next one. A derivation is a
split and one derivation of each part. The candidates that follow it replace one of these by its next derivation; the
first part only if the second is its item's best, so that each is reached in one way. An item is expanded when its
second derivation is asked for: until then the chart of best scores suffices.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled, inner, inner_maker
from ..inference.beam import longer
from .chart import INCOMPLETE, KINDS, TREE, best_chart, choose, options, parts

# Fields of a derivation: its item and split; a derivation of the first and of the second part, `NONE` for the
# best one if that has not been looked at; the item's next derivation.
ITEM, SPLIT, FIRST, SECOND, NEXT = range(5)
# And as a candidate, the item's candidate that was entered before it.
OTHER = 5
FIELDS = 6
#: In place of a next derivation: there is none. `NONE` is one that has not been looked for.
END = -2


class BestDerivations(NamedTuple):
    """Derivations and candidates of all items of a sentence of n words."""

    record: np.ndarray  # int32[*, FIELDS]: what they are
    score: np.ndarray  # float64[*]: their scores
    # Each item's best derivation, `NONE` if it has not been looked at.
    best: np.ndarray  # int32[KINDS * n * (n + 1)]
    waiting: np.ndarray  # int32[KINDS * n * (n + 1)]: the last candidate of each item, or `NONE`
    used: np.ndarray  # int64[1]: how many there are


@compiled
def k_best(scores, k):
    """Return the k projective trees with the highest scores, of a sentence of n words, at least one.

    RETURNS (tuple[int32[found, n], float64[found]]): Their heads, `NONE` for the root's child, and scores, the highest
        first. All are different and possible, so there may be fewer than k.
    """
    n = len(scores.root)
    chart = best_chart(scores)
    weights = np.empty(n + 1)
    items = KINDS * n * (n + 1)
    derivations = BestDerivations(
        np.empty((16 * (n + 1), FIELDS), dtype=np.int32),
        np.empty(16 * (n + 1)),
        np.full(items, NONE, dtype=np.int32),
        np.full(items, NONE, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )
    heads = np.empty((k, n), dtype=np.int32)
    found_scores = np.empty(k)
    found = 0
    stack = np.empty((4 * n + 4, 2), dtype=np.int32)
    if chart.total > -inf:
        derivation = _look_at(derivations, scores, chart, TREE, weights)
        while derivation >= 0 and found < k:
            _read(derivations, scores, chart, derivation, heads[found], stack, weights)
            found_scores[found] = derivations.score[derivation]
            found += 1
            if found < k:
                derivations = _find_next(derivations, scores, chart, derivation, stack, weights)
                derivation = derivations.record[derivation, NEXT]
    return heads[:found].copy(), found_scores[:found].copy()


@borrowing
def _number(n, kind, i, j):
    return (kind * n + i) * (n + 1) + j


@borrowing
def _item(n, number):
    place = number // (n + 1)
    return place // n, place % n, number % (n + 1)


@borrowing
def _enter(derivations, item, split, first, second, score):
    """Enter a derivation; returns its number."""
    entry = derivations.used[0]
    derivations.used[0] += 1
    record = derivations.record[entry]
    record[ITEM], record[SPLIT], record[FIRST], record[SECOND], record[NEXT] = (
        item,
        split,
        first,
        second,
        NONE,
    )
    derivations.score[entry] = score
    return entry


@borrowing
def _wait(derivations, item, entry):
    """Let a derivation be a candidate."""
    derivations.record[entry, OTHER] = derivations.waiting[item]
    derivations.waiting[item] = entry


@borrowing
def _take_best(derivations, item):
    """Take the best candidate of an item, the oldest of equals; returns it, or `END`."""
    record, score = derivations.record, derivations.score
    best, before_best, before, entry = NONE, NONE, NONE, derivations.waiting[item]
    while entry != NONE:
        if best == NONE or score[entry] > score[best] or (score[entry] == score[best] and entry < best):
            best, before_best = entry, before
        before, entry = entry, record[entry, OTHER]
    if best == NONE:
        return END
    if before_best == NONE:
        derivations.waiting[item] = record[best, OTHER]
    else:
        record[before_best, OTHER] = record[best, OTHER]
    return best


@inner
def _look_at(derivations, scores, chart, item, weights):
    """Find the best derivation of an item, and the first candidates; returns the derivation."""
    if derivations.best[item] == NONE:
        n = len(scores.root)
        kind, i, j = _item(n, item)
        low, high = options(scores, chart, kind, i, j, weights)
        if low == high:
            derivations.best[item] = _enter(derivations, item, NONE, NONE, NONE, chart.complete[i, j])
        else:
            best = low + choose(weights[low:high])
            derivations.best[item] = _enter(derivations, item, best, NONE, NONE, weights[best])
            for split in range(low, high):
                if split != best and weights[split] > -inf:
                    _wait(derivations, item, _enter(derivations, item, split, NONE, NONE, weights[split]))
    return derivations.best[item]


@inner_maker
def _find_next(derivations, scores, chart, derivation, stack, weights):
    """Find the derivation that comes after one, of the same item."""
    n = len(scores.root)
    # What is asked for on the way, of ever smaller items.
    stack[0, 0] = derivation
    size = 1
    while size > 0:
        # Two items may be looked at, and have two derivations entered.
        if derivations.used[0] + 2 * (n + 2) > len(derivations.score):
            derivations = BestDerivations(
                longer(derivations.record),
                longer(derivations.score),
                derivations.best,
                derivations.waiting,
                derivations.used,
            )
        current = stack[size - 1, 0]
        record, score = derivations.record, derivations.score
        item, split = record[current, ITEM], record[current, SPLIT]
        if split != NONE:
            kind, i, j = _item(n, item)
            first, a, b, second, c, d = parts(n, kind, i, j, split)
            is_best = True
            if second != NONE:
                if record[current, SECOND] == NONE:
                    record[current, SECOND] = _look_at(
                        derivations, scores, chart, _number(n, second, c, d), weights
                    )
                if record[record[current, SECOND], NEXT] == NONE:
                    stack[size, 0] = record[current, SECOND]
                    size += 1
                    continue
                is_best = record[current, SECOND] == derivations.best[_number(n, second, c, d)]
            if is_best:
                if record[current, FIRST] == NONE:
                    record[current, FIRST] = _look_at(
                        derivations, scores, chart, _number(n, first, a, b), weights
                    )
                if record[record[current, FIRST], NEXT] == NONE:
                    stack[size, 0] = record[current, FIRST]
                    size += 1
                    continue
            for part in (FIRST, SECOND):
                old = record[current, part]
                if (part == SECOND and second != NONE) or (part == FIRST and is_best):
                    new = record[old, NEXT]
                    if new != END:
                        entry = _enter(
                            derivations,
                            item,
                            split,
                            new if part == FIRST else record[current, FIRST],
                            new if part == SECOND else record[current, SECOND],
                            # Never above the score of what it follows, as it would be if the sum were made
                            # anew.
                            score[current] + (score[new] - score[old]),
                        )
                        _wait(derivations, item, entry)
        record[current, NEXT] = _take_best(derivations, item)
        size -= 1
    return derivations


@inner
def _read(derivations, scores, chart, derivation, heads, stack, weights):
    """Read the heads of the words from a derivation of the `TREE`."""
    n = len(scores.root)
    stack[0] = np.int64(derivations.record[derivation, ITEM]), derivation
    size = 1
    while size > 0:
        size -= 1
        item, derivation = stack[size]
        kind, i, j = _item(n, item)
        if derivation == NONE:
            derivation = derivations.best[item]
        if derivation == NONE:
            # It has not been looked at.
            low, high = options(scores, chart, kind, i, j, weights)
            split = low + choose(weights[low:high]) if low < high else NONE
            one = other = NONE
        else:
            record = derivations.record[derivation]
            split, one, other = record[SPLIT], record[FIRST], record[SECOND]
        if split == NONE:
            continue
        if kind == TREE:
            heads[split] = NONE
        elif kind == INCOMPLETE:
            heads[j] = i
        first, a, b, second, c, d = parts(n, kind, i, j, split)
        stack[size] = _number(n, first, a, b), one
        size += 1
        if second != NONE:
            stack[size] = _number(n, second, c, d), other
            size += 1
