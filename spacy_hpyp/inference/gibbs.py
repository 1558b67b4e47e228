"""Gibbs sampling of the seating (B&B section 3.1).

What the events of a sentence are follows from its derivation; `read_events` is told by what it is handed.
Given the derivations the distributions are independent of each other, so that each is visited on its own, in
a thread of its own if need be.

What leaves the posterior of the seating as it is moves one customer at a time: it leaves, and sits down again
given all others. To take a whole sentence out and seat its events one after the other is not such a step:
what comes later in the sentence would have to weigh in on where the first ones sit. So a sentence that has to
be out, for what is predicted from all other sentences, is put back as it was, and then its customers are
moved. Its events are removed in reverse order, and each notes what it has changed; put back in order, each
undoes that, with the events before it seated and those after it not.

With one table at most for each dish (Kneser-Ney counts) the seating is a function of the events: whatever is
taken out and added again sits where it sat, and nothing has to be moved.

A sentence that is seated for the first time is added event by event.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, compiled, generic_maker, inner
from ..hpyp.seating import open_restaurants
from ..pools.pool import (
    is_plain,
    learn_event,
    move_all,
    read_symbols,
    seat_all_as,
    seat_event,
    unseat_all_noting,
)


class Events(NamedTuple):
    """What one distribution has generated in a derivation.

    dish (int32[*]): The outcomes.
    kind (int32[*]): The kinds of contexts, see `SeatedPool.possible`.
    restaurants (int32[*, experts]): The restaurants that the contexts lead to.
    symbols (int32[*, gates]): The symbols of the pool's gates.
    moved (int32[*, experts, 2]): What removing or adding an event has changed under each expert, so that it
        can be undone.
    row (int32[elements]): The context row of the next event.
    count (int64[1]): The number of events.
    """

    dish: np.ndarray
    kind: np.ndarray
    restaurants: np.ndarray
    symbols: np.ndarray
    moved: np.ndarray
    row: np.ndarray
    count: np.ndarray


@compiled
def new_events(pool, most):
    """No events of one distribution, with room for some.

    most (int): How many.
    """
    return Events(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty((most, pool.franchise.columns.shape[0]), dtype=np.int32),
        np.empty((most, len(pool.gates)), dtype=np.int32),
        np.empty((most, pool.franchise.columns.shape[0], 2), dtype=np.int32),
        np.empty(len(pool.elements), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@inner
def enter_event(pool, events, kind, dish):
    """Enter an event whose context is in `events.row`: find or found the restaurants that it leads to."""
    i = events.count[0]
    events.dish[i] = dish
    events.kind[i] = kind
    open_restaurants(pool.franchise, events.row, events.restaurants[i])
    read_symbols(pool, events.row, events.symbols[i])
    events.count[0] += 1


@generic_maker
def read_events(generated, number, pool):
    """The events (Events) of one distribution in the derivation of a sentence, no more than two for each
    word.

    generated: The derivations of some sentences, with `offsets` (int64[sentences + 1]), where each begins.
    number (int): Which of the sentences.
    pool (SeatedPool): The distribution.
    """


@borrowing
def remove_events(pool, events, rng):
    """Remove the events of a sentence, the last one first. Returns False if they were not all seated."""
    removed = True
    for i in range(events.count[0] - 1, -1, -1):
        removed = (
            unseat_all_noting(pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i])
            and removed
        )
    return removed


@borrowing
def put_back(pool, events):
    """Add the events of a sentence that `remove_events` has removed, each where it sat."""
    for i in range(events.count[0]):
        seat_all_as(pool.franchise, events.restaurants[i], events.dish[i], events.moved[i])


@borrowing
def add_events(pool, events, rng):
    """Add the events of a sentence. Returns the sum of their log-probabilities in nats, each before it is
    added.
    """
    total = 0.0
    for i in range(events.count[0]):
        total += seat_event(
            pool, events.restaurants[i], events.symbols[i], events.kind[i], events.dish[i], rng
        )
    return total


@borrowing
def visit_seated(pool, events, rng):
    """One Gibbs step for a sentence that is seated.

    RETURNS (tuple[bool, float]): Whether it was seated as it should be, and the sum of its events'
        log-probabilities in nats: of a plain pool whose seating is sampled each given all others, of other
        pools each given the events before it and all other sentences. In these the gradient is added up.
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
        seated, log_probability = move_all(pool.franchise, events.restaurants[i], events.dish[i], rng)
        if not seated:
            return False, total
        given_others += log_probability
    return True, given_others if is_plain(pool) else total


@compiled
def visit_sentences(pool, generated, seated, rng):
    """One Gibbs step of one distribution for each of some sentences, in order.

    generated: What the distribution has generated in them, see `read_events`.
    seated (bool[sentences]): Whether a sentence is seated; others are added.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[float, int]): The sum of the events' log-probabilities in nats, see `visit_seated` and
        `add_events`, and how many sentences were visited: fewer than there are if the next one was not seated
        as it should be.
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


@compiled
def remove_sentences(pool, generated, rng):
    """Remove some sentences from one distribution.

    pool, generated, rng: See `visit_sentences`.
    RETURNS (bool): Whether all were seated as they should be; where one is not, the others are left.
    """
    for number in range(len(generated.offsets) - 1):
        if not remove_events(pool, read_events(generated, number, pool), rng):
            return False
    return True
