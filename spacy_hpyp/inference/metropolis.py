"""Metropolis-Hastings steps for what a whole sentence is made of (Johnson, Griffiths & Goldwater 2007).

While a sentence is out, another derivation D' is drawn with the probability q(D') that its events have with the counts held fixed. But
the events of one sentence see each other: the true probability T(D') is that of seating them one after the other. So D' is accepted
in the place of D with the probability

    min(1, T(D') q(D) / (T(D) q(D'))),

where T(D) is found by taking the events of D out in reverse order, each predicted when it has left. Why the tables at which the
customers sit cancel, and what that asks of the proposal, is said in `spacy_hpyp.arc_standard.latent`.
"""

from ..compiled import borrowing
from ..pools.pool import predict_event, seat_all_noting, unseat_all_as, unseat_all_noting


@borrowing
def _predict(pool, events, i):
    return predict_event(pool, events.place[i], events.symbols[i], events.kind[i], events.dish[i])


@borrowing
def remove_weighing(pool, events, rng):
    """Remove the events of a sentence from one distribution, the last one first.

    RETURNS (tuple[bool, float]): Whether they were all seated, and this distribution's part of log T(D) - log q(D), in nats.
    """
    weight = 0.0
    for i in range(events.count[0] - 1, -1, -1):
        if not unseat_all_noting(pool.franchise, events.place[i], events.dish[i], rng, events.moved[i]):
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
        seat_all_noting(pool.franchise, events.place[i], events.dish[i], rng, events.moved[i])
    return weight


@borrowing
def take_back(pool, events):
    """Remove the events again that `add_weighing` has added."""
    for i in range(events.count[0] - 1, -1, -1):
        unseat_all_as(pool.franchise, events.place[i], events.dish[i], events.moved[i])
