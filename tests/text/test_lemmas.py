"""Rules for lemmas: edit trees, capitals, and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hpyp.text.lemmas import LemmaRules

words = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)


@given(form=words, lemma=words)
def test_a_rule_reproduces_the_pair_in_its_name(form, lemma):
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
def test_rules_apply_to_other_words(name, form, lemma):
    assert LemmaRules([name]).apply(0, form) == lemma


def test_pairs_with_the_same_rule_have_one_name():
    rules = LemmaRules(["cats\tcat", "dogs\tdog", "Dogs\tdog", "went\tgo"])
    assert rules.names == ["cats\tcat", "went\tgo"]
    assert rules.name("Birds", "bird") == "cats\tcat"
    assert rules.name("feet", "foot") == "feet\tfoot"


@pytest.mark.parametrize("name", ["", "cat", "\tcat", "cat\t", "a\tb\tc"])
def test_invalid_rule_names_raise_errors(name):
    with pytest.raises(ValueError, match="not the name of a rule"):
        LemmaRules([name])
