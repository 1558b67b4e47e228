"""Spaces between words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.text.spacing import spaces_between


def joined(words, **settings):
    spaces = spaces_between(words, **settings)
    return "".join(word + " " * space for word, space in zip(words, spaces))


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ('He said , " Yes " , and left .', 'He said, "Yes", and left.'),
        ("She did n't ( or would n't ) say it 's .", "She didn't (or wouldn't) say it's."),
        ("`` Yes '' , “ Yes ” , « Yes » .", "``Yes'', “Yes”, «Yes»."),
        ("It costs $ 5.00 , or € 4 ; 20 % less !", "It costs $5.00, or €4; 20% less!"),
        ("L' homme d' État ?", "L'homme d'État?"),
        ("the dogs ' bones", "the dogs' bones"),
        ('" one " two " three "', '"one" two "three"'),
    ],
)
def test_punctuation_is_spaced_conventionally(words, text):
    assert joined(words.split()) == text


def test_other_words_are_separated_by_spaces():
    words = ["-", "and", "<CAP-ed>", "<NUM>", "well", "-", "known", "#", "1"]
    assert joined(words) == " ".join(words)


def test_scripts_without_word_separation_get_no_spaces():
    assert joined(["我", "喜欢", "。"], separated=False) == "我喜欢。"


@settings(deadline=None, derandomize=True)
@given(words=st.lists(st.text(min_size=1)))
def test_each_word_has_a_value_and_the_last_no_space(words):
    spaces = spaces_between(words)
    assert len(spaces) == len(words)
    assert not any(spaces[-1:])
