"""Predictions of a seated pool and of the same pool frozen agree."""

import numpy as np
import pytest
from seating import PRECISION, freeze_pool
from test_frozen_pool import SYMBOLS, Reference

from spacy_hpyp.compiled import jit
from spacy_hpyp.hpyp.franchise import N_RESTAURANTS
from spacy_hpyp.hpyp.pool import BUCKETS, SeatedPool, Weights, new_scratch
from spacy_hpyp.hpyp.predictive import alphabet_of, predict, predict_one, workspace


@jit
def product(pool, rows, kind):
    """All probabilities in some contexts, with one workspace."""
    scratch = workspace(pool)
    out = np.empty((len(rows), alphabet_of(pool)))
    for i in range(len(rows)):
        predict(pool, rows[i], kind, scratch, out[i])
    return out


@jit
def mixture(pool, rows):
    """As `product`, one dish after the other."""
    scratch = workspace(pool)
    out = np.empty((len(rows), alphabet_of(pool)))
    for i in range(len(rows)):
        for dish in range(out.shape[1]):
            out[i, dish] = predict_one(pool, rows[i], dish, scratch)
    return out


class Pools:
    """A random pool, seated and frozen."""

    def __init__(self, alphabet, seed, plain):
        self.reference = reference = Reference(
            alphabet, 100 * alphabet + seed, seed % 2 == 0, experts=int(plain)
        )
        gates, weights, possible = reference.gates, reference.weights, reference.possible
        if plain:
            gates = gates[:0]
            weights = Weights(
                np.empty((0, BUCKETS)), np.empty((0, SYMBOLS, len(reference.columns)))
            )
            possible = possible[:0, :0]
        self.kinds = max(1, len(possible))
        experts = len(reference.columns)
        self.seated, self.seated_mixture = (
            SeatedPool(
                *(reference.franchise, weights, weights, gates, possible, reference.elements),
                new_scratch(len(gates), experts, alphabet),
                mixed or plain,
            )
            for mixed in (False, True)
        )
        self.product, self.mixture = (
            freeze_pool(
                reference.franchise, weights, gates, possible, reference.elements, mixed=mixed
            )
            for mixed in (False, True)
        )


@pytest.fixture(scope="module", params=[1, 2, 7, 40])
def several(request):
    """Pools of one alphabet, of sampled and of Kneser-Ney seatings, with weights and without."""
    return [Pools(request.param, seed, plain) for seed in range(4) for plain in (False, True)]


def test_products_agree(several):
    for pools in several:
        rows = pools.reference.rows
        for kind in range(pools.kinds):
            seated, frozen = product(pools.seated, rows, kind), product(pools.product, rows, kind)
            np.testing.assert_allclose(seated, frozen, rtol=3 * PRECISION, atol=1e-12)
            np.testing.assert_allclose(seated.sum(axis=1), 1.0)


def test_mixtures_agree(several):
    for pools in several:
        rows = pools.reference.rows
        seated, frozen = mixture(pools.seated_mixture, rows), mixture(pools.mixture, rows)
        np.testing.assert_allclose(seated, frozen, rtol=PRECISION)
        np.testing.assert_allclose(seated.sum(axis=1), 1.0)


def test_a_pool_without_experts_says_nothing():
    pools = Pools(7, 0, True)
    nobody = pools.seated.franchise._replace(columns=np.empty((0, 0), dtype=np.int32))
    np.testing.assert_array_equal(
        mixture(pools.seated_mixture._replace(franchise=nobody), pools.reference.rows), 1.0
    )


def test_predicting_founds_no_restaurants_and_does_not_write_to_the_seating(several):
    for pools in several:
        before = {name: values.copy() for name, values in pools.seated.franchise._asdict().items()}
        assert before["used"][N_RESTAURANTS] > 0
        product(pools.seated, pools.reference.rows, 0)
        mixture(pools.seated_mixture, pools.reference.rows)
        for name, values in pools.seated.franchise._asdict().items():
            assert values.tobytes() == before[name].tobytes(), name
