"""The arithmetic of particles."""

import numpy as np
import pytest
from compiling import compiled
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.arc_standard.particle_filter import DERIVATION, reallocate, share
from spacy_hpyp.arc_standard.search import Search
from spacy_hpyp.compiled import NONE

reallocate = compiled(reallocate)

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
