"""The component easy_first_senter: preset boundaries are kept, white space begins no sentence, and
other boundaries are predicted.
"""

import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from tree_parsers import copy_of

from spacy_hpyp.annotation.syntactic_words import Analysis, write_words
from spacy_hpyp.pipeline.corpus import mark_sentence
from spacy_hpyp.pipeline.word_classifiers import EasyFirstSenter

SMALL = {"places": 2**13}


def senter_of(nlp) -> EasyFirstSenter:
    senter = nlp.get_pipe("easy_first_senter")
    assert isinstance(senter, EasyFirstSenter)
    return senter


def pipeline(**settings):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_senter", config={**settings, "model": SMALL})
    return nlp


def examples_of(toy, nlp, sentences):
    docs = [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(0, len(sentences), 3)]
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


@pytest.fixture(scope="module")
def sentences(toy):
    return toy.sentences(36)


@pytest.fixture(scope="module")
def senter(toy, sentences):
    """A trained pipeline; tests do not change it."""
    nlp = pipeline()
    examples = examples_of(toy, nlp, sentences)
    nlp.initialize(lambda: examples)
    for _ in range(8):
        nlp.update(examples)
    return nlp


def starts(doc):
    return [token.is_sent_start for token in doc]


def forms_of(gold):
    return [gold.forms[i] for i in gold.place]


def test_sentences_are_found(senter):
    expected = ["the dog sleeps .", "a cat waits .", "Kim sees Mona ."]
    doc = senter(" ".join(expected))
    assert [sentence.text for sentence in doc.sents] == expected
    assert starts(doc).count(True) == 3
    assert None not in starts(doc)


def test_sentences_without_a_text_are_not_learned(toy, sentences):
    nlp = pipeline()
    unwritten = [mark_sentence(Doc(nlp.vocab, words=each.words)) for each in sentences]
    for doc in unwritten[::2]:
        write_words(doc, 1, [Analysis("do"), Analysis("n't")])
    alone = [Example(doc.copy(), doc) for doc in unwritten]
    examples = [*examples_of(toy, nlp, sentences), *alone]
    nlp.initialize(lambda: examples)
    before = senter_of(nlp).to_bytes()
    nlp.update(alone)
    assert senter_of(nlp).to_bytes() == before
    nlp.update(examples)
    assert senter_of(nlp).to_bytes() != before


def test_preset_boundaries_are_kept(senter):
    words = "the dog sleeps . a cat waits .".split()
    given = [True, None, True, None, False, None, None, None]
    doc = senter(Doc(senter.vocab, words=words, sent_starts=given))
    assert starts(doc) == [True, False, True, False, False, False, False, False]


def test_white_space_begins_no_sentence(senter):
    words = ["\n", "the", "dog", "sleeps", ".", "\n\n", "a", " ", "cat", "waits", ".", "\n"]
    doc = senter(Doc(senter.vocab, words=words))
    # Except at the first token.
    assert starts(doc) == [i in (0, 6) for i in range(12)]


@pytest.mark.parametrize("tokens", ["gold", "tokenizer"])
def test_boundaries_are_learned_on_the_configured_tokens(toy, tokens):
    sentence = toy.sentence(["cannot", "stop"], ["MD", "VB"], [1, 1], ["aux", "ROOT"])
    nlp = pipeline(tokens=tokens)
    examples = examples_of(toy, nlp, [sentence] * 3)
    nlp.initialize(lambda: examples)
    found = senter_of(nlp)._gold_words(examples[0], {})
    own = ["cannot", "stop"] if tokens == "gold" else ["can", "not", "stop"]
    assert forms_of(found) == own * 3
    assert found.gold.tolist() == [1, *[0] * (len(own) - 1)] * 3
    assert found.given.tolist() == [1, *[-1] * (3 * len(own) - 1)]


def test_the_next_word_begins_a_sentence_with_leading_white_space():
    nlp = pipeline(tokens="gold")
    words = ["a", ".", "\n", "b", "."]
    doc = Doc(nlp.vocab, words=words, sent_starts=[True, False, True, False, False])
    found = senter_of(nlp)._gold_words(Example(Doc(nlp.vocab, words=words), doc), {})
    assert forms_of(found) == ["a", ".", "b", "."]
    assert found.gold.tolist() == [1, 0, 1, 0]


def test_boundaries_of_the_predicted_document_are_not_learned(toy, sentences):
    nlp = pipeline()
    (example,) = examples_of(toy, nlp, sentences[:3])
    expected = senter_of(nlp)._gold_words(example, {})
    for i, token in enumerate(example.predicted):
        token.is_sent_start = i % 2 == 0
    found = senter_of(nlp)._gold_words(example, {})
    assert found.gold.tolist() == expected.gold.tolist()
    assert found.given.tolist() == expected.given.tolist()


def test_uncertain_boundaries_are_left_open(senter):
    nlp = copy_of(senter)
    text = "the dog sleeps . a cat waits . Kim sees Mona ."
    everything = starts(senter(text))
    open_ones = []
    for certainty in (0.0, 10.0, 1e9):
        senter_of(nlp).certainty = certainty
        found = starts(nlp(text))
        assert all(start in (None, expected) for start, expected in zip(found, everything))
        open_ones.append(found.count(None))
    assert open_ones[0] == 0
    assert open_ones[0] <= open_ones[1] <= open_ones[2] == len(everything) - 1
