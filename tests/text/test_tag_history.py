"""The tag of a rare word, given its tag elsewhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.text.tag_history import SeenTags

PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=30)


@settings(deadline=None, derandomize=True)
@given(PAIRS)
def test_for_each_tag_there_is_a_distribution_in_which_nothing_is_impossible(pairs):
    found = SeenTags.learn(pairs, 5).given(5)
    assert found.shape == (5, 5)
    assert found.min() > 0
    assert found.sum(axis=0) == pytest.approx(1)


def test_a_tag_says_what_it_was_counted_with():
    often = SeenTags.learn([*200 * [(0, 0)], *200 * [(0, 1)], *200 * [(1, 1)]], 3).given(3)
    assert often[:, 0] == pytest.approx([0.5, 0.5, 0], abs=0.02)
    assert often[:, 1] == pytest.approx([0, 1, 0], abs=0.02)


def test_where_tags_stay_the_same_so_does_one_that_was_not_counted():
    same = SeenTags.learn([(tag, tag) for tag in range(8) for _ in range(3)], 10)
    assert same.repeats > 0.9
    assert same.given(10)[9, 9] > 0.9
    assert same.given(10)[9, 8] < 0.02


def test_where_tags_say_nothing_of_each_other_each_has_the_distribution_of_all():
    rng = np.random.default_rng(0)
    found = SeenTags.learn(rng.integers(4, size=(2000, 2)).tolist(), 4).given(4)
    assert found == pytest.approx(np.full((4, 4), 0.25), abs=0.05)


def test_without_evidence_a_tag_says_nothing():
    assert SeenTags.learn([], 3).given(3) == pytest.approx(np.full((3, 3), 1 / 3))


def test_the_smoothing_is_that_by_which_each_count_is_most_probable_given_the_others():
    pairs = [*9 * [(0, 0)], *3 * [(0, 1)], *5 * [(1, 1)], (1, 2), *4 * [(2, 2)]]

    def left_out(seen):
        total = 0.0
        for i, (tag, elsewhere) in enumerate(pairs):
            others = pairs[:i] + pairs[i + 1 :]
            # How frequent tags are elsewhere is not left out.
            usual = (np.bincount([other for _, other in pairs], minlength=3) + 0.5) / (
                len(pairs) + 1.5
            )
            expected = seen.repeats * (tag == elsewhere) + (1 - seen.repeats) * usual[elsewhere]
            of_tag = [other for first, other in others if first == tag]
            total += np.log(
                (of_tag.count(elsewhere) + seen.strength * expected) / (len(of_tag) + seen.strength)
            )
        return total

    best = SeenTags.learn(pairs, 3)
    for repeats in (0.0, 0.3, 0.6, 0.9):
        for strength in (0.5, 2.0, 8.0, 64.0):
            assert left_out(best) >= left_out(SeenTags(best.pairs, repeats, strength)) - 1e-9
