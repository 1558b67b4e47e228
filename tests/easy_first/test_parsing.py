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


@pytest.fixture(scope="module")
def world():
    """Sentences, and scorers of arcs and labels with scores large enough for confidence to vary."""
    rng = np.random.default_rng(0)
    arc = arc_scorer(TEMPLATES, PLACES, 20 * random_weights(PLACES, rng))
    label = label_scorer(LABEL_TEMPLATES, rng.normal(size=(PLACES, 5)).astype(np.float32))
    each = [random_sentence(n, rng, guide=3) for n in LENGTHS]
    parts = [np.concatenate(part) for part in zip(*each, strict=True)]
    return arc, label, SentencesToParse(*parts, np.cumsum([0, *LENGTHS])), each


def slices(trees, sentences):
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        yield trees._make(part[start:end] for part in trees)


@pytest.mark.parametrize("width", [1, 4])
def test_trees_and_labels_come_from_the_best_states(world, width):
    arc, label, sentences, each = world
    trees = parse(arc, label, sentences, width=width)
    for found, sentence in zip(slices(trees, sentences), each, strict=True):
        n = len(sentence.symbols)
        plain = PlainParser(arc, sentence)
        best = plain.beams(width)[-1][0]
        assert found.heads.tolist() == heads_of(best.state[0])
        labels = np.empty(n, dtype=np.int32)
        label_tree(label, sentence, found.heads, labels)
        assert np.array_equal(found.labels, labels)
        assert np.array_equal(found.labels == NONE, found.heads == NONE)
        assert found.guide.tolist() == [*map(plain.share, range(n), found.heads.tolist())]


@pytest.mark.parametrize("width", [1, 4])
def test_arc_share_is_the_weight_of_beam_states_with_the_arc(world, width):
    arc, label, sentences, each = world
    trees = parse(arc, label, sentences, width=width)
    unsure = 0
    for found, sentence in zip(slices(trees, sentences), each, strict=True):
        beam = PlainParser(arc, sentence).beams(width)[-1]
        weights = np.exp([(each.total - beam[0].total) / SCALE for each in beam])
        agree = np.array([np.equal(heads_of(each.state[0]), found.heads) for each in beam])
        np.testing.assert_allclose(found.share, weights @ agree / weights.sum(), rtol=1e-5)
        unsure += int((found.share < 0.9).sum())
    assert (unsure > 5) == (width > 1)


def test_arc_margin_is_the_margin_of_its_action(world):
    arc, label, sentences, each = world
    trees = parse(arc, label, sentences, width=4)
    for found, sentence in zip(slices(trees, sentences), each, strict=True):
        n = len(sentence.symbols)
        states = new_states(arc, n, 4)
        first, _ = search(arc, sentence, states)
        last = states.last[first]
        # The root has no attaching action. It has the margin of the last action.
        root = found.heads.tolist().index(NONE)
        assert found.margin[root] == (states.margin[last] if n > 1 else 0.0)
        while last:
            window, action = states.actions[last, 1:7], states.actions[last, 7]
            child = states.forest.records[window[2 + action], 0]
            assert found.margin[child] == states.margin[last]
            last = states.actions[last, 0]


@pytest.mark.parametrize("width", [1, 6, 40])
def test_beam_trees_are_distinct_and_sorted_by_score(world, width):
    arc, label, sentences, each = world
    best = parse(arc, label, sentences, width=width)
    for i, (found, sentence) in enumerate(zip(slices(best, sentences), each, strict=True)):
        heads, labels, scores = parse_beam(arc, label, sentences, i, width)
        expected = PlainParser(arc, sentence).beams(width)[-1]
        assert heads.tolist() == [heads_of(each.state[0]) for each in expected]
        assert scores.tolist() == [each.total for each in expected]
        assert len(set(map(tuple, heads.tolist()))) == len(heads)
        assert np.array_equal(heads[0], found.heads)
        assert np.array_equal(labels[0], found.labels)
        for own, tree in zip(labels, heads, strict=True):
            again = np.empty(len(tree), dtype=np.int32)
            label_tree(label, sentence, tree, again)
            assert np.array_equal(own, again)


def test_sentences_are_parsed_identically_alone_and_in_a_batch(world):
    arc, label, sentences, each = world
    together = parse(arc, label, sentences, width=4)
    for found, sentence in zip(slices(together, sentences), each, strict=True):
        one = SentencesToParse(*sentence, np.array([0, len(sentence.symbols)]))
        alone = parse(arc, label, one, width=4, threads=1)
        assert all(map(np.array_equal, found, alone))
        states = new_states(arc, len(sentence.symbols), 4)
        first, _ = search(arc, sentence, states)
        assert heads_of(state_of(states, first, 1)[0]) == alone.heads.tolist()


@pytest.mark.parametrize("n", [AHEAD, AHEAD + 1, 3 * AHEAD])
def test_sentences_longer_than_the_lookahead_get_projective_trees(world, n):
    sentence = random_sentence(n, np.random.default_rng(n), guide=3)
    for heads in parse_beam(*world[:2], SentencesToParse(*sentence, np.array([0, n])), 0, 3)[0]:
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
