"""Training of the easy-first tagger and senter, and odd documents."""

import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from tree_parsers import copy_of, stored

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."


@pytest.fixture(scope="module", params=["easy_first_tagger", "easy_first_senter"])
def name(request):
    return request.param


def pipeline(name):
    nlp = spacy.blank("en")
    nlp.add_pipe(name, config={"model": {"places": 2**13}})
    return nlp


def train(toy, nlp):
    """Train a pipeline on documents of three sentences."""
    sentences = toy.sentences(30)
    docs = [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(0, 30, 3)]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    for number in range(12):
        for batch in minibatch(random.Random(number).sample(examples, 10), 4):
            nlp.update(batch)
    return nlp


@pytest.fixture(scope="module")
def small(toy, name):
    """A trained pipeline; tests do not change it."""
    return train(toy, pipeline(name))


# Training


def test_reinitialization_discards_the_learned_model(toy, small):
    assert stored(train(toy, copy_of(small))) == stored(small)


def test_examples_without_words_teach_nothing(name, small):
    nlp = copy_of(small)
    before = stored(nlp)
    empty = [Example(doc, doc.copy()) for doc in (nlp.make_doc(""), nlp.make_doc(" \n "))]
    assert nlp.update(empty)[name] == 0.0
    assert stored(nlp) == before


def test_a_corpus_without_annotation_is_rejected(name):
    nlp = pipeline(name)
    with pytest.raises(ValueError, match="cannot be initialized: no training example has"):
        nlp.initialize(lambda: [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))])


# Documents


def test_odd_documents_are_annotated(name, small):
    words = [["stop"], [], ["\n"], [" ", "a", "\n\n", "b", " "], ["ζξ", "😀"], ["a" * 1000]]
    docs = [Doc(small.vocab, words=each) for each in words]
    for doc, alone in zip(small.pipe(docs), words):
        assert len(doc) == len(alone)
        for token in doc:
            if name == "easy_first_tagger":
                assert (token.tag_ == "_SP") == token.is_space
                assert token.tag_
            else:
                assert token.is_sent_start is (token.i == 0) or not token.is_space


def test_a_long_document_is_annotated(name, small):
    doc = small(Doc(small.vocab, words=[token.text for token in small.make_doc(TEXT)] * 1800))
    assert len(doc) > 19_000
    is_tagger = name == "easy_first_tagger"
    assert all(token.tag_ if is_tagger else token.is_sent_start is not None for token in doc)
