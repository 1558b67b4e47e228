"""Gibbs steps for sentences whose derivations are latent (B&B section 5).

Derivations depend on all distributions, so a sentence leaves all of them before a new one is drawn for it.
What is drawn from are the probabilities q that events have while the sentence is out and the counts are held
fixed; but the events of one sentence see each other. A Metropolis-Hastings step corrects the difference
(Johnson, Griffiths & Goldwater 2007).

Write R for the seating of all other sentences, D for the derivation of this one, and S for the way its
customers sit, event after event, in R. The posterior is that of R, D and S together:

    p(R, D, S) = p(R) T(R, D, S) C(R, D, S),

where T is the product of the predictive probabilities of D's events, each given R and the events before it as
they sit, and C that of the probabilities of their tables, given that they have come. A seating as it is
stored is a histogram that does not tell whose customer sits where. Customers of one dish in one restaurant
are exchangeable, so that given the histogram any of them may be the last one that came: if those of D's
events leave in reverse order, each drawn uniformly, then what has left is a draw of S given the histogram,
and what remains is R. Removing leaves p(R, D, S) as it is.

Given R, a new state (D', S') is proposed. D' comes from a conditional particle filter, which is a Gibbs step
in the space of all particles and so reversible: q(D) K(D, D') = q(D') K(D', D). S' is what happens when the
events of D' are seated one after the other, so its probability is C(R, D', S'). In the Metropolis-Hastings
ratio C cancels, and of K the ratio of the q is left:

    accept with probability min(1, T(R, D', S') q(D) / (T(R, D, S) q(D'))).

If D' is D, S stays as well, which is symmetric. On rejection the customers of D' leave and those of D sit
where they sat. So the step leaves the posterior of derivations and seating as it is, however few particles
there are; and so does moving the customers of the sentence afterwards, one at a time, as is done where
derivations are given.

Pools of several experts do not make exchangeable predictions, so that what is probable depends on the order
of events. For them the step is that of a sentence that came last.
"""

from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, by_reference, implements, inner, inner_maker
from ..inference.metropolis import derivation_of, is_drawn, pools_of, propose, read_all
from .derivations import sample_derivation
from .distributions import LABEL, TAG, TRANSITION, WORD, Distributions
from .events import Derivations, events_of
from .likelihood import Queries, forget_all, is_factored, new_queries
from .sampling import sample_parse

# How many probabilities of a sentence are remembered while its derivation is drawn.
_REMEMBERED = 256


@by_reference
class LatentDerivations(NamedTuple):
    """Sentences whose derivations are latent, for `inference.metropolis`.

    model (Distributions), queries (Queries): The pools, while they learn, and workspace.
    sentences (Sentences), derivations (Derivations): The sentences, and how they are derived.
    given_trees (bool): Whether tags and trees are given, so that only the order of the actions is latent.
    particles (int): How many particles there are.
    """

    model: Distributions
    queries: Queries
    sentences: Sentences
    derivations: Derivations
    given_trees: bool
    particles: int


def latent_derivations(
    model: Distributions, sentences: Sentences, derivations: Derivations, *, given_trees: bool, particles: int
) -> LatentDerivations:
    """Make the argument of `visit_latent`, for pools as they are until more room is reserved."""
    queries = new_queries(model, _REMEMBERED)
    return LatentDerivations(model, queries, sentences, derivations, given_trees, particles)


@implements(pools_of, LatentDerivations)
@inner_maker
def _pools_of(latent):
    return latent.model.transition, latent.model.label, latent.model.tag, latent.model.word


@implements(derivation_of, LatentDerivations)
@inner_maker
def _derivation_of(latent, number):
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    return latent.derivations.actions[2 * start : 2 * end], latent.derivations.tags[start:end]


@implements(read_all, LatentDerivations)
@inner_maker
def _read_all(latent, number):
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


@implements(is_drawn, LatentDerivations)
@inner
def _is_drawn(latent, number, is_seated):
    """A new derivation could not lead back to tags that are not tried."""
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


@implements(propose, LatentDerivations)
@inner_maker
def _propose(latent, number, old, rng):
    model, particles = latent.model, latent.particles
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    words = latent.sentences.words[start:end]
    actions, tags = _derivation_of(latent, number)
    if latent.given_trees:
        heads, labels = latent.sentences.heads[start:end], latent.sentences.labels[start:end]
        forget_all(latent.queries)
        sample_derivation(
            model, words, old[1], heads, labels, particles, old[0], rng, latent.queries, actions
        )
    else:
        unknown = np.full(end - start, NONE, dtype=np.int32)
        whole, every_tag = np.bool_(True), np.bool_(False)
        sample_parse(
            model,
            latent.queries,
            words,
            unknown,
            whole,
            particles,
            old[0],
            old[1],
            every_tag,
            rng,
            actions,
            tags,
        )
