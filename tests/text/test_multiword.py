"""Tokens are split into words by rules that apply to unseen tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_hpyp.text.multiword import MultiwordTokens, Rule, are_cut

FRENCH = [
    [("Il", ["Il"]), ("va", ["va"]), ("au", ["à", "le"]), ("lit", ["lit"])],
    [("Au", ["À", "le"]), ("port", ["port"]), ("du", ["de", "le"]), ("roi", ["roi"])],
    [("Il", ["Il"]), ("mange", ["mange"]), ("des", ["des"]), ("pommes", ["pommes"])],
    [("le", ["le"]), ("roi", ["roi"]), ("des", ["de", "les"]), ("mers", ["mers"])],
] * 4
TURKISH = [
    [(f"{stem}deki", [f"{stem}de", "ki"]), (stem, [stem]), (f"{stem}de", [f"{stem}de"])]
    for stem in ("ev", "deniz", "liman", "orman", "kent", "masa")
]
TEXT = st.text("abcdé", min_size=1, max_size=8)


@given(TEXT, st.lists(TEXT, min_size=2, max_size=4))
def test_a_rule_of_a_token_reproduces_its_words(token, words):
    assert Rule.of(token, words).apply(token) == words


@pytest.mark.parametrize(
    ("token", "words"),
    [("Au", ["À", "le"]), ("AU", ["À", "LE"]), ("au", ["à", "le"]), ("mau", None), ("a", None)],
)
def test_words_inherit_the_capitals_of_the_token(token, words):
    assert Rule.of("au", ["à", "le"]).apply(token) == words


def test_unseen_tokens_are_split_like_seen_ones():
    learned = MultiwordTokens.learn(TURKISH)
    assert learned.words(["Köydeki", "gölde"]) == [["Köyde", "ki"], ["gölde"]]


def test_the_context_decides_whether_ambiguous_tokens_are_split():
    learned = MultiwordTokens.learn(FRENCH)
    for sentence in FRENCH:
        assert learned.words([token for token, _ in sentence]) == [words for _, words in sentence]


def test_learning_is_reproducible_and_the_result_is_stored():
    one = MultiwordTokens.learn(FRENCH, seed=3)
    for other in (MultiwordTokens.learn(FRENCH, seed=3), MultiwordTokens.from_dict(one.to_dict())):
        assert np.array_equal(one.weights, other.weights)
        assert (one.rules, one.whole) == (other.rules, other.whole)


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        ([[(f"pe{i}", ["pe", str(i)]), (f"ta{i}", [f"ta{i}"])] for i in range(1000, 1050)], False),
        ([[(f"{i}a{i}", [f"{i}a", str(i)])] for i in range(50)], True),
        ([[("du", ["de", "le"])], [("au", ["à", "le"])]], False),
        ([], False),
    ],
)
def test_words_are_cut_when_rules_would_miss_many(sentences, expected):
    assert are_cut(sentences) == expected
