"""Parsing turns any text into a forest and keeps preset boundaries."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.language import Language
from spacy.tokens import Doc

SMALL = settings(max_examples=50, deadline=None, derandomize=True)


def test_training_sentences_are_parsed_accurately(toy, trained):
    sentences = toy.sentences()
    docs = list(trained.pipe(" ".join(s.words) for s in sentences))
    tokens = sum(map(len, docs))
    heads = sum(
        t.head.i == head for doc, s in zip(docs, sentences) for t, head in zip(doc, s.heads)
    )
    tags = sum(t.tag_ == tag for doc, s in zip(docs, sentences) for t, tag in zip(doc, s.tags))
    assert heads / tokens > 0.9
    assert tags / tokens > 0.95


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
    for text in (
        "the dog . sees a cat .",
        "Ada sleeps . . Kim waits",
        "no end here",
        "stop ! the ! cat",
    ):
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
    plain = trained(Doc(trained.vocab, words=words))
    spaced = trained(Doc(trained.vocab, words=[w for word in words for w in (" ", word, "\n")]))
    kept = [token for token in spaced if not token.is_space]
    assert [(t.tag_, t.dep_, t.head.text, t._.log_prob) for t in kept] == [
        (t.tag_, t.dep_, t.head.text, t._.log_prob) for t in plain
    ]


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
    words=st.lists(
        st.sampled_from(
            "the a dog cat Kim sees sleeps near . issue \n Xyz".split(" ") + [" ", "\n\n"]
        ),
        max_size=25,
    ),
    data=st.data(),
)
def test_any_words_with_any_boundaries_become_a_forest(
    trained_on_documents, assert_forest, words, data
):
    words = [word for word in words if word]
    sent_starts = data.draw(
        st.lists(st.sampled_from([1, -1, 0, 0]), min_size=len(words), max_size=len(words)),
        label="sent_starts",
    )
    doc = Doc(trained_on_documents.vocab, words=words)
    for token, start in zip(doc[1:], sent_starts[1:]):
        token.is_sent_start = {1: True, -1: False, 0: None}[start]
    doc = trained_on_documents(doc)
    assert_forest(doc)
    for token, start in zip(doc[1:], sent_starts[1:]):
        if start:
            assert token.is_sent_start == (start == 1)


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
