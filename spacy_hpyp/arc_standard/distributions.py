"""The four conditional distributions that generate a sentence: of transitions, labels, tags and words (B&B
section 3.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference
from ..pools.conditional import Conditional
from ..text.elements import contexts_without_classes
from .configuration import (
    DIRECTIONS,
    END,
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
    """The context elements of each distribution: a list of experts, each a list of names, most important
    first.

    transition, tag, word (Sequence[Sequence[str]]): B&B Table 1 has one list for each. Without a list for
        words, words are not generated: the model is unlexicalised and has to be given the tags.
    label (Sequence[Sequence[str]]): With lists for labels, a transition is a direction, and an arc has a
        label besides. Without any, the label is a part of the transition, as in the paper.
    gates (Mapping[str, Sequence[str]]): By distribution, the elements whose symbols add to the weights of the
        experts; for a distribution that is not named, those of `GATES`.
    """

    transition: Sequence[Sequence[str]]
    label: Sequence[Sequence[str]]
    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]
    gates: Mapping[str, Sequence[str]] = field(default_factory=dict)


@by_reference
class Distributions(NamedTuple):
    """What sentences are generated from, frozen (`FrozenPool`) or while it learns (`SeatedPool`).

    transition, label, tag, word: The pools.
    tag_offsets (int64[words + 1]), candidate_tags (int32[*]): The tags that each word may have.
    root_tag (int): The outcome of the tags that is ROOT at the end of a sentence; `NONE` where ROOT comes
        first, see `root_tag_of`.
    """

    transition: Any
    label: Any
    tag: Any
    word: Any
    tag_offsets: np.ndarray
    candidate_tags: np.ndarray
    root_tag: int = NONE


@borrowing
def event_of(distribution, factored, root_tag, depth, action, tag, word):
    """What a distribution generates where an action is executed.

    distribution (int): `TRANSITION`, `LABEL`, `TAG` or `WORD`.
    factored (bool): Whether an action is a direction and a label.
    root_tag (int): See `Distributions`.
    depth (int): Of the stack before the action.
    tag, word (int): What a shift generates.
    RETURNS (tuple[int, int, int]): What is `known` besides the configuration, see `read_context`; the kind of
        the context, see `SeatedPool.possible`; and the outcome, `NONE` if it generates nothing.
    """
    known, kind, outcome = np.int64(0), np.int64(0), np.int64(NONE)
    if distribution == TRANSITION:
        # What can only be a shift is not an event; where ROOT comes last, its shift is one, but of the tags.
        if not factored and (root_tag == NONE or depth >= 3):
            outcome = np.int64(action)
        elif depth >= (2 if root_tag == NONE else 3):
            kind, outcome = np.int64(kind_of(depth)), np.int64(class_of(action))
    elif distribution == LABEL:
        if factored and action >= FIRST_ARC:
            known, outcome = np.int64(class_of(action)), np.int64(label_of(action))
    elif distribution == TAG:
        if action == SHIFT:
            outcome = np.int64(tag)
        elif action == END:
            outcome = np.int64(root_tag)
    elif action == SHIFT:
        known, outcome = np.int64(tag), np.int64(word)
    return known, kind, outcome


def root_tag_of(alphabet: int, *, root_last: bool) -> int:
    """The outcome of the tags that is ROOT, which ends a sentence if it comes last.

    Where ROOT comes last (B&B section 5.2), it is shifted as a word is, when one tree is left, and takes that
    for its dependent:

        p(end) = T(ROOT | h), instead of A(right-arc | h)

    With fewer than two trees on the stack there is nothing but to shift, and no action is generated. The last
    word, arc and label are certain. Elsewhere ROOT is impossible, and its probability is lost, as that of
    impossible actions is. The bottom of the stack, which would be NULL there, is a symbol by itself in both
    variants.

    alphabet (int): How many outcomes the tags have, see `alphabet_sizes`.
    RETURNS (int): The outcome, the last one, or `NONE`.
    """
    return alphabet - 1 if root_last else NONE


def conditionals(
    contexts: ContextLists, *, root_last: bool = False, is_classed: bool = True
) -> dict[str, Conditional]:
    """The distributions by their names.

    root_last (bool): Whether ROOT is generated as a tag, see `root_tag_of`.
    is_classed (bool): Whether there are classes of words to read, see
        `text.elements.contexts_without_classes`.
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
    unknown = contexts.gates.keys() - GATES.keys()
    if unknown:
        raise ValueError(f"'gates' names '{min(unknown)}', which is not one of {', '.join(DISTRIBUTIONS)}.")
    for name, gates in contexts.gates.items():
        if others := [gate for gate in gates if not gate.endswith(".tag")]:
            raise ValueError(
                f"'gates' of '{name}' names '{others[0]}', but only tags can be gates, as s1.tag."
            )
    factored = len(contexts.label) > 0
    possible = {"transition": POSSIBLE} if factored else {}
    # A word is shifted and attached; all that is generated besides belongs to one of the two. But an end is
    # one more tag.
    events = {"transition": 2, "tag": 1 + root_last}
    return {
        name: _conditional(name, contexts, possible.get(name), events.get(name, 1)) for name in DISTRIBUTIONS
    }


def has_labels(conditionals: Mapping[str, Conditional]) -> bool:
    """Whether a transition is a direction, and the label of an arc an outcome of its own; else a transition
    has a label.
    """
    return len(conditionals["label"].experts) > 0


def _conditional(name: str, contexts: ContextLists, possible: np.ndarray | None, events: int) -> Conditional:
    experts = tuple(tuple(expert) for expert in getattr(contexts, name))
    plain = len(experts) < (2 if possible is None else 1)
    gates = () if plain else tuple(contexts.gates.get(name, GATES[name]))
    elements, columns, places = compile_contexts(experts, name, gates)
    mask = {} if possible is None else {"possible": possible}
    return Conditional(
        name, experts, elements, columns, places, mixed=name == "word", events_of_word=events, **mask
    )


def alphabet_sizes(
    *, labels: int, tags: int, words: int, factored: bool, root_last: bool = False
) -> dict[str, int]:
    """How many outcomes each distribution has.

    factored (bool): Whether a transition is a direction, and its label another outcome.
    root_last (bool): Whether ROOT is one more tag.
    """
    return {
        "transition": DIRECTIONS if factored else action_count(labels),
        "label": max(1, labels),
        "tag": max(1, tags) + root_last,
        "word": words,
    }
