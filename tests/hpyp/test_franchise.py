"""Seatings compared with a plain-Python Chinese restaurant franchise, in which a seating is a set
of lists of table sizes.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import context_of, predictive_distribution, predictive_probability, squared_sizes
from total_variation import total_variation

from spacy_hpyp.compiled import NONE, jit
from spacy_hpyp.hpyp import franchise as column
from spacy_hpyp.hpyp.franchise import new_franchise, reserve
from spacy_hpyp.hpyp.hyperparameters import histograms, log_likelihood
from spacy_hpyp.hpyp.seating import (
    add,
    open_restaurant,
    remove,
    restore,
    seat_with_undo,
    undo_seat,
    unseat_with_undo,
)
from spacy_hpyp.hpyp.storage import compact, pack, unpack

ALPHABET = 3
DISCOUNT = np.array([0.4, 0.6, 0.25])
STRENGTH = np.array([0.9, -0.3, 1.7])
COLUMNS = np.array([[0, 1]])


def row_of(context):
    return np.array(context, dtype=np.int32)


def franchise_for(events, columns=COLUMNS, alphabet=ALPHABET):
    franchise = reserve(new_franchise(columns, alphabet), events)
    tiers = columns.shape[1] + 1
    franchise.discount[:] = np.tile(DISCOUNT[:tiers], len(columns))
    franchise.strength[:] = np.tile(STRENGTH[:tiers], len(columns))
    return franchise


def seating_of(franchise, expert=0):
    """Read a seating from the arrays as a set of ((context, dish), table sizes), without empty
    servings.
    """
    found = set()
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        root, context = context_of(franchise, restaurant)
        serving = franchise.restaurants[restaurant, column.FIRST]
        while root == expert and serving != NONE:
            row = franchise.servings[serving]
            sizes = [int(row[column.SERVED])] * int(row[column.OPEN] == 1)
            cell = row[column.CELL]
            while cell != NONE:
                size, count, cell = franchise.cells[cell].tolist()
                sizes += [size] * count
            assert (sum(sizes), len(sizes)) == (row[column.SERVED], row[column.OPEN])
            if sizes:
                found.add(((context, int(row[column.DISH])), tuple(sorted(sizes))))
            serving = row[column.NEXT]
    return frozenset(found)


def crowd(seating, context):
    """The numbers of customers and tables of a restaurant."""
    sizes = [size for (where, _), sizes in seating for size in sizes if where == context]
    return sum(sizes), len(sizes)


def arrivals(seating, context, dish, alphabet=ALPHABET):
    """The choices of another customer: pairs of the seating after it and the probability of the
    dish and this choice. Tables are distinguishable.
    """
    discount, strength = DISCOUNT[len(context)], STRENGTH[len(context)]
    customers, tables = crowd(seating, context)
    sizes = dict(seating).get((context, dish), ())
    total = strength + customers
    fresh = (strength + discount * tables) / total if customers else 1.0
    found = [
        (
            reseated(seating, context, dish, (*sizes[:i], size + 1, *sizes[i + 1 :])),
            (size - discount) / total,
        )
        for i, size in enumerate(sizes)
    ]
    above = (
        arrivals(seating, context[:-1], dish, alphabet) if context else [(seating, 1 / alphabet)]
    )
    return found + [
        (reseated(other, context, dish, (*sizes, 1)), fresh * value) for other, value in above
    ]


def reseated(seating, context, dish, sizes):
    return frozenset({**dict(seating), (context, dish): tuple(sorted(sizes))}.items())


def probability_of(seating, context, dish):
    return sum(value for _, value in arrivals(seating, context, dish))


def enumerate_seatings(events, alphabet=ALPHABET):
    """The joint probability of the dishes and each possible seating of the events."""
    reached = {frozenset(): 1.0}
    for context, dish in events:
        after = Counter()
        for seating, value in reached.items():
            for other, factor in arrivals(seating, context, dish, alphabet):
                after[other] += value * factor
        reached = after
    return reached


def package_form(franchise):
    """The package's log-probability of a seating, summed over its tiers."""
    counted = histograms(franchise)
    tables = sum(len(sizes) for (context, _), sizes in seating_of(franchise) if context == ())
    return -tables * math.log(ALPHABET) + sum(
        log_likelihood(*(rows[rows[:, 0] == tier] for rows in counted), discount, strength)
        for tier, (discount, strength) in enumerate(zip(franchise.discount, franchise.strength))
    )


def assert_sound(franchise, events):
    """Check the invariants of a seating of these events."""
    seating = dict(seating_of(franchise))
    sent = Counter()
    for (context, dish), sizes in seating.items():
        if context:
            sent[context[:-1], dish] += len(sizes)
    seated = Counter({key: sum(sizes) for key, sizes in seating.items()})
    assert seated == sent + Counter(events)
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    for one, total in [(column.SERVED, column.CUSTOMERS), (column.OPEN, column.TABLES)]:
        sums = np.bincount(servings[:, column.RESTAURANT], servings[:, one], len(restaurants))
        np.testing.assert_array_equal(sums, restaurants[:, total])
    chains = [*servings[:, column.CELL], franchise.used[column.FREE_CELL]]
    cells = [cell for first in chains for cell in chain_from(franchise, first)]
    assert sorted(cells) == list(range(franchise.used[column.N_CELLS]))


def chain_from(franchise, cell):
    while cell != NONE:
        yield cell
        cell = franchise.cells[cell, column.LINK]


contexts = st.tuples(st.integers(0, 1), st.integers(0, 1))
events = st.tuples(contexts, st.integers(0, ALPHABET - 1))


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(events, max_size=60), st.integers(0, 2**32))
def test_predictive_distributions_match_the_reference_and_sum_to_one(customers, seed):
    rng = np.random.default_rng(seed)
    franchise = franchise_for(len(customers))
    for context, dish in customers:
        add(franchise, 0, row_of(context), dish, rng)
    seating = seating_of(franchise)
    out = np.empty(ALPHABET)
    for context in itertools.product(range(3), repeat=2):
        row = row_of(context)
        predictive_distribution(franchise, 0, row, out)
        assert out.sum() == pytest.approx(1.0, rel=1e-12)
        assert out.min() > 0.0
        for dish in range(ALPHABET):
            assert out[dish] == pytest.approx(probability_of(seating, context, dish), rel=1e-10)
            assert predictive_probability(franchise, 0, row, dish) == pytest.approx(
                out[dish], rel=1e-12
            )


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), events), max_size=60), st.integers(0, 2**32))
def test_adding_and_removing_customers_matches_the_reference(moves, seed):
    rng = np.random.default_rng(seed)
    franchise = franchise_for(len(moves))
    seated = Counter()
    for arrives, (context, dish) in moves:
        before = seating_of(franchise)
        if arrives:
            expected = probability_of(before, context, dish)
            assert add(franchise, 0, row_of(context), dish, rng) == pytest.approx(
                expected, rel=1e-10
            )
            assert seating_of(franchise) in [after for after, _ in arrivals(before, context, dish)]
            seated[context, dish] += 1
        else:
            removed = remove(franchise, 0, row_of(context), dish, rng)
            assert removed == (seated[context, dish] > 0)
            after = seating_of(franchise)
            if removed:
                assert before in [other for other, _ in arrivals(after, context, dish)]
                seated[context, dish] -= 1
            else:
                assert after == before
        assert_sound(franchise, seated)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(events, min_size=1, max_size=60), st.integers(1, 60), st.integers(0, 2**32))
def test_restore_and_undo_seat_reverse_removal_and_seating(customers, leaving, seed):
    rng = np.random.default_rng(seed)
    franchise = franchise_for(2 * len(customers))
    places = [open_restaurant(franchise, 0, row_of(context)) for context, _ in customers]
    noted = [
        (place, dish, seat_with_undo(franchise, place, dish, rng))
        for place, (_, dish) in zip(places, customers)
    ]
    whole = seating_of(franchise)
    leave = list(zip(places, [dish for _, dish in customers]))[:leaving]
    removed = [
        (place, dish, unseat_with_undo(franchise, place, dish, rng)) for place, dish in leave
    ]
    assert_sound(franchise, customers[leaving:])
    for place, dish, (tables, size) in reversed(removed):
        assert tables >= 0
        restore(franchise, place, dish, tables, size)
    assert seating_of(franchise) == whole
    assert_sound(franchise, customers)
    # Undo the seatings too, in reverse order.
    for place, dish, (_, tables, size) in reversed(noted):
        undo_seat(franchise, place, dish, tables, size)
    assert seating_of(franchise) == frozenset()
    assert_sound(franchise, [])


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    st.lists(events, min_size=1, max_size=8),
    st.randoms(use_true_random=False),
    st.integers(0, 2**32),
)
def test_seating_likelihood_does_not_depend_on_the_order_of_customers(customers, random, seed):
    rng = np.random.default_rng(seed)
    likelihood = {}
    for _ in range(6):
        random.shuffle(customers)
        franchise = franchise_for(len(customers))
        total, after = 0.0, frozenset()
        for context, dish in customers:
            before = after
            add(franchise, 0, row_of(context), dish, rng)
            after = seating_of(franchise)
            total += math.log(
                next(value for other, value in arrivals(before, context, dish) if other == after)
            )
        assert total == pytest.approx(likelihood.setdefault(after, total), abs=1e-9)
        assert total == pytest.approx(package_form(franchise), abs=1e-9)


@jit
def sweep(franchise, rows, dishes, sweeps, rng):
    """Run Gibbs sweeps. Return the sum of squared table sizes of every serving after each sweep,
    which distinguishes partitions.
    """
    squares = np.zeros((sweeps, franchise.used[column.N_SERVINGS]), dtype=np.int64)
    for i in range(sweeps):
        for event in range(len(dishes)):
            remove(franchise, 0, rows[event], dishes[event], rng)
            add(franchise, 0, rows[event], dishes[event], rng)
        squared_sizes(franchise, squares[i])
    return squares


@pytest.mark.parametrize(
    "customers",
    [
        [((0,), 0), ((0,), 0), ((1,), 0), ((1,), 0), ((1,), 1), ((0,), 1)],
        [((0, 0), 0)] * 3 + [((0, 1), 0), ((1, 0), 0), ((0, 0), 1)],
    ],
    ids=["two leaves", "depth two"],
)
def test_gibbs_sampling_visits_seatings_as_often_as_enumeration_predicts(customers):
    rng = np.random.default_rng(11)
    depth = len(customers[0][0])
    franchise = franchise_for(2 * len(customers), columns=np.arange(depth).reshape(1, depth))
    rows = np.array([context for context, _ in customers], dtype=np.int32)
    dishes = np.array([dish for _, dish in customers])
    for row, dish in zip(rows, dishes):
        add(franchise, 0, row, dish, rng)
    keys = [
        (context_of(franchise, row[column.RESTAURANT])[1], int(row[column.DISH]))
        for row in franchise.servings[: franchise.used[column.N_SERVINGS]]
    ]
    exact, reached = Counter(), enumerate_seatings(customers)
    for seating, value in reached.items():
        sizes = dict(seating)
        state = tuple(sum(size**2 for size in sizes[key]) for key in keys)
        exact[state] += value / sum(reached.values())
    visited = sweep(franchise, rows, dishes, 60_000, rng)[100:]
    distance, limit = total_variation(list(map(tuple, visited.tolist())), exact)
    assert distance < limit


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(events, max_size=40), st.integers(0, 40), st.integers(0, 2**32))
def test_packing_drops_empty_restaurants_without_changing_predictions_or_draws(
    customers, leaving, seed
):
    rng = np.random.default_rng(seed)
    franchise = franchise_for(3 * len(customers))
    for context, dish in customers:
        add(franchise, 0, row_of(context), dish, rng)
    for context, dish in customers[:leaving]:
        remove(franchise, 0, row_of(context), dish, rng)
    smaller = reserve(unpack(pack(franchise), new_franchise(COLUMNS, ALPHABET)), len(customers))
    assert seating_of(smaller) == seating_of(franchise)
    assert_sound(smaller, customers[leaving:])
    restaurants = smaller.restaurants[: smaller.used[column.N_RESTAURANTS]]
    assert np.all(restaurants[1:, column.CUSTOMERS] > 0)
    assert np.all(restaurants[1:, column.PARENT] < np.arange(1, len(restaurants)))
    assert np.all(smaller.servings[: smaller.used[column.N_SERVINGS], column.SERVED] > 0)
    out, expected = np.empty(ALPHABET), np.empty(ALPHABET)
    one, two = np.random.default_rng(seed), np.random.default_rng(seed)
    for context, dish in customers:
        predictive_distribution(smaller, 0, row_of(context), out)
        predictive_distribution(franchise, 0, row_of(context), expected)
        np.testing.assert_array_equal(out, expected)
        assert add(smaller, 0, row_of(context), dish, one) == add(
            franchise, 0, row_of(context), dish, two
        )
    assert seating_of(smaller) == seating_of(franchise)


def test_compaction_reclaims_the_rows_of_removed_contexts():
    rng, rows = np.random.default_rng(0), []
    franchise = franchise_for(50)
    for _ in range(50):
        add(franchise, 0, row_of((0, 0)), 0, rng)
    for _ in range(300):
        franchise = reserve(compact(franchise), 20)
        contexts = rng.integers(10**6, size=(20, 2)).astype(np.int32)
        for change in (add, remove):
            for context in contexts:
                change(franchise, 0, context, 1, rng)
        rows.append((len(franchise.restaurants), len(franchise.servings), len(franchise.cells)))
    assert rows[-1] == rows[100]
    assert franchise.used[column.N_RESTAURANTS] <= len(franchise.restaurants) < 500
    assert {dish for (_, dish), _ in seating_of(franchise)} == {0}


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=300), st.integers(1, 50)
)
def test_growing_in_small_steps_preserves_the_seating(customers, step):
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    large = franchise_for(len(customers), columns=np.array([[0]]), alphabet=201)
    small = franchise_for(0, columns=np.array([[0]]), alphabet=201)
    for i, (symbol, dish) in enumerate(customers):
        if i % step == 0:
            small = reserve(small, step)
        add(large, 0, row_of((symbol,)), dish, rng)
        add(small, 0, row_of((symbol,)), dish, again)
    assert seating_of(small) == seating_of(large)
