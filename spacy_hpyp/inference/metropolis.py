"""Metropolis-Hastings steps for what a whole sentence is made of (Johnson, Griffiths & Goldwater 2007).

While a sentence is out, another derivation D' is drawn with the probability q(D') that its events have with
the counts held fixed. But the events of one sentence see each other: the true probability T(D') is that of
seating them one after the other. So D' is accepted in the place of D with the probability

    min(1, T(D') q(D) / (T(D) q(D'))),

where T(D) is found by taking the events of D out in reverse order, each predicted when it has left. Why the
tables at which the customers sit cancel, and what that asks of the proposal, is said in
`spacy_hpyp.arc_standard.latent`.

What is latent is handed to `visit_latent`: it says which distributions there are, reads their events off a
derivation, and draws another one.
"""

from math import log

import numpy as np

from ..compiled import borrowing, compiled, generic_default, generic_maker
from ..pools.pool import predict_event, seat_all_noting, unseat_all_as, unseat_all_noting
from .gibbs import add_events, put_back, visit_seated


@generic_maker
def pools_of(latent):
    """The pools (SeatedPool) of all distributions, as a tuple."""


@generic_maker
def read_all(latent, number):
    """The events (Events) of all distributions in the derivation of a sentence, in the order of `pools_of`."""


@generic_maker
def derivation_of(latent, number):
    """The derivation of a sentence: two arrays (int32[*]), as they stand among those of the other sentences."""


@generic_default
def is_drawn(latent, number, is_seated):
    """Whether a derivation is to be drawn for a sentence. Else it keeps the one that it has."""
    return True


@generic_maker
def propose(latent, number, old, rng):
    """Overwrite the derivation of a sentence that is not seated by one that is drawn.

    old (tuple[int32[*], int32[*]]): A copy of the derivation before.
    """


@borrowing
def _predict(pool, events, i):
    return predict_event(
        pool, events.restaurants[i], events.symbols[i], events.kind[i], events.dish[i], pool.scratch
    )


@borrowing
def remove_weighing(pool, events, rng):
    """Remove the events of a sentence from one distribution, the last one first.

    RETURNS (tuple[bool, float]): Whether they were all seated, and this distribution's part of log T(D) - log
        q(D), in nats.
    """
    weight = 0.0
    for i in range(events.count[0] - 1, -1, -1):
        if not unseat_all_noting(pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i]):
            return False, weight
        weight += _predict(pool, events, i)
    for i in range(events.count[0]):
        weight -= _predict(pool, events, i)
    return True, weight


@borrowing
def add_weighing(pool, events, rng):
    """Add the events of a sentence to one distribution. Returns its part of log T(D) - log q(D), in nats."""
    weight = 0.0
    for i in range(events.count[0]):
        weight -= _predict(pool, events, i)
    for i in range(events.count[0]):
        weight += _predict(pool, events, i)
        seat_all_noting(pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i])
    return weight


@borrowing
def take_back(pool, events):
    """Remove the events again that `add_weighing` has added."""
    for i in range(events.count[0] - 1, -1, -1):
        unseat_all_as(pool.franchise, events.restaurants[i], events.dish[i], events.moved[i])


@compiled
def draw_again(latent, number, rng, draws):
    """A Metropolis-Hastings step for the derivation of a sentence that is seated, overwritten if another one
    is accepted.

    latent (NamedTuple), rng (numpy.random.Generator), draws (int64[2]): See `visit_latent`.
    number (int): Which sentence.
    RETURNS (bool): Whether the sentence was seated as it should be.
    """
    pools, derivation = pools_of(latent), derivation_of(latent, number)
    old, old_events = (derivation[0].copy(), derivation[1].copy()), read_all(latent, number)
    old_weight = 0.0
    for i in range(len(pools)):
        found, weight = remove_weighing(pools[i], old_events[i], rng)
        if not found:
            return False
        old_weight += weight
    propose(latent, number, old, rng)
    if not (np.array_equal(derivation[0], old[0]) and np.array_equal(derivation[1], old[1])):
        draws[0] += 1
        new_events, new_weight = read_all(latent, number), 0.0
        for i in range(len(pools)):
            new_weight += add_weighing(pools[i], new_events[i], rng)
        if log(1.0 - rng.random()) < new_weight - old_weight:
            draws[1] += 1
            return True
        for i in range(len(pools)):
            take_back(pools[i], new_events[i])
        derivation[0][:] = old[0]
        derivation[1][:] = old[1]
    for i in range(len(pools)):
        put_back(pools[i], old_events[i])
    return True


@compiled
def visit_latent(latent, seated, rng, totals, draws):
    """One step for each of some sentences, in order: of its derivation, and then of its customers.

    latent (NamedTuple): What the derivations are of; they are overwritten with the new ones.
    seated (bool[sentences]): Whether a sentence is seated, with its derivation; others are added.
    rng (numpy.random.Generator): The source of randomness.
    totals (float64[distributions]): Each one's log-probability of its events is added, in nats, see
        `visit_seated` and `add_events`.
    draws (int64[2]): How many derivations were proposed that differ from those before, and how many of these
        were accepted, are added to it.
    RETURNS (int): How many sentences were visited: fewer than there are if the next one was not seated as it
        should be.
    """
    pools = pools_of(latent)
    for number in range(len(seated)):
        if is_drawn(latent, number, seated[number]):
            if seated[number]:
                if not draw_again(latent, number, rng, draws):
                    return number
            else:
                propose(latent, number, derivation_of(latent, number), rng)
        events = read_all(latent, number)
        for i in range(len(pools)):
            if seated[number]:
                found, total = visit_seated(pools[i], events[i], rng)
                if not found:
                    return number
            else:
                total = add_events(pools[i], events[i], rng)
            totals[i] += total
    return len(seated)
