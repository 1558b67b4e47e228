"""The finished probabilities of a seating, restaurant by restaurant and serving by serving.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of
every other dish the parent's probability times one factor for the restaurant.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, by_reference, compiled
from ..hpyp import franchise as column
from ..hpyp.franchise import Franchise, restaurant_probability, tables_of


@by_reference
class Finished(NamedTuple):
    """Finished probabilities of one distribution.

    franchise (Franchise): The seating, which must not change any more.
    probability (float64[*]): p(dish | restaurant) of every serving.
    back_off (float64[*]): What multiplies the parent's probability of a dish that a restaurant does not
        serve.
    """

    franchise: Franchise
    probability: np.ndarray
    back_off: np.ndarray


def finish(franchise: Franchise) -> Finished:
    """The probabilities of the present seating."""
    return Finished(franchise, *_finish(franchise))


@compiled
def _finish(franchise):
    """Probabilities and back-off factors, parents before children as restaurants are numbered."""
    restaurants, servings = franchise.restaurants, franchise.servings
    probability = np.empty(franchise.used[column.N_SERVINGS])
    back_off = np.ones(franchise.used[column.N_RESTAURANTS])
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        if row[column.CUSTOMERS] > 0:
            tier = row[column.TIER]
            fresh = franchise.strength[tier] + franchise.discount[tier] * row[column.TABLES]
            back_off[restaurant] = fresh / (franchise.strength[tier] + row[column.CUSTOMERS])
        serving = row[column.FIRST]
        while serving != NONE:
            above = servings[serving, column.ABOVE]
            base = 1.0 / franchise.alphabet[0] if above == NONE else probability[above]
            probability[serving] = restaurant_probability(
                franchise, restaurant, servings[serving, column.SERVED], tables_of(servings[serving]), base
            )
            serving = servings[serving, column.NEXT]
    return probability, back_off
