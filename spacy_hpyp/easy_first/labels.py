"""Labels of the arcs of a tree, by a labeller that sees all of it (McDonald, Lerman & Pereira 2006).

Arcs are labelled from the root down, and the children of a word from left to right, each with the best label given what has been
labelled before: a greedy search with an averaged perceptron. An element is named as a path:

| element | what |
| --- | --- |
| `child.word`, `head.tag`, `grand.tag` | a symbol of the child of the arc, of its head, and of that one's head |
| `prev.tag`, `next.word` | of the children of the same head before and after it |
| `child.left.tag`, `head.right2.word` | of the outermost child on a side (`left`, `right`), or the one next to it (`left2`, `right2`) |
| `child.after.tag`, `head.before.word` | of the word that stands after or before it in the sentence |
| `child.left.tags`, `head.right.count` | the set of the tags of all children on a side, and their number |
| `direction`, `distance` | on which side of its head the child is, and how far from it, in classes |
| `side` | whether it is the first or the last child, and the first on its side |
| `prev.label`, `prev2.label` | labels of the children before it |
| `head.label`, `head.labels` | the label of its head, and the set of the labels of the head's children before it |
| `guide.label`, `guide` | the label that a guide gives to the arc, and how probable it takes it for one, in classes |
| `child.guide.label`, `.head`, `.tag` | what the guide says of a word, see `arcs` |

The symbols are those of `arcs`.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled, generic, implements
from .arcs import (
    GUIDE_SYMBOLS,
    NULL,
    SYMBOLS,
    TAG,
    Scorer,
    class_of_distance,
    class_of_probability,
    label_of,
    share_of,
)
from .perceptron import Averages, change_kept, tick
from .templates import Templates, find_features

# Columns of what is known of each word's place in the tree: positions, `NONE` where there is none.
_HEAD, _PREV, _NEXT, _LEFT, _RIGHT, _LEFT2, _RIGHT2 = range(7)
# Numbers, sets as bits, and labels as symbols.
_LEFT_COUNT, _RIGHT_COUNT, _LEFT_TAGS, _RIGHT_TAGS, _LABEL, _LABELS, _FIRST, _LAST = range(7, 15)
_COLUMNS = 15
_BITS = 31

_SYMBOL, _NEAR, _FIELD, _ARC = range(4)
_WORDS = {
    "child": (NONE, NONE),
    "head": (_HEAD, NONE),
    "grand": (_HEAD, _HEAD),
    "prev": (_PREV, NONE),
    "next": (_NEXT, NONE),
}
_STEPS = {"left": _LEFT, "right": _RIGHT, "left2": _LEFT2, "right2": _RIGHT2}
_NEIGHBOURS = {"before": -1, "after": 1}
_FIELDS = {
    "left.count": _LEFT_COUNT,
    "right.count": _RIGHT_COUNT,
    "left.tags": _LEFT_TAGS,
    "right.tags": _RIGHT_TAGS,
}
_DIRECTION, _DISTANCE, _SIDE, _GUIDE_LABEL, _GUIDE = range(5)
_ARCS = {"direction": _DIRECTION, "distance": _DISTANCE, "side": _SIDE, "guide.label": _GUIDE_LABEL, "guide": _GUIDE}


def _elements() -> dict[str, tuple[int, int, int, int]]:
    known = {name: (_ARC, code, 0, 0) for name, code in _ARCS.items()}
    known["prev.label"] = (_FIELD, _PREV, NONE, _LABEL)
    known["prev2.label"] = (_FIELD, _PREV, _PREV, _LABEL)
    known["head.label"] = (_FIELD, _HEAD, NONE, _LABEL)
    known["head.labels"] = (_FIELD, _HEAD, NONE, _LABELS)
    for number, symbol in enumerate((*SYMBOLS, *GUIDE_SYMBOLS)):
        for word, steps in _WORDS.items():
            known[f"{word}.{symbol}"] = (_SYMBOL, *steps, number)
        for word in ("child", "head"):
            first, _ = _WORDS[word]
            for name, offset in _NEIGHBOURS.items():
                known[f"{word}.{name}.{symbol}"] = (_NEAR, first, offset, number)
            for name, column in _STEPS.items():
                steps = (column, NONE) if first == NONE else (first, column)
                known[f"{word}.{name}.{symbol}"] = (_SYMBOL, *steps, number)
    for word in ("child", "head"):
        for name, column in _FIELDS.items():
            known[f"{word}.{name}"] = (_FIELD, *_WORDS[word], column)
    return known


#: Every element by its name, with the row that compiled code reads.
ELEMENTS = _elements()


class Labeller(NamedTuple):
    """What labels arcs: a `Scorer` with averages that leave out zeros, which of many labels most are.

    elements, templates, kept: See `Scorer`.
    weights (Averages): Its weights.
    """

    elements: np.ndarray
    templates: Templates
    weights: Averages
    kept: np.ndarray


@generic
def shape_of(scorer):
    """How many places and labels the weights of a Scorer or Labeller are for."""


@generic
def add_weights(scorer, workbench):
    """Add the weights that the features of an arc have for each label to its scores."""


@implements(shape_of, Scorer)
@borrowing
def _shape_of_scorer(scorer):
    return scorer.weights.shape


@implements(add_weights, Scorer)
@borrowing
def _add_all(scorer, workbench):
    scores = workbench.scores
    for i in range(len(workbench.features)):
        if scorer.kept[i]:
            place = workbench.features[i]
            for label in range(len(scores)):
                scores[label] += scorer.weights[place, label]


@implements(shape_of, Labeller)
@borrowing
def _shape_of_labeller(scorer):
    return len(scorer.weights.first) - 1, scorer.weights.outcomes


@implements(add_weights, Labeller)
@borrowing
def _add_found(scorer, workbench):
    weights, scores, bounds = scorer.weights, workbench.scores, workbench.bounds
    # Where the weights of each feature begin and end is fetched for all of them first: so none has to wait for another's.
    for i in range(len(bounds)):
        place = workbench.features[i]
        bounds[i, 0], bounds[i, 1] = weights.first[place], weights.first[place + 1]
    for i in range(len(bounds)):
        if scorer.kept[i]:
            for j in range(bounds[i, 0], bounds[i, 1]):
                scores[weights.outcome[j]] += weights.weight[j]


class Workbench(NamedTuple):
    """What labelling writes on.

    places (int32[longest, columns]): Where each word stands in the tree.
    queue (int32[longest]): Words whose children are to be labelled.
    row (int32[elements]), features (int64[templates]), scores (float32[labels]): Of one arc.
    bounds (int64[templates, 2]): Where the weights of its features begin and end.
    """

    places: np.ndarray
    queue: np.ndarray
    row: np.ndarray
    features: np.ndarray
    scores: np.ndarray
    bounds: np.ndarray


@compiled
def new_workbench(scorer, longest):
    """Room for labelling sentences with a Scorer or Labeller of a number of words at the most."""
    return Workbench(
        np.empty((longest, _COLUMNS), dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        np.empty(len(scorer.elements), dtype=np.int32),
        np.empty(len(scorer.templates.offsets) - 1, dtype=np.int64),
        np.empty(shape_of(scorer)[1], dtype=np.float32),
        np.empty((len(scorer.templates.offsets) - 1, 2), dtype=np.int64),
    )


@borrowing
def _find_places(sentence, heads, places):
    """Find where each word stands in a tree. Returns the position of the root."""
    root = 0
    for word in range(len(heads)):
        for column in range(_COLUMNS):
            places[word, column] = NONE if column <= _RIGHT2 or column >= _FIRST else 0
    for word in range(len(heads)):
        head = heads[word]
        if head == NONE:
            root = word
            continue
        bit = np.int32(1 << (sentence.symbols[word, TAG] % _BITS))
        places[word, _HEAD] = head
        if word < head:
            if places[head, _LEFT] == NONE:
                places[head, _LEFT] = word
            elif places[head, _LEFT2] == NONE:
                places[head, _LEFT2] = word
            places[head, _LEFT_COUNT] += 1
            places[head, _LEFT_TAGS] |= bit
        else:
            places[head, _RIGHT2] = places[head, _RIGHT]
            places[head, _RIGHT] = word
            places[head, _RIGHT_COUNT] += 1
            places[head, _RIGHT_TAGS] |= bit
        before = places[head, _LAST]
        if before == NONE:
            places[head, _FIRST] = word
        else:
            places[before, _NEXT] = word
            places[word, _PREV] = before
        places[head, _LAST] = word
    return root


@borrowing
def _step(places, word, column):
    return word if word == NONE or column == NONE else places[word, column]


@borrowing
def _read_arc(code, sentence, places, head, child):
    """An element of the arc itself."""
    if code == _DIRECTION:
        return 1 if child < head else 2
    if code == _DISTANCE:
        return class_of_distance(head - child) if child < head else 10 + class_of_distance(child - head)
    if code == _SIDE:
        before, after = places[child, _PREV], places[child, _NEXT]
        first = before == NONE or (before < head < child)
        return (1 if first else 0) + (2 if after == NONE else 0) + (4 if child < head else 0)
    if code == _GUIDE_LABEL:
        return label_of(sentence, child, head)
    return class_of_probability(share_of(sentence, child, head))


@borrowing
def _read_elements(elements, sentence, places, head, child, row):
    """The symbols of the elements of an arc, into `row` (int32[elements])."""
    n = len(sentence.symbols)
    for i in range(len(elements)):
        kind, first, second, column = elements[i, 0], elements[i, 1], elements[i, 2], elements[i, 3]
        if kind == _SYMBOL:
            word = _step(places, _step(places, child, first), second)
            row[i] = NULL if word == NONE else sentence.symbols[word, column]
        elif kind == _ARC:
            row[i] = _read_arc(first, sentence, places, head, child)
        elif kind == _FIELD:
            word = _step(places, _step(places, child, first), second)
            row[i] = NONE if word == NONE else places[word, column]
        else:
            word = (child if first == NONE else head) + second
            row[i] = sentence.symbols[word, column] if 0 <= word < n else NULL


@borrowing
def _score_labels(scorer, sentence, head, child, workbench):
    """Find the features of an arc and the score of each label. Returns the best label."""
    _read_elements(scorer.elements, sentence, workbench.places, head, child, workbench.row)
    find_features(scorer.templates, workbench.row, shape_of(scorer)[0], workbench.features)
    scores = workbench.scores
    scores[:] = 0.0
    add_weights(scorer, workbench)
    best = 0
    for label in range(1, len(scores)):
        if scores[label] > scores[best]:
            best = label
    return best


@borrowing
def _set_label(places, head, child, label):
    places[child, _LABEL] = label + 1
    places[head, _LABELS] |= np.int32(1 << (label % _BITS))


@borrowing
def label_tree(scorer, sentence, heads, labels, workbench):
    """Label the arcs of a tree.

    scorer (Scorer | Labeller): What scores labels.
    sentence (Sentence): The words.
    heads (int32[n]): Their heads, `NONE` for the root.
    labels (int32[n]): Overwritten; `NONE` for the root.
    workbench (Workbench): Written on.
    """
    places, queue = workbench.places, workbench.queue
    queue[0] = _find_places(sentence, heads, places)
    labels[queue[0]] = NONE
    size = 1
    for i in range(len(heads)):
        head = queue[i]
        child = places[head, _FIRST]
        while child != NONE:
            queue[size] = child
            size += 1
            labels[child] = _score_labels(scorer, sentence, head, child, workbench)
            _set_label(places, head, child, labels[child])
            child = places[child, _NEXT]


@borrowing
def learn_labels(perceptron, scorer, sentence, heads, labels, margin, workbench):
    """Learn the labels of a tree, going on with those that the labeller gives.

    perceptron (Perceptron): The scorer's; changed where the right label is not the best, or its score not higher than every other's by a
        margin.
    heads, labels (int32[n]): The tree.
    RETURNS (int): How many labels were wrong.
    """
    places, queue, scores = workbench.places, workbench.queue, workbench.scores
    queue[0] = _find_places(sentence, heads, places)
    size, wrong = 1, 0
    for i in range(len(heads)):
        head = queue[i]
        child = places[head, _FIRST]
        while child != NONE:
            queue[size] = child
            size += 1
            found = _score_labels(scorer, sentence, head, child, workbench)
            right = labels[child]
            rival = found
            if found == right:
                rival = 0 if right != 0 or len(scores) == 1 else 1
                for label in range(len(scores)):
                    if label != right and scores[label] > scores[rival]:
                        rival = label
            else:
                wrong += 1
            tick(perceptron)
            if rival != right and (found != right or scores[right] - scores[rival] < margin):
                change_kept(perceptron, workbench.features, scorer.kept, right, np.float32(1.0))
                change_kept(perceptron, workbench.features, scorer.kept, rival, np.float32(-1.0))
            _set_label(places, head, child, found)
            child = places[child, _NEXT]
    return wrong
