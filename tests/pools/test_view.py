"""A frozen view gives the probabilities of the seating that it was taken from."""

import itertools
from functools import partial

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    PARENT,
    deepest,
    new_franchise,
    paths_of,
    predictive_distribution,
    predictive_probability,
)
from spacy_hpyp.pools.view import (
    best_by_class,
    freeze,
    keep_best,
    view_context_probability,
    view_distribution,
    view_path_probability,
    view_probability,
)

ALPHABET = 7
COLUMNS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])
KIND = np.array([0, 1, 1, NONE, 1, 0, 1], dtype=np.int32)
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)


def busy_franchise(seed):
    """Many customers, of whom some have left empty tables and empty restaurants behind."""
    rng = np.random.default_rng(seed)
    customers = [(tuple(rng.integers(3, size=3)), int(rng.integers(ALPHABET - 1))) for _ in range(150)]
    return seated_franchise(customers, customers[60:], seed)


def contexts():
    return [np.array(row, dtype=np.int32) for row in itertools.product(range(4), repeat=3)]


def distributions(view):
    """p(dish | restaurant) of every restaurant."""
    out = np.empty((len(view.back_off), view.alphabet[0]))
    for restaurant, row in enumerate(out):
        view_distribution(view, restaurant, row)
    return out


symbols = st.integers(0, 2)
events = st.lists(st.tuples(st.tuples(symbols, symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=40)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(events, st.integers(0, 40), st.integers(0, 2**32))
def test_view_gives_the_probabilities_of_the_seating(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed)
    view = freeze(franchise)
    live, out = np.empty(ALPHABET), np.empty(ALPHABET)
    for row in contexts()[::3]:
        for expert in range(len(COLUMNS)):
            restaurant = deepest(view, expert, row)
            predictive_distribution(franchise, expert, row, live)
            view_distribution(view, restaurant, out)
            np.testing.assert_allclose(out, live, rtol=1e-10)
            assert out.sum() == pytest.approx(1.0, rel=1e-10)
            for dish in range(ALPHABET):
                expected = predictive_probability(franchise, expert, row, dish)
                assert view_probability(view, restaurant, dish) == pytest.approx(expected, rel=1e-10)
                assert view_context_probability(view, expert, row, dish) == pytest.approx(expected, rel=1e-10)


def test_view_of_an_empty_franchise_is_uniform():
    view = freeze(new_franchise(COLUMNS, ALPHABET))
    np.testing.assert_array_equal(distributions(view), np.full((len(COLUMNS), ALPHABET), 1 / ALPHABET))
    assert view_context_probability(view, 0, np.zeros(3, dtype=np.int32), 3) == 1 / ALPHABET


def test_view_keeps_its_probabilities_when_hyperparameters_change():
    franchise = busy_franchise(0)
    view = freeze(franchise)
    before = distributions(view)
    franchise.discount[:] = 0.5
    franchise.strength[:] = 2.0
    np.testing.assert_array_equal(distributions(view), before)
    assert np.abs(distributions(freeze(franchise)) - before).max() > 1e-3


@pytest.mark.parametrize("best", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_best_of_each_class_are_those_that_sorting_finds(best, seed):
    view = freeze(busy_franchise(seed))
    dish, probability = best_by_class(view, KIND, 2, best)
    for restaurant, expected in enumerate(distributions(view)):
        for group in range(2):
            members = np.flatnonzero(KIND == group)
            found = dish[restaurant, group]
            found = found[found != NONE]
            assert len(found) == len(set(found)) == min(best, len(members))
            assert set(found) <= set(members)
            # Dishes may change places only if they are equally probable but for rounding.
            np.testing.assert_allclose(expected[found], np.sort(expected[members])[::-1][:best], rtol=1e-10)
            np.testing.assert_allclose(probability[restaurant, group, : len(found)], expected[found], rtol=1e-10)
            assert np.all(dish[restaurant, group, len(found) :] == NONE)
            assert np.all(probability[restaurant, group, len(found) :] == 0.0)


@pytest.mark.parametrize("best", [1, 2, 5])
def test_best_of_an_empty_franchise_are_the_lowest_numbers(best):
    dish, _ = best_by_class(freeze(new_franchise(COLUMNS, ALPHABET)), KIND, 2, best)
    for group in range(2):
        members = np.flatnonzero(KIND == group)[:best]
        assert np.all(dish[:, group, : len(members)] == members)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5]), max_size=8), st.integers(1, 5), st.randoms())
def test_best_are_kept_in_descending_order_and_equals_by_number(values, best, random):
    dish, probability = np.full(best, NONE, dtype=np.int32), np.zeros(best)
    order = list(enumerate(values))
    random.shuffle(order)
    for found, value in order:
        keep_best(dish, probability, found, value)
    expected = sorted(order, key=lambda pair: (-pair[1], pair[0]))[:best]
    assert [(found, value) for found, value in zip(dish.tolist(), probability) if found != NONE] == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_path_ends_at_the_deepest_restaurant_and_goes_through_those_above_it(seed):
    view = freeze(busy_franchise(seed))
    path = np.empty((COLUMNS.shape[1] + 1, len(COLUMNS)), dtype=np.int32)
    for row in contexts():
        paths_of(view, row, np.arange(len(COLUMNS)), path)
        for expert in range(len(COLUMNS)):
            way = [restaurant for restaurant in path[:, expert] if restaurant != NONE]
            assert way[-1] == deepest(view, expert, row)
            assert way[0] == expert
            assert [view.restaurants[restaurant, PARENT] for restaurant in way[1:]] == way[:-1]


@pytest.mark.parametrize("seed", range(3))
def test_the_probability_along_a_path_is_that_of_its_last_restaurant(seed):
    view = freeze(busy_franchise(seed))
    path = np.empty((COLUMNS.shape[1] + 1, len(COLUMNS)), dtype=np.int32)
    for row in contexts():
        paths_of(view, row, np.arange(len(COLUMNS)), path)
        for expert in range(len(COLUMNS)):
            for dish in range(ALPHABET):
                expected = view_probability(view, deepest(view, expert, row), dish)
                assert view_path_probability(view, path, expert, dish) == pytest.approx(expected, rel=1e-12)
