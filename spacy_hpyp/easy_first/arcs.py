"""Feature elements and scores of an arc between two neighbouring partial trees.

An action joins the partial trees `l` and `r`. `l1` and `l2` are the trees to their left, the nearer
first, `r1` and `r2` those to their right (Ma et al. 2013, Table 1: p of i - 2 to i + 2). The name
of an element is a path:

| element | value |
| --- | --- |
| `l.word`, `r1.tag` | a symbol of a partial tree's head |
| `l.left.tag`, `r.right2.word` | of the head's outermost child on a side (`left`, `right`), or the next one (`left2`, `right2`) |
| `l.after.tag`, `r.before.word` | of the word after or before the head in the sentence |
| `l.left.count`, `r.right.tags` | the number of children on a side (valency), and the set of their tags |
| `l.size` | the number of words in the partial tree, binned |
| `distance` | the distance between the heads, binned |
| `between` | the set of the tags of all words between the heads |
| `edge` | whether `l` is the first and `r` the last tree |
| `l.guide.head`, `.label`, `.tag` | the guide's head of the head (side and certainty), its label and its tag |
| `l.missing.left` | the expected number of children on a side, by the guide, less those attached, binned |
| `guide.l`, `guide.r` | the guide's probability that `l` is a child of `r`, or `r` of `l`, binned |
| `guide.l.other` | the highest probability of another head for the same child |
| `guide.l.label` | the guide's label of this arc |

The symbols of a word are its `word` (or class of unknown words), its `tag`, `lower`, `suffix` (the
last three characters) and `usual` (the word's most frequent tag). With word classes
(`text.word_classes`), `class` is the path of the word's class and `class:2` to `class:16` are its
first steps.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, fetch, jit, jitable, struct
from ..text.elements import CLASS_ATTRIBUTES
from .partial_trees import (
    END,
    FIRST,
    HEAD,
    LEFT,
    LEFT2,
    LEFT_COUNT,
    LEFT_SHARE,
    LEFT_TAGS,
    RIGHT,
    RIGHT2,
    RIGHT_COUNT,
    RIGHT_TAGS,
    WHOLE,
    bit_of,
)
from .perceptron import Rounded
from .templates import Templates, find_features, part_of

#: The symbols of a word, in the order of their columns; a guide adds the second group.
SYMBOLS = ("word", "tag", "lower", "suffix", "usual")
GUIDE_SYMBOLS = ("guide.head", "guide.label", "guide.tag")
#: Word classes come after the columns of a guide, which are then present without a guide, too.
CLASS_SYMBOLS = tuple(CLASS_ATTRIBUTES)
TAG = SYMBOLS.index("tag")
#: The symbol of a missing word.
NULL = 0

#: Size of the window of partial trees that features read, and the places of `l` and `r` in it.
WINDOW, L, R = 6, 2, 3
#: Length of the key of `l` and `r`, see `write_key`.
PAIR_KEY = 4
_PLACES = ("l2", "l1", "l", "r", "r1", "r2")
#: Kinds of elements: a symbol of a word in a tree, or near its head; a field of a record; a
#: property of the pair `l` and `r`.
SYMBOL, NEAR, FIELD, PAIR, _MISSING, _SIZE = range(6)
_STEPS = {"": HEAD, "left": LEFT, "right": RIGHT, "left2": LEFT2, "right2": RIGHT2}
_NEIGHBOURS = {"before2": -2, "before": -1, "after": 1, "after2": 2}
_FIELDS = {
    "left.count": LEFT_COUNT,
    "right.count": RIGHT_COUNT,
    "left.tags": LEFT_TAGS,
    "right.tags": RIGHT_TAGS,
}
#: Properties of a pair; the last three are those of a child and its head in `labels`.
DISTANCE, BETWEEN, EDGE, SHARE, OTHER, LABEL, DIRECTION, REACH, SIDE = range(9)
# Each with the place of the child.
_PAIRS = {
    "distance": (DISTANCE, L),
    "between": (BETWEEN, L),
    "edge": (EDGE, L),
    "guide.l": (SHARE, L),
    "guide.r": (SHARE, R),
    "guide.l.other": (OTHER, L),
    "guide.r.other": (OTHER, R),
    "guide.l.label": (LABEL, L),
    "guide.r.label": (LABEL, R),
}

#: The row of an element: its kind, the place in the window, the column or the distance from the
#: head, and the symbol. For a pair: its kind, the property, and the place of the child.
Element = tuple[int, int, int, int]


def word_elements(
    tree: str, place: int, near: Mapping[str, int] = _NEIGHBOURS, *, alone: bool = False
) -> dict[str, Element]:
    """Return the elements of a tree's head by name; `alone`, its own symbols only."""
    known = {}
    for number, symbol in enumerate((*SYMBOLS, *GUIDE_SYMBOLS, *CLASS_SYMBOLS)):
        for step, column in _STEPS.items():
            known[".".join(part for part in (tree, step, symbol) if part)] = (
                SYMBOL,
                place,
                column,
                number,
            )
        for name, offset in near.items():
            known[f"{tree}.{name}.{symbol}"] = (NEAR, place, offset, number)
    known |= {f"{tree}.{name}": (FIELD, place, column, 0) for name, column in _FIELDS.items()}
    return {
        name: row for name, row in known.items() if not alone or row[:3] == (SYMBOL, place, HEAD)
    }


def _elements() -> dict[str, Element]:
    known = {name: (PAIR, code, child, 0) for name, (code, child) in _PAIRS.items()}
    for place, tree in enumerate(_PLACES):
        known |= word_elements(tree, place)
        known[f"{tree}.size"] = (_SIZE, place, 0, 0)
        known |= {
            f"{tree}.missing.{name}": (_MISSING, place, side, 0)
            for side, name in enumerate(("left", "right"))
        }
    return known


#: The row of each element by name.
ELEMENTS = _elements()

# Upper bounds of the bins of probabilities.
_CLASSES = np.array(
    [0.01, 0.03, 0.08, 0.16, 0.3, 0.45, 0.55, 0.7, 0.84, 0.92, 0.97, 0.99], dtype=np.float32
)
# Of the bins of missing children.
_EXPECTATIONS = np.array([0.1, 0.35, 0.65, 0.9, 1.4], dtype=np.float32)


def reads_guides(names: set[str]) -> bool:
    """Return whether any of the elements needs a guide."""
    return any(part in ("guide", "missing") for name in names for part in name.split("."))


def without_guides(templates: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the templates that need no guide."""
    return [template for template in templates if not reads_guides(set(template))]


class SentenceToParse(NamedTuple):
    """A sentence of n words."""

    symbols: np.ndarray  # int32[n, columns]: see `SYMBOLS`
    # The guide's heads of each word, see `annotation.arrays.Guides`; without a guide, k is 0.
    heads: np.ndarray  # int32[n, k]
    probability: np.ndarray  # float32[n, k]
    labels: np.ndarray  # int32[n, k]
    expected: np.ndarray  # float32[n, 2]: the expected number of children on each side


@jitable
def sentence_of(sentences, symbols, start, end):
    """Return the sentence of the words `start` to `end` - 1, with the given symbols (int32[n,
    columns]).
    """
    return SentenceToParse(
        symbols,
        sentences.heads[start:end],
        sentences.probability[start:end],
        sentences.labels[start:end],
        sentences.expected[start:end],
    )


class Reading(NamedTuple):
    """Some templates of a scorer, and the rows of their elements (int32[elements, 4])."""

    elements: np.ndarray
    templates: Templates


@struct
class Scorer(NamedTuple):
    """Templates and weights that score actions, or the labels of arcs."""

    elements: np.ndarray  # int32[elements, 4]: the rows of the elements in the templates
    templates: Templates
    # Weights in training, averages in prediction; those of arcs are then multiples of a step.
    weights: np.ndarray  # float32[places, outcomes] | int16[places, outcomes]
    step: float  # 1 if weights are not rounded
    kept: np.ndarray  # bool[templates]: the templates left by dropout; empty for rounded weights
    # The templates of `l` and `r` alone, and the others. Caching the sums of the former makes
    # parsing with a beam of 8 a fifth faster.
    pair: Reading
    beyond: Reading
    # The other templates read these, too: places in the window, and columns of the records there.
    around: np.ndarray  # int32[*, 2]


def new_scorer(elements: np.ndarray, templates: Templates, weights: np.ndarray | Rounded) -> Scorer:
    """Return a scorer without dropout."""
    is_rounded = isinstance(weights, Rounded)
    table, step = weights if is_rounded else (weights, 1.0)
    kept = np.ones(0 if is_rounded else len(templates.offsets) - 1, dtype=np.bool_)
    return Scorer(elements, templates, table, step, kept, *_split(elements, templates))


def _split(elements: np.ndarray, templates: Templates) -> tuple[Reading, Reading, np.ndarray]:
    """Return `pair`, `beyond` and `around` of a `Scorer`."""
    is_pair, first = elements[:, 0] == PAIR, elements[:, 1]
    beyond = np.where(is_pair, first == EDGE, (first != L) & (first != R))
    is_beyond = np.logical_or.reduceat(beyond[templates.columns], templates.offsets[:-1])
    around = {(L - 1, HEAD), (R + 1, HEAD)}
    for kind, place, column, _ in elements[beyond & ~is_pair].tolist():
        around |= {(place, read) for read in (HEAD, *_columns_read(kind, column))}
    parts = [
        part_of(templates, np.flatnonzero(chosen).tolist()) for chosen in (~is_beyond, is_beyond)
    ]
    pair, beyond = (Reading(elements[columns], part) for columns, part in parts)
    return pair, beyond, np.array(sorted(around), dtype=np.int32)


def _columns_read(kind: int, column: int) -> tuple[int, ...]:
    """Return the columns of a record that an element reads besides the head."""
    return {NEAR: (), _SIZE: (FIRST, END), _MISSING: (LEFT_SHARE + column,)}.get(kind, (column,))


@jit
def write_key(around, forest, window, key):
    """Write a key (int32[* + `PAIR_KEY`]) that determines the features of a window; `l` and `r`
    come last.
    """
    n = len(around)
    for i in range(n):
        key[i] = forest.records[window[around[i, 0]], around[i, 1]]
    for i in range(2):
        look = forest.looks[window[L + i]]
        key[n + 2 * i], key[n + 2 * i + 1] = np.int32(look), np.int32(look >> np.uint64(32))


@jit
def class_of_distance(distance):
    """Return the bin of a number of words."""
    if distance <= 4:
        return distance
    if distance <= 7:
        return 5
    return 6 if distance <= 12 else 7


@jit
def class_of_probability(probability):
    """Return the bin of a probability; 0 for 0."""
    if probability <= 0.0:
        return 0
    place = 0
    while place < len(_CLASSES) and probability >= _CLASSES[place]:
        place += 1
    return place + 1


@jit
def share_of(sentence, child, head):
    """Return the guide's probability of an arc."""
    for i in range(sentence.heads.shape[1]):
        if sentence.heads[child, i] == head:
            return sentence.probability[child, i]
    return np.float32(0.0)


@jit
def share_of_others(sentence, child, head):
    """Return the highest probability of another head, ROOT included."""
    highest = np.float32(0.0)
    for i in range(sentence.heads.shape[1]):
        if sentence.heads[child, i] != head:
            highest = max(highest, sentence.probability[child, i])
    return highest


@jit
def label_of(sentence, child, head):
    """Return the guide's label of an arc, as a symbol."""
    for i in range(sentence.heads.shape[1]):
        if sentence.heads[child, i] == head and sentence.probability[child, i] > 0.0:
            return sentence.labels[child, i] + 2
    return NULL


@jit
def _read_pair(code, place, records, sentence, window):
    """Return a property of two neighbours; `place` is that of the child."""
    left, right = records[window[L], HEAD], records[window[R], HEAD]
    child, head = (left, right) if place == L else (right, left)
    if code == DISTANCE:
        return class_of_distance(right - left)
    if code == BETWEEN:
        bits = np.int32(0)
        for position in range(left + 1, right):
            bits |= bit_of(sentence.symbols[position, TAG])
        return bits
    if code == EDGE:
        return (1 if window[L - 1] == 0 else 0) + (2 if window[R + 1] == 0 else 0)
    if code == SHARE:
        return class_of_probability(share_of(sentence, child, head))
    if code == OTHER:
        return class_of_probability(share_of_others(sentence, child, head))
    if code == LABEL:
        return label_of(sentence, child, head)
    if code == DIRECTION:
        return 1 if left < right else 2
    if code == REACH:
        return (
            class_of_distance(right - left)
            if left < right
            else 10 + class_of_distance(left - right)
        )
    # In `labels` the neighbours are the siblings before and after the child.
    first = window[L - 1] == 0 or records[window[L - 1], HEAD] < right < left
    return (1 if first else 0) + (2 if window[R + 1] == 0 else 0) + (4 if left < right else 0)


@jit
def _missing(records, sentence, record, side):
    """Return the bin of the number of children that a partial tree lacks on a side."""
    if record == 0:
        return NONE
    shares = records[record, LEFT_SHARE + side]
    lacking = sentence.expected[records[record, HEAD], side] - shares / WHOLE
    place = 0
    while place < len(_EXPECTATIONS) and lacking >= _EXPECTATIONS[place]:
        place += 1
    return place


@jit
def read_elements(elements, records, sentence, window, row):
    """Write the values of the elements of a window of records (int32[6]) into `row`
    (int32[elements]).
    """
    n = len(sentence.symbols)
    for i in range(len(elements)):
        kind, first, second, column = elements[i, 0], elements[i, 1], elements[i, 2], elements[i, 3]
        if kind == SYMBOL:
            position = records[window[first], second]
            row[i] = sentence.symbols[position, column] if position >= 0 else NULL
        elif kind == PAIR:
            row[i] = _read_pair(first, second, records, sentence, window)
        elif kind == FIELD:
            row[i] = records[window[first], second]
        elif kind == NEAR:
            position = records[window[first], HEAD]
            near = position + second
            row[i] = sentence.symbols[near, column] if position >= 0 and 0 <= near < n else NULL
        elif kind == _MISSING:
            row[i] = _missing(records, sentence, window[first], second)
        else:
            record = window[first]
            row[i] = (
                class_of_distance(records[record, END] - records[record, FIRST])
                if record > 0
                else NULL
            )


@jit
def find_arc_features(scorer, records, sentence, window, row, places):
    """Write the places of the features of two neighbours into `places` (int64[templates])."""
    read_elements(scorer.elements, records, sentence, window, row)
    find_features(scorer.templates, row, len(scorer.weights), places)


@jit
def find_weights(reading, weights, records, sentence, window, row, places):
    """Find the places of the features of two neighbours, and prefetch their weights."""
    read_elements(reading.elements, records, sentence, window, row)
    find_features(reading.templates, row, len(weights), places)
    for i in range(len(reading.templates.numbers)):
        fetch(weights, places[i] * weights.shape[1])


@jit
def add_up(scorer, reading, places, sums):
    """Add the weights of the places from `find_weights`, for both actions, to `sums`
    (float32[2]).
    """
    numbers, weights, kept = reading.templates.numbers, scorer.weights, scorer.kept
    # A zero of the type of the weights: sums of whole numbers are faster.
    left = right = weights[0, 0] - weights[0, 0]
    for i in range(len(numbers)):
        if len(kept) == 0 or kept[numbers[i]]:
            left += weights[places[i], 0]
            right += weights[places[i], 1]
    sums[0] += left
    sums[1] += right
