"""Feature elements and scores of an arc between two neighbouring partial trees.

An action joins the partial trees `l` and `r`. `l1` and `l2` are the trees to their left, the nearer
first, `r1` and `r2` those to their right (Ma et al. 2013, Table 1: p of i - 2 to i + 2). The name
of an element is a path:

| element | value |
| --- | --- |
| `l.word`, `r1.tag` | a symbol of a partial tree's head |
| `l.left.tag`, `r.right2.word` | of the head's outermost child on a side, or (`right2`) the next |
| `l.after.tag`, `r.before2.word` | of the word after or before the head, or (`before2`) the next |
| `l.left.count`, `r.right.tags` | the number (valency) and set of tags of the children on a side |
| `l.size` | the number of words in the partial tree, binned |
| `distance` | the distance between the heads, binned |
| `between` | the set of the tags of all words between the heads |
| `edge` | whether `l` is the first and `r` the last tree |
| `l.guide.head`, `.label`, `.tag` | the guide's head (side, certainty), label and tag of the head |
| `l.missing.left` | the guide's expected number of unattached children on a side, binned |
| `guide.l`, `guide.r` | the guide's probability that `l` is a child of `r`, or `r` of `l`, binned |
| `guide.l.other` | the highest probability of another head for the same child, binned |
| `guide.l.label` | the guide's label of this arc |

The symbols of a word are its `word` (or class of unknown words), its `tag`, `lower` (its lower-case
form), `suffix` (the last three characters of `lower`) and `usual` (the word's most frequent tag).
With word classes (`text.word_classes`), `class` is the path of the word's class and `class:2` to
`class:16` are its first steps.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, fetch, jitable, struct
from ..text.elements import CLASS_ATTRIBUTES
from . import perceptron
from .partial_trees import CHILDREN, END, FIELDS, FIRST, HEAD, LEFT_SHARE, WHOLE, bit_of
from .perceptron import Rounded, Sparse, Templates, find_features

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
#: property of the pair `l` and `r`; the missing children and the size of a tree.
SYMBOL, NEAR, FIELD, PAIR, _MISSING, _SIZE = range(6)
_NEIGHBOURS = {"before2": -2, "before": -1, "after": 1, "after2": 2}
#: Properties of a pair; the last three are those of a child and its head in `labels`.
DISTANCE, BETWEEN, EDGE, SHARE, OTHER, LABEL, DIRECTION, REACH, SIDE = range(9)

#: The row of an element: its kind, the place in the window, the column, side or distance from the
#: head, and the symbol. For a pair: its kind, the property, and the place of the child.
Element = tuple[int, int, int, int]


def word_elements(
    tree: str,
    place: int,
    children: Mapping[str, int] = CHILDREN,
    near: Mapping[str, int] = _NEIGHBOURS,
    fields: Mapping[str, int] = FIELDS,
) -> dict[str, Element]:
    """Return the elements of a tree's head by name."""
    known = {f"{tree}.{name}": (FIELD, place, column, 0) for name, column in fields.items()}
    for number, symbol in enumerate((*SYMBOLS, *GUIDE_SYMBOLS, *CLASS_SYMBOLS)):
        known[f"{tree}.{symbol}"] = (SYMBOL, place, HEAD, number)
        for name, column in children.items():
            known[f"{tree}.{name}.{symbol}"] = (SYMBOL, place, column, number)
        for name, offset in near.items():
            known[f"{tree}.{name}.{symbol}"] = (NEAR, place, offset, number)
    return known


def _elements() -> dict[str, Element]:
    pairs = {"distance": (DISTANCE, L), "between": (BETWEEN, L), "edge": (EDGE, L)}
    for child, place in (("l", L), ("r", R)):
        pairs[f"guide.{child}"] = (SHARE, place)
        pairs[f"guide.{child}.other"] = (OTHER, place)
        pairs[f"guide.{child}.label"] = (LABEL, place)
    known = {name: (PAIR, code, child, 0) for name, (code, child) in pairs.items()}
    for place, tree in enumerate(_PLACES):
        known |= word_elements(tree, place)
        known[f"{tree}.size"] = (_SIZE, place, 0, 0)
        known[f"{tree}.missing.left"] = (_MISSING, place, 0, 0)
        known[f"{tree}.missing.right"] = (_MISSING, place, 1, 0)
    return known


#: The row of each element by name.
ELEMENTS = _elements()

# Lower bounds of the bins of distances, of probabilities and of missing children.
_DISTANCES = np.array([1, 2, 3, 4, 5, 8, 13])
_PROBABILITIES = np.array(
    [0.01, 0.03, 0.08, 0.16, 0.3, 0.45, 0.55, 0.7, 0.84, 0.92, 0.97, 0.99], dtype=np.float32
)
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
    heads: np.ndarray  # int32[n, k]: -2 where the probability is 0
    probability: np.ndarray  # float32[n, k]
    labels: np.ndarray  # int32[n, k]
    expected: np.ndarray  # float32[n, 2]: the expected number of children on each side


@jitable
def sentence_of(sentences, i):
    """Return one of the sentences."""
    start, end = sentences.offsets[i], sentences.offsets[i + 1]
    return SentenceToParse(
        sentences.symbols[start:end],
        sentences.heads[start:end],
        sentences.probability[start:end],
        sentences.labels[start:end],
        sentences.expected[start:end],
    )


class Reading(NamedTuple):
    """Templates, and the rows of their elements (int32[elements, 4])."""

    elements: np.ndarray
    templates: Templates


@struct
class Scorer(NamedTuple):
    """Templates and weights that score actions, or the labels of arcs."""

    whole: Reading  # All templates
    # The templates of `l` and `r` alone, and the others. Caching the sums of the former makes
    # parsing with a beam of 8 a fifth faster.
    pair: Reading
    beyond: Reading
    # Places in the window, and columns of the records there, that the other templates also read.
    around: np.ndarray  # int32[*, 2]
    # Weights in training, averages in prediction. Averages of arcs are multiples of a step. Weights
    # without zeros have a row each.
    weights: np.ndarray  # float32[places, outcomes] | int16[places, outcomes] | float32[entries, 1]
    step: float  # 1 if weights are not rounded
    size: int  # the number of outcomes
    offsets: np.ndarray  # int32[places + 1], empty with zeros: the first entry of each place
    outcomes: np.ndarray  # int32[entries]
    kept: np.ndarray  # bool[templates]: the templates left by dropout; empty for rounded weights


def new_scorer(
    templates: Sequence[Sequence[str]], known: Mapping[str, Element], task: str
) -> Scorer:
    """Compile templates of the known elements (see `check_templates`), without weights."""
    perceptron.check_templates(templates, known, task)

    def reading(numbers: Sequence[int]) -> Reading:
        names, compiled = perceptron.compile_templates(templates, numbers)
        rows = [known[name] for name in names]
        return Reading(np.array(rows, dtype=np.int32).reshape(-1, 4), compiled)

    def is_beyond(name: str) -> bool:
        kind, first, *_ = known[name]
        return first == EDGE if kind == PAIR else first not in (L, R)

    beyond = [number for number, names in enumerate(templates) if any(map(is_beyond, names))]
    pair = [number for number in range(len(templates)) if number not in beyond]
    around = {(L - 1, HEAD), (R + 1, HEAD)}
    for kind, place, column, _ in (known[name] for names in templates for name in names):
        if kind != PAIR and place not in (L, R):
            # The columns that an element reads in addition to the head.
            read = {NEAR: (), _SIZE: (FIRST, END), _MISSING: (LEFT_SHARE + column,)}
            around |= {(place, each) for each in (HEAD, *read.get(kind, (column,)))}
    readings = map(reading, (range(len(templates)), pair, beyond))
    rows = np.array(sorted(around), dtype=np.int32)
    weights, none = np.zeros((1, 1), dtype=np.float32), np.zeros(0, dtype=np.int32)
    return Scorer(*readings, rows, weights, 1.0, 1, none, none, np.zeros(0, dtype=np.bool_))


def with_weights(scorer: Scorer, weights: np.ndarray | Rounded | Sparse) -> Scorer:
    """Return a scorer with weights (float32[places, outcomes]) or averages, and without dropout."""
    if isinstance(weights, np.ndarray):
        fields = {"weights": weights, "size": weights.shape[1]}
    else:
        fields = weights._asdict()
    kept = 0 if isinstance(weights, Rounded) else len(scorer.whole.templates.numbers)
    return scorer._replace(**fields, kept=np.ones(kept, dtype=np.bool_))


@jitable
def write_key(around, forest, window, key):
    """Write a key (int32[*]) that determines the features of a window; `l` and `r` come last."""
    n = len(around)
    for i in range(n):
        key[i] = forest.records[window[around[i, 0]], around[i, 1]]
    for i in range(2):
        look = forest.looks[window[L + i]]
        key[n + 2 * i], key[n + 2 * i + 1] = np.int32(look), np.int32(look >> np.uint64(32))


@jitable
def _bin(bounds, value):
    place = 0
    while place < len(bounds) and value >= bounds[place]:
        place += 1
    return place


@jitable
def class_of_distance(distance):
    """Return the bin of a number of words."""
    return _bin(_DISTANCES, distance)


@jitable
def class_of_probability(probability):
    """Return the bin of a probability; 0 for 0."""
    return 1 + _bin(_PROBABILITIES, probability) if probability > 0.0 else 0


@jitable
def guide_of(sentence, child, head):
    """Return the guide's probability of an arc, the highest one of another head (ROOT included),
    and the guide's label of the arc, as a symbol.
    """
    share, other, label = np.float32(0.0), np.float32(0.0), NULL
    for i in range(sentence.heads.shape[1]):
        probability = sentence.probability[child, i]
        if sentence.heads[child, i] != head:
            other = max(other, probability)
        elif probability > share:
            share, label = probability, sentence.labels[child, i] + 2
    return share, other, label


@jitable
def _read_pair(code, place, records, sentence, window):
    """Return a property of two neighbours; `place` is that of the child."""
    left, right = records[window[L], HEAD], records[window[R], HEAD]
    if code == DISTANCE:
        return class_of_distance(right - left)
    if code == BETWEEN:
        bits = np.int32(0)
        for position in range(left + 1, right):
            bits |= bit_of(sentence.symbols[position, TAG])
        return bits
    if code == EDGE:
        return (1 if window[L - 1] == 0 else 0) + (2 if window[R + 1] == 0 else 0)
    if code <= LABEL:
        child, head = (left, right) if place == L else (right, left)
        share, other, label = guide_of(sentence, child, head)
        return label if code == LABEL else class_of_probability(share if code == SHARE else other)
    if code == DIRECTION:
        return 1 if left < right else 2
    if code == REACH:
        return class_of_distance(abs(right - left)) + (0 if left < right else 10)
    # In `labels` the neighbours are the siblings before and after the child.
    first = window[L - 1] == 0 or records[window[L - 1], HEAD] < right < left
    return (1 if first else 0) + (2 if window[R + 1] == 0 else 0) + (4 if left < right else 0)


@jitable
def read_elements(elements, records, sentence, window, row):
    """Read the elements of a window of records (int32[6]) into `row` (int32[elements])."""
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
        elif window[first] == 0:
            row[i] = NONE if kind == _MISSING else NULL
        elif kind == _MISSING:
            record = records[window[first]]
            expected = sentence.expected[record[HEAD], second]
            row[i] = _bin(_EXPECTATIONS, expected - record[LEFT_SHARE + second] / WHOLE)
        else:
            record = records[window[first]]
            row[i] = class_of_distance(record[END] - record[FIRST])


@jitable
def find_weights(reading, weights, records, sentence, window, row, places):
    """Find the places (int64[templates]) of the features of a window, and prefetch their weights.

    row (int32[elements]): Workspace.
    """
    read_elements(reading.elements, records, sentence, window, row)
    find_features(reading.templates, row, len(weights), places)
    for i in range(len(reading.templates.numbers)):
        fetch(weights, places[i] * weights.shape[1])


@jitable
def add_up(scorer, reading, places, sums):
    """Add the weights of the `places` of a reading, for both actions, to `sums` (float32[2])."""
    numbers, weights, kept = reading.templates.numbers, scorer.weights, scorer.kept
    # A zero of the type of the weights: sums of whole numbers are faster.
    left = right = weights[0, 0] - weights[0, 0]
    for i in range(len(numbers)):
        if len(kept) == 0 or kept[numbers[i]]:
            left += weights[places[i], 0]
            right += weights[places[i], 1]
    sums[0] += left
    sums[1] += right
