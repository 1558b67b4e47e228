"""Sequences of symbols: each symbol is generated given those before it and the sequence's group, up
to an end.

A context row holds the group and then the symbols before, the nearest first; an expert's columns
say which of these it reads. The end is the last dish of the alphabet; in a context it stands for
anything before the beginning.
"""

from math import log

import numpy as np

from ..compiled import jit, jitable
from .franchise import Franchise, deepest, dish_probability, reserve, restaurant_distribution
from .hyperparameters import resample
from .seating import open_restaurant, seat, unseat

#: The elements of a context row: the group, and from then on the symbols before.
GROUP, BEFORE = 0, 1


@jitable
def read_context(symbols, start, place, group, end, row):
    """Read the context of a place in a sequence that begins at `start` into a row."""
    row[GROUP] = group
    for distance in range(len(row) - BEFORE):
        before = place - 1 - distance
        row[BEFORE + distance] = symbols[before] if before >= start else end


def learn_sequences(
    franchise: Franchise,
    symbols: np.ndarray,
    offsets: np.ndarray,
    group: np.ndarray,
    sweeps: int,
    rng: np.random.Generator,
) -> Franchise:
    """Seat sequences and resample the hyperparameters, by Gibbs sampling. Returns the franchise to
    go on with.

    franchise (Franchise): Empty, of one expert; not to be used afterwards.
    symbols (int32[*]): The sequences one after the other, each with the end as its last symbol.
    offsets (int64[sequences + 1]), group (int32[sequences]): Where each sequence begins, and its
        group.
    sweeps (int): How often each customer is seated; hyperparameters are resampled after each
    sweep.
    """
    franchise = reserve(franchise, len(symbols))
    for sweep in range(sweeps):
        visit_sequences(franchise, symbols, offsets, group, sweep > 0, rng)
        resample(franchise, rng)
    return franchise


@jit
def visit_sequences(franchise, symbols, offsets, group, seated, rng):
    """Take one Gibbs step for each symbol of sequences, see `learn_sequences`: remove it, if it is
    seated, and add it.

    RETURNS (float): The sum of the log-probabilities before each is added, in nats.
    """
    total = 0.0
    end = franchise.alphabet[0] - 1
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    for i in range(len(group)):
        for place in range(offsets[i], offsets[i + 1]):
            read_context(symbols, offsets[i], place, group[i], end, row)
            restaurant = open_restaurant(franchise, 0, row)
            if seated:
                unseat(franchise, restaurant, symbols[place], rng)
            total += log(seat(franchise, restaurant, symbols[place], rng))
    return total


@jit
def score_symbols(franchise, symbols, offsets, group, out):
    """Write log p(symbol | symbols before, group) of sequences into `out` (float64[*], nats), see
    `learn_sequences`.
    """
    end = franchise.alphabet[0] - 1
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    for i in range(len(group)):
        for place in range(offsets[i], offsets[i + 1]):
            read_context(symbols, offsets[i], place, group[i], end, row)
            restaurant = deepest(franchise, 0, row)
            out[place] = log(dish_probability(franchise, restaurant, symbols[place]))


@jit
def draw_sequence(franchise, group, rng, symbols):
    """Draw a sequence of a group into the beginning of `symbols` (int32[*]), without its end.

    RETURNS (int): Its length; -1 if there is not enough room.
    """
    end = franchise.alphabet[0] - 1
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    probability = np.empty(franchise.alphabet[0])
    for place in range(len(symbols) + 1):
        read_context(symbols, 0, place, group, end, row)
        restaurant_distribution(franchise, deepest(franchise, 0, row), probability)
        left = rng.random() * probability.sum()
        symbol = 0
        # A rest left by rounding is the end.
        while symbol < end and left >= probability[symbol]:
            left -= probability[symbol]
            symbol += 1
        if symbol == end:
            return place
        if place < len(symbols):
            symbols[place] = symbol
    return -1
