"""The four conditional distributions that generate a sentence: of transitions, labels, tags and
words (B&B section 3.1), and their events in derivations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, jitable, struct
from ..hpyp.gibbs import enter_event, new_events, read_events
from ..hpyp.pool import Conditional, Weights
from ..text.elements import contexts_without_classes
from . import configuration as system
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

    The four are pools, frozen or while they learn. What has a default is for decoding only:
    `p_word_given_tag` holds p(word | tag) for each candidate tag without further context, times
    `p_observed`, the probability of other observations.
    """

    transition: Any
    label: Any
    tag: Any
    word: Any
    tag_offsets: np.ndarray  # int64[words + 1]: the first candidate tag of each word
    candidate_tags: np.ndarray  # int32[*]: the tags that each word may have, likely ones first
    outcomes: np.ndarray = np.empty(0, np.int32)  # int32[words]: the words as outcomes
    p_word_given_tag: np.ndarray = np.empty(0)  # float64[candidates]
    chain: np.ndarray = np.empty((0, 0))  # float64[tags + 1, tags]: see `tag_chain`; may be empty
    observed: np.ndarray = np.empty(0, np.int32)  # int32[words]: rows of `p_observed`
    p_observed: np.ndarray = np.empty((0, 0))  # float64[*, tags]: the first row is 1, for no others


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
def pools_of(model):
    """Return the four pools of a model, in the order of `DISTRIBUTIONS`."""
    return model.transition, model.label, model.tag, model.word


@jitable
def event_of(distribution, factored, records, top, action, tag, word):
    """Return the event of one distribution in the execution of an action.

    top (int): The configuration before the action.
    tag, word (int): The tag and word (an outcome) that a shift generates.
    RETURNS (tuple[int, int, int]): `known` for `read_context`; the kind of the context, see
        `Pool.possible`; and the outcome, `NONE` if nothing is generated.
    """
    known, kind, outcome = np.int64(0), np.int64(0), np.int64(NONE)
    if distribution == TRANSITION:
        # In a factored model, a forced shift is not an event.
        if not factored:
            outcome = np.int64(action)
        elif records[top, system.DEPTH] >= 2:
            kind = np.int64(system.kind_of(records[top, system.DEPTH]))
            outcome = np.int64(system.class_of(action))
    elif distribution == LABEL:
        if factored and action >= system.FIRST_ARC:
            known, outcome = np.int64(system.class_of(action)), np.int64(system.label_of(action))
    elif distribution == TAG:
        if action == system.SHIFT:
            outcome = np.int64(tag)
    elif action == system.SHIFT:
        known, outcome = np.int64(tag), np.int64(word)
    return known, kind, outcome


def conditionals(contexts: ContextLists, *, is_classed: bool = True) -> dict[str, Conditional]:
    """Return the distributions by name.

    is_classed (bool): Whether there are classes of words to read.
    RAISES (ValueError): If a context element is invalid, see `compile_contexts`, or transitions or
        tags have no list.
    """
    lists = {name: getattr(contexts, name) for name in DISTRIBUTIONS}
    if not is_classed:
        lists = {name: contexts_without_classes(experts) for name, experts in lists.items()}
    for name in ("transition", "tag"):
        if not lists[name]:
            raise ValueError(f"'{name}' needs at least one context list. It may be empty: [[]].")
    found = {}
    for name in DISTRIBUTIONS:
        experts = tuple(tuple(expert) for expert in lists[name])
        mask = {"possible": system.POSSIBLE} if name == "transition" and lists["label"] else {}
        gates = GATES[name] if mask or len(experts) > 1 else ()
        found[name] = Conditional(
            experts,
            *compile_contexts(experts, name, gates),
            mixed=name == "word",
            # A word is shifted and attached; every other event belongs to one of the two.
            events_of_word=2 if name == "transition" else 1,
            **mask,
        )
    return found


class Derivations(NamedTuple):
    """Derivations of some sentences, one after the other."""

    actions: np.ndarray  # int32[2 tokens]
    tags: np.ndarray  # int32[tokens]


def static_derivations(sentences: Sentences) -> Derivations:
    """Return the static oracle's derivations.

    RAISES (ValueError): If a sentence is not a projective tree with one root.
    """
    actions = np.empty(2 * len(sentences.words), dtype=np.int32)
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        if not static_oracle(
            sentences.heads[start:end], sentences.labels[start:end], actions[2 * start : 2 * end]
        ):
            raise ValueError("A training sentence is not a projective tree with one root.")
    return Derivations(actions, sentences.tags.copy())


class Generated(NamedTuple):
    """The events of one distribution in derivations of sentences."""

    distribution: int  # `TRANSITION`, `LABEL`, `TAG` or `WORD`
    factored: bool  # Whether an action is a direction and a label
    words: np.ndarray  # int32[tokens]
    derivations: Derivations
    offsets: np.ndarray  # int64[sentences + 1]


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
    records, shifted = system.new_records(len(actions)), 0
    for step, action in enumerate(actions):
        top, word = system.ROOT + step, min(shifted, len(words) - 1)
        known, kind, dish = event_of(
            distribution, factored, records, top, action, tags[word], words[word]
        )
        if dish != NONE:
            read_context(pool.elements, records, top, known, pool.scratch.context)
            enter_event(pool, events, kind, dish)
        system.execute(records, top + 1, top, action, tags[word], words[word])
        shifted += action == system.SHIFT
    return events
