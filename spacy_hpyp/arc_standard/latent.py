"""Gibbs steps for sentences whose derivations are latent (B&B section 5).

Derivations depend on all distributions, so a sentence leaves all of them before a new one is drawn for it. What is drawn from
are the probabilities q that events have while the sentence is out and the counts are held fixed; but the events of one
sentence see each other. A Metropolis-Hastings step corrects the difference (Johnson, Griffiths & Goldwater 2007).

Write R for the seating of all other sentences, D for the derivation of this one, and S for the way its customers sit, event
after event, in R. The posterior is that of R, D and S together:

    p(R, D, S) = p(R) T(R, D, S) C(R, D, S),

where T is the product of the predictive probabilities of D's events, each given R and the events before it as they sit, and C
that of the probabilities of their tables, given that they have come. A seating as it is stored is a histogram
that does not tell whose customer sits where. Customers of one dish in one restaurant are exchangeable, so that given
the histogram any of them may be the last one that came: if those of D's events leave in reverse order, each drawn uniformly,
then what has left is a draw of S given the histogram, and what remains is R. Removing leaves p(R, D, S) as it is.

Given R, a new state (D', S') is proposed. D' comes from a conditional particle filter, which is a Gibbs step in the space of
all particles and so reversible: q(D) K(D, D') = q(D') K(D', D). S' is what happens when the events of D' are seated one after
the other, so its probability is C(R, D', S'). In the Metropolis-Hastings ratio C cancels, and of K the ratio of the q is left:

    accept with probability min(1, T(R, D', S') q(D) / (T(R, D, S) q(D'))).

If D' is D, S stays as well, which is symmetric. On rejection the customers of D' leave and those of D sit where they sat. So
the step leaves the posterior of derivations and seating as it is, however few particles there are; and so does moving the
customers of the sentence afterwards, one at a time, as is done where derivations are given.

Pools of several experts do not make exchangeable predictions, so that what is probable depends on the order of events. For
them the step is that of a sentence that came last.
"""

from math import log

import numpy as np

from ..compiled import NONE, borrowing, compiled
from ..inference.gibbs import add_events, put_back, visit_seated
from ..inference.metropolis import add_weighing, remove_weighing, take_back
from .derivations import sample_derivation
from .distributions import LABEL, TAG, TRANSITION, WORD, Distributions
from .events import events_of
from .likelihood import Queries, forget_all, new_queries
from .proposals import is_factored
from .sampling import Choices, new_choices, sample_parse

# How many probabilities of a sentence are remembered while its derivation is drawn.
_REMEMBERED = 256


def workspaces(model: Distributions) -> tuple[Queries, Choices]:
    """What `visit_latent` writes on, for pools as they are until more room is reserved."""
    return new_queries(model, _REMEMBERED), new_choices(model)


@compiled
def _read_all(model, words, tags, actions):
    """The events of all distributions, in the order of their numbers."""
    factored = is_factored(model)
    return (
        events_of(model.transition, np.int64(TRANSITION), factored, words, tags, actions, model.root_tag),
        events_of(model.label, np.int64(LABEL), factored, words, tags, actions, model.root_tag),
        events_of(model.tag, np.int64(TAG), factored, words, tags, actions, model.root_tag),
        events_of(model.word, np.int64(WORD), factored, words, tags, actions, model.root_tag),
    )


@compiled
def remove_sentence(model, events, rng):
    """`remove_weighing` for all distributions, given the events of each."""
    weight = 0.0
    for found, part in (
        remove_weighing(model.transition, events[TRANSITION], rng),
        remove_weighing(model.label, events[LABEL], rng),
        remove_weighing(model.tag, events[TAG], rng),
        remove_weighing(model.word, events[WORD], rng),
    ):
        if not found:
            return False, weight
        weight += part
    return True, weight


@compiled
def draw_again(model, queries, choices, words, tags, actions, heads, labels, given_trees, particles, rng):
    """A Metropolis-Hastings step for the derivation of a sentence that is seated.

    model (Distributions): The pools, while they learn.
    queries (Queries), choices (Choices): Written on.
    words, heads, labels (int32[n]): The sentence; the latter two are read if `given_trees`.
    tags (int32[n]), actions (int32[2n]): Its derivation, overwritten if another one is accepted.
    given_trees (bool), particles (int), rng (numpy.random.Generator): See `visit_latent`.
    RETURNS (tuple[bool, bool, bool]): Whether the sentence was seated as it should be; if so, whether another derivation was
        proposed, and whether it was accepted.
    """
    old = _read_all(model, words, tags, actions)
    found, old_weight = remove_sentence(model, old, rng)
    if not found:
        return False, False, False
    new_actions, new_tags = actions.copy(), tags.copy()
    if given_trees:
        forget_all(queries)
        sample_derivation(model, words, tags, heads, labels, particles, actions, rng, queries, new_actions)
    else:
        unknown = np.full(len(words), NONE, dtype=np.int32)
        whole, every_tag = np.bool_(True), np.bool_(False)
        sample_parse(
            model, choices, words, unknown, whole, particles, actions, tags, every_tag, rng, new_actions, new_tags
        )
    proposed = not (np.array_equal(new_actions, actions) and np.array_equal(new_tags, tags))
    accepted = False
    if proposed:
        new = _read_all(model, words, new_tags, new_actions)
        new_weight = add_weighing(model.transition, new[TRANSITION], rng)
        new_weight += add_weighing(model.label, new[LABEL], rng)
        new_weight += add_weighing(model.tag, new[TAG], rng)
        new_weight += add_weighing(model.word, new[WORD], rng)
        accepted = log(1.0 - rng.random()) < new_weight - old_weight
        if not accepted:
            take_back(model.transition, new[TRANSITION])
            take_back(model.label, new[LABEL])
            take_back(model.tag, new[TAG])
            take_back(model.word, new[WORD])
    if accepted:
        actions[:] = new_actions
        tags[:] = new_tags
    else:
        put_back(model.transition, old[TRANSITION])
        put_back(model.label, old[LABEL])
        put_back(model.tag, old[TAG])
        put_back(model.word, old[WORD])
    return True, proposed, accepted


@borrowing
def are_candidates(model, words, tags):
    """Whether a sentence has tags that are tried: other ones a new derivation could not lead back to, so it keeps the one it has."""
    for word in range(len(words)):
        first, last = model.tag_offsets[words[word]], model.tag_offsets[words[word] + 1]
        found = False
        for i in range(first, last):
            found = found or model.candidate_tags[i] == tags[word]
        if not found:
            return False
    return True


@compiled
def visit_latent(model, queries, choices, sentences, derivations, seated, given_trees, particles, rng, total, draws):
    """One step for each of some sentences, in order: of its derivation, and then of its customers.

    model (Distributions): The pools, while they learn.
    queries (Queries), choices (Choices): Written on, see `workspaces`.
    sentences (Sentences): The sentences; their tags and trees are not read unless they are given.
    derivations (Derivations): How they are derived, overwritten with the new derivations.
    seated (bool[sentences]): Whether a sentence is seated, with its derivation. Others are added as they are.
    given_trees (bool): Whether tags and trees are given, so that only the order of the actions is latent.
    particles (int): How many particles there are.
    rng (numpy.random.Generator): The source of randomness.
    total (float64[4]): The log-probabilities of the events are added to it, in nats, see `visit_seated` and `add_events`.
    draws (int64[2]): How many derivations were proposed that differ from those before, and how many of these were accepted,
        are added to it.
    RETURNS (int): How many sentences were visited: fewer than there are if the next one was not seated as it should be.
    """
    for number in range(len(seated)):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        words, tags = sentences.words[start:end], derivations.tags[start:end]
        actions = derivations.actions[2 * start : 2 * end]
        if seated[number] and (given_trees or are_candidates(model, words, tags)):
            heads, labels = sentences.heads[start:end], sentences.labels[start:end]
            found, proposed, accepted = draw_again(
                model, queries, choices, words, tags, actions, heads, labels, given_trees, particles, rng
            )
            if not found:
                return number
            draws[0] += proposed
            draws[1] += accepted
        events = _read_all(model, words, tags, actions)
        if seated[number]:
            total[TRANSITION] += visit_seated(model.transition, events[TRANSITION], rng)[1]
            total[LABEL] += visit_seated(model.label, events[LABEL], rng)[1]
            total[TAG] += visit_seated(model.tag, events[TAG], rng)[1]
            total[WORD] += visit_seated(model.word, events[WORD], rng)[1]
        else:
            total[TRANSITION] += add_events(model.transition, events[TRANSITION], rng)
            total[LABEL] += add_events(model.label, events[LABEL], rng)
            total[TAG] += add_events(model.tag, events[TAG], rng)
            total[WORD] += add_events(model.word, events[WORD], rng)
    return len(seated)
