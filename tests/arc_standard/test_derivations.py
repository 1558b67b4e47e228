"""Sums over the derivations of a tree, and draws from them, compared with enumeration."""

from functools import cache
from math import exp, inf, log

import numpy as np
import pytest
from seating import PRECISION
from test_enumeration import POOLS, Counter, make_model
from test_oracle import reachable_derivations
from test_sampling import assert_drawn_from, sample
from transitions import configurations, integers

from spacy_hpyp.arc_standard.configuration import SHIFT
from spacy_hpyp.arc_standard.derivations import tree_log_probability
from spacy_hpyp.arc_standard.likelihood import new_workspace
from spacy_hpyp.hpyp.pool import Weights

#: Heads with 1, 2, 6, 4 and 12 derivations.
HEADS = [[1, -1], [1, -1, 1], [2, 2, -1, 2, 2], [1, -1, 3, 1, 3], [3, 2, 3, -1, 5, 3, 5, 3]]


@cache
def model_of(name):
    """A model with larger differences between derivations than a new model."""
    model = make_model(POOLS[name], labels=2)
    rng = np.random.default_rng(3)
    model.weights = {
        name: Weights(*(part + rng.normal(0, 1, part.shape) for part in w))
        for name, w in model.weights.items()
    }
    return model, new_workspace(model.frozen, remembered=1024)


@pytest.fixture(params=POOLS)
def model(request):
    return model_of(request.param)


def sentence(heads):
    """Words, tags, heads and labels."""
    words = range(len(heads))
    labels = [-1 if head == -1 else (3 * i + head) % 2 for i, head in enumerate(heads)]
    return [
        integers(rows)
        for rows in ([i % 2 for i in words], [(i // 2) % 2 for i in words], heads, labels)
    ]


def enumerate_derivations(model, words, tags, heads, labels):
    """All derivations of a tree and their log-probabilities."""
    counter, found = Counter(model), {}
    for actions in reachable_derivations(heads.tolist(), labels.tolist()):
        total, word = 0.0, 0
        for action, (records, top) in zip(actions, configurations(actions, tags, words)):
            counter.records = records
            total += log(counter.action_probability(top, action))
            if action == SHIFT:
                total += log(counter.probability("tag", top, tags[word]))
                total += log(counter.probability("word", top, words[word], int(tags[word])))
                word += 1
        found[actions] = total
    return found


def exact(model, rows, limit=1000):
    joint, queries = model
    return tree_log_probability(joint.frozen, *rows, limit, queries)


def draw(model, rows, particles, rng, retained=None):
    """Draw a derivation, and estimate the tree's log-probability."""
    retained = retained and (retained, rows[1])
    (actions, _), estimate = sample(
        model[0].frozen, model[1], rows[0], rng, particles, tree=rows[1:], retained=retained
    )
    return actions, estimate


@pytest.mark.parametrize("heads", HEADS, ids=str)
def test_the_tree_probability_sums_over_all_derivations(model, heads):
    rows = sentence(heads)
    derivations = enumerate_derivations(model[0], *rows)
    assert len(derivations) == dict(zip(map(tuple, HEADS), [1, 2, 6, 4, 12]))[tuple(heads)]
    log_probability, affordable = exact(model, rows)
    assert affordable
    assert log_probability == pytest.approx(
        np.logaddexp.reduce(list(derivations.values())), abs=30 * PRECISION
    )


def test_configurations_with_equal_contexts_are_merged():
    """A word with ten dependents on each side has 184,756 derivations, but at most eleven
    configurations a step.
    """
    rows = sentence([10] * 10 + [-1] + [10] * 10)
    assert exact(model_of("the paper's"), rows, limit=11)[1]
    assert not exact(model_of("the paper's"), rows, limit=10)[1]
    # After an attachment, configurations also differ by its side.
    assert exact(model_of("directions and labels"), rows, limit=22)[1]
    assert not exact(model_of("directions and labels"), rows, limit=11)[1]


@pytest.mark.parametrize("heads", [[2, 3, -1, 2], [-1, -1], [1, 0], [0, -1]], ids=str)
def test_non_projective_trees_have_probability_zero(model, heads):
    rows = sentence(heads)
    assert exact(model, rows) == (-inf, True)
    assert draw(model, rows, 10, np.random.default_rng(0))[1] == -inf


@pytest.mark.parametrize("particles", [1, 4])
def test_the_estimate_of_the_tree_probability_is_unbiased(model, particles):
    rows = sentence(HEADS[-1])
    rng = np.random.default_rng(0)
    log_probability, _ = exact(model, rows)
    ratios = np.array(
        [exp(draw(model, rows, particles, rng)[1] - log_probability) for _ in range(3000)]
    )
    assert ratios.std() > 0.005
    assert abs(ratios.mean() - 1) < 4 * ratios.std() / len(ratios) ** 0.5


def posterior_of(model, rows):
    """The derivations of a tree and their probabilities, up to a constant."""
    return {actions: exp(p) for actions, p in enumerate_derivations(model[0], *rows).items()}


def test_derivations_are_drawn_from_their_posterior(model):
    rows, rng = sentence(HEADS[-1]), np.random.default_rng(0)
    found = [draw(model, rows, 500, rng)[0] for _ in range(2000)]
    assert_drawn_from(found, posterior_of(model, rows))


@pytest.mark.parametrize("particles", [2, 5])
def test_particle_gibbs_preserves_the_posterior(model, particles):
    rows, rng = sentence(HEADS[-1]), np.random.default_rng(0)
    posterior = posterior_of(model, rows)
    actions, weights = list(posterior), np.array(list(posterior.values()))
    before = rng.choice(len(actions), size=3000, p=weights / weights.sum())
    after = [draw(model, rows, particles, rng, actions[i])[0] for i in before]
    assert_drawn_from(after, posterior)
    assert np.mean([actions[i] == own for i, own in zip(before, after)]) < 0.95
