"""The events of a derivation: what each distribution has generated in it, and given what."""

from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, compiled, implements
from ..hpyp.franchise import new_franchise
from ..hpyp.leave_one_out import Observations
from ..inference.gibbs import enter_event, new_events, read_events
from ..pools.pool import SeatedPool, Weights
from .configuration import DEPTH, FIELDS, FIRST_RECORD, ROOT, SHIFT, begin, execute
from .contexts import read_context
from .distributions import LABEL, event_of
from .oracle import static_oracle


class Derivations(NamedTuple):
    """How each of some sentences is derived.

    actions (int32[2 tokens]): The derivations, one after the other.
    tags (int32[tokens]): The tags.
    """

    actions: np.ndarray
    tags: np.ndarray


def static_derivations(sentences: Sentences) -> Derivations:
    """The derivations of the static oracle.

    RAISES (ValueError): If a sentence is no projective tree.
    """
    actions = np.empty(2 * len(sentences.words), dtype=np.int32)
    if not _derive(sentences, actions):
        raise ValueError("A training sentence is not a projective tree with one root.")
    return Derivations(actions, sentences.tags.copy())


@compiled
def _derive(sentences, actions):
    for number in range(len(sentences.offsets) - 1):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], actions[2 * start : 2 * end]):
            return False
    return True


class Generated(NamedTuple):
    """What one distribution has generated in the derivations of some sentences.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    words (int32[tokens]), derivations (Derivations), offsets (int64[sentences + 1]): The sentences, and how they are derived.
    root_tag (int): See `Distributions`.
    """

    distribution: int
    factored: bool
    words: np.ndarray
    derivations: Derivations
    offsets: np.ndarray
    root_tag: int = NONE


@implements(read_events, Generated)
@compiled
def _read_events(generated, number, pool):
    start, end = generated.offsets[number], generated.offsets[number + 1]
    actions = generated.derivations.actions[2 * start : 2 * end]
    return events_of(
        pool,
        generated.distribution,
        generated.factored,
        generated.words[start:end],
        generated.derivations.tags[start:end],
        actions,
        generated.root_tag,
    )


@compiled
def events_of(pool, distribution, factored, words, tags, actions, root_tag=NONE):
    """Run a derivation and read the events of one distribution.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    words, tags (int32[n]): The sentence.
    actions (int32[2n]): The derivation.
    root_tag (int): See `Distributions`.
    RETURNS (Events): The events.
    """
    events = new_events(pool, len(actions))
    if distribution == LABEL and not factored:
        return events
    records = np.empty((FIRST_RECORD + len(actions), FIELDS), dtype=np.int32)
    used = begin(records)
    top = ROOT
    shifted = 0
    for action in actions:
        word = min(shifted, len(words) - 1)
        known, kind, dish = event_of(
            distribution, factored, root_tag, records[top, DEPTH], action, tags[word], words[word]
        )
        if dish != NONE:
            read_context(pool.elements, records, top, known, events.row)
            enter_event(pool, events, kind, dish)
        execute(records, used, top, action, tags[word], words[word])
        shifted += action == SHIFT
        top = used
        used += 1
    return events


def observe(
    sentences: Sentences,
    distribution: int,
    factored: bool,
    elements: np.ndarray,
    possible: np.ndarray,
    root_tag: int = NONE,
) -> Observations:
    """Read the events of one distribution off the static oracle's derivations.

    sentences (Sentences): Projective trees.
    distribution (int), factored (bool): See `events_of`.
    elements (int32[elements, 4]): What to read, rows of `ELEMENTS`.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context.
    root_tag (int): See `Distributions`.
    RETURNS (Observations): A group of events for each sentence.
    RAISES (ValueError): If a tree is not projective or does not have exactly one root.
    """
    # A pool without experts, whose gates are all that there is to read.
    gates = np.arange(len(elements), dtype=np.int32)
    none = Weights(np.empty((0, 0)), np.empty((len(gates), 0, 0)))
    franchise = new_franchise(np.empty((0, 0), dtype=np.int32), possible.shape[1])
    pool = SeatedPool(franchise, none, none, gates, possible, elements, np.empty((1, 1)), False)
    words = len(sentences.words)
    row = np.empty((2 * words, len(elements)), dtype=np.int32)
    dish, kind = np.empty(2 * words, dtype=np.int32), np.empty(2 * words, dtype=np.int32)
    offsets = np.zeros(len(sentences.offsets), dtype=np.int64)
    if not _observe(pool, distribution, factored, root_tag, sentences, row, dish, kind, offsets):
        raise ValueError("A sentence is not a projective tree with one root.")
    count = offsets[-1]
    return Observations(row[:count], dish[:count], kind[:count], offsets, possible)


@compiled
def _observe(pool, distribution, factored, root_tag, sentences, row, dish, kind, offsets):
    count = 0
    for number in range(len(offsets) - 1):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        actions = np.empty(2 * (end - start), dtype=np.int32)
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], actions):
            return False
        words, tags = sentences.words[start:end], sentences.tags[start:end]
        events = events_of(pool, distribution, factored, words, tags, actions, root_tag)
        for i in range(events.count[0]):
            row[count] = events.symbols[i]
            dish[count] = events.dish[i]
            kind[count] = events.kind[i]
            count += 1
        offsets[number + 1] = count
    return True
