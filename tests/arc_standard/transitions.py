"""Derivations of the transition system."""

import numpy as np
from hypothesis import strategies as st

from spacy_hpyp.arc_standard import configuration as system
from spacy_hpyp.arc_standard.configuration import END, FIRST_RECORD, ROOT, SHIFT

LABELS = 3
ARCS = system.LEFT_ARCS, system.RIGHT_ARCS


def integers(values):
    return np.array(values, dtype=np.int32)


def replay(actions):
    """The heads and labels built by actions."""
    heads, labels = (np.full(len(actions) // 2, -9, dtype=np.int32) for _ in range(2))
    system.tree_of(integers(actions), heads, labels)
    return heads.tolist(), labels.tolist()


def configurations(actions, tags, words):
    """Yield the records and the number of the top one, before the first and after each action."""
    records, shifted = system.new_records(len(actions)), 0
    records[FIRST_RECORD:] = -1
    yield records, ROOT
    for top, action in enumerate(actions, ROOT):
        token = (tags[shifted], words[shifted]) if action == SHIFT else (None, None)
        system.execute(records, top + 1, top, action, *token)
        shifted += action == SHIFT
        yield records, top + 1


@st.composite
def derivations(draw, sentences=1):
    """Actions that build any trees over their words, not only those of the oracle."""
    actions = []
    for words in draw(st.lists(st.integers(1, 8), min_size=1, max_size=sentences)):
        depth, left = 0, words
        while depth or left:
            options = [SHIFT] if left else []
            if depth >= 2:
                options += [system.arc_of(way, label) for label in range(LABELS) for way in ARCS]
            elif depth == 1 and not left:
                options = [END]
            action = draw(st.sampled_from(options))
            depth += 1 if action == SHIFT else -1
            left -= action == SHIFT
            actions.append(action)
    return actions
