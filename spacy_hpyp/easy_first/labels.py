"""Labels of the arcs of a complete tree (McDonald, Lerman & Pereira 2006).

An averaged perceptron labels greedily, from the root down and the children of a word from left to
right. So features read the labels of the head and of earlier children. The name of an element is a
path:

| element | value |
| --- | --- |
| `child.word`, `head.tag`, `grand.tag` | a symbol of the child, of its head, or of the head's head |
| `prev.tag`, `next.word` | of the previous or next child of the same head |
| `child.left.tag`, `head.right2.word` | of the outermost child on a side (`left`, `right`), or the next one (`left2`, `right2`) |
| `child.after.tag`, `head.before.word` | of the word after or before it in the sentence |
| `child.left.tags`, `head.right.count` | the set of the tags of all children on a side, and their number |
| `direction`, `distance` | the side of the child, and its distance from the head, binned |
| `side` | whether it is the first or the last child, and the first on its side |
| `prev.label`, `prev2.label` | the labels of the previous children |
| `head.label`, `head.labels` | the label of the head, and the set of the labels of its earlier children |
| `guide.label`, `guide` | the guide's label and probability of the arc, binned |
| `child.guide.label`, `.head`, `.tag` | the guide's predictions for a word, see `arcs` |

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

# More columns of a record: the records of the head, of the previous and next child of the head, and
# of the first and last child, or 0; the label as a symbol, and the set of the children's labels.
_PARENT, _PREV, _NEXT, _OLDEST, _YOUNGEST, _LABEL, _LABELS = range(COLUMNS, COLUMNS + 7)
# The window of an arc; the child is in the place of `l`, and its head in that of `r`.
_GRAND, _BEFORE, _CHILD, _HEAD, _AFTER, _BEFORE2 = range(WINDOW)
_NEIGHBOURS = {"before": -1, "after": 1}


def _elements() -> dict[str, Element]:
    arc = {
        "direction": DIRECTION,
        "distance": REACH,
        "side": SIDE,
        "guide.label": LABEL,
        "guide": SHARE,
    }
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


#: The row of each element by name.
ELEMENTS = _elements()
# The number of weights in a cache line.
_FETCHED = 16


@struct
class Workbench(NamedTuple):
    """Workspace of the labeller."""

    records: np.ndarray  # int32[longest + 1, columns]: word i has record i + 1
    queue: np.ndarray  # int32[longest]: the records in the order of labelling
    # The current arc.
    window: np.ndarray  # int32[6]
    row: np.ndarray  # int32[elements]
    features: np.ndarray  # int64[templates]
    scores: np.ndarray  # float32[labels]


def new_workbench(scorer: Scorer, longest: int) -> Workbench:
    """Return the workspace for sentences of at most `longest` words."""
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
    """Fill in the records of a tree and the order of labelling."""
    records, queue = workbench.records, workbench.queue
    n = len(heads)
    begin_records(records, n)
    records[0, _LABEL] = NONE
    # Add children from the inside out, as in partial trees.
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
    """Find the features of an arc and the score of each label. Return the best label."""
    records, window = workbench.records, workbench.window
    head, before = records[child, _PARENT], records[child, _PREV]
    window[_GRAND], window[_HEAD], window[_CHILD] = records[head, _PARENT], head, child
    window[_BEFORE], window[_BEFORE2], window[_AFTER] = (
        before,
        records[before, _PREV],
        records[child, _NEXT],
    )
    read_elements(scorer.elements, records, sentence, window, workbench.row)
    weights, features, scores = scorer.weights, workbench.features, workbench.scores
    find_features(scorer.templates, workbench.row, len(weights), features)
    # Prefetch the weights of all features.
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
    """Label the arcs of `heads` into `labels` (int32[n] both; `NONE` for the root)."""
    _find_places(sentence, heads, workbench)
    labels[workbench.queue[0] - 1] = NONE
    for i in range(1, len(heads)):
        child = workbench.queue[i]
        label = _score_labels(scorer, sentence, child, workbench)
        _set_label(workbench.records, child, label)
        labels[child - 1] = label


@jit
def learn_labels(perceptron, scorer, sentence, heads, labels, margin, workbench):
    """Learn the labels of a tree; features read the predicted labels. Return the number of errors.

    Updates the perceptron unless the gold label's score exceeds every other by the margin.
    """
    scores = workbench.scores
    _find_places(sentence, heads, workbench)
    wrong = 0
    for i in range(1, len(heads)):
        child = workbench.queue[i]
        predicted = _score_labels(scorer, sentence, child, workbench)
        gold, rival = labels[child - 1], predicted
        if predicted == gold:
            rival = 0 if gold != 0 or len(scores) == 1 else 1
            for label in range(len(scores)):
                if label != gold and scores[label] > scores[rival]:
                    rival = label
        else:
            wrong += 1
        tick(perceptron)
        if rival != gold and (predicted != gold or scores[gold] - scores[rival] < margin):
            change_kept(perceptron, workbench.features, scorer.kept, gold, np.float32(1.0))
            change_kept(perceptron, workbench.features, scorer.kept, rival, np.float32(-1.0))
        _set_label(workbench.records, child, predicted)
    return wrong
