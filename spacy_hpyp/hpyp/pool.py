"""Pools: one conditional distribution made of several HPYP experts.

Small alphabets multiply their experts, p(y|x) proportional to the product over m of p_m(y|c_m(x)) ** weight_m; words mix
them, p(w|x) = sum over m of share_m p_m(w|c_m(x)). How much an expert has to say depends on how much it has seen: its
weight is chosen by the *standing* of the restaurant that its context leads to, that is, by how deep it lies and how many
customers it has. Shares are the weights' softmax. One expert is the plain HPYP either way. A pool without experts
says nothing: its outcome is not generated and has probability 1.

Weights are learned while the pool is: what it predicts for events that have just been removed is held out.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from .franchise import (
    CUSTOMERS,
    NONE,
    PARENT,
    TIER,
    Franchise,
    deepest,
    open_restaurant,
    restaurant_distribution,
    seat,
    unseat,
)
from .view import View, view_distribution, view_probability

#: Restaurants are told apart by their customers: 1, 2, 3 to 4, 5 to 8, and so on, the last class being open.
STANDINGS = 8


class SeatedPool(NamedTuple):
    """A pool while it learns.

    franchise (Franchise): The seating of all experts.
    weights (float64[tiers, STANDINGS]): The weight of an expert by the standing of its restaurant; empty for a pool of one
        expert whose every outcome is always possible.
    gradient (float64[tiers, STANDINGS]): Where the gradient of the log-likelihood is added up.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all do.
    elements (int32[elements, 4]): What the entries of a context row are; opaque here.
    scratch (float64[experts + 1, alphabet]): Workspace.
    """

    franchise: Franchise
    weights: np.ndarray
    gradient: np.ndarray
    possible: np.ndarray
    elements: np.ndarray
    scratch: np.ndarray


class FrozenPool(NamedTuple):
    """A pool while it predicts: as `SeatedPool`, with the finished probabilities in place of the seating."""

    frozen: View
    weights: np.ndarray
    possible: np.ndarray
    elements: np.ndarray


@compiled
def is_plain(pool):
    """Whether a pool's probabilities are those of its only expert."""
    return len(pool.weights) == 0


@compiled
def standing(customers):
    """The class of a restaurant with a number of customers, at least one."""
    place = 0
    customers -= 1
    while customers > 0 and place < STANDINGS - 1:
        customers >>= 1
        place += 1
    return place


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
def _seen(franchise, restaurant):
    """The restaurant, or the nearest above it that is not empty, or the root."""
    while franchise.restaurants[restaurant, CUSTOMERS] == 0 and franchise.restaurants[restaurant, PARENT] != NONE:
        restaurant = franchise.restaurants[restaurant, PARENT]
    return restaurant


@compiled
def seat_product(pool, restaurants, kind, dish, rng):
    """Add one event to every expert of a product pool, and add the gradient of its log-probability up.

    restaurants (int32[experts]): Where the context leads under each expert.
    kind (int): Of the context: the row of `possible`.
    RETURNS (float): The log-probability of the dish under the pool before it was added, in nats.
    """
    if is_plain(pool):
        return log(seat(pool.franchise, restaurants[0], dish, rng))
    total = pool.scratch[len(restaurants)]
    total[:] = 0.0
    for expert in range(len(restaurants)):
        restaurant = _seen(pool.franchise, restaurants[expert])
        row = pool.franchise.restaurants[restaurant]
        weight = pool.weights[row[TIER], standing(row[CUSTOMERS])]
        out = pool.scratch[expert]
        restaurant_distribution(pool.franchise, restaurant, out)
        for y in range(len(out)):
            out[y] = log(out[y])
            total[y] += weight * out[y]
    log_probability = _normalise(total, pool.possible, kind, dish)
    for expert in range(len(restaurants)):
        row = pool.franchise.restaurants[_seen(pool.franchise, restaurants[expert])]
        out = pool.scratch[expert]
        expected = 0.0
        for y in range(len(out)):
            expected += total[y] * out[y]
        pool.gradient[row[TIER], standing(row[CUSTOMERS])] += out[dish] - expected
        seat(pool.franchise, restaurants[expert], dish, rng)
    return log_probability


@compiled
def _normalise(total, possible, kind, dish):
    """Turn unnormalised log-probabilities into probabilities in place. Returns the log-probability of a dish."""
    if len(possible) > 0:
        for y in range(len(total)):
            if not possible[kind, y]:
                total[y] = -np.inf
    highest = total.max()
    chosen = total[dish] - highest
    mass = 0.0
    for y in range(len(total)):
        total[y] = exp(total[y] - highest)
        mass += total[y]
    total /= mass
    return chosen - log(mass)


@compiled
def seat_mixture(pool, restaurants, dish, rng):
    """Add one event to every expert of a mixture pool, and add the gradient of its log-probability up.

    restaurants (int32[experts]): Where the context leads under each expert.
    RETURNS (float): The log-probability of the dish under the pool before it was added, in nats.
    """
    experts = len(restaurants)
    if experts == 0:
        return 0.0
    if is_plain(pool):
        return log(seat(pool.franchise, restaurants[0], dish, rng))
    share, probability = pool.scratch[0], pool.scratch[1]
    places = np.empty((experts, 2), dtype=np.int64)
    mass, total = 0.0, 0.0
    for expert in range(experts):
        row = pool.franchise.restaurants[_seen(pool.franchise, restaurants[expert])]
        places[expert, 0], places[expert, 1] = row[TIER], standing(row[CUSTOMERS])
        share[expert] = exp(pool.weights[places[expert, 0], places[expert, 1]])
        mass += share[expert]
    for expert in range(experts):
        share[expert] /= mass
        probability[expert] = seat(pool.franchise, restaurants[expert], dish, rng)
        total += share[expert] * probability[expert]
    for expert in range(experts):
        posterior = share[expert] * probability[expert] / total
        pool.gradient[places[expert, 0], places[expert, 1]] += posterior - share[expert]
    return log(total)


@compiled
def product_distribution(pool, row, kind, scratch, out):
    """All probabilities of a product pool in a context.

    kind (int): Of the context: the row of `possible`.
    scratch (float64[alphabet]): Workspace.
    out (float64[alphabet]): Overwritten with p(. | context).
    """
    if is_plain(pool):
        view_distribution(pool.frozen, deepest(pool.frozen, 0, row), out)
        return
    out[:] = 0.0
    for expert in range(pool.frozen.columns.shape[0]):
        restaurant = deepest(pool.frozen, expert, row)
        found = pool.frozen.restaurants[restaurant]
        weight = pool.weights[found[TIER], standing(found[CUSTOMERS])]
        view_distribution(pool.frozen, restaurant, scratch)
        for y in range(len(out)):
            out[y] += weight * log(scratch[y])
    _normalise(out, pool.possible, kind, 0)


@compiled
def mixture_probability(pool, row, dish):
    """The probability of one dish under a mixture pool in a context."""
    experts = pool.frozen.columns.shape[0]
    if experts == 0:
        return 1.0
    if is_plain(pool):
        return view_probability(pool.frozen, deepest(pool.frozen, 0, row), dish)
    mass, total = 0.0, 0.0
    for expert in range(experts):
        restaurant = deepest(pool.frozen, expert, row)
        found = pool.frozen.restaurants[restaurant]
        share = exp(pool.weights[found[TIER], standing(found[CUSTOMERS])])
        mass += share
        total += share * view_probability(pool.frozen, restaurant, dish)
    return total / mass
