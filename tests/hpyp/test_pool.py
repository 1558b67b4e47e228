"""Pools of experts are distributions, whatever the weights are."""

import numpy as np
import pytest
from seating import freeze_pool, predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    N_RESTAURANTS,
    PARENT,
    TIER,
    deepest,
    new_franchise,
    reserve,
)
from spacy_hpyp.hpyp.pool import (
    BUCKETS,
    SeatedPool,
    Weights,
    bucket_of,
    learn_event,
    new_scratch,
    predict_event,
    read_symbols,
    seat_event,
    unseat_all_noting,
)
from spacy_hpyp.hpyp.predictive import mixture_probability, workspace
from spacy_hpyp.hpyp.seating import open_restaurants

#: What removing an event has changed; nothing here asks for it.
MOVED = np.empty((64, 2), dtype=np.int32)
COLUMNS = np.array([[0, 1, 2], [2, 0, -1], [-1, -1, -1]])
ELEMENTS = np.zeros((3, 4), dtype=np.int32)
GATES = np.array([2, 0], dtype=np.int32)
SYMBOLS = 4
ALPHABET = 40
NO_MASK = np.empty((0, 0), dtype=np.bool_)
MASK = np.random.default_rng(5).random((2, ALPHABET)) < 0.5
MASK[:, 7] = True


def random_weights(scale, seed=0):
    rng = np.random.default_rng(seed)
    return Weights(
        0.5 + scale * rng.normal(size=(len(COLUMNS) * 4, BUCKETS)),
        scale * rng.normal(size=(len(GATES), SYMBOLS, len(COLUMNS))),
    )


def seated_pool(weights, possible=NO_MASK, events=300, one_table=False):
    """A pool with some customers, some of whom have left again."""
    rng = np.random.default_rng(3)
    franchise = reserve(new_franchise(COLUMNS, ALPHABET, one_table=one_table), events + 100)
    gradient = Weights(*(np.zeros_like(part) for part in weights))
    pool = SeatedPool(
        franchise,
        weights,
        gradient,
        GATES,
        possible,
        ELEMENTS,
        new_scratch(len(GATES), len(COLUMNS), ALPHABET),
        False,
    )
    places = np.empty(len(COLUMNS), dtype=np.int32)
    for i in range(events):
        row = rng.integers(3, size=3).astype(np.int32)
        dish = (row.sum() * 5 + rng.geometric(0.2)) % ALPHABET
        open_restaurants(franchise, row, places)
        seat_event(pool, places, symbols_of(pool, row), 0, dish, rng)
        if i % 3 == 0:
            assert unseat_all_noting(franchise, places, dish, rng, MOVED)
    for part in gradient:
        part[:] = 0.0
    return pool


def symbols_of(pool, row):
    symbols = np.empty(len(GATES), dtype=np.int32)
    read_symbols(pool, row, symbols)
    return symbols


def experts(pool, row):
    """What each expert says, and what it is worth, in plain Python."""
    out = np.empty((len(COLUMNS), ALPHABET))
    weight = np.empty(len(COLUMNS))
    for expert in range(len(COLUMNS)):
        predictive_distribution(pool.franchise, expert, row, out[expert])
        restaurant = deepest(pool.franchise, expert, row)
        while pool.franchise.restaurants[restaurant, CUSTOMERS] == 0:
            restaurant = pool.franchise.restaurants[restaurant, PARENT]
        found = pool.franchise.restaurants[restaurant]
        weight[expert] = pool.weights.bucket[found[TIER], bucket_of(found[CUSTOMERS])]
        weight[expert] += sum(
            pool.weights.gate[g, row[column], expert] for g, column in enumerate(GATES)
        )
    return out, weight


def product(pool, row, kind):
    out, weight = experts(pool, row)
    found = np.exp((weight[:, None] * np.log(out)).sum(axis=0))
    if len(pool.possible):
        found *= pool.possible[kind]
    return found / found.sum()


def mixture(pool, row):
    out, weight = experts(pool, row)
    share = np.exp(weight)
    return share @ out / share.sum()


def rows():
    return np.array(
        [[a, b, c] for a in range(4) for b in range(4) for c in range(4)], dtype=np.int32
    )


def test_standing_doubles_from_class_to_class():
    assert [bucket_of(customers) for customers in (1, 2, 3, 4, 5, 8, 9, 64, 65, 10**6)] == [
        0,
        1,
        2,
        2,
        3,
        3,
        4,
        6,
        7,
        7,
    ]


def test_seating_returns_the_probability_that_the_dish_had():
    pool = seated_pool(random_weights(0.4), MASK)
    rng = np.random.default_rng(0)
    places = np.empty(len(COLUMNS), dtype=np.int32)
    for row in rows()[::5]:
        symbols = symbols_of(pool, row)
        open_restaurants(pool.franchise, row, places)
        expected = np.log(product(pool, row, 1)[7])
        assert seat_event(pool, places, symbols, 1, 7, rng) == pytest.approx(expected)
        assert unseat_all_noting(pool.franchise, places, 7, rng, MOVED)
        expected = np.log(mixture(pool, row)[7])
        assert seat_event(pool._replace(mixed=True), places, symbols, 0, 7, rng) == pytest.approx(
            expected
        )
        assert unseat_all_noting(pool.franchise, places, 7, rng, MOVED)


@pytest.mark.parametrize("mixed", [False, True])
def test_gradient_is_that_of_the_log_likelihood(mixed):
    row, dish, step = np.array([1, 2, 0], dtype=np.int32), 7, 1e-5
    weights = random_weights(0.4)
    pool = seated_pool(weights, MASK if not mixed else NO_MASK)._replace(mixed=mixed)
    rng = np.random.default_rng(0)
    places = np.empty(len(COLUMNS), dtype=np.int32)
    open_restaurants(pool.franchise, row, places)
    symbols = symbols_of(pool, row)

    def log_likelihood():
        return np.log(mixture(pool, row)[dish] if mixed else product(pool, row, 0)[dish])

    expected = []
    for part in weights:
        slopes = np.zeros_like(part)
        for place in np.ndindex(part.shape):
            part[place] += step
            above = log_likelihood()
            part[place] -= 2 * step
            slopes[place] = (above - log_likelihood()) / (2 * step)
            part[place] += step
        expected.append(slopes)
    seat_event(pool, places, symbols, 0, dish, rng)
    assert any(np.any(part != 0) for part in pool.gradient)
    for found, slopes in zip(pool.gradient, expected):
        np.testing.assert_allclose(found, slopes, atol=1e-6)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_is_learned_without_seating_is_what_is_learned_with_it(mixed):
    row, dish = np.array([1, 2, 0], dtype=np.int32), 7
    pool = seated_pool(random_weights(0.4), NO_MASK if mixed else MASK)._replace(mixed=mixed)
    rng = np.random.default_rng(0)
    places = np.empty(len(COLUMNS), dtype=np.int32)
    open_restaurants(pool.franchise, row, places)
    symbols = symbols_of(pool, row)
    before = pool.franchise.used.copy()
    predicted = predict_event(pool, places, symbols, 0, dish, pool.scratch)
    assert not pool.gradient.bucket.any()
    found = learn_event(pool, places, symbols, 0, dish)
    np.testing.assert_array_equal(pool.franchise.used, before)
    gradient = [part.copy() for part in pool.gradient]
    for part in pool.gradient:
        part[:] = 0.0
    expected = seat_event(pool, places, symbols, 0, dish, rng)
    assert predicted == found == pytest.approx(expected, rel=1e-12)
    for part, other in zip(gradient, pool.gradient):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)


def test_one_table_at_most_is_deterministic_and_leaves_nothing_behind():
    pool = seated_pool(random_weights(0.0), one_table=True)
    restaurants = pool.franchise.restaurants[: pool.franchise.used[N_RESTAURANTS]].copy()
    places = np.empty(len(COLUMNS), dtype=np.int32)
    for row in rows():
        open_restaurants(pool.franchise, row, places)
        for seed in (1, 2):
            rng = np.random.default_rng(seed)
            seat_event(pool, places, symbols_of(pool, row), 0, 3, rng)
            assert unseat_all_noting(pool.franchise, places, 3, rng, MOVED)
    again = pool.franchise.restaurants[: len(restaurants)]
    np.testing.assert_array_equal(again[:, :CUSTOMERS], restaurants[:, :CUSTOMERS])
    np.testing.assert_array_equal(again[:, CUSTOMERS], restaurants[:, CUSTOMERS])


def test_unseating_what_is_not_seated_is_reported():
    pool = seated_pool(random_weights(0.0), events=0)
    places = np.empty(len(COLUMNS), dtype=np.int32)
    open_restaurants(pool.franchise, np.zeros(3, dtype=np.int32), places)
    assert not unseat_all_noting(pool.franchise, places, 0, np.random.default_rng(0), MOVED)


def test_pool_without_experts_generates_with_probability_one():
    franchise = new_franchise(np.empty((0, 0), dtype=np.int32), 3)
    weights = Weights(np.empty((0, BUCKETS)), np.empty((0, 2, 0)))
    nothing, no_gates = np.empty((0, 4), dtype=np.int32), np.empty(0, dtype=np.int32)
    view = freeze_pool(franchise, weights, no_gates, NO_MASK, nothing, mixed=True)
    empty = np.empty(0, dtype=np.int32)
    assert mixture_probability(view, empty, 1, workspace(view)) == 1.0
    pool = SeatedPool(
        franchise, weights, weights, no_gates, NO_MASK, nothing, new_scratch(0, 0, 3), True
    )
    assert seat_event(pool, empty, empty, 0, 1, np.random.default_rng(0)) == 0.0
    assert franchise.restaurants[0, PARENT] != NONE or franchise.used[N_RESTAURANTS] == 0
