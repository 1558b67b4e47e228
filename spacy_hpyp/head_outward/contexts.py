"""The conditional distributions of a head-outward model (Eisner 1996; Wallach et al. 2008).

ROOT generates one child. Every word then generates its left and its right children, the nearest
first, and STOP in place of a further child's tag. A child generates its tag, word and case; and,
with context lists for them, whether it has children, its distance from its parent (Sangati, Zuidema
& Bod 2009, equation 3), and the label of its arc. A distribution without a list generates nothing.

The probabilities of all sentences with all trees sum to at most 1: some is lost on STOP in place
of ROOT's child, and on values of `children` and `distance` that the tree does not have.

A context element is the path of a word and its attribute, such as `parent.tag`, or the name of a
property of the event.

* words: `parent`; `sibling`, the previous child of the parent on the same side; `grandparent`; and
  `child`, in the order of generation: tag, word, case;
* attributes: `tag`, `word` (uncased), `case` (lower, upper, first letter upper, mixed), `class` and
  `class:2` to `class:16` (the class path of the uncased word, or its first steps, see
  `text.word_classes`);
* `direction`, the side of the child; `grandparent.direction`, that of the parent;
  `sibling.distance`, from the sibling to the parent, binned (1, 2, 3 to 6, 7 and more);
* `child.children`, whether the child has children: for labels, and for distances if `children` are
  generated; `distance`, from the child to its parent in the same bins: for labels;
* for labels, which come last: the attributes of the outermost children of the child, `child.left`
  and `child.right`.

A missing word, such as the sibling of the first child, has the symbol NULL.

Up to four elements joined by `+` are one: back-off drops `parent.word+parent.case` together, as in
the paper's lists. Classes cannot be joined.

A *context row* holds the symbol of each element of a pool's experts and gates once; the context of
an expert is a list of columns of that row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, jitable, struct
from ..hpyp.pool import Conditional
from ..text.elements import (
    CLASS_ATTRIBUTES,
    compile_lists,
    contexts_without_classes,
    reads_classes,
    with_class_symbols,
)

#: The word of an element, or `EVENT`.
PARENT, SIBLING, GRANDPARENT, CHILD, CHILD_LEFT, CHILD_RIGHT, EVENT = range(7)
#: Attributes of a word.
TAG_OF, WORD_OF, CASE_OF = range(3)
#: Properties of an event.
DIRECTION_OF, GRAND_DIRECTION_OF, CHILDREN_OF, DISTANCE_OF, SIBLING_DISTANCE_OF = range(5)
# The first class attribute, after all of these.
_CLASS_OF = 5

#: The sides of a parent.
LEFT, RIGHT = range(2)
#: The distributions, in the order in which they generate a child.
DISTRIBUTIONS = ("tag", "word", "case", "children", "distance", "label")
TAG, WORD, CASE, CHILDREN, DISTANCE, LABEL = range(6)

#: The numbers of bins of distances, and of cases.
DISTANCES, CASES = 4, 4

# The largest number of joined elements, and the length of their row.
_PARTS = 4
_WIDTH = 2 * _PARTS
# The number of values of each property of an event.
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


#: The word, the attribute and the first distribution that may read it, for each element by name.
ELEMENTS = _elements()


class Alphabets(NamedTuple):
    """The sizes of the alphabets."""

    tags: int  # Tags, and one for unknown tags
    words: int  # Words and word classes
    labels: int

    def of(self, name: str) -> int:
        """Return the number of outcomes of a distribution; STOP is the last outcome of `tag`."""
        sizes = (self.tags + 1, self.words, CASES, 2, DISTANCES, self.labels)
        return max(1, sizes[DISTRIBUTIONS.index(name)])

    @property
    def symbols(self) -> np.ndarray:
        """The numbers of symbols of tags, words and cases (int32[3]), with ROOT and NULL."""
        return np.array([self.tags + 2, self.words + 2, CASES + 2], dtype=np.int32)


def compile_contexts(
    experts: Sequence[Sequence[str]], distribution: str, gates: Sequence[str] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compile context lists.

    experts (Sequence[Sequence[str]]): Each expert's element names, most important first.
    distribution (str): One of `DISTRIBUTIONS`, which decides what is generated before.
    gates (Sequence[str]): More elements of the context row.
    RETURNS (tuple): elements (int32[elements, 8]), up to four pairs of word and attribute, then
        `NONE`; columns (int32[experts, depth]), each expert's columns of the context row, then
        `NONE`; and the columns of the gates (int32[gates]).
    RAISES (ValueError): If a name is unknown, repeated, not generated yet, or joins a class.
    """

    def check(part: str) -> None:
        if ELEMENTS[part][2] > DISTRIBUTIONS.index(distribution):
            raise ValueError(
                f"'{part}' in '{distribution}' is not generated before {distribution}. Remove it."
            )

    names, columns, places = compile_lists(
        experts, ELEMENTS, distribution, more=gates, joined=_PARTS, check=check
    )
    elements = np.full((len(names), _WIDTH), NONE, dtype=np.int32)
    for row, name in zip(elements, names):
        if "+" in name and reads_classes(name.split("+")):
            raise ValueError(
                f"'{name}' in '{distribution}' joins a class with other elements. Separate them."
            )
        pairs = np.ravel([ELEMENTS[part][:2] for part in name.split("+")])
        row[: len(pairs)] = pairs
    return elements, columns, places


def with_classes(elements: np.ndarray, paths: Sequence[str]) -> np.ndarray:
    """Return elements with the symbols of word classes, given the class path of each word."""
    return with_class_symbols(elements, 1, _CLASS_OF, [*paths, "", ""])


def reads(elements: np.ndarray, word: int, attribute: int = NONE) -> bool:
    """Return whether elements (int32[elements, 8 + *]) read a word or `EVENT`, or its attribute."""
    words, attributes = elements[:, :_WIDTH].reshape(-1, 2).T
    return bool(np.any((words == word) & ((attribute == NONE) | (attributes == attribute))))


class Event(NamedTuple):
    """The place where a child is generated; fields in the order of words and properties above."""

    # Rows of the table of symbols, the last one for a missing word.
    parent: int
    sibling: int
    grandparent: int
    child: int
    child_left: int
    child_right: int
    direction: int  # `LEFT` or `RIGHT`
    grand_direction: int  # `LEFT`, `RIGHT`, or 2 without a grandparent
    children: int  # Whether the child has children
    # Binned; 0 for ROOT's child and STOP.
    distance: int
    sibling_distance: int  # `DISTANCES` without a sibling


@jitable
def distance_class(distance):
    """Return the bin of a distance in words: 1, 2, 3 to 6, 7 and more (Sangati et al. 2009)."""
    if distance < 3:
        return distance - 1
    return 2 if distance < 7 else 3


@jitable
def read_context(elements, sizes, symbols, event, row):
    """Read a context row into `row` (int32[elements]), given the `symbols` from `symbols_of`."""
    for i in range(len(elements)):
        if elements[i, 1] >= _CLASS_OF:
            row[i] = elements[i, _WIDTH + symbols[event[elements[i, 0]], WORD_OF]]
            continue
        symbol = 0
        for part in range(0, _WIDTH, 2):
            word, attribute = elements[i, part], elements[i, part + 1]
            if word == NONE:
                break
            if word == EVENT:
                symbol = symbol * _EVENT_SIZES[attribute] + event[EVENT + attribute]
            else:
                symbol = symbol * sizes[attribute] + symbols[event[word], attribute]
        row[i] = symbol


@jitable
def symbols_of(words, tags, sizes):
    """Return the symbols of a sentence (int32[n + 2, 3]); the last two rows are ROOT and NULL.

    words, tags (int32[n]): Cased words (the uncased word times `CASES`, plus the case), and tags.
    sizes (int32[3]): The numbers of symbols.
    """
    n = len(words)
    symbols = np.empty((n + 2, 3), dtype=np.int32)
    for i in range(n):
        symbols[i, TAG_OF] = tags[i]
        symbols[i, WORD_OF] = words[i] // CASES
        symbols[i, CASE_OF] = words[i] % CASES
    symbols[n] = sizes - 2
    symbols[n + 1] = sizes - 1
    return symbols


#: The gates of each pool, elements that modify the weights of its experts.
GATES = {
    **dict.fromkeys(DISTRIBUTIONS, ("child.tag", "parent.tag")),
    "tag": ("parent.tag", "sibling.tag"),
    "case": ("child.tag",),
}


@dataclass(frozen=True)
class HeadOutwardContexts:
    """The context lists of the experts of each distribution."""

    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]
    case: Sequence[Sequence[str]]
    children: Sequence[Sequence[str]] = ()
    distance: Sequence[Sequence[str]] = ()
    label: Sequence[Sequence[str]] = ()


@struct
class HeadOutwardDistributions(NamedTuple):
    """The distributions, frozen or in training (`Pool`)."""

    tag: Any
    word: Any
    case: Any
    children: Any
    distance: Any
    label: Any
    sizes: np.ndarray  # int32[3]: the numbers of symbols of tags, words and cases
    generated: np.ndarray  # bool[6]: whether each distribution has experts
    reads_sibling: np.ndarray  # bool[6]: whether each distribution reads the sibling


def conditionals(
    contexts: HeadOutwardContexts, *, is_classed: bool = True
) -> dict[str, Conditional]:
    """Return the distributions by name; without `is_classed`, leave out word classes.

    RAISES (ValueError): If a context list is invalid, or `tag` has none.
    """
    if not contexts.tag:
        raise ValueError("'tag' needs at least one context list. It may be empty: [[]].")
    compiled = {}
    for name in DISTRIBUTIONS:
        lists = getattr(contexts, name)
        experts = tuple(map(tuple, lists if is_classed else contexts_without_classes(lists)))
        rows = compile_contexts(experts, name, GATES[name] if len(experts) > 1 else ())
        # Upper bounds: a word has a tag and two STOPs.
        events = 4 if name == "tag" else 1
        compiled[name] = Conditional(experts, *rows, mixed=name == "word", events_of_word=events)
    if (
        reads(compiled["distance"].elements, EVENT, CHILDREN_OF)
        and not compiled["children"].experts
    ):
        raise ValueError(
            "'child.children' in 'distance' is not generated. Remove it, or give 'children' a "
            "context list, such as [[]]."
        )
    return compiled


def unchartable(conditionals: dict[str, Conditional]) -> str | None:
    """Return why the chart cannot be used, or None. Only labels may read the whole tree."""
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
    """Return the distributions of a model, given its pools by name."""
    elements = [conditionals[name].elements for name in DISTRIBUTIONS]
    return HeadOutwardDistributions(
        *(pools[name] for name in DISTRIBUTIONS),
        sizes=alphabets.symbols,
        generated=np.array([len(conditionals[name].experts) > 0 for name in DISTRIBUTIONS]),
        reads_sibling=np.array(
            [reads(rows, SIBLING) or reads(rows, EVENT, SIBLING_DISTANCE_OF) for rows in elements]
        ),
    )
