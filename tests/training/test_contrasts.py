"""Weights learned from errors of the beam: only they change, and they raise the likelihood."""

import numpy as np
import pytest

from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.training.contrast import learn_contrasts

# The mathematics is tested with the other derivations.
pytestmark = pytest.mark.slow


def learned(parser, weights=None, threads=1):
    weights = weights or {name: parser.joint.weights[name] for name in DISTRIBUTIONS}
    given = parser.joint, parser._treebank.usable, weights, parser.search
    return learn_contrasts(*given, np.random.default_rng(0), threads=threads, given_tags=False)


def test_gold_derivations_become_no_less_probable_and_the_model_is_kept(toy, trained_pools):
    parser = toy.parser(trained_pools)
    stored = parser.joint.to_bytes()
    weights, before = learned(parser)
    before_learning = parser.joint.weights
    assert any((weights[name].bucket != before_learning[name].bucket).any() for name in weights)
    assert learned(parser, weights)[1] >= before
    assert parser.joint.to_bytes() == stored
    same, likelihood = learned(parser, threads=3)
    assert likelihood == before
    for name in DISTRIBUTIONS:
        for part, other in zip(weights[name], same[name]):
            np.testing.assert_array_equal(part, other)


def weights_of(nlp, toy):
    model = toy.parser(nlp).model
    return {name: model.get_param(name).copy() for name in model.param_names}


def test_weights_are_fixed_afterwards(toy):
    sentences = toy.sentences(20)
    alone = toy.trained(sentences, sweeps=2, **toy.pools)
    nlp = toy.trained(sentences, sweeps=2, contrast=2, **toy.pools)
    first = weights_of(nlp, toy)
    assert any((first[name] != other).any() for name, other in weights_of(alone, toy).items())
    nlp.update(toy.examples(nlp, sentences))
    second = weights_of(nlp, toy)
    assert all(np.array_equal(first[name], second[name]) for name in first)


def test_a_contrast_sweep_beyond_training_raises_an_error(toy):
    nlp = toy.nlp(contrast=3, **toy.pools)
    nlp.config["training"]["max_epochs"] = 2
    with pytest.raises(ValueError, match="max_epochs"):
        nlp.initialize(lambda: toy.examples(nlp, toy.sentences(10)))


def test_a_model_without_pools_has_no_weights_to_learn(toy):
    sentences = toy.sentences(10)
    one, other = toy.trained(sentences, sweeps=2), toy.trained(sentences, sweeps=2, contrast=1)
    assert toy.parser(one).joint.to_bytes() == toy.parser(other).joint.to_bytes()
