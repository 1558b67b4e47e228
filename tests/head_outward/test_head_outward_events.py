"""The events of a tree compared with their definition in plain Python, and their seating."""

from collections import Counter

import pytest
from compiling import compiled
from seating import context_of
from small_models import (
    EXPERTS,
    GRANDPARENTS,
    NULL,
    PAPER,
    ROOT,
    STOP,
    WITHOUT_SIBLINGS,
    Event,
    Tree,
    arrays_of,
    events_of_tree,
    learning,
    make_model,
    number,
    outcomes_of,
    random_trees,
    read,
)

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import DISTRIBUTIONS, events_of
from spacy_hpyp.hpyp.franchise import N_SERVINGS

events_of = compiled(events_of)

MODELS = {
    "paper": PAPER,
    "without siblings": WITHOUT_SIBLINGS,
    "experts": EXPERTS,
    "grandparents": GRANDPARENTS,
}
TREES = random_trees(40, seed=3, lengths=(1, 2, 4, 6))


def customers_of(model, name, tree):
    """Each event's outcome and its context under each expert, by definition."""
    for event in events_of_tree(tree):
        if event.distribution == name:
            outcome = outcomes_of(model, name) - 1 if event.outcome == STOP else event.outcome
            experts = model.conditionals[name].experts
            yield (
                outcome,
                *(
                    tuple(number(e, read(e, tree, event), model) for e in expert)
                    for expert in experts
                ),
            )


def found_in(model, name, trees):
    """The same customers according to the package."""
    pool, sentences = getattr(learning(model), name), arrays_of(trees)
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        parts = (part[start:end] for part in sentences[:4])
        events = events_of(pool, DISTRIBUTIONS.index(name), *parts, model.symbols)
        count = events.count[0]
        for dish, places in zip(events.dish[:count].tolist(), events.restaurants[:count]):
            yield (dish, *(context_of(pool.experts, place)[1] for place in places))


def test_a_handmade_tree_has_the_expected_events():
    tree = Tree([4, 1, 0], [0, 1, 0], [1, NONE, 1], [1, NONE, 0])
    assert [event for event in events_of_tree(tree) if event.distribution == "tag"] == [
        Event("tag", 0, 1, NULL, 0, 0),
        Event("tag", 1, ROOT, NULL, 1, 1),
        Event("tag", 0, 1, NULL, 2, 1),
        Event("tag", STOP, 0, NULL, NULL, 0),
        Event("tag", STOP, 0, NULL, NULL, 1),
        Event("tag", STOP, 1, 0, NULL, 0),
        Event("tag", STOP, 1, 2, NULL, 1),
        Event("tag", STOP, 2, NULL, NULL, 0),
        Event("tag", STOP, 2, NULL, NULL, 1),
    ]


@pytest.mark.parametrize("kind", MODELS)
def test_events_match_the_definition(kind):
    model = make_model(MODELS[kind])
    for name in DISTRIBUTIONS:
        expected = [customer for tree in TREES for customer in customers_of(model, name, tree)]
        experts = model.conditionals[name].experts
        assert Counter(found_in(model, name, TREES)) == (
            Counter(expected) if experts else Counter()
        )
        assert len(expected) > 0


@pytest.mark.parametrize("kind", MODELS)
def test_every_event_is_seated_with_all_experts(kind):
    model = make_model(MODELS[kind], TREES, sweeps=2)
    for name, franchise in model.franchises.items():
        expected, found = Counter(), Counter()
        for tree in TREES:
            for outcome, *contexts in customers_of(model, name, tree):
                expected.update((m, context, outcome) for m, context in enumerate(contexts))
        lengths = [len(expert) for expert in model.conditionals[name].experts]
        for serving in franchise.servings[: franchise.used[N_SERVINGS]]:
            restaurant, dish, served = serving[:3].tolist()
            expert, context = context_of(franchise, restaurant)
            if len(context) == lengths[expert] and served > 0:
                found[expert, context, dish] += served
        assert found == expected
