"""The events of a derivation: what each distribution has generated in it, and given what."""

from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, compiled, implements, inner
from ..inference.gibbs import enter_event, new_events, read_events
from .configuration import (
    DEPTH,
    END,
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
from .contexts import read_context
from .distributions import LABEL, TAG, TRANSITION, WORD
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


@inner
def _enter(pool, events, records, top, known, kind, dish):
    read_context(pool.elements, records, top, known, events.row)
    enter_event(pool, events, kind, dish)


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
    word = 0
    for action in actions:
        # What can only be a shift is not an event; where ROOT comes last, its shift is one.
        is_shift = root_tag != NONE and records[top, DEPTH] < 3
        if distribution == TRANSITION and not factored and not is_shift:
            _enter(pool, events, records, top, 0, 0, action)
        elif distribution == TRANSITION and top != ROOT and not is_shift:
            _enter(pool, events, records, top, 0, kind_of(records[top, DEPTH]), class_of(action))
        elif distribution == LABEL and factored and action >= FIRST_ARC:
            _enter(pool, events, records, top, class_of(action), 0, label_of(action))
        if action == SHIFT:
            if distribution == TAG:
                _enter(pool, events, records, top, 0, 0, tags[word])
            elif distribution == WORD:
                _enter(pool, events, records, top, tags[word], 0, words[word])
            shift(records, used, top, tags[word], words[word])
            word += 1
        else:
            if distribution == TAG and action == END and root_tag != NONE:
                _enter(pool, events, records, top, 0, 0, root_tag)
            reduce(records, used, top, action)
        top = used
        used += 1
    return events
