"""Probabilities of trees compared with their definition in plain Python and sums over all trees."""

from functools import cache
from itertools import product
from math import exp, log

import numpy as np
import pytest
from projective_trees import projective_trees
from seating import PRECISION
from small_models import (
    MODELS,
    STOP,
    Tree,
    arrays_of,
    events_of_tree,
    log_probability,
    make_model,
    probability,
    random_trees,
)

from spacy_hpyp.annotation.arrays import offsets_of
from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import CASES, HeadOutwardContexts
from spacy_hpyp.head_outward.parsing import best_trees, parse, tree_log_probabilities

LABELLED = ("without siblings", "experts")
CHARTABLE = [kind for kind in MODELS if kind != "grandparents"]
SENTENCES = [(tree.words, tree.tags) for tree in random_trees(6, seed=8, lengths=(1, 2, 3, 4, 4))]


@cache
def model_of(kind):
    return make_model(MODELS[kind], random_trees(15))


#: The log-probability that freezing may cost a tree of four words and twenty events.
TOLERANCE = 20 * PRECISION


@cache
def trees_of(kind, number, labelled=False):
    """All trees of a sentence, with all labels or the first label, and their log-probabilities by
    definition.
    """
    words, tags = SENTENCES[number]
    model, found = model_of(kind), {}
    for heads in projective_trees(len(words)):
        marks = [[NONE] if head == NONE else range(2 if labelled else 1) for head in heads]
        for labels in product(*marks):
            found[heads, labels] = log_probability(
                model, Tree(words, tags, heads, labels), labelled=labelled
            )
    return found


def batch(sentences=SENTENCES):
    """The words, tags and offsets of sentences in one batch."""
    words, tags = (np.concatenate(part).astype(np.int32) for part in zip(*sentences))
    return words, tags, offsets_of([len(words) for words, _ in sentences])


def arrays(tree):
    return arrays_of([tree])[:4]


@pytest.mark.parametrize(
    ("kind", "labelled"),
    [*((kind, False) for kind in MODELS), ("without siblings", True), ("grandparents", True)],
)
def test_tree_log_probability_is_the_sum_over_events(kind, labelled):
    for number, (words, tags) in enumerate(SENTENCES[:2] if labelled else SENTENCES):
        for tree, expected in trees_of(kind, number, labelled).items():
            sentence = arrays(Tree(words, tags, *tree))
            found = tree_log_probabilities(model_of(kind).frozen, *sentence, labelled)
            assert found.sum() == pytest.approx(expected, abs=TOLERANCE)


def test_word_log_probabilities_sum_the_events_of_each_word():
    tree = Tree([4, 1, 0, 5], [0, 1, 0, 1], (1, NONE, 3, 1), (1, NONE, 0, 1))
    model = model_of("experts")
    expected = np.zeros(4)
    for event in events_of_tree(tree):
        if model.conditionals[event.distribution].experts:
            own = event.parent if event.outcome == STOP else event.child
            expected[own] += log(probability(model, tree, event))
    found = tree_log_probabilities(model.frozen, *arrays(tree), True)
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)


@pytest.mark.parametrize("kind", CHARTABLE)
def test_k_best_lists_all_trees_with_their_scores(kind):
    for number, (words, tags) in enumerate(SENTENCES):
        expected = {heads: p for (heads, _), p in trees_of(kind, number).items()}
        rows = (np.array(part, np.int32) for part in (words, tags))
        heads, labels, scores = best_trees(model_of(kind).frozen, *rows, 1000)
        assert np.all(np.diff(scores) <= 0)
        assert {tuple(tree): p for tree, p in zip(heads.tolist(), scores)} == pytest.approx(
            expected, abs=TOLERANCE
        )
        if kind in LABELLED:
            assert np.array_equal(labels == NONE, heads == NONE)


@pytest.mark.parametrize("kind", ["siblings", "experts"])
def test_total_probability_grows_with_sentence_length_but_stays_below_one(kind):
    lists = {
        "siblings": {
            "tag": [["parent.tag", "sibling.tag", "sibling.word"]],
            "word": [["child.tag", "sibling.word"]],
        },
        "experts": {
            "tag": [["parent.tag", "direction"], ["sibling.tag", "parent.word"]],
            "word": [["child.tag"], ["parent.word+direction"]],
            "distance": [["child.tag", "direction"]],
        },
    }[kind]
    # Train mostly on short sentences, so that the model stops early.
    model = make_model(
        HeadOutwardContexts(**lists, case=[]), random_trees(200, lengths=(1, 1, 1, 1, 2))
    )
    totals = [0.0]
    for n in (1, 2, 3, 4):
        rows = list(product(range(2), repeat=n))
        sentences = [(CASES * np.array(words), tags) for words in rows for tags in rows]
        parses = parse(model.frozen, *batch(sentences), consensus=False, threads=1)
        found = np.exp(parses.log_probability).sum()
        assert found > 0.0
        totals.append(totals[-1] + found)
    # The other sentences are longer, or empty: ROOT may generate STOP instead of its child's
    # tag.
    nothing = Tree([0], [0], (NONE,), (NONE,))
    root = next(events_of_tree(nothing))
    without = probability(model, nothing, root._replace(outcome=STOP))
    assert 0.0 < without < 0.1
    # The generated distance need not match the distance in the tree.
    assert (0.5 if kind == "experts" else 0.9) < totals[-1] < 1.0 - without


@pytest.mark.parametrize("consensus", [False, True])
@pytest.mark.parametrize("kind", CHARTABLE)
def test_parses_match_enumeration(kind, consensus):
    words, tags, offsets = batch()
    found = parse(model_of(kind).frozen, words, tags, offsets, consensus=consensus, threads=1)
    for number, (start, end) in enumerate(zip(offsets, offsets[1:])):
        trees = trees_of(kind, number)
        total = np.logaddexp.reduce([*trees.values()])
        posterior = {heads: exp(value - total) for (heads, _), value in trees.items()}
        arcs = [dict.fromkeys(range(-1, end - start), 0.0) for _ in range(end - start)]
        for heads, p in posterior.items():
            for child, head in enumerate(heads):
                arcs[child][head] += p
        right = {
            heads: sum(arcs[child][head] for child, head in enumerate(heads)) for heads in posterior
        }
        worth = right if consensus else posterior
        heads = tuple(found.heads[start:end].tolist())
        assert worth[heads] == pytest.approx(max(worth.values()), rel=1e-4 + TOLERANCE)
        assert found.log_probability[number] == pytest.approx(total, abs=1e-4 + TOLERANCE)
        expected = [arcs[child][head] for child, head in enumerate(heads)]
        assert found.head_probability[start:end] == pytest.approx(expected, abs=1e-4 + TOLERANCE)


@pytest.mark.parametrize("kind", LABELLED)
def test_labels_are_the_most_probable_for_the_tree(kind):
    words, tags, offsets = batch()
    found = parse(model_of(kind).frozen, words, tags, offsets, consensus=False, threads=1)
    different = set()
    for number in range(2):
        start, end = offsets[number], offsets[number + 1]
        heads, labels = (tuple(part[start:end].tolist()) for part in (found.heads, found.labels))
        trees = trees_of(kind, number, True)
        highest = max(value for (own, _), value in trees.items() if own == heads)
        assert trees[heads, labels] == pytest.approx(highest, abs=1e-4 + TOLERANCE)
        different.update(labels)
    assert different == {NONE, 0, 1}
