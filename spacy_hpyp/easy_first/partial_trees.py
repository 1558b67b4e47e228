"""Partial trees: what easy-first parsing joins (Ma et al. 2013, section 2).

A sentence of n words begins as n partial trees; an action makes one of two neighbours a child of the other.
Words are attached from the inside out: a partial tree covers consecutive words.

A partial tree is a record of what features read of it, with the records of its head before the last child
came, and of that child: so a whole tree can be read from its last record. Trees with the same arcs share a
record, whatever order they were made in and whatever state they are in. Record 0 stands beyond the ends of a
sentence.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, overwrite, struct
from ..inference.memo import mixed

#: Columns of a record: positions of words, `NONE` where there is none: the head and its children (outermost
#: and next, on each side).
HEAD, LEFT, RIGHT, LEFT2, RIGHT2 = range(5)
#: The number of children on each side, and the set of their tags, see `bit_of`.
LEFT_COUNT, RIGHT_COUNT, LEFT_TAGS, RIGHT_TAGS = range(5, 9)
#: What a guide expected of the children that are there, on each side, in thousandths.
LEFT_SHARE, RIGHT_SHARE = range(9, 11)
#: The record before the last child was attached, and that child's; the words that it covers, from FIRST to
#: END - 1.
BASE, CHILD, FIRST, END = range(11, 15)
#: How many columns there are. Of two that are there for each side, that of the right stands behind that of
#: the left.
COLUMNS = 15

#: What an action does with two neighbours: the left one becomes a child of the right one, or the right one of
#: the left one.
LEFT_ARC, RIGHT_ARC = 0, 1
#: How much is a thousand thousandths.
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
    # Of each record a hash of what features may read of it: all that stands before `BASE`, and what it
    # covers.
    looks: np.ndarray  # uint64[*]
    # Where a record with some hash is; 0 where there is none. Their number is a power of two.
    slots: np.ndarray  # int32[*]
    size: np.ndarray  # int64[1]: the number of records


def new_forest(most: int) -> Forest:
    """Return room for `most` partial trees."""
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


@jit
def mark_of_arc(head, child):
    """A hash of an arc between two positions."""
    code = np.uint64((head << _WORD_BITS) ^ (child + 1)) * _MIX
    code ^= code >> np.uint64(29)
    code *= _STIR
    return code ^ (code >> np.uint64(32))


@jit
def bit_of(symbol):
    """What stands for a symbol in a set, which two may share."""
    return np.int32(1 << (symbol % _BITS))


@jit
def begin_records(records, n):
    """Write the records of n words without children, and before them that of what is beyond the ends."""
    for record in range(n + 1):
        records[record, :] = 0
        records[record, HEAD : RIGHT2 + 1] = NONE
        records[record, HEAD] = record - 1
        records[record, FIRST] = record - 1
        records[record, END] = record


@jit
def add_child(records, record, side, child, tag, share):
    """Record a new outermost child on a side (0 left, 1 right), its tag, and its share in thousandths."""
    records[record, LEFT2 + side] = records[record, LEFT + side]
    records[record, LEFT + side] = child
    records[record, LEFT_COUNT + side] += 1
    records[record, LEFT_TAGS + side] |= bit_of(tag)
    records[record, LEFT_SHARE + side] += share


@jit
def begin_forest(forest, n):
    """Make a partial tree of each of n words. Record i + 1 is that of word i."""
    forest.slots[:] = 0
    begin_records(forest.records, n)
    for record in range(n + 1):
        forest.marks[record] = forest.looks[record] = mark_of_arc(record, record)
    forest.size[0] = n + 1


@jit
def attach(forest, head, child, action, tag, share):
    """Make a partial tree (a record) the outermost child of another. Returns the new record."""
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
    # Trees that differ in nothing that features read have the same scores.
    records[record, BASE] = records[record, CHILD] = 0
    forest.looks[record] = mixed(records[record])
    records[record, BASE] = head
    records[record, CHILD] = child
    return record


@jit
def read_heads(forest, root, heads, pending):
    """Read the heads of a tree from its record into `heads` (int32[n]); `pending` (int32[n]) is workspace."""
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
