"""Interrupted, saved and resumed training gives the same model as uninterrupted training."""

from itertools import chain

import pytest
import spacy
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import SGD

import spacy_hpyp.pipeline.word_classifiers  # noqa: F401
from spacy_hpyp.training import confidence

SWEEPS, PASSES = 4, 3
SMALL = {"arc_places": 2**12, "label_places": 2**10}
#: Derivations are latent from the third sweep on. No confidence is learned, because that needs
#: earlier sentences.
SETTINGS = {"latent_after": 1, "particles": 5, "decoding": "best"}


def batches_of(toy, nlp, sentences, sweeps, size):
    """The batches of some sweeps over documents of two sentences, some of them repeated and one of
    them non-projective.
    """
    corpus = toy.sentences(sentences)
    corpus += corpus[4:8]
    docs = [toy.doc(nlp.vocab, *corpus[i : i + 2]) for i in range(0, len(corpus), 2)]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    return [batch for _ in range(sweeps) for batch in minibatch(examples, size)]


def states(nlp, name, batches, **update):
    """Yield the bytes of a component after each batch."""
    for batch in batches:
        nlp.update(batch, **update)
        yield nlp.get_pipe(name).to_bytes(exclude=["vocab"])


def train_and_save(nlp, name, batches, **update):
    """The bytes of a pipeline before each batch, and those of a component after it."""
    saved, expected = [], []
    for batch in batches:
        saved.append(nlp.to_bytes())
        expected += states(nlp, name, [batch], **update)
    return saved, expected


@pytest.mark.parametrize(
    ("latent", "pools"),
    [
        pytest.param(None, True, id="nothing-pools"),
        pytest.param("parses", True, id="parses-pools", marks=pytest.mark.slow),
        pytest.param("derivations", False, id="derivations-paper", marks=pytest.mark.slow),
    ],
)
def test_training_resumes_anywhere_in_a_sweep(toy, latent, pools):
    # The optimizer has no state that could be lost.
    sgd = SGD(0.1, L2=0.0, grad_clip=0.0) if pools else False
    nlp = toy.nlp(latent=latent, **SETTINGS, **(toy.pools if pools else {}))
    nlp.initialize(lambda: chain(*batches_of(toy, nlp, 24, 1, 4)))
    batches = batches_of(toy, nlp, 24, SWEEPS, 4)
    saved, expected = train_and_save(nlp, "hpyp_parser", batches, sgd=sgd)
    # Resume at all places in a sweep of four batches, but not in each of the sweeps.
    for stop in range(0, len(saved), 3):
        again = toy.copy(nlp).from_bytes(saved[stop])
        left = batches_of(toy, again, 24, SWEEPS, 4)[stop:]
        assert list(states(again, "hpyp_parser", left, sgd=sgd)) == expected[stop:]


def pipeline(**settings):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**12}})
    nlp.add_pipe("easy_first_parser", config={"folds": 3, **settings, "model": SMALL})
    return nlp


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"beam": 1}, id="greedy"),
        pytest.param({"beam": 3, "folds": 0}, id="gold tags", marks=pytest.mark.slow),
    ],
)
def test_easy_first_training_resumes_anywhere_in_a_pass(toy, tmp_path, monkeypatch, settings):
    monkeypatch.setattr(confidence, "_CROSS_FITTED_BELOW", 0)
    nlp = pipeline(**settings)
    nlp.initialize(lambda: chain(*batches_of(toy, nlp, 90, 1, 12)))
    batches = batches_of(toy, nlp, 90, PASSES, 12)
    saved, expected = train_and_save(nlp, "easy_first_parser", batches, drop=0.2)
    parser = nlp.get_pipe("easy_first_parser").parser
    assert parser.progress.passes == PASSES
    assert parser.confidence is not None
    for stop, data in enumerate(saved):
        pipeline(**settings).from_bytes(data).to_disk(tmp_path)
        again = spacy.load(tmp_path)
        assert again.to_bytes() == data
        left = batches_of(toy, again, 90, PASSES, 12)[stop:]
        assert list(states(again, "easy_first_parser", left, drop=0.2)) == expected[stop:]
