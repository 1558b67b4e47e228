"""Conversion of states and actions of the compiled search to those of `plain_parser`."""

from functools import reduce

from compiling import compiled
from plain_parser import first_state, join

from spacy_hpyp.easy_first import parsing
from spacy_hpyp.easy_first.arcs import L
from spacy_hpyp.easy_first.parsing import BEFORE, FROM, MARGIN
from spacy_hpyp.easy_first.partial_trees import END, FIRST, HEAD


def advance(scorer, sentence, states, half, size, length, heads, margin):
    count = compiled(parsing.find_best)(
        states, half, size, length, states.width, heads, margin, None
    )
    compiled(parsing.follow)(scorer, sentence, states, half, length, count)
    return count


def state_of(states, state, length):
    """Convert a state to one of `plain_parser`, by its actions."""
    trees = reduce(join, steps_of(states, states.last[state]), first_state(words_of(states)))
    records = states.forest.records[states.trees[state, MARGIN : MARGIN + length]]
    assert records[:, [HEAD, FIRST, END]].tolist() == [
        [tree.head, tree.words[0], tree.words[-1] + 1] for tree in trees
    ]
    return trees


def words_of(states):
    """The number of words of the sentence."""
    return int(states.forest.records[: states.forest.size[0], END].max())


def steps_of(states, last):
    """Convert a recorded sequence of actions to one of `plain_parser`."""
    windows = []
    while last != 0:
        windows.append(states.actions[last, FROM:].tolist())
        last = states.actions[last, BEFORE]
    found, firsts = [], list(range(words_of(states)))
    for *window, action in reversed(windows):
        place = firsts.index(states.forest.records[window[L], FIRST])
        # Two joined neighbours begin at the left one's position.
        del firsts[place + 1]
        found.append((place, action))
    return tuple(found)
