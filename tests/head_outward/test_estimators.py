"""Estimators by settings, each compared with its formula in plain Python on handmade counts."""

from collections import Counter
from math import log

import numpy as np
import pytest
from seating import PRECISION
from small_models import arrays_of, events_of_tree, make_model, outcomes_of, random_trees, read

from spacy_hpyp.head_outward.contexts import DISTRIBUTIONS, HeadOutwardContexts
from spacy_hpyp.head_outward.parsing import tree_log_probabilities

LISTS = HeadOutwardContexts(
    tag=[["direction+parent.tag", "sibling.tag", "parent.word"]],
    word=[["child.tag", "parent.word+parent.case"]],
    case=[["child.word"]],
    distance=[[]],
    label=[["child.tag", "direction"]],
)
#: Trees with known contexts, and other trees.
TREES = random_trees(12, seed=2)
OTHERS = random_trees(30, seed=9)
#: Eisner's constants.
FINER, COARSEST = 3.0, 0.5


class Estimate:
    """Probabilities from the counts of some trees, backing off from each context to the context
    that is one element shorter.

    model (HeadOutwardModel): The source of context lists and hyperparameters.
    trees (list[Tree]): The observed trees.
    minimal (bool): Whether coarser contexts count finer contexts instead of observations.
    """

    def __init__(self, model, trees, minimal=False):
        self.model = model
        self.seen = {name: Counter() for name in DISTRIBUTIONS}
        for tree in trees:
            for name, context, outcome in self.events(tree):
                for length in range(len(context) if minimal else 0, len(context) + 1):
                    self.seen[name][context[:length], outcome] += 1
        if minimal:
            # A coarser context counts each finer context of an outcome once.
            for name, seen in self.seen.items():
                for length in range(model.conditionals[name].columns.shape[1], 0, -1):
                    finer = {
                        (context, outcome) for context, outcome in seen if len(context) == length
                    }
                    seen.update((context[:-1], outcome) for context, outcome in finer)

    def events(self, tree):
        """Yield the distribution, the context and the outcome of each event."""
        for event in events_of_tree(tree):
            for expert in self.model.conditionals[event.distribution].experts:
                context = tuple(read(element, tree, event) for element in expert)
                yield event.distribution, context, event.outcome

    def log_probability(self, tree, back_off):
        return sum(log(back_off(self, *event)) for event in self.events(tree))

    def count(self, name, context, outcome):
        """The counts of an outcome, of all outcomes, and of different outcomes in a context."""
        here = {dish: count for (where, dish), count in self.seen[name].items() if where == context}
        return here.get(outcome, 0), sum(here.values()), len(here)

    def base(self, name):
        return 1.0 / outcomes_of(self.model, name)

    def coarsest(self, name):
        """The length of the shortest context that counts."""
        return int(
            self.model.settings.uniform_roots and len(self.model.conditionals[name].experts[0]) > 0
        )


def eisner(estimate, name, context, outcome):
    """Raw counts, smoothed with 3 times the coarser context and finally 0.5 times the uniform
    distribution (Eisner 1996).
    """
    seen, total, _ = estimate.count(name, context, outcome)
    if len(context) == estimate.coarsest(name):
        return (seen + COARSEST * estimate.base(name)) / (total + COARSEST)
    return (seen + FINER * eisner(estimate, name, context[:-1], outcome)) / (total + FINER)


def restaurants(estimate, name, context, outcome):
    """One table for each outcome, with the model's discounts and strengths (Teh 2006, equation
    5).
    """
    if len(context) < estimate.coarsest(name):
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


def found_by(model, tree):
    return tree_log_probabilities(model.frozen, *arrays_of([tree])[:4], True)


def assert_agrees(model, estimate, back_off):
    for tree in TREES + OTHERS:
        expected = estimate.log_probability(tree, back_off)
        assert found_by(model, tree).sum() == pytest.approx(expected, abs=20 * PRECISION)


@pytest.mark.parametrize("uniform_roots", [True, False])
def test_eisners_estimator_matches_his_formula_on_raw_counts(uniform_roots):
    model = make_model(LISTS, TREES, prior="eisner", uniform_roots=uniform_roots)
    assert_agrees(model, Estimate(model, TREES), eisner)


@pytest.mark.parametrize(
    ("prior", "hyperparameters", "uniform_roots"),
    [
        ("dirichlet", "sampled", True),
        ("pitman-yor", "fixed", False),
        ("pitman-yor", "sampled", True),
    ],
)
def test_minimal_paths_count_each_finer_context_once(prior, hyperparameters, uniform_roots):
    settings = {"prior": prior, "hyperparameters": hyperparameters, "uniform_roots": uniform_roots}
    model = make_model(LISTS, TREES, counts="minimal", **settings)
    assert_agrees(model, Estimate(model, TREES, minimal=True), restaurants)


def test_raw_counts_ignore_seating_and_hyperparameters():
    given = (("sampled", "sampled", 0.2), ("minimal", "fixed", 0.8))
    first, second = (
        make_model(LISTS, TREES, prior="eisner", counts=c, hyperparameters=h, discount=d)
        for c, h, d in given
    )
    for tree in OTHERS:
        assert np.array_equal(found_by(first, tree), found_by(second, tree))


def tiers_of(model, name):
    """Discounts and strengths by context length."""
    return model.franchises[name].discount, model.franchises[name].strength


@pytest.mark.parametrize("prior", ["dirichlet", "pitman-yor"])
@pytest.mark.parametrize("uniform_roots", [True, False])
def test_hyperparameters_are_sampled_and_dirichlet_processes_have_no_discount(prior, uniform_roots):
    model = make_model(LISTS, TREES, prior=prior, uniform_roots=uniform_roots)
    for name in ("tag", "word", "case", "distance", "label"):
        discount, strength = tiers_of(model, name)
        first = 1 if uniform_roots and name != "distance" else 0
        assert np.all(discount[:first] == 1.0)
        sampled = discount[first:]
        if prior == "dirichlet":
            assert np.all(sampled == 0.0)
            assert np.all(strength[first:] > 0.0)
        else:
            assert np.all((sampled > 0.0) & (sampled < 1.0) & (sampled != 0.5))
        assert not {FINER, COARSEST} & set(strength[first:].tolist())


@pytest.mark.parametrize(("prior", "discount"), [("pitman-yor", 0.3), ("dirichlet", 0.0)])
def test_fixed_hyperparameters_come_from_settings_and_eisners_constants(prior, discount):
    model = make_model(LISTS, TREES, prior=prior, hyperparameters="fixed", discount=0.3)
    expected = {
        "tag": ([1.0, *[discount] * 3], [0.0, COARSEST, FINER, FINER]),
        "word": ([1.0, *[discount] * 2], [0.0, COARSEST, FINER]),
        "case": ([1.0, discount], [0.0, COARSEST]),
        "distance": ([discount], [COARSEST]),
    }
    for name, tiers in expected.items():
        assert tuple(part.tolist() for part in tiers_of(model, name)) == tiers
