"""A franchise is unchanged after serialization."""

import itertools
from functools import partial

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import new_franchise, reserve
from spacy_hpyp.hpyp.hyperparameters import histograms
from spacy_hpyp.hpyp.seating import remove
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


symbols = st.integers(0, 2)
events = st.lists(st.tuples(st.tuples(symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=60)


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
    customers = [((2, 1), 0), ((0, 1), 3), ((2, 0), 1), ((1, 1), 4)]
    packed = [dump(pack(seated_franchise(order))) for order in itertools.permutations(customers)]
    assert all(one == packed[0] for one in packed)


@pytest.mark.slow
def test_large_tables_round_trip():
    assert_comes_back(seated_franchise([((0, 0), 0)] * 70_000 + [((0, 0), 1)] * 300))


def test_own_tables_round_trip():
    customers = [((i % 2, i % 3), i % 4) for i in range(50)]
    assert_comes_back(seated_franchise(customers, own_tables=True), own_tables=True)
