"""Oracles: from a projective tree to the derivations that lead to it (B&B section 2).

An arc between the two top items is *valid* once its dependent has all its own dependents. The
static oracle adds each arc as soon as it is valid. The non-deterministic oracle finds all
derivations: while the top item has right dependents to come, a valid left-arc to the second item
may be delayed. A valid right-arc cannot be: the two items would never meet again.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable
from . import configuration as column
from .configuration import END, LEFT_ARCS, RIGHT_ARCS, ROOT, SHIFT, arc_of, execute, new_records


class GoldTree(NamedTuple):
    """A tree with its counts of dependents, for the non-deterministic oracle."""

    heads: np.ndarray  # int32[n]: the head of each word by position, -1 for the root
    labels: np.ndarray  # int32[n]: the root's is not read
    left_count: np.ndarray  # int32[n]: how many dependents each word has on the left
    right_count: np.ndarray  # int32[n]


@jit
def gold_tree(heads, labels):
    """Count the dependents of a tree (GoldTree)."""
    left_count = np.zeros(len(heads), dtype=np.int32)
    right_count = np.zeros(len(heads), dtype=np.int32)
    for word in range(len(heads)):
        if heads[word] > word:
            left_count[heads[word]] += 1
        elif heads[word] >= 0:
            right_count[heads[word]] += 1
    return GoldTree(heads, labels, left_count, right_count)


@jitable
def allowed_actions(tree, records, top):
    """Return the actions that the non-deterministic oracle allows next in a derivation of a tree.

    RETURNS (tuple[int, bool]): The valid arc (there is one at most) or `NONE`, and whether the
        next word may be shifted. Both: a left-arc that may be delayed. Neither, before the sentence
        has ended: the heads are not a projective tree with one root.
    """
    may_shift = records[records[top, column.LAST], column.POSITION] < len(tree.heads)
    if records[top, column.DEPTH] == 1 or (records[top, column.DEPTH] == 2 and may_shift):
        return NONE, may_shift
    below = records[top, column.BELOW]
    # ROOT has position 0, which becomes -1, the head of the root.
    first, second = records[top, column.POSITION] - 1, records[below, column.POSITION] - 1
    more = records[top, column.RIGHT_COUNT] < tree.right_count[first]
    if second >= 0 and tree.heads[second] == first and _is_complete(tree, records, below, second):
        return arc_of(LEFT_ARCS, tree.labels[second]), may_shift and more
    if tree.heads[first] == second and _is_complete(tree, records, top, first):
        return END if second < 0 else arc_of(RIGHT_ARCS, tree.labels[first]), False
    return NONE, may_shift


@jit
def static_oracle(heads, labels, out):
    """Find the derivation that attaches greedily. Returns whether the heads are a projective tree
    with one root.

    heads, labels (int32[n]): The head of each word by position, -1 for the root, whose label is not
        read.
    out (int32[2n]): Overwritten with the actions.
    """
    tree, records = gold_tree(heads, labels), new_records(len(out))
    for step in range(len(out)):
        top = ROOT + step
        arc, may_shift = allowed_actions(tree, records, top)
        if arc == NONE and not may_shift:
            return False
        out[step] = SHIFT if arc == NONE else arc
        execute(records, top + 1, top, out[step], 0, 0)
    return True


@jitable
def _is_complete(tree, records, record, word):
    """Whether an item has all its dependents."""
    left, right = records[record, column.LEFT_COUNT], records[record, column.RIGHT_COUNT]
    return left == tree.left_count[word] and right == tree.right_count[word]
