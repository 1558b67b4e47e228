"""A frozen view of a seating: finished probabilities in back-off form.

While nobody sits down or leaves, the probability of a dish in a restaurant that serves it is a number, and of every
other dish the parent's probability times one factor for the restaurant. So a prediction looks the dish up in the deepest
restaurant of its context and walks towards the root only until it is found. For actions the view goes one step further
and keeps the best dishes of each *class* (shift, end, left-arcs, right-arcs) for each restaurant.

A view shares the franchise's rows and indices: it is dropped as soon as the seating changes.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled
from ..hpyp.franchise import (
    ABOVE,
    CUSTOMERS,
    DISH,
    FIRST,
    N_RESTAURANTS,
    N_SERVINGS,
    NEXT,
    OPEN,
    PARENT,
    SERVED,
    TABLES,
    TIER,
    Franchise,
    child,
    restaurant_probability,
    serving_of,
)


class View(NamedTuple):
    """Finished probabilities of one distribution.

    columns, alphabet, restaurants, restaurant_index, servings, serving_index: As in `Franchise`, and
        read by the same functions (`child`, `serving_of`, `deepest`).
    probability (float64[*]): p(dish | restaurant) of every serving.
    back_off (float64[*]): What multiplies the parent's probability of a dish that a restaurant does not serve.
    passed_on (float64[*]): The product of the back-off factors of a restaurant and all above it.
    """

    columns: np.ndarray
    alphabet: np.ndarray
    restaurants: np.ndarray
    restaurant_index: np.ndarray
    servings: np.ndarray
    serving_index: np.ndarray
    probability: np.ndarray
    back_off: np.ndarray
    passed_on: np.ndarray


def freeze(franchise: Franchise) -> View:
    """The view of the present seating."""
    probability, back_off, passed_on = _finish(franchise)
    return View(
        columns=franchise.columns,
        alphabet=franchise.alphabet,
        restaurants=franchise.restaurants,
        restaurant_index=franchise.restaurant_index,
        servings=franchise.servings,
        serving_index=franchise.serving_index,
        probability=probability,
        back_off=back_off,
        passed_on=passed_on,
    )


@compiled
def _finish(franchise):
    """Probabilities and back-off factors, parents before children as restaurants are numbered."""
    restaurants, servings = franchise.restaurants, franchise.servings
    probability = np.empty(franchise.used[N_SERVINGS])
    back_off = np.ones(franchise.used[N_RESTAURANTS])
    passed_on = np.ones(franchise.used[N_RESTAURANTS])
    for restaurant in range(franchise.used[N_RESTAURANTS]):
        row = restaurants[restaurant]
        if row[CUSTOMERS] > 0:
            tier = row[TIER]
            fresh = franchise.strength[tier] + franchise.discount[tier] * row[TABLES]
            back_off[restaurant] = fresh / (franchise.strength[tier] + row[CUSTOMERS])
        above_it = 1.0 if row[PARENT] == NONE else passed_on[row[PARENT]]
        passed_on[restaurant] = back_off[restaurant] * above_it
        serving = row[FIRST]
        while serving != NONE:
            above = servings[serving, ABOVE]
            base = 1.0 / franchise.alphabet[0] if above == NONE else probability[above]
            probability[serving] = restaurant_probability(
                franchise, restaurant, servings[serving, SERVED], servings[serving, OPEN], base
            )
            serving = servings[serving, NEXT]
    return probability, back_off, passed_on


@borrowing
def view_probability(view, restaurant, dish):
    """p(dish | restaurant), walking towards the root until a restaurant serves the dish."""
    factor = 1.0
    while restaurant != NONE:
        serving = serving_of(view, restaurant, dish)
        if serving != NONE:
            return factor * view.probability[serving]
        factor *= view.back_off[restaurant]
        restaurant = view.restaurants[restaurant, PARENT]
    return factor / view.alphabet[0]


@borrowing
def view_context_probability(view, expert, row, dish):
    """p(dish | context) under one expert, walking down; equal to `view_probability` of the deepest restaurant.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors matter.

    row (int32[elements]): The context row.
    """
    restaurant = expert
    serving = serving_of(view, restaurant, dish)
    if serving == NONE:
        probability = view.back_off[restaurant] / view.alphabet[0]
    else:
        probability = view.probability[serving]
    for level in range(view.columns.shape[1]):
        if view.columns[expert, level] == NONE:
            break
        restaurant = child(view, restaurant, row[view.columns[expert, level]])
        if restaurant == NONE:
            break
        if serving != NONE:
            serving = serving_of(view, restaurant, dish)
        if serving == NONE:
            probability *= view.back_off[restaurant]
        else:
            probability = view.probability[serving]
    return probability


@borrowing
def view_path_probability(view, path, expert, dish):
    """p(dish | context) under one expert, on the path of its context.

    Only the deepest restaurant that serves the dish matters, and those below it for what they pass on to it.

    path (int32[depth + 1, experts]): See `paths_of`.
    """
    serving = NONE
    server = NONE
    level = 0
    while level < len(path) and path[level, expert] != NONE:
        found = serving_of(view, path[level, expert], dish)
        if found == NONE:
            break
        serving = found
        server = path[level, expert]
        level += 1
    while level < len(path) and path[level, expert] != NONE:
        level += 1
    last = path[level - 1, expert]
    if serving == NONE:
        return view.passed_on[last] / view.alphabet[0]
    if last == server:
        return view.probability[serving]
    return view.probability[serving] * view.passed_on[last] / view.passed_on[server]


@borrowing
def view_distribution(view, restaurant, out):
    """p(. | restaurant) of all dishes.

    out (float64[alphabet]): Overwritten.
    """
    out[:] = -1.0
    factor = 1.0
    while restaurant != NONE:
        serving = view.restaurants[restaurant, FIRST]
        while serving != NONE:
            dish = view.servings[serving, DISH]
            if out[dish] < 0.0:
                out[dish] = factor * view.probability[serving]
            serving = view.servings[serving, NEXT]
        factor *= view.back_off[restaurant]
        restaurant = view.restaurants[restaurant, PARENT]
    for dish in range(len(out)):
        if out[dish] < 0.0:
            out[dish] = factor / view.alphabet[0]


class Energies(NamedTuple):
    """Logs of a view's probabilities, made to be added up over experts.

    Restaurants that serve many dishes have a row with the logs of all dishes. Of the others, only the dishes they serve
    differ from the row of the nearest restaurant above that has one, apart from a constant that a product of experts
    loses when it is normalised; by how much is the serving's *excess*.

    row (float32[rows, alphabet]): Logs.
    row_of (int32[restaurants]): The row of each restaurant, or ~row of the nearest one above that has one.
    excess (float32[servings]): What is to be added to the row for a dish served in a restaurant without one.
    """

    row: np.ndarray
    row_of: np.ndarray
    excess: np.ndarray


# Restaurants that serve at least this part of the alphabet, or so many dishes, have a row.
_DENSE_SHARE = 0.12
_DENSE = 5


def energies(view: View, *, multiplied: bool) -> Energies:
    """The logs of a view's probabilities.

    multiplied (bool): Whether they are needed; else they are left empty.
    """
    if not multiplied:
        return Energies(np.empty((0, 0), np.float32), np.empty(0, np.int32), np.empty(0, np.float32))
    row_of, rows = _place_rows(view, min(_DENSE_SHARE * view.alphabet[0], _DENSE))
    row = np.empty((rows, view.alphabet[0]), dtype=np.float32)
    return Energies(row, row_of, _fill_rows(view, row_of, row))


@compiled
def _place_rows(view, least):
    row_of = np.empty(len(view.back_off), dtype=np.int32)
    rows = 0
    for restaurant in range(len(row_of)):
        served = 0
        serving = view.restaurants[restaurant, FIRST]
        while serving != NONE:
            served += 1
            serving = view.servings[serving, NEXT]
        parent = view.restaurants[restaurant, PARENT]
        if parent == NONE or served >= least:
            row_of[restaurant] = rows
            rows += 1
        else:
            above = row_of[parent]
            row_of[restaurant] = ~above if above >= 0 else above
    return row_of, rows


@compiled
def _fill_rows(view, row_of, row):
    excess = np.zeros(len(view.probability), dtype=np.float32)
    chain = np.zeros(len(row_of))
    out = np.empty(view.alphabet[0])
    for restaurant in range(len(row_of)):
        place = row_of[restaurant]
        if place >= 0:
            view_distribution(view, restaurant, out)
            for y in range(len(out)):
                row[place, y] = log(out[y])
            continue
        chain[restaurant] = chain[view.restaurants[restaurant, PARENT]] + log(view.back_off[restaurant])
        serving = view.restaurants[restaurant, FIRST]
        while serving != NONE:
            y = view.servings[serving, DISH]
            excess[serving] = log(view.probability[serving]) - chain[restaurant] - row[~place, y]
            serving = view.servings[serving, NEXT]
    return excess


@borrowing
def keep_best(dish, probability, found, value):
    """Enter a dish into a list of the best, kept in descending order; of equals the lower number comes first.

    dish (int32[best]), probability (float64[best]): The list, `NONE` and 0 where it is not full.
    """
    place = len(dish)
    while place > 0:
        other = probability[place - 1]
        if dish[place - 1] != NONE and (value < other or (value == other and found > dish[place - 1])):
            break
        place -= 1
    for i in range(len(dish) - 1, place, -1):
        dish[i] = dish[i - 1]
        probability[i] = probability[i - 1]
    if place < len(dish):
        dish[place] = found
        probability[place] = value


@compiled
def best_by_class(view, kind, classes, best):
    """The best dishes of each class for every restaurant of a view.

    A dish that a restaurant does not serve keeps its rank among those that it does not serve, and falls behind the
    others; so the parent's best and the restaurant's own dishes are all that needs to be compared.

    kind (int32[alphabet]): The class of each dish, or `NONE` for a dish that is never listed.
    classes (int): The number of classes.
    best (int): How many dishes of a class to keep.
    RETURNS (tuple): dish (int32[restaurants, classes, best]) and probability (float64[restaurants, classes, best]).
    """
    n = len(view.back_off)
    dish = np.full((n, classes, best), NONE, dtype=np.int32)
    probability = np.zeros((n, classes, best))
    for restaurant in range(n):
        parent = view.restaurants[restaurant, PARENT]
        serving = view.restaurants[restaurant, FIRST]
        while serving != NONE:
            found = view.servings[serving, DISH]
            if kind[found] != NONE:
                value = view.probability[serving]
                keep_best(dish[restaurant, kind[found]], probability[restaurant, kind[found]], found, value)
            serving = view.servings[serving, NEXT]
        if parent == NONE:
            value = view.back_off[restaurant] / len(kind)
            for found in range(len(kind)):
                if kind[found] != NONE and serving_of(view, restaurant, found) == NONE:
                    keep_best(dish[restaurant, kind[found]], probability[restaurant, kind[found]], found, value)
            continue
        for group in range(classes):
            for i in range(best):
                found = dish[parent, group, i]
                if found == NONE:
                    break
                value = view.back_off[restaurant] * probability[parent, group, i]
                if serving_of(view, restaurant, found) == NONE:
                    keep_best(dish[restaurant, group], probability[restaurant, group], found, value)
    return dish, probability
