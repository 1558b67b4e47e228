"""A frozen table gives the probabilities of the seating that it was taken from."""

import itertools
from functools import partial
from math import fsum

import numpy as np
import pytest
import seating
from compiling import compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import PRECISION, predictive_distribution

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    N_RESTAURANTS,
    PARENT,
    SYMBOL,
    TIER,
    deepest,
    new_franchise,
    seen,
)
from spacy_hpyp.hpyp.table import BUCKETS, EMPTY, bucket_of, child_of, distribution, freeze

child_of, deepest = map(compiled, (child_of, deepest))

ALPHABET = 7
COLUMNS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)


def busy_franchise(seed, contexts=3, alphabet=ALPHABET, events=150, **settings):
    """Many customers, of whom some have left empty tables and empty restaurants behind."""
    rng = np.random.default_rng(seed)
    # Common dishes and rare ones, the last one never.
    dishes = np.minimum(rng.geometric(2.0 / alphabet, events) - 1, alphabet - 2)
    customers = [(tuple(rng.integers(contexts, size=3).tolist()), int(dish)) for dish in dishes]
    leaving = customers[2 * events // 5 :: 2]
    return seated_franchise(customers, leaving, seed, alphabet=alphabet, **settings)


def contexts():
    return [np.array(row, dtype=np.int32) for row in itertools.product(range(4), repeat=3)]


symbols = st.integers(0, 2)
events = st.lists(
    st.tuples(st.tuples(symbols, symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=40
)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(events, st.integers(0, 40), st.integers(0, 2**32))
def test_table_gives_the_probabilities_of_the_seating(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed)
    mixed, multiplied = freeze(franchise), freeze(franchise, multiplied=True)
    live, out = np.empty(ALPHABET), np.empty(ALPHABET)
    for row in contexts()[::3]:
        for expert in range(len(COLUMNS)):
            predictive_distribution(franchise, expert, row, live)
            distribution(multiplied, expert, row, out)
            np.testing.assert_allclose(out, live, rtol=PRECISION)
            distribution(mixed, expert, row, out)
            np.testing.assert_allclose(out, live, rtol=PRECISION)


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize("alphabet", [2, 7, 60])
def test_busy_restaurants_have_distributions_that_sum_to_one(alphabet, one_table):
    franchise = busy_franchise(1, alphabet=alphabet, one_table=one_table)
    live, out = np.empty(alphabet), np.empty(alphabet)
    for multiplied in (False, True):
        table = freeze(franchise, multiplied=multiplied)
        for row, expert in itertools.product(contexts(), range(len(COLUMNS))):
            predictive_distribution(franchise, expert, row, live)
            distribution(table, expert, row, out)
            np.testing.assert_allclose(out, live, rtol=PRECISION)
            assert fsum(out) == pytest.approx(1.0, abs=PRECISION)


def test_probabilities_too_small_for_32_bits_have_a_logarithm():
    # Back-off factors near 0, one below the other.
    franchise, out = seated_franchise([((0, 0, 0), 0)] * 50), np.empty(ALPHABET)
    franchise.discount[:], franchise.strength[:] = 1e-25, 1e-25
    distribution(freeze(franchise), 0, np.zeros(3, dtype=np.int32), out)
    assert 0.0 < out[1] < 1e-70


def test_table_of_an_empty_franchise_is_uniform():
    table, out = freeze(new_franchise(COLUMNS, ALPHABET)), np.empty(ALPHABET)
    row = np.zeros(3, dtype=np.int32)
    for expert in range(len(COLUMNS)):
        distribution(table, expert, row, out)
        np.testing.assert_array_equal(out, 1 / ALPHABET)


@pytest.mark.parametrize(
    ("contexts", "events"), [(2, 60), (4, 60), (5, 200), (60, 400), (1000, 300)]
)
def test_restaurants_with_customers_are_found_below_their_parents_and_no_others(contexts, events):
    franchise = busy_franchise(contexts, contexts, events=events)
    table = freeze(franchise)
    rows = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    others = [*range(0, contexts + 8, 1 + contexts // 8), 2**31 - 1]
    place, children = {NONE: NONE}, {}
    for number, row in enumerate(rows):
        above = int(row[PARENT])
        place[number] = number if above == NONE else child_of(table, place[above], row[SYMBOL])
        assert (place[number] == NONE) == (above != NONE and row[CUSTOMERS] == 0)
        if place[number] != NONE:
            children.setdefault(above, set()).add(int(row[SYMBOL]))
            assert table.restaurants[place[number]]["key"] % BUCKETS == bucket_of(row[CUSTOMERS])
    for number, here in place.items():
        if here != NONE:
            for symbol in set(others) - children.get(number, set()):
                assert child_of(table, here, symbol) == NONE
    found = [each for each in place.values() if each != NONE]
    assert len({*found}) == len(found) == np.count_nonzero(table.restaurants["key"] != EMPTY)


LARGE = [0, 5, 2**16, 2**23 - 1, 2**23, 2**24 - 2]


@pytest.mark.parametrize(("expert", "symbols"), [(0, LARGE[::2]), (1, LARGE)])
def test_symbols_of_any_size_are_told_apart(expert, symbols):
    customers = [((a, b, a), (a + b) % ALPHABET) for a, b in itertools.product(symbols, repeat=2)]
    franchise = seated_franchise(customers, columns=COLUMNS[[expert]])
    table = freeze(franchise)
    for row in itertools.product([*LARGE, 7, 2**24, 2**31 - 1], repeat=3):
        row = np.array(row, dtype=np.int32)
        place, depth = 0, 0
        for column in COLUMNS[expert]:
            below = child_of(table, place, row[column]) if column != NONE else NONE
            if below == NONE:
                break
            place, depth = below, depth + 1
        assert depth == franchise.restaurants[seen(franchise, deepest(franchise, 0, row)), TIER]
