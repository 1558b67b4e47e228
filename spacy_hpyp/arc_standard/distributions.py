"""The four conditional distributions that generate a sentence: of transitions, labels, tags and words (B&B
section 3.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference
from ..pools.pool import Conditional
from ..text.elements import contexts_without_classes
from .configuration import (
    DIRECTIONS,
    FIRST_ARC,
    POSSIBLE,
    SHIFT,
    action_count,
    class_of,
    kind_of,
    label_of,
)
from .contexts import compile_contexts

#: Their names, in the order of `TRANSITION`, `LABEL`, `TAG` and `WORD`.
DISTRIBUTIONS = ("transition", "label", "tag", "word")
TRANSITION, LABEL, TAG, WORD = range(4)

#: The elements whose symbols add to the weights of a pool's experts.
GATES = {
    "transition": ("s1.tag", "s2.tag"),
    "label": ("s1.tag", "s2.tag"),
    "tag": ("s1.tag", "s2.tag"),
    "word": ("next.tag", "s1.tag"),
}


@dataclass(frozen=True)
class ContextLists:
    """The context lists of each distribution: element names of each expert, most important first.

    B&B Table 1 has one list for transitions, tags and words. A model without lists for words is unlexicalised
    and needs the tags. With lists for labels a transition is a direction, and an arc has a label besides;
    without any, the label is a part of the transition, as in the paper.
    """

    transition: Sequence[Sequence[str]]
    label: Sequence[Sequence[str]]
    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]


@by_reference
class Distributions(NamedTuple):
    """The distributions that generate sentences, frozen (`FrozenPool`) or while they learn (`SeatedPool`)."""

    transition: Any
    label: Any
    tag: Any
    word: Any
    tag_offsets: np.ndarray  # int64[words + 1]
    candidate_tags: np.ndarray  # int32[*]: the tags that each word may have


@borrowing
def event_of(distribution, factored, depth, action, tag, word):
    """Return the event of one distribution in the execution of an action.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    depth (int): Of the stack before the action.
    tag, word (int): What a shift generates.
    RETURNS (tuple[int, int, int]): `known` for `read_context`; the kind of the context, see
        `SeatedPool.possible`; and the outcome, `NONE` if nothing is generated.
    """
    known, kind, outcome = np.int64(0), np.int64(0), np.int64(NONE)
    if distribution == TRANSITION:
        # In a factored model, what can only be a shift is not an event.
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
    RAISES (ValueError): If a context element is not known, or a distribution that has to be there has no
        list.
    """
    if not is_classed:
        contexts = replace(
            contexts, **{name: contexts_without_classes(getattr(contexts, name)) for name in DISTRIBUTIONS}
        )
    for name in ("transition", "tag"):
        if not getattr(contexts, name):
            raise ValueError(f"'{name}' needs at least one context list, even if that is an empty one: [[]].")
    factored = len(contexts.label) > 0
    possible = {"transition": POSSIBLE} if factored else {}
    # A word is shifted and attached; all that is generated besides belongs to one of the two.
    events = {"transition": 2}
    return {
        name: _conditional(name, contexts, possible.get(name), events.get(name, 1)) for name in DISTRIBUTIONS
    }


def has_labels(conditionals: Mapping[str, Conditional]) -> bool:
    """Whether a transition is a direction, and the label of an arc an outcome of its own."""
    return len(conditionals["label"].experts) > 0


def _conditional(name: str, contexts: ContextLists, possible: np.ndarray | None, events: int) -> Conditional:
    experts = tuple(tuple(expert) for expert in getattr(contexts, name))
    plain = len(experts) < (2 if possible is None else 1)
    gates = () if plain else GATES[name]
    elements, columns, places = compile_contexts(experts, name, gates)
    mask = {} if possible is None else {"possible": possible}
    return Conditional(
        name, experts, elements, columns, places, mixed=name == "word", events_of_word=events, **mask
    )


def alphabet_sizes(*, labels: int, tags: int, words: int, factored: bool) -> dict[str, int]:
    """Return the number of outcomes of each distribution."""
    return {
        "transition": DIRECTIONS if factored else action_count(labels),
        "label": max(1, labels),
        "tag": max(1, tags),
        "word": words,
    }
