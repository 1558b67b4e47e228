"""The tag of a rare word, given its tag elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.text.tag_history import SeenTags

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30)


@settings(deadline=None, derandomize=True)
@given(PAIRS)
def test_each_tag_has_a_distribution_with_full_support(pairs):
    found = SeenTags.learn(pairs, 5).given(5)
    assert found.shape == (5, 5)
    assert found.min() > 0
    assert found.sum(axis=0) == pytest.approx(1)


def test_frequent_tags_have_their_relative_frequencies():
    often = SeenTags.learn([*200 * [(0, 0)], *200 * [(0, 1)], *200 * [(1, 1)]], 3).given(3)
    assert often[:, 0] == pytest.approx([0.5, 0.5, 0], abs=0.02)
    assert often[:, 1] == pytest.approx([0, 1, 0], abs=0.02)


def test_uncounted_tags_repeat_if_other_tags_do():
    same = SeenTags.learn([(tag, tag) for tag in range(8) for _ in range(3)], 10)
    assert same.repeats > 0.9
    assert same.given(10)[9, 9] > 0.9
    assert same.given(10)[9, 8] < 0.02


def test_independent_tags_have_the_overall_distribution():
    rng = np.random.default_rng(0)
    found = SeenTags.learn(rng.integers(4, size=(2000, 2)).tolist(), 4).given(4)
    assert found == pytest.approx(np.full((4, 4), 0.25), abs=0.05)


def test_distributions_are_uniform_without_evidence():
    assert SeenTags.learn([], 3).given(3) == pytest.approx(np.full((3, 3), 1 / 3))


def test_smoothing_maximizes_the_leave_one_out_likelihood():
    pairs = [*9 * [(0, 0)], *3 * [(0, 1)], *5 * [(1, 1)], (1, 2), *4 * [(2, 2)]]

    def left_out(seen):
        total = 0.0
        for i, (tag, elsewhere) in enumerate(pairs):
            others = pairs[:i] + pairs[i + 1 :]
            # The overall frequencies of tags elsewhere include the pair.
            usual = ([other for _, other in pairs].count(elsewhere) + 0.5) / (len(pairs) + 1.5)
            expected = seen.repeats * (tag == elsewhere) + (1 - seen.repeats) * usual
            of_tag = [other for first, other in others if first == tag]
            count = of_tag.count(elsewhere) + seen.strength * expected
            total += np.log(count / (len(of_tag) + seen.strength))
        return total

    best = SeenTags.learn(pairs, 3)
    for repeats in (0.0, 0.3, 0.6, 0.9):
        for strength in (0.5, 2.0, 8.0, 64.0):
            assert left_out(best) >= left_out(SeenTags(best.pairs, repeats, strength)) - 1e-9
