"""Metropolis-Hastings steps for sentences whose trees are latent.

A sentence leaves all distributions; a tree is drawn from the chart, which holds the counts fixed, and labels for its arcs; and it is
accepted or not, see `spacy_hpyp.inference.metropolis`. What is drawn does not depend on the tree before: trees are proposed
independently, and what leaves the posterior as it is is as in `spacy_hpyp.arc_standard.latent`.
"""

from math import log

import numpy as np

from ..compiled import compiled
from ..inference.gibbs import add_events, put_back, visit_seated
from ..inference.metropolis import add_weighing, remove_weighing, take_back
from .chart import inside, sample_tree
from .contexts import CASE, CHILDREN, DISTANCE, LABEL, TAG, WORD
from .events import events_of
from .scoring import chart_scores, find_labels


@compiled
def _read_all(model, words, tags, heads, labels):
    """The events of all distributions, in the order of their numbers."""
    sizes = model.sizes
    return (
        events_of(model.tag, np.int64(TAG), words, tags, heads, labels, sizes),
        events_of(model.word, np.int64(WORD), words, tags, heads, labels, sizes),
        events_of(model.case, np.int64(CASE), words, tags, heads, labels, sizes),
        events_of(model.children, np.int64(CHILDREN), words, tags, heads, labels, sizes),
        events_of(model.distance, np.int64(DISTANCE), words, tags, heads, labels, sizes),
        events_of(model.label, np.int64(LABEL), words, tags, heads, labels, sizes),
    )


@compiled
def _remove(model, events, rng):
    """`remove_weighing` for all distributions."""
    weight = 0.0
    for found, part in (
        remove_weighing(model.tag, events[TAG], rng),
        remove_weighing(model.word, events[WORD], rng),
        remove_weighing(model.case, events[CASE], rng),
        remove_weighing(model.children, events[CHILDREN], rng),
        remove_weighing(model.distance, events[DISTANCE], rng),
        remove_weighing(model.label, events[LABEL], rng),
    ):
        if not found:
            return False, weight
        weight += part
    return True, weight


@compiled
def _add(model, events, rng):
    """`add_weighing` for all distributions."""
    return (
        add_weighing(model.tag, events[TAG], rng)
        + add_weighing(model.word, events[WORD], rng)
        + add_weighing(model.case, events[CASE], rng)
        + add_weighing(model.children, events[CHILDREN], rng)
        + add_weighing(model.distance, events[DISTANCE], rng)
        + add_weighing(model.label, events[LABEL], rng)
    )


@compiled
def draw_tree(model, words, tags, heads, labels, rng):
    """A Metropolis-Hastings step for the tree of a sentence that is seated.

    model (Distributions): The pools, while they learn.
    words, tags (int32[n]): The sentence; words are cased.
    heads, labels (int32[n]): Its tree, overwritten if another one is accepted.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[bool, bool, bool]): Whether the sentence was seated as it should be; if so, whether another tree was proposed, and
        whether it was accepted.
    """
    old = _read_all(model, words, tags, heads, labels)
    found, old_weight = _remove(model, old, rng)
    if not found:
        return False, False, False
    scores = chart_scores(model, words, tags)
    new_heads, new_labels = sample_tree(scores, inside(scores), rng), np.empty_like(labels)
    find_labels(model, words, tags, new_heads, rng, new_labels)
    proposed = not (np.array_equal(new_heads, heads) and np.array_equal(new_labels, labels))
    accepted = False
    if proposed:
        new = _read_all(model, words, tags, new_heads, new_labels)
        new_weight = _add(model, new, rng)
        accepted = log(1.0 - rng.random()) < new_weight - old_weight
        if not accepted:
            take_back(model.label, new[LABEL])
            take_back(model.distance, new[DISTANCE])
            take_back(model.children, new[CHILDREN])
            take_back(model.case, new[CASE])
            take_back(model.word, new[WORD])
            take_back(model.tag, new[TAG])
    if accepted:
        heads[:] = new_heads
        labels[:] = new_labels
    else:
        put_back(model.tag, old[TAG])
        put_back(model.word, old[WORD])
        put_back(model.case, old[CASE])
        put_back(model.children, old[CHILDREN])
        put_back(model.distance, old[DISTANCE])
        put_back(model.label, old[LABEL])
    return True, proposed, accepted


@compiled
def visit_latent(model, sentences, seated, rng, totals, draws):
    """One step for the tree of each of some sentences, and then for its customers.

    model (Distributions): The pools, while they learn.
    sentences (Sentences): Their trees are overwritten. Words are cased.
    seated (bool[sentences]): Whether a sentence is seated; others are added with a tree that is drawn.
    rng (numpy.random.Generator): The source of randomness.
    totals (float64[6]): Each distribution's log-probability of its events is added, see `visit_seated`.
    draws (int64[2]): The number of other trees that were proposed, and of those accepted, is added.
    RETURNS (int): How many sentences were visited: fewer than there are if the next one was not seated as it should be.
    """
    for number in range(len(seated)):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        words, tags = sentences.words[start:end], sentences.tags[start:end]
        heads, labels = sentences.heads[start:end], sentences.labels[start:end]
        if seated[number]:
            found, proposed, accepted = draw_tree(model, words, tags, heads, labels, rng)
            if not found:
                return number
            draws[0] += proposed
            draws[1] += accepted
        else:
            scores = chart_scores(model, words, tags)
            heads[:] = sample_tree(scores, inside(scores), rng)
            find_labels(model, words, tags, heads, rng, labels)
        events = _read_all(model, words, tags, heads, labels)
        if seated[number]:
            for i, (found, total) in enumerate(
                (
                    visit_seated(model.tag, events[TAG], rng),
                    visit_seated(model.word, events[WORD], rng),
                    visit_seated(model.case, events[CASE], rng),
                    visit_seated(model.children, events[CHILDREN], rng),
                    visit_seated(model.distance, events[DISTANCE], rng),
                    visit_seated(model.label, events[LABEL], rng),
                )
            ):
                if not found:
                    return number
                totals[i] += total
        else:
            totals[TAG] += add_events(model.tag, events[TAG], rng)
            totals[WORD] += add_events(model.word, events[WORD], rng)
            totals[CASE] += add_events(model.case, events[CASE], rng)
            totals[CHILDREN] += add_events(model.children, events[CHILDREN], rng)
            totals[DISTANCE] += add_events(model.distance, events[DISTANCE], rng)
            totals[LABEL] += add_events(model.label, events[LABEL], rng)
    return len(seated)
