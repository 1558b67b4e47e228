"""Gibbs sampling of the seating (B&B section 3.1).

The events of a sentence follow from its derivation. Given the derivations, the distributions are
independent, so that each can be sampled in a thread of its own. A step resamples one event at a
time, given all others: removing a whole sentence and seating its events one after the other would
not leave the posterior unchanged. A sentence that has to be out, for predictions from all others,
is therefore restored as it was before its events are resampled.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, dispatch, jit, jitable, overwrite
from . import seating
from .pool import add_gradient, find_weights, is_plain, look_up, mix, multiply, read_symbols


@jitable
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
    kind: np.ndarray  # int32[*]: the kinds of contexts, see `Pool.possible`
    restaurants: np.ndarray  # int32[*, experts]: the restaurants of the contexts
    symbols: np.ndarray  # int32[*, gates]: the symbols of the pool's gates
    undo: np.ndarray  # int32[*, experts, 2]: how to undo the removal or addition of an event
    count: np.ndarray  # int64[1]: the number of events


@jitable
def new_events(pool, most):
    """Return no events, with room for `most`."""
    experts = pool.experts.columns.shape[0]
    return Events(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty((most, experts), dtype=np.int32),
        np.empty((most, len(pool.gates)), dtype=np.int32),
        np.empty((most, experts, 2), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@jitable
def enter_event(pool, events, kind, dish):
    """Enter an event whose context is in `pool.scratch`, and find or found its restaurants."""
    i = events.count[0]
    events.dish[i] = dish
    events.kind[i] = kind
    seating.open_restaurants(pool.experts, pool.scratch.context, events.restaurants[i])
    read_symbols(pool, pool.scratch.context, events.symbols[i])
    events.count[0] += 1


@dispatch
def read_events(generated, number, pool):
    """Return the events (Events) of one distribution in a sentence. Each model registers how, see
    `arc_standard.distributions` and `head_outward.contexts`.

    generated (NamedTuple): The derivations of sentences, with `offsets` (int64[sentences + 1]).
    number (int): The sentence.
    pool (Pool): The distribution, with its counts.
    """


@jitable
def predict_event(pool, events, i):
    """Return the log-probability of an event in nats, given the present seating."""
    scratch, dish = pool.scratch, events.dish[i]
    overwrite(scratch.symbols, events.symbols[i])
    overwrite(scratch.place, events.restaurants[i])
    if pool.mixed:
        look_up(pool.experts, dish, scratch)
        return log(mix(pool, scratch))
    look_up(pool.experts, NONE, scratch)
    multiply(pool, events.kind[i], scratch, scratch.out)
    return log(scratch.out[dish])


@jitable
def add_event(pool, events, i, rng):
    """Seat an event under every expert, and add the gradient of its log-probability before. Returns
    the latter in nats.
    """
    scratch, dish = pool.scratch, events.dish[i]
    if pool.mixed:
        overwrite(scratch.symbols, events.symbols[i])
        overwrite(scratch.place, events.restaurants[i])
        find_weights(pool.experts, scratch)
        for expert in range(len(scratch.place)):
            restaurant = events.restaurants[i, expert]
            scratch.probability[expert] = seating.seat(pool.experts, restaurant, dish, rng)
        probability = mix(pool, scratch)
        add_gradient(pool, dish, probability, 1.0, scratch, scratch.out)
        return log(probability)
    log_probability = learn_event(pool, events, i)
    for expert in range(len(scratch.place)):
        seating.seat(pool.experts, events.restaurants[i, expert], dish, rng)
    return log_probability


@jitable
def remove_event(pool, events, i, rng):
    """Remove an event from every expert. Returns whether it was seated everywhere."""
    removed, undo = True, events.undo[i]
    for expert in range(len(undo)):
        undo[expert, 0], undo[expert, 1] = seating.unseat_with_undo(
            pool.experts, events.restaurants[i, expert], events.dish[i], rng
        )
        removed = removed and undo[expert, 0] >= 0
    return removed


@jitable
def restore_event(pool, events, i):
    """Undo `remove_event`, which has found the event seated everywhere."""
    dish, undo = events.dish[i], events.undo[i]
    for expert in range(len(undo)):
        restaurant = events.restaurants[i, expert]
        seating.restore(pool.experts, restaurant, dish, undo[expert, 0], undo[expert, 1])


@jitable
def seat_event(pool, events, i, rng):
    """Seat an event under every expert, so that it can be undone."""
    dish, undo = events.dish[i], events.undo[i]
    for expert in range(len(undo)):
        _, undo[expert, 0], undo[expert, 1] = seating.seat_with_undo(
            pool.experts, events.restaurants[i, expert], dish, rng
        )


@jitable
def undo_seat_event(pool, events, i):
    """Undo `seat_event`."""
    dish, undo = events.dish[i], events.undo[i]
    for expert in range(len(undo)):
        restaurant = events.restaurants[i, expert]
        seating.undo_seat(pool.experts, restaurant, dish, undo[expert, 0], undo[expert, 1])


@jitable
def learn_event(pool, events, i):
    """Return what `predict_event` does, and add its gradient to `pool.gradient`."""
    log_probability = predict_event(pool, events, i)
    scratch = pool.scratch
    add_gradient(pool, events.dish[i], exp(log_probability), 1.0, scratch, scratch.out)
    return log_probability


@jitable
def remove_events(pool, events, rng):
    """Remove the events of a sentence in reverse order. Returns whether all were seated."""
    removed = True
    for i in range(events.count[0] - 1, -1, -1):
        removed = remove_event(pool, events, i, rng) and removed
    return removed


@jitable
def resample_event(pool, events, i, rng):
    """Take a Gibbs step for one event under every expert. Returns whether it was seated, and the
    sum of its log-probabilities under the experts in nats, given all other customers.
    """
    dish, total = events.dish[i], 0.0
    for restaurant in events.restaurants[i]:
        if not seating.unseat(pool.experts, restaurant, dish, rng):
            return False, total
        total += log(seating.seat(pool.experts, restaurant, dish, rng))
    return True, total


@jitable
def gibbs_step(pool, events, is_seated, rng):
    """Take a Gibbs step for each event of a sentence, or add them if it is not seated.

    Weights learn from predictions without the whole sentence: it is removed, restored event by
    event, and then resampled. With one table for each dish the seating follows from the events.

    RETURNS (tuple[bool, float]): Whether all were seated as they should be; and the sum of the
        events' log-probabilities in nats, each given the previous events and all other sentences;
        or, for a seated sentence, a plain pool and sampled seating, each given all other events.
    """
    learns, one_table = not is_plain(pool), pool.experts.one_table[0]
    total, given_others = 0.0, 0.0
    if is_seated and (learns or one_table) and not remove_events(pool, events, rng):
        return False, total
    if one_table or not is_seated:
        for i in range(events.count[0]):
            total += add_event(pool, events, i, rng)
        return True, total
    if learns:
        for i in range(events.count[0]):
            total += learn_event(pool, events, i)
            restore_event(pool, events, i)
    for i in range(events.count[0]):
        found, log_probability = resample_event(pool, events, i, rng)
        if not found:
            return False, total
        given_others += log_probability
    return True, total if learns else given_others


@jit
def gibbs_sweep(pool, generated, seated, rng):
    """Take a Gibbs step for each event of one distribution in several sentences, in order.

    generated, seated (bool[sentences]): See `read_events`; which are seated. Others are added.
    RETURNS (tuple[float, int]): The sum of the events' log-probabilities in nats, and the number of
        sentences visited: fewer than there are if the next one was not seated as it should be.
    """
    total = 0.0
    for number in range(len(seated)):
        events = read_events(generated, number, pool)
        found, log_probability = gibbs_step(pool, events, seated[number], rng)
        if not found:
            return total, number
        total += log_probability
    return total, len(seated)


@jit
def remove_sentences(pool, generated, rng):
    """Remove sentences from one distribution, see `gibbs_sweep`. Return whether all were seated."""
    for number in range(len(generated.offsets) - 1):
        events = read_events(generated, number, pool)
        if not remove_events(pool, events, rng):
            return False
    return True
