"""A frozen view gives the probabilities of the seating that it was taken from, rounded down."""

import itertools
from functools import partial
from math import fsum

import numpy as np
import pytest
import seating
from hypothesis import given, settings
from hypothesis import strategies as st
from seating import LOG_PRECISION, PRECISION, ROUNDING, predictive_distribution, predictive_probability

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp import franchise as franchises
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    N_RESTAURANTS,
    N_SERVINGS,
    PARENT,
    RESTAURANT,
    SERVED,
    TIER,
    child,
    deepest,
    new_franchise,
    restaurant_distribution,
    seen,
)
from spacy_hpyp.pools.view import (
    EMPTY,
    FIRST,
    KEY,
    LIST,
    LOG_STEP,
    SINGLE,
    VALUE,
    WIDTH,
    below,
    bucket_of,
    bucket_of_restaurant,
    deepest_in,
    dish_of,
    excess_of,
    make_view,
    product_below,
    room_of,
    share_of,
    view_distribution,
    view_probability,
)

ALPHABET = 7
COLUMNS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])
seated_franchise = partial(seating.seated_franchise, columns=COLUMNS, alphabet=ALPHABET)


def busy_franchise(seed, contexts=3, alphabet=ALPHABET, events=150):
    """Many customers, of whom some have left empty tables and empty restaurants behind."""
    rng = np.random.default_rng(seed)
    # Common dishes and rare ones, the last one never.
    dishes = np.minimum(rng.geometric(2.0 / alphabet, events) - 1, alphabet - 2)
    customers = [(tuple(rng.integers(contexts, size=3).tolist()), int(dish)) for dish in dishes]
    return seated_franchise(customers, customers[2 * events // 5 :: 2], seed, alphabet=alphabet)


def contexts():
    return [np.array(row, dtype=np.int32) for row in itertools.product(range(4), repeat=3)]


def room_at(view, place):
    """For how many children of a restaurant there is room."""
    return int(room_of(np.uint64(view.restaurants[place + KEY])))


def places_of(view):
    """The restaurants of a view, each with the one above it, `NONE` above a root."""
    found = [(expert * WIDTH, NONE) for expert in range(len(view.columns))]
    for place, _ in found:
        first = int(view.restaurants[place + FIRST])
        children = range(first, first + room_at(view, place) * WIDTH, WIDTH)
        found += [(below, place) for below in children if view.restaurants[below + KEY] != EMPTY]
    return found


def pairs_of(franchise, view, symbols=range(4)):
    """Each restaurant of the franchise with its place in the view, as far as both agree on what is below
    what.

    symbols: What to look for below each restaurant, besides the symbols of those that stand there.
    """
    children = {}
    for number, row in enumerate(franchise.restaurants[: franchise.used[N_RESTAURANTS]]):
        own = children.setdefault(int(row[PARENT]), {})
        own[int(row[franchises.SYMBOL])] = number if row[CUSTOMERS] > 0 else NONE
    pairs = [(expert, expert * WIDTH) for expert in range(len(view.columns))]
    for restaurant, place in pairs:
        own = children.get(restaurant, {})
        for symbol in {*symbols, *own}:
            found = below(view, place, symbol)
            assert (found != NONE) == (own.get(symbol, NONE) != NONE)
            if found != NONE:
                pairs.append((own[symbol], int(found)))
    return pairs


symbols = st.integers(0, 2)
events = st.lists(st.tuples(st.tuples(symbols, symbols, symbols), st.integers(0, ALPHABET - 1)), max_size=40)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(events, st.integers(0, 40), st.integers(0, 2**32))
def test_view_gives_the_probabilities_of_the_seating(customers, stay, seed):
    franchise = seated_franchise(customers, customers[stay:], seed)
    view = make_view(franchise)
    live, out = np.empty(ALPHABET), np.empty(ALPHABET)
    for row in contexts()[::3]:
        for expert in range(len(COLUMNS)):
            predictive_distribution(franchise, expert, row, live)
            view_distribution(view, expert, row, out)
            np.testing.assert_allclose(out, live, rtol=PRECISION)
            for dish in range(ALPHABET):
                expected = predictive_probability(franchise, expert, row, dish)
                assert view_probability(view, expert, row, dish) == pytest.approx(expected, rel=PRECISION)
                assert out[dish] == pytest.approx(view_probability(view, expert, row, dish), rel=ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_are_never_above_those_of_the_seating_and_add_up_to_one_at_most(seed):
    franchise = busy_franchise(seed)
    view, live, out = make_view(franchise), np.empty(ALPHABET), np.empty(ALPHABET)
    for row in contexts():
        for expert in range(len(COLUMNS)):
            predictive_distribution(franchise, expert, row, live)
            view_distribution(view, expert, row, out)
            found = np.array([view_probability(view, expert, row, dish) for dish in range(ALPHABET)])
            for probabilities in (out, found):
                assert np.all(probabilities <= live * (1.0 + ROUNDING))
                assert 1.0 - PRECISION <= fsum(probabilities) <= 1.0


def test_probabilities_too_small_for_32_bits_have_a_logarithm():
    # Back-off factors near 0, one below the other.
    franchise = seated_franchise([((0, 0, 0), 0)] * 50)
    franchise.discount[:], franchise.strength[:] = 1e-25, 1e-25
    view = make_view(franchise)
    assert 0.0 < view_probability(view, 0, np.zeros(3, dtype=np.int32), 1) < 1e-70


def test_view_of_an_empty_franchise_is_uniform():
    view, out = make_view(new_franchise(COLUMNS, ALPHABET)), np.empty(ALPHABET)
    row = np.zeros(3, dtype=np.int32)
    for expert in range(len(COLUMNS)):
        view_distribution(view, expert, row, out)
        np.testing.assert_array_equal(out, 1 / ALPHABET)
        assert view_probability(view, expert, row, 3) == 1 / ALPHABET


@pytest.mark.parametrize(("contexts", "events"), [(2, 60), (4, 60), (5, 200), (60, 400), (1000, 300)])
def test_below_finds_the_restaurants_with_customers_and_no_others(contexts, events):
    franchise = busy_franchise(contexts, contexts, events=events)
    for view in (make_view(franchise), make_view(franchise, multiplied=True)):
        found = pairs_of(franchise, view, [*range(0, contexts + 8, 1 + contexts // 8), 2**31 - 1])
        rows = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
        assert len(found) == len(COLUMNS) + np.count_nonzero(rows[len(COLUMNS) :, CUSTOMERS])
        assert sorted(place for _, place in found) == sorted(place for place, _ in places_of(view))
        for restaurant, place in found:
            assert bucket_of_restaurant(view, place) == bucket_of(rows[restaurant, CUSTOMERS])


LARGE = [0, 5, 2**16, 2**21 - 1, 2**21, 2**22 - 2]


def large_franchise(expert, symbols):
    customers = [((a, b, a), (a + b) % ALPHABET) for a, b in itertools.product(symbols, repeat=2)]
    return seating.seated_franchise(customers, columns=COLUMNS[[expert]], alphabet=ALPHABET)


@pytest.mark.parametrize("multiplied", [False, True])
def test_symbols_of_any_size_are_told_apart(multiplied):
    for expert, seen_symbols in enumerate([LARGE[::2], LARGE]):
        franchise = large_franchise(expert, seen_symbols)
        view = make_view(franchise, multiplied=multiplied)
        for row in itertools.product([*LARGE, 7, 2**22, 2**31 - 1], repeat=3):
            row = np.array(row, dtype=np.int32)
            depth = franchise.restaurants[seen(franchise, deepest(franchise, 0, row)), TIER]
            place, found = 0, 0
            for column_read in COLUMNS[expert]:
                below_it = below(view, place, row[column_read]) if column_read != NONE else NONE
                if below_it == NONE:
                    break
                place, found = below_it, found + 1
            assert found == depth
            assert deepest_in(view, 0, row) == place


@pytest.mark.parametrize("alphabet", [7, 60])
def test_restaurants_list_what_they_serve(alphabet):
    franchise = busy_franchise(1, alphabet=alphabet)
    view, live = make_view(franchise), np.empty(alphabet)
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    several, above = 0, np.empty(alphabet)
    for restaurant, place in pairs_of(franchise, view):
        restaurant_distribution(franchise, restaurant, live)
        above[:] = 1 / alphabet
        if franchise.restaurants[restaurant, PARENT] != NONE:
            restaurant_distribution(franchise, franchise.restaurants[restaurant, PARENT], above)
        served = sorted(
            servings[
                (servings[:, RESTAURANT] == restaurant) & (servings[:, SERVED] > 0), franchises.DISH
            ].tolist()
        )
        several += len(served) > 4
        listed = int(view.restaurants[place + LIST])
        shares = np.array([share_of(view, place, listed, dish, above[dish]) for dish in range(alphabet)])
        assert np.flatnonzero(shares >= 0.0).tolist() == served
        np.testing.assert_allclose(shares[served], live[served], rtol=PRECISION)
    assert several > 0


def logs_of(view, place, parents):
    """The row of a restaurant with the excesses that it lists."""
    listed, with_row = int(view.restaurants[place + LIST]), place
    while int(view.restaurants[with_row + LIST]) != EMPTY:
        with_row = parents[with_row]
    logs = LOG_STEP * view.row[view.restaurants[with_row + VALUE]]
    if listed < SINGLE:
        entries = view.servings[listed : listed + int(view.restaurants[place + VALUE])]
        dishes = [dish_of(entry) for entry in entries]
        assert len(set(dishes)) == len(dishes)
        logs[dishes] += [excess_of(entry) for entry in entries]
    elif listed != EMPTY:
        logs[EMPTY - 1 - listed] += view.value[place + VALUE]
    return logs


@pytest.mark.parametrize("alphabet", [2, 7, 20, 60])
@pytest.mark.parametrize("seed", range(2))
def test_rows_and_excesses_are_the_logs_of_the_seating_up_to_a_constant(alphabet, seed):
    franchise = busy_franchise(seed, alphabet=alphabet)
    view, live = make_view(franchise, multiplied=True), np.empty(alphabet)
    parents = dict(places_of(view))
    for restaurant, place in pairs_of(franchise, view):
        restaurant_distribution(franchise, restaurant, live)
        assert np.ptp(logs_of(view, place, parents) - np.log(live)) < LOG_PRECISION


@pytest.mark.parametrize("seed", range(3))
def test_contexts_of_one_symbol_can_be_asked_for_by_themselves(seed):
    franchise = busy_franchise(seed)
    logs = make_view(franchise, multiplied=True)
    live = np.empty(ALPHABET)
    for expert, symbol in itertools.product(range(len(COLUMNS) - 1), range(4)):
        restaurant = child(franchise, expert, symbol)
        restaurant_distribution(franchise, expert if restaurant == NONE else restaurant, live)
        np.testing.assert_allclose(product_below(logs, expert, symbol), live, rtol=LOG_PRECISION)
