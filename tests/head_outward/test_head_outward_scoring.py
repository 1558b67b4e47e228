"""What models say of trees, against their definition in plain Python and sums over everything that
they can generate.
"""

from functools import cache
from itertools import product
from math import exp, log

import numpy as np
import pytest
from compiling import compiled
from projective_trees import projective_trees, score
from seating import PRECISION
from small_models import (
    EXPERTS,
    GRANDPARENTS,
    PAPER,
    STOP,
    WITHOUT_SIBLINGS,
    Tree,
    arrays_of,
    events_of_tree,
    learning,
    log_probability,
    make_model,
    probability,
    random_trees,
)

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.chart import inside, marginals
from spacy_hpyp.head_outward.contexts import CASES, HeadOutwardContexts
from spacy_hpyp.head_outward.parsing import best_trees, chart_scores, parse, tree_log_probabilities

chart_scores = compiled(chart_scores)

#: With a distribution that reads the sibling only after the tag.
LATE_SIBLINGS = HeadOutwardContexts(
    tag=[["parent.tag", "direction"]],
    word=[["child.tag", "sibling.word"]],
    case=[["child.word", "parent.case"]],
    distance=[["direction", "child.case", "sibling.tag"]],
)
MODELS = {
    "paper": PAPER,
    "without siblings": WITHOUT_SIBLINGS,
    "experts": EXPERTS,
    "late siblings": LATE_SIBLINGS,
    "grandparents": GRANDPARENTS,
}
CHARTABLE = [kind for kind in MODELS if kind != "grandparents"]
SENTENCES = [(tree.words, tree.tags) for tree in random_trees(6, seed=8, lengths=(1, 2, 3, 4, 4))]


@cache
def model_of(kind):
    return make_model(MODELS[kind], random_trees(15))


def tolerance_of(kind):
    """What the log-probability of a tree of four words may lose when a model is frozen: of twenty
    events.
    """
    return 20 * PRECISION


@cache
def trees_of(kind, number, labelled=False):
    """All trees of a sentence, with all labels or the first one, and their log-probabilities by
    their definition.
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


def both(kind):
    """A model while it learns, and frozen, with what may be wrong."""
    model = model_of(kind)
    return (learning(model), 1e-9), (model.frozen, tolerance_of(kind))


def arrays(tree):
    return arrays_of([tree])[:4]


@pytest.mark.parametrize("kind", MODELS)
def test_log_probabilities_of_a_tree_add_up_to_that_of_its_events(kind):
    models = both(kind)
    for number, (words, tags) in enumerate(SENTENCES):
        for (heads, labels), expected in trees_of(kind, number).items():
            for model, tolerance in models:
                found = tree_log_probabilities(
                    model, *arrays(Tree(words, tags, heads, labels)), False
                )
                assert found.sum() == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("kind", ["without siblings", "experts", "grandparents"])
def test_labels_are_generated_besides(kind):
    models = both(kind)
    for number in (0, 1):
        words, tags = SENTENCES[number]
        for (heads, labels), expected in trees_of(kind, number, labelled=True).items():
            for model, tolerance in models:
                found = tree_log_probabilities(
                    model, *arrays(Tree(words, tags, heads, labels)), True
                )
                assert found.sum() == pytest.approx(expected, abs=tolerance)


def test_log_probabilities_are_those_of_each_word():
    tree = Tree([4, 1, 0, 5], [0, 1, 0, 1], (1, NONE, 3, 1), (1, NONE, 0, 1))
    model = model_of("experts")
    expected = np.zeros(4)
    for event in events_of_tree(tree):
        if model.conditionals[event.distribution].experts:
            own = event.parent if event.outcome == STOP else event.child
            expected[own] += log(probability(model, tree, event))
    found = tree_log_probabilities(learning(model), *arrays(tree), True)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("kind", CHARTABLE)
def test_the_chart_has_the_score_of_every_tree(kind):
    for number, (words, tags) in enumerate(SENTENCES):
        for model, tolerance in both(kind):
            scores = chart_scores(model, np.array(words, np.int32), np.array(tags, np.int32))
            for (heads, _), expected in trees_of(kind, number).items():
                assert score(scores, heads) == pytest.approx(expected, abs=tolerance)


def test_scores_do_not_depend_on_siblings_where_nothing_reads_them():
    words, tags = (np.array(part, np.int32) for part in SENTENCES[3])
    assert len(words) == 4
    shapes = {
        kind: chart_scores(model_of(kind).frozen, words, tags).next.shape[1] for kind in CHARTABLE
    }
    assert shapes == {"paper": 4, "without siblings": 1, "experts": 4, "late siblings": 4}


@pytest.mark.parametrize("kind", ["words", "siblings", "experts"])
def test_probability_of_all_sentences_grows_with_their_length_and_stays_below_one(kind):
    lists = {
        "words": {
            "tag": [["parent.tag", "parent.word", "direction"]],
            "word": [["child.tag", "parent.word"]],
        },
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
    # Mostly of short sentences, so that the model stops soon.
    model = make_model(
        HeadOutwardContexts(**lists, case=[]), random_trees(200, lengths=(1, 1, 1, 1, 2))
    )
    frozen, totals = model.frozen, [0.0]
    for n in (1, 2, 3, 4):
        found = sum(
            exp(
                inside(
                    chart_scores(
                        frozen, CASES * np.array(words, np.int32), np.array(tags, np.int32)
                    )
                ).total
            )
            for words in product(range(2), repeat=n)
            for tags in product(range(2), repeat=n)
        )
        assert found > 0.0
        totals.append(totals[-1] + found)
    # What is not generated is longer, or nothing at all: ROOT may have STOP in the place of its
    # child's tag.
    nothing = Tree([0], [0], (NONE,), (NONE,))
    root = next(events_of_tree(nothing))
    without = probability(model, nothing, root._replace(outcome=STOP))
    assert 0.0 < without < 0.1
    if kind == "experts":
        # A distance is generated, and is not always that at which the tree puts the child.
        assert 0.5 < totals[-1] < 1.0 - without
    else:
        assert 0.9 < totals[-1] < 1.0 - without


def test_what_is_generated_of_one_child_sums_to_one():
    model = model_of("experts")
    tree = Tree([4, 1, 0, 5], [0, 1, 0, 1], (1, NONE, 3, 1), (1, NONE, 0, 1))
    for event in events_of_tree(tree):
        if not model.conditionals[event.distribution].experts:
            continue
        outcomes = range(model.alphabets.of(event.distribution))
        total = sum(
            probability(model, tree, event._replace(outcome=outcome)) for outcome in outcomes
        )
        assert total == pytest.approx(1.0)


def batch(times=5):
    """The sentences several times over, as they are parsed together."""
    words = np.concatenate([np.array(words, np.int32) for words, _ in SENTENCES] * times)
    tags = np.concatenate([np.array(tags, np.int32) for _, tags in SENTENCES] * times)
    lengths = [len(words) for words, _ in SENTENCES] * times
    return words, tags, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


@pytest.mark.parametrize("consensus", [False, True])
@pytest.mark.parametrize("kind", CHARTABLE)
def test_parses_are_those_that_enumeration_finds(kind, consensus):
    words, tags, offsets = batch(1)
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
        assert worth[heads] == pytest.approx(max(worth.values()), rel=1e-4 + tolerance_of(kind))
        assert found.log_probability[number] == pytest.approx(total, abs=1e-4 + tolerance_of(kind))
        expected = [arcs[child][head] for child, head in enumerate(heads)]
        assert found.head_probability[start:end] == pytest.approx(
            expected, abs=1e-4 + tolerance_of(kind)
        )


@pytest.mark.parametrize("kind", ["without siblings", "experts"])
def test_labels_are_the_most_probable_ones_of_the_tree(kind):
    words, tags, offsets = batch(1)
    found = parse(model_of(kind).frozen, words, tags, offsets, consensus=False, threads=1)
    different = set()
    for number in range(2):
        start, end = offsets[number], offsets[number + 1]
        heads, labels = (tuple(part[start:end].tolist()) for part in (found.heads, found.labels))
        trees = trees_of(kind, number, labelled=True)
        highest = max(value for (own, _), value in trees.items() if own == heads)
        assert trees[heads, labels] == pytest.approx(highest, abs=1e-4 + tolerance_of(kind))
        different.update(labels)
    assert different == {NONE, 0, 1}


def test_best_trees_and_marginals_of_arcs_are_those_that_enumeration_finds():
    words, tags = (np.array(part, np.int32) for part in SENTENCES[3])
    trees = trees_of("experts", 3)
    heads, labels, scores = best_trees(model_of("experts").frozen, words, tags, 1000)
    expected = sorted(trees.values(), reverse=True)
    np.testing.assert_allclose(scores, expected, atol=tolerance_of("experts"))
    assert {tuple(tree) for tree in heads.tolist()} == {tree for tree, _ in trees}
    assert np.array_equal(labels == NONE, heads == NONE)
    assert [
        trees[tuple(tree), tuple(0 if h != NONE else h for h in tree)] for tree in heads.tolist()
    ] == pytest.approx(scores.tolist(), abs=tolerance_of("experts"))
    expected_share = np.zeros((len(words), len(words)))
    for (tree, _), value in trees.items():
        for child, head in enumerate(tree):
            expected_share[child if head == NONE else head, child] += exp(
                value - np.logaddexp.reduce(expected)
            )
    scores = chart_scores(model_of("experts").frozen, words, tags)
    found = marginals(scores, inside(scores))
    np.testing.assert_allclose(found, expected_share, atol=tolerance_of("experts"))
