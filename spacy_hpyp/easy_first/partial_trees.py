"""Partial trees of easy-first parsing (Ma et al. 2013, section 2).

A sentence of n words begins as n partial trees. An action makes one of two neighbours a child of
the other. A partial tree covers consecutive words, and its children are attached from the inside
out.

A record holds the fields of a partial tree that features read. Record 0 is beyond the ends of a
sentence.
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
#: The words covered, FIRST to END - 1.
FIRST, END = 11, 12
#: The number of columns. The column for the right side follows that for the left side.
COLUMNS = 13

#: Columns by the names of features: a child, and what is known of the children on a side.
CHILDREN = {"left": LEFT, "right": RIGHT, "left2": LEFT2, "right2": RIGHT2}
FIELDS = {
    **{"left.count": LEFT_COUNT, "right.count": RIGHT_COUNT},
    **{"left.tags": LEFT_TAGS, "right.tags": RIGHT_TAGS},
}

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
    looks: np.ndarray  # uint64[*]: a hash of each record
    size: np.ndarray  # int64[1]: the number of records


def new_forest(most: int) -> Forest:
    """Return a forest with room for `most` records."""
    return Forest(
        np.empty((most, COLUMNS), dtype=np.int32),
        np.empty(most, dtype=np.uint64),
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
    """Record an outermost child on a side (0 left, 1 right), its tag and share (thousandths)."""
    records[record, LEFT2 + side] = records[record, LEFT + side]
    records[record, LEFT + side] = child
    records[record, LEFT_COUNT + side] += 1
    records[record, LEFT_TAGS + side] |= bit_of(tag)
    records[record, LEFT_SHARE + side] += share


@jitable
def begin_forest(forest, n):
    """Make a partial tree of each of n words. Record i + 1 is that of word i."""
    begin_records(forest.records, n)
    for record in range(n + 1):
        forest.looks[record] = mixed(forest.records[record])
    forest.size[0] = n + 1


@jitable
def attach(forest, head, child, action, tag, share):
    """Attach a record as the outermost child of another. Return the record of the new tree.

    share (float): The guide's probability of the arc.
    """
    records, record = forest.records, np.int32(forest.size[0])
    forest.size[0] += 1
    overwrite(records[record], records[head])
    # The side of a child is the number of the action.
    add_child(records, record, action, records[child, HEAD], tag, np.int32(WHOLE * share))
    records[record, FIRST + action] = records[child, FIRST + action]
    forest.looks[record] = mixed(records[record])
    return record
