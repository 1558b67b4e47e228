"""Derivations: from trees to actions, from actions to records, and back."""

import itertools
from collections import defaultdict
from math import comb, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions import LABELS, configurations, derivations, integers, replay

from spacy_hpyp.arc_standard import configuration as system
from spacy_hpyp.arc_standard.configuration import END, FIRST_SYMBOL, LEFT_ARCS, RIGHT_ARCS, SHIFT
from spacy_hpyp.arc_standard.oracle import allowed_actions, gold_tree, static_oracle
from spacy_hpyp.compiled import NONE


def earliest_arcs(heads, labels):
    """The actions that add each arc as soon as it is valid."""
    stack, missing, word = [], set(range(len(heads))), 0
    while missing:
        arc = None
        if len(stack) >= 2:
            for head, dependent in [(stack[-1], stack[-2]), (stack[-2], stack[-1])]:
                if heads[dependent] == head and not any(
                    heads[other] == dependent for other in missing
                ):
                    arc = head, dependent
        if arc:
            head, dependent = arc
            yield system.arc_of(LEFT_ARCS if dependent < head else RIGHT_ARCS, labels[dependent])
            stack.remove(dependent)
            missing.remove(dependent)
        elif word < len(heads):
            yield SHIFT
            stack.append(word)
            word += 1
        else:
            yield END
            return


@pytest.mark.parametrize(("words", "count"), [(1, 1), (2, 2), (3, 7), (4, 30), (5, 143)])
def test_static_oracle_adds_arcs_early_and_accepts_only_projective_trees(words, count):
    """The expected counts are the numbers of projective trees (OEIS A006013)."""
    found = set()
    for heads in itertools.product(range(-1, words), repeat=words):
        labels = [-1 if head == -1 else word % LABELS for word, head in enumerate(heads)]
        actions = np.full(2 * words, -1, dtype=np.int32)
        if static_oracle(integers(heads), integers(labels), actions):
            assert replay(actions) == (list(heads), labels)
            assert actions.tolist() == list(earliest_arcs(heads, labels))
            found.add(tuple(actions.tolist()))
    assert len(found) == count


def stack_of(records, top):
    """The symbols of the items' tags and words, from the top down."""
    items = []
    while top != system.NOWHERE:
        items.append((int(records[top, system.TAG]), int(records[top, system.WORD])))
        top = records[top, system.BELOW]
    return items


@settings(deadline=None, derandomize=True)
@given(derivations(sentences=3), st.data())
def test_records_hold_the_stack_and_all_previous_actions(actions, data):
    n = len(actions) // 2
    tags, words = (data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)) for _ in range(2))
    stack, shifted = [(system.ROOT_SYMBOL, system.ROOT_SYMBOL)], 0
    for done, (records, top) in enumerate(configurations(actions, tags, words)):
        if done:
            action = actions[done - 1]
            if action == SHIFT:
                stack.append((FIRST_SYMBOL + tags[shifted], FIRST_SYMBOL + words[shifted]))
                shifted += 1
            else:
                del stack[-2 if system.class_of(action) == LEFT_ARCS else -1]
            assert records[top, system.ACTION] == action
        assert stack_of(records, top) == stack[::-1]
        assert records[top, system.DEPTH] == len(stack)
        found = np.full(done, -9, dtype=np.int32), np.full(shifted, -9, dtype=np.int32)
        system.derivation(records, top, *found)
        assert [part.tolist() for part in found] == [actions[:done], tags[:shifted]]


def labels_of(heads):
    """A distinct label for every arc."""
    return [-1 if head == -1 else word for word, head in enumerate(heads)]


def all_action_sequences(words):
    """All action sequences by the heads that they build, with labels as in `labels_of`."""
    trees = defaultdict(set)

    def grow(actions, stack, word):
        if not stack and word == words:
            trees[tuple(replay(actions)[0])].add(tuple(actions))
            return
        if word < words:
            grow([*actions, SHIFT], [*stack, word], word + 1)
        if len(stack) >= 2:
            *rest, second, first = stack
            grow([*actions, system.arc_of(LEFT_ARCS, second)], [*rest, first], word)
            grow([*actions, system.arc_of(RIGHT_ARCS, first)], [*rest, second], word)
        if len(stack) == 1 and word == words:
            grow([*actions, END], [], word)

    grow([], [], 0)
    return trees


def reachable_derivations(heads, labels):
    """All derivations that the non-deterministic oracle allows."""
    n, found = len(heads), []
    tree, records = gold_tree(integers(heads), integers(labels)), system.new_records(2 * n)

    def grow(actions, top, used):
        if len(actions) == 2 * n:
            found.append(tuple(actions))
            return
        arc, may_shift = allowed_actions(tree, records, top)
        for action in (SHIFT,) * int(may_shift) + (int(arc),) * int(arc != NONE):
            system.execute(records, used, top, action, 0, 0)
            grow([*actions, action], used, used + 1)

    grow([], system.ROOT, system.FIRST_RECORD)
    return found


def count_derivations(heads):
    """The product of (l + r)! / (l! r!) over words with l left and r right dependents."""
    dependents = [
        [other for other, head in enumerate(heads) if head == word] for word in range(len(heads))
    ]
    return prod(
        comb(len(own), sum(other < word for other in own)) for word, own in enumerate(dependents)
    )


@pytest.mark.parametrize("words", [3, 5])
def test_nondeterministic_oracle_reaches_exactly_the_derivations_of_a_tree(words):
    sequences = all_action_sequences(words)
    for heads, expected in sequences.items():
        found = reachable_derivations(heads, labels_of(heads))
        assert len(found) == len(set(found)) == count_derivations(heads)
        assert set(found) == expected
    assert len(sequences) == {3: 7, 5: 143}[words]


def test_non_projective_heads_have_no_derivation():
    projective = set(all_action_sequences(4))
    for heads in itertools.product(range(-1, 4), repeat=4):
        if heads not in projective:
            assert reachable_derivations(heads, labels_of(heads)) == []
