"""Training of the easy-first tagger and senter, and odd documents."""

import random

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.pipeline.word_classifiers import WordClassifyingComponent

TEXT = "the dog sees a cat . Zenobia sleeps near Kim ."
NAMES = ("easy_first_tagger", "easy_first_senter")


class Toy:
    """A kind of component, and the toy treebank as documents of three sentences for it."""

    def __init__(self, toy, name):
        self.toy = toy
        self.name = name
        self.sentences = toy.sentences(30)

    def nlp(self, *, templates=None, **settings):
        model = {"places": 2**13, **({"templates": templates} if templates else {})}
        nlp = spacy.blank("en")
        nlp.add_pipe(self.name, config={**settings, "model": model})
        return nlp

    def component(self, nlp) -> WordClassifyingComponent:
        component = nlp.get_pipe(self.name)
        assert isinstance(component, WordClassifyingComponent)
        return component

    def examples(self, nlp, order=range(10)):
        docs = [self.toy.doc(nlp.vocab, *self.sentences[3 * i : 3 * i + 3]) for i in order]
        return [Example(nlp.make_doc(doc.text), doc) for doc in docs]

    def train(self, nlp, passes=12):
        nlp.initialize(lambda: self.examples(nlp))
        self.passes(nlp, range(passes))
        return nlp

    def passes(self, nlp, numbers):
        for number in numbers:
            order = random.Random(number).sample(range(10), 10)
            for start in range(0, 10, 4):
                nlp.update(self.examples(nlp, order[start : start + 4]))

    def copy(self, nlp):
        return spacy.util.load_model_from_config(nlp.config.copy()).from_bytes(nlp.to_bytes())


@pytest.fixture(scope="module")
def small(kind):
    """A trained pipeline; tests do not change it."""
    return kind.train(kind.nlp())


def annotation(doc):
    return [(token.text, token.tag_, token.is_sent_start) for token in doc]


@pytest.fixture(scope="module", params=NAMES)
def kind(request, toy):
    return Toy(toy, request.param)


# Training


def model_of(kind, nlp):
    return kind.component(nlp).to_bytes(exclude=["vocab"])


def test_reinitialization_discards_the_learned_model(kind, small):
    assert model_of(kind, kind.train(kind.copy(small))) == model_of(kind, small)


def test_examples_without_words_teach_nothing(kind, small):
    nlp = kind.copy(small)
    before = model_of(kind, nlp)
    empty = [Example(doc, doc.copy()) for doc in (nlp.make_doc(""), nlp.make_doc(" \n "))]
    assert nlp.update(empty)[kind.name] == 0.0
    assert model_of(kind, nlp) == before


def test_a_corpus_without_annotation_is_rejected(kind):
    nlp = kind.nlp()
    with pytest.raises(ValueError, match="cannot be initialized: no training example has"):
        nlp.initialize(lambda: [Example(nlp.make_doc("a b"), nlp.make_doc("a b"))])


# Documents


def test_odd_documents_are_annotated(kind, small):
    words = [["stop"], [], ["\n"], [" ", "a", "\n\n", "b", " "], ["ζξ", "😀"], ["a" * 1000]]
    docs = [Doc(small.vocab, words=each) for each in words]
    for doc, alone in zip(small.pipe(docs), words):
        assert len(doc) == len(alone)
        for token in doc:
            if kind.name == "easy_first_tagger":
                assert (token.tag_ == "_SP") == token.is_space
                assert token.tag_
            else:
                assert token.is_sent_start is (token.i == 0) or not token.is_space


def test_a_long_document_is_annotated(kind, small):
    doc = small(Doc(small.vocab, words=[token.text for token in small.make_doc(TEXT)] * 1800))
    assert len(doc) > 19_000
    is_tagger = kind.name == "easy_first_tagger"
    assert all(token.tag_ if is_tagger else token.is_sent_start is not None for token in doc)
