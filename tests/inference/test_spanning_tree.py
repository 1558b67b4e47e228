"""The best tree with one root, against all trees."""

from itertools import product

import numpy as np
import pytest

from spacy_hpyp.compiled import NONE
from spacy_hpyp.inference.spanning_tree import maximum_spanning_tree


def is_tree(heads):
    """Whether heads are those of a tree with one child of the root."""
    for word in range(len(heads)):
        above = word
        for _ in heads:
            above = NONE if above == NONE else heads[above]
        if above != NONE:
            return False
    return list(heads).count(NONE) == 1


def total(scores, heads):
    return sum(scores[word if head == NONE else head, word] for word, head in enumerate(heads))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_no_tree_with_one_root_is_better(n):
    trees = [heads for heads in product(range(NONE, n), repeat=n) if is_tree(heads)]
    assert len(trees) == n ** (n - 1)
    rng = np.random.default_rng(n)
    for i in range(20):
        # Some scores are equal in every other round.
        scores = rng.normal(size=(n, n)) if i % 2 else rng.integers(0, 3, size=(n, n)).astype(float)
        heads, found = maximum_spanning_tree(scores)
        assert is_tree(heads)
        assert found == pytest.approx(total(scores, heads))
        assert found == pytest.approx(max(total(scores, tree) for tree in trees))


def test_cycles_inside_cycles_are_resolved():
    # The best head of each word is in its own pair, and of each pair in the other one.
    scores = np.array([[0.0, 9, 5, 5], [9, 0, 5, 6], [5, 5, 0, 9], [6, 5, 9, 0]])
    heads, found = maximum_spanning_tree(scores)
    assert is_tree(heads)
    assert found == 9 + 6 + 9 + 0


def test_arcs_may_cross_and_long_sentences_have_one_root():
    rng = np.random.default_rng(0)
    scores = rng.random((60, 60))
    np.fill_diagonal(scores, 5.0)
    heads, _ = maximum_spanning_tree(scores)
    assert is_tree(heads)
    crossing = np.zeros((4, 4))
    for head, word in ((2, 0), (3, 1), (3, 2)):
        crossing[head, word] = 1.0
    crossing[3, 3] = 1.0
    assert maximum_spanning_tree(crossing)[0].tolist() == [2, 3, 3, NONE]
