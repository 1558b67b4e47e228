"""Words as characters: every string is one, and can be told from all others by its numbers and its
unknown characters.
"""

from math import exp

import numpy as np
import pytest

from spacy_hpyp.hpyp.spelling import CODE_POINTS, Characters


@pytest.fixture(scope="module")
def characters():
    return Characters("banana-é")


def test_known_characters_have_a_number_each_and_all_others_one(characters):
    assert list(map(len, characters.encode([]))) == [0, 1]
    symbols, offsets = characters.encode(["ab", "", "nê☃"])
    assert characters.known == "-abné"
    # The last character comes first, and an end last.
    assert symbols.tolist() == [2, 1, 6, 6, 5, 5, 3, 6]
    assert offsets.tolist() == [0, 3, 4, 8]
    assert (characters.unknown, characters.end, len(characters)) == (5, 6, 7)


def test_numbers_of_known_characters_give_the_word_again(characters):
    words = ["banana", "é", "--", ""]
    symbols, offsets = characters.encode(words)
    assert [characters.decode(symbols[a : b - 1]) for a, b in zip(offsets, offsets[1:])] == words
    assert characters.decode(np.array([1, characters.unknown])) is None


def test_unknown_characters_share_one_probability(characters):
    assert (CODE_POINTS - 5) * exp(characters.log_share) == pytest.approx(1.0)
