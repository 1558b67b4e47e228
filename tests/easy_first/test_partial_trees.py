"""Partial trees: records hold the values that features read, in any order of construction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_elements import bits
from plain_parser import Tree, arcs_of, random_derivation, states_of

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.partial_trees import (
    END,
    FIRST,
    HEAD,
    LEFT,
    LEFT2,
    LEFT_ARC,
    LEFT_COUNT,
    LEFT_SHARE,
    LEFT_TAGS,
    RIGHT,
    RIGHT2,
    RIGHT_COUNT,
    RIGHT_SHARE,
    RIGHT_TAGS,
    attach,
    begin_forest,
    mark_of_arc,
    new_forest,
)

ROOM = 20_000


class Grove:
    """A forest, the tags of its words, and a guide's probability of each arc."""

    def __init__(self, n, seed=0):
        rng = np.random.default_rng(seed)
        self.n = n
        self.tags = rng.integers(0, 70, n).tolist()
        self.shares = (rng.integers(0, 300, (n, n)) / 1024).tolist()
        self.forest = new_forest(ROOM)
        begin_forest(self.forest, n)

    def attach(self, head, child, action):
        """Join two records."""
        records = self.forest.records
        position = records[child, HEAD]
        share = self.shares[records[head, HEAD]][position]
        return attach(self.forest, head, child, action, self.tags[position], share)

    def join(self, records, step):
        """Apply an action to a list of records."""
        place, action = step
        pair = records[place : place + 2]
        head, child = pair[::-1] if action == LEFT_ARC else pair
        records[place : place + 2] = [self.attach(head, child, action)]

    def make(self, tree, rng):
        """Make the record of a tree, attaching its children in random order, on each side from the
        inside out.
        """
        record = tree.head + 1
        left, right = list(tree.left), list(tree.right)
        while left or right:
            if left and (not right or rng.random() < 0.5):
                child, action = left.pop(), LEFT_ARC
            else:
                child, action = right.pop(0), 1 - LEFT_ARC
            record = self.attach(record, self.make(child, rng), action)
        return record

    def assert_is(self, record, tree):
        """Assert that a record describes a tree."""
        row = self.forest.records[record]
        assert row[HEAD] == tree.head
        assert (row[FIRST], row[END]) == (tree.words[0], tree.words[-1] + 1)
        assert tree.words == list(range(row[FIRST], row[END]))
        for children, columns in (
            (tree.left, (LEFT, LEFT2, LEFT_COUNT, LEFT_TAGS, LEFT_SHARE)),
            (tree.right[::-1], (RIGHT, RIGHT2, RIGHT_COUNT, RIGHT_TAGS, RIGHT_SHARE)),
        ):
            outermost, second, count, tags, share = row[list(columns)].tolist()
            positions = [child.head for child in children]
            assert [outermost, second] == [*positions, NONE, NONE][:2]
            assert count == len(positions)
            assert tags == bits(self.tags[position] for position in positions)
            shares = [int(1000 * self.shares[tree.head][position]) for position in positions]
            assert share == sum(shares)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_sentence_starts_with_one_tree_per_word(n):
    grove = Grove(n)
    assert grove.forest.size[0] == n + 1
    for word in range(n):
        grove.assert_is(word + 1, Tree(word))


@given(st.integers(2, 12), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_records_describe_their_trees_after_every_action(n, seed):
    grove = Grove(n, seed)
    records = list(range(1, n + 1))
    for step, state in random_derivation(n, np.random.default_rng(seed)):
        grove.join(records, step)
        for record, tree in zip(records, state, strict=True):
            grove.assert_is(record, tree)


@given(st.integers(2, 12), st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_records_do_not_depend_on_the_order_of_construction(n, seed):
    rng = np.random.default_rng(seed)
    grove = Grove(n, seed)
    steps = random_derivation(n, rng)
    (tree,), trees = steps[-1][1], list(range(1, n + 1))
    for step, _ in steps:
        grove.join(trees, step)
    (record,), (records, looks, size) = trees, grove.forest
    for _ in range(5):
        other = grove.make(tree, rng)
        assert np.array_equal(records[other], records[record])
    grove.assert_is(record, tree)
    # Trees look alike if and only if they have the same record.
    distinct = {(row.tobytes(), look) for row, look in zip(records[: size[0]], looks)}
    assert len(distinct) == len({row for row, _ in distinct}) == len({look for _, look in distinct})


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_marks_are_equal_if_and_only_if_arcs_are_equal(n):
    marks = {}
    for state in states_of(n):
        mark = 0
        for head, child in arcs_of(state):
            mark ^= int(mark_of_arc(head, child))
        marks.setdefault(mark, set()).add(arcs_of(state))
    assert all(len(found) == 1 for found in marks.values())
    assert len(marks) == len({arcs_of(state) for state in states_of(n)})
