"""The averaged perceptron over hashed features (Collins 2002).

The weights of a feature stand in a row, one for each outcome. Predictions use the average of the weights after
each update. So that an update touches only what it changes, each change is also added up, times the time
before it: the average is the last weights less those sums over the time.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference

# The highest number of 16 bits.
_HIGHEST = 32_767
#: Compact models keep averages as multiples of this.
PRECISION = 1 / 32


@by_reference
class Perceptron(NamedTuple):
    """Weights that are being learned."""

    weights: np.ndarray  # float32[places, outcomes]: after the last update; the places are a power of two
    sums: np.ndarray  # float64[places, outcomes]: the changes, each times the time before it
    clock: np.ndarray  # int64[1]: the time: the number of updates, and of sequences without one


class Rounded(NamedTuple):
    """Averages in 16 bits: a processor's cache has room for twice as many."""

    # Whole numbers, and the step that they count.
    multiples: np.ndarray  # int16[places, outcomes]
    step: float


def new_perceptron(places: int, outcomes: int) -> Perceptron:
    """Return a perceptron that has learned nothing."""
    return Perceptron(
        np.zeros((places, outcomes), dtype=np.float32),
        np.zeros((places, outcomes)),
        np.zeros(1, dtype=np.int64),
    )


def averages_alone(perceptron: Perceptron) -> Perceptron:
    """Return a perceptron that can only predict: its weights are the averages, to a 32nd, at time 0."""
    kept = np.round(table_of_averages(perceptron) / PRECISION) * PRECISION
    return new_perceptron(*kept.shape)._replace(weights=kept)


def table_of_averages(perceptron: Perceptron) -> np.ndarray:
    """Return the mean of the weights after each update (float32[places, outcomes]), not to be written to."""
    if perceptron.clock[0] == 0:
        return perceptron.weights
    table = perceptron.sums / np.float64(perceptron.clock[0])
    return np.subtract(perceptron.weights, table, out=table).astype(np.float32)


def round_averages(averages: np.ndarray) -> Rounded:
    """Return averages (float32[*]) as multiples of the smallest step that can express the largest of them."""
    step = float(max(averages.max(initial=0.0), -averages.min(initial=0.0)) / _HIGHEST) or 1.0
    return Rounded(np.rint(averages / np.float32(step)).astype(np.int16), step)


def is_compact(perceptron: Perceptron) -> bool:
    """Return whether a perceptron was made by `averages_alone`: it has weights, but no time has passed."""
    return bool(perceptron.clock[0] == 0 and perceptron.weights.any())


def check_can_learn(perceptron: Perceptron) -> None:
    """RAISES (ValueError): If a perceptron is compact."""
    if is_compact(perceptron):
        raise ValueError(
            "'hpyp compact' has removed what training needs from this model. Train the original pipeline."
        )


@borrowing
def tick(perceptron):
    """Begin an update, or let time pass without one."""
    perceptron.clock[0] += 1


@borrowing
def change_weight(perceptron, place, outcome, amount):
    """Add to one weight, in the update that `tick` has begun."""
    perceptron.weights[place, outcome] += amount
    perceptron.sums[place, outcome] += (perceptron.clock[0] - 1) * amount


@borrowing
def change_kept(perceptron, places, kept, outcome, amount):
    """Add to the weights that the kept ones (bool[features]) of the features have for an outcome."""
    for i in range(len(places)):
        if kept[i]:
            change_weight(perceptron, places[i], outcome, amount)
