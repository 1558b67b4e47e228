"""Gibbs sampling of the seating, a sentence at a time (B&B section 3.1).

A sentence is the block: its customers are removed from all three distributions and added again. What its events are
follows from its derivation: an action in every configuration and, with a shift, a tag and a word.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from ..hpyp.pool import SeatedPool, open_restaurants, seat_mixture, seat_product, unseat_all
from ..transitions.configuration import (
    FIELDS,
    FIRST_RECORD,
    ROOT,
    SHIFT,
    begin,
    reduce,
    shift,
)
from ..transitions.contexts import read_context
from ..transitions.oracle import static_oracle


class Learner(NamedTuple):
    """The three distributions while they learn: A, T and W of B&B section 3.1."""

    transition: SeatedPool
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
    """The outcomes of a derivation, with the context row and the restaurants that each was conditioned on.

    actions (int32[2n]), action_rows (int32[2n, elements]), action_places (int32[2n, experts]): Of the transitions.
    tag_rows (int32[n, elements]), tag_places (int32[n, experts]): Of the tags.
    word_rows (int32[n, elements]), word_places (int32[n, experts]): Of the words.
    """

    actions: np.ndarray
    action_rows: np.ndarray
    action_places: np.ndarray
    tag_rows: np.ndarray
    tag_places: np.ndarray
    word_rows: np.ndarray
    word_places: np.ndarray


@compiled
def new_events(learner, n):
    """Room for the events of a sentence of n words."""
    return Events(
        np.empty(2 * n, dtype=np.int32),
        np.empty((2 * n, len(learner.transition.elements)), dtype=np.int32),
        np.empty((2 * n, len(learner.transition.weights)), dtype=np.int32),
        np.empty((n, len(learner.tag.elements)), dtype=np.int32),
        np.empty((n, len(learner.tag.weights)), dtype=np.int32),
        np.empty((n, len(learner.word.elements)), dtype=np.int32),
        np.empty((n, len(learner.word.weights)), dtype=np.int32),
    )


@compiled
def read_events(learner, words, tags, events):
    """Run a derivation, read the context of each of its events, and find or found the restaurants that it leads to.

    words, tags (int32[n]): The sentence.
    events (Events): Holds the actions; its rows and places are overwritten.
    """
    records = np.empty((FIRST_RECORD + len(events.actions), FIELDS), dtype=np.int32)
    used = begin(records)
    top = ROOT
    word = 0
    for step in range(len(events.actions)):
        row = events.action_rows[step]
        read_context(learner.transition.elements, records, top, 0, row)
        open_restaurants(learner.transition.franchise, row, events.action_places[step])
        if events.actions[step] == SHIFT:
            read_context(learner.tag.elements, records, top, 0, events.tag_rows[word])
            open_restaurants(learner.tag.franchise, events.tag_rows[word], events.tag_places[word])
            read_context(learner.word.elements, records, top, tags[word], events.word_rows[word])
            open_restaurants(learner.word.franchise, events.word_rows[word], events.word_places[word])
            shift(records, used, top, tags[word], words[word])
            word += 1
        else:
            reduce(records, used, top, events.actions[step])
        top = used
        used += 1


@compiled
def remove_events(learner, words, tags, events, rng):
    """Take a sentence's customers away. Returns False if they were not all seated."""
    removed = True
    for step in range(len(events.actions)):
        place = events.action_places[step]
        removed = unseat_all(learner.transition.franchise, place, events.actions[step], rng) and removed
    for i in range(len(words)):
        removed = unseat_all(learner.tag.franchise, events.tag_places[i], tags[i], rng) and removed
        removed = unseat_all(learner.word.franchise, events.word_places[i], words[i], rng) and removed
    return removed


@compiled
def add_events(learner, words, tags, events, rng):
    """Seat a sentence's customers.

    RETURNS (float): The sentence's log-probability with its derivation in nats, each event predicted before it is added.
    """
    total = 0.0
    for step in range(len(events.actions)):
        place, row = events.action_places[step], events.action_rows[step]
        total += seat_product(learner.transition, place, row, events.actions[step], rng)
    for i in range(len(words)):
        total += seat_product(learner.tag, events.tag_places[i], events.tag_rows[i], tags[i], rng)
        total += seat_mixture(learner.word, events.word_places[i], words[i], rng)
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
        events = new_events(learner, end - start)
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], events.actions):
            return total, number
        read_events(learner, words, tags, events)
        if seated[number] and not remove_events(learner, words, tags, events, rng):
            return total, number
        total += add_events(learner, words, tags, events, rng)
    return total, len(seated)
