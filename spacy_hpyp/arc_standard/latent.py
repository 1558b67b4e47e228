"""Gibbs steps for sentences whose derivations are latent (B&B section 5).

As derivations depend on all distributions, a step removes a sentence from all of them, draws a new derivation from the
posterior given all other sentences, and adds the sentence to all of them again.
"""

import numpy as np

from ..compiled import NONE, compiled
from ..inference.gibbs import LABEL, TAG, TRANSITION, WORD, add, new_events, read_events, remove
from .derivations import sample_derivation
from .likelihood import new_queries
from .proposals import is_factored
from .sampling import sample_parse

# How many probabilities of a sentence are remembered while its derivation is drawn.
_REMEMBERED = 256


@compiled
def _read(pool, distribution, factored, words, tags, actions):
    events = new_events(pool, len(words))
    read_events(pool, distribution, factored, words, tags, actions, events)
    return events


@compiled
def remove_sentence(model, words, tags, actions, rng):
    """Remove a sentence from all distributions. Returns False if it was not seated everywhere.

    model (Distributions): The pools, while they learn.
    words, tags (int32[n]), actions (int32[2n]): The sentence and its derivation.
    """
    factored = is_factored(model)
    removed = remove(model.word, _read(model.word, WORD, factored, words, tags, actions), rng)
    removed = remove(model.tag, _read(model.tag, TAG, factored, words, tags, actions), rng) and removed
    removed = remove(model.label, _read(model.label, LABEL, factored, words, tags, actions), rng) and removed
    events = _read(model.transition, TRANSITION, factored, words, tags, actions)
    return remove(model.transition, events, rng) and removed


@compiled
def add_sentence(model, words, tags, actions, rng, total):
    """Add a sentence to all distributions.

    total (float64[4]): The log-probabilities of its events are added to it, by distribution.
    """
    factored = is_factored(model)
    events = _read(model.transition, TRANSITION, factored, words, tags, actions)
    total[TRANSITION] += add(model.transition, TRANSITION, events, rng)
    total[LABEL] += add(model.label, LABEL, _read(model.label, LABEL, factored, words, tags, actions), rng)
    total[TAG] += add(model.tag, TAG, _read(model.tag, TAG, factored, words, tags, actions), rng)
    total[WORD] += add(model.word, WORD, _read(model.word, WORD, factored, words, tags, actions), rng)


@compiled
def visit_latent(model, sentences, derivations, seated, given_trees, particles, rng, total):
    """One particle Gibbs step for each of some sentences, in order.

    model (Distributions): The pools, while they learn.
    sentences (Sentences): The sentences; their tags and trees are not read unless they are given.
    derivations (Derivations): How they are derived, overwritten with the new derivations.
    seated (bool[sentences]): Whether a sentence is seated, with its derivation. Others are added as they are.
    given_trees (bool): Whether tags and trees are given, so that only the order of the actions is latent.
    particles (int): How many particles there are.
    rng (numpy.random.Generator): The source of randomness.
    total (float64[4]): The log-probabilities of the events are added to it, in nats, each predicted before it is added.
    RETURNS (int): How many sentences were visited: fewer than there are if the next one could not be removed.
    """
    for number in range(len(seated)):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        words, tags = sentences.words[start:end], derivations.tags[start:end]
        actions = derivations.actions[2 * start : 2 * end]
        if seated[number]:
            if not remove_sentence(model, words, tags, actions, rng):
                return number
            before, tags_before = actions.copy(), tags.copy()
            if given_trees:
                heads, labels = sentences.heads[start:end], sentences.labels[start:end]
                queries = new_queries(model, _REMEMBERED)
                sample_derivation(model, words, tags, heads, labels, particles, before, rng, queries, actions)
            else:
                unknown = np.full(end - start, NONE, dtype=np.int32)
                sample_parse(model, words, unknown, True, particles, before, tags_before, False, rng, actions, tags)
        add_sentence(model, words, tags, actions, rng, total)
    return len(seated)
