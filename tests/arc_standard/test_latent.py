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
from test_enumeration import POOLS, Counter, make_model, with_random_weights
from test_franchise import enumerate_seatings
from test_gibbs import without_sentences
from total_variation import total_variation

from spacy_hpyp.annotation.sentences import join
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


def rows_of(*sentences):
    return join(
        [
            np.array(
                [words, tags, heads, [NONE if h == NONE else 0 for h in heads]], dtype=np.int32
            )
            for words, tags, heads in sentences
        ]
    )


def all_derivations(model, words, tags, heads, given_tree):
    """Actions and tags of all derivations of the words, or of the tree."""
    counter, n = Counter(model), len(words)
    return [
        sum(counter.path(last, n), ())
        for _, last in counter.derivations(n, words)
        if not given_tree or counter.tree(last, n)[:2] == (tags, heads)
    ]


def run(model, rows, given_trees, steps=STEPS):
    """The derivations of all sentences after each step."""
    derivations, rng, visited = static_derivations(rows), np.random.default_rng(5), []
    seated = np.ones(len(rows.offsets) - 1, dtype=bool)
    for _ in range(steps):
        model.latent_step(rows, derivations, seated, rng, given_trees=given_trees, particles=3)
        visited.append(
            tuple(
                (
                    *derivations.actions[2 * start : 2 * end].tolist(),
                    *derivations.tags[start:end].tolist(),
                )
                for start, end in itertools.pairwise(rows.offsets.tolist())
            )
        )
    return visited


class Marginal:
    """The probability of derivations, summed over all seatings of their customers."""

    def __init__(self, model):
        self.model = model

    def __call__(self, words, paths):
        probability = 1.0
        for name in DISTRIBUTIONS:
            pairs = zip(words, paths)
            customers = [
                customer
                for pair in pairs
                for customer in self.customers(name, tuple(pair[0]), pair[1])
            ]
            probability *= self.of_customers(name, tuple(sorted(customers)))
        return probability

    @cache  # noqa: B019
    def customers(self, name, words, path):
        pool = self.model.pool(
            name, self.model.weights[name], no_gradient(self.model.weights)[name], 1000
        )
        number, n = DISTRIBUTIONS.index(name), len(words)
        path = np.array(path, dtype=np.int32)
        events = events_of(
            pool, number, False, np.array(words, dtype=np.int32), path[2 * n :], path[: 2 * n]
        )
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
    rows = rows_of(*sentences)
    paths = [all_derivations(make_model(SMALL), *sentence, given_tree) for sentence in sentences]
    words = [sentence[0] for sentence in sentences]
    exact = {both: marginal(words, both) for both in itertools.product(*paths)}
    exact = {both: probability / sum(exact.values()) for both, probability in exact.items()}
    model.gibbs_step(
        rows, static_derivations(rows), np.array([False, False]), np.random.default_rng(3)
    )
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
    model = with_random_weights(make_model(POOLS[name], one_table=True))
    rows = rows_of((WORDS, TAGS, HEADS))
    exact, seatings = {}, {}
    for path in all_derivations(model, WORDS, TAGS, HEADS, given_tree):
        trial = with_random_weights(make_model(POOLS[name], one_table=True))
        new = Derivations(*(np.array(part, dtype=np.int32) for part in (path[:6], path[6:])))
        found, _ = trial.gibbs_step(rows, new, np.array([False]), np.random.default_rng(0))
        exact[(path,)], seatings[(path,)] = exp(sum(found.values())), trial.pack()
    exact = {path: probability / sum(exact.values()) for path, probability in exact.items()}
    model.gibbs_step(rows, static_derivations(rows), np.array([False]), np.random.default_rng(3))
    visited = run(model, rows, given_tree)
    distance, limit = total_variation(visited, exact)
    assert distance < limit
    # Rejected derivations leave no trace.
    assert model.pack() == seatings[visited[-1]]


def test_derivations_that_contradict_the_seating_raise_an_error():
    model = make_model(POOLS["the paper's"])
    rows = rows_of((WORDS, TAGS, HEADS))
    derivations = static_derivations(rows)
    model.gibbs_step(rows, derivations, np.array([False]), np.random.default_rng(3))
    other = Derivations(derivations.actions, (1 - derivations.tags).astype(np.int32))
    with pytest.raises(ValueError, match="do not belong together"):
        model.latent_step(
            rows, other, np.array([True]), np.random.default_rng(0), given_trees=True, particles=3
        )
