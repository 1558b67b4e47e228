"""Leave-one-out predictions: what one expert says about events that it has not seen, while it has seen all
the others.

Events come in groups (sentences) that are removed together, predicted, and put back as they were; for one
expert at a time, so that experts can be compared before any pool is made of them.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference, compiled
from .franchise import (
    TIER,
    Franchise,
    dish_probability,
    new_franchise,
    reserve,
    restaurant_distribution,
    seen,
)
from .hyperparameters import resample
from .seating import open_restaurant, seat, seat_as, unseat_noting

# Events that room is made for at a time.
_CHUNK = 8192
# Samples of the hyperparameters before anything is predicted; they forget where they began after two or
# three.
_SAMPLES = 5


@by_reference
class Observations(NamedTuple):
    """Everything that one distribution is known to have generated.

    row (int32[events, elements]): The context rows.
    dish (int32[events]): The outcomes.
    kind (int32[events]): The kinds of contexts, rows of `possible`.
    offsets (int64[groups + 1]): Where each group of events begins.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context.
    """

    row: np.ndarray
    dish: np.ndarray
    kind: np.ndarray
    offsets: np.ndarray
    possible: np.ndarray


def seat_observations(
    observations: Observations, columns: list[int], rng: np.random.Generator, *, one_table: bool
) -> Franchise:
    """Seat all events under one expert and sample its hyperparameters.

    observations (Observations): The events.
    columns (list[int]): The entries of a context row that the expert reads, most important first.
    rng (numpy.random.Generator): The source of randomness.
    one_table (bool): See `Franchise`.
    RETURNS (Franchise): The seating.
    """
    context = np.array(columns, dtype=np.int32).reshape(1, -1)
    franchise = new_franchise(context, observations.possible.shape[1], one_table=one_table)
    # Contexts that share a prefix one after the other find its restaurants in the cache.
    order = np.lexsort(observations.row[:, columns[::-1]].T) if columns else np.arange(len(observations.dish))
    for start in range(0, len(order), _CHUNK):
        part = order[start : start + _CHUNK]
        franchise = reserve(franchise, len(part))
        _seat_events(franchise, observations, part, rng)
    for _ in range(_SAMPLES):
        resample(franchise, rng)
    return franchise


@borrowing
def _seat_events(franchise, observations, events, rng):
    for event in events:
        seat(franchise, open_restaurant(franchise, 0, observations.row[event]), observations.dish[event], rng)


def leave_one_out(
    franchise: Franchise,
    observations: Observations,
    groups: np.ndarray,
    rng: np.random.Generator,
    *,
    whole: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Predict the events of some groups, each while its group is removed.

    franchise (Franchise): See `seat_observations`; not to be used afterwards, as room is made in it.
    groups (int64[*]): The groups.
    rng (numpy.random.Generator): The source of randomness.
    whole (bool): Whether to predict all outcomes or only the one that was observed.
    RETURNS (tuple): log-probabilities in nats (float32[events, alphabet], or float32[events, 1] of the
        outcome observed), and depth (int8[events]): how many elements of each context the expert has seen
        elsewhere.
    """
    events = int(np.sum(observations.offsets[groups + 1] - observations.offsets[groups]))
    log_probability = np.empty((events, observations.possible.shape[1] if whole else 1), dtype=np.float32)
    depth = np.empty(events, dtype=np.int8)
    _predict_left_out(reserve(franchise, events), observations, groups, whole, rng, log_probability, depth)
    return log_probability, depth


@compiled
def _predict_left_out(franchise, observations, groups, whole, rng, log_probability, depth):
    row, dish, offsets = observations.row, observations.dish, observations.offsets
    out = np.empty(franchise.alphabet[0])
    i = 0
    for group in groups:
        start, end = offsets[group], offsets[group + 1]
        place = np.empty(end - start, dtype=np.int64)
        moved = np.empty((end - start, 2), dtype=np.int64)
        for event in range(start, end):
            place[event - start] = open_restaurant(franchise, 0, row[event])
            tables, size = unseat_noting(franchise, place[event - start], dish[event], rng)
            moved[event - start, 0], moved[event - start, 1] = tables, size
        for event in range(start, end):
            restaurant = seen(franchise, place[event - start])
            depth[i] = franchise.restaurants[restaurant, TIER]
            if whole:
                restaurant_distribution(franchise, restaurant, out)
                log_probability[i] = np.log(out)
            else:
                log_probability[i, 0] = np.log(dish_probability(franchise, restaurant, dish[event]))
            i += 1
        for event in range(end - 1, start - 1, -1):
            tables, size = moved[event - start, 0], moved[event - start, 1]
            seat_as(franchise, place[event - start], dish[event], tables, size)
