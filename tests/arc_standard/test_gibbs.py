"""Gibbs steps over sentences preserve the enumerated distribution of seatings, also with several
events of a sentence in one restaurant.
"""

import numpy as np
import pytest
from compiling import compiled
from seating import context_of, squared_sizes
from test_enumeration import POOLS, make_model, sentences_of, with_random_weights
from test_franchise import DISCOUNT, STRENGTH, enumerate_seatings
from total_variation import total_variation

from spacy_hpyp.arc_standard.derivations import tree_log_probs
from spacy_hpyp.arc_standard.distributions import (
    DISTRIBUTIONS,
    ContextLists,
    events_of,
    static_derivations,
)
from spacy_hpyp.compiled import jit
from spacy_hpyp.hpyp.count_model import no_gradient
from spacy_hpyp.hpyp.franchise import N_SERVINGS, NONE, RESTAURANT, new_franchise
from spacy_hpyp.hpyp.gibbs import gibbs_sweep

events_of = compiled(events_of)

#: One sentence with five tags, words and labels in few restaurants.
WORDS, TAGS, HEADS = [0, 1, 0, 0, 1], [0, 1, 0, 0, 1], [1, NONE, 1, 1, 1]
STEPS = 20_000
CONTEXTS = {
    "plain": ContextLists(
        transition=[[]], label=[], tag=[["s1.tag"]], word=[["next.tag", "s1.tag"]]
    ),
    "pools": ContextLists(
        transition=[["s1.tag"], []],
        label=[["next.direction"], []],
        tag=[["s1.tag"], ["w1.tag", "w2.tag"]],
        word=[["next.tag"], ["s1.tag"]],
    ),
}


def without_sentences(model):
    """Empty the seating of a model, and set hyperparameters known to the enumeration."""
    for name, size in model.sizes.items():
        franchise = new_franchise(model.conditionals[name].columns, size)
        experts, depth = franchise.columns.shape
        franchise.discount[:] = np.tile(DISCOUNT[: depth + 1], experts)
        franchise.strength[:] = np.tile(STRENGTH[: depth + 1], experts)
        model.franchises[name] = franchise
    return model


def add(model, rows, seed):
    """Add sentences to the seating."""
    seated = np.zeros(len(rows.offsets) - 1, dtype=bool)
    model.gibbs_step(rows, static_derivations(rows), seated, np.random.default_rng(seed))


def model_with_one_sentence(contexts):
    model = without_sentences(with_random_weights(make_model(contexts)))
    rows = sentences_of((WORDS, TAGS, HEADS))
    add(model, rows, 0)
    return model, rows


@jit
def run(pool, generated, seated, steps, rng):
    """Run Gibbs steps. Return the sum of squared table sizes of every serving after each step,
    which distinguishes partitions.
    """
    franchise = pool.experts
    squares = np.zeros((steps, franchise.used[N_SERVINGS]), dtype=np.int64)
    for i in range(steps):
        gibbs_sweep(pool, generated, seated, rng)
        squared_sizes(franchise, squares[i])
    return squares


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("kind", CONTEXTS)
def test_seatings_are_visited_as_often_as_enumeration_predicts(kind, name):
    if (kind, name) == ("plain", "label"):
        pytest.skip("there is no such distribution")
    model, rows = model_with_one_sentence(CONTEXTS[kind])
    pool = model.pool(name, model.weights[name], no_gradient(model.weights)[name], 1000)
    derivations = static_derivations(rows)
    generated = model.generated(name, rows, derivations)
    squares = run(pool, generated, np.array([True]), STEPS, np.random.default_rng(7))

    events = events_of(pool, *generated[:3], rows.tags, derivations.actions)
    franchise, count = pool.experts, events.count[0]
    assert 4 <= count
    for expert in range(events.restaurants.shape[1]):
        customers = [
            (context_of(franchise, events.restaurants[i, expert])[1], int(events.dish[i]))
            for i in range(count)
        ]
        reached = enumerate_seatings(customers, model.sizes[name])
        found = [
            context_of(franchise, row[RESTAURANT])
            for row in franchise.servings[: franchise.used[N_SERVINGS]]
        ]
        mine = [serving for serving, (root, _) in enumerate(found) if root == expert]
        keys = [(found[serving][1], int(franchise.servings[serving, 1])) for serving in mine]
        exact = {}
        for seating, value in reached.items():
            sizes = dict(seating)
            state = tuple(sum(size**2 for size in sizes[key]) for key in keys)
            exact[state] = exact.get(state, 0.0) + value / sum(reached.values())
        distance, limit = total_variation([tuple(row) for row in squares[:, mine].tolist()], exact)
        assert distance < limit


@pytest.mark.parametrize("name", POOLS)
def test_a_held_out_copy_predicts_without_the_held_out_sentences(name):
    model, rows = make_model(POOLS[name]), sentences_of((WORDS, TAGS, HEADS))
    for i in range(20):
        add(model, rows, i)
    before, predicted = model.pack(), tree_log_probs(model.frozen, rows).log_prob
    several, too_many = (sentences_of(*[(WORDS, TAGS, HEADS)] * count) for count in (8, 21))
    others = model.held_out_copy(several, np.random.default_rng(1))
    assert tree_log_probs(others.frozen, rows).log_prob < predicted
    with pytest.raises(ValueError, match="cannot be removed"):
        model.held_out_copy(too_many, np.random.default_rng(1))
    assert model.pack() == before
    assert tree_log_probs(model.frozen, rows).log_prob == predicted


def test_an_interrupt_during_loading_loses_nothing(monkeypatch):
    model, rows = make_model(POOLS["the paper's"]), sentences_of((WORDS, TAGS, HEADS))
    add(model, rows, 0)
    before, loaded = model.pack(), model.from_bytes(model.to_bytes())
    of_each = loaded._of_each

    def interrupted(make):
        yield from of_each(make)
        raise KeyboardInterrupt

    monkeypatch.setattr(loaded, "_of_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loaded.franchises  # noqa: B018
    monkeypatch.undo()
    assert loaded.pack() == before
    add(loaded, rows, 1)
    assert loaded.pack() != before
