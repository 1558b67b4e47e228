"""Discounts and strengths against integration on a grid, and the whole sampler against its own
prior (Geweke 2004).
"""

import math
from collections import Counter

import numpy as np
import pytest
from seating import predictive_distribution

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.hpyp.franchise import (
    CELL,
    COUNT,
    CUSTOMERS,
    LINK,
    N_RESTAURANTS,
    N_SERVINGS,
    OPEN,
    RESTAURANT,
    SERVED,
    SIZE,
    TABLES,
    TIER,
    new_franchise,
    reserve,
)
from spacy_hpyp.hpyp.hyperparameters import (
    SMALLEST_SUM,
    histograms,
    log_likelihood,
    resample,
    sample_tier,
)
from spacy_hpyp.hpyp.seating import add, remove


def seated_franchise(customers, columns=((0, 1),), alphabet=4, seed=0):
    rng = np.random.default_rng(seed)
    franchise = reserve(new_franchise(np.array(columns), alphabet, 0.5, 1.0), len(customers))
    for context, dish in customers:
        for expert in range(len(columns)):
            add(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    return franchise


def triples(values):
    """A tier's rows of a histogram of the values."""
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
    """The likelihood of restaurants, multiplied out customer by customer, for arrays of discounts
    and strengths.
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
def test_closed_form_is_the_product_over_customers(name):
    rng = np.random.default_rng(0)
    for _ in range(50):
        discount = rng.uniform(0.001, 0.999)
        strength = rng.exponential(2.0) - discount
        found = log_likelihood(*rows_of(RESTAURANTS[name]), discount, strength)
        assert found == pytest.approx(
            float(log_weights(RESTAURANTS[name], discount, strength)), abs=1e-7
        )


@pytest.mark.parametrize("discount", [1e-6, 1e-4, 1 - 1e-6])
def test_closed_form_holds_at_the_borders(discount):
    for strength in (1e-3, 1.0, 1e3):
        found = log_likelihood(*rows_of(RESTAURANTS["mixed"]), discount, strength)
        assert found == pytest.approx(
            float(log_weights(RESTAURANTS["mixed"], discount, strength)), abs=1e-4
        )


def test_histograms_count_every_tier_of_every_expert():
    rng = np.random.default_rng(4)
    customers = [(tuple(rng.integers(3, size=2)), int(rng.random() < 0.2)) for _ in range(2000)]
    franchise = seated_franchise(customers, columns=((0, 1), (1, NONE)))
    for context, dish in customers[1700:]:
        for expert in range(2):
            assert remove(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    expected = [Counter(), Counter(), Counter()]
    for row in franchise.restaurants[: franchise.used[N_RESTAURANTS]]:
        expected[0][int(row[TIER]), int(row[CUSTOMERS])] += 1
        expected[1][int(row[TIER]), int(row[TABLES])] += 1
    for row in franchise.servings[: franchise.used[N_SERVINGS]]:
        tier = int(franchise.restaurants[row[RESTAURANT], TIER])
        if row[OPEN] == 1:
            expected[2][tier, int(row[SERVED])] += 1
        cell = row[CELL]
        while cell != NONE:
            expected[2][tier, int(franchise.cells[cell, SIZE])] += int(franchise.cells[cell, COUNT])
            cell = franchise.cells[cell, LINK]
    assert max(size for _, size in expected[2]) > 128
    for found, counted in zip(histograms(franchise), expected):
        assert [tuple(row) for row in found.tolist()] == sorted(
            (*key, n) for key, n in counted.items() if key[1] > 0
        )


@jit
def run_slices(customers, tables, sizes, steps, rng):
    found = np.empty((steps, 2))
    discount, strength = 0.5, 1.0
    for i in range(steps):
        discount, strength = sample_tier(customers, tables, sizes, discount, strength, rng)
        found[i, 0] = discount
        found[i, 1] = strength
    return found


@pytest.mark.parametrize("name", RESTAURANTS)
def test_slices_have_the_moments_of_the_posterior(name):
    discount = ((np.arange(300) + 0.5) / 300)[:, None]
    height = np.linspace(-14.0, 5.0, 600)[None, :]
    weight = np.exp(
        log_weights(RESTAURANTS[name], discount, np.exp(height) - discount)
        - np.exp(height)
        + height
    )
    weight /= weight.sum()
    found = run_slices(*rows_of(RESTAURANTS[name]), 60_000, np.random.default_rng(3))
    d, x = found[:, 0], np.log(found.sum(axis=1))
    for statistic in (
        lambda d, x: d,
        lambda d, x: d**2,
        lambda d, x: x,
        lambda d, x: x**2,
        lambda d, x: np.exp(x) - d,
        lambda d, x: d * x,
    ):
        values = statistic(d, x)[200:]
        error = batch_error(values)
        # The grid is right to about a thousandth.
        expected = float((weight * statistic(discount, height)).sum())
        assert abs(values.mean() - expected) < 4 * error + 1e-3 * abs(expected)


@pytest.mark.parametrize("seed", range(20))
def test_restaurants_of_one_table_keep_something_for_what_they_have_not_seen(seed):
    # Where the tier begins is so far from its posterior that the first slice goes a long way down.
    rows = rows_of([[size] for size in [1] * 820 + [2] * 130 + [3] * 45 + [10] * 20])
    found = run_slices(*rows, 5, np.random.default_rng(seed))
    assert np.all(found.sum(axis=1) > 0.9 * SMALLEST_SUM)


def batch_error(values, batches=60):
    """The standard error of a chain's mean."""
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
    return means.std(ddof=1) / math.sqrt(batches)


def test_resampling_stays_in_the_range_and_leaves_the_seating_alone():
    rng = np.random.default_rng(0)
    customers = [(tuple(rng.integers(4, size=2)), int(rng.integers(4))) for _ in range(200)]
    franchise = seated_franchise(customers, columns=((0, 1), (1, NONE), (NONE, NONE)))
    before = {name: values.copy() for name, values in franchise._asdict().items()}
    for _ in range(200):
        resample(franchise, rng)
        assert np.all((franchise.discount > 0.0) & (franchise.discount < 1.0))
        assert np.all(franchise.strength > -franchise.discount)
        assert np.all(np.isfinite(franchise.strength))
    for name, values in franchise._asdict().items():
        if name not in ("discount", "strength"):
            np.testing.assert_array_equal(values, before[name])


@pytest.mark.parametrize("name", ["discount", "strength"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_slice_without_a_likelihood_is_an_error(name, value):
    franchise = seated_franchise(
        [((i % 3, i % 2), i % 4) for i in range(60)], columns=((0, 1), (1, 0))
    )
    hyperparameters = {"discount": 0.5, "strength": 1.0, name: value}
    franchise.discount[4], franchise.strength[4] = hyperparameters.values()
    with pytest.raises(ValueError, match="tier 4"):
        resample(franchise, np.random.default_rng(0))
    np.testing.assert_array_equal(
        [franchise.discount[4], franchise.strength[4]], [*hyperparameters.values()]
    )


ALPHABET = 4
CONTEXTS = np.array([[0]] * 7 + [[1]] * 5, dtype=np.int32)


@jit
def draw_dish(franchise, row, out, rng):
    predictive_distribution(franchise, 0, row, out)
    left = rng.random()
    for dish in range(len(out) - 1):
        left -= out[dish]
        if left < 0.0:
            return dish
    return len(out) - 1


@jit
def seat_anew(franchise, rows, dishes, rng):
    """Send everybody home and draw the data and their seating from the predictive probabilities."""
    out = np.empty(franchise.alphabet[0])
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
    for i in range(len(rows)):
        dishes[i] = draw_dish(franchise, rows[i], out, rng)
        add(franchise, 0, rows[i], dishes[i], rng)


@jit
def sweep(franchise, rows, dishes, rng):
    """Reseat every customer, then let every customer order again."""
    out = np.empty(franchise.alphabet[0])
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
        add(franchise, 0, rows[i], dishes[i], rng)
    for i in range(len(rows)):
        remove(franchise, 0, rows[i], dishes[i], rng)
        dishes[i] = draw_dish(franchise, rows[i], out, rng)
        add(franchise, 0, rows[i], dishes[i], rng)


STATISTICS = (
    *(
        "root discount",
        "leaf discount",
        "root log strength",
        "leaf log strength",
        "root tables",
        "leaf tables",
    ),
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
    for name, drawn, walked in zip(STATISTICS, forward.T, chain.T):
        error = math.hypot(drawn.std() / math.sqrt(len(drawn)), batch_error(walked))
        assert abs(drawn.mean() - walked.mean()) < 4 * error, name


def test_strength_of_dirichlet_processes_agrees_with_integration_on_a_grid():
    customers, tables, sizes = rows_of(RESTAURANTS["mixed"])
    rng = np.random.default_rng(0)
    found = np.empty(4000)
    strength = 1.0
    for i in range(len(found)):
        discount, strength = sample_tier(customers, tables, sizes, 0.0, strength, rng)
        assert discount == 0.0
        found[i] = np.log(strength)
    height = np.linspace(-12.0, 6.0, 4000)
    weight = np.exp(
        log_weights(RESTAURANTS["mixed"], 0.0, np.exp(height)) - np.exp(height) + height
    )
    weight /= weight.sum()
    mean = float((weight * height).sum())
    deviation = float(np.sqrt((weight * (height - mean) ** 2).sum()))
    # Draws follow each other, so that as many as these are worth at least a quarter.
    assert abs(found.mean() - mean) < 4 * deviation / np.sqrt(len(found) / 4)


def test_what_is_no_hyperparameter_stays():
    franchise = seated_franchise(
        [((i % 3, i % 2), i % 4) for i in range(60)], columns=((0, 1), (1, 0))
    )
    franchise.discount[:3] = 0.0, 1.0, 0.0
    franchise.strength[:3] = 1.0, 0.0, 2.0
    resample(franchise, np.random.default_rng(0))
    assert franchise.discount[:3].tolist() == [0.0, 1.0, 0.0]
    assert franchise.strength[1] == 0.0
    assert franchise.strength[0] != 1.0
    assert franchise.strength[2] != 2.0
    assert np.all(franchise.discount[3:] != 0.5)
