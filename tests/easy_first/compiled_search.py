"""Conversion of states and actions of the compiled search to those of `plain_parser`."""

import numpy as np
from compiling import compiled
from plain_parser import Tree

from spacy_hpyp.easy_first import parsing
from spacy_hpyp.easy_first.parsing import BEFORE, FROM, MARGIN, WHAT
from spacy_hpyp.easy_first.partial_trees import BASE, CHILD, FIRST, HEAD, LEFT_ARC


def begin(scorer, sentence, states):
    n = len(sentence.symbols)
    compiled(parsing.begin)(states, n)
    compiled(parsing.append_words)(scorer, sentence, states, 0, 0, 0, n)


def advance(scorer, sentence, states, half, size, length, heads, margin):
    count = compiled(parsing.find_best)(
        states, half, size, length, states.width, heads, margin, None
    )
    compiled(parsing.follow)(scorer, sentence, states, half, length, count)
    return count


def search(scorer, sentence, states):
    """Return the first state of the final beam and the size of the beam."""
    heads = np.empty((states.width, len(sentence.symbols)), dtype=np.int32)
    return parsing.search(scorer, sentence, states, heads)


def tree_of(forest, record):
    """Convert a record to a partial tree of `plain_parser`."""
    records = forest.records
    left, right = [], []
    while records[record, BASE] != 0:
        child = tree_of(forest, records[record, CHILD])
        if child.head < records[record, HEAD]:
            left.insert(0, child)
        else:
            right.append(child)
        record = records[record, BASE]
    # The most recently attached children are outermost.
    return Tree(int(records[record, HEAD]), tuple(left[::-1]), tuple(right[::-1]))


def state_of(states, state, length):
    """Convert a state to one of `plain_parser`."""
    records = states.trees[state, MARGIN : MARGIN + length]
    return tuple(tree_of(states.forest, int(record)) for record in records)


def steps_of(states, last):
    """Convert a recorded sequence of actions to one of `plain_parser`."""
    windows = []
    while last != 0:
        windows.append((states.actions[last, FROM:WHAT], int(states.actions[last, WHAT])))
        last = states.actions[last, BEFORE]
    found = []
    firsts = None
    for window, action in reversed(windows):
        if firsts is None:
            firsts = list(
                range(1 + int(states.forest.records[: states.forest.size[0], HEAD].max()))
            )
        left = int(states.forest.records[window[2], FIRST])
        place = firsts.index(left)
        # Two joined neighbours begin at the left one's position.
        del firsts[place + 1]
        found.append((place, action))
    assert all(action in (LEFT_ARC, 1 - LEFT_ARC) for _, action in found)
    return tuple(found)
