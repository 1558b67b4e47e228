"""The averaged perceptron over hashed features (Collins 2002).

The weights of a feature stand in a row, one for each outcome. What is used to predict is the average of the weights after each
update; so that an update touches nothing but what it changes, each change is also added up with the time it was made at: the
average is the last weights less those sums over the time that has passed.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, compiled


class Perceptron(NamedTuple):
    """Weights that are being learned.

    weights (float32[places, outcomes]): As they are after the last update; the places are a power of two.
    sums (float64[places, outcomes]): The changes, each times the time before it.
    clock (int64[1]): The time that has passed: the number of updates, and of what else is averaged over.
    """

    weights: np.ndarray
    sums: np.ndarray
    clock: np.ndarray


def new_perceptron(places: int, outcomes: int) -> Perceptron:
    """A perceptron that has learned nothing."""
    return Perceptron(
        np.zeros((places, outcomes), dtype=np.float32), np.zeros((places, outcomes)), np.zeros(1, dtype=np.int64)
    )


@borrowing
def tick(perceptron):
    """Begin an update, or let time pass without one."""
    perceptron.clock[0] += 1


@borrowing
def change_weight(perceptron, place, outcome, amount):
    """Add to one weight, as a part of the update that `tick` has begun."""
    perceptron.weights[place, outcome] += amount
    perceptron.sums[place, outcome] += (perceptron.clock[0] - 1) * amount


@borrowing
def change(perceptron, places, outcome, amount):
    """Add to the weights that some features have for an outcome, as a part of the update that `tick` has begun.

    places (int64[features]): The features.
    """
    for place in places:
        change_weight(perceptron, place, outcome, amount)


@compiled
def set_average(perceptron, average):
    """Write the mean of the weights after each update into `average` (float32[places, outcomes])."""
    time = max(perceptron.clock[0], 1)
    for place in range(len(average)):
        for outcome in range(average.shape[1]):
            average[place, outcome] = perceptron.weights[place, outcome] - perceptron.sums[place, outcome] / time


@borrowing
def change_kept(perceptron, places, kept, outcome, amount):
    """As `change`, for those of the features whose templates count.

    kept (bool[features]): Which do.
    """
    for i in range(len(places)):
        if kept[i]:
            change_weight(perceptron, places[i], outcome, amount)
