"""The labeller: elements match their names, and arcs are labelled from the root down and from left
to right.
"""

import numpy as np
import pytest
from compiling import compiled
from plain_elements import SIDES, Reader, bits
from plain_parser import label_scorer, random_heads, random_sentence

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.arcs import class_of_distance, with_weights
from spacy_hpyp.easy_first.labels import (
    ELEMENTS,
    label_tree,
    records_of,
    score_labels,
    set_label,
    workspace,
)
from spacy_hpyp.easy_first.perceptron import Sparse, compile_templates, find_features

score_labels = compiled(score_labels)

NAMES = list(ELEMENTS)
WORDS = ("child", "head", "grand", "prev", "next")
PLACES = 1 << 12
LABELS = 40


class ArcReader(Reader):
    """Read the elements of an arc by the table in the docstring of `labels`.

    labels (dict[int, int]): The labels assigned so far, by child.
    """

    def __init__(self, sentence, heads, labels):
        super().__init__(sentence)
        self.heads = heads
        self.labels = labels

    def children(self, word, side=None):
        """The children from left to right, on one side or both."""
        found = [child for child in range(len(self.heads)) if self.heads[child] == word]
        return [child for child in found if side is None or (child < word) == (side == "left")]

    def read(self, child, name):
        head = self.heads[child]
        siblings = self.children(head)
        place = siblings.index(child)
        before = dict(enumerate(siblings[:place][::-1]))
        if name == "direction":
            return 1 if child < head else 2
        if name == "distance":
            return class_of_distance(abs(head - child)) + (10 if child > head else 0)
        if name == "side":
            own = self.children(head, "left" if child < head else "right")
            return (child == own[0]) + 2 * (child == siblings[-1]) + 4 * (child < head)
        if name in ("guide", "guide.label"):
            return self.of_guide(child, head, name.removeprefix("guide").removeprefix("."))
        if name in ("prev.label", "prev2.label"):
            word = before.get(int(name == "prev2.label"))
            return NONE if word is None else self.label(word)
        if name == "head.label":
            return self.label(head)
        if name == "head.labels":
            return bits(self.labels[word] for word in siblings[:place])
        word, _, rest = name.partition(".")
        after = siblings[place + 1] if place + 1 < len(siblings) else None
        grand = None if self.heads[head] == NONE else self.heads[head]
        words = {"child": child, "head": head, "grand": grand, "prev": before.get(0), "next": after}
        word = words[word]
        return self.of_word(word, [self.children(word, side) for side in SIDES], rest)

    def label(self, word):
        """A label as a symbol, or that of no label for the root."""
        return self.labels[word] + 1 if word in self.labels else 0


def order_of(heads):
    """The words with heads, in the order of labelling."""
    pending, found = [list(heads).index(NONE)], []
    while pending:
        head = pending.pop(0)
        children = [child for child in range(len(heads)) if heads[child] == head]
        found += children
        pending += children
    return found


def random_tree(seed):
    """A random sentence, its heads and the generator."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    heads = np.array(random_heads(n, rng), dtype=np.int32)
    return random_sentence(n, rng, symbols=70, guide=4), heads, rng


@pytest.fixture(scope="module")
def arcs_read():
    """Arcs of random trees during labelling: symbols from compiled code, and expected symbols."""
    found = []
    for seed in range(25):
        sentence, heads, rng = random_tree(seed)
        scorer = label_scorer([[name] for name in NAMES], np.zeros((16, LABELS), dtype=np.float32))
        records, queue = records_of(sentence, heads)
        assert (queue[1:] - 1).tolist() == order_of(heads)
        row, *scores = workspace(scorer)
        labels = {}
        for child in order_of(heads):
            row[:] = -99
            score_labels(scorer, sentence, records, child + 1, row, *scores)
            reader = ArcReader(sentence, heads, labels)
            found.append((row.tolist(), [reader.read(child, name) for name in NAMES]))
            labels[child] = int(rng.integers(LABELS))
            set_label(records, child + 1, labels[child])
    return found


@pytest.mark.parametrize("word", [*WORDS, "arc"])
def test_elements_match_the_reference_reader(arcs_read, word):
    firsts = [name.partition(".")[0] for name in NAMES]
    kinds = [first if first in WORDS else "arc" for first in firsts]
    columns = [i for i, kind in enumerate(kinds) if kind == word]
    assert columns
    for read, expected in arcs_read:
        assert [read[i] for i in columns] == [expected[i] for i in columns]


TEMPLATES = [
    ["child.tag", "head.tag"],
    ["prev.label", "direction"],
    ["head.label", "side"],
    ["head.labels", "child.word"],
]


def plain_labels(scorer, sentence, heads):
    """The labels of a greedy search, which takes the first of equally good labels."""
    names, templates = compile_templates(TEMPLATES, range(len(TEMPLATES)))
    labels = {}
    reader = ArcReader(sentence, heads, labels)
    for child in order_of(heads):
        row = np.array([reader.read(child, name) for name in names], dtype=np.int32)
        features = np.empty(len(TEMPLATES), dtype=np.int64)
        find_features(templates, row, len(scorer.weights), features)
        labels[child] = int(scorer.weights[features[scorer.kept]].sum(axis=0).argmax())
    return [labels.get(child, NONE) for child in range(len(heads))]


@pytest.mark.parametrize("steps", [1024, 1])
@pytest.mark.parametrize("outcomes", [1, 2, LABELS])
def test_labels_match_a_greedy_search_from_the_root_down(outcomes, steps):
    several = 0
    for seed in range(15):
        sentence, heads, rng = random_tree(seed)
        weights = (rng.integers(-steps, steps + 1, (PLACES, outcomes)) / steps).astype(np.float32)
        scorer = label_scorer(TEMPLATES, weights)
        labels, rows = np.full((2, len(heads)), -9, dtype=np.int32)
        # Sparse weights give the same labels.
        place, outcome = np.nonzero(weights)
        offsets = np.searchsorted(place, np.arange(PLACES + 1)).astype(np.int32)
        values = weights[place, outcome][:, None]
        sparse = Sparse(offsets, outcome.astype(np.int32), values, outcomes)
        label_tree(with_weights(scorer, sparse), sentence, heads, rows)
        assert rows.tolist() == plain_labels(scorer, sentence, heads)
        scorer.kept[seed % 5 : seed % 5 + 1] = False
        label_tree(scorer, sentence, heads, labels)
        assert labels.tolist() == plain_labels(scorer, sentence, heads)
        several += len(set(labels.tolist())) > 2
    assert outcomes == 1 or several > 5
