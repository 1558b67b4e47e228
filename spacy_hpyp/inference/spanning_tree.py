"""The best tree with one root, projective or not (Chu & Liu 1965, Edmonds 1967)."""

from math import inf

import numpy as np

from ..compiled import NONE, compiled


@compiled
def maximum_spanning_tree(scores):
    """The tree with the greatest sum of scores of all that have one child of the root.

    Of each word the best head is taken; the words of a cycle are made one, whose head is that of the word for which leaving the cycle
    costs the least; and so on until there is no cycle. Each arc of the root costs more than all others could bring, so that the
    best tree has one.

    scores (float64[n, n]): At h, d: of the arc from h to d; at d, d: of d as the root's child. Finite, for at least one word.
    RETURNS (tuple[int32[n], float]): The heads, as positions, `NONE` for the root's child; and the sum.
    """
    n = len(scores)
    highest = 0.0
    for h in range(n):
        for d in range(n):
            highest = max(highest, abs(scores[h, d]))
    # Nodes are the words, the root (n) and, from n + 1, what cycles were made of: fewer than n.
    last = 2 * n + 1
    weight = np.full((last, last), -inf)
    # For an arc between nodes, the words that it joins.
    source, target = np.full((last, last), NONE, dtype=np.int32), np.full((last, last), NONE, dtype=np.int32)
    for h in range(n):
        for d in range(n):
            if h != d:
                weight[h, d] = scores[h, d]
                source[h, d], target[h, d] = h, d
    for d in range(n):
        weight[n, d] = scores[d, d] - 2.0 * n * (highest + 1.0)
        source[n, d], target[n, d] = n, d
    alive = np.zeros(last, dtype=np.bool_)
    alive[: n + 1] = True
    best = np.full(last, NONE, dtype=np.int32)
    inside = np.full(last, NONE, dtype=np.int32)
    seen = np.zeros(last, dtype=np.int64)
    # Nodes from `found` on do not have their best heads yet.
    found, used = 0, n + 1
    mark = 0
    again = True
    while again:
        again = False
        # What was seen before in this round leads to the root.
        first = mark
        for h in range(used):
            for d in range(found, used):
                if (
                    alive[h]
                    and d != n
                    and weight[h, d] > -inf
                    and (best[d] == NONE or weight[h, d] > weight[best[d], d])
                ):
                    best[d] = h
        found = used
        for d in range(used):
            if not alive[d] or d == n:
                continue
            mark += 1
            node = d
            while node != n and seen[node] <= first:
                seen[node] = mark
                node = best[node]
            if node != n and seen[node] == mark:
                _contract(node, used, n, best, alive, inside, weight, source, target)
                used += 1
                again = True
                break
    # From the outermost cycle inwards: the word that is entered has its head from outside, the others from the cycle.
    heads = np.full(n, NONE, dtype=np.int32)
    head_of = np.full(last, NONE, dtype=np.int32)
    word_of = np.full(last, NONE, dtype=np.int32)
    for node in range(used - 1, -1, -1):
        if node == n:
            continue
        if word_of[node] == NONE:
            head_of[node], word_of[node] = source[best[node], node], target[best[node], node]
        if node > n:
            entered = word_of[node]
            while inside[entered] != node:
                entered = inside[entered]
            head_of[entered], word_of[entered] = head_of[node], word_of[node]
        else:
            heads[node] = head_of[node] if head_of[node] != n else NONE
    total = 0.0
    for d in range(n):
        total += scores[d, d] if heads[d] == NONE else scores[heads[d], d]
    return heads, total


@compiled
def _contract(start, new, root, best, alive, inside, weight, source, target):
    """Make one node of the cycle that a node is in."""
    node = start
    while inside[node] != new:
        inside[node] = new
        alive[node] = False
        node = best[node]
    for other in range(new):
        if not alive[other]:
            continue
        node = start
        while True:
            # Into the cycle, instead of the arc that the word has there; and out of it.
            entering = weight[other, node] - weight[best[node], node]
            if entering > weight[other, new]:
                weight[other, new] = entering
                source[other, new], target[other, new] = source[other, node], target[other, node]
            if weight[node, other] > weight[new, other]:
                weight[new, other] = weight[node, other]
                source[new, other], target[new, other] = source[node, other], target[node, other]
            node = best[node]
            if node == start:
                break
        if other != root and inside[best[other]] == new:
            best[other] = new
    alive[new] = True
