"""Gibbs sampling of the seating (B&B section 3.1).

The events of a sentence follow from its derivation. Given the derivations, the distributions are
independent, so each is visited on its own, perhaps in a thread.

A step moves one customer at a time, given all others. Removing a whole sentence and seating its
events one after the other would not leave the posterior unchanged. A sentence that has to be out,
for predictions from all other sentences, is therefore restored as it was before its customers are
moved: events are removed in reverse order and restored in order, each by its own notes.

With one table at most for each dish (Kneser-Ney counts) the seating is a function of the events,
and nothing has to be moved. A sentence that is seated for the first time is added event by event.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import dispatch, jit, jitable
from .pool import (
    is_plain,
    learn_event,
    move_all,
    read_symbols,
    seat_all_as,
    seat_event,
    unseat_all_noting,
)
from .seating import open_restaurants


@jit
def draw(weights, mass, rng):
    """Draw an option in proportion to its weight (float64[*]); `mass` is the sum of the weights."""
    threshold = rng.random() * mass
    last = 0
    for option in range(len(weights)):
        if weights[option] > 0.0:
            last = option
            threshold -= weights[option]
            if threshold < 0.0:
                break
    return last


class Events(NamedTuple):
    """The events of one distribution in a derivation."""

    dish: np.ndarray  # int32[*]: the outcomes
    kind: np.ndarray  # int32[*]: the kinds of contexts, see `SeatedPool.possible`
    restaurants: np.ndarray  # int32[*, experts]: the restaurants of the contexts
    symbols: np.ndarray  # int32[*, gates]: the symbols of the pool's gates
    moved: np.ndarray  # int32[*, experts, 2]: notes to undo the removal or addition of an event
    row: np.ndarray  # int32[elements]: the context row of the next event
    count: np.ndarray  # int64[1]: the number of events


@jit
def new_events(pool, most):
    """Return no events, with room for `most`."""
    return Events(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty((most, pool.franchise.columns.shape[0]), dtype=np.int32),
        np.empty((most, len(pool.gates)), dtype=np.int32),
        np.empty((most, pool.franchise.columns.shape[0], 2), dtype=np.int32),
        np.empty(len(pool.elements), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@jitable
def enter_event(pool, events, kind, dish):
    """Enter an event whose context is in `events.row`, and find or found its restaurants."""
    i = events.count[0]
    events.dish[i] = dish
    events.kind[i] = kind
    open_restaurants(pool.franchise, events.row, events.restaurants[i])
    read_symbols(pool, events.row, events.symbols[i])
    events.count[0] += 1


@dispatch
def read_events(generated, number, pool):
    """Return the events (Events) of one distribution in a sentence, no more than two for each word.

    generated: The derivations of sentences, with `offsets` (int64[sentences + 1]).
    number (int): The sentence.
    pool (SeatedPool): The distribution.
    """


@jit
def remove_events(pool, events, rng):
    """Remove the events of a sentence in reverse order. Returns False if they were not all
    seated.
    """
    removed = True
    for i in range(events.count[0] - 1, -1, -1):
        removed = (
            unseat_all_noting(
                pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i]
            )
            and removed
        )
    return removed


@jit
def put_back(pool, events):
    """Restore the events that `remove_events` has removed."""
    for i in range(events.count[0]):
        seat_all_as(pool.franchise, events.restaurants[i], events.dish[i], events.moved[i])


@jit
def add_events(pool, events, rng):
    """Add the events of a sentence. Returns the sum of their log-probabilities in nats, each before
    it is added.
    """
    total = 0.0
    for i in range(events.count[0]):
        total += seat_event(
            pool, events.restaurants[i], events.symbols[i], events.kind[i], events.dish[i], rng
        )
    return total


@jit
def visit_seated(pool, events, rng):
    """Take one Gibbs step for a seated sentence.

    RETURNS (tuple[bool, float]): Whether it was seated, and the sum of its events'
        log-probabilities in nats: for a plain pool with sampled seating each given all others, else
        each given the previous events and all other sentences, with the gradient added up.
    """
    total = 0.0
    if pool.franchise.one_table[0] or not is_plain(pool):
        if not remove_events(pool, events, rng):
            return False, total
    if pool.franchise.one_table[0]:
        return True, add_events(pool, events, rng)
    if not is_plain(pool):
        for i in range(events.count[0]):
            total += learn_event(
                pool, events.restaurants[i], events.symbols[i], events.kind[i], events.dish[i]
            )
            seat_all_as(pool.franchise, events.restaurants[i], events.dish[i], events.moved[i])
    given_others = 0.0
    for i in range(events.count[0]):
        seated, log_probability = move_all(
            pool.franchise, events.restaurants[i], events.dish[i], rng
        )
        if not seated:
            return False, total
        given_others += log_probability
    return True, given_others if is_plain(pool) else total


@jit
def visit_sentences(pool, generated, seated, rng):
    """Take one Gibbs step of one distribution for each of several sentences, in order.

    generated: The events of the distribution, see `read_events`.
    seated (bool[sentences]): Whether a sentence is seated; others are added.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[float, int]): The sum of the events' log-probabilities in nats, and the number of
        visited sentences: fewer than there are if the next one was not seated as it should be.
    """
    total = 0.0
    for number in range(len(seated)):
        events = read_events(generated, number, pool)
        if seated[number]:
            found, log_probability = visit_seated(pool, events, rng)
            if not found:
                return total, number
            total += log_probability
        else:
            total += add_events(pool, events, rng)
    return total, len(seated)


@jit
def remove_sentences(pool, generated, rng):
    """Remove sentences from one distribution.

    pool, generated, rng: See `visit_sentences`.
    RETURNS (bool): Whether all were seated; after one that is not, the others stay.
    """
    for number in range(len(generated.offsets) - 1):
        if not remove_events(pool, read_events(generated, number, pool), rng):
            return False
    return True
