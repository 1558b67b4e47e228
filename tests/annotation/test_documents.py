"""Parsing turns any text into a forest and keeps preset boundaries."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

WORDS = [*"the a dog cat Kim sees sleeps near . issue Xyz".split(), "\n", " ", "\n\n"]
SMALL = settings(max_examples=50, deadline=None, derandomize=True)


def test_training_sentences_are_parsed_accurately(toy, trained):
    sentences = toy.sentences()
    docs = trained.pipe(" ".join(s.words) for s in sentences)
    found = [(t.head.i, t.tag_) for doc in docs for t in doc]
    gold = [each for s in sentences for each in zip(s.heads, s.tags, strict=True)]
    heads, tags = np.mean(np.array(found) == np.array(gold), axis=0)
    assert heads > 0.9
    assert tags > 0.95


def test_the_parser_finds_sentence_boundaries(toy, trained_on_documents, assert_forest):
    first, second = (" ".join(s.words) for s in toy.sentences(60)[2:4])
    doc = trained_on_documents(f"{first} {second}")
    assert_forest(doc)
    assert [sentence.text for sentence in doc.sents] == [first, second]


def test_boundaries_of_an_earlier_component_are_kept(toy, trained, assert_forest):
    nlp = toy.copy(trained)
    nlp.add_pipe("sentencizer", first=True)
    plain = Language()
    plain.add_pipe("sentencizer")
    texts = "the dog . sees a cat .", "Ada sleeps . . Kim waits", "no end here", "stop ! the ! cat"
    for text in texts:
        doc = nlp(text)
        assert_forest(doc)
        assert [s.text for s in doc.sents] == [s.text for s in plain(text).sents]


@pytest.mark.parametrize(
    "words",
    [
        [" ", "the", "dog", "sleeps", "."],
        ["\n\n", "\t", "the", "dog", "sleeps", "."],
        ["the", " ", "dog", "\n", "\n", "sleeps", "."],
        ["the", "dog", "sleeps", ".", "\n"],
        ["the", "dog", "sleeps", ".", "\n", " ", "\u00a0"],
        ["\n", "dog", "\n"],
        [" "],
        ["\n", " ", "\t"],
    ],
)
def test_white_space_gets_log_probability_zero_and_keeps_trees_valid(trained, assert_forest, words):
    doc = trained(Doc(trained.vocab, words=words))
    assert_forest(doc)
    assert all(token._.log_prob == 0.0 for token in doc if token.is_space)
    assert all(token._.log_prob < 0.0 for token in doc if not token.is_space)
    assert all(token.tag_ == "_SP" for token in doc if token.is_space)
    assert not any(token.head.is_space for token in doc if not token.is_space)


def test_white_space_does_not_change_the_parse_of_words(toy, trained):
    words = toy.sentences()[0].words
    plain, spaced = (
        [
            (t.tag_, t.dep_, t.head.text, t._.log_prob)
            for t in trained(Doc(trained.vocab, words=tokens))
            if not t.is_space
        ]
        for tokens in (words, [w for word in words for w in (" ", word, "\n")])
    )
    assert spaced == plain


def test_white_space_between_boundaries_is_a_sentence(trained, assert_forest):
    words = ["dog", "sleeps", "\n", "\n", "Kim", "waits"]
    doc = Doc(trained.vocab, words=words, sent_starts=[True, False, True, False, True, False])
    doc = trained(doc)
    assert_forest(doc)
    assert [(s.start, s.end) for s in doc.sents] == [(0, 2), (2, 4), (4, 6)]
    assert doc[2:4].sent._.log_prob == 0.0


@SMALL
@given(text=st.text(max_size=60))
def test_any_text_becomes_a_forest(trained, assert_forest, text):
    assert_forest(trained(text))


@SMALL
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(WORDS), st.sampled_from([True, False, None, None])), max_size=25
    )
)
def test_any_words_with_any_boundaries_become_a_forest(trained_on_documents, assert_forest, rows):
    doc = Doc(trained_on_documents.vocab, words=[word for word, _ in rows])
    for token, (_, start) in zip(doc[1:], rows[1:]):
        token.is_sent_start = start
    doc = trained_on_documents(doc)
    assert_forest(doc)
    for token, (_, start) in zip(doc[1:], rows[1:]):
        assert start in (None, token.is_sent_start)


@pytest.mark.parametrize("model", ["trained", "trained_on_documents"])
def test_long_documents_without_boundaries_are_parsed_fully(toy, assert_forest, request, model):
    nlp = request.getfixturevalue(model)
    rng = random.Random(0)
    sentences = toy.sentences(60)
    words = []
    while len(words) < 20000:
        words += rng.choice(sentences).words
    doc = nlp(Doc(nlp.vocab, words=words))
    assert_forest(doc)
    assert len(list(doc.sents)) > 1000
