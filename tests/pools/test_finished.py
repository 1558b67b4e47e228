"""Finished probabilities are those of the seating, to the last bit but for the order of sums."""

import numpy as np
import pytest
from seating import ROUNDING, seated_franchise

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    DISH,
    N_RESTAURANTS,
    N_SERVINGS,
    PARENT,
    RESTAURANT,
    restaurant_distribution,
)
from spacy_hpyp.pools.view import finish

DISHES = 7
EXPERTS = np.array([[0, 1, 2], [2, 0, NONE], [NONE, NONE, NONE]])


@pytest.mark.parametrize("one_table", [False, True])
@pytest.mark.parametrize("leave", [0, 50, 100])
def test_finished_probabilities_are_those_of_the_seating(leave, one_table):
    rng = np.random.default_rng(leave)
    customers = [(tuple(rng.integers(3, size=3).tolist()), int(rng.integers(DISHES - 1))) for _ in range(100)]
    franchise = seated_franchise(
        customers, customers[:leave], one_table=one_table, columns=EXPERTS, alphabet=DISHES
    )
    probability, back_off = finish(franchise)
    used = int(franchise.used[N_RESTAURANTS])
    expected = np.empty((used, DISHES))
    for restaurant in range(used):
        restaurant_distribution(franchise, restaurant, expected[restaurant])
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    of_servings = expected[servings[:, RESTAURANT], servings[:, DISH]]
    np.testing.assert_allclose(probability, of_servings, rtol=ROUNDING)
    # The last dish is served nowhere.
    above = np.append(expected[:, -1], 1.0 / DISHES)[franchise.restaurants[:used, PARENT]]
    np.testing.assert_allclose(back_off * above, expected[:, -1], rtol=ROUNDING)
