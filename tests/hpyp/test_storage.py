"""A franchise comes back from its bytes as it was."""

import itertools
from functools import partial

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    N_RESTAURANTS,
    N_SERVINGS,
    OPEN,
    RESTAURANT,
    SERVED,
    TABLES,
    new_franchise,
    reserve,
)
from spacy_hpyp.hpyp.hyperparameters import histograms
from spacy_hpyp.hpyp.seating import add, remove
from spacy_hpyp.hpyp.storage import pack, unpack
from spacy_hpyp.storage import dump

ALPHABET = 5
COLUMNS = np.array([[0, 1], [1, NONE], [NONE, NONE]])
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)
FIELDS = "children symbol dishes dish customers tables kinds size count".split()


def distributions(franchise):
    """The predictive distributions of all experts in seen and unseen contexts."""
    contexts = list(itertools.product(range(4), repeat=2))
    out = np.empty((len(franchise.columns), len(contexts), franchise.alphabet[0]))
    for expert, values in enumerate(out):
        for context, row in zip(contexts, values):
            predictive_distribution(franchise, expert, np.array(context, dtype=np.int32), row)
    return out


def assert_sound(franchise):
    """A franchise adds up, predicts, goes on seating and can be written again."""
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    for column, total in [(SERVED, CUSTOMERS), (OPEN, TABLES)]:
        sums = np.bincount(servings[:, RESTAURANT], servings[:, column], len(restaurants))
        np.testing.assert_array_equal(sums, restaurants[:, total])
    before = distributions(franchise)
    np.testing.assert_allclose(before.sum(axis=2), 1.0, rtol=1e-6)
    assert before.min() >= 0.0
    packed = pack(franchise)
    again = unpack(packed, new_franchise(franchise.columns, ALPHABET))
    assert dump(pack(again)) == dump(packed)
    np.testing.assert_allclose(distributions(again), before, rtol=1e-12)
    rng = np.random.default_rng(0)
    again = reserve(again, 20)
    for i in range(20):
        for expert in range(len(franchise.columns)):
            row = np.array([i % 3, i % 2], dtype=np.int32)
            remove(again, expert, row, i % ALPHABET, rng)
            add(again, expert, row, i % ALPHABET, rng)
    assert np.all(np.isfinite(distributions(again)))


symbols = st.integers(0, 2)
events = st.lists(st.tuples(st.tuples(symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=60)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(events, st.integers(0, 60), st.integers(0, 2**32))
def test_what_is_packed_comes_back(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed)
    packed = pack(franchise)
    again = unpack(packed, new_franchise(COLUMNS, ALPHABET))
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
    for found, expected in zip(histograms(again), histograms(franchise)):
        np.testing.assert_array_equal(found, expected)
    assert dump(pack(again)) == dump(packed)
    assert_sound(again)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(events, st.integers(0, 2**32))
def test_everybody_can_leave_a_franchise_that_came_back(customers, seed):
    rng = np.random.default_rng(seed)
    again = unpack(pack(seated_franchise(customers, (), seed)), new_franchise(COLUMNS, ALPHABET))
    again = reserve(again, len(customers))
    for context, dish in customers:
        for expert in range(len(COLUMNS)):
            assert remove(again, expert, np.array(context, dtype=np.int32), dish, rng)
    empty = pack(new_franchise(COLUMNS, ALPHABET))
    assert all(np.array_equal(pack(again)[name], empty[name]) for name in FIELDS)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(events, st.integers(0, 60), st.integers(0, 2**32))
def test_one_table_for_each_dish_comes_back_under_either_seating(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed, one_table=True)
    packed = pack(franchise)
    for one_table in (True, False):
        again = unpack(packed, new_franchise(COLUMNS, ALPHABET, one_table=one_table))
        assert again.one_table.tolist() == [one_table]
        np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
        assert dump(pack(again)) == dump(packed)


def test_the_order_of_founding_does_not_change_the_bytes():
    # A dish that is seen once has one way to be seated.
    customers = [((2, 1), 0), ((0, 1), 3), ((2, 0), 1), ((1, 1), 4)]
    packed = [dump(pack(seated_franchise(order))) for order in itertools.permutations(customers)]
    assert all(one == packed[0] for one in packed)


@pytest.mark.slow
def test_large_tables_come_back():
    customers = [((0, 0), 0)] * 70_000 + [((0, 0), 1)] * 300
    franchise = seated_franchise(customers)
    again = unpack(pack(franchise), new_franchise(COLUMNS, ALPHABET))
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)


def test_tables_of_ones_own_come_back():
    customers = [((i % 2, i % 3), i % 4) for i in range(50)]
    rng = np.random.default_rng(0)
    franchise = reserve(new_franchise(COLUMNS, ALPHABET, 0.0, 3.0, own_tables=True), len(customers))
    for context, dish in customers:
        for expert in range(len(COLUMNS)):
            add(franchise, expert, np.array(context, dtype=np.int32), dish, rng)
    packed = pack(franchise)
    again = unpack(packed, new_franchise(COLUMNS, ALPHABET, own_tables=True))
    assert dump(pack(again)) == dump(packed)
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
