"""Derivations of the transition system."""

import numpy as np
from hypothesis import strategies as st

from spacy_hpyp.arc_standard.configuration import (
    END,
    FIELDS,
    FIRST_RECORD,
    ROOT,
    SHIFT,
    begin,
    left_arc,
    reduce,
    right_arc,
    shift,
    tree_of,
)

LABELS = 3


def integers(values):
    return np.array(values, dtype=np.int32)


def replay(actions):
    """The heads and labels built by actions."""
    heads, labels = (np.full(len(actions) // 2, -9, dtype=np.int32) for _ in range(2))
    tree_of(integers(actions), heads, labels)
    return heads.tolist(), labels.tolist()


def step(records, used, top, action, tag, word):
    """Write the record of an action at `used`."""
    if action == SHIFT:
        shift(records, used, top, tag, word)
    else:
        reduce(records, used, top, action)


def configurations(actions, tags, words):
    """Yield the records and the number of the top one, before the first and after each action."""
    records = np.full((FIRST_RECORD + len(actions), FIELDS), -1, dtype=np.int32)
    used, top, shifted = begin(records), ROOT, 0
    yield records, top
    for action in actions:
        token = (tags[shifted], words[shifted]) if action == SHIFT else (None, None)
        step(records, used, top, action, *token)
        shifted += action == SHIFT
        top, used = used, used + 1
        yield records, top


@st.composite
def derivations(draw, sentences=1):
    """Actions that build any trees over their words, not only those of the oracle."""
    actions = []
    for words in draw(st.lists(st.integers(1, 8), min_size=1, max_size=sentences)):
        depth, left = 0, words
        while depth or left:
            options = [SHIFT] if left else []
            if depth >= 2:
                options += [arc(label) for label in range(LABELS) for arc in (left_arc, right_arc)]
            elif depth == 1 and not left:
                options = [END]
            action = draw(st.sampled_from(options))
            depth += 1 if action == SHIFT else -1
            left -= action == SHIFT
            actions.append(action)
    return actions
