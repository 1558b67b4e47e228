"""Classes of unknown words: names by rule, from the most telling to the most general."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.text.unknown_words import (
    english_signatures,
    english_unknown_words,
    one_unknown_word,
    universal_unknown_words,
)

ENGLISH = english_unknown_words()
UNIVERSAL = universal_unknown_words()
SIGNATURES = english_signatures()
RULES = pytest.mark.parametrize("rule", [ENGLISH, UNIVERSAL], ids=["english", "universal"])


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("table", ["LOW"]),
        ("iPhone", ["MIXED"]),
        ("Walked", ["CAP-ed", "CAP"]),
        ("station", ["LOW-tion", "LOW"]),
        ("bed", ["LOW"]),
        ("1987", ["YEAR"]),
        ("3026", ["NUM"]),
        ("12.5", ["DIGITS-MARK"]),
        ("10–20", ["DIGITS-DASH"]),
        ("4th", ["LOW-DIGIT"]),
        ("well-meaning", ["LOW-DASH-ing", "LOW-DASH"]),
        ("John's", ["CAP-MARK-'s", "CAP-MARK"]),
        ("U.S.", ["CAPS-MARK"]),
        ("--", ["DASH"]),
        ("ada@example.org", ["LOW-ADDRESS"]),
        ("http://example.org/a", ["LOW-ADDRESS"]),
    ],
)
def test_english_names(form, names):
    assert ENGLISH(form, "") == names


@RULES
def test_the_tag_of_the_lower_case_form_makes_the_most_telling_class(rule):
    without = rule("Walked", "")
    assert rule("Walked", "VBD") == ["CAP~VBD", *without]


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("table", ["LOW-ble", "LOW-le", "LOW-e", "LOW"]),
        ("Häuser", ["CAP-user", "CAP-ser", "CAP-er", "CAP-r", "CAP"]),
        ("ÉTÉS", ["CAPS-tés", "CAPS-és", "CAPS-s", "CAPS"]),
        ("à", ["LOW-à", "LOW"]),
        ("Она", ["CYRILLIC-CAP-а", "CYRILLIC-CAP"]),
        ("СССР", ["CYRILLIC-CAPS-сср", "CYRILLIC-CAPS-ср", "CYRILLIC-CAPS-р", "CYRILLIC-CAPS"]),
        ("中文", ["CJK-LOW-文", "CJK-LOW"]),
        ("அவன்", ["TAMIL-LOW-வன்", "TAMIL-LOW-ன்", "TAMIL-LOW-்", "TAMIL-LOW"]),
        ("1987", ["YEAR"]),
        ("௧௨", ["NUM"]),
        ("12,5", ["DIGITS-MARK"]),
        ("5%", ["DIGITS-MARK-%", "DIGITS-MARK"]),
        ("T5", ["CAPS-DIGIT"]),
        ("-", ["DASH--", "DASH"]),
        ("l'", ["LOW-MARK-'", "LOW-MARK"]),
        ("ex-roi", ["LOW-DASH--roi", "LOW-DASH-roi", "LOW-DASH-oi", "LOW-DASH-i", "LOW-DASH"]),
    ],
)
def test_universal_names(form, names):
    assert UNIVERSAL(form, "") == names


@RULES
@settings(deadline=None, derandomize=True)
@given(form=st.text(min_size=1), tag=st.sampled_from(["", "NN"]))
def test_names_differ_and_get_more_general(rule, form, tag):
    names = rule(form, tag)
    shape = names[-1]
    assert len(set(names)) == len(names)
    assert all(name.startswith(shape) for name in names)
    suffixes = [name.removeprefix(f"{shape}-") for name in names[:-1] if not name.endswith("~NN")]
    assert all(longer.endswith(shorter) for longer, shorter in zip(suffixes, suffixes[1:]))
    assert ("NN" in names[0]) if tag else names == rule(form, "")


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("table", ["LOW"]),
        ("McGraw", ["CAP"]),
        ("iPhone", ["LOW"]),
        ("walked", ["LOW-ed", "LOW"]),
        ("station", ["LOW-ion", "LOW"]),
        ("density", ["LOW-ity", "LOW"]),
        ("as", ["LOW"]),
        ("cds", ["LOW-s", "LOW"]),
        ("glass", ["LOW"]),
        ("bed", ["LOW"]),
        ("well-meaning", ["LOW-DASH"]),
        ("well-doers", ["LOW-DASH-s", "LOW-DASH"]),
        ("1987", ["DIGIT"]),
        ("1980s", ["LOW-DIGIT-s", "LOW-DIGIT"]),
        ("B2Bed", ["CAP-DIGIT"]),
        ("--", ["DASH"]),
        ("?!", ["OTHER"]),
    ],
)
def test_english_signatures(form, names):
    assert SIGNATURES(form, "") == names


def test_a_signature_says_of_a_single_capital_whether_the_word_is_known_in_lower_case():
    assert SIGNATURES("Walked", "") == ["CAP-ed", "CAP"]
    assert SIGNATURES("Walked", "VBD") == ["CAP-KNOWN-ed", "CAP-KNOWN"]
    for form in ["walked", "WALKED", "McGraw", "1987"]:
        assert SIGNATURES(form, "VBD") == SIGNATURES(form, "")


@settings(deadline=None, derandomize=True)
@given(form=st.text(min_size=1), tag=st.sampled_from(["", "NN"]))
def test_rules_can_be_pickled(form, tag):
    for rule in (one_unknown_word(), ENGLISH, UNIVERSAL, SIGNATURES):
        assert pickle.loads(pickle.dumps(rule))(form, tag) == rule(form, tag)
