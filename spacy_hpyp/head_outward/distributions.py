"""The conditional distributions that generate a tree from its heads outward (Eisner 1996; Wallach, Sutton &
McCallum 2008).

ROOT generates one child. Every word then generates its left and its right children, the nearest first, until
it generates STOP in the place of another one's tag. Of a child come its tag, its word, its case; and, where
there are lists for them, whether it has children, its distance from its parent (Sangati, Zuidema & Bod 2009,
equation 3), and the label of its arc. A distribution without a list generates nothing.

All sentences with all of their trees together have at most the probability 1. They have less by what the
model wastes: on a ROOT that generates STOP in the place of its child, and on distances that are not those of
the tree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import by_reference
from ..pools.pool import Conditional
from ..text.elements import contexts_without_classes
from .contexts import (
    CHILDREN_OF,
    DISTRIBUTIONS,
    EVENT,
    GRAND_DIRECTION_OF,
    GRANDPARENT,
    SIBLING,
    SIBLING_DISTANCE_OF,
    Alphabets,
    compile_contexts,
    reads,
)

#: The elements whose symbols add to the weights of a pool's experts.
GATES = {
    "tag": ("parent.tag", "sibling.tag"),
    "word": ("child.tag", "parent.tag"),
    "case": ("child.tag",),
    "children": ("child.tag", "parent.tag"),
    "distance": ("child.tag", "parent.tag"),
    "label": ("child.tag", "parent.tag"),
}
#: How many events a word has at most: for tags its own and two STOPs.
_EVENTS = {"tag": 4}


@dataclass(frozen=True)
class HeadOutwardContexts:
    """The context lists of the experts of each distribution; without lists, nothing is generated but tags."""

    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]
    case: Sequence[Sequence[str]]
    children: Sequence[Sequence[str]] = ()
    distance: Sequence[Sequence[str]] = ()
    label: Sequence[Sequence[str]] = ()


@by_reference
class HeadOutwardDistributions(NamedTuple):
    """What trees are generated from, frozen (`FrozenPool`) or while it learns (`SeatedPool`)."""

    tag: Any
    word: Any
    case: Any
    children: Any
    distance: Any
    label: Any
    sizes: np.ndarray  # int32[3]: how many symbols of tags, words and cases contexts have
    generated: np.ndarray  # bool[6]: which of them have experts
    reads_sibling: np.ndarray  # bool[6]: which of them are conditioned on the sibling


def conditionals(contexts: HeadOutwardContexts, *, is_classed: bool = True) -> dict[str, Conditional]:
    """Return the distributions by name, with lists that read classes of words or without.

    RAISES (ValueError): If a context list is invalid.
    """
    if not contexts.tag:
        raise ValueError("'tag' needs at least one context list, even if that is an empty one: [[]].")
    given = (lambda lists: lists) if is_classed else contexts_without_classes
    found = {name: _conditional(name, given(getattr(contexts, name))) for name in DISTRIBUTIONS}
    # Words, tags and cases are given; whether there are children is a part of the tree, and would have no
    # probability.
    if reads(found["distance"].elements, EVENT, CHILDREN_OF) and not found["children"].experts:
        raise ValueError(
            "'child.children' in 'distance' is not generated. Leave it out, or give 'children' a context "
            "list, if an empty one: [[]]."
        )
    return found


def _conditional(name: str, lists: Sequence[Sequence[str]]) -> Conditional:
    experts = tuple(tuple(expert) for expert in lists)
    gates = () if len(experts) < 2 else GATES[name]
    elements, columns, places = compile_contexts(experts, name, gates)
    mixed = name == "word"
    return Conditional(
        name, experts, elements, columns, places, mixed=mixed, events_of_word=_EVENTS.get(name, 1)
    )


def unchartable(conditionals: dict[str, Conditional]) -> str | None:
    """Return what a distribution reads but the chart does not know. Labels may read whole trees."""
    if conditionals["children"].experts:
        return "'children' are generated"
    for name in ("tag", "word", "case", "distance"):
        elements = conditionals[name].elements
        if reads(elements, GRANDPARENT) or reads(elements, EVENT, GRAND_DIRECTION_OF):
            return f"'{name}' reads the grandparent"
    return None


def make_distributions(
    conditionals: dict[str, Conditional], pools: Mapping[str, Any], alphabets: Alphabets
) -> HeadOutwardDistributions:
    """Return pools, by their names, with what compiled code needs to know of them."""
    elements = [conditionals[name].elements for name in DISTRIBUTIONS]
    return HeadOutwardDistributions(
        *(pools[name] for name in DISTRIBUTIONS),
        sizes=alphabets.symbols,
        generated=np.array([len(conditionals[name].experts) > 0 for name in DISTRIBUTIONS]),
        reads_sibling=np.array(
            [reads(each, SIBLING) or reads(each, EVENT, SIBLING_DISTANCE_OF) for each in elements]
        ),
    )
