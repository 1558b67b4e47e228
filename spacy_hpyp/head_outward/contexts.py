"""Context elements: what a distribution may be conditioned on, by name.

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

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, inner_maker
from ..text.elements import CLASS_ATTRIBUTES, compile_lists, reads_classes, with_class_symbols

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
    RETURNS (tuple): elements (int32[elements, 8]), up to four pairs of rows of `ELEMENTS`, then `NONE`; columns
        (int32[experts, depth]), each expert's positions in the context row, then `NONE`; and the positions of
        the gates (int32[gates]).
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
    """Return whether elements (int32[elements, 8 + *]) read a word, or `EVENT`; `what` restricts what of it."""
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


@borrowing
def distance_class(distance):
    """The class of a distance in words, at least one: 1, 2, 3 to 6, 7 and more (Sangati et al. 2009)."""
    if distance < 3:
        return distance - 1
    return 2 if distance < 7 else 3


@borrowing
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


@inner_maker
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
