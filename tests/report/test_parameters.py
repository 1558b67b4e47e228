"""What is told of the distributions of a model."""

import numpy as np
import pytest

from spacy_hpyp.pools.view import BUCKETS, bucket_of
from spacy_hpyp.report.parameters import BUCKET_NAMES, learned_parameters


def learned(nlp, toy):
    model = toy.parser(nlp).joint
    return model, {
        each.name: each for each in learned_parameters(model.conditionals, model.franchises, model.weights)
    }


def test_every_tier_has_its_hyperparameters_and_its_customers(trained, toy):
    model, found = learned(trained, toy)
    for name, customers in toy.customers(trained).items():
        if not model.conditionals[name].experts:
            assert name not in found
            continue
        [tiers] = found[name].experts
        franchise = model.franchises[name]
        assert tiers[0].context == model.conditionals[name].experts[0]
        assert [tier.depth for tier in tiers] == list(range(len(franchise.discount)))
        assert [tier.discount for tier in tiers] == franchise.discount.tolist()
        assert [tier.strength for tier in tiers] == franchise.strength.tolist()
        # A table is a customer of the restaurant above: there are never more of them.
        counts = [tier.customers for tier in tiers]
        assert counts == sorted(counts)
        assert counts[-1] == customers
        assert tiers[0].restaurants == 1
        assert not tiers[-1].weights


def test_experts_of_different_depth_have_tiers_of_their_own_with_weights(toy):
    nlp = toy.nlp(**toy.pools)
    nlp.initialize(lambda: toy.examples(nlp, toy.sentences(10)))
    model, found = learned(nlp, toy)
    assert {name: [len(tiers) - 1 for tiers in each.experts] for name, each in found.items()} == {
        name: [len(context) for context in contexts]
        for name, contexts in toy.pools.items()
        if name in model.conditionals
    }
    assert found["word"].mixed
    assert not found["tag"].mixed
    weights = model.weights["transition"].bucket
    assert found["transition"].experts[1][2].weights == pytest.approx(weights[4 + 2])


def test_standings_have_the_names_of_what_they_hold():
    assert len(BUCKET_NAMES) == BUCKETS
    for customers in range(1, 200):
        name = BUCKET_NAMES[bucket_of(customers)]
        low, _, high = name.rstrip("+").partition("–")
        assert int(low) <= customers <= (np.inf if name.endswith("+") else int(high or low))
