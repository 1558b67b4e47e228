"""Confidence: learned from sentences that are taken out of the model and put back as they were."""

import numpy as np
import pytest
from spacy.tokens import Doc
from spacy.training import Example

from spacy_hpyp.annotation.arrays import Parses
from spacy_hpyp.annotation.confidence import (
    UNLEARNED,
    Passage,
    check_weights,
    confidence,
    features,
    learn,
    running_text,
)
from spacy_hpyp.compiled import NONE

TEXTS = ["the dog sees a cat . the cat near the bird sleeps . Kim waits .", "a fish sings ."]


def parses_with(heads, head_probability):
    n = len(heads)
    nothing = np.zeros(n)
    heads = np.array(heads, dtype=np.int32)
    return Parses(heads, heads, heads, nothing, nothing, nothing, np.array(head_probability), nothing)


def test_features_are_log_odds_length_and_whether_it_is_a_root():
    found = features(parses_with([1, NONE, 0, NONE], [0.5, 0.9, 0.25, 1.0]), np.array([0, 3, 4]))
    expected = [
        [1.0, 0.0, np.log(2.0), 0.0],
        [1.0, np.log(9.0), 0.0, 1.0],
        [1.0, -np.log(3.0), np.log(3.0), 0.0],
    ]
    assert found[:3] == pytest.approx(np.array(expected))
    assert np.isfinite(found).all()


def test_unlearned_confidence_is_the_posterior_probability():
    parses = parses_with([1, NONE], [0.3, 1.0])
    assert confidence(parses, np.array([0, 2]), UNLEARNED).tolist() == [0.3, 1.0]


def test_weights_are_found_again():
    rng = np.random.default_rng(0)
    wanted = np.array([0.5, 0.3, -0.8, 0.7])
    observed = np.column_stack(
        [np.ones(50_000), rng.normal(4.0, 3.0, 50_000), rng.exponential(1.0, 50_000), rng.random(50_000) < 0.1]
    )
    right = rng.random(50_000) < 1.0 / (1.0 + np.exp(-observed @ wanted))
    # Standard errors are below 0.05.
    assert learn(observed, right) == pytest.approx(wanted, abs=0.2)


@pytest.mark.parametrize("right", [True, False])
def test_weights_are_finite_where_everything_is_right_or_wrong(right):
    observed = features(parses_with([1, NONE] * 20, [1.0, 0.9] * 20), np.array([0, 40]))
    found = learn(observed, np.full(40, right))
    assert np.abs(found).max() < 20.0
    assert ((1.0 / (1.0 + np.exp(-observed @ found))) > 0.5).all() == right


def test_a_passage_is_running_text_with_the_words_of_its_sentences():
    rows = [
        np.array([[7, 8], [0, 1], [1, NONE], [0, NONE]]),
        np.array([[9, 5, 6], [0, 0, 0], [NONE, 0, 1], [NONE, 0, 0]]),
    ]
    blocks, heads = running_text([Passage([b"a", b"b"], rows), Passage([b"a"], rows[:1])])
    assert blocks.offsets.tolist() == [0, 5, 7]
    assert blocks.words.tolist() == [7, 8, 9, 5, 6, 7, 8]
    assert heads.tolist() == [1, NONE, NONE, 2, 3, 1, NONE]


def documents(toy, nlp):
    sentences = toy.sentences(60)
    return [toy.doc(nlp.vocab, *sentences[i : i + 3]) for i in range(0, len(sentences), 3)]


def trained_on(toy, **settings):

    nlp = toy.nlp(**toy.pools, particles=20, temperature=1.0, **settings)

    def examples():
        return [Example(nlp.make_doc(doc.text), doc) for doc in documents(toy, nlp)]

    nlp.initialize(examples)
    for _ in range(4):
        nlp.update(examples())
    return nlp


@pytest.fixture(scope="module")
def learned(toy):
    return trained_on(toy, decoding="mbr")


def test_confidence_is_learned_in_training_where_probabilities_are_found(toy, learned):
    assert not np.array_equal(toy.parser(learned).joint.confidence, UNLEARNED)
    assert np.array_equal(toy.parser(trained_on(toy, decoding="best")).joint.confidence, UNLEARNED)


def test_learning_confidence_leaves_the_model_as_it_is(toy, learned):
    other = trained_on(toy, decoding="best")
    for text in TEXTS:
        one, two = (toy.copy(nlp, decoding="best", marginals=False)(text) for nlp in (learned, other))
        assert [t._.log_prob for t in one] == pytest.approx([t._.log_prob for t in two], rel=1e-12)
    assert toy.parser(learned).joint.progress.tokens == toy.parser(other).joint.progress.tokens


def test_confidence_is_less_extreme_than_the_posterior_and_is_saved(toy, learned):
    again = toy.copy(learned)
    for text in TEXTS:
        doc, other = learned(text), again(text)
        assert [t._.head_prob for t in doc] == [t._.head_prob for t in other]
        assert all(0.0 < t._.head_prob < 1.0 for t in doc)


@pytest.mark.parametrize("weights", [[1.0], [0.0, float("nan"), 0.0, 0.0], [0.0, 1e9, 0.0, 0.0], None, "abcd"])
def test_damaged_weights_are_refused(weights):
    with pytest.raises(ValueError, match="the weights of its confidence are damaged"):
        check_weights(weights)


def test_a_sentence_without_words_to_learn_from_is_left_alone(toy):
    nlp = toy.nlp(decoding="mbr", particles=5)

    doc = Doc(nlp.vocab, words=["ok"], tags=["UH"], heads=[0], deps=["ROOT"])
    nlp.initialize(lambda: [Example(nlp.make_doc("ok"), doc)])
    for _ in range(3):
        nlp.update([Example(nlp.make_doc("ok"), doc)])
    assert nlp("ok")[0]._.head_prob is not None
