"""Sentences drawn from an n-gram model, against the probabilities that it gives them."""

import itertools
from functools import partial

import numpy as np
import pytest
from test_sampling import assert_drawn_from

from spacy_hpyp.language_model.ngram import collect_vocabulary, train_ngram_model

LIMIT = 3
TEXT = [["a"], ["a", "b"], ["b", "b", "a"], ["a", "b", "a"], ["b"], ["a", "a", "b", "a"]]


@pytest.fixture(scope="module")
def model():
    return train_ngram_model(TEXT, order=3, sweeps=6)


@pytest.fixture(scope="module")
def probabilities(model):
    """Of all sentences that are not too long; there is a class of unknown words, too."""
    names = [model.words.vocabulary.name(number) for number in range(len(model.words.vocabulary))]
    sentences = (words for n in range(1, LIMIT + 1) for words in itertools.product(names, repeat=n))
    return {words: np.exp(model.log_probs(words).sum()) for words in sentences}


def test_sentences_are_as_frequent_as_they_are_probable(model, probabilities):
    drawn = [tuple(one.words) for one in model.generate(4000, max_length=LIMIT)]
    assert_drawn_from(drawn, probabilities)


def test_the_probability_is_that_of_what_is_shown(model, probabilities):
    for one in model.generate(50, max_length=LIMIT):
        assert one.log_prob == pytest.approx(np.log(probabilities[tuple(one.words)]), abs=1e-12)


def test_rare_words_are_spelled_out_with_the_probability_of_their_letters(toy):
    text = [sentence.words for sentence in toy.sentences(40)]
    model = train_ngram_model(
        text, partial(collect_vocabulary, spelling=True, min_count=6), sweeps=4
    )
    known, spelled = set(model.words.vocabulary.words), 0
    for one in model.generate(60):
        spelled += any(word not in known and not word.startswith("<") for word in one.words)
        assert one.log_prob == pytest.approx(model.log_probs(one.words).sum(), abs=1e-9)
    assert spelled > 0


def test_a_seed_fixes_what_is_drawn_whatever_the_count(model):
    few, many, other = (
        [one.words for one in model.generate(count, seed=seed)]
        for count, seed in ((5, 1), (20, 1), (5, 2))
    )
    assert few == many[:5] != other
