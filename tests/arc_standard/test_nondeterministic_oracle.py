"""All derivations of a tree."""

import itertools
from collections import defaultdict
from math import comb, prod

import numpy as np
import pytest

from spacy_hpyp.arc_standard.configuration import (
    END,
    FIELDS,
    FIRST_RECORD,
    LEFT_ARCS,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    begin,
    class_of,
    left_arc,
    reduce,
    right_arc,
    shift,
    tree_of,
)
from spacy_hpyp.arc_standard.oracle import NO_ARC, allowed_actions, gold_tree


def integers(values):
    return np.array(values, dtype=np.int32)


def labels_of(heads):
    """A label for every arc that says whose it is."""
    return [-1 if head == -1 else word for word, head in enumerate(heads)]


def replay(actions):
    heads, labels = (np.full(len(actions) // 2, -9, dtype=np.int32) for _ in range(2))
    tree_of(integers(actions), heads, labels)
    return heads.tolist(), labels.tolist()


def all_action_sequences(words):
    """Everything that the system can do with a sentence, by the tree that it gives; with
    `labels_of` it as labels.
    """
    trees = defaultdict(set)

    def grow(actions, stack, word):
        if not stack and word == words:
            trees[tuple(replay(actions)[0])].add(tuple(actions))
            return
        if word < words:
            grow([*actions, SHIFT], [*stack, word], word + 1)
        if len(stack) >= 2:
            *rest, second, first = stack
            grow([*actions, left_arc(second)], [*rest, first], word)
            grow([*actions, right_arc(first)], [*rest, second], word)
        if len(stack) == 1 and word == words:
            grow([*actions, END], [], word)

    grow([], [], 0)
    return trees


def reachable_derivations(heads, labels):
    """Everything that the non-deterministic oracle allows."""
    n = len(heads)
    tree = gold_tree(integers(heads), integers(labels))
    records = np.zeros((FIRST_RECORD + 2 * n, FIELDS), dtype=np.int32)
    found = []

    def grow(actions, top, used):
        if len(actions) == 2 * n:
            found.append(tuple(actions))
            return
        arc, may_shift = allowed_actions(tree, records, top)
        if may_shift:
            shift(records, used, top, 0, 0)
            grow([*actions, SHIFT], used, used + 1)
        if arc != NO_ARC:
            reduce(records, used, top, arc)
            grow([*actions, arc], used, used + 1)

    grow([], ROOT, begin(records))
    return found


def count_derivations(heads):
    """The product of (l + r)! / (l! r!) over words with l left and r right dependents."""
    dependents = [
        [other for other, head in enumerate(heads) if head == word] for word in range(len(heads))
    ]
    return prod(
        comb(len(own), sum(other < word for other in own)) for word, own in enumerate(dependents)
    )


@pytest.mark.parametrize("words", [1, 2, 3, 4, 5])
def test_all_action_sequences_that_give_a_tree_and_no_others_are_reachable(words):
    sequences = all_action_sequences(words)
    for heads, expected in sequences.items():
        found = reachable_derivations(heads, labels_of(heads))
        assert len(found) == len(set(found)) == count_derivations(heads)
        assert set(found) == expected
    assert len(sequences) == {1: 1, 2: 2, 3: 7, 4: 30, 5: 143}[words]


@pytest.mark.parametrize("words", [3, 4, 5])
def test_valid_right_arcs_are_never_delayed_and_left_arcs_while_right_dependents_are_to_come(words):
    """As the paper has it; nothing about it is assumed in `all_action_sequences`."""
    for heads, sequences in all_action_sequences(words).items():
        delayed = False
        for actions in sequences:
            stack, missing, word = [], set(range(words)), 0
            for action in actions:
                valid = None
                if len(stack) >= 2:
                    for head, dependent in [(stack[-1], stack[-2]), (stack[-2], stack[-1])]:
                        if heads[dependent] == head and not any(
                            heads[other] == dependent for other in missing
                        ):
                            valid = LEFT_ARCS if dependent < head else RIGHT_ARCS
                if valid is not None and action == SHIFT:
                    assert valid == LEFT_ARCS
                    assert any(heads[other] == stack[-1] for other in range(word, words))
                    delayed = True
                if action == SHIFT:
                    stack.append(word)
                    word += 1
                else:
                    dependent = stack.pop(-2 if class_of(action) == LEFT_ARCS else -1)
                    missing.remove(dependent)
        assert delayed == (len(sequences) > 1)


def test_heads_that_are_no_projective_tree_have_no_derivation():
    projective = set(all_action_sequences(4))
    for heads in itertools.product(range(-1, 4), repeat=4):
        if heads not in projective:
            assert reachable_derivations(heads, labels_of(heads)) == []
