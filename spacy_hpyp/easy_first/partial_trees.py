"""Partial trees of easy-first parsing (Ma et al. 2013, section 2).

A sentence of n words begins as n partial trees. An action makes one of two neighbours a child of
the other. A partial tree covers consecutive words, and its children are attached from the inside
out.

A record holds the fields of a partial tree that features read, and points to two older records: the
head before its last child was attached, and that child. So the last record holds a whole tree.
Trees with the same arcs share a record in all states. Record 0 is beyond the ends of a sentence.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jitable, overwrite, struct
from ..memo import mixed

#: Columns of a record: positions of the head and of its outermost and next children on each side,
#: or `NONE`.
HEAD, LEFT, RIGHT, LEFT2, RIGHT2 = range(5)
#: The number of children on each side, and the set of their tags, see `bit_of`.
LEFT_COUNT, RIGHT_COUNT, LEFT_TAGS, RIGHT_TAGS = range(5, 9)
#: The guide's probability of the attached children, summed on each side, in thousandths.
LEFT_SHARE, RIGHT_SHARE = range(9, 11)
#: The record before the last child was attached, and that child's; the words covered, FIRST to END
#: - 1.
BASE, CHILD, FIRST, END = range(11, 15)
#: The number of columns. The column for the right side follows that for the left side.
COLUMNS = 15

#: Actions: the left neighbour becomes a child of the right one, or the right one of the left one.
LEFT_ARC, RIGHT_ARC = 0, 1
#: A probability of 1, in thousandths.
WHOLE = 1000

_WORD_BITS = 20
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xBF58476D1CE4E5B9)
_BITS = 31


@struct
class Forest(NamedTuple):
    """The partial trees of a sentence."""

    records: np.ndarray  # int32[*, columns]: see the module's constants
    marks: np.ndarray  # uint64[*]: of each record a hash of its words and arcs
    # A hash of the fields of each record that features may read: all before `BASE`, and the words
    # covered; of an initial tree, its mark.
    looks: np.ndarray  # uint64[*]
    # A hash table of records with children; 0 is a free slot, and the number of slots 2**i.
    slots: np.ndarray  # int32[*]
    size: np.ndarray  # int64[1]: the number of records


def new_forest(most: int) -> Forest:
    """Return a forest with room for `most` records."""
    slots = 1
    while slots < 2 * most:
        slots *= 2
    return Forest(
        np.empty((most, COLUMNS), dtype=np.int32),
        np.empty(most, dtype=np.uint64),
        np.empty(most, dtype=np.uint64),
        np.empty(slots, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@jitable
def mark_of_arc(head, child):
    """Return a hash of an arc between two positions."""
    code = np.uint64((head << _WORD_BITS) ^ (child + 1)) * _MIX
    code ^= code >> np.uint64(29)
    code *= _STIR
    return code ^ (code >> np.uint64(32))


@jitable
def bit_of(symbol):
    """Return the bit of a symbol in a set; two symbols may share one."""
    return np.int32(1 << (symbol % _BITS))


@jitable
def begin_records(records, n):
    """Write record 0 and the records of n words without children."""
    for record in range(n + 1):
        records[record, :] = 0
        records[record, HEAD : RIGHT2 + 1] = NONE
        records[record, HEAD] = record - 1
        records[record, FIRST] = record - 1
        records[record, END] = record


@jitable
def add_child(records, record, side, child, tag, share):
    """Record a new outermost child on a side (0 left, 1 right), its tag, and its share in
    thousandths.
    """
    records[record, LEFT2 + side] = records[record, LEFT + side]
    records[record, LEFT + side] = child
    records[record, LEFT_COUNT + side] += 1
    records[record, LEFT_TAGS + side] |= bit_of(tag)
    records[record, LEFT_SHARE + side] += share


@jitable
def begin_forest(forest, n):
    """Make a partial tree of each of n words. Record i + 1 is that of word i."""
    forest.slots[:] = 0
    begin_records(forest.records, n)
    for record in range(n + 1):
        forest.marks[record] = forest.looks[record] = mark_of_arc(record, record)
    forest.size[0] = n + 1


@jitable
def attach(forest, head, child, action, tag, share):
    """Attach a record as the outermost child of another. Return the record with these arcs."""
    records = forest.records
    position = records[child, HEAD]
    mark = forest.marks[head] ^ forest.marks[child] ^ mark_of_arc(records[head, HEAD], position)
    mask = np.uint64(len(forest.slots) - 1)
    slot = mark & mask
    while forest.slots[slot] != 0:
        if forest.marks[forest.slots[slot]] == mark:
            return forest.slots[slot]
        slot = (slot + np.uint64(1)) & mask
    record = np.int32(forest.size[0])
    forest.size[0] += 1
    forest.slots[slot] = record
    forest.marks[record] = mark
    overwrite(records[record], records[head])
    # The side of a child is the number of the action.
    add_child(records, record, action, position, tag, share)
    records[record, FIRST + action] = records[child, FIRST + action]
    # Two trees with the same look have the same features.
    records[record, BASE] = records[record, CHILD] = 0
    forest.looks[record] = mixed(records[record])
    records[record, BASE] = head
    records[record, CHILD] = child
    return record


@jitable
def read_heads(forest, root, heads, pending):
    """Read the heads of a tree from its record into `heads` (int32[n]); `pending` (int32[n]) is
    workspace.
    """
    records = forest.records
    heads[records[root, HEAD]] = NONE
    pending[0] = root
    size = 1
    while size > 0:
        size -= 1
        record = pending[size]
        while records[record, BASE] != 0:
            child = records[record, CHILD]
            heads[records[child, HEAD]] = records[record, HEAD]
            pending[size] = child
            size += 1
            record = records[record, BASE]
