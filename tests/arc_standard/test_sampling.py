"""Draws of derivations of given words, and of sentences, compared with enumeration."""

import collections
from copy import copy
from functools import cache

import numpy as np
import pytest
from test_enumeration import POOLS, Counter, random_model
from transitions import integers

from spacy_hpyp.arc_standard.configuration import FIRST_SYMBOL, PREVIOUS, SHIFT, WORD
from spacy_hpyp.arc_standard.derivations import draw_sentence, sample_derivation, with_every_tag
from spacy_hpyp.arc_standard.likelihood import new_workspace
from spacy_hpyp.arc_standard.proposals import sampling_task

LIMIT = 3
WORDS = {1: [1], 2: [0, 1], 3: [1, 0, 1], 4: [0, 1, 1, 0]}


def sample(model, queries, words, rng, particles, *, tree=None, retained=None):
    """Draw a derivation (actions and tags), and estimate the log-probability of the words."""
    n = len(words)
    actions, tags = np.full(2 * n, -9, dtype=np.int32), np.full(n, -9, dtype=np.int32)
    task = sampling_task(model, queries, integers(words), particles, tree)
    if retained is not None:
        task.retained.actions[:], task.retained.tags[:] = retained
    estimate = sample_derivation(task, rng, actions, tags)
    return (tuple(actions.tolist()), tuple(tags.tolist())), estimate


class Tiny:
    """A tiny model, and its derivations."""

    def __init__(self, name, labels):
        joint = random_model(name, labels=labels)
        self.counter, self.distributions = Counter(joint), joint.frozen
        self.queries = new_workspace(self.distributions, remembered=1)

    @cache  # noqa: B019
    def derivations(self, n):
        """The probability of each derivation (actions and tags) of a sentence."""
        found = self.counter.derivations(n, WORDS[n])
        return {self.counter.path(last, n): p for p, last in found}

    @cache  # noqa: B019
    def sentences(self):
        """The probability of each short sentence: its actions, tags and words."""
        records, found = self.counter.records, {}
        for n in range(1, LIMIT + 1):
            for p, record in self.counter.derivations(n):
                path, words = self.counter.path(record, n), []
                for action in path[0][::-1]:
                    if action == SHIFT:
                        words.append(int(records[record, WORD]) - FIRST_SYMBOL)
                    record = records[record, PREVIOUS]
                found[(*path, tuple(words[::-1]))] = p
        return found

    def sample(self, *args, every_tag=True, **options):
        """Draw a derivation, and estimate the words' log-probability."""
        model = with_every_tag(self.distributions, 2) if every_tag else self.distributions
        return sample(model, self.queries, *args, **options)

    def draw(self, rng, attempts=10_000):
        """Draw a sentence as actions, tags and words, or None if all attempts fail."""
        for _ in range(attempts):
            drawn = draw_sentence(self.distributions, self.queries, rng, LIMIT)
            if len(drawn.words):
                return tuple(tuple(part.tolist()) for part in drawn)
        return None


@pytest.fixture(scope="module", params=POOLS)
def model(request):
    return Tiny(request.param, labels=2)


def assert_mean_is_one(ratios):
    """Assert a mean of one within four standard errors and single precision."""
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std() / len(ratios) ** 0.5 + 1e-4


def assert_drawn_from(found, probabilities):
    """Assert by a chi-square test at the level of 0.001 that draws match the probabilities.

    Outcomes that are expected fewer than five times are pooled.
    """
    assert set(found) <= set(probabilities)
    expected = len(found) * np.array(list(probabilities.values())) / sum(probabilities.values())
    count = collections.Counter(found)
    seen = np.array([count[outcome] for outcome in probabilities])
    rare = expected < 5
    if rare.any():
        expected = np.append(expected[~rare], expected[rare].sum())
        seen = np.append(seen[~rare], seen[rare].sum())
    statistic = ((seen - expected) ** 2 / expected).sum()
    # The quantile as approximated by Wilson and Hilferty (1931).
    freedom = len(expected) - 1
    spread = 2 / (9 * freedom)
    assert statistic < freedom * (1 - spread + 3.0902 * spread**0.5) ** 3


@pytest.mark.slow
@pytest.mark.parametrize("n", WORDS)
def test_the_estimate_of_the_text_probability_is_unbiased(model, n):
    exact = np.log(sum(model.derivations(n).values()))
    for particles in (1, 5):
        rng = np.random.default_rng(n)
        estimates = [model.sample(WORDS[n], rng, particles)[1] for _ in range(2000)]
        ratios = np.exp(np.array(estimates) - exact)
        assert_mean_is_one(ratios)
        assert n < 3 or ratios.std() > 0.01


def test_derivations_are_drawn_from_their_posterior(model):
    rng = np.random.default_rng(0)
    found = [model.sample(WORDS[3], rng, 200)[0] for _ in range(1000)]
    assert_drawn_from(found, model.derivations(3))


@pytest.mark.parametrize("particles", [2, 6])
def test_particle_gibbs_preserves_the_posterior(model, particles):
    derivations = model.derivations(3)
    paths, weights = list(derivations), np.array(list(derivations.values()))
    rng = np.random.default_rng(1)
    before = rng.choice(len(paths), size=1500, p=weights / weights.sum())
    after = [model.sample(WORDS[3], rng, particles, retained=paths[i])[0] for i in before]
    assert_drawn_from(after, derivations)
    assert 0.05 < np.mean([paths[i] != path for i, path in zip(before, after)]) < 1.0


def test_candidate_tags_restrict_the_derivations(model):
    # Word 0 must have tag 1; other words may have any tag.
    some, words, count = copy(model), WORDS[3], len(model.distributions.tag_offsets) - 1
    some.distributions = model.distributions._replace(
        tag_offsets=np.array([0] + [1 + 2 * i for i in range(count)]),
        candidate_tags=integers([1] + [0, 1] * (count - 1)),
    )
    derivations = {path: p for path, p in model.derivations(3).items() if path[1][1] == 1}
    rng = np.random.default_rng(0)
    drawn = [some.sample(words, rng, 50, every_tag=False) for _ in range(400)]
    assert {path for path, _ in drawn} <= set(derivations)
    assert_mean_is_one(np.exp([estimate for _, estimate in drawn]) / sum(derivations.values()))
    every = [some.sample(words, rng, 50)[1] for _ in range(400)]
    assert_mean_is_one(np.exp(every) / sum(model.derivations(3).values()))


@pytest.fixture(scope="module", params=POOLS)
def generator(request):
    return Tiny(request.param, labels=1)


def test_sentence_frequencies_match_their_probabilities(generator):
    rng = np.random.default_rng(0)
    found = [generator.draw(rng) for _ in range(1500)]
    assert_drawn_from(found, generator.sentences())


def test_attempts_fail_as_often_as_the_model_predicts(generator):
    rng = np.random.default_rng(7)
    p = sum(generator.sentences().values())
    share = np.mean([generator.draw(rng, attempts=1) is not None for _ in range(1000)])
    assert abs(share - p) < 4 * (p * (1 - p) / 1000) ** 0.5
