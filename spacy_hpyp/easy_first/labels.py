"""Labels of the arcs of a tree, by a labeller that sees all of it (McDonald, Lerman & Pereira 2006).

Arcs are labelled from the root down, and the children of a word from left to right, each with the best label
given what has been labelled before: a greedy search with an averaged perceptron. An element is named as a
path:

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

from ..compiled import NONE, fetch, jit, struct
from .arcs import (
    DIRECTION,
    FIELD,
    LABEL,
    PAIR,
    REACH,
    SHARE,
    SIDE,
    TAG,
    WINDOW,
    Element,
    Scorer,
    read_elements,
    word_elements,
)
from .partial_trees import COLUMNS, LEFT_ARC, RIGHT_ARC, add_child, begin_records, bit_of
from .perceptron import change_kept, tick
from .templates import find_features

# Columns of a record besides those of partial trees: the records of the head, of the children before and
# after it, and of the first and the last child, 0 where there is none; its label as a symbol, and the set of
# its children's so far.
_PARENT, _PREV, _NEXT, _OLDEST, _YOUNGEST, _LABEL, _LABELS = range(COLUMNS, COLUMNS + 7)
# What an arc's elements read, in the order of a window: of two neighbours, the child is in the place of `l`,
# and its head of `r`.
_GRAND, _BEFORE, _CHILD, _HEAD, _AFTER, _BEFORE2 = range(WINDOW)
_NEIGHBOURS = {"before": -1, "after": 1}


def _elements() -> dict[str, Element]:
    arc = {"direction": DIRECTION, "distance": REACH, "side": SIDE, "guide.label": LABEL, "guide": SHARE}
    known = {name: (PAIR, code, _CHILD, 0) for name, code in arc.items()}
    known["prev.label"] = (FIELD, _BEFORE, _LABEL, 0)
    known["prev2.label"] = (FIELD, _BEFORE2, _LABEL, 0)
    known["head.label"] = (FIELD, _HEAD, _LABEL, 0)
    known["head.labels"] = (FIELD, _HEAD, _LABELS, 0)
    for word, place in (("child", _CHILD), ("head", _HEAD)):
        known |= word_elements(word, place, _NEIGHBOURS)
    for word, place in (("grand", _GRAND), ("prev", _BEFORE), ("next", _AFTER)):
        known |= word_elements(word, place, alone=True)
    return known


#: Every element by its name, with the row that compiled code reads.
ELEMENTS = _elements()
# So many weights are fetched at once.
_FETCHED = 16


@struct
class Workbench(NamedTuple):
    """Workspace of the labeller."""

    # The place of each word in the tree; word i has record i + 1.
    records: np.ndarray  # int32[longest + 1, columns]
    queue: np.ndarray  # int32[longest]: the records in the order of labelling, from the root on
    # Of one arc.
    window: np.ndarray  # int32[6]
    row: np.ndarray  # int32[elements]
    features: np.ndarray  # int64[templates]
    scores: np.ndarray  # float32[labels]


def new_workbench(scorer: Scorer, longest: int) -> Workbench:
    """Return room for labelling sentences of at most some number of words."""
    return Workbench(
        np.empty((longest + 1, _LABELS + 1), dtype=np.int32),
        np.empty(longest, dtype=np.int32),
        np.empty(WINDOW, dtype=np.int32),
        np.empty(len(scorer.elements), dtype=np.int32),
        np.empty(len(scorer.templates.offsets) - 1, dtype=np.int64),
        np.empty(scorer.weights.shape[1], dtype=np.float32),
    )


@jit
def _find_places(sentence, heads, workbench):
    """Find where each word stands in a tree, and in which order the words are labelled."""
    records, queue = workbench.records, workbench.queue
    n = len(heads)
    begin_records(records, n)
    records[0, _LABEL] = NONE
    # Children are added from the inside to the outside, as they are in partial trees.
    for word in range(n - 1, -1, -1):
        if word < heads[word]:
            add_child(records, heads[word] + 1, LEFT_ARC, word, sentence.symbols[word, TAG], 0)
    for word in range(n):
        record, head = np.int32(word + 1), heads[word] + 1
        if heads[word] == NONE:
            queue[0] = record
            continue
        if head < record:
            add_child(records, head, RIGHT_ARC, word, sentence.symbols[word, TAG], 0)
        before = records[head, _YOUNGEST]
        if before == 0:
            records[head, _OLDEST] = record
        else:
            records[before, _NEXT] = record
        records[head, _YOUNGEST] = record
        records[record, _PARENT], records[record, _PREV] = head, before
    size = 1
    for i in range(n):
        child = records[queue[i], _OLDEST]
        while child != 0:
            queue[size] = child
            size += 1
            child = records[child, _NEXT]


@jit
def _score_labels(scorer, sentence, child, workbench):
    """Find the features of the arc to a word and the score of each label. Returns the best label."""
    records, window = workbench.records, workbench.window
    head, before = records[child, _PARENT], records[child, _PREV]
    window[_GRAND], window[_HEAD], window[_CHILD] = records[head, _PARENT], head, child
    window[_BEFORE], window[_BEFORE2], window[_AFTER] = before, records[before, _PREV], records[child, _NEXT]
    read_elements(scorer.elements, records, sentence, window, workbench.row)
    weights, features, scores = scorer.weights, workbench.features, workbench.scores
    find_features(scorer.templates, workbench.row, len(weights), features)
    # Fetched for all features first, so that none waits for the weights of another.
    for i in range(len(features)):
        for label in range(0, len(scores), _FETCHED):
            fetch(weights, features[i] * len(scores) + label)
    scores[:] = 0.0
    for i in range(len(features)):
        if scorer.kept[i]:
            for label in range(len(scores)):
                scores[label] += weights[features[i], label]
    best = 0
    for label in range(1, len(scores)):
        if scores[label] > scores[best]:
            best = label
    return best


@jit
def _set_label(records, child, label):
    records[child, _LABEL] = label + 1
    records[records[child, _PARENT], _LABELS] |= bit_of(label)


@jit
def label_tree(scorer, sentence, heads, labels, workbench):
    """Label the arcs of a tree, given by `heads`, into `labels` (int32[n] both; `NONE` for the root)."""
    _find_places(sentence, heads, workbench)
    labels[workbench.queue[0] - 1] = NONE
    for i in range(1, len(heads)):
        child = workbench.queue[i]
        label = _score_labels(scorer, sentence, child, workbench)
        _set_label(workbench.records, child, label)
        labels[child - 1] = label


@jit
def learn_labels(perceptron, scorer, sentence, heads, labels, margin, workbench):
    """Learn the labels of a tree, going on with those that the labeller gives. Returns how many were wrong.

    The perceptron is changed where the right label's score is not higher than every other's by a margin.
    """
    scores = workbench.scores
    _find_places(sentence, heads, workbench)
    wrong = 0
    for i in range(1, len(heads)):
        child = workbench.queue[i]
        found = _score_labels(scorer, sentence, child, workbench)
        right, rival = labels[child - 1], found
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
        _set_label(workbench.records, child, found)
    return wrong
