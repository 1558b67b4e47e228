"""Gold words: several models read the same corpus, and jack-knifed outcomes come from models that
have not seen them.
"""

import random

import numpy as np
import pytest

from spacy_hpyp.annotation.arrays import joined
from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.classification import EasyFirstSearch
from spacy_hpyp.easy_first.word_model import WordClassifier
from spacy_hpyp.easy_first.words import TAGS
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import VocabularySettings
from spacy_hpyp.training.outcomes import GoldWords, jackknife

TAG_NAMES = ["D", "N", "V"]
GREEDY = EasyFirstSearch(1, 100)


def model():
    settings = VocabularySettings(universal_unknown_words(), min_class_count=1)
    templates = [["word"], ["lower"], ["prev.tag"], ["next.tag"], ["suffix2"]]
    return WordClassifier(TAGS, templates, settings, places=1 << 14)


def gold_words(forms, tags):
    keys, gold = [" ".join(forms).encode()], np.array(tags, dtype=np.int32)
    given, offsets = np.full_like(gold, NONE), np.array([0, len(forms)])
    return GoldWords(keys, forms, np.arange(len(forms)), gold, given, {}, offsets)


def known_words(gold, left_out=()):
    tagger = model()
    gold.teach_words(tagger, TAG_NAMES, left_out)
    return tagger.vocabulary.words


@pytest.fixture
def sentences():
    rng = random.Random(0)
    nouns, verbs = [f"{s}er" for s in "abcdefgh"], [f"{s}ing" for s in "abcdefgh"]
    return [gold_words(["the", rng.choice(nouns), rng.choice(verbs)], [0, 1, 2]) for _ in range(60)]


def test_joined_sequences_are_encoded_like_separate_ones(sentences):
    together, tagger = GoldWords.join(sentences), model()
    together.teach_words(tagger, TAG_NAMES)
    encoded = together.encode(tagger)
    parts = [part.encode(tagger) for part in sentences]
    for found in (joined(parts), encoded.take(np.arange(len(sentences)))):
        for column, other in zip(found, encoded):
            assert np.array_equal(column, other)
    some = encoded.take(np.array([7, 3]))
    assert np.array_equal(some.symbols, joined([parts[7], parts[3]]).symbols)
    assert some.offsets.tolist() == [0, 3, 6]


def test_a_part_without_words_is_joined():
    together = GoldWords.join([gold_words(["the"], [0]), gold_words([], [])])
    assert (together.forms, together.place.tolist()) == (["the"], [0])
    assert together.offsets.tolist() == [0, 1, 1]


def test_the_vocabulary_excludes_sequences_left_out_or_without_outcomes(sentences):
    unique, unknown = gold_words(["unique"] * 2, [1, 1]), gold_words(["odd"] * 2, [NONE, NONE])
    gold = GoldWords.join([*sentences, unique, unknown])
    assert "unique" in known_words(gold)
    assert "odd" not in known_words(gold)
    assert "unique" not in known_words(gold, [60])


def jackknifed(sentences, **settings):
    tagger, gold = model(), GoldWords.join(sentences)
    gold.teach_words(tagger, TAG_NAMES)
    before = tagger.to_bytes()
    found = jackknife(tagger, gold, GREEDY, **{"folds": 4, "epochs": 3, "threads": 1, **settings})
    assert tagger.to_bytes() == before
    return found


def test_every_sequence_is_decided_identically_with_any_number_of_threads(sentences):
    found, again = jackknifed(sentences), jackknifed(sentences, threads=3)
    assert found.keys() == {each.keys[0] for each in sentences}
    # The other sequences teach the regularities.
    right = [np.array_equal(found[each.keys[0]], each.gold) for each in sentences]
    assert np.mean(right) > 0.9
    assert all(np.array_equal(again[key], outcomes) for key, outcomes in found.items())


def test_jackknifed_models_have_not_seen_the_sequence_or_its_copies(sentences):
    odd = [gold_words(["xyzzying"] * 3, [0, 0, 0]) for _ in range(8)]
    assert not np.any(jackknifed([*sentences, *odd])[odd[0].keys[0]] == 0)


def test_fewer_sequences_than_folds_are_allowed(sentences):
    assert len(jackknifed(sentences[:3], folds=10)) == len({each.keys[0] for each in sentences[:3]})
