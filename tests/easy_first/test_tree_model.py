"""The symbols of words and guides that an easy-first parser reads, and its confidence."""

import numpy as np
import pytest
import spacy
from plain_parser import random_sentence
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_hpyp.annotation.arrays import Guides
from spacy_hpyp.annotation.guides import HEADS, no_guides
from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.arcs import NULL, SYMBOLS
from spacy_hpyp.easy_first.parsing import SCALE, EasyFirstTrees
from spacy_hpyp.easy_first.tree_model import TreeModel, confidence_features, guide_rows
from spacy_hpyp.text.unknown_words import universal_unknown_words
from spacy_hpyp.text.vocabulary import Vocabulary, VocabularySettings

TAGS = ["DT", "NN", "VB"]
TRAINING = [
    (["the", "dog", "sleeps"], [0, 1, 2]),
    (["the", "dog", "The"], [0, 2, 0]),
    (["dog", "sleeps"], [1, 2]),
]
RULE = universal_unknown_words()


def model(arcs=("l.tag",)):
    settings = VocabularySettings(RULE, min_count=2, min_class_count=1)
    found = TreeModel([[list(arcs)], [["child.tag"]]], settings, places=(16, 16))
    found.initialize(Vocabulary.collect(TRAINING, TAGS, settings), ["det", "nsubj"])
    return found


def columns_of(doc):
    sentences, _ = model().read_docs([doc])
    return dict(zip(SYMBOLS, sentences.symbols.T, strict=True)), sentences


def test_words_have_equal_symbols_only_if_equal():
    words, tags = ["dog", "The", "the", "Dog", "dog", "xyz"], ["NN", "DT", "DT", "NN", "", "XX"]
    doc = Doc(Vocab(), words=words, tags=tags)
    column, sentences = columns_of(doc)
    word = column["word"].tolist()
    assert word[0] == word[4] != word[2]
    assert word[1] != word[2]
    assert min(word) > NULL
    lower = column["lower"].tolist()
    assert lower[0] == lower[3] == lower[4] != lower[1] == lower[2]
    assert column["suffix"][0] == column["suffix"][3] != column["suffix"][1]
    assert sentences.heads.shape == (6, 0)


def test_the_usual_tag_is_the_words_most_frequent_tag():
    doc = Doc(Vocab(), words=["the", "dog", "sleeps"])
    assert (columns_of(doc)[0]["usual"] - 1).tolist() == [0, 1, 2]


def test_symbols_do_not_depend_on_documents_read_before():
    vocab = Vocab()
    docs = [Doc(vocab, words=words) for words in (["dog", "new"], ["new", "dog", "the"])]
    together, apart = model(), [model().read_docs([doc])[0].symbols for doc in docs]
    assert np.array_equal(together.read_docs(docs)[0].symbols, np.concatenate(apart))
    assert np.array_equal(together.read_docs(docs[::-1])[0].symbols, np.concatenate(apart[::-1]))


def test_sentences_begin_at_preset_boundaries():
    words, starts = ["dog", "dog", " ", "dog", "dog"], [1, 0, 0, 1, 0]
    doc = Doc(spacy.blank("en").vocab, words=words, sent_starts=starts)
    assert columns_of(doc)[1].offsets.tolist() == [0, 2, 4]


# Guides


def test_expected_children_sum_head_probabilities_on_each_side():
    lengths, rng = [5, 1, 8, 2], np.random.default_rng(0)
    sentences = [random_sentence(n, rng, guide=HEADS) for n in lengths]
    _, heads, probability, labels, expected = map(np.concatenate, zip(*sentences, strict=True))
    # An entry without probability is no head, not even ROOT.
    assert np.array_equal(heads < NONE, probability == 0.0)
    assert np.any(heads < NONE)
    given = no_guides(sum(lengths))._replace(
        heads=np.maximum(heads, NONE), head_probability=probability, head_labels=labels
    )
    *rows, children = guide_rows(given, np.cumsum([0, *lengths]))
    assert all(map(np.array_equal, rows, (heads, probability, labels)))
    np.testing.assert_allclose(children, expected, atol=1e-6)


def test_no_children_are_expected_without_a_guide():
    heads, probability, labels, expected = guide_rows(None, np.array([0, 3, 4]))
    assert heads.shape == probability.shape == labels.shape == (4, 0)
    assert not expected.any()


def test_guide_symbols_encode_head_side_confidence_label_and_tag():
    shares = [[0.99, 0.01], [0.6, 0.4], [0.3, 0.1], [0.0, 0.0]]
    guides = Guides(
        heads=np.array([[1, NONE], [NONE, 0], [0, 1], [NONE, NONE]], dtype=np.int32),
        head_probability=np.array(shares, dtype=np.float32),
        head_labels=np.array([[1, NONE], [NONE, 0], [NONE, 0], [NONE, NONE]], dtype=np.int32),
        tags=np.array([[2], [1], [NONE], [NONE]], dtype=np.int32),
        tag_probability=np.array([[1.0], [1.0], [0.0], [0.0]], dtype=np.float32),
    )
    own = model(("l.guide.head",))
    assert own.is_guided
    words = ["a"] * 4, np.arange(4), np.zeros(4, dtype=np.int32), np.array([0, 4])
    found = own.encode(*words, guides)
    head, label, tag = found.symbols[:, len(SYMBOLS) :].T
    # A confident head to the right, a less confident root, an unsure head to the left, and none.
    assert len(set(head.tolist())) == 4
    assert head[3] == NULL
    assert NULL not in head[:3]
    assert label.tolist() == [3, 1, 1, 1]
    assert tag.tolist() == [4, 3, 1, 1]
    shares = [[0.99, 0], [0.99, 0], [0.99, 0], [0, 0]]
    surer = guides._replace(head_probability=np.array(shares, dtype=np.float32))
    again = own.encode(*words, surer).symbols
    assert (again[:, len(SYMBOLS)] != head).tolist() == [False, True, True, False]


# Confidence


def test_confidence_features_are_finite():
    trees = EasyFirstTrees(
        heads=np.array([1, NONE, 1, NONE], dtype=np.int32),
        labels=np.array([0, NONE, 1, NONE], dtype=np.int32),
        margin=np.array([5.0, -3.0, np.inf, 1e30], dtype=np.float32),
        share=np.array([1.0, 0.5, 0.0, 1.0], dtype=np.float32),
        guide=np.array([0.0, 1.0, 0.5, 0.9], dtype=np.float32),
    )
    for guided in (True, False):
        found = confidence_features(trees, np.array([0, 3, 4]), guided=guided)
        assert found.shape == (4, 6)
        assert np.all(np.isfinite(found))
        assert found[:, 0].tolist() == [1.0] * 4
        assert found[0, 1] == pytest.approx(5.0 / SCALE)
        assert np.all(np.diff(found[[2, 1, 0], 2]) > 0)
        assert found[1, 2] == pytest.approx(0.0)
        assert found[:, 4].tolist() == [np.log1p(1.0), 0.0, np.log1p(1.0), 0.0]
        assert found[:, 5].tolist() == [0.0, 1.0, 0.0, 1.0]
        assert bool(found[:, 3].any()) == guided
