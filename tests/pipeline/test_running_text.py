"""Documents without sentence boundaries: confidence is high only with good reason."""

import numpy as np
import pytest

# The attachment of "near the bird" is ambiguous.
AMBIGUOUS = "the cat near the bird sees the horse near a fish ."


@pytest.fixture(scope="module")
def nlp(toy, trained_on_documents):
    return toy.copy(trained_on_documents, particles=50, decoding="mbr", temperature=2.0)


def probabilities(doc):
    return np.array([token._.head_prob for token in doc])


def test_later_sentences_do_not_increase_confidence(nlp):
    length = len(AMBIGUOUS.split())
    alone = nlp(AMBIGUOUS)
    first = nlp(" ".join([AMBIGUOUS] * 10))[:length]
    assert len(list(first.doc.sents)) == 10
    assert probabilities(alone).min() < 0.95
    assert probabilities(first) == pytest.approx(probabilities(alone), abs=0.15)


def test_the_posterior_of_early_sentences_is_not_certain(toy, nlp):
    heads = toy.parser(nlp).posterior(nlp.make_doc(" ".join([AMBIGUOUS] * 10))).heads
    assert heads[: len(AMBIGUOUS.split())].max(axis=1).min() < 0.95
