"""Discounts and strengths compared with integration on a grid, and the whole sampler compared with
its own prior (Geweke 2004).
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from seating import draw_one, predictive_distribution, seated_franchise
from test_franchise import seating_of
from total_variation import assert_same_means, batch_error

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.hpyp.franchise import N_RESTAURANTS, TABLES, new_franchise, reserve
from spacy_hpyp.hpyp.hyperparameters import (
    SMALLEST_SUM,
    histograms,
    log_likelihood,
    resample,
    sample_tier,
)
from spacy_hpyp.hpyp.seating import add, remove


def triples(values):
    """Histogram rows of one tier's values."""
    return np.array(
        [(0, value, n) for value, n in sorted(Counter(values).items())], dtype=np.int64
    ).reshape(-1, 3)


def rows_of(restaurants):
    """One tier's histograms of restaurants, each a list of table sizes."""
    return (
        triples([sum(sizes) for sizes in restaurants]),
        triples([len(sizes) for sizes in restaurants]),
        triples([size for sizes in restaurants for size in sizes]),
    )


def log_weights(restaurants, discount, strength):
    """The likelihood of restaurants as a product over customers, for arrays of discounts and
    strengths.
    """
    total = np.zeros(np.broadcast(discount, strength).shape)
    for sizes in restaurants:
        for i in range(1, len(sizes)):
            total += np.log(strength + i * discount)
        for i in range(1, sum(sizes)):
            total -= np.log(strength + i)
        for size in sizes:
            for i in range(1, size):
                total += np.log(i - discount)
    return total


RESTAURANTS = {
    "none": [],
    "one customer": [[1]],
    "one large table": [[40]],
    "tables for one": [[1] * 12],
    "mixed": [[5, 1, 1], [2, 2], [9, 3, 1, 1, 1], [1]],
    "many": [[3, 1]] * 30 + [[60, 20, 4, 1, 1]],
}


@pytest.mark.parametrize("name", RESTAURANTS)
def test_closed_form_likelihood_equals_the_product_over_customers(name):
    rng, rows = np.random.default_rng(0), rows_of(RESTAURANTS[name])
    pairs = [(d, rng.exponential(2.0) - d) for d in rng.uniform(0.001, 0.999, 50)]
    pairs += itertools.product((1e-6, 1e-4, 1 - 1e-6), (1e-3, 1.0, 1e3))
    for discount, strength in pairs:
        expected = float(log_weights(RESTAURANTS[name], discount, strength))
        assert log_likelihood(*rows, discount, strength) == pytest.approx(expected, abs=1e-4)


def test_histograms_count_every_tier_of_every_expert():
    rng = np.random.default_rng(4)
    customers = [(tuple(rng.integers(3, size=2)), int(rng.random() < 0.2)) for _ in range(2000)]
    columns = np.array([[0, 1], [1, NONE]])
    franchise = seated_franchise(customers, customers[1700:], columns=columns, alphabet=4)
    expected = [Counter(), Counter(), Counter()]
    for expert in range(2):
        crowds = {}
        for (context, _), sizes in seating_of(franchise, expert):
            tier = 3 * expert + len(context)
            crowds.setdefault((tier, context), []).extend(sizes)
            expected[2].update((tier, size) for size in sizes)
        expected[0].update((tier, sum(sizes)) for (tier, _), sizes in crowds.items())
        expected[1].update((tier, len(sizes)) for (tier, _), sizes in crowds.items())
    assert max(size for _, size in expected[2]) > 128
    for found, counted in zip(histograms(franchise), expected):
        assert {tuple(row[:2]): row[2] for row in found.tolist()} == counted


@jit
def run_slices(customers, tables, sizes, discount, steps, rng):
    found = np.empty((steps, 2))
    strength = 1.0
    for i in range(steps):
        discount, strength = sample_tier(customers, tables, sizes, discount, strength, rng)
        found[i, 0] = discount
        found[i, 1] = strength
    return found


def moments(d, x):
    return d, d**2, x, x**2, np.exp(x) - d, d * x


# Without a discount: a Dirichlet process.
@pytest.mark.parametrize(
    ("name", "fixed"), [*((name, False) for name in RESTAURANTS), ("mixed", True)]
)
def test_slice_sampling_matches_the_posterior_moments(name, fixed):
    discount = np.zeros((1, 1)) if fixed else ((np.arange(300) + 0.5) / 300)[:, None]
    height = np.linspace(-14.0, 5.0, 600)[None, :]
    weight = np.exp(
        log_weights(RESTAURANTS[name], discount, np.exp(height) - discount)
        - np.exp(height)
        + height
    )
    weight /= weight.sum()
    start, rng = (0.0 if fixed else 0.5), np.random.default_rng(3)
    found = run_slices(*rows_of(RESTAURANTS[name]), start, 60_000, rng)
    d, x = found[:, 0], np.log(found.sum(axis=1))
    for values, on_grid in zip(moments(d, x), moments(discount, height)):
        values = values[200:]
        error = batch_error(values)
        # The grid is accurate to about a thousandth.
        expected = float((weight * on_grid).sum())
        assert abs(values.mean() - expected) <= 4 * error + 1e-3 * abs(expected)


def test_single_table_restaurants_keep_probability_for_unseen_dishes():
    # The initial values are far from the tier's posterior, so the first slice extends far down.
    rows = rows_of([[size] for size in [1] * 820 + [2] * 130 + [3] * 45 + [10] * 20])
    for seed in range(20):
        found = run_slices(*rows, 0.5, 5, np.random.default_rng(seed))
        assert np.all(found.sum(axis=1) > 0.9 * SMALLEST_SUM)


def two_experts():
    customers = [((i % 3, i % 2), i % 4) for i in range(60)]
    return seated_franchise(customers, columns=np.array([[0, 1], [1, 0]]), alphabet=4)


@pytest.mark.parametrize(("name", "value"), [("discount", math.nan), ("strength", math.inf)])
def test_an_undefined_likelihood_raises_an_error(name, value):
    franchise = two_experts()
    hyperparameters = {"discount": 0.5, "strength": 1.0, name: value}
    franchise.discount[4], franchise.strength[4] = hyperparameters.values()
    with pytest.raises(ValueError, match="tier 4"):
        resample(franchise, np.random.default_rng(0))
    np.testing.assert_array_equal(
        [franchise.discount[4], franchise.strength[4]], [*hyperparameters.values()]
    )


ALPHABET = 4
TIERS = ("root", "leaf")
CONTEXTS = np.array([[0]] * 7 + [[1]] * 5, dtype=np.int32)


@jit
def draw_dish(franchise, row, out, rng):
    predictive_distribution(franchise, 0, row, out)
    return draw_one(out, rng)


@jit
def seat_anew(franchise, rows, dishes, rng):
    """Unseat all customers, then draw data and seating from the predictive probabilities."""
    out = np.empty(franchise.alphabet[0])
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
    for i in range(len(rows)):
        dishes[i] = draw_dish(franchise, rows[i], out, rng)
        add(franchise, 0, rows[i], dishes[i], rng)


@jit
def sweep(franchise, rows, dishes, rng):
    """Reseat every customer, then redraw every customer's dish."""
    out = np.empty(franchise.alphabet[0])
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
        add(franchise, 0, rows[i], dishes[i], rng)
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
        dishes[i] = draw_dish(franchise, rows[i], out, rng)
        add(franchise, 0, rows[i], dishes[i], rng)


STATISTICS = (
    *(f"{tier} {what}" for what in ("discount", "log strength", "tables") for tier in TIERS),
    *("dishes", "agreement", "root discount * tables", "leaf log strength * tables"),
)


def statistics_of(franchise, dishes):
    """The values of `STATISTICS`; strengths as log(theta + d), which is finite."""
    x = np.log(franchise.strength + franchise.discount)
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    root, leaf = restaurants[0, TABLES], restaurants[1:, TABLES].sum()
    distinct = len(set(dishes.tolist()))
    agreement = np.mean(dishes[:7, None] == dishes[None, 7:])
    return (
        *franchise.discount,
        *x,
        root,
        leaf,
        distinct,
        agreement,
        franchise.discount[0] * root,
        x[1] * leaf,
    )


def test_reseating_and_resampling_preserve_the_joint_distribution():
    rng = np.random.default_rng(2024)
    franchise = reserve(new_franchise(np.array([[0]]), ALPHABET), 2 * len(CONTEXTS))
    dishes = np.zeros(len(CONTEXTS), dtype=np.int64)
    forward = np.empty((3000, len(STATISTICS)))
    for i in range(len(forward)):
        franchise.discount[:] = rng.random(2)
        franchise.strength[:] = rng.exponential(size=2) - franchise.discount
        seat_anew(franchise, CONTEXTS, dishes, rng)
        forward[i] = statistics_of(franchise, dishes)
    chain = np.empty((6000, len(STATISTICS)))
    for i in range(len(chain)):
        sweep(franchise, CONTEXTS, dishes, rng)
        resample(franchise, rng)
        chain[i] = statistics_of(franchise, dishes)
    assert min(len(np.unique(values)) for values in forward.T[6:8]) > 1
    assert_same_means(STATISTICS, forward, chain)


def test_fixed_hyperparameters_are_not_resampled():
    franchise = two_experts()
    before = franchise.discount.copy()
    franchise.discount[:3] = 0.0, 1.0, 0.0
    franchise.strength[:3] = 1.0, 0.0, 2.0
    resample(franchise, np.random.default_rng(0))
    assert franchise.discount[:3].tolist() == [0.0, 1.0, 0.0]
    assert franchise.strength[1] == 0.0
    assert franchise.strength[0] != 1.0
    assert franchise.strength[2] != 2.0
    assert np.all(franchise.discount[3:] != before[3:])
