"""The chart compared with enumeration of all projective trees of short sentences, and its trees of
longer sentences.
"""

from itertools import product

import numpy as np
import pytest
from projective_trees import is_projective_tree, projective_trees, random_scores, score

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.chart import (
    best_tree,
    inside,
    k_best,
    marginals,
    minimum_bayes_risk_tree,
)

TREES = {n: np.array(projective_trees(n), dtype=np.int32) for n in range(1, 6)}

#: Scores of sentences of up to five words: with small or large differences, and with or without
#: siblings and impossible events.
KINDS = list(product((2.0, 300.0), (0.0, 0.1), (True, False)))
CASES = {
    n: [
        random_scores(n, 8 * n + seed, scale=scale, impossible=rate, with_siblings=siblings)
        for seed, (scale, rate, siblings) in enumerate(KINDS)
    ]
    for n in TREES
}
each_length = pytest.mark.parametrize("n", CASES)
LONG = [random_scores(n, n, impossible=impossible) for n in (13, 41) for impossible in (0.0, 0.1)]


def enumerate_scores(n, scores):
    """The score of each tree in `TREES`."""
    return np.array([score(scores, heads) for heads in TREES[n]])


def probabilities(found):
    """The probabilities of trees from their scores, at least one of which is finite."""
    weights = np.exp(found - found.max())
    return weights / weights.sum()


def close(found, expected):
    return np.allclose(found, expected, rtol=1e-12, atol=1e-9)


@each_length
def test_best_tree_has_the_highest_score(n):
    for scores in CASES[n]:
        expected = enumerate_scores(n, scores)
        heads, found = best_tree(scores)
        assert close(found, expected.max())
        assert is_projective_tree(heads.tolist())
        assert close(score(scores, heads), found)


@each_length
def test_inside_sum_matches_enumeration(n):
    for scores in CASES[n]:
        assert close(inside(scores).total, np.logaddexp.reduce(enumerate_scores(n, scores)))


@each_length
def test_marginals_match_enumeration(n):
    for scores in CASES[n]:
        found = enumerate_scores(n, scores)
        expected = np.zeros((n, n))
        if found.max() > -np.inf:
            for heads, probability in zip(TREES[n], probabilities(found)):
                for word, head in enumerate(heads):
                    expected[word if head == NONE else head, word] += probability
        assert close(marginals(scores, inside(scores)), expected)


@each_length
def test_k_best_lists_all_trees_from_best_to_worst(n):
    for scores in CASES[n]:
        expected = enumerate_scores(n, scores)
        possible = {
            tuple(heads) for heads, one in zip(TREES[n].tolist(), expected) if one > -np.inf
        }
        heads, found = k_best(scores, len(expected) + 10)
        assert len(heads) == len(possible)
        assert {tuple(tree) for tree in heads.tolist()} == possible
        assert np.all(np.diff(found) <= 0)
        assert close(found, [score(scores, tree) for tree in heads])
        fewer, some = k_best(scores, 3)
        assert np.array_equal(fewer, heads[:3])
        assert np.array_equal(some, found[:3])


def sum_of_arcs(probability, heads):
    return sum(probability[d if h == NONE else h, d] for d, h in enumerate(heads))


@each_length
def test_minimum_bayes_risk_tree_has_the_greatest_sum_of_marginals(n):
    for scores in CASES[n]:
        probability = marginals(scores, inside(scores))
        heads, found = minimum_bayes_risk_tree(probability)
        assert is_projective_tree(heads.tolist())
        assert close(found, max(sum_of_arcs(probability, tree) for tree in TREES[n]))
        assert close(sum_of_arcs(probability, heads), found)


@pytest.mark.parametrize("scores", LONG)
def test_charts_of_long_sentences_are_consistent(scores):
    chart = inside(scores)
    probability = marginals(scores, chart)
    assert np.all(probability >= 0.0)
    assert close(probability.sum(axis=0), 1.0)
    assert close(np.trace(probability), 1.0)
    heads, found = best_tree(scores)
    assert is_projective_tree(heads.tolist())
    assert close(score(scores, heads), found)
    assert found < chart.total
    heads, found = minimum_bayes_risk_tree(probability)
    assert is_projective_tree(heads.tolist())
    assert close(sum_of_arcs(probability, heads), found)


def test_shifting_scores_does_not_change_marginals():
    """A constant that is added to all scores of a word's events is added to the log-sum."""
    scores = random_scores(30, 7)
    chart = inside(scores)
    shift = np.random.default_rng(0).normal(0.0, 1e4, 30)
    moved = scores._replace(
        root=scores.root + shift, first=scores.first + shift, next=scores.next + shift
    )
    there = inside(moved)
    assert np.isclose(there.total, chart.total + shift.sum(), rtol=1e-12)
    assert np.allclose(marginals(moved, there), marginals(scores, chart), atol=1e-6)


def test_impossible_sentences_have_a_tree_with_probability_zero():
    scores = random_scores(6, 0, impossible=1.0)
    chart = inside(scores)
    assert chart.total == -np.inf
    assert not marginals(scores, chart).any()
    heads, found = best_tree(scores)
    assert found == -np.inf
    assert is_projective_tree(heads.tolist())
    assert k_best(scores, 3)[0].shape == (0, 6)
