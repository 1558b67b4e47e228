"""Spelling variants of a word are one word, and keep their positions in the text."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hpyp.text.folding import compose, fold
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings


@pytest.mark.parametrize(
    ("variants", "form"),
    [
        (("don’t", "donʼt", "don\u200b’t"), "don't"),
        (("e\u0301te\u0301", "été\u200b", "\ufeffété"), "été"),
        (("13\xa0819", "13\u202f819"), "13 819"),
        (("fer\xadry",), "ferry"),
        (("“", "„", "»"), '"'),
        (("–", "—", "‐"), "-"),
        (("👩\u200d👧\ufe0f",), "👩👧"),
        (("\u200b",), "\u200b"),
    ],
)
def test_variants_have_one_form(variants, form):
    assert {fold(each) for each in (*variants, form)} == {form}


@pytest.mark.parametrize(
    "cluster", ["e\u0301", "👩🏽\u200d👩\u200d👧", "நீ", "🇫🇷", "❤\ufe0f", "\u1112\u1161\u11ab"]
)
def test_a_cluster_begins_at_its_first_character(cluster):
    _, place, begins = compose(f"a {cluster}{cluster}b")
    n = len(cluster)
    assert np.unique(place[:-1][begins]).tolist() == [0, 1, 2, 2 + n, 2 + 2 * n]


@given(st.text(st.sampled_from("ae \n\u0301\u200b\u200d\xad👩🇫’नி"), max_size=12))
def test_every_character_has_a_position(text):
    composed, place, begins = compose(text)
    assert len(composed) + 1 == len(place) == len(begins) + 1
    assert place[-1] == len(text)
    assert (np.diff(place) >= 0).all()
    assert [c for c in composed if c.isspace()] == [c for c in text if c.isspace()]
    parts = [text[a:b] for a, b in zip(place, place[1:])]
    assert fold("".join(parts)) == fold(text)
    assert unicodedata.is_normalized("NFC", composed)


def test_a_vocabulary_maps_variants_to_the_usual_spelling():
    sentences = [(["don’t"] * 2 + ["don't", "x"], [0] * 4)]
    settings = VocabularySettings(lambda form, tag: [form], min_class_count=0)
    vocabulary = Vocabulary.collect(sentences, ["A"], settings)
    assert vocabulary.words == ["don’t"]
    assert set(vocabulary.numbers_observed(["don't", "don’t", "don\xad't"])) == {0}
