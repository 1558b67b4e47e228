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
from ..hpyp.gibbs import enter_event, new_events, read_events
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
# In the order of their numbers.
_WORDS = ("parent", "sibling", "grandparent", "child", "child.left", "child.right")
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
    for which, word in enumerate(_WORDS):
        for name, column in _READ.items():
            known[f"{word}.{name}"] = (which, column, first.get(which, (TAG,) * 3)[column])
        for name, column in _CLASSES.items():
            known[f"{word}.{name}"] = (which, column, known[f"{word}.word"][2])
    return known


#: The word, the attribute and the first distribution that may read it, for each element by name.
ELEMENTS = _elements()


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
    conditionals: dict[str, Conditional], pools: Mapping[str, Any], symbols: np.ndarray
) -> HeadOutwardDistributions:
    """Return the distributions of a model, given its pools by name, and `sizes`."""
    elements = [conditionals[name].elements for name in DISTRIBUTIONS]
    return HeadOutwardDistributions(
        *(pools[name] for name in DISTRIBUTIONS),
        sizes=symbols,
        generated=np.array([len(conditionals[name].experts) > 0 for name in DISTRIBUTIONS]),
        reads_sibling=np.array(
            [reads(rows, SIBLING) or reads(rows, EVENT, SIBLING_DISTANCE_OF) for rows in elements]
        ),
    )


# The events of a tree: the outcomes and contexts of each distribution.


class GeneratedInTrees(NamedTuple):
    """The sentences of a batch, for the events of one distribution."""

    distribution: int  # `TAG`, `WORD`, `CASE`, `CHILDREN`, `DISTANCE` or `LABEL`
    words: np.ndarray  # int32[tokens]: cased words
    tags: np.ndarray  # int32[tokens]
    heads: np.ndarray  # int32[tokens]: positions in the sentence, `NONE` for the root's child
    labels: np.ndarray  # int32[tokens]
    offsets: np.ndarray  # int64[sentences + 1]
    sizes: np.ndarray  # int32[3]: the numbers of symbols of tags, words and cases


@read_events.register(GeneratedInTrees)
@jitable
def _read_events(generated, number, pool):
    start, end = generated.offsets[number], generated.offsets[number + 1]
    words, tags = generated.words[start:end], generated.tags[start:end]
    heads, labels = generated.heads[start:end], generated.labels[start:end]
    return events_of(pool, generated.distribution, words, tags, heads, labels, generated.sizes)


class Family(NamedTuple):
    """The relatives of each word in a tree of n words; ROOT is n, and a missing word n + 1."""

    parent: np.ndarray  # int32[n]
    sibling: np.ndarray  # int32[n]: the previous child of the parent on the same side
    last: np.ndarray  # int32[2, n]: the outermost child on each side


@jitable
def family_of(heads):
    """Return the relatives in a tree, given heads (int32[n]), `NONE` for the root."""
    n = len(heads)
    family = Family(
        np.empty(n, dtype=np.int32),
        np.full(n, n + 1, dtype=np.int32),
        np.full((2, n), n + 1, dtype=np.int32),
    )
    for i in range(n):
        family.parent[i] = n if heads[i] == NONE else heads[i]
    for i in range(n):
        head = heads[i]
        if head != NONE and head < i:
            family.sibling[i] = family.last[RIGHT, head]
            family.last[RIGHT, head] = i
    for i in range(n - 1, -1, -1):
        head = heads[i]
        if head > i:
            family.sibling[i] = family.last[LEFT, head]
            family.last[LEFT, head] = i
    return family


@jitable
def _place(parent, sibling, grandparent, child, left, right, direction, n):
    """Return the event of a child whose outermost children are `left` and `right`."""
    if grandparent > n:
        grand_direction = 2
    else:
        grand_direction = LEFT if parent < grandparent < n else RIGHT
    return Event(
        np.int64(parent),
        np.int64(sibling),
        np.int64(grandparent),
        np.int64(child),
        np.int64(left),
        np.int64(right),
        np.int64(direction),
        np.int64(grand_direction),
        np.int64(left <= n or right <= n),
        np.int64(distance_class(abs(child - parent)) if parent < n and child < n else 0),
        np.int64(DISTANCES if sibling > n else distance_class(abs(sibling - parent))),
    )


@jitable
def place_child(parent, sibling, child, n):
    """Return the event of a child without its grandparent and its children."""
    direction = LEFT if child < parent < n else RIGHT
    return _place(parent, sibling, n + 1, child, n + 1, n + 1, direction, n)


@jitable
def place_stop(parent, last, grandparent, direction, n):
    """Return the event of STOP on a side of a word, after its last child there."""
    return _place(parent, last, grandparent, n + 1, n + 1, n + 1, direction, n)


@jitable
def place_in_tree(family, child, n):
    """Return the event of a child in a complete tree."""
    parent = family.parent[child]
    grandparent = family.parent[parent] if parent < n else n + 1
    left, right = family.last[LEFT, child], family.last[RIGHT, child]
    direction = LEFT if child < parent < n else RIGHT
    return _place(parent, family.sibling[child], grandparent, child, left, right, direction, n)


@jitable
def events_of(pool, distribution, words, tags, heads, labels, sizes):
    """Return the events of one distribution; the root's child has no distance and no label."""
    n = len(words)
    events = new_events(pool, 3 * n if distribution == TAG else n)
    if pool.experts.columns.shape[0] == 0:
        return events
    symbols, family = symbols_of(words, tags, sizes), family_of(heads)
    stop = pool.experts.alphabet[0] - 1
    for child in range(n):
        if heads[child] == NONE and (distribution == DISTANCE or distribution == LABEL):
            continue
        event = place_in_tree(family, child, n)
        read_context(pool.elements, sizes, symbols, event, pool.scratch.context)
        word, case = words[child] // CASES, words[child] % CASES
        tag, label = np.int64(tags[child]), np.int64(labels[child])
        outcomes = tag, word, case, event.children, event.distance, label
        enter_event(pool, events, 0, outcomes[distribution])
    if distribution == TAG:
        for parent in range(n):
            for direction in range(2):
                last = family.last[direction, parent]
                event = place_stop(parent, last, family.parent[parent], direction, n)
                read_context(pool.elements, sizes, symbols, event, pool.scratch.context)
                enter_event(pool, events, 0, stop)
    return events
