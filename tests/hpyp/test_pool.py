"""Pools of experts are distributions, whatever the weights are."""

import numpy as np
import pytest

from spacy_hpyp.hpyp.franchise import new_franchise, predictive_distribution, reserve
from spacy_hpyp.hpyp.pool import (
    FrozenPool,
    SeatedPool,
    mixture_probability,
    open_restaurants,
    product_distribution,
    seat_mixture,
    seat_product,
    unseat_all,
)
from spacy_hpyp.hpyp.view import freeze

COLUMNS = np.array([[0, 1, 2], [2, 0, -1], [-1, -1, -1]])
ELEMENTS = np.zeros((3, 3), dtype=np.int32)
ALPHABET = 5


def seated_pool(weights, events=60):
    rng = np.random.default_rng(3)
    franchise = reserve(new_franchise(COLUMNS, ALPHABET), events)
    pool = SeatedPool(franchise, np.array(weights), ELEMENTS, np.empty((2, ALPHABET)))
    places = np.empty(3, dtype=np.int32)
    for _ in range(events):
        row = rng.integers(3, size=3).astype(np.int32)
        open_restaurants(franchise, row, places)
        seat_mixture(pool, places, (row.sum() + rng.integers(2)) % ALPHABET, rng)
    return pool


def experts(pool, row):
    out = np.empty((3, ALPHABET))
    for expert in range(3):
        predictive_distribution(pool.franchise, expert, row, out[expert])
    return out


def rows():
    return np.array([[a, b, c] for a in range(4) for b in range(4) for c in range(4)], dtype=np.int32)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.3, 0.5, 0.2], [0.0, 0.0, 0.0], [2.0, 1.5, 0.1]])
def test_product_is_the_normalised_product(weights):
    pool = seated_pool(weights)
    frozen = FrozenPool(freeze(pool.franchise), pool.weights, ELEMENTS)
    out = np.empty(ALPHABET)
    for row in rows():
        product_distribution(frozen, row, np.empty(ALPHABET), out)
        expected = np.prod(experts(pool, row) ** np.array(weights)[:, None], axis=0)
        np.testing.assert_allclose(out, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("weights", [[1.0, 0.0, 0.0], [0.3, 0.5, 0.2]])
def test_mixture_is_the_weighted_sum_and_adds_up_to_one(weights):
    pool = seated_pool(weights)
    frozen = FrozenPool(freeze(pool.franchise), pool.weights, ELEMENTS)
    for row in rows():
        found = [mixture_probability(frozen, row, dish) for dish in range(ALPHABET)]
        np.testing.assert_allclose(found, np.array(weights) @ experts(pool, row), rtol=1e-9)
        assert sum(found) == pytest.approx(1.0)


@pytest.mark.parametrize("weights", [[0.3, 0.5, 0.2], [1.0, 1.0, 1.0]])
def test_seating_returns_the_probability_that_the_dish_had(weights):
    pool = seated_pool(weights)
    rng = np.random.default_rng(0)
    places = np.empty(3, dtype=np.int32)
    for row in rows()[::5]:
        before = experts(pool, row)
        product = np.prod(before ** np.array(weights)[:, None], axis=0)
        open_restaurants(pool.franchise, row, places)
        assert seat_product(pool, places, row, 2, rng) == pytest.approx(np.log(product[2] / product.sum()))
        assert unseat_all(pool.franchise, places, 2, rng)
        before = experts(pool, row)
        assert seat_mixture(pool, places, 2, rng) == pytest.approx(np.log(np.array(weights) @ before[:, 2]))
        assert unseat_all(pool.franchise, places, 2, rng)


def test_unseating_what_is_not_seated_is_reported():
    pool = seated_pool([1.0, 1.0, 1.0], events=0)
    places = np.empty(3, dtype=np.int32)
    open_restaurants(pool.franchise, np.zeros(3, dtype=np.int32), places)
    assert not unseat_all(pool.franchise, places, 0, np.random.default_rng(0))


def test_pool_without_experts_generates_with_probability_one():
    franchise = new_franchise(np.empty((0, 0), dtype=np.int32), 3)
    empty = np.empty((0, 3), dtype=np.int32)
    frozen = FrozenPool(freeze(franchise), np.empty(0), empty)
    assert mixture_probability(frozen, np.empty(0, dtype=np.int32), 1) == 1.0
    pool = SeatedPool(franchise, np.empty(0), empty, np.empty((2, 3)))
    assert seat_mixture(pool, np.empty(0, dtype=np.int32), 1, np.random.default_rng(0)) == 0.0
