"""Estimators by settings: each against its formula in plain Python, on counts that are made by
hand.
"""

from collections import Counter
from itertools import product
from math import log

import numpy as np
import pytest
from seating import PRECISION
from small_models import (
    Tree,
    arrays_of,
    events_of_tree,
    learning,
    make_model,
    outcomes_of,
    probability,
    random_trees,
    read,
)

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import CASES, DISTRIBUTIONS, HeadOutwardContexts
from spacy_hpyp.head_outward.parsing import tree_log_probabilities

LISTS = HeadOutwardContexts(
    tag=[["direction+parent.tag", "sibling.tag", "parent.word"]],
    word=[["child.tag", "parent.word+parent.case"]],
    case=[["child.word"]],
    distance=[[]],
    label=[["child.tag", "direction"]],
)
#: What is seen, and what is asked for besides.
TREES = random_trees(12, seed=2)
OTHERS = random_trees(30, seed=9)
#: Eisner's constants.
FINER, COARSEST = 3.0, 0.5


class Estimate:
    """Probabilities from the counts of some trees, by back-off from each context to the one that is
    one element shorter.

    model (HeadOutwardModel): What the context lists are read from, and hyperparameters.
    trees (list[Tree]): What has been seen.
    minimal (bool): Whether coarser contexts count the finer ones and not what was seen in them.
    """

    def __init__(self, model, trees, minimal=False):
        self.model = model
        self.seen = {name: Counter() for name in DISTRIBUTIONS}
        for tree in trees:
            for event in events_of_tree(tree):
                if model.conditionals[event.distribution].experts:
                    context = self.context(tree, event)
                    self.seen[event.distribution][context, event.outcome] += 1
                    if not minimal:
                        for length in range(len(context)):
                            self.seen[event.distribution][context[:length], event.outcome] += 1
        if minimal:
            # A coarser context counts one for each finer one that an outcome was seen in.
            for name, seen in self.seen.items():
                for length in range(model.conditionals[name].columns.shape[1], 0, -1):
                    finer = {
                        (context, outcome) for context, outcome in seen if len(context) == length
                    }
                    seen.update((context[:-1], outcome) for context, outcome in finer)

    def context(self, tree, event):
        return tuple(
            read(element, tree, event)
            for element in self.model.conditionals[event.distribution].experts[0]
        )

    def log_probability(self, tree, back_off):
        total = 0.0
        for event in events_of_tree(tree):
            if self.model.conditionals[event.distribution].experts:
                total += log(
                    back_off(self, event.distribution, self.context(tree, event), event.outcome)
                )
        return total

    def count(self, name, context, outcome):
        """How often an outcome, all outcomes, and how many different ones were seen in a
        context.
        """
        here = {dish: count for (where, dish), count in self.seen[name].items() if where == context}
        return here.get(outcome, 0), sum(here.values()), len(here)

    def base(self, name):
        return 1.0 / outcomes_of(self.model, name)


def eisner(estimate, name, context, outcome):
    """Raw counts, smoothed with 3 of the coarser context, and 0.5 of the uniform distribution at
    the end (Eisner 1996).
    """
    last = (
        len(estimate.model.conditionals[name].experts[0]) > 0
        and estimate.model.settings.uniform_roots
    )
    seen, total, _ = estimate.count(name, context, outcome)
    if len(context) == int(last):
        return (seen + COARSEST * estimate.base(name)) / (total + COARSEST)
    return (seen + FINER * eisner(estimate, name, context[:-1], outcome)) / (total + FINER)


def restaurants(estimate, name, context, outcome):
    """With one table for each outcome, under the model's discounts and strengths (Teh 2006,
    equation 5).
    """
    if (
        len(context) == 0
        and len(estimate.model.conditionals[name].experts[0]) > 0
        and estimate.model.settings.uniform_roots
    ):
        return estimate.base(name)
    above = restaurants(estimate, name, context[:-1], outcome) if context else estimate.base(name)
    seen, total, different = estimate.count(name, context, outcome)
    if total == 0:
        return above
    franchise = estimate.model.franchises[name]
    discount, strength = franchise.discount[len(context)], franchise.strength[len(context)]
    return (seen - discount * (seen > 0) + (strength + discount * different) * above) / (
        strength + total
    )


def assert_agrees(model, estimate, back_off):
    for tree in TREES + OTHERS:
        expected = estimate.log_probability(tree, back_off)
        for pools in (learning(model), model.frozen):
            found = tree_log_probabilities(pools, *arrays_of([tree])[:4], True)
            assert found.sum() == pytest.approx(expected, abs=20 * PRECISION)


def test_eisners_formula_on_three_words():
    lists = HeadOutwardContexts(tag=[["parent.tag", "direction"]], word=[["child.tag"]], case=[])
    seen = Tree([0, CASES, 0], [0, 1, 0], (1, NONE, 1), (NONE,) * 3)
    model = make_model(lists, [seen], sweeps=1, prior="eisner")
    asked = Tree([0, CASES], [0, 1], (NONE, 0), (NONE,) * 2)
    # ROOT has had a child of tag 1; of tags there are two, and STOP.
    root = 0.5 / 3 / 1.5
    # Parents of tag 0 have generated four STOPs, two of them on the left.
    other, stop = (0.5 / 3) / 4.5, (4 + 0.5 / 3) / 4.5
    tags = [
        (0 + 3 * root) / (1 + 3),
        (0 + 3 * other) / (2 + 3),
        (2 + 3 * stop) / (2 + 3),
        (2 + 3 * stop) / (2 + 3),
    ]
    # Parents of tag 1 have generated two children of tag 0 and two STOPs, one of each on either
    # side.
    stop = (2 + 0.5 / 3) / 4.5
    tags += [(1 + 3 * stop) / (2 + 3)] * 2
    words = [(2 + 0.5 / 2) / 2.5, (1 + 0.5 / 2) / 1.5]
    expected = sum(log(p) for p in tags + words)
    found = tree_log_probabilities(model.frozen, *arrays_of([asked])[:4], True)
    assert found.sum() == pytest.approx(expected, abs=20 * PRECISION)


@pytest.mark.parametrize("uniform_roots", [True, False])
def test_eisners_estimator_is_his_formula_on_raw_counts(uniform_roots):
    model = make_model(LISTS, TREES, prior="eisner", uniform_roots=uniform_roots)
    assert_agrees(model, Estimate(model, TREES), eisner)


@pytest.mark.parametrize("uniform_roots", [True, False])
@pytest.mark.parametrize("hyperparameters", ["fixed", "sampled"])
@pytest.mark.parametrize("prior", ["dirichlet", "pitman-yor"])
def test_minimal_paths_count_one_for_each_finer_context(prior, hyperparameters, uniform_roots):
    settings = {"prior": prior, "hyperparameters": hyperparameters, "uniform_roots": uniform_roots}
    model = make_model(LISTS, TREES, counts="minimal", **settings)
    assert_agrees(model, Estimate(model, TREES, minimal=True), restaurants)


def test_raw_counts_have_neither_seating_nor_hyperparameters_to_be_sampled():
    models = [
        make_model(
            LISTS,
            TREES,
            prior="eisner",
            counts=counts,
            hyperparameters=hyperparameters,
            discount=discount,
        )
        for counts, hyperparameters, discount in product(
            ("sampled", "minimal"), ("sampled", "fixed"), (0.2, 0.8)
        )
    ]
    found = [
        [
            tree_log_probabilities(model.frozen, *arrays_of([tree])[:4], True).sum()
            for tree in OTHERS
        ]
        for model in models
    ]
    assert all(values == found[0] for values in found)


def tiers_of(model, name):
    """Discounts and strengths by the length of the context."""
    return model.franchises[name].discount, model.franchises[name].strength


@pytest.mark.parametrize("counts", ["sampled", "minimal"])
@pytest.mark.parametrize("uniform_roots", [True, False])
def test_dirichlet_processes_have_no_discount_however_they_are_sampled(counts, uniform_roots):
    model = make_model(LISTS, TREES, prior="dirichlet", counts=counts, uniform_roots=uniform_roots)
    for name in ("tag", "word", "case", "distance", "label"):
        discount, strength = tiers_of(model, name)
        first = 1 if uniform_roots and name != "distance" else 0
        assert np.all(discount[first:] == 0.0)
        assert np.all(discount[:first] == 1.0)
        assert np.all(strength[first:] > 0.0)
        assert not {FINER, COARSEST} & set(strength[first:].tolist())


def test_discounts_and_strengths_of_pitman_yor_processes_are_sampled():
    model = make_model(LISTS, TREES)
    for name in ("tag", "word", "case", "distance", "label"):
        discount, strength = tiers_of(model, name)
        first = 0 if name == "distance" else 1
        assert np.all(
            (discount[first:] > 0.0) & (discount[first:] < 1.0) & (discount[first:] != 0.5)
        )
        assert not {FINER, COARSEST} & set(strength[first:].tolist())


@pytest.mark.parametrize(("prior", "discount"), [("pitman-yor", 0.3), ("dirichlet", 0.0)])
def test_fixed_hyperparameters_are_those_of_the_settings_and_eisners_constants(prior, discount):
    model = make_model(LISTS, TREES, prior=prior, hyperparameters="fixed", discount=0.3)
    expected = {
        "tag": ([1.0, *[discount] * 3], [0.0, COARSEST, FINER, FINER]),
        "word": ([1.0, *[discount] * 2], [0.0, COARSEST, FINER]),
        "case": ([1.0, discount], [0.0, COARSEST]),
        "distance": ([discount], [COARSEST]),
    }
    for name, tiers in expected.items():
        assert tuple(part.tolist() for part in tiers_of(model, name)) == tiers


@pytest.mark.parametrize("prior", ["eisner", "dirichlet", "pitman-yor"])
@pytest.mark.parametrize("counts", ["sampled", "minimal"])
def test_the_first_back_off_is_uniform_where_roots_are(prior, counts):
    # A tag that was never seen has no words, whatever the other one has.
    trees = [
        Tree([0] * len(tree.tags), [0] * len(tree.tags), tree.heads, tree.labels) for tree in TREES
    ]
    asked = Tree([CASES], [1], (NONE,), (NONE,))
    word = next(event for event in events_of_tree(asked) if event.distribution == "word")
    for uniform_roots in (True, False):
        model = make_model(LISTS, trees, prior=prior, counts=counts, uniform_roots=uniform_roots)
        found = probability(model, asked, word)
        assert (found == pytest.approx(1 / 2)) == uniform_roots
