"""Metropolis-Hastings steps for sentences whose derivations are latent (B&B section 5).

Derivations depend on all distributions, so a sentence leaves all of them before a new one is drawn
for it. It is drawn by the probabilities q that events have while the sentence is out and the counts
are held fixed; but the events of one sentence see each other. A Metropolis-Hastings step corrects
the difference (Johnson, Griffiths & Goldwater 2007).

Write R for the seating of all other sentences, D for the derivation of this one, and S for the way
its customers sit, event after event, in R. The posterior is that of R, D and S together:

    p(R, D, S) = p(R) T(R, D, S) C(R, D, S),

where T is the product of the predictive probabilities of D's events, each given R and the events
before it as they sit, and C that of the probabilities of their tables. A stored seating is a
histogram that does not tell whose customer sits where. Customers of one dish in one restaurant are
exchangeable, so if those of D's events leave in reverse order, each drawn uniformly, then they are
a draw of S given the histogram, and R remains.

Given R, a new state (D', S') is proposed. D' comes from a conditional particle filter, which is a
Gibbs step in the space of all particles and so reversible: q(D) K(D, D') = q(D') K(D', D). S' is
how the events of D' sit down one after the other, with probability C(R, D', S'). In the
Metropolis-Hastings ratio C cancels, and of K the ratio of the q is left:

    accept with probability min(1, T(R, D', S') q(D) / (T(R, D, S) q(D'))).

If D' is D, S stays as well. On rejection the customers of D' leave and those of D sit where they
sat. So the step keeps the posterior of derivations and seating, however few particles there are;
and so does moving the customers of the sentence afterwards, one at a time, as is done where
derivations are given.

Pools of several experts do not make exchangeable predictions, so their probabilities depend on the
order of events. For them the step is that of a sentence that came last.
"""

from math import log

import numpy as np

from ..compiled import jit, jitable, overwrite
from ..hpyp import gibbs
from .derivations import sample_derivation
from .distributions import LABEL, TAG, TRANSITION, WORD, events_of, pools_of
from .likelihood import is_factored, queries_of


@jit
def visit_latent(task, derivation, is_seated, rng, totals, draws):
    """Take a step for the derivation of a sentence, and then for its customers.

    task (Task): The sentence, with the pools while they learn, see `sampling_task`.
    derivation (Derivations): Of the only sentence; overwritten with the new one.
    is_seated (bool): Whether the sentence is seated with its derivation, or is added with it.
    totals (float64[distributions]): The log-probability of the events of each is added, in nats.
    draws (int64[2]): The numbers of changed proposals and of those that were accepted are added.
    RETURNS (bool): Whether the sentence was seated as it should be.
    """
    can_move = is_seated and _can_return(task, derivation)
    if can_move and not _draw_again(task, derivation, rng, draws):
        return False
    pools, events = pools_of(task.model), _read_all(task, derivation)
    for i in range(len(pools)):
        found, total = gibbs.gibbs_step(pools[i], events[i], is_seated, rng)
        if not found:
            return False
        totals[i] += total
    return True


@jitable
def _read_all(task, derivation):
    """Read the events of the sentence in each of the pools."""
    model, words, factored = task.model, task.outcomes, is_factored(task.model)
    actions, tags = derivation.actions, derivation.tags
    return (
        events_of(model.transition, np.int64(TRANSITION), factored, words, tags, actions),
        events_of(model.label, np.int64(LABEL), factored, words, tags, actions),
        events_of(model.tag, np.int64(TAG), factored, words, tags, actions),
        events_of(model.word, np.int64(WORD), factored, words, tags, actions),
    )


@jitable
def _can_return(task, derivation):
    """Whether a new derivation can lead back to this one, whose tags have to be candidates."""
    if len(task.gold.heads) == 0:
        offsets = task.model.tag_offsets
        for word, tag in zip(task.outcomes, derivation.tags):
            if tag not in task.model.candidate_tags[offsets[word] : offsets[word + 1]]:
                return False
    return True


@jitable
def remove_weighing(pool, events, rng):
    """Remove the events of a sentence from one distribution, the last one first.

    RETURNS (tuple[bool, float]): Whether they were all seated, and log T(D) - log q(D), in nats.
    """
    weight = 0.0
    for i in range(events.count[0] - 1, -1, -1):
        if not gibbs.remove_event(pool, events, i, rng):
            return False, weight
        weight += gibbs.predict_event(pool, events, i)
    for i in range(events.count[0]):
        weight -= gibbs.predict_event(pool, events, i)
    return True, weight


@jitable
def add_weighing(pool, events, rng):
    """Add the events of a sentence to one distribution. Returns log T(D) - log q(D) of it."""
    weight = 0.0
    for i in range(events.count[0]):
        weight -= gibbs.predict_event(pool, events, i)
    for i in range(events.count[0]):
        weight += gibbs.predict_event(pool, events, i)
        gibbs.seat_event(pool, events, i, rng)
    return weight


@jitable
def _draw_again(task, derivation, rng, draws):
    """Take a Metropolis-Hastings step. Returns whether the sentence was seated as it should be."""
    pools, old_events, old_weight = pools_of(task.model), _read_all(task, derivation), 0.0
    old = task.retained
    overwrite(old.actions, derivation.actions)
    overwrite(old.tags, derivation.tags)
    for i in range(len(pools)):
        found, weight = remove_weighing(pools[i], old_events[i], rng)
        if not found:
            return False
        old_weight += weight
    # The seating has changed.
    for query in queries_of(task.work):
        query.memo.fingerprint[:] = 0
    sample_derivation(task, rng, derivation.actions, derivation.tags)
    is_equal = np.array_equal(derivation.actions, old.actions)
    if not (is_equal and np.array_equal(derivation.tags, old.tags)):
        draws[0] += 1
        new_events, new_weight = _read_all(task, derivation), 0.0
        for i in range(len(pools)):
            new_weight += add_weighing(pools[i], new_events[i], rng)
        if log(1.0 - rng.random()) < new_weight - old_weight:
            draws[1] += 1
            return True
        overwrite(derivation.actions, old.actions)
        overwrite(derivation.tags, old.tags)
        for i in range(len(pools)):
            for number in range(new_events[i].count[0] - 1, -1, -1):
                gibbs.undo_seat_event(pools[i], new_events[i], number)
    for i in range(len(pools)):
        for number in range(old_events[i].count[0]):
            gibbs.restore_event(pools[i], old_events[i], number)
    return True
