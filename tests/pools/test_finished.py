"""Finished probabilities are those of the seating, to the last bit but for the order of sums; averages are
the means of several of them.
"""

import itertools

import numpy as np
import pytest
from seating import ROUNDING, predictive_probability, seated_franchise

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    DISH,
    N_RESTAURANTS,
    N_SERVINGS,
    PARENT,
    RESTAURANT,
    new_franchise,
    reserve,
    restaurant_distribution,
)
from spacy_hpyp.hpyp.hyperparameters import resample
from spacy_hpyp.hpyp.seating import add
from spacy_hpyp.hpyp.storage import pack, unpack
from spacy_hpyp.pools.finished import average, average_probability, finish

DISHES = 7
EXPERTS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])

COLUMNS = np.array([[0, 1]], dtype=np.int32)
ALPHABET = 4
EVENTS = [((0, 0), 0), ((0, 0), 1), ((0, 1), 0), ((1, 0), 2), ((1, 1), 2), ((0, 0), 0), ((2, 1), 1)] * 3
CONTEXTS = [np.array(context, dtype=np.int32) for context in itertools.product(range(4), repeat=2)]


def seated(events, seed):
    rng = np.random.default_rng(seed)
    franchise = reserve(new_franchise(COLUMNS, ALPHABET), len(events))
    for context, dish in events:
        add(franchise, 0, np.array(context, dtype=np.int32), dish, rng)
    resample(franchise, rng)
    return unpack(pack(franchise), COLUMNS, ALPHABET)


def test_the_average_is_the_mean_of_the_samples():
    samples = [seated(EVENTS, seed) for seed in range(4)]
    averaged = average(map(finish, samples), 4)
    for row in CONTEXTS:
        for dish in range(ALPHABET):
            values = [predictive_probability(sample, 0, row, dish) for sample in samples]
            assert np.ptp(values) > 0.0
            assert average_probability(averaged, row, dish) == pytest.approx(np.mean(values), rel=1e-12)


def test_averages_sum_to_one_in_every_context():
    averaged = average((finish(seated(EVENTS, seed)) for seed in range(3)), 3)
    for row in CONTEXTS:
        total = sum(average_probability(averaged, row, dish) for dish in range(ALPHABET))
        assert total == pytest.approx(1.0, rel=1e-12)


def test_the_average_of_one_sample_is_the_sample():
    sample = seated(EVENTS, 0)
    averaged = average([finish(sample)], 1)
    for row in CONTEXTS:
        for dish in range(ALPHABET):
            expected = predictive_probability(sample, 0, row, dish)
            assert average_probability(averaged, row, dish) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize("leave", [0, 50, 100])
def test_finished_probabilities_are_those_of_the_seating(leave, one_table):
    rng = np.random.default_rng(leave)
    customers = [(tuple(rng.integers(3, size=3).tolist()), int(rng.integers(DISHES - 1))) for _ in range(100)]
    franchise = seated_franchise(
        customers, customers[:leave], one_table=one_table, columns=EXPERTS, alphabet=DISHES
    )
    finished = finish(franchise)
    used = int(franchise.used[N_RESTAURANTS])
    expected = np.empty((used, DISHES))
    for restaurant in range(used):
        restaurant_distribution(franchise, restaurant, expected[restaurant])
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    of_servings = expected[servings[:, RESTAURANT], servings[:, DISH]]
    np.testing.assert_allclose(finished.probability, of_servings, rtol=ROUNDING)
    # The last dish is served nowhere.
    above = np.append(expected[:, -1], 1.0 / DISHES)[franchise.restaurants[:used, PARENT]]
    np.testing.assert_allclose(finished.back_off * above, expected[:, -1], rtol=ROUNDING)
