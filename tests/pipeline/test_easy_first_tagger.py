"""The component easy_first_tagger: tags, guides, and jack-knifed tags of the training part."""

import numpy as np
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from tree_parsers import copy_of, with_guide

from spacy_hpyp.annotation.encoding import raw_sentences
from spacy_hpyp.pipeline.word_classifiers import EasyFirstTagger

SMALL = {"places": 2**13}
GUIDED = [
    ["guide.tag", "guide.prob"],
    ["guide.tag", "guide.tag2"],
    ["prev.guide.tag", "next.guide.tag"],
    ["word"],
]


def tagger_of(nlp) -> EasyFirstTagger:
    tagger = nlp.get_pipe("easy_first_tagger")
    assert isinstance(tagger, EasyFirstTagger)
    return tagger


def pipeline(*, templates=None, **settings):
    nlp = spacy.blank("en")
    model = SMALL if templates is None else {**SMALL, "templates": templates, "guided": True}
    nlp.add_pipe("easy_first_tagger", config={**settings, "model": model})
    return nlp


def train(nlp, examples, passes=6):
    nlp.initialize(lambda: examples)
    for _ in range(passes):
        nlp.update(examples)
    return nlp


@pytest.fixture(scope="module")
def sentences(toy):
    return toy.sentences(30)


@pytest.fixture(scope="module")
def trained_tagger(toy, sentences):
    """A trained pipeline; tests do not change it."""
    nlp = pipeline()
    return train(nlp, toy.examples(nlp, sentences))


def test_unknown_words_are_tagged_by_their_context(trained_tagger):
    doc = trained_tagger("the quetzal sees a zyx .")
    assert [token.tag_ for token in doc] == ["DT", "NN", "VBZ", "DT", "NN", "."]


def test_words_without_a_tag_are_not_learned(toy):
    nlp = pipeline()
    words = ["the", "dog", "odd", "sleeps"]
    doc = Doc(nlp.vocab, words=words, tags=["DT", "NN", "", "VBZ"])
    train(nlp, [Example(Doc(nlp.vocab, words=words), doc)] * 3)
    assert tagger_of(nlp).label_data == ["DT", "NN", "VBZ"]
    tagged = nlp(Doc(nlp.vocab, words=words))
    assert [tagged[i].tag_ for i in (0, 1, 3)] == ["DT", "NN", "VBZ"]


def test_tokens_come_from_the_tokenizer_or_from_the_treebank(toy):
    sentence = toy.sentence(["cannot", "stop"], ["MD", "VB"], [1, 1], ["aux", "ROOT"])
    for tokens, forms in (("gold", {"cannot", "stop"}), ("tokenizer", {"can", "not", "stop"})):
        nlp = pipeline(tokens=tokens)
        examples = toy.examples(nlp, [sentence, sentence])
        nlp.initialize(lambda examples=examples: examples)
        assert set(tagger_of(nlp).classifier.vocabulary.words) == forms


# Guides


def guided_doc(toy, vocab, sentence):
    """A gold document with a guide to the right tags."""
    return with_guide(toy.doc(vocab, sentence), [[tag, "XX"] for tag in sentence.tags], (0.9, 0.1))


def guided_examples(toy, nlp, sentences):
    docs = [guided_doc(toy, nlp.vocab, sentence) for sentence in sentences]
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


@pytest.fixture(scope="module")
def guided(toy, sentences):
    nlp = pipeline(templates=GUIDED)
    return train(nlp, guided_examples(toy, nlp, sentences))


def test_guides_decide_without_other_evidence(toy, guided):
    vocabulary = tagger_of(guided).classifier.vocabulary
    number = vocabulary.number("x1")
    possible = vocabulary.candidate_tags[vocabulary.tag_offsets[number] :]
    first, second = (vocabulary.tags[tag] for tag in possible[:2])
    tags = [second, first, second]
    sentence = toy.sentence(["x1", "x2", "x3"], tags, [0, 0, 0], ["ROOT", "a", "b"])
    doc = guided_doc(toy, guided.vocab, sentence)
    assert [token.tag_ for token in guided(doc)] == sentence.tags
    assert tagger_of(guided).classifier.is_guided


# Jack-knifing


def test_jackknifed_tags_are_stored_by_sentence_key(toy, trained_tagger, sentences):
    tagger = tagger_of(trained_tagger)
    before = tagger.to_bytes()
    examples = toy.examples(trained_tagger, sentences)
    found = tagger.jackknife(examples, folds=3)
    assert tagger.to_bytes() == before
    right = total = 0
    for example in examples:
        (raw,) = raw_sentences(example.reference)
        gold = [token.tag_ for token in example.reference]
        right += np.sum(np.array(found[raw.key]) == gold)
        total += len(gold)
    assert len(found) == len(sentences)
    # The sentence that is like no other gets wrong tags.
    assert 0.9 < right / total < 1.0


def test_jackknifed_tags_do_not_depend_on_threads(toy, trained_tagger, sentences):
    examples = toy.examples(trained_tagger, sentences)
    found = []
    for threads in (1, 4):
        tagger = tagger_of(copy_of(trained_tagger, threads=threads))
        found.append(tagger.jackknife(examples, folds=4))
    assert found[0] == found[1]
