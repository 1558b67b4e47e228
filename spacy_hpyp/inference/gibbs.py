"""Gibbs sampling of the seating, a sentence at a time (B&B section 3.1).

A sentence is the block: its customers are removed from all three distributions and added again. What its events are
follows from its derivation: an action in every configuration and, with a shift, a tag and a word. Where labels have a
distribution of their own, an action is a direction and, with an arc, a label.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from ..hpyp.franchise import open_restaurants
from ..hpyp.pool import SeatedPool, seat_mixture, seat_product, unseat_all
from ..transitions.configuration import (
    DEPTH,
    FIELDS,
    FIRST_ARC,
    FIRST_RECORD,
    ROOT,
    SHIFT,
    begin,
    class_of,
    kind_of,
    label_of,
    reduce,
    shift,
)
from ..transitions.contexts import read_context
from ..transitions.oracle import static_oracle


class Learner(NamedTuple):
    """The distributions while they learn: A, T and W of B&B section 3.1, and that of the labels where A has none."""

    transition: SeatedPool
    label: SeatedPool
    tag: SeatedPool
    word: SeatedPool


class Sentences(NamedTuple):
    """Annotated sentences, one after the other.

    words, tags, heads, labels (int32[tokens]): Numbers; a head is a position in its sentence, -1 for the root.
    offsets (int64[sentences + 1]): Where each sentence begins.
    """

    words: np.ndarray
    tags: np.ndarray
    heads: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray


class Events(NamedTuple):
    """What one distribution has generated in a derivation.

    dish (int32[*]): The outcomes.
    kind (int32[*]): The kinds of contexts, see `SeatedPool.possible`.
    place (int32[*, experts]): The restaurants that the contexts lead to.
    row (int32[elements]): Workspace.
    count (int64[1]): The number of events.
    """

    dish: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    row: np.ndarray
    count: np.ndarray


class Trace(NamedTuple):
    """The events of a derivation, by distribution."""

    transition: Events
    label: Events
    tag: Events
    word: Events


@compiled
def _new_events(pool, most):
    return Events(
        np.empty(most, dtype=np.int32),
        np.empty(most, dtype=np.int32),
        np.empty((most, pool.franchise.columns.shape[0]), dtype=np.int32),
        np.empty(len(pool.elements), dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


@compiled
def new_trace(learner, n):
    """Room for the events of a sentence of n words."""
    return Trace(
        _new_events(learner.transition, 2 * n),
        _new_events(learner.label, n),
        _new_events(learner.tag, n),
        _new_events(learner.word, n),
    )


@compiled
def _record(pool, events, records, top, known, kind, dish):
    """Enter an event: read its context, and find or found the restaurants that it leads to."""
    i = events.count[0]
    events.dish[i] = dish
    events.kind[i] = kind
    read_context(pool.elements, records, top, known, events.row)
    open_restaurants(pool.franchise, events.row, events.place[i])
    events.count[0] += 1


@compiled
def read_events(learner, words, tags, actions, trace):
    """Run a derivation and read its events.

    words, tags (int32[n]): The sentence.
    actions (int32[2n]): The derivation.
    trace (Trace): Overwritten.
    """
    records = np.empty((FIRST_RECORD + len(actions), FIELDS), dtype=np.int32)
    used = begin(records)
    top = ROOT
    word = 0
    factored = learner.label.franchise.columns.shape[0] > 0
    for action in actions:
        if not factored:
            _record(learner.transition, trace.transition, records, top, 0, 0, action)
        elif top != ROOT:
            # What can only be a shift is not an event.
            direction = class_of(action)
            _record(learner.transition, trace.transition, records, top, 0, kind_of(records[top, DEPTH]), direction)
            if action >= FIRST_ARC:
                _record(learner.label, trace.label, records, top, direction, 0, label_of(action))
        if action == SHIFT:
            _record(learner.tag, trace.tag, records, top, 0, 0, tags[word])
            _record(learner.word, trace.word, records, top, tags[word], 0, words[word])
            shift(records, used, top, tags[word], words[word])
            word += 1
        else:
            reduce(records, used, top, action)
        top = used
        used += 1


@compiled
def _remove(pool, events, rng):
    removed = True
    for i in range(events.count[0]):
        removed = unseat_all(pool.franchise, events.place[i], events.dish[i], rng) and removed
    return removed


@compiled
def remove_events(learner, trace, rng):
    """Take a sentence's customers away. Returns False if they were not all seated."""
    removed = _remove(learner.transition, trace.transition, rng)
    removed = _remove(learner.label, trace.label, rng) and removed
    removed = _remove(learner.tag, trace.tag, rng) and removed
    return _remove(learner.word, trace.word, rng) and removed


@compiled
def _add(pool, events, rng):
    total = 0.0
    for i in range(events.count[0]):
        total += seat_product(pool, events.place[i], events.kind[i], events.dish[i], rng)
    return total


@compiled
def add_events(learner, trace, rng):
    """Seat a sentence's customers.

    RETURNS (float): The sentence's log-probability with its derivation in nats, each event predicted before it is added.
    """
    total = _add(learner.transition, trace.transition, rng)
    total += _add(learner.label, trace.label, rng)
    total += _add(learner.tag, trace.tag, rng)
    for i in range(trace.word.count[0]):
        total += seat_mixture(learner.word, trace.word.place[i], trace.word.dish[i], rng)
    return total


@compiled
def visit_sentences(learner, sentences, seated, rng):
    """One Gibbs step for each of some sentences, in order.

    sentences (Sentences): Projective trees.
    seated (bool[sentences]): Whether a sentence is to be removed before it is added.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (tuple[float, int]): The sum of the sentences' log-probabilities in nats, and how many sentences were visited:
        fewer than there are if the next one could not be removed as seated or is no projective tree.
    """
    total = 0.0
    for number in range(len(seated)):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        words, tags = sentences.words[start:end], sentences.tags[start:end]
        actions = np.empty(2 * (end - start), dtype=np.int32)
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], actions):
            return total, number
        trace = new_trace(learner, end - start)
        read_events(learner, words, tags, actions, trace)
        if seated[number] and not remove_events(learner, trace, rng):
            return total, number
        total += add_events(learner, trace, rng)
    return total, len(seated)
