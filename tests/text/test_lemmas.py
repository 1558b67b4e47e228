"""Rules for lemmas: edit trees and capitals, and what they are called."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hpyp.text.lemmas import LemmaRules

words = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
    lambda word: "\t" not in word
)


@given(form=words, lemma=words)
def test_a_rule_makes_the_lemma_of_the_word_that_it_is_called_by(form, lemma):
    rules = LemmaRules([f"{form}\t{lemma}"])
    assert rules.apply(0, form) == lemma
    assert rules.name(form, lemma) == rules.names[0]


@pytest.mark.parametrize(
    ("name", "form", "lemma"),
    [
        ("cats\tcat", "dogs", "dog"),
        ("Cats\tcat", "dogs", "dog"),
        ("went\tgo", "Went", "go"),
        ("gesungen\tsingen", "getrunken", None),
        ("London\tLondon", "Paris", "Paris"),
        ("LONDON\tLondon", "PARIS", "Paris"),
        ("Londons\tLondon", "Kims", "Kim"),
        ("cats\tcat", "dog", None),
    ],
)
def test_rules_are_for_other_words_too(name, form, lemma):
    assert LemmaRules([name]).apply(0, form) == lemma


def test_pairs_of_one_rule_have_one_name():
    rules = LemmaRules(["cats\tcat", "dogs\tdog", "Dogs\tdog", "went\tgo"])
    assert rules.names == ["cats\tcat", "went\tgo"]
    assert rules.name("Birds", "bird") == "cats\tcat"
    assert rules.name("feet", "foot") == "feet\tfoot"


@pytest.mark.parametrize("name", ["", "cat", "\tcat", "cat\t", "a\tb\tc"])
def test_what_is_no_name_of_a_rule_is_an_error(name):
    with pytest.raises(ValueError, match="not the name of a rule"):
        LemmaRules([name])
