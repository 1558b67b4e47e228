"""Labels of the arcs of a complete tree (McDonald, Lerman & Pereira 2006).

An averaged perceptron labels greedily, from the root down and the children of a word from left to
right. So features read the labels of the head and of earlier children. The name of an element is a
path:

| element | value |
| --- | --- |
| `child.word`, `head.tag`, `grand.tag` | a symbol of the child, its head, or the head's head |
| `prev.tag`, `next.word` | of the previous or next child of the same head |
| `child.left.tag`, `head.right2.word` | of the outermost child on a side, or (`right2`) the next |
| `child.after.tag`, `head.before.word` | of the word after or before it in the sentence |
| `child.left.tags`, `head.right.count` | the set of tags and the number of children on a side |
| `direction`, `distance` | the side of the child; the side and distance from the head, binned |
| `side` | its side, and whether it is the first child on that side, and the last of all |
| `prev.label`, `prev2.label` | the labels of the previous two children |
| `head.label`, `head.labels` | the label of the head, and the set of labels of earlier children |
| `guide.label`, `guide` | the guide's label and probability of the arc, binned |
| `child.guide.label`, `.head`, `.tag` | the guide's predictions for a word, see `arcs` |

The symbols are those of `arcs`.
"""

import numpy as np

from ..compiled import NONE, fetch, jit, jitable
from . import arcs
from .arcs import FIELD, PAIR, TAG, WINDOW, Element, read_elements, word_elements
from .partial_trees import COLUMNS, LEFT_ARC, RIGHT_ARC, add_child, begin_records, bit_of
from .perceptron import change_kept, find_features, tick

# More columns of a record: the records of the head, of the previous and next child of the head, and
# of the first and last child, or 0; the label as a symbol, and the set of the children's labels.
_PARENT, _PREV, _NEXT, _OLDEST, _YOUNGEST, _LABEL, _LABELS = range(COLUMNS, COLUMNS + 7)
# The window of an arc; the child is in the place of `l`, and its head in that of `r`.
_GRAND, _BEFORE, _CHILD, _HEAD, _AFTER, _BEFORE2 = range(WINDOW)


def _elements() -> dict[str, Element]:
    arc = {"direction": arcs.DIRECTION, "distance": arcs.REACH, "side": arcs.SIDE}
    arc |= {"guide.label": arcs.LABEL, "guide": arcs.SHARE}
    known = {name: (PAIR, code, _CHILD, 0) for name, code in arc.items()}
    known["prev.label"] = (FIELD, _BEFORE, _LABEL, 0)
    known["prev2.label"] = (FIELD, _BEFORE2, _LABEL, 0)
    known["head.label"] = (FIELD, _HEAD, _LABEL, 0)
    known["head.labels"] = (FIELD, _HEAD, _LABELS, 0)
    for word, place in (("child", _CHILD), ("head", _HEAD)):
        known |= word_elements(word, place, near={"before": -1, "after": 1})
    for word, place in (("grand", _GRAND), ("prev", _BEFORE), ("next", _AFTER)):
        known |= word_elements(word, place, children={}, near={}, fields={})
    return known


#: The row of each element by name.
ELEMENTS = _elements()
# The number of weights in a cache line.
_FETCHED = 16


@jitable
def records_of(sentence, heads):
    """Return a tree's records (int32[n + 1, columns]) and the order of labelling (int32[n])."""
    n = len(heads)
    records, queue = np.empty((n + 1, _LABELS + 1), dtype=np.int32), np.empty(n, dtype=np.int32)
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
    return records, queue


@jitable
def workspace(scorer):
    """Return arrays for the elements of an arc, for its features, and for the scores of labels."""
    row = np.empty(len(scorer.whole.elements), dtype=np.int32)
    features = np.empty(len(scorer.kept), dtype=np.int64)
    return row, features, np.empty(scorer.size, dtype=np.float32)


@jitable
def score_labels(scorer, sentence, records, child, row, features, scores):
    """Find the features of an arc and the score of each label. Return the best label."""
    weights, window = scorer.weights, np.empty(WINDOW, dtype=np.int32)
    head, before = records[child, _PARENT], records[child, _PREV]
    window[_GRAND], window[_HEAD], window[_CHILD] = records[head, _PARENT], head, child
    window[_BEFORE2], window[_BEFORE] = records[before, _PREV], before
    window[_AFTER] = records[child, _NEXT]
    offsets, is_sparse = scorer.offsets, len(scorer.offsets) > 0
    size = len(offsets) - 1 if is_sparse else len(weights)
    read_elements(scorer.whole.elements, records, sentence, window, row)
    find_features(scorer.whole.templates, row, size, features)
    scores[:] = 0.0
    if is_sparse:
        for feature in features:
            for i in range(offsets[feature], offsets[feature + 1]):
                scores[scorer.outcomes[i]] += weights[i, 0]
        return np.argmax(scores)
    # Prefetch the weights of all features.
    for feature in features:
        for label in range(0, len(scores), _FETCHED):
            fetch(weights, feature * len(scores) + label)
    for i in range(len(features)):
        if scorer.kept[i]:
            for label in range(len(scores)):
                scores[label] += weights[features[i], label]
    return np.argmax(scores)


@jitable
def set_label(records, child, label):
    """Set the label of a child (a record)."""
    records[child, _LABEL] = label + 1
    records[records[child, _PARENT], _LABELS] |= bit_of(label)


@jit
def label_tree(scorer, sentence, heads, labels):
    """Label the arcs of `heads` into `labels` (int32[n] both; `NONE` for the root)."""
    records, queue = records_of(sentence, heads)
    row, features, scores = workspace(scorer)
    labels[queue[0] - 1] = NONE
    for child in queue[1:]:
        label = score_labels(scorer, sentence, records, child, row, features, scores)
        set_label(records, child, label)
        labels[child - 1] = label


@jitable
def learn_labels(perceptron, scorer, sentence, heads, labels, margin):
    """Learn the labels of a tree; features read the predicted labels. Return the number of errors.

    Updates the perceptron unless the gold label's score exceeds every other by the margin.
    """
    records, queue = records_of(sentence, heads)
    row, features, scores = workspace(scorer)
    wrong = 0
    for child in queue[1:]:
        gold = labels[child - 1]
        predicted = score_labels(scorer, sentence, records, child, row, features, scores)
        set_label(records, child, predicted)
        wrong += predicted != gold
        # The best of the other labels.
        gold_score, scores[gold] = scores[gold], -np.inf
        rival = np.argmax(scores)
        tick(perceptron)
        if len(scores) > 1 and (predicted != gold or gold_score - scores[rival] < margin):
            change_kept(perceptron, features, scorer.kept, gold, np.float32(1.0))
            change_kept(perceptron, features, scorer.kept, rival, np.float32(-1.0))
    return wrong
