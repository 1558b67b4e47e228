"""Vocabularies as parts of stored models."""

import numpy as np

from spacy_hpyp.stored import vocabulary_from_message, vocabulary_to_message
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

RULE = universal_unknown_words()


def test_a_stored_vocabulary_keeps_the_tags_of_rare_words():
    words = "the dog sees the cat and a sees and dog Zenobia zebu".split()
    tags = [0, 1, 2, 0, 1, 3, 0, 1, 3, 1, 1, 2]
    vocabulary = Vocabulary.collect(
        [(words, tags)], ["DT", "NN", "VB", "CC"], VocabularySettings(RULE, observed=True)
    )
    assert vocabulary.rare
    assert len(vocabulary.seen.pairs)
    again = vocabulary_from_message(vocabulary_to_message(vocabulary), RULE)
    assert again.rare == vocabulary.rare
    assert np.array_equal(again.seen.given(4), vocabulary.seen.given(4))
    asked = [*words, "zebra"]
    assert again.numbers(asked) == vocabulary.numbers(asked)
    assert again.numbers_observed(asked) == vocabulary.numbers_observed(asked)
    for name in ("tag_offsets", "candidate_tags", "outcomes", "observed"):
        assert np.array_equal(getattr(again, name), getattr(vocabulary, name))
