"""Training that is interrupted, saved and loaded gives the same model as without interruption."""

import pytest
import spacy
from spacy.training import Example
from spacy.util import minibatch
from thinc.api import SGD

import spacy_hpyp.pipeline.word_classifiers  # noqa: F401
from spacy_hpyp.training import confidence

SWEEPS, PASSES = 4, 3
SMALL = {"arc_places": 2**12, "label_places": 2**10}
#: Something is latent from the third sweep on. No confidence is learned: that takes sentences that
#: came before.
SETTINGS = {"latent_after": 1, "particles": 5, "decoding": "best"}


def examples_of(toy, nlp, count=24):
    """Documents of two sentences, some of which occur more than once, and one of which is not
    projective.
    """
    sentences = toy.sentences(count)
    corpus = [*sentences, *sentences[4:8]]
    docs = [toy.doc(nlp.vocab, *corpus[i : i + 2]) for i in range(0, len(corpus), 2)]
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def states(toy, nlp, first=0, *, learning=False):
    """The parser after each batch of some sweeps, from one batch on."""
    batches = [batch for _ in range(SWEEPS) for batch in minibatch(examples_of(toy, nlp), 4)]
    for batch in batches[first:]:
        # An optimizer without a state, so that nothing of it is lost.
        nlp.update(batch, sgd=SGD(0.1, L2=0.0, grad_clip=0.0) if learning else False)
        yield toy.parser(nlp).to_bytes(exclude=["vocab"])


@pytest.mark.parametrize(
    ("latent", "pools"),
    [
        pytest.param(None, True, id="nothing-pools"),
        pytest.param("parses", True, id="parses-pools", marks=pytest.mark.slow),
        pytest.param("derivations", False, id="derivations-paper", marks=pytest.mark.slow),
    ],
)
def test_training_resumes_anywhere_in_a_sweep(toy, latent, pools):
    nlp = toy.nlp(latent=latent, **SETTINGS, **(toy.pools if pools else {}))
    nlp.initialize(lambda: examples_of(toy, nlp))
    saved, expected = [nlp.to_bytes()], []
    for state in states(toy, nlp, learning=pools):
        saved.append(nlp.to_bytes())
        expected.append(state)
    # At all places in a sweep of four batches, but not in each of the sweeps.
    for stop, data in list(enumerate(saved[:-1]))[::3]:
        assert (
            list(states(toy, toy.copy(nlp).from_bytes(data), stop, learning=pools))
            == expected[stop:]
        )


def pipeline(**settings):
    nlp = spacy.blank("en")
    nlp.add_pipe("easy_first_tagger", config={"model": {"places": 2**12}})
    nlp.add_pipe("easy_first_parser", config={"folds": 3, **settings, "model": SMALL})
    return nlp


def states_of_easy_first(toy, nlp, first=0):
    """The parser after each batch of some passes, from one batch on."""
    batches = [batch for _ in range(PASSES) for batch in minibatch(examples_of(toy, nlp, 90), 12)]
    for batch in batches[first:]:
        nlp.update(batch, drop=0.2)
        yield nlp.get_pipe("easy_first_parser").to_bytes(exclude=["vocab"])


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
    nlp.initialize(lambda: examples_of(toy, nlp, 90))
    parser = nlp.get_pipe("easy_first_parser")
    assert bool(parser.parser.progress.tags) == (settings.get("folds") != 0)
    saved, expected = [nlp.to_bytes()], []
    for state in states_of_easy_first(toy, nlp):
        saved.append(nlp.to_bytes())
        expected.append(state)
    assert parser.parser.progress.passes == PASSES
    assert parser.parser.confidence is not None
    for stop, data in enumerate(saved[:-1]):
        again = pipeline(**settings).from_bytes(data)
        again.to_disk(tmp_path)
        again = spacy.load(tmp_path)
        assert again.to_bytes() == data
        assert list(states_of_easy_first(toy, again, stop)) == expected[stop:]
