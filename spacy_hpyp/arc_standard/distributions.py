"""The four conditional distributions that generate a sentence: of transitions, labels, tags and
words (B&B section 3.1), and their events in derivations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, jitable, struct
from ..hpyp.gibbs import enter_event, new_events, read_events
from ..hpyp.pool import Conditional, Weights
from ..text.elements import contexts_without_classes
from . import configuration as column
from .configuration import (
    FIELDS,
    FIRST_ARC,
    FIRST_RECORD,
    POSSIBLE,
    ROOT,
    SHIFT,
    begin,
    class_of,
    execute,
    kind_of,
    label_of,
)
from .contexts import compile_contexts, read_context
from .oracle import static_oracle

#: The names of the distributions, in the order of `TRANSITION`, `LABEL`, `TAG` and `WORD`.
DISTRIBUTIONS = ("transition", "label", "tag", "word")
TRANSITION, LABEL, TAG, WORD = range(4)

#: Elements with symbols that add to the weights of a pool's experts.
GATES = {
    "transition": ("s1.tag", "s2.tag"),
    "label": ("s1.tag", "s2.tag"),
    "tag": ("s1.tag", "s2.tag"),
    "word": ("next.tag", "s1.tag"),
}


@dataclass(frozen=True)
class ContextLists:
    """The context lists of each distribution: element names of each expert, most important first.

    B&B Table 1 has one list for transitions, tags and words. A model without lists for words is
    unlexicalised and needs the tags. With lists for labels a transition is a direction, and an arc
    has a label besides; without any, the label is a part of the transition, as in the paper.
    """

    transition: Sequence[Sequence[str]]
    label: Sequence[Sequence[str]]
    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]


@struct
class Distributions(NamedTuple):
    """The distributions that generate a sentence, and the words and tags as they know them.

    transition, label, tag, word (Pool): Frozen, or while they learn.
    tag_offsets (int64[words + 1]): The first candidate tag of each word.
    candidate_tags (int32[*]): The tags that each word may have, likely ones first.
    outcomes (int32[words]): The words as outcomes. This and what follows is for decoding only.
    p_word_given_tag (float64[candidates]): p(word | tag) for each candidate tag without further
        context, times `p_observed`.
    chain (float64[tags + 1, tags]): See `tag_chain`; may be empty.
    observed (int32[words]): The rows of `p_observed`.
    p_observed (float64[*, tags]): The probability of other observations; 1 in the first row, for
        words without any.
    """

    transition: Any
    label: Any
    tag: Any
    word: Any
    tag_offsets: np.ndarray
    candidate_tags: np.ndarray
    outcomes: np.ndarray = np.empty(0, np.int32)
    p_word_given_tag: np.ndarray = np.empty(0)
    chain: np.ndarray = np.empty((0, 0))
    observed: np.ndarray = np.empty(0, np.int32)
    p_observed: np.ndarray = np.empty((0, 0))


def with_weights(
    model: Distributions, weights: Mapping[str, Weights], gradient: Mapping[str, Weights]
) -> Distributions:
    """Return a frozen model whose pools have other weights and sums of gradients."""
    pools = {
        name: getattr(model, name)._replace(weights=weights[name], gradient=gradient[name])
        for name in DISTRIBUTIONS
    }
    return model._replace(**pools)


@jitable
def event_of(distribution, factored, depth, action, tag, word):
    """Return the event of one distribution in the execution of an action.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    depth (int): Of the stack before the action, with ROOT.
    tag, word (int): The tag and word (an outcome) that a shift generates.
    RETURNS (tuple[int, int, int]): `known` for `read_context`; the kind of the context, see
        `Pool.possible`; and the outcome, `NONE` if nothing is generated.
    """
    known, kind, outcome = np.int64(0), np.int64(0), np.int64(NONE)
    if distribution == TRANSITION:
        # In a factored model, a forced shift is not an event.
        if not factored:
            outcome = np.int64(action)
        elif depth >= 2:
            kind, outcome = np.int64(kind_of(depth)), np.int64(class_of(action))
    elif distribution == LABEL:
        if factored and action >= FIRST_ARC:
            known, outcome = np.int64(class_of(action)), np.int64(label_of(action))
    elif distribution == TAG:
        if action == SHIFT:
            outcome = np.int64(tag)
    elif action == SHIFT:
        known, outcome = np.int64(tag), np.int64(word)
    return known, kind, outcome


def conditionals(contexts: ContextLists, *, is_classed: bool = True) -> dict[str, Conditional]:
    """Return the distributions by name.

    is_classed (bool): Whether there are classes of words to read.
    RAISES (ValueError): If a context element is invalid, see `compile_contexts`, or transitions or
        tags have no list.
    """
    if not is_classed:
        contexts = replace(
            contexts,
            **{name: contexts_without_classes(getattr(contexts, name)) for name in DISTRIBUTIONS},
        )
    for name in ("transition", "tag"):
        if not getattr(contexts, name):
            raise ValueError(f"'{name}' needs at least one context list. It may be empty: [[]].")
    found = {}
    for name in DISTRIBUTIONS:
        experts = tuple(tuple(expert) for expert in getattr(contexts, name))
        mask = {"possible": POSSIBLE} if name == "transition" and contexts.label else {}
        gates = GATES[name] if mask or len(experts) > 1 else ()
        elements, columns, places = compile_contexts(experts, name, gates)
        # A word is shifted and attached; every other event belongs to one of the two.
        events = 2 if name == "transition" else 1
        rows = elements, columns, places
        found[name] = Conditional(
            experts, *rows, mixed=name == "word", events_of_word=events, **mask
        )
    return found


class Derivations(NamedTuple):
    """Derivations of some sentences, one after the other: actions (int32[2 tokens]) and tags
    (int32[tokens]).
    """

    actions: np.ndarray
    tags: np.ndarray


def static_derivations(sentences: Sentences) -> Derivations:
    """Return the static oracle's derivations. RAISES (ValueError): If a sentence is not a
    projective tree with one root.
    """
    actions = np.empty(2 * len(sentences.words), dtype=np.int32)
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        if not static_oracle(
            sentences.heads[start:end], sentences.labels[start:end], actions[2 * start : 2 * end]
        ):
            raise ValueError("A training sentence is not a projective tree with one root.")
    return Derivations(actions, sentences.tags.copy())


class Generated(NamedTuple):
    """The events of one distribution (a number) in derivations of words (int32[tokens]), sentences
    at `offsets` (int64[sentences + 1]); `factored` if an action is a direction and a label.
    """

    distribution: int
    factored: bool
    words: np.ndarray
    derivations: Derivations
    offsets: np.ndarray


@read_events.register(Generated)
@jitable
def _read_events(generated, number, pool):
    start, end = generated.offsets[number], generated.offsets[number + 1]
    words, tags = generated.words[start:end], generated.derivations.tags[start:end]
    actions = generated.derivations.actions[2 * start : 2 * end]
    return events_of(pool, generated.distribution, generated.factored, words, tags, actions)


@jitable
def events_of(pool, distribution, factored, words, tags, actions):
    """Read the events of one distribution (Events) off a derivation, founding restaurants."""
    events = new_events(pool, len(actions))
    if distribution == LABEL and not factored:
        return events
    records = np.empty((FIRST_RECORD + len(actions), FIELDS), dtype=np.int32)
    top, used, shifted = ROOT, begin(records), 0
    for action in actions:
        word = min(shifted, len(words) - 1)
        depth = records[top, column.DEPTH]
        known, kind, dish = event_of(distribution, factored, depth, action, tags[word], words[word])
        if dish != NONE:
            read_context(pool.elements, records, top, known, pool.scratch.context)
            enter_event(pool, events, kind, dish)
        execute(records, used, top, action, tags[word], words[word])
        shifted += action == SHIFT
        top, used = used, used + 1
    return events
