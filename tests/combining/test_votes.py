"""Votes: probabilities of groups of voters, their weights, and the elected trees."""

from itertools import product

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import is_projective, is_tree
from spacy_hpyp.combining.log_linear import Groups, fit, log_likelihood, shares
from spacy_hpyp.combining.votes import ABSENT, Ballots, Votes, group_voters, vote_matrix
from spacy_hpyp.compiled import NONE


def votes_of(voters, learned=None):
    """Votes of some voters, after learning from ballots with the gold annotation."""
    votes = Votes(voters)
    votes.use(["X", "Y"], ["ROOT", "dep"])
    if learned is not None:
        votes.learn(learned)
    return votes


def simulated(words, accuracies, seed=0, *, sure=True):
    """Projective trees of ten words. Voters choose the right head with these accuracies, or else
    any other head, and are surer when they are right.
    """
    rng = np.random.default_rng(seed)
    n = 10
    gold = np.empty((words // n, n), dtype=np.int32)
    for tree in gold:
        for word in range(n):
            tree[word] = tree[word - 1] if word > 1 and rng.random() < 0.5 else word - 1
    gold = gold.ravel()
    right = rng.random((words, len(accuracies))) < accuracies
    position = np.tile(np.arange(n), words // n)[:, None]
    others = (position + rng.integers(1, n, size=right.shape)) % n
    heads = np.where(right, gold[:, None], others).astype(np.int32)
    p = np.where(right, 0.8, 0.6) if sure else np.full(heads.shape, np.nan)
    offsets = np.arange(0, words + 1, n, dtype=np.int64)
    labels = np.where(heads == NONE, 0, 1).astype(np.int32)
    tags = np.where(rng.random(right.shape) < accuracies, 0, 1).astype(np.int32)
    nothing = np.full(words, np.nan)
    ballots = Ballots(heads, labels, tags, p, np.full(heads.shape, np.nan), offsets)
    right = gold, np.where(gold == NONE, 0, 1), np.zeros(words, dtype=np.int32), nothing, nothing
    both = [np.column_stack(columns) for columns in zip(ballots, right)]
    return ballots, Ballots(*both, offsets)


def test_voters_with_the_same_choice_form_a_group():
    choice = np.array([[3, 3, 5], [ABSENT, 4, ABSENT], [1, 2, 1]], dtype=np.int32)
    numbers = np.arange(1.0, 10.0).reshape(3, 3, 1)
    groups = group_voters(choice, numbers, [(choice, 5)])
    assert groups.word.tolist() == [0, 0, 1, 2, 2]
    assert groups.choice.tolist() == [3, 5, 4, 1, 2]
    assert groups.features.shape[1] == 21
    # A number and five categories of each voter; then pairs with the voters before it.
    expected = {
        0: [1, 0, 0, 7, 0],  # The first voter
        6: [2, 0, 5, 0, 8],  # The second
        12: [1, 0, 0, 0, 0],  # Both
        13: [0, 3, 0, 9, 0],  # The third
        19: [0, 0, 0, 1, 0],  # The first and the third
        20: [0, 0, 0, 0, 0],  # The second and the third
    }
    assert {column: groups.features[:, column].tolist() for column in expected} == expected
    assert groups.features[0, 1 + 3] == 1.0
    assert groups.features[1].sum() == 3.0


def test_learned_weights_are_a_maximum():
    rng = np.random.default_rng(1)
    word = np.repeat(np.arange(200), rng.integers(1, 4, size=200))
    groups = Groups(word, rng.normal(size=(len(word), 5)))
    right = (rng.random(len(word)) < 0.6) & (np.diff(word, prepend=-1) > 0)
    weights = fit(groups, right, 2.0)

    def objective(weights):
        return log_likelihood(groups, right, weights) - weights @ weights

    for step in np.concatenate([np.eye(5), -np.eye(5)]) * 0.01:
        assert objective(weights + step) < objective(weights)
    share = shares(groups, weights)
    assert np.all(np.bincount(word, share) < 1.0)
    # Feature sums of the right groups match their expectation, except for the prior.
    np.testing.assert_allclose(groups.features.T @ (right - share), 2.0 * weights, atol=1e-3)


def test_uninformative_features_get_small_weights():
    rng = np.random.default_rng(2)
    n = 3000
    right = rng.random(n) < 0.5
    noise = Groups(np.arange(n), rng.normal(size=(n, 20)))
    assert np.abs(fit(noise, right, 16.0)).max() < 4.0 / np.sqrt(n / 4.0)
    noise.features[:, 0] += 3.0 * right - 1.5
    assert fit(noise, right, 16.0)[0] > 2.0


def test_the_votes_of_a_word_sum_to_one():
    word, head = np.array([0, 0, 1, 2]), np.array([1, NONE, NONE, 1])
    matrix = vote_matrix(word, head, np.array([0.5, 0.3, 0.9, 0.8]), 4)
    np.testing.assert_allclose(matrix.sum(axis=0), 1.0)
    assert (matrix[1, 0], matrix[0, 0], matrix[1, 1], matrix[1, 2]) == (0.5, 0.3, 0.9, 0.8)
    assert matrix[2, 3] > matrix[1, 3] > matrix[0, 3] > 0.0


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_is_tree_and_is_projective_accept_exactly_the_right_trees(n):
    trees = [heads for heads in product(range(NONE, n), repeat=n) if is_tree(np.array(heads))]
    assert len(trees) == n ** (n - 1)
    projective = [heads for heads in trees if is_projective(np.array(heads))]
    # Projective trees of n words with one child of the root.
    assert len(projective) == [1, 2, 7, 30, 143][n - 1]


def test_combined_voters_beat_the_best_voter():
    votes = votes_of("abc", simulated(1500, [0.75, 0.8, 0.7])[1])
    ballots, gold = simulated(1500, [0.75, 0.8, 0.7], seed=1)
    elected = votes.elect(ballots)
    right = elected.heads == gold.heads[:, -1]
    assert right.mean() > 0.9
    # Accuracies of voters, each estimated within 0.01 (one standard error).
    assert np.mean(ballots.heads == gold.heads[:, -1:], axis=0).max() < 0.84
    for start in ballots.offsets[:-1]:
        heads = elected.heads[start : start + 10]
        assert is_projective(heads)
    assert np.array_equal(elected.labels == 0, elected.heads == NONE)
    assert (elected.tags == 0).mean() > 0.7


def test_a_long_sentence_keeps_the_tree_of_the_first_voter():
    ballots, _ = simulated(400, [0.9, 0.8])
    offsets = np.array([0, 310, 400])
    first = np.arange(400) - 1 - np.repeat(offsets[:2], [310, 90])
    ballots.heads[:, 0] = first
    elected = votes_of("ab").elect(ballots._replace(offsets=offsets))
    assert np.array_equal(elected.heads[:310], first[:310])
    assert is_projective(elected.heads[310:])


def test_confidence_is_calibrated():
    votes = votes_of("ab", simulated(6000, [0.75, 0.8], sure=False)[1])
    ballots, gold = simulated(6000, [0.75, 0.8], seed=1, sure=False)
    elected = votes.elect(ballots)
    right = elected.heads == gold.heads[:, -1]
    # With 6000 words and an accuracy of 0.9, a standard error is 0.004. Choosing the best tree
    # makes words depend on each other.
    assert abs(right.mean() - elected.head_probability.mean()) < 0.03
    agree = ballots.heads[:, 0] == ballots.heads[:, 1]
    assert elected.head_probability[agree].mean() > elected.head_probability[~agree].mean() + 0.05


def test_voters_may_abstain():
    ballots, gold = simulated(500, [0.9, 0.8])
    silent = np.full_like(ballots.heads, ABSENT)
    silence = ballots._replace(heads=silent, labels=silent, tags=silent)
    elected = votes_of("ab", gold).elect(silence)
    assert np.all((elected.labels == ABSENT) | (elected.heads == NONE))
    assert np.all(elected.tags == ABSENT)
    assert all(is_projective(elected.heads[start : start + 10]) for start in ballots.offsets[:-1])
