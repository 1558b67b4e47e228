"""The arithmetic of particles: shares, selection, and random rounding of expected numbers."""

from math import exp, log

import numpy as np
import pytest
from compiling import compiled
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.arc_standard import particle_filter
from spacy_hpyp.arc_standard.configuration import END, SHIFT
from spacy_hpyp.arc_standard.particle_filter import DERIVATION, resample, share, split_particles
from spacy_hpyp.arc_standard.search import SYSTEMATIC, Search
from spacy_hpyp.compiled import NONE

reallocate = compiled(particle_filter.reallocate)

DRAWS = 4000
WEIGHTS = st.lists(st.floats(-200, 0), min_size=1, max_size=20)


def beam_of(weights, particles, depths=None, heuristics=None):
    beam = np.empty(len(weights), DERIVATION)
    beam["theta"], beam["k"], beam["record"] = weights, particles, range(len(weights))
    beam["depth"], beam["heuristic"], beam["step"] = depths or 1, heuristics or 0.0, NONE
    beam["sentence"] = 0
    return beam


@settings(deadline=None, derandomize=True)
@given(st.integers(1, 10**6), st.lists(st.floats(1e-6, 1), min_size=1, max_size=6))
def test_shares_are_proportional_and_sum_to_all_particles(particles, probabilities):
    left, mass = particles, sum(probabilities)
    for probability in sorted(probabilities, reverse=True):
        if left == 0:
            break
        given_ = share(left, probability, mass)
        assert 1 <= given_ <= left
        assert abs(given_ - left * probability / mass) <= 1.0
        left -= given_
        mass = max(mass - probability, 1e-300)
    assert left == 0


@settings(deadline=None, derandomize=True)
@given(WEIGHTS, st.integers(1, 1000), st.data())
def test_selection_reallocates_in_proportion_to_particles_times_weight(weights, particles, data):
    counts = data.draw(st.lists(st.integers(1, 1000), min_size=len(weights), max_size=len(weights)))
    beam = beam_of(weights, counts)
    left = reallocate(beam, particles, Search(particles, 0.0))
    proportion = np.array(weights) + np.log(counts)
    proportion = np.exp(proportion - np.logaddexp.reduce(proportion))
    kept = {
        int(record): int(count) for record, count in zip(beam["record"][:left], beam["k"][:left])
    }
    if np.floor(particles * proportion.max() - 1e-6) >= 1:
        for i, part in enumerate(proportion):
            assert abs(kept.get(i, 0) - np.floor(particles * part)) <= 1
    else:
        assert left == 1
        assert proportion[beam["record"][0]] == pytest.approx(proportion.max())
        assert beam["k"][0] == particles
    assert sum(kept.values()) <= particles
    assert {i: weights[i] for i in kept} == dict(zip(kept, beam["theta"][:left]))


@pytest.mark.parametrize(
    ("penalty", "heuristics", "kept"),
    [(0.0, None, 0), (0.5, None, 1), (0.0, [-3.0, -1.0], 1), (0.5, [-1.0, -2.5], 0)],
)
def test_stack_penalty_and_future_cost_guide_selection_but_keep_weights(penalty, heuristics, kept):
    weights, depths = [0.0, -1.0], [5, 1]
    beam = beam_of(weights, [1, 1], depths, heuristics)
    assert reallocate(beam, 1, Search(1, penalty, future_cost=1.0)) == 1
    assert (beam["record"][0], beam["theta"][0]) == (kept, weights[kept])


def counts_after(weights, counts, rng, held=-1):
    """The numbers of particles after resampling. Checks that a held derivation stays held."""
    beam = beam_of(np.log(weights), counts)
    if held >= 0:
        beam["step"][held] = 0
    beam = beam[: resample(beam, sum(counts), rng)]
    found = np.zeros(len(weights), dtype=int)
    found[beam["record"]] = beam["k"]
    assert found.sum() == sum(counts)
    assert np.allclose(np.exp(beam["theta"]) * sum(counts), np.dot(weights, counts))
    assert beam["record"][beam["step"] != NONE].tolist() == [held] * (held >= 0)
    return found


def standard_error(samples):
    return np.std(samples, axis=0) / len(samples) ** 0.5 + 1e-9


@pytest.mark.parametrize(
    ("weights", "counts"), [([1, 50, 7, 2], [3, 1, 2, 4]), ([0.01, 1.0], [9, 1])]
)
def test_numbers_of_particles_round_their_expectations_without_bias(weights, counts):
    rng = np.random.default_rng(0)
    expected = np.multiply(weights, counts) * sum(counts) / np.dot(weights, counts)
    found = [counts_after(weights, counts, rng) for _ in range(DRAWS)]
    assert np.all(np.abs(found - expected) < 1)
    assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4 * standard_error(found))


def test_particles_with_similar_weights_are_not_resampled():
    beam = beam_of(np.log([1.0, 1.2]), [3, 5])
    assert resample(beam, 8, np.random.default_rng(0)) == 2
    assert beam["k"].tolist() == [3, 5]
    assert beam["theta"].tolist() == [0.0, log(1.2)]


def test_a_held_particle_survives_with_any_weight():
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert counts_after([exp(-40), 1.0, 0.01], [1, 2, 4], rng, held=0)[0] == 1


def test_numbers_with_a_held_particle_match_reweighted_free_draws():
    """Draws given that a particle survives, weighted by how often it does, equal free draws in
    distribution.
    """
    weights, counts = [12, 1, 2], [1, 3, 2]
    rng = np.random.default_rng(0)
    free = np.array([counts_after(weights, counts, rng) for _ in range(DRAWS)])
    for held in range(3):
        expected = np.multiply(weights, counts)[held] * sum(counts) / np.dot(weights, counts)
        conditional = np.array([counts_after(weights, counts, rng, held) for _ in range(DRAWS)])
        biased = free * free[:, [held]] / expected
        error = np.hypot(standard_error(biased), standard_error(conditional))
        assert np.all(np.abs(biased.mean(axis=0) - conditional.mean(axis=0)) < 4 * error)


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.4), (2.0, 0.001), (0.5, 0.0), (0.0, 0.5)])
def test_particles_are_split_in_proportion_to_weights(first, second):
    rng = np.random.default_rng(0)
    expected = 7 * first / (first + second)
    found = [split_particles(SYSTEMATIC, 7, first, second, NONE, rng) for _ in range(DRAWS)]
    assert np.all(np.abs(np.subtract(found, expected)) < 1)
    assert abs(np.mean(found) - expected) < 4 * standard_error(found)


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.4), (1e-30, 1.0), (1.0, 1e-30)])
def test_a_held_particle_keeps_its_option_and_makes_larger_numbers_likelier(first, second):
    rng = np.random.default_rng(0)
    share = first / (first + second)
    least = int(7 * share)
    rest = 7 * share - least
    for holds_first, expected in [
        (True, least + rest * (least + 1) / (7 * share)),
        (False, 7 - (6 - least + (1 - rest) * (7 - least) / (7 * (1 - share) or 1.0))),
    ]:
        follows = SHIFT if holds_first else END
        found = [split_particles(SYSTEMATIC, 7, first, second, follows, rng) for _ in range(DRAWS)]
        assert (min(found) >= 1) if holds_first else (max(found) <= 6)
        if second > 1e-20 < first:
            assert abs(np.mean(found) - expected) < 4 * standard_error(found)
