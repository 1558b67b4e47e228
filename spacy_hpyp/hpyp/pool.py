"""Pools: one conditional distribution made of several HPYP experts.

Small alphabets multiply their experts, p(y|x) proportional to the product over m of p_m(y|c_m(x)) ** weight_m; words mix
them, p(w|x) = sum over m of weight_m p_m(w|c_m(x)). One expert with weight 1 is the plain HPYP either way. A pool
without experts says nothing: its outcome is not generated and has probability 1.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from .franchise import Franchise, deepest, open_restaurant, predictive_distribution, seat, unseat
from .view import View, view_context_probability, view_distribution


class SeatedPool(NamedTuple):
    """A pool while it learns.

    franchise (Franchise): The seating of all experts.
    weights (float64[experts]): One weight for each expert.
    elements (int32[elements, 3]): What the entries of a context row are; opaque here.
    scratch (float64[2, alphabet]): Workspace.
    """

    franchise: Franchise
    weights: np.ndarray
    elements: np.ndarray
    scratch: np.ndarray


class FrozenPool(NamedTuple):
    """A pool while it predicts: as `SeatedPool`, with the finished probabilities in place of the seating."""

    frozen: View
    weights: np.ndarray
    elements: np.ndarray


@compiled
def multiply_expert(weight, expert, total):
    """Multiply one expert's distribution into an unnormalised product of experts, in logs.

    expert (float64[alphabet]): The expert's probabilities.
    total (float64[alphabet]): The sum so far of weighted log-probabilities, changed in place.
    """
    for dish in range(len(expert)):
        total[dish] += weight * log(expert[dish])


@compiled
def normalise(total):
    """Turn unnormalised log-probabilities into probabilities in place."""
    highest = total.max()
    mass = 0.0
    for dish in range(len(total)):
        total[dish] = exp(total[dish] - highest)
        mass += total[dish]
    total /= mass


@compiled
def open_restaurants(franchise, row, restaurants):
    """Find or found the restaurant of a context row under every expert.

    restaurants (int32[experts]): Overwritten.
    """
    for expert in range(len(restaurants)):
        restaurants[expert] = open_restaurant(franchise, expert, row)


@compiled
def unseat_all(franchise, restaurants, dish, rng):
    """Remove one event from every expert. Returns False if it was not seated everywhere."""
    removed = True
    for restaurant in restaurants:
        removed = unseat(franchise, restaurant, dish, rng) and removed
    return removed


@compiled
def seat_product(pool, restaurants, row, dish, rng):
    """Add one event to every expert of a product pool.

    restaurants (int32[experts]): Where the row leads under each expert.
    RETURNS (float): The log-probability of the dish under the pool before it was added, in nats.
    """
    if len(restaurants) == 1:
        return log(seat(pool.franchise, restaurants[0], dish, rng))
    total = pool.scratch[0]
    total[:] = 0.0
    for expert in range(len(restaurants)):
        predictive_distribution(pool.franchise, expert, row, pool.scratch[1])
        multiply_expert(pool.weights[expert], pool.scratch[1], total)
        seat(pool.franchise, restaurants[expert], dish, rng)
    normalise(total)
    return log(total[dish])


@compiled
def seat_mixture(pool, restaurants, dish, rng):
    """Add one event to every expert of a mixture pool.

    restaurants (int32[experts]): Where the context leads under each expert.
    RETURNS (float): The log-probability of the dish under the pool before it was added, in nats.
    """
    probability = 0.0
    for expert in range(len(restaurants)):
        probability += pool.weights[expert] * seat(pool.franchise, restaurants[expert], dish, rng)
    return log(probability) if len(restaurants) > 0 else 0.0


@compiled
def product_distribution(pool, row, scratch, out):
    """All probabilities of a product pool in a context.

    scratch (float64[alphabet]): Workspace.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    if len(pool.weights) == 1:
        view_distribution(pool.frozen, deepest(pool.frozen, 0, row), out)
        return
    out[:] = 0.0
    for expert in range(len(pool.weights)):
        view_distribution(pool.frozen, deepest(pool.frozen, expert, row), scratch)
        multiply_expert(pool.weights[expert], scratch, out)
    normalise(out)


@compiled
def mixture_probability(pool, row, dish):
    """The probability of one dish under a mixture pool in a context."""
    experts = pool.frozen.columns.shape[0]
    probability = 0.0
    for expert in range(experts):
        probability += pool.weights[expert] * view_context_probability(pool.frozen, expert, row, dish)
    return probability if experts > 0 else 1.0
