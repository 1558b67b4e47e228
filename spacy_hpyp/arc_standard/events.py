"""The events of a derivation: what each distribution has generated in it, and given what."""

from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, compiled, implements
from ..inference.gibbs import enter_event, new_events, read_events
from . import configuration as column
from .configuration import FIELDS, FIRST_RECORD, ROOT, SHIFT, begin, execute
from .contexts import read_context
from .distributions import LABEL, event_of
from .oracle import static_oracle


class Derivations(NamedTuple):
    """Derivations of some sentences, one after the other: actions (int32[2 tokens]) and tags (int32[tokens])."""

    actions: np.ndarray
    tags: np.ndarray


def static_derivations(sentences: Sentences) -> Derivations:
    """Return the static oracle's derivations. RAISES (ValueError): If a sentence is no projective tree."""
    actions = np.empty(2 * len(sentences.words), dtype=np.int32)
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        if not static_oracle(
            sentences.heads[start:end], sentences.labels[start:end], actions[2 * start : 2 * end]
        ):
            raise ValueError("A training sentence is not a projective tree with one root.")
    return Derivations(actions, sentences.tags.copy())


class Generated(NamedTuple):
    """The events of one distribution in derivations; `factored` if an action is a direction and a label."""

    distribution: int
    factored: bool
    words: np.ndarray
    derivations: Derivations
    offsets: np.ndarray


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
    )


@compiled
def events_of(pool, distribution, factored, words, tags, actions):
    """Run a derivation and read the events of one distribution."""
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
            distribution, factored, records[top, column.DEPTH], action, tags[word], words[word]
        )
        if dish != NONE:
            read_context(pool.elements, records, top, known, events.row)
            enter_event(pool, events, kind, dish)
        execute(records, used, top, action, tags[word], words[word])
        shifted += action == SHIFT
        top = used
        used += 1
    return events
