"""The best tree with one root, projective or not (Chu & Liu 1965, Edmonds 1967).

It takes little more time and memory than in proportion to the number of arcs (Tarjan 1977, Gabow et al.
1986).
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, compiled, inner


class Heaps(NamedTuple):
    """Skew heaps of arcs, the best one on top. Each arc is in one of them.

    left, right (int64[arcs]): What is below each arc, or `NONE`.
    score (float64[arcs]): Their scores.
    change (float64[arcs]): What is still to be added to the scores of an arc and all below it.
    """

    left: np.ndarray
    right: np.ndarray
    score: np.ndarray
    change: np.ndarray


class Nodes(NamedTuple):
    """Which words have been made one node: a word of it stands for it.

    above (int64[n + 1]): From each, the way to the one that stands for its node, which has itself here. The
        last is the root.
    size (int64[n + 1]): How many there are in the node that it stands for.
    joined (int64[n]): Those that do not stand for their nodes any more, in order.
    """

    above: np.ndarray
    size: np.ndarray
    joined: np.ndarray


@compiled
def maximum_spanning_tree(head, word, score):
    """The tree with the greatest sum of scores of all that some arcs make and that have one child of the
    root.

    From each word a path is followed over the best heads. Where it meets itself, the words of the cycle are
    made one node, whose head is that of the word for which leaving the cycle costs the least. Each arc of the
    root costs more than all others could bring, so that the best tree has one.

    head, word (int64[arcs]): Positions, `NONE` for the root as a head. Each of the n words has an arc of the
        root, and there is a tree.
    score (float64[arcs]): Finite.
    RETURNS (int64[n]): Which arc leads to each word.
    """
    n, arcs = np.max(word) + 1, len(word)
    source = np.where(head == NONE, n, head)
    below = np.full(arcs, NONE)
    heaps = Heaps(below, below.copy(), score.copy(), np.zeros(arcs))
    heaps.score[head == NONE] -= 2.0 * n * (np.max(np.abs(score)) + 1.0)
    nodes = Nodes(np.arange(n + 1), np.ones(n + 1, dtype=np.int64), np.empty(n, dtype=np.int64))
    # Of each node, the heap of the arcs that lead to it, the arc that has been chosen, and the word that a
    # path came from.
    top, chosen, seen = np.full(n + 1, NONE), np.full(n + 1, NONE), np.full(n + 1, NONE)
    for arc in range(arcs):
        top[word[arc]] = _merge(heaps, top[word[arc]], arc)
    seen[n] = n
    path, passed = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    # Of each cycle, how many had been joined before, and where its arcs begin; and the arcs of all.
    before, begins, inside = (
        np.empty(n, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.empty(2 * n, dtype=np.int64),
    )
    cycle_node = np.empty(n, dtype=np.int64)
    cycles = joined = 0
    for start in range(n):
        node, length = start, 0
        while seen[node] == NONE:
            arc = _pop(heaps, top, node)
            other = _find(nodes, source[arc])
            if other == node:
                continue
            if top[node] != NONE:
                heaps.change[top[node]] -= heaps.score[arc]
            path[length], passed[length] = arc, node
            length += 1
            seen[node] = start
            node = other
            if seen[node] == start:
                before[cycles], end = joined, length
                merged = NONE
                while True:
                    length -= 1
                    other = passed[length]
                    merged = _merge(heaps, merged, top[other])
                    if _find(nodes, other) == _find(nodes, node):
                        break
                    _join(nodes, _find(nodes, other), _find(nodes, node), joined)
                    joined += 1
                inside[begins[cycles] : begins[cycles] + end - length] = path[length:end]
                begins[cycles + 1] = begins[cycles] + end - length
                node = _find(nodes, node)
                top[node], seen[node], cycle_node[cycles] = merged, NONE, node
                cycles += 1
        for i in range(length):
            chosen[_find(nodes, word[path[i]])] = path[i]
    # From the outermost cycle inwards: the word that is entered has its head from outside, the others from
    # the cycle.
    for cycle in range(cycles - 1, -1, -1):
        entering = chosen[cycle_node[cycle]]
        while joined > before[cycle]:
            joined -= 1
            _part(nodes, nodes.joined[joined])
        for arc in inside[begins[cycle] : begins[cycle + 1]]:
            chosen[_find(nodes, word[arc])] = arc
        chosen[_find(nodes, word[entering])] = entering
    return chosen[:n]


@inner
def _merge(heaps, one, other):
    """Make one heap of two, either of which may be `NONE`. Returns its top."""
    top = last = np.int64(NONE)
    while one != NONE and other != NONE:
        _settle(heaps, one)
        _settle(heaps, other)
        if heaps.score[one] < heaps.score[other]:
            one, other = other, one
        if last == NONE:
            top = one
        else:
            heaps.left[last] = one
        last, one = one, heaps.right[one]
        heaps.right[last] = heaps.left[last]
    rest = one if one != NONE else other
    if last == NONE:
        return rest
    heaps.left[last] = rest
    return top


@inner
def _settle(heaps, arc):
    """Add to the score of an arc what is still to be added."""
    change = heaps.change[arc]
    if change != 0.0:
        heaps.score[arc] += change
        heaps.change[arc] = 0.0
        for below in (heaps.left[arc], heaps.right[arc]):
            if below != NONE:
                heaps.change[below] += change


@inner
def _pop(heaps, top, node):
    """Take the best arc out of the heap of a node."""
    arc = top[node]
    _settle(heaps, arc)
    top[node] = _merge(heaps, heaps.left[arc], heaps.right[arc])
    return arc


@inner
def _find(nodes, word):
    """Which word stands for the node that a word is in."""
    while nodes.above[word] != word:
        word = nodes.above[word]
    return word


@inner
def _join(nodes, one, other, joined):
    """Make one node of two, the number `joined` of those that have been."""
    if nodes.size[one] < nodes.size[other]:
        one, other = other, one
    nodes.above[other] = one
    nodes.size[one] += nodes.size[other]
    nodes.joined[joined] = other


@inner
def _part(nodes, word):
    """Undo the last `_join`, of a word that did not stand for its node any more."""
    nodes.size[nodes.above[word]] -= nodes.size[word]
    nodes.above[word] = word
