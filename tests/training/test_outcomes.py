"""Gold words: several models read the same corpus, and jack-knifed outcomes are by models that have
not seen them.
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
from spacy_hpyp.training.outcomes import Corpus, GoldWords, jackknife

TAG_NAMES = ["D", "N", "V"]
GREEDY = EasyFirstSearch(1, 100)


def model():
    settings = VocabularySettings(universal_unknown_words(), min_class_count=1)
    return WordClassifier(
        TAGS,
        [["word"], ["lower"], ["prev.tag"], ["next.tag"], ["suffix2"]],
        settings,
        places=1 << 14,
    )


def gold_words(forms, tags, key=None):
    return GoldWords(
        key=key or " ".join(forms).encode(),
        forms=forms,
        gold=np.array(tags, dtype=np.int32),
        given=np.full(len(forms), NONE, dtype=np.int32),
    )


def known_words(corpus, left_out=()):
    tagger = model()
    corpus.teach_words(tagger, TAG_NAMES, left_out)
    return tagger.vocabulary.words


@pytest.fixture
def sentences():
    rng = random.Random(0)
    nouns, verbs = [f"{s}er" for s in "abcdefgh"], [f"{s}ing" for s in "abcdefgh"]
    return [gold_words(["the", rng.choice(nouns), rng.choice(verbs)], [0, 1, 2]) for _ in range(60)]


def test_corpus_reads_what_each_sequence_by_itself_says(sentences):
    corpus, tagger = Corpus(sentences), model()
    corpus.teach_words(tagger, TAG_NAMES)
    together = corpus.encode(tagger)
    parts = [Corpus([words]).encode(tagger) for words in sentences]
    for found in (joined(parts), together.take(np.arange(len(sentences)))):
        for column, other in zip(found, together):
            assert np.array_equal(column, other)
    some = together.take(np.array([7, 3]))
    assert np.array_equal(some.symbols, joined([parts[7], parts[3]]).symbols)
    assert some.offsets.tolist() == [0, 3, 6]


def test_vocabulary_knows_nothing_of_what_is_left_out(sentences):
    corpus = Corpus([*sentences, gold_words(["unique", "unique"], [1, 1])])
    assert "unique" in known_words(corpus)
    assert "unique" not in known_words(corpus, [60])


def test_words_without_an_outcome_are_not_counted():
    corpus = Corpus([gold_words(["a", "b", "a", "b"], [0, NONE, 0, NONE])])
    assert known_words(corpus) == ["a"]


def jackknifed(sentences, **settings):
    tagger = model()
    Corpus(sentences).teach_words(tagger, TAG_NAMES)
    before = tagger.perceptron.begin_learning().weights.copy()
    given = {"folds": 4, "epochs": 3, "threads": 1, **settings}
    found = list(jackknife(tagger, sentences, GREEDY, **given))
    assert np.array_equal(tagger.perceptron.begin_learning().weights, before)
    return found


def test_every_sequence_is_decided_once(sentences):
    found = jackknifed(sentences)
    assert {id(words) for words, _ in found} == {id(words) for words in sentences}
    assert len(found) == len(sentences)
    assert all(len(outcomes) == len(words.forms) for words, outcomes in found)
    # What is regular is learned from the others.
    assert np.mean([np.array_equal(outcomes, words.gold) for words, outcomes in found]) > 0.9


@pytest.mark.parametrize("threads", [2, 5])
def test_result_does_not_depend_on_the_number_of_threads(sentences, threads):
    one, several = (
        {words.key: out.tolist() for words, out in jackknifed(sentences, threads=n)}
        for n in (1, threads)
    )
    assert one == several


def test_outcomes_are_not_those_that_a_sequence_itself_has_taught(sentences):
    # The only one of its kind: nothing but itself says that it is a determiner.
    odd = gold_words(["xyzzying", "xyzzying", "xyzzying"], [0, 0, 0])
    found = {words.key: outcomes for words, outcomes in jackknifed([*sentences, odd])}
    assert not np.any(found[odd.key] == 0)


def test_sequences_of_the_same_content_are_left_out_together(sentences):
    odd = [gold_words(["xyzzying"] * 3, [0, 0, 0]) for _ in range(8)]
    for words, outcomes in jackknifed([*sentences, *odd]):
        if words.key == odd[0].key:
            assert not np.any(outcomes == 0)


def test_there_may_be_fewer_sequences_than_folds(sentences):
    assert len(jackknifed(sentences[:3], folds=10)) == 3
    assert list(jackknife(model(), [], GREEDY, folds=2, epochs=1, threads=1)) == []
