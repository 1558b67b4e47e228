"""Vocabularies as parts of stored models: nothing is lost, and what is damaged is refused."""

import numpy as np
import pytest

from spacy_hpyp.stored import vocabulary_from_message, vocabulary_to_message
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

RULE = universal_unknown_words()


@pytest.fixture
def vocabulary():
    words = ["the", "dog", "sees", "the", "cat", "and", "a", "sees", "and", "Zenobia"]
    tags = [0, 1, 2, 0, 1, 3, 0, 1, 3, 1]
    return Vocabulary.collect(
        [(words, tags)], ["DT", "NN", "VB", "CC"], VocabularySettings(RULE, observed=True)
    )


def test_a_vocabulary_is_read_as_it_was_written(vocabulary):
    assert vocabulary.rare
    message = vocabulary_to_message(vocabulary)
    again = vocabulary_from_message(message, RULE)
    assert again.rare == vocabulary.rare
    for word in ["the", "dog", "sees", "Zenobia", "zebra"]:
        assert again.number(word) == vocabulary.number(word)
        assert again.numbers_observed([word]) == vocabulary.numbers_observed([word])


@pytest.fixture
def observing():
    words = [
        "the",
        "dog",
        "sees",
        "the",
        "cat",
        "and",
        "a",
        "sees",
        "and",
        "dog",
        "Zenobia",
        "zebu",
    ]
    tags = [0, 1, 2, 0, 1, 3, 0, 1, 3, 1, 1, 2]
    return Vocabulary.collect(
        [(words, tags)], ["DT", "NN", "VB", "CC"], VocabularySettings(RULE, observed=True)
    )


def test_what_is_observed_of_rare_words_is_read_as_it_was_written(observing):
    assert len(observing.seen.pairs)
    again = vocabulary_from_message(vocabulary_to_message(observing), RULE)
    assert np.array_equal(again.seen.given(4), observing.seen.given(4))
    words = ["the", "dog", "cat", "sees", "Zenobia", "zebu", "zebra"]
    assert again.numbers(words) == observing.numbers(words)
    assert again.numbers_observed(words) == observing.numbers_observed(words)
    for name in ("tag_offsets", "candidate_tags", "outcomes", "observed"):
        assert np.array_equal(getattr(again, name), getattr(observing, name))
