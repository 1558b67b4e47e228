"""Context elements and the events of trees, compared with their definition in plain Python."""

from collections import Counter

import numpy as np
import pytest
from compiling import compiled
from seating import context_of
from small_models import (
    MODELS,
    NULL,
    ROOT,
    STOP,
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
from spacy_hpyp.head_outward.contexts import (
    DISTRIBUTIONS,
    ELEMENTS,
    LABEL,
    TAG,
    HeadOutwardContexts,
    compile_contexts,
    conditionals,
    events_of,
    unchartable,
    with_classes,
)
from spacy_hpyp.hpyp.franchise import N_SERVINGS
from spacy_hpyp.text.elements import reads_classes

events_of = compiled(events_of)

#: Elements that read no classes.
PLAIN = {name: element for name, element in ELEMENTS.items() if not reads_classes([name])}


#: A word with children on both sides at all distances, and random trees.
FLAT = Tree(
    [i % 8 for i in range(18)],
    [i // 2 % 2 for i in range(18)],
    [NONE if i == 8 else 8 for i in range(18)],
    [NONE if i == 8 else 0 for i in range(18)],
)
TREES = [FLAT, *random_trees(20, seed=4, lengths=(1, 4, 6), labels=1)]


def found_in(model, name, trees):
    """Each event's outcome and its context under each expert, according to the package."""
    pool, sentences = getattr(learning(model), name), arrays_of(trees)
    for start, end in zip(sentences.offsets, sentences.offsets[1:]):
        parts = (part[start:end] for part in sentences[:4])
        events = events_of(pool, DISTRIBUTIONS.index(name), *parts, model.symbols)
        count = events.count[0]
        for dish, places in zip(events.dish[:count].tolist(), events.restaurants[:count]):
            yield (dish, *(context_of(pool.experts, place)[1] for place in places))


def read_all(lists, distribution):
    """The model, the symbols that one-element experts read at the events of `TREES` (events,
    experts), and the outcomes.
    """
    given = {"tag": [[]], "word": [], "case": [], DISTRIBUTIONS[distribution]: lists}
    model = make_model(HeadOutwardContexts(**given))
    found = [*found_in(model, DISTRIBUTIONS[distribution], TREES)]
    return model, [sum(contexts, ()) for _, *contexts in found], [dish for dish, *_ in found]


@pytest.mark.parametrize("distribution", [TAG, LABEL])
def test_every_element_matches_the_reference_reader(distribution):
    names = [name for name, (_, _, first) in PLAIN.items() if first <= distribution]
    model, found, outcomes = read_all([[name] for name in names], distribution)
    events = [
        (tree, event)
        for tree in TREES
        for event in events_of_tree(tree)
        if event.distribution == DISTRIBUTIONS[distribution]
    ]
    for symbols, outcome, (tree, event) in zip(found, outcomes, events, strict=True):
        expected = {name: number(name, read(name, tree, event), model) for name in names}
        assert dict(zip(names, symbols)) == expected
        assert event.outcome in (outcome, STOP)


@pytest.mark.parametrize(
    "names",
    [
        ["parent.word", "parent.case"],
        ["direction", "parent.tag", "sibling.distance"],
        ["grandparent.direction", "child.children", "distance", "child.left.word"],
    ],
)
def test_joined_elements_number_each_combination(names):
    _, found, _ = read_all([[name] for name in names] + [["+".join(names)]], LABEL)
    apart, joined = [row[:-1] for row in found], [row[-1] for row in found]
    assert len(set(apart)) > 2
    assert len(set(apart)) == len(set(joined)) == len(set(zip(apart, joined)))


def test_experts_share_elements_and_keep_their_back_off_order():
    lists = [["child.tag", "parent.tag"], ["direction"], ["parent.tag", "child.tag", "direction"]]
    elements, columns, gates = compile_contexts(lists, "word", ["child.tag", "sibling.tag"])
    assert columns.tolist() == [[0, 1, NONE], [2, NONE, NONE], [1, 0, 2]]
    assert gates.tolist() == [0, 3]
    expected = [
        ELEMENTS[name][:2] for name in ("child.tag", "parent.tag", "direction", "sibling.tag")
    ]
    assert [tuple(row[:2]) for row in elements.tolist()] == expected
    assert np.all(elements[:, 2:] == NONE)


def test_elements_are_available_once_they_are_generated():
    for name, (_, _, first) in ELEMENTS.items():
        for place, distribution in enumerate(DISTRIBUTIONS):
            if place >= first:
                compile_contexts([[name]], distribution)
            else:
                with pytest.raises(ValueError, match="not generated before"):
                    compile_contexts([[name]], distribution)
    # A child's tag is generated first, then its word, then its case.
    assert [ELEMENTS[f"child.{what}"][2] for what in ("tag", "word", "case", "children")] == [
        1,
        2,
        3,
        4,
    ]


def test_words_without_a_class_are_their_own_class():
    elements, _, _ = compile_contexts([["parent.class", "sibling.class:2", "parent.word"]], "tag")
    # Two words, ROOT, and a missing word.
    fine, coarse, word = with_classes(elements, ["0110", ""])[:, elements.shape[1] :].tolist()
    assert [fine, coarse] == [[4, 1, 2, 3], [5, 1, 2, 3]]
    assert not any(word)
    assert with_classes(elements[2:], ["0110", ""]).shape == (1, 8)


@pytest.mark.parametrize(
    ("lists", "problem"),
    [
        ({"tag": [["grandparent.tag"]]}, "'tag' reads the grandparent"),
        (
            {"word": [["child.tag"], ["direction+grandparent.direction"]]},
            "'word' reads the grandparent",
        ),
        ({"children": [[]]}, "'children' are generated"),
        ({"distance": [["child.tag", "grandparent.case"]]}, "'distance' reads the grandparent"),
        ({"label": [["grandparent.tag", "child.children", "child.left.tag"]]}, None),
        ({"distance": [["sibling.word", "sibling.distance"]]}, None),
    ],
)
def test_contexts_unsuitable_for_a_chart_are_reported(lists, problem):
    given = {"tag": [["parent.tag"]], "word": [], "case": [], **lists}
    assert unchartable(conditionals(HeadOutwardContexts(**given))) == problem


# The events of a tree, and their seating.

MANY_TREES = random_trees(40, seed=3, lengths=(1, 2, 4, 6))


def customers_of(model, name, tree):
    """Each event's outcome and its context under each expert, by definition."""
    for event in events_of_tree(tree):
        if event.distribution == name:
            outcome = outcomes_of(model, name) - 1 if event.outcome == STOP else event.outcome
            contexts = (
                tuple(number(element, read(element, tree, event), model) for element in expert)
                for expert in model.conditionals[name].experts
            )
            yield outcome, *contexts


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
        expected = [customer for tree in MANY_TREES for customer in customers_of(model, name, tree)]
        experts = model.conditionals[name].experts
        assert Counter(found_in(model, name, MANY_TREES)) == (
            Counter(expected) if experts else Counter()
        )
        assert len(expected) > 0


@pytest.mark.parametrize("kind", MODELS)
def test_every_event_is_seated_with_all_experts(kind):
    model = make_model(MODELS[kind], MANY_TREES, sweeps=2)
    for name, franchise in model.franchises.items():
        expected, found = Counter(), Counter()
        for tree in MANY_TREES:
            for outcome, *contexts in customers_of(model, name, tree):
                expected.update((m, context, outcome) for m, context in enumerate(contexts))
        lengths = [len(expert) for expert in model.conditionals[name].experts]
        for serving in franchise.servings[: franchise.used[N_SERVINGS]]:
            restaurant, dish, served = serving[:3].tolist()
            expert, context = context_of(franchise, restaurant)
            if len(context) == lengths[expert] and served > 0:
                found[expert, context, dish] += served
        assert found == expected
