"""A franchise predicts the same after serialization, and as a frozen table."""

import itertools
from functools import partial
from math import fsum

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import PRECISION, ROWS, predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import new_franchise, reserve
from spacy_hpyp.hpyp.hyperparameters import histograms
from spacy_hpyp.hpyp.seating import remove
from spacy_hpyp.hpyp.storage import pack, unpack
from spacy_hpyp.hpyp.table import distribution, freeze
from spacy_hpyp.storage import dump

ALPHABET = 7
COLUMNS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)
FIELDS = "children symbol dishes dish customers tables kinds size count".split()

symbols = st.integers(0, 2)
events = st.lists(
    st.tuples(st.tuples(symbols, symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=60
)


def distributions(franchise):
    """The predictive distributions of all experts in seen and unseen contexts."""
    out = np.empty((len(franchise.columns), len(ROWS), franchise.alphabet[0]))
    for expert, values in enumerate(out):
        for row, value in zip(ROWS, values):
            predictive_distribution(franchise, expert, row, value)
    return out


def assert_comes_back(franchise, **settings):
    """Assert that a franchise loaded from its bytes has the same predictions and bytes."""
    packed = pack(franchise)
    again = unpack(packed, new_franchise(COLUMNS, ALPHABET, **settings))
    np.testing.assert_allclose(distributions(again), distributions(franchise), rtol=1e-12)
    for found, expected in zip(histograms(again), histograms(franchise)):
        np.testing.assert_array_equal(found, expected)
    assert dump(pack(again)) == dump(packed)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(events, st.integers(0, 60), st.integers(0, 2**32), st.booleans())
def test_a_seating_round_trips(customers, stay, seed, one_table):
    franchise = seated_franchise(customers, customers[stay:], seed, one_table=one_table)
    assert_comes_back(franchise, one_table=one_table)
    if one_table:
        assert_comes_back(franchise)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(events, st.integers(0, 2**32))
def test_all_customers_can_leave_a_loaded_franchise(customers, seed):
    rng = np.random.default_rng(seed)
    again = unpack(pack(seated_franchise(customers, (), seed)), new_franchise(COLUMNS, ALPHABET))
    again = reserve(again, len(customers))
    for context, dish in customers:
        for expert in range(len(COLUMNS)):
            assert remove(again, expert, np.array(context, dtype=np.int32), dish, rng)
    empty = pack(new_franchise(COLUMNS, ALPHABET))
    assert all(np.array_equal(pack(again)[name], empty[name]) for name in FIELDS)


def test_the_order_of_customers_does_not_change_the_bytes():
    # A dish seen once can be seated in one way only.
    customers = [((2, 1, 0), 0), ((0, 1, 2), 3), ((2, 0, 1), 1), ((1, 1, 2), 4)]
    packed = [dump(pack(seated_franchise(order))) for order in itertools.permutations(customers)]
    assert all(one == packed[0] for one in packed)


@pytest.mark.slow
def test_large_tables_round_trip():
    assert_comes_back(seated_franchise([((0, 0, 0), 0)] * 70_000 + [((0, 0, 0), 1)] * 300))


def test_own_tables_round_trip():
    customers = [((i % 2, i % 3, i % 5), i % 4) for i in range(50)]
    assert_comes_back(seated_franchise(customers, own_tables=True), own_tables=True)


# Frozen tables


def busy_franchise(seed, contexts=3, alphabet=ALPHABET, events=150, **settings):
    """Seat many customers and remove some, leaving empty tables and restaurants behind."""
    rng = np.random.default_rng(seed)
    # Common and rare dishes; the last one never occurs.
    dishes = np.minimum(rng.geometric(2.0 / alphabet, events) - 1, alphabet - 2)
    customers = [(tuple(rng.integers(contexts, size=3).tolist()), int(dish)) for dish in dishes]
    leaving = customers[2 * events // 5 :: 2]
    return seated_franchise(customers, leaving, seed, alphabet=alphabet, **settings)


def assert_table_is_that_of(franchise, rows):
    """Assert that frozen tables give the probabilities of a seating, which sum to one."""
    alphabet = franchise.alphabet[0]
    live, out = np.empty(alphabet), np.empty(alphabet)
    tables = [freeze(franchise, multiplied=multiplied) for multiplied in (False, True)]
    for row, expert in itertools.product(rows, range(len(franchise.columns))):
        predictive_distribution(franchise, expert, row, live)
        for table in tables:
            distribution(table, expert, row, out)
            np.testing.assert_allclose(out, live, rtol=PRECISION)
            assert fsum(out) == pytest.approx(1.0, abs=PRECISION)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(events, st.integers(0, 40), st.integers(0, 2**32))
def test_a_frozen_table_matches_its_seating(customers, stay, seed):
    assert_table_is_that_of(seated_franchise(customers, customers[stay:], seed), ROWS[::3])


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize("alphabet", [2, 60])
def test_a_frozen_table_matches_busy_restaurants(alphabet, one_table):
    franchise = busy_franchise(1, alphabet=alphabet, one_table=one_table)
    assert_table_is_that_of(franchise, ROWS)


def test_probabilities_too_small_for_32_bits_stay_positive():
    # Nested back-off factors near 0.
    franchise, out = seated_franchise([((0, 0, 0), 0)] * 50), np.empty(ALPHABET)
    franchise.discount[:], franchise.strength[:] = 1e-25, 1e-25
    distribution(freeze(franchise), 0, np.zeros(3, dtype=np.int32), out)
    assert 0.0 < out[1] < 1e-70


@pytest.mark.parametrize(("contexts", "events"), [(5, 200), (60, 400), (1000, 300)])
def test_lookup_finds_restaurants_with_many_children(contexts, events):
    franchise = busy_franchise(contexts, contexts, events=events)
    symbols = [*range(0, contexts + 8, 1 + contexts // 8), 2**31 - 1]
    rows = itertools.product(symbols, repeat=3)
    seen = np.random.default_rng(contexts).integers(contexts, size=(100, 3))
    assert_table_is_that_of(franchise, [np.array(row, dtype=np.int32) for row in (*rows, *seen)])


LARGE = [0, 5, 2**16, 2**23 - 1, 2**23, 2**24 - 2]


@pytest.mark.parametrize(("expert", "symbols"), [(0, LARGE[::2]), (1, LARGE)])
def test_symbols_of_any_size_are_distinguished(expert, symbols):
    customers = [((a, b, a), (a + b) % ALPHABET) for a, b in itertools.product(symbols, repeat=2)]
    franchise = seated_franchise(customers, columns=COLUMNS[[expert]])
    rows = itertools.product([*LARGE, 7, 2**24, 2**31 - 1], repeat=3)
    assert_table_is_that_of(franchise, [np.array(row, dtype=np.int32) for row in rows])
