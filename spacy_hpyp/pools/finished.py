"""The finished probabilities of a seating, restaurant by restaurant and serving by serving; and averages over
several seatings.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of
every other dish the parent's probability times one factor for the restaurant.

The prediction of a Bayesian model is the mean of what its samples predict: p(y|u) = 1/S sum_s p_s(y|u).
Samples that have seated the same events have the same restaurants with the same servings: they differ in
customers, tables, discounts and strengths only. So the structure is kept once, and of each sample two numbers
for each entry of it.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, compiled
from ..hpyp import franchise as column
from ..hpyp.franchise import Franchise, deepest, restaurant_probability, serving_of, tables_of


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


@by_reference
class Average(NamedTuple):
    """The views of several samples of the same franchise, of one expert.

    franchise (Franchise): One of the samples: of the others customers, tables, discounts and strengths are
        other ones.
    probability (float64[servings, samples]): p_s(dish | restaurant) of every serving.
    passed_on (float64[restaurants, samples]): The product of the back-off factors of a restaurant and all
        above it.
    """

    franchise: Franchise
    probability: np.ndarray
    passed_on: np.ndarray


def average(views: Iterable[Finished], samples: int) -> Average:
    """Average the views of samples; each is needed only until the next one is asked for.

    views (Iterable[Finished]): Of franchises that have seated the same events and number them alike.
    samples (int): How many views there are, at least 1.
    """
    for sample, view in enumerate(views):
        if sample == 0:
            # Tables by their sizes are not needed any more, and take memory.
            franchise = view.franchise._replace(cells=view.franchise.cells[:0].copy())
            probability = np.empty((len(view.probability), samples))
            passed_on = np.empty((len(view.back_off), samples))
        probability[:, sample], passed_on[:, sample] = view.probability, _pass_on(view)
        # Views are large: let go of this one before the next is made.
        del view
    return Average(franchise, probability, passed_on)


@compiled
def _pass_on(finished):
    """The product of the back-off factors of every restaurant and all above it (float64[*])."""
    passed_on = finished.back_off.copy()
    # Parents come before their children.
    for restaurant in range(len(passed_on)):
        parent = finished.franchise.restaurants[restaurant, column.PARENT]
        if parent != NONE:
            passed_on[restaurant] *= passed_on[parent]
    return passed_on


@borrowing
def average_probability(average, row, dish):
    """The mean over the samples of p_s(dish | context).

    row (int32[elements]): The context row.
    RETURNS (float): The probability.
    """
    franchise = average.franchise
    restaurant = server = deepest(franchise, 0, row)
    serving = serving_of(franchise, server, dish)
    while serving == NONE and franchise.restaurants[server, column.PARENT] != NONE:
        server = franchise.restaurants[server, column.PARENT]
        serving = serving_of(franchise, server, dish)
    samples = average.probability.shape[1]
    total = 0.0
    for sample in range(samples):
        if serving == NONE:
            total += average.passed_on[restaurant, sample] / franchise.alphabet[0]
        else:
            factor = average.passed_on[restaurant, sample] / average.passed_on[server, sample]
            total += average.probability[serving, sample] * factor
    return total / samples


@borrowing
def draw_dish(average, row, rng):
    """Draw a dish from the mean over the samples of p_s(. | context): from one of them, each as probable as
    the others.

    There, a restaurant chooses one of its tables, or passes on to its parent, and the last one to the uniform
    distribution.

    row (int32[elements]): The context row.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (int): The dish.
    """
    franchise = average.franchise
    sample = int(rng.random() * average.probability.shape[1])
    restaurant = deepest(franchise, 0, row)
    while restaurant != NONE:
        parent = franchise.restaurants[restaurant, column.PARENT]
        back_off = average.passed_on[restaurant, sample]
        if parent != NONE:
            back_off /= average.passed_on[parent, sample]
        threshold = rng.random()
        serving = franchise.restaurants[restaurant, column.FIRST]
        while serving != NONE:
            above = franchise.servings[serving, column.ABOVE]
            p_above = 1.0 / franchise.alphabet[0] if above == NONE else average.probability[above, sample]
            threshold -= max(0.0, average.probability[serving, sample] - back_off * p_above)
            if threshold < 0.0:
                return np.int64(franchise.servings[serving, column.DISH])
            serving = franchise.servings[serving, column.NEXT]
        restaurant = parent
    return int(rng.random() * franchise.alphabet[0])
