"""Derivations: from trees to actions, from actions to records, and back."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.arc_standard.configuration import (
    ACTION,
    BELOW,
    DEPTH,
    END,
    ENDS,
    FIELDS,
    FIRST_RECORD,
    FIRST_SYMBOL,
    LEFT_ARCS,
    NOWHERE,
    RIGHT_ARCS,
    ROOT,
    ROOT_SYMBOL,
    SHIFT,
    SHIFTS,
    TAG,
    WORD,
    begin,
    class_of,
    derivation,
    left_arc,
    reduce,
    right_arc,
    shift,
    tree_of,
)
from spacy_hpyp.arc_standard.oracle import static_oracle
from spacy_hpyp.compiled import jit

LABELS = 3


def integers(values):
    return np.array(values, dtype=np.int32)


def oracle(heads, labels):
    """The actions of the static oracle, or None."""
    actions = np.full(2 * len(heads), -1, dtype=np.int32)
    return actions if static_oracle(integers(heads), integers(labels), actions) else None


def replay(actions):
    heads, labels = (np.full(len(actions) // 2, -9, dtype=np.int32) for _ in range(2))
    tree_of(integers(actions), heads, labels)
    return heads.tolist(), labels.tolist()


def heads_of(tree):
    """The heads of a tree that is given as its left and its right subtrees."""
    heads = []

    def visit(tree):
        left, right = tree
        children = [visit(subtree) for subtree in left]
        word = len(heads)
        heads.append(-1)
        children += [visit(subtree) for subtree in right]
        for child in children:
            heads[child] = word
        return word

    visit(tree)
    return heads


@st.composite
def trees(draw):
    """Heads and labels of a projective tree."""
    leaf = st.just(([], []))
    shapes = st.recursive(
        leaf, lambda t: st.tuples(st.lists(t, max_size=4), st.lists(t, max_size=4)), max_leaves=25
    )
    heads = heads_of(draw(shapes))
    labels = draw(st.lists(st.integers(0, LABELS - 1), min_size=len(heads), max_size=len(heads)))
    return heads, [-1 if head == -1 else label for head, label in zip(heads, labels)]


@st.composite
def derivations(draw, sentences=1):
    """Any actions that make trees of their words, not only those of the oracle."""
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


@jit
def execute(actions, tags, words, records):
    """Write the records of a derivation; returns the last one."""
    used = begin(records)
    top = ROOT
    word = 0
    for action in actions:
        if action == SHIFT:
            shift(records, used, top, tags[word], words[word])
            word += 1
        else:
            reduce(records, used, top, action)
        top = used
        used += 1
    return top


def records_of(actions, tags, words):
    records = np.full((FIRST_RECORD + len(actions), FIELDS), -1, dtype=np.int32)
    return records, execute(integers(actions), integers(tags), integers(words), records)


def read_back(records, last, words):
    actions, tags = np.full(2 * words, -9, dtype=np.int32), np.full(words, -9, dtype=np.int32)
    derivation(records, last, actions, tags)
    return actions.tolist(), tags.tolist()


def stack_of(records, top):
    """The symbols of the items' tags and words, the top one first."""
    items = []
    while top != NOWHERE:
        items.append((int(records[top, TAG]), int(records[top, WORD])))
        top = records[top, BELOW]
    return items


@pytest.mark.parametrize(
    ("heads", "actions"),
    [
        ([-1], [SHIFT, END]),
        ([1, -1], [SHIFT, SHIFT, left_arc(0), END]),
        ([-1, 0], [SHIFT, SHIFT, right_arc(1), END]),
        ([1, -1, 1], [SHIFT, SHIFT, left_arc(0), SHIFT, right_arc(2), END]),
        ([-1, 0, 1], [SHIFT, SHIFT, SHIFT, right_arc(2), right_arc(1), END]),
        ([2, 2, -1], [SHIFT, SHIFT, SHIFT, left_arc(1), left_arc(0), END]),
        ([-1, 2, 0], [SHIFT, SHIFT, SHIFT, left_arc(1), right_arc(2), END]),
    ],
)
def test_derivations_of_short_sentences(heads, actions):
    assert oracle(heads, range(len(heads))).tolist() == actions


@settings(deadline=None, derandomize=True)
@given(trees())
def test_a_sentence_has_a_shift_for_each_word_an_arc_for_each_but_the_root_and_one_end(tree):
    heads, labels = tree
    actions = oracle(heads, labels).tolist()
    classes = [class_of(action) for action in actions]
    assert classes.count(SHIFTS) == len(heads)
    assert classes.count(LEFT_ARCS) == sum(head > word for word, head in enumerate(heads))
    assert classes.count(RIGHT_ARCS) == sum(0 <= head < word for word, head in enumerate(heads))
    assert classes.count(ENDS) == 1
    assert actions[-1] == END


@settings(deadline=None, derandomize=True)
@given(trees())
def test_arcs_are_added_as_soon_as_they_are_valid(tree):
    heads, labels = tree
    stack, missing, word = [], set(range(len(heads))), 0
    for action in oracle(heads, labels):
        arc = None
        if len(stack) >= 2:
            for head, dependent in [(stack[-1], stack[-2]), (stack[-2], stack[-1])]:
                if heads[dependent] == head and not any(
                    heads[other] == dependent for other in missing
                ):
                    arc = head, dependent
        if arc:
            head, dependent = arc
            assert action == (left_arc if dependent < head else right_arc)(labels[dependent])
            stack.remove(dependent)
            missing.remove(dependent)
        else:
            assert action == (SHIFT if word < len(heads) else END)
            stack.append(word)
            word += 1


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 2), (3, 7), (4, 30), (5, 143)])
def test_the_oracle_accepts_projective_trees_with_one_root_and_nothing_else(words, count):
    """The counts are those of projective trees (OEIS A006013)."""
    found = set()
    for heads in itertools.product(range(-1, words), repeat=words):
        labels = [-1 if head == -1 else word % LABELS for word, head in enumerate(heads)]
        actions = oracle(heads, labels)
        if actions is not None:
            assert replay(actions) == (list(heads), labels)
            found.add(tuple(actions.tolist()))
    assert len(found) == count


@settings(deadline=None, derandomize=True)
@given(derivations(sentences=3), st.data())
def test_records_hold_the_words_and_tags_of_the_stack(actions, data):
    n = len(actions) // 2
    tags, words = (data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)) for _ in range(2))
    records, last = records_of(actions, tags, words)
    assert last == len(records) - 1
    symbols = [(FIRST_SYMBOL + tag, FIRST_SYMBOL + word) for tag, word in zip(tags, words)]
    root = ROOT_SYMBOL, ROOT_SYMBOL
    stack, shifted = [root], 0
    assert stack_of(records, ROOT) == stack
    for record, action in enumerate(actions, FIRST_RECORD):
        if action == SHIFT:
            stack.append(symbols[shifted])
            shifted += 1
        elif class_of(action) == LEFT_ARCS:
            del stack[-2]
        else:
            del stack[-1]
        assert stack_of(records, record) == stack[::-1]
        assert records[record, DEPTH] == len(stack)
        assert records[record, ACTION] == action


@settings(deadline=None, derandomize=True)
@given(derivations(sentences=3), st.data())
def test_a_derivation_can_be_read_back_from_any_of_its_records(actions, data):
    n = len(actions) // 2
    tags = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    records, last = records_of(actions, tags, range(n))
    assert read_back(records, last, n) == (actions, tags)
    for record in range(ROOT, last):
        before = actions[: record - ROOT]
        shifted = before.count(SHIFT)
        out, found = np.empty(len(before), dtype=np.int32), np.empty(shifted, dtype=np.int32)
        derivation(records, record, out, found)
        assert out.tolist() == before
        assert found.tolist() == tags[:shifted]


@settings(deadline=None, derandomize=True)
@given(derivations(), derivations(), st.data())
def test_derivations_that_share_records_do_not_disturb_each_other(one, other, data):
    """The second derivation branches off from a record of the first one where both have done the
    same.
    """
    shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))
    shared = data.draw(st.integers(0, shared))
    records = np.zeros((FIRST_RECORD + len(one) + len(other), FIELDS), dtype=np.int32)
    used = begin(records)
    tops = []
    for actions, start, top in [(one, 0, ROOT), (other, shared, ROOT + shared)]:
        word = actions[:start].count(SHIFT)
        for action in actions[start:]:
            before = records[:used].copy()
            if action == SHIFT:
                shift(records, used, top, word, 10 + word)
                word += 1
            else:
                reduce(records, used, top, action)
            np.testing.assert_array_equal(records[:used], before)
            top = used
            used += 1
        tops.append(top)
    for actions, top in zip([one, other], tops):
        n = len(actions) // 2
        assert read_back(records, top, n) == (actions, list(range(n)))
