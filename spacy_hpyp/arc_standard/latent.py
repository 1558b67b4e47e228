"""Metropolis-Hastings steps for sentences whose derivations are latent (B&B section 5).

Derivations depend on all distributions, so a sentence leaves all of them before a new one is drawn for it.
It is drawn by the probabilities q that events have while the sentence is out and the counts are held fixed;
but the events of one sentence see each other. A Metropolis-Hastings step corrects the difference (Johnson,
Griffiths & Goldwater 2007).

Write R for the seating of all other sentences, D for the derivation of this one, and S for the way its
customers sit, event after event, in R. The posterior is that of R, D and S together:

    p(R, D, S) = p(R) T(R, D, S) C(R, D, S),

where T is the product of the predictive probabilities of D's events, each given R and the events before it as
they sit, and C that of the probabilities of their tables. A stored seating is a histogram that does not tell
whose customer sits where. Customers of one dish in one restaurant are exchangeable, so if those of D's events
leave in reverse order, each drawn uniformly, then they are a draw of S given the histogram, and R remains.

Given R, a new state (D', S') is proposed. D' comes from a conditional particle filter, which is a Gibbs step
in the space of all particles and so reversible: q(D) K(D, D') = q(D') K(D', D). S' is how the events of D'
sit down one after the other, with probability C(R, D', S'). In the Metropolis-Hastings ratio C cancels, and
of K the ratio of the q is left:

    accept with probability min(1, T(R, D', S') q(D) / (T(R, D, S) q(D'))).

If D' is D, S stays as well. On rejection the customers of D' leave and those of D sit where they sat. So the
step keeps the posterior of derivations and seating, however few particles there are; and so does moving the
customers of the sentence afterwards, one at a time, as is done where derivations are given.

Pools of several experts do not make exchangeable predictions, so their probabilities depend on the order of
events. For them the step is that of a sentence that came last.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import jit, jitable, struct
from ..inference.gibbs import add_events, put_back, visit_seated
from ..pools.pool import predict_event, seat_all_noting, unseat_all_as, unseat_all_noting
from .derivations import sample_derivation
from .distributions import LABEL, TAG, TRANSITION, WORD, Derivations, Distributions, events_of
from .likelihood import Queries, forget_all, is_factored, new_queries
from .sampling import sample_parse

# How many probabilities of a sentence are remembered while its derivation is drawn.
_REMEMBERED = 256


@struct
class LatentDerivations(NamedTuple):
    """Sentences whose derivations are latent."""

    model: Distributions  # The pools, while they learn
    queries: Queries
    sentences: Sentences
    derivations: Derivations
    given_trees: bool  # Whether only the order of the actions is latent
    particles: int


def latent_derivations(
    model: Distributions, sentences: Sentences, derivations: Derivations, *, given_trees: bool, particles: int
) -> LatentDerivations:
    """Make the argument of `visit_latent`, for pools as they are until more room is reserved."""
    queries = new_queries(model, _REMEMBERED)
    return LatentDerivations(model, queries, sentences, derivations, given_trees, particles)


@jitable
def _pools_of(latent):
    return latent.model.transition, latent.model.label, latent.model.tag, latent.model.word


@jitable
def _derivation_of(latent, number):
    """Actions and tags of a sentence, in the same memory."""
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    return latent.derivations.actions[2 * start : 2 * end], latent.derivations.tags[start:end]


@jitable
def _read_all(latent, number):
    """The events of a sentence in each of the pools."""
    model = latent.model
    factored = is_factored(model)
    words = latent.sentences.words[latent.sentences.offsets[number] : latent.sentences.offsets[number + 1]]
    actions, tags = _derivation_of(latent, number)
    return (
        events_of(model.transition, np.int64(TRANSITION), factored, words, tags, actions),
        events_of(model.label, np.int64(LABEL), factored, words, tags, actions),
        events_of(model.tag, np.int64(TAG), factored, words, tags, actions),
        events_of(model.word, np.int64(WORD), factored, words, tags, actions),
    )


@jitable
def _is_drawn(latent, number, is_seated):
    """Whether to draw a derivation: a new one could not lead back to tags that are not tried."""
    if latent.given_trees or not is_seated:
        return is_seated
    model = latent.model
    for i in range(latent.sentences.offsets[number], latent.sentences.offsets[number + 1]):
        word, tag = latent.sentences.words[i], latent.derivations.tags[i]
        found = False
        for candidate in range(model.tag_offsets[word], model.tag_offsets[word + 1]):
            found = found or model.candidate_tags[candidate] == tag
        if not found:
            return False
    return True


@jitable
def _propose(latent, number, old, rng):
    """Overwrite the derivation of a sentence that is not seated by one that is drawn; `old` is a copy."""
    model, queries, particles = latent.model, latent.queries, latent.particles
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    words = latent.sentences.words[start:end]
    actions, tags = _derivation_of(latent, number)
    if latent.given_trees:
        heads, labels = latent.sentences.heads[start:end], latent.sentences.labels[start:end]
        forget_all(queries)
        sample_derivation(model, words, old[1], heads, labels, particles, old[0], rng, queries, actions)
    else:
        every_tag = np.bool_(False)
        sample_parse(model, queries, words, particles, old[0], old[1], every_tag, rng, actions, tags)


@jit
def _predict(pool, events, i):
    return predict_event(
        pool, events.restaurants[i], events.symbols[i], events.kind[i], events.dish[i], pool.scratch
    )


@jit
def remove_weighing(pool, events, rng):
    """Remove the events of a sentence from one distribution, the last one first.

    RETURNS (tuple[bool, float]): Whether they were all seated, and log T(D) - log q(D) of this distribution.
    """
    weight = 0.0
    for i in range(events.count[0] - 1, -1, -1):
        if not unseat_all_noting(pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i]):
            return False, weight
        weight += _predict(pool, events, i)
    for i in range(events.count[0]):
        weight -= _predict(pool, events, i)
    return True, weight


@jit
def add_weighing(pool, events, rng):
    """Add the events of a sentence to one distribution. Returns log T(D) - log q(D) of the distribution."""
    weight = 0.0
    for i in range(events.count[0]):
        weight -= _predict(pool, events, i)
    for i in range(events.count[0]):
        weight += _predict(pool, events, i)
        seat_all_noting(pool.franchise, events.restaurants[i], events.dish[i], rng, events.moved[i])
    return weight


@jit
def take_back(pool, events):
    """Remove the events again that `add_weighing` has added."""
    for i in range(events.count[0] - 1, -1, -1):
        unseat_all_as(pool.franchise, events.restaurants[i], events.dish[i], events.moved[i])


@jit
def _draw_again(latent, number, rng, draws):
    """Take a Metropolis-Hastings step for a seated sentence. Returns whether it was seated as it should
    be.
    """
    pools, derivation = _pools_of(latent), _derivation_of(latent, number)
    old, old_events = (derivation[0].copy(), derivation[1].copy()), _read_all(latent, number)
    old_weight = 0.0
    for i in range(len(pools)):
        found, weight = remove_weighing(pools[i], old_events[i], rng)
        if not found:
            return False
        old_weight += weight
    _propose(latent, number, old, rng)
    if not (np.array_equal(derivation[0], old[0]) and np.array_equal(derivation[1], old[1])):
        draws[0] += 1
        new_events, new_weight = _read_all(latent, number), 0.0
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


@jit
def visit_latent(latent, seated, rng, totals, draws):
    """Take a step for each of some sentences, in order: for its derivation, and then for its customers.

    latent (LatentDerivations): The derivations are overwritten with the new ones.
    seated (bool[sentences]): Whether a sentence is seated, with its derivation; others are added.
    rng (numpy.random.Generator): The source of randomness.
    totals (float64[distributions]): The log-probability of the events of each is added, in nats.
    draws (int64[2]): The numbers of new derivations and of those that were accepted are added.
    RETURNS (int): The number of sentences visited: fewer than there are if the next one was not seated as it
        should be.
    """
    pools = _pools_of(latent)
    for number in range(len(seated)):
        if _is_drawn(latent, number, seated[number]):
            if seated[number]:
                if not _draw_again(latent, number, rng, draws):
                    return number
            else:
                _propose(latent, number, _derivation_of(latent, number), rng)
        events = _read_all(latent, number)
        for i in range(len(pools)):
            if seated[number]:
                found, total = visit_seated(pools[i], events[i], rng)
                if not found:
                    return number
            else:
                total = add_events(pools[i], events[i], rng)
            totals[i] += total
    return len(seated)
