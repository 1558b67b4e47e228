"""Confidence, learned from sentences that are held out of the model and then restored."""

import warnings

import numpy as np
import pytest
from spacy.training import Example

from spacy_hpyp.annotation.arrays import Parses
from spacy_hpyp.annotation.confidence import UNLEARNED, features
from spacy_hpyp.annotation.user_data import PROBABILITIES
from spacy_hpyp.cli.analysis import calibrations
from spacy_hpyp.combining.log_linear import fit_confidence
from spacy_hpyp.compiled import NONE
from spacy_hpyp.training.confidence import calibration_blocks

TEXTS = ["the dog sees a cat . the cat near the bird sleeps . Kim waits .", "a fish sings ."]


def test_features_are_log_odds_arc_length_and_root_indicator():
    heads, nothing = np.array([1, NONE, 0, NONE], dtype=np.int32), np.zeros(4)
    probability = np.array([0.5, 0.9, 0.25, 1.0])
    parses = Parses(heads, heads, heads, nothing, nothing, nothing, probability, nothing)
    found = features(parses, np.array([0, 3, 4]))
    expected = [
        [1.0, 0.0, np.log(2.0), 0.0],
        [1.0, np.log(9.0), 0.0, 1.0],
        [1.0, -np.log(3.0), np.log(3.0), 0.0],
    ]
    assert found[:3] == pytest.approx(np.array(expected))
    assert np.isfinite(found).all()


def test_fitting_recovers_the_true_weights():
    rng = np.random.default_rng(0)
    wanted = np.array([0.5, 0.3, -0.8, 0.7])
    n = 50_000
    columns = np.ones(n), rng.normal(4.0, 3.0, n), rng.exponential(1.0, n), rng.random(n) < 0.1
    observed = np.column_stack(columns)
    right = rng.random(n) < 1.0 / (1.0 + np.exp(-observed @ wanted))
    # Standard errors are below 0.05.
    assert fit_confidence(observed, right, UNLEARNED) == pytest.approx(wanted, abs=0.2)


def test_each_passage_becomes_one_calibration_block():
    rows = [
        np.array([[7, 8], [0, 1], [1, NONE], [0, NONE]]),
        np.array([[9, 5, 6], [0, 0, 0], [NONE, 0, 1], [NONE, 0, 0]]),
    ]
    blocks, heads, _ = calibration_blocks([rows, rows[:1]])
    assert blocks.offsets.tolist() == [0, 5, 7]
    assert blocks.words.tolist() == [7, 8, 9, 5, 6, 7, 8]
    assert heads.tolist() == [1, NONE, NONE, 2, 3, 1, NONE]


def examples_of(toy, nlp, count=60, length=3):
    """Examples of documents of so many sentences."""
    sentences = toy.sentences(count)
    docs = [toy.doc(nlp.vocab, *sentences[i : i + length]) for i in range(0, count, length)]
    return [Example(nlp.make_doc(doc.text), doc) for doc in docs]


def trained_on(toy, sweeps=4, size=(60, 3), **settings):
    nlp = toy.nlp(**toy.pools, particles=20, temperature=1.0, **settings)
    nlp.initialize(lambda: examples_of(toy, nlp, *size))
    for _ in range(sweeps):
        nlp.update(examples_of(toy, nlp, *size))
    return nlp


@pytest.fixture(scope="module")
def learned(toy):
    return trained_on(toy, decoding="mbr")


def test_confidence_is_learned_only_with_mbr_decoding(toy, learned):
    assert toy.parser(learned).joint.confidence is not None
    assert toy.parser(trained_on(toy, decoding="best")).joint.confidence is None


def test_learning_confidence_does_not_change_the_model(toy, learned):
    other = trained_on(toy, decoding="best")
    for text in TEXTS:
        one, two = (toy.copy(nlp, decoding="best")(text) for nlp in (learned, other))
        assert [t._.log_prob for t in one] == pytest.approx([t._.log_prob for t in two], rel=1e-12)
    assert toy.parser(learned).joint.progress.tokens == toy.parser(other).joint.progress.tokens


@pytest.mark.parametrize("size", [(24, 24), (2, 1)])
def test_confidence_is_learned_from_few_documents(toy, size):
    nlp = trained_on(toy, sweeps=2, size=size, decoding="mbr")
    assert toy.parser(nlp).joint.confidence is not None
    fresh = toy.examples(nlp, toy.sentences(80, seed=1)[40:])
    for example, doc in zip(fresh, nlp.pipe(example.predicted for example in fresh)):
        example.predicted = doc
    for calibration in calibrations(fresh).values():
        assert calibration["confidence"] < calibration["accuracy"] + 0.15


def test_a_loaded_component_recalibrates_only_after_a_full_sweep(toy, learned):
    """The component is loaded in the middle of a sweep, so that its first sweep is incomplete."""
    nlp = toy.copy(learned)
    examples = examples_of(toy, nlp)
    nlp.update(examples[:10])
    nlp = toy.copy(nlp)
    found = []
    for seen in (examples[10:], examples):
        nlp.update(seen)
        confidence = toy.parser(nlp).joint.confidence
        found.append(np.array_equal(confidence.heads, toy.parser(learned).joint.confidence.heads))
    assert toy.parser(nlp).joint.progress.sweeps == toy.parser(learned).joint.progress.sweeps + 2
    assert found == [True, False]


def test_reading_uncalibrated_probabilities_warns_once(toy, learned):
    unlearned = toy.copy(learned)
    toy.parser(unlearned).joint.confidence = None
    doc = unlearned(TEXTS[0])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for part in (doc, doc[3:6].as_doc(copy_user_data=True)):
            assert None not in [token._.get(name) for token in part for name in PROBABILITIES]
    assert ["not calibrated" in str(each.message) for each in caught] == [True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all(token._.log_prob is not None for token in unlearned(TEXTS[0]))
        assert all(token._.head_prob is not None for token in learned(TEXTS[0]))
        # Values that a calibrated component has overwritten do not warn.
        assert all(token._.head_prob is not None for token in learned.get_pipe("hpyp_parser")(doc))
