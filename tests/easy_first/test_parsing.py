"""Parsing many sentences: trees of the best states, their confidence, and the other trees of the
beam.
"""

import numpy as np
import pytest
from compiled_search import state_of
from plain_parser import (
    PlainParser,
    arc_scorer,
    heads_of,
    label_scorer,
    random_sentence,
    random_weights,
)

from spacy_hpyp.compiled import NONE
from spacy_hpyp.easy_first.labels import label_tree
from spacy_hpyp.easy_first.parsing import (
    AHEAD,
    SCALE,
    SentencesToParse,
    new_states,
    parse,
    parse_beam,
    search,
)

PLACES = 1 << 12
TEMPLATES = [
    ["l.word", "r.word"],
    ["l.tag", "r.tag", "r1.tag"],
    ["l.left.tag", "r.right.tag", "distance"],
    ["guide.l"],
]
LABEL_TEMPLATES = [["child.word", "head.word"], ["prev.label", "child.tag"]]
LENGTHS = [5, 1, 9, 2, 12, 1, 7, 3, 8]


class World:
    """Sentences, and scorers of arcs and labels with scores large enough for confidence to vary."""

    def __init__(self):
        rng = np.random.default_rng(0)
        self.arc = arc_scorer(TEMPLATES, PLACES, 20 * random_weights(PLACES, rng))
        weights = rng.normal(size=(PLACES, 5)).astype(np.float32)
        self.label = label_scorer(LABEL_TEMPLATES, weights)
        self.each = [random_sentence(n, rng, guide=3) for n in LENGTHS]
        parts = [np.concatenate(part) for part in zip(*self.each, strict=True)]
        self.sentences = SentencesToParse(*parts, np.cumsum([0, *LENGTHS]))

    def parsed(self, width):
        """Each sentence with its tree."""
        trees = parse(self.arc, self.label, self.sentences, width=width)
        offsets = self.sentences.offsets
        for sentence, start, end in zip(self.each, offsets, offsets[1:]):
            yield sentence, trees._make(part[start:end] for part in trees)

    def labels(self, sentence, heads):
        labels = np.empty(len(heads), dtype=np.int32)
        label_tree(self.label, sentence, heads, labels)
        return labels.tolist()

    def searched(self, sentence):
        """The states after a search with a beam of four, and the first of the final beam."""
        states = new_states(self.arc, len(sentence.symbols), 4)
        return states, search(self.arc, sentence, states)[0]


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.mark.parametrize("width", [1, 4])
def test_trees_and_labels_come_from_the_best_states(world, width):
    for sentence, found in world.parsed(width):
        plain, heads = PlainParser(world.arc, sentence), found.heads.tolist()
        assert heads == heads_of(plain.beams(width)[-1][0].state[0])
        assert found.labels.tolist() == world.labels(sentence, found.heads)
        assert np.array_equal(found.labels == NONE, found.heads == NONE)
        assert found.guide.tolist() == [*map(plain.share, range(len(heads)), heads)]


@pytest.mark.parametrize("width", [1, 4])
def test_arc_share_is_the_weight_of_beam_states_with_the_arc(world, width):
    unsure = 0
    for sentence, found in world.parsed(width):
        beam = PlainParser(world.arc, sentence).beams(width)[-1]
        weights = np.exp([(each.total - beam[0].total) / SCALE for each in beam])
        agree = np.array([np.equal(heads_of(each.state[0]), found.heads) for each in beam])
        np.testing.assert_allclose(found.share, weights @ agree / weights.sum(), rtol=1e-5)
        unsure += int((found.share < 0.9).sum())
    assert (unsure > 5) == (width > 1)


def test_arc_margin_is_the_margin_of_its_action(world):
    for sentence, found in world.parsed(4):
        states, first = world.searched(sentence)
        last = states.last[first]
        # The root has no attaching action. It has the margin of the last action.
        root = found.heads.tolist().index(NONE)
        assert found.margin[root] == (states.margin[last] if len(found.heads) > 1 else 0.0)
        while last:
            before, *window, action = states.actions[last]
            child = states.forest.records[window[2 + action], 0]
            assert found.margin[child] == states.margin[last]
            last = before


@pytest.mark.parametrize("width", [1, 6, 40])
def test_beam_trees_are_distinct_and_sorted_by_score(world, width):
    for i, (sentence, found) in enumerate(world.parsed(width)):
        heads, labels, scores = parse_beam(world.arc, world.label, world.sentences, i, width)
        expected = PlainParser(world.arc, sentence).beams(width)[-1]
        assert heads.tolist() == [heads_of(each.state[0]) for each in expected]
        assert scores.tolist() == [each.total for each in expected]
        assert len(set(map(tuple, heads.tolist()))) == len(heads)
        assert np.array_equal(heads[0], found.heads)
        assert np.array_equal(labels[0], found.labels)
        assert labels.tolist() == [world.labels(sentence, tree) for tree in heads]


def test_sentences_are_parsed_identically_alone_and_in_a_batch(world):
    for sentence, found in world.parsed(4):
        one = SentencesToParse(*sentence, np.array([0, len(sentence.symbols)]))
        alone = parse(world.arc, world.label, one, width=4, threads=1)
        assert all(map(np.array_equal, found, alone))
        assert heads_of(state_of(*world.searched(sentence), 1)[0]) == alone.heads.tolist()


@pytest.mark.parametrize("n", [AHEAD, AHEAD + 1, 3 * AHEAD])
def test_sentences_longer_than_the_lookahead_get_projective_trees(world, n):
    sentence = random_sentence(n, np.random.default_rng(n), guide=3)
    one = SentencesToParse(*sentence, np.array([0, n]))
    for heads in parse_beam(world.arc, world.label, one, 0, 3)[0]:
        # Bottom up, each word reports the size and span of its subtree to its head.
        first, last, size = np.arange(n), np.arange(n), np.ones(n, dtype=int)
        waiting = np.bincount(heads[heads != NONE], minlength=n)
        ready = list(np.flatnonzero(waiting == 0))
        for word in ready:
            assert last[word] - first[word] + 1 == size[word]
            head = heads[word]
            if head != NONE:
                first[head], last[head] = min(first[head], first[word]), max(last[head], last[word])
                size[head] += size[word]
                waiting[head] -= 1
                ready.extend([head] if waiting[head] == 0 else [])
        assert len(ready) == n
