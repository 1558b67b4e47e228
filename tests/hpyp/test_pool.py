"""Pools of experts compared with products and mixtures in plain Python."""

import numpy as np
import pytest
from compiling import compiled
from seating import PRECISION, ROWS, predictive_distribution

from spacy_hpyp.hpyp import gibbs
from spacy_hpyp.hpyp import pool as pools
from spacy_hpyp.hpyp.franchise import CUSTOMERS, PARENT, TIER, deepest, new_franchise, reserve
from spacy_hpyp.hpyp.gibbs import new_events
from spacy_hpyp.hpyp.pool import BUCKETS, Pool, Weights, bucket_of, workspace
from spacy_hpyp.hpyp.table import freeze

add_event, learn_event = map(compiled, (gibbs.add_event, gibbs.learn_event))
enter_event, predict_event, remove_event = map(
    compiled, (gibbs.enter_event, gibbs.predict_event, gibbs.remove_event)
)
predict, predict_one, deepest = map(compiled, (pools.predict, pools.predict_one, deepest))

COLUMNS = np.array([[0, 1, 2], [2, 0, -1], [-1, -1, -1]], dtype=np.int32)
ELEMENTS = np.zeros((3, 4), dtype=np.int32)
GATES = np.array([2, 0], dtype=np.int32)
SYMBOLS = 4
ALPHABET = 40
NO_MASK = np.empty((0, 0), dtype=np.bool_)


def random_mask(alphabet):
    mask = np.random.default_rng(5).random((2, alphabet)) < 0.5
    mask[:, min(7, alphabet - 1)] = True
    return mask


MASK = random_mask(ALPHABET)


def random_weights(scale, seed=0):
    rng = np.random.default_rng(seed)
    return Weights(
        0.5 + scale * rng.normal(size=(len(COLUMNS) * 4, BUCKETS)),
        scale * rng.normal(size=(len(GATES), SYMBOLS, len(COLUMNS))),
    )


def event_of(pool, row, dish, kind=0):
    """The event of a one-event sentence."""
    events = new_events(pool, 1)
    pool.scratch.context[:] = row
    enter_event(pool, events, kind, dish)
    return events, 0


def seated_pool(weights, possible=NO_MASK, events=300, one_table=False, alphabet=ALPHABET):
    """Make a pool with customers, and remove some of them again."""
    rng = np.random.default_rng(3)
    franchise = reserve(new_franchise(COLUMNS, alphabet, one_table=one_table), events + 100)
    franchise.discount[:] = rng.uniform(0.05, 0.95, len(franchise.discount))
    gradient = Weights(*(np.zeros_like(part) for part in weights))
    pool = Pool(franchise, weights, gradient, GATES, possible, ELEMENTS, mixed=False)
    pool = pool._replace(scratch=workspace(pool))
    for i in range(events):
        row = rng.integers(3, size=3).astype(np.int32)
        event = event_of(pool, row, (row.sum() * 5 + rng.geometric(0.2)) % alphabet)
        add_event(pool, *event, rng)
        if i % 3 == 0:
            assert remove_event(pool, *event, rng)
    for part in gradient:
        part[:] = 0.0
    return pool


def experts(pool, row):
    """The probability and the weight of each expert, in plain Python."""
    out = np.empty((len(COLUMNS), pool.experts.alphabet[0]))
    weight = np.empty(len(COLUMNS))
    for expert in range(len(COLUMNS)):
        predictive_distribution(pool.experts, expert, row, out[expert])
        restaurant = deepest(pool.experts, expert, row)
        while pool.experts.restaurants[restaurant, CUSTOMERS] == 0:
            restaurant = pool.experts.restaurants[restaurant, PARENT]
        found = pool.experts.restaurants[restaurant]
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


def test_bucket_sizes_double():
    sizes = [*range(1, 300), 10**6]
    expected = [min(BUCKETS - 1, int(np.ceil(np.log2(size)))) for size in sizes]
    assert [bucket_of(size) for size in sizes] == expected


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize("alphabet", [1, 7, 40, 300])
def test_frozen_pools_predict_like_the_seating(alphabet, one_table):
    mask = random_mask(alphabet)
    pool = seated_pool(random_weights(0.4), mask, one_table=one_table, alphabet=alphabet)
    multiplied, mixed = (
        pool._replace(experts=freeze(pool.experts, multiplied=not mixed), mixed=mixed)
        for mixed in (False, True)
    )
    out = np.empty(alphabet)
    for row in ROWS[::3]:
        for kind in range(2):
            predict(multiplied, row, kind, workspace(multiplied), out)
            expected = product(pool, row, kind)
            np.testing.assert_allclose(out, expected, rtol=3 * PRECISION, atol=1e-12)
        found = [predict_one(mixed, row, dish, workspace(mixed)) for dish in range(alphabet)]
        np.testing.assert_allclose(found, mixture(pool, row), rtol=PRECISION)


def test_adding_returns_the_predictive_log_probability():
    pool = seated_pool(random_weights(0.4), MASK)
    rng = np.random.default_rng(0)
    for row in ROWS[::5]:
        event = event_of(pool, row, 7, kind=1)
        for mixed in (False, True):
            expected = mixture(pool, row) if mixed else product(pool, row, 1)
            own = pool._replace(mixed=mixed)
            assert add_event(own, *event, rng) == pytest.approx(np.log(expected[7]))
            assert remove_event(own, *event, rng)


@pytest.mark.parametrize("mixed", [False, True])
def test_gradient_matches_finite_differences_of_the_log_likelihood(mixed):
    row, dish, step = np.array([1, 2, 0], dtype=np.int32), 7, 1e-5
    weights = random_weights(0.4)
    pool = seated_pool(weights, MASK if not mixed else NO_MASK)._replace(mixed=mixed)
    event = event_of(pool, row, dish)

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
    add_event(pool, *event, np.random.default_rng(0))
    assert any(np.any(part != 0) for part in pool.gradient)
    for found, slopes in zip(pool.gradient, expected):
        np.testing.assert_allclose(found, slopes, atol=1e-6)


@pytest.mark.parametrize("mixed", [False, True])
def test_learning_without_seating_gives_the_same_gradient(mixed):
    row, dish = np.array([1, 2, 0], dtype=np.int32), 7
    pool = seated_pool(random_weights(0.4), NO_MASK if mixed else MASK)._replace(mixed=mixed)
    event = event_of(pool, row, dish)
    before = pool.experts.used.copy()
    predicted = predict_event(pool, *event)
    assert not pool.gradient.bucket.any()
    found = learn_event(pool, *event)
    np.testing.assert_array_equal(pool.experts.used, before)
    gradient = [part.copy() for part in pool.gradient]
    for part in pool.gradient:
        part[:] = 0.0
    expected = add_event(pool, *event, np.random.default_rng(0))
    assert predicted == found == pytest.approx(expected, rel=1e-12)
    for part, other in zip(gradient, pool.gradient):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-12)


def test_a_pool_without_experts_predicts_with_probability_one():
    franchise = new_franchise(np.empty((0, 0), dtype=np.int32), 3)
    weights = Weights(np.empty((0, BUCKETS)), np.empty((0, 2, 0)))
    nothing, empty = np.empty((0, 4), dtype=np.int32), np.empty(0, dtype=np.int32)
    pool = Pool(franchise, weights, weights, empty, NO_MASK, nothing, mixed=True)
    pool = pool._replace(scratch=workspace(pool))
    assert add_event(pool, *event_of(pool, empty, 1), np.random.default_rng(0)) == 0.0
    frozen = pool._replace(experts=freeze(franchise))
    assert predict_one(frozen, empty, 1, workspace(frozen)) == 1.0
