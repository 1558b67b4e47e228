"""Classes of unknown words: names by rule, from the most specific to the most general."""

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
    ("forms", "names"),
    [
        ("table bed", "LOW"),
        ("Table I", "CAP"),
        ("TABLE", "CAPS"),
        ("iPhone", "MIXED"),
        ("Walked", "CAP-ed CAP"),
        ("WALKED", "CAPS-ed CAPS"),
        ("station", "LOW-tion LOW"),
        ("friendship", "LOW-ship LOW"),
        ("walks", "LOW-s LOW"),
        ("quickly", "LOW-ly LOW"),
        ("1987", "YEAR"),
        ("3026", "NUM"),
        ("12.5", "DIGITS-MARK"),
        ("10–20", "DIGITS-DASH"),
        ("4th", "LOW-DIGIT"),
        ("well-meaning", "LOW-DASH-ing LOW-DASH"),
        ("John's", "CAP-MARK-'s CAP-MARK"),
        ("U.S.", "CAPS-MARK"),
        ("--", "DASH"),
        ("ada@example.org http://example.org/a", "LOW-ADDRESS"),
        ("WWW.EXAMPLE.ORG", "CAPS-ADDRESS"),
    ],
)
def test_english_names(forms, names):
    for form in forms.split():
        assert ENGLISH(form, "") == names.split()


@RULES
def test_the_tag_of_the_lower_case_form_gives_the_most_specific_class(rule):
    without = rule("Walked", "")
    assert rule("Walked", "VBD") == ["CAP~VBD", *without]


@pytest.mark.parametrize(
    ("forms", "names"),
    [
        ("table", "LOW-ble LOW-le LOW-e LOW"),
        ("Häuser", "CAP-user CAP-ser CAP-er CAP-r CAP"),
        ("ÉTÉS", "CAPS-tés CAPS-és CAPS-s CAPS"),
        ("chat", "LOW-hat LOW-at LOW-t LOW"),
        ("mes", "LOW-s LOW"),
        ("à", "LOW-à LOW"),
        ("Она", "CYRILLIC-CAP-а CYRILLIC-CAP"),
        ("Мост", "CYRILLIC-CAP-ост CYRILLIC-CAP-ст CYRILLIC-CAP-т CYRILLIC-CAP"),
        ("она", "CYRILLIC-LOW-а CYRILLIC-LOW"),
        ("СССР", "CYRILLIC-CAPS-сср CYRILLIC-CAPS-ср CYRILLIC-CAPS-р CYRILLIC-CAPS"),
        ("中文", "CJK-LOW-文 CJK-LOW"),
        ("அவன்", "TAMIL-LOW-வன் TAMIL-LOW-ன் TAMIL-LOW-் TAMIL-LOW"),
        ("மீ", "TAMIL-LOW-ீ TAMIL-LOW"),
        ("Αθήνα", "GREEK-CAP-ήνα GREEK-CAP-να GREEK-CAP-α GREEK-CAP"),
        ("1987", "YEAR"),
        ("42 ௧௨", "NUM"),
        ("12,5", "DIGITS-MARK"),
        ("5%", "DIGITS-MARK-% DIGITS-MARK"),
        ("T5", "CAPS-DIGIT"),
        ("-", "DASH-- DASH"),
        ("—", "DASH-— DASH"),
        ("...", "MARK-. MARK"),
        ("l'", "LOW-MARK-' LOW-MARK"),
        ("ex-roi", "LOW-DASH--roi LOW-DASH-roi LOW-DASH-oi LOW-DASH-i LOW-DASH"),
    ],
)
def test_universal_names(forms, names):
    for form in forms.split():
        assert UNIVERSAL(form, "") == names.split()


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
    ("forms", "names"),
    [
        ("table iPhone as glass basis bonus bed 中文", "LOW"),
        ("Table I McGraw", "CAP"),
        ("TABLE", "CAPS"),
        ("walked", "LOW-ed LOW"),
        ("WALKED", "CAPS-ed CAPS"),
        ("walking", "LOW-ing LOW"),
        ("station", "LOW-ion LOW"),
        ("runner", "LOW-er LOW"),
        ("fastest", "LOW-est LOW"),
        ("quickly", "LOW-ly LOW"),
        ("density", "LOW-ity LOW"),
        ("happy", "LOW-y LOW"),
        ("formal", "LOW-al LOW"),
        ("walks cds", "LOW-s LOW"),
        ("well-meaning", "LOW-DASH"),
        ("well-doers", "LOW-DASH-s LOW-DASH"),
        ("1987", "DIGIT"),
        ("1980s", "LOW-DIGIT-s LOW-DIGIT"),
        ("10-20", "DIGIT-DASH"),
        ("B2Bed 3M", "CAP-DIGIT"),
        ("2nder", "LOW-DIGIT-er LOW-DIGIT"),
        ("--", "DASH"),
        ("?!", "OTHER"),
    ],
)
def test_english_signatures(forms, names):
    for form in forms.split():
        assert SIGNATURES(form, "") == names.split()


def test_signatures_of_capitalized_words_tell_whether_lower_case_is_known():
    assert SIGNATURES("Walked", "") == ["CAP-ed", "CAP"]
    assert SIGNATURES("Walked", "VBD") == ["CAP-KNOWN-ed", "CAP-KNOWN"]
    for form in ["walked", "WALKED", "McGraw", "1987"]:
        assert SIGNATURES(form, "VBD") == SIGNATURES(form, "")


@settings(deadline=None, derandomize=True)
@given(form=st.text(min_size=1), tag=st.sampled_from(["", "NN"]))
def test_rules_can_be_pickled(form, tag):
    few = universal_unknown_words(suffix_length=2)
    for rule in (one_unknown_word(), ENGLISH, UNIVERSAL, SIGNATURES, few):
        assert pickle.loads(pickle.dumps(rule))(form, tag) == rule(form, tag)


def test_a_negative_suffix_length_raises_an_error():
    with pytest.raises(ValueError, match="suffix_length"):
        universal_unknown_words(suffix_length=-1)
