"""Steps over latent derivations preserve the enumerated posterior, in which the events of a
sentence depend on each other.
"""

import itertools
from functools import cache
from math import exp

import numpy as np
import pytest
from compiling import compiled
from seating import context_of
from test_enumeration import POOLS, Counter, make_model, random_model, sentences_of
from test_franchise import enumerate_seatings
from test_gibbs import add, without_sentences
from total_variation import total_variation
from transitions import integers

from spacy_hpyp.arc_standard.distributions import (
    DISTRIBUTIONS,
    ContextLists,
    Derivations,
    events_of,
    static_derivations,
)
from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.count_model import no_gradient

events_of = compiled(events_of)

#: The second word has a dependent on each side, so that the tree has two derivations.
WORDS, TAGS, HEADS = [0, 1, 0], [0, 1, 0], [1, NONE, 1]
STEPS = 6_000
#: The two derivations differ in their contexts below the top of the stack.
SMALL = ContextLists(transition=[["s2.tag"]], label=[], tag=[["s2.tag"]], word=[["next.tag"]])


def all_derivations(model, words, tags, heads, given_tree):
    """Actions and tags of all derivations of the words, or of the tree."""
    counter, n = Counter(model), len(words)
    return [
        sum(counter.path(last, n), ())
        for _, last in counter.derivations(n, words)
        if not given_tree or counter.tree(last, n)[:2] == (tags, heads)
    ]


def run(model, rows, given_trees):
    """The derivations of all sentences after each step."""
    derivations, rng, visited = static_derivations(rows), np.random.default_rng(5), []
    seated = np.ones(len(rows.offsets) - 1, dtype=bool)
    for _ in range(STEPS):
        model.latent_step(rows, derivations, seated, rng, given_trees=given_trees, particles=3)
        parts = (
            np.split(derivations.actions, 2 * rows.offsets[1:-1]),
            np.split(derivations.tags, rows.offsets[1:-1]),
        )
        visited.append(tuple((*actions.tolist(), *tags.tolist()) for actions, tags in zip(*parts)))
    return visited


class Marginal:
    """The probability of derivations, summed over all seatings of their customers."""

    def __init__(self, model):
        self.model = model

    def __call__(self, words, paths):
        probability = 1.0
        for name in DISTRIBUTIONS:
            of_each = (self.customers(name, tuple(one), path) for one, path in zip(words, paths))
            customers = tuple(sorted(itertools.chain(*of_each)))
            probability *= self.of_customers(name, customers)
        return probability

    @cache  # noqa: B019
    def customers(self, name, words, path):
        pool = self.model.pool(
            name, self.model.weights[name], no_gradient(self.model.weights)[name], 1000
        )
        number, n = DISTRIBUTIONS.index(name), len(words)
        path = integers(path)
        events = events_of(pool, number, False, integers(words), path[2 * n :], path[: 2 * n])
        return [
            (context_of(pool.experts, events.restaurants[i, 0])[1], int(events.dish[i]))
            for i in range(events.count[0])
        ]

    @cache  # noqa: B019
    def of_customers(self, name, customers):
        return sum(enumerate_seatings(customers, self.model.sizes[name]).values())


@pytest.mark.parametrize("given_tree", [True, False])
def test_derivations_are_visited_as_often_as_the_posterior_predicts(given_tree):
    # Only these sentences are seated, so that their contexts hold mostly their own events.
    sentences = [
        (WORDS, TAGS, HEADS),
        ([0, 0], [0, 0], [1, NONE]) if given_tree else ([0], [0], [NONE]),
    ]
    model = without_sentences(make_model(SMALL))
    marginal = Marginal(without_sentences(make_model(SMALL)))
    rows = sentences_of(*sentences)
    paths = [all_derivations(make_model(SMALL), *sentence, given_tree) for sentence in sentences]
    words = [sentence[0] for sentence in sentences]
    exact = {both: marginal(words, both) for both in itertools.product(*paths)}
    exact = {both: probability / sum(exact.values()) for both, probability in exact.items()}
    add(model, rows, 3)
    visited = run(model, rows, given_tree)
    distance, limit = total_variation(visited, exact)
    assert len(exact) == (2 if given_tree else 128)
    assert distance < limit
    # Some of the new derivations are not accepted.
    assert 0 < model.draws[1] < model.draws[0] <= 2 * STEPS


@pytest.mark.parametrize("given_tree", [True, False])
def test_derivations_among_other_sentences_are_visited_as_often_as_predicted(given_tree):
    name = "directions and labels"
    # With at most one table, the seating of the other sentences is known.
    model = random_model(name, one_table=True)
    rows = sentences_of((WORDS, TAGS, HEADS))
    exact, seatings = {}, {}
    for path in all_derivations(model, WORDS, TAGS, HEADS, given_tree):
        trial = random_model(name, one_table=True)
        new = Derivations(integers(path[:6]), integers(path[6:]))
        found, _ = trial.gibbs_step(rows, new, np.array([False]), np.random.default_rng(0))
        exact[(path,)], seatings[(path,)] = exp(sum(found.values())), trial.pack()
    exact = {path: probability / sum(exact.values()) for path, probability in exact.items()}
    add(model, rows, 3)
    visited = run(model, rows, given_tree)
    distance, limit = total_variation(visited, exact)
    assert distance < limit
    # Rejected derivations leave no trace.
    assert model.pack() == seatings[visited[-1]]


def test_derivations_that_contradict_the_seating_raise_an_error():
    model = make_model(POOLS["the paper's"])
    rows = sentences_of((WORDS, TAGS, HEADS))
    add(model, rows, 3)
    other = static_derivations(rows)
    other = other._replace(tags=1 - other.tags)
    with pytest.raises(ValueError, match="do not belong together"):
        model.latent_step(
            rows, other, np.array([True]), np.random.default_rng(0), given_trees=True, particles=3
        )
