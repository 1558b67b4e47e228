"""Sequences of symbols: each symbol is generated given those before it and the sequence's group, up
to an end.

A context row holds the group and then the symbols before, the nearest first; an expert's columns
say which of these it reads. The end is the last dish of the alphabet; in a context it stands for
anything before the beginning.
"""

from math import log

import numpy as np

from ..compiled import jit
from .franchise import Franchise, deepest, dish_probability, reserve, restaurant_distribution
from .gibbs import draw
from .hyperparameters import resample
from .seating import open_restaurant, seat, unseat

#: The elements of a context row: the group, and from then on the symbols before.
GROUP, BEFORE = 0, 1


def contexts(
    franchise: Franchise, symbols: np.ndarray, offsets: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """Return the context rows of symbols, see `learn_sequences` (int32[symbols, 1 + depth])."""
    lengths = np.diff(offsets)
    place = np.arange(len(symbols)) - np.repeat(offsets[:-1], lengths)
    rows = np.empty((len(symbols), BEFORE + franchise.columns.shape[1]), dtype=np.int32)
    rows[:, GROUP] = np.repeat(group, lengths)
    for distance in range(1, franchise.columns.shape[1] + 1):
        before = np.where(place >= distance, np.roll(symbols, distance), franchise.alphabet[0] - 1)
        rows[:, BEFORE + distance - 1] = before
    return rows


def learn_sequences(
    franchise: Franchise,
    symbols: np.ndarray,
    offsets: np.ndarray,
    group: np.ndarray,
    sweeps: int,
    rng: np.random.Generator,
) -> Franchise:
    """Seat sequences and resample the hyperparameters, by Gibbs sampling.

    franchise (Franchise): Empty, of one expert; not to be used afterwards.
    symbols (int32[*]): The sequences one after the other, each with the end as its last symbol.
    offsets (int64[sequences + 1]), group (int32[sequences]): Where each sequence begins, and its
        group.
    sweeps (int): How often each customer is seated; hyperparameters are resampled after each time.
    RETURNS (Franchise): The franchise to go on with. Errors as of `reserve` and `resample`.
    """
    franchise = reserve(franchise, len(symbols))
    rows = contexts(franchise, symbols, offsets, group)
    for sweep in range(sweeps):
        visit(franchise, rows, symbols, sweep > 0, rng)
        resample(franchise, rng)
    return franchise


@jit
def visit(franchise, rows, symbols, seated, rng):
    """Take one Gibbs step for each of some symbols, for which there is room: remove it, if all are
    `seated`, and add it.

    rows (int32[n, *]), symbols (int32[n]): Their contexts, see `contexts`, and the symbols.
    RETURNS (float): The sum of the log-probabilities before each is added, in nats.
    """
    total = 0.0
    for i in range(len(symbols)):
        restaurant = open_restaurant(franchise, 0, rows[i])
        if seated:
            unseat(franchise, restaurant, symbols[i], rng)
        total += log(seat(franchise, restaurant, symbols[i], rng))
    return total


@jit
def score_symbols(franchise, rows, symbols):
    """Return log p(symbol | context) of some symbols (float64[n], nats), see `visit`."""
    found = np.empty(len(symbols))
    for i in range(len(symbols)):
        restaurant = deepest(franchise, 0, rows[i])
        found[i] = log(dish_probability(franchise, restaurant, symbols[i]))
    return found


@jit
def draw_sequence(franchise, group, rng, symbols):
    """Draw a sequence of a group into the beginning of `symbols` (int32[*]), without its end.
    Returns its length; -1 if there is not enough room.
    """
    end = franchise.alphabet[0] - 1
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    probability = np.empty(franchise.alphabet[0])
    for place in range(len(symbols) + 1):
        row[GROUP] = group
        for distance in range(1, len(row)):
            row[distance] = symbols[place - distance] if distance <= place else end
        restaurant_distribution(franchise, deepest(franchise, 0, row), probability)
        symbol = draw(probability, probability.sum(), rng)
        if symbol == end:
            return place
        if place < len(symbols):
            symbols[place] = symbol
    return -1
