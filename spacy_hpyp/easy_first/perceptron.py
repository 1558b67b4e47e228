"""The averaged perceptron over hashed features (Collins 2002).

The weights of a feature stand in a row, one for each outcome. What is used to predict is the average of the
weights after each update; so that an update touches nothing but what it changes, each change is also added up
with the time it was made at: the average is the last weights less those sums over the time that has passed.

Of many outcomes a feature has been seen with few. So there are sums only for those groups of outcomes of a
place that have changed, and what predicts many outcomes reads averages without the zeros among them.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference, compiled

# Outcomes whose sums stand together.
_GROUP = 4
# Averages without zeros are found for so many places at a time.
_SOME = 1 << 12
# The highest number of 16 bits, and how many outcomes they tell apart.
_HIGHEST, _MOST = 32_767, 1 << 16
#: Averages that are kept without what they were made of are multiples of this.
PRECISION = 1 / 32


@by_reference
class Perceptron(NamedTuple):
    """Weights that are being learned.

    weights (float32[places, outcomes]): As they are after the last update; the places are a power of two.
    group (int32[places, groups]): Where the sums of each group of outcomes stand; 0 for those that have never
        changed.
    sums (float64[*, outcomes of a group]): The changes, each times the time before it. There is room for all
        groups, but they stand in the order in which they changed first, so that no memory is taken for the
        others.
    used (int64[1]): How many groups have sums.
    clock (int64[1]): The time that has passed: the number of updates, and of what else is averaged over.
    """

    weights: np.ndarray
    group: np.ndarray
    sums: np.ndarray
    used: np.ndarray
    clock: np.ndarray


class Rounded(NamedTuple):
    """Averages as they are read to predict, in 16 bits: a processor's cache has room for twice as many.

    multiples (int16[places, outcomes]), step (float): Whole numbers, and the step that they count.
    """

    multiples: np.ndarray
    step: float


@by_reference
class Averages(NamedTuple):
    """Averages of weights that are not zero.

    first (int64[places + 1]): Where those of each place begin.
    outcome (uint16[*]), weight (float32[*]): The outcomes that they are for, and what they are.
    outcomes (int): How many outcomes there are.
    """

    first: np.ndarray
    outcome: np.ndarray
    weight: np.ndarray
    outcomes: int


def new_perceptron(places: int, outcomes: int) -> Perceptron:
    """A perceptron that has learned nothing."""
    width = min(outcomes, _GROUP)
    groups = -(-outcomes // width)
    return Perceptron(
        np.zeros((places, outcomes), dtype=np.float32),
        np.zeros((places, groups), dtype=np.int32),
        np.zeros((places * groups + 1, width)),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def averages_alone(perceptron: Perceptron) -> Perceptron:
    """A perceptron that only predicts: its weights are the averages, to a 32nd, and no time has passed."""
    kept = np.round(table_of_averages(perceptron) / PRECISION) * PRECISION
    return new_perceptron(*kept.shape)._replace(weights=kept)


def table_of_averages(perceptron: Perceptron | Averages) -> np.ndarray:
    """The mean of the weights after each update (float32[places, outcomes]), not to be written to: before the
    first they are themselves.
    """
    if isinstance(perceptron, Averages):
        table = np.zeros((len(perceptron.first) - 1, perceptron.outcomes), dtype=np.float32)
        table[np.repeat(np.arange(len(table)), np.diff(perceptron.first)), perceptron.outcome] = (
            perceptron.weight
        )
    elif perceptron.clock[0] == 0:
        table = perceptron.weights
    else:
        table = np.empty_like(perceptron.weights)
        set_average(perceptron, table)
    return table


def round_averages(averages: np.ndarray) -> Rounded:
    """Averages (float32[*]) as multiples of the least step that tells the largest of them."""
    step = float(max(averages.max(initial=0.0), -averages.min(initial=0.0)) / _HIGHEST) or 1.0
    return Rounded(np.rint(averages / np.float32(step)).astype(np.int16), step)


def is_compact(perceptron: Perceptron | Averages) -> bool:
    """Whether a perceptron is what `averages_alone` left of one: it has weights, and no time has passed in
    which they could have been learned.
    """
    return isinstance(perceptron, Averages) or bool(perceptron.clock[0] == 0 and perceptron.weights.any())


def check_can_learn(perceptron: Perceptron | Averages) -> None:
    """See that a perceptron is not compact.

    RAISES (ValueError): If it is.
    """
    if is_compact(perceptron):
        raise ValueError(
            "This model cannot learn any more: 'hpyp compact' has left what it predicts by, and nothing "
            "else. Train on the pipeline that it was made of."
        )


@borrowing
def tick(perceptron):
    """Begin an update, or let time pass without one."""
    perceptron.clock[0] += 1


@borrowing
def _add_to_sum(perceptron, place, outcome, amount):
    """Add to the sum of the changes of a weight."""
    width = perceptron.sums.shape[1]
    number = perceptron.group[place, outcome // width]
    if number == 0:
        perceptron.used[0] += 1
        number = np.int32(perceptron.used[0])
        perceptron.group[place, outcome // width] = number
    perceptron.sums[number, outcome % width] += amount


@borrowing
def change_weight(perceptron, place, outcome, amount):
    """Add to one weight, as a part of the update that `tick` has begun."""
    perceptron.weights[place, outcome] += amount
    _add_to_sum(perceptron, place, outcome, (perceptron.clock[0] - 1) * amount)


@borrowing
def change_kept(perceptron, places, kept, outcome, amount):
    """Add to the weights that some features have for an outcome, as a part of the update that `tick` has
    begun.

    places (int64[features]): The features.
    kept (bool[features]): Which of them count.
    """
    for i in range(len(places)):
        if kept[i]:
            change_weight(perceptron, places[i], outcome, amount)


@compiled
def set_average(perceptron, average):
    """Write the mean of the weights after each update into `average` (float32[places, outcomes])."""
    width, time = perceptron.sums.shape[1], np.float64(max(perceptron.clock[0], 1))
    for place in range(len(average)):
        weights, means = perceptron.weights[place], average[place]
        for group, number in enumerate(perceptron.group[place]):
            for outcome in range(group * width, min((group + 1) * width, len(weights))):
                # Where nothing has changed the first group is read, which is nobody's.
                total = perceptron.sums[number, outcome - group * width]
                means[outcome] = np.float64(weights[outcome]) - total / time


def averages_at(
    place: np.ndarray, outcome: np.ndarray, weight: np.ndarray, shape: tuple[int, int]
) -> Averages:
    """Averages that are not zero (float32[*]), by their places and outcomes (int[*]) in the order of a table
    of some shape.
    """
    if shape[1] > _MOST:
        raise ValueError(f"it has {shape[1]} outcomes, of which there may be {_MOST}")
    first = np.append(0, np.cumsum(np.bincount(place, minlength=shape[0])))
    return Averages(first, outcome.astype(np.uint16), weight, shape[1])


def find_averages(perceptron: Perceptron | Averages) -> Averages:
    """The means of the weights after each update."""
    if isinstance(perceptron, Averages):
        return perceptron
    found, shape = [], perceptron.weights.shape
    # Some at a time: of many outcomes nearly all are zero.
    for first in range(0, shape[0], _SOME):
        weights, group = (table[first : first + _SOME] for table in (perceptron.weights, perceptron.group))
        table = table_of_averages(perceptron._replace(weights=weights, group=group))
        place, outcome = np.nonzero(table)
        found.append((place + first, outcome.astype(np.int32), table[place, outcome]))
    return averages_at(*map(np.concatenate, zip(*found)), shape)


@compiled
def is_used(perceptron, used):
    """Whether each weight, or the sum of its changes, is not zero, into `used` (bool[places, outcomes])."""
    width = perceptron.sums.shape[1]
    for place in range(len(used)):
        weights, own = perceptron.weights[place], used[place]
        for group, number in enumerate(perceptron.group[place]):
            for outcome in range(group * width, min((group + 1) * width, len(weights))):
                own[outcome] = (
                    weights[outcome] != 0.0 or perceptron.sums[number, outcome - group * width] != 0.0
                )


@compiled
def read_sums(perceptron, entries, table):
    """Write the sums of some entries (int64[*]) of the flattened table of weights, and of those behind them,
    into `table` (float64[*, columns]).
    """
    width, outcomes = perceptron.sums.shape[1], perceptron.weights.shape[1]
    for i in range(len(entries)):
        for j in range(table.shape[1]):
            place, outcome = divmod(entries[i] + j, outcomes)
            table[i, j] = perceptron.sums[perceptron.group[place, outcome // width], outcome % width]


@compiled
def write_sums(perceptron, entries, table):
    """Give some entries of a new perceptron the sums in `table`, see `read_sums`."""
    outcomes = perceptron.weights.shape[1]
    for i in range(len(entries)):
        for j in range(table.shape[1]):
            if table[i, j] != 0.0:
                place, outcome = divmod(entries[i] + j, outcomes)
                _add_to_sum(perceptron, place, outcome, table[i, j])
