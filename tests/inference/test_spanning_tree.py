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


def best_tree(scores):
    """The heads of the best tree of all arcs: at h, d is that of the arc from h to d, at d, d that of d as
    the root's child.
    """
    place, word = (each.ravel() for each in np.indices(scores.shape))
    head = np.where(place == word, NONE, place)
    chosen = maximum_spanning_tree(head, word, scores.ravel())
    assert word[chosen].tolist() == list(range(len(scores)))
    return head[chosen].tolist()


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
        heads = best_tree(scores)
        assert is_tree(heads)
        assert total(scores, heads) == pytest.approx(max(total(scores, tree) for tree in trees))


def test_cycles_inside_cycles_are_resolved():
    # The best head of each word is in its own pair, and of each pair in the other one.
    scores = np.array([[0.0, 9, 5, 5], [9, 0, 5, 6], [5, 5, 0, 9], [6, 5, 9, 0]])
    heads = best_tree(scores)
    assert is_tree(heads)
    assert total(scores, heads) == 9 + 6 + 9 + 0


def test_arcs_may_cross_and_long_sentences_have_one_root():
    rng = np.random.default_rng(0)
    scores = rng.random((60, 60))
    np.fill_diagonal(scores, 5.0)
    assert is_tree(best_tree(scores))
    crossing = np.zeros((4, 4))
    for head, word in ((2, 0), (3, 1), (3, 2)):
        crossing[head, word] = 1.0
    crossing[3, 3] = 1.0
    assert best_tree(crossing) == [2, 3, 3, NONE]


def test_arcs_that_are_not_there_are_in_no_tree():
    rng = np.random.default_rng(0)
    n, words = 6, np.arange(6)
    for _ in range(20):
        head = np.concatenate([np.full(n, NONE), rng.integers(0, n, size=20)])
        word = np.concatenate([words, rng.integers(0, n, size=20)])
        # There is a tree: each word is the head of the next one.
        head, word = np.append(head, words[:-1]), np.append(word, words[1:])
        scores = np.full((n, n), -1e6)
        score = rng.normal(size=len(word))
        np.maximum.at(scores, (np.where(head == NONE, word, head), word), np.where(head == word, -1e6, score))
        chosen = maximum_spanning_tree(head, word, score)
        assert is_tree(head[chosen])
        assert total(scores, head[chosen]) == pytest.approx(total(scores, best_tree(scores)))
