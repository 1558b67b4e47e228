"""Classes of tags."""

import pytest

from spacy_hpyp.text.tag_classes import TagClasses, tag_class

TOKENS = [
    *[("dogs", "N-p", "NOUN")] * 2,
    *[("cats", "N-p", "NOUN")] * 2,
    *[("rats", "N-x", "NOUN")] * 3,
    ("dogs", "N-s", "NOUN"),
    *[("house", "N-s", "NOUN")] * 5,
    ("house", "V", "VERB|VerbForm=Inf"),
    ("as", "N-p", "ADP"),
]


@pytest.mark.parametrize(
    ("pos", "morph", "name"),
    [
        ("NOUN", "Case=Gen|Gender=Fem|Number=Sing", "NOUN|Case=Gen"),
        ("VERB", "Mood=Ind|VerbForm=Fin", "VERB|VerbForm=Fin"),
        ("PUNCT", "_", "PUNCT"),
        ("DET", "", "DET"),
        ("", "Case=Gen", ""),
    ],
)
def test_classes_are_parts_of_speech_with_case_and_verb_form(pos, morph, name):
    assert tag_class(pos, morph) == name


def test_words_have_the_tag_of_the_word_or_its_ending_or_the_class():
    classes = TagClasses.learn(TOKENS)
    # Of the class NOUN, "-ts" is mostly N-x, and "-s" mostly N-p; the class is mostly N-s.
    known = {"dogs": "N-p", "cats": "N-p", "rats": "N-x", "bats": "N-x", "frogs": "N-p"}
    known |= {"houses": "N-p", "mouse": "N-s", "Dogs": "N-p", "": "N-s"}
    assert {word: classes.tag(word, "NOUN") for word in known} == known
    assert classes.tag("dogs", "VERB|VerbForm=Inf") == "V"
    # Labels that a user gives may have other classes.
    assert classes.tag("dogs", "X") == "X"


def test_tags_that_follow_from_more_general_ones_are_not_stored():
    stored = {"": "N-s", "s": "N-p", "ts": "N-x", "cats": "N-p"}
    assert TagClasses.learn(TOKENS).tags["NOUN"] == stored


def test_unknown_classes_become_the_usual_ones_of_the_tags():
    classes = TagClasses.learn(TOKENS)
    assert classes.usual == {"N-p": "NOUN", "N-s": "NOUN", "N-x": "NOUN", "V": "VERB|VerbForm=Inf"}
    assert classes.of(["N-p", "V", "N-p", "Z"], ["ADP", "X", "", ""]) == [
        "ADP",
        "VERB|VerbForm=Inf",
        "NOUN",
        "Z",
    ]
    assert classes.of(["V"], ()) == ["VERB|VerbForm=Inf"]
