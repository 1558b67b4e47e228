"""The conditional distributions that generate a tree from its heads outward (Eisner 1996; Wallach, Sutton &
McCallum 2008).

ROOT generates one child. Every word then generates its left and its right children, the nearest first, until
it generates STOP in the place of another one's tag. Of a child come its tag, its word, its case; and, where
there are lists for them, whether it has children, its distance from its parent (Sangati, Zuidema & Bod 2009,
equation 3), and the label of its arc. A distribution without a list generates nothing.

All sentences with all of their trees together have at most the probability 1. They have less by what the
model wastes: on a ROOT that generates STOP in the place of its child, and on distances that are not those of
the tree.

Context elements are what a distribution may be conditioned on, by name.

An element is a path of a word and what is read of it, as in `parent.tag`, or the name of a property of the
event.

* words: `parent`; `sibling`, the child of the parent that was generated before, on the same side;
  `grandparent`; and `child`, as far as it has been generated already: its tag comes first, then its word,
  then its case;
* what is read: `tag`, `word` (uncased), `case` (lower, upper, first letter upper, mixed), `class` and
  `class:2` to `class:16` (the path to the class of the uncased word, or so many steps of it, see
  `text.word_classes`);
* `direction`, the side on which the child stands; `grandparent.direction`, that of the parent;
  `sibling.distance`, how far the sibling is from the parent, in classes (1, 2, 3 to 6, 7 and more);
* `child.children`, whether the child has children of its own, and `distance`, that of the child from its
  parent in the same classes, where these are generated before (Sangati et al. 2009, equation 3);
* of the outermost children of the child, `child.left` and `child.right`, what is read; for labels only, which
    come last.

What does not exist has the symbol NULL: the sibling of the first child, the parent of the root's child's
parent, and so on.

Elements that are joined by `+` are one: `parent.word+parent.case` are dropped together by back-off, as the
paper's lists have it. Classes are not joined with others: what is read of them is behind the element.

A *context row* holds the symbols of all elements that a pool's experts name, each once; an expert's context
is a list of columns of that row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable, struct
from ..pools.pool import Conditional
from ..text.elements import (
    CLASS_ATTRIBUTES,
    compile_lists,
    contexts_without_classes,
    reads_classes,
    with_class_symbols,
)

#: Which word an element reads, or that it reads a property of the event.
PARENT, SIBLING, GRANDPARENT, CHILD, CHILD_LEFT, CHILD_RIGHT, EVENT = range(7)
#: What is read of a word.
TAG_OF, WORD_OF, CASE_OF = range(3)
#: What is read of an event.
DIRECTION_OF, GRAND_DIRECTION_OF, CHILDREN_OF, DISTANCE_OF, SIBLING_DISTANCE_OF = range(5)
# What is read of classes is behind all of these.
_CLASS_OF = 5

#: The sides of a parent.
LEFT, RIGHT = range(2)
#: The distributions, in the order in which they generate a child.
DISTRIBUTIONS = ("tag", "word", "case", "children", "distance", "label")
TAG, WORD, CASE, CHILDREN, DISTANCE, LABEL = range(6)

#: How many classes of distances there are, and of cases.
DISTANCES, CASES = 4, 4

_PARTS = 4
# How long a row of elements is.
_WIDTH = 2 * _PARTS
# How many values there are of what is read of an event.
_EVENT_SIZES = (2, 3, 2, DISTANCES, DISTANCES + 1)
_WORDS = {
    "parent": PARENT,
    "sibling": SIBLING,
    "grandparent": GRANDPARENT,
    "child": CHILD,
    "child.left": CHILD_LEFT,
    "child.right": CHILD_RIGHT,
}
_READ = {"tag": TAG_OF, "word": WORD_OF, "case": CASE_OF}
_CLASSES = {name: _CLASS_OF + number for number, name in enumerate(CLASS_ATTRIBUTES)}


def _elements() -> dict[str, tuple[int, int, int]]:
    known = {
        "direction": (EVENT, DIRECTION_OF, TAG),
        "grandparent.direction": (EVENT, GRAND_DIRECTION_OF, TAG),
        "sibling.distance": (EVENT, SIBLING_DISTANCE_OF, TAG),
        "child.children": (EVENT, CHILDREN_OF, DISTANCE),
        "distance": (EVENT, DISTANCE_OF, LABEL),
    }
    first = {CHILD: (WORD, CASE, CHILDREN), CHILD_LEFT: (LABEL,) * 3, CHILD_RIGHT: (LABEL,) * 3}
    for word, which in _WORDS.items():
        for name, column in _READ.items():
            known[f"{word}.{name}"] = (which, column, first.get(which, (TAG,) * 3)[column])
        for name, column in _CLASSES.items():
            known[f"{word}.{name}"] = (which, column, known[f"{word}.word"][2])
    return known


#: Every element by its name: which word, what is read, and the first distribution that may be conditioned on
#: it.
ELEMENTS = _elements()


class Alphabets(NamedTuple):
    """How many outcomes there are."""

    tags: int  # Tags, with one behind them for those that are not known
    words: int  # Words and word classes
    labels: int

    def of(self, name: str) -> int:
        """The number of outcomes of a distribution. Behind the tags there is STOP."""
        sizes = (self.tags + 1, self.words, CASES, 2, DISTANCES, self.labels)
        return max(1, sizes[DISTRIBUTIONS.index(name)])

    @property
    def symbols(self) -> np.ndarray:
        """The numbers of symbols of tags, words and cases (int32[3]), with ROOT and what does not exist."""
        return np.array([self.tags + 2, self.words + 2, CASES + 2], dtype=np.int32)


def compile_contexts(
    experts: Sequence[Sequence[str]], distribution: str, gates: Sequence[str] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compile context lists.

    experts (Sequence[Sequence[str]]): A list of element names for each expert, most important first.
    gates (Sequence[str]): Elements that are read besides.
    RETURNS (tuple): elements (int32[elements, 8]), up to four pairs of rows of `ELEMENTS`, then `NONE`;
        columns (int32[experts, depth]), each expert's positions in the context row, then `NONE`; and the
        positions of the gates (int32[gates]).
    RAISES (ValueError): If a name is unknown, repeated within an expert, or not generated yet.
    """

    def check(part: str) -> None:
        if ELEMENTS[part][2] > DISTRIBUTIONS.index(distribution):
            raise ValueError(
                f"'{part}' in '{distribution}' is not known yet when the {distribution} is generated."
            )

    names, columns, places = compile_lists(
        experts, ELEMENTS, distribution, more=gates, joined=_PARTS, check=check
    )
    elements = np.full((len(names), _WIDTH), NONE, dtype=np.int32)
    for row, name in zip(elements, names):
        if "+" in name and reads_classes(name.split("+")):
            raise ValueError(
                f"'{name}' in '{distribution}' joins a class with something else: name it by itself."
            )
        pairs = np.ravel([ELEMENTS[part][:2] for part in name.split("+")])
        row[: len(pairs)] = pairs
    return elements, columns, places


def with_classes(elements: np.ndarray, paths: Sequence[str]) -> np.ndarray:
    """Return elements that read classes of words, given the path to that of each word."""
    return with_class_symbols(elements, 1, _CLASS_OF, [*paths, "", ""])


def reads(elements: np.ndarray, which: int, what: int = NONE) -> bool:
    """Return whether elements (int32[elements, 8 + *]) read a word, or `EVENT`; `what` restricts what of
    it.
    """
    pairs = elements[:, :_WIDTH].reshape(-1, 2)
    return bool(np.any((pairs[:, 0] == which) & ((what == NONE) | (pairs[:, 1] == what))))


class Event(NamedTuple):
    """The place where a child is generated, in the order of what is read."""

    # Rows of the table of symbols, the last one for what does not exist.
    parent: int
    sibling: int
    grandparent: int
    child: int
    child_left: int
    child_right: int
    # `LEFT` or `RIGHT`; for the latter 2 if there is none.
    direction: int
    grand_direction: int
    children: int  # Whether the child has children
    # Classes of distances; `DISTANCES` if there is no sibling.
    distance: int
    sibling_distance: int


@jit
def distance_class(distance):
    """The class of a distance in words, at least one: 1, 2, 3 to 6, 7 and more (Sangati et al. 2009)."""
    if distance < 3:
        return distance - 1
    return 2 if distance < 7 else 3


@jit
def read_context(elements, sizes, symbols, event, row):
    """Read a context row into `row` (int32[elements]), given the result of `symbols_of` for the sentence."""
    for i in range(len(elements)):
        if elements[i, 1] >= _CLASS_OF:
            row[i] = elements[i, _WIDTH + symbols[event[elements[i, 0]], WORD_OF]]
            continue
        symbol = 0
        for part in range(0, _WIDTH, 2):
            which, what = elements[i, part], elements[i, part + 1]
            if which == NONE:
                break
            if which == EVENT:
                symbol = symbol * _EVENT_SIZES[what] + event[EVENT + what]
            else:
                symbol = symbol * sizes[what] + symbols[event[which], what]
        row[i] = symbol


@jitable
def symbols_of(words, tags, sizes):
    """Return the symbols of a sentence (int32[n + 2, 3]); the last two rows are ROOT and what does not exist.

    words, tags (int32[n]): Cased words (the uncased word times `CASES`, and the case), and tags.
    sizes (int32[3]): The numbers of symbols.
    """
    n = len(words)
    symbols = np.empty((n + 2, 3), dtype=np.int32)
    for i in range(n):
        symbols[i, TAG_OF] = tags[i]
        symbols[i, WORD_OF] = words[i] // CASES
        symbols[i, CASE_OF] = words[i] % CASES
    for what in range(3):
        symbols[n, what] = sizes[what] - 2
        symbols[n + 1, what] = sizes[what] - 1
    return symbols


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


@struct
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
