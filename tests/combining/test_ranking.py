"""The conditional log-linear model that ranks candidates."""

import numpy as np

from spacy_hpyp.combining.log_linear import log_likelihood, shares
from spacy_hpyp.combining.reranker import FEATURES, UNLEARNED, Ranking, as_groups, learn_weights


def lists(seed=0, sentences=400):
    """Sentences with best candidates drawn from the model with the weights 2, -1, 0.5 and 0."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 8, sentences))])
    features = rng.normal(size=(offsets[-1], len(FEATURES)))
    p = shares(as_groups(features, offsets), np.array([2.0, -1.0, 0.5, 0.0]), or_none=False)
    right = np.zeros(offsets[-1])
    for a, b in zip(offsets, offsets[1:]):
        right[a + rng.choice(b - a, p=p[a:b] / p[a:b].sum())] = 1.0
    return features, right, offsets


def test_probabilities_sum_to_one_in_each_sentence_for_large_scores():
    features, _, offsets = lists()
    p = shares(as_groups(features * 1e4, offsets), UNLEARNED, or_none=False)
    np.testing.assert_allclose(np.add.reduceat(p, offsets[:-1]), 1.0)


def test_learning_recovers_the_true_weights():
    found = learn_weights(*lists(sentences=4000))
    # For 4,000 sentences the standard error is about 0.03; the tolerance is five standard errors.
    np.testing.assert_allclose(found, [2.0, -1.0, 0.5, 0.0], atol=0.15)


def test_learned_weights_are_a_local_maximum():
    features, right, offsets = lists(sentences=50)
    found = learn_weights(features, right, offsets)

    groups = as_groups(features, offsets)

    def objective(weights):
        return log_likelihood(groups, right, weights, or_none=False) - 0.5 * weights @ weights

    for i in range(len(FEATURES)):
        for step in (-0.01, 0.01):
            assert objective(found + step * np.eye(len(FEATURES))[i]) < objective(found)


def test_equally_right_candidates_give_zero_weights():
    features = np.zeros((2, len(FEATURES)))
    features[0, 1] = 1.0
    assert not learn_weights(features, np.ones(2), np.array([0, 2])).any()


def test_a_ranking_round_trips():
    ranking = Ranking(np.array([1.0, -2.5, 0.0, 3.0]), {b"one", b"two"})
    read = Ranking().from_bytes(ranking.to_bytes())
    assert read.held_out == ranking.held_out
    assert np.array_equal(read.weights, ranking.weights)
