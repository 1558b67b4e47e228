"""Context elements compared with a reference reader on random trees."""

import numpy as np
import pytest
from compiling import compiled
from small_models import (
    STOP,
    Tree,
    arrays_of,
    events_of_tree,
    learning,
    make_model,
    number,
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
from spacy_hpyp.hpyp.franchise import SYMBOL
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


def read_all(lists, distribution, trees=TREES):
    """The model, the symbols that one-element experts read at the events of trees (events,
    experts), and the outcomes.
    """
    given = {"tag": [[]], "word": [], "case": [], DISTRIBUTIONS[distribution]: lists}
    model = make_model(HeadOutwardContexts(**given))
    pool, symbols, dishes = getattr(learning(model), DISTRIBUTIONS[distribution]), [], []
    for tree in trees:
        sentence = arrays_of([tree])
        events = events_of(pool, distribution, *sentence[:4], model.symbols)
        places = events.restaurants[: events.count[0]]
        symbols += pool.experts.restaurants[places, SYMBOL].tolist()
        dishes += events.dish[: events.count[0]].tolist()
    return model, symbols, dishes


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
    apart, joined = [tuple(row[:-1]) for row in found], [row[-1] for row in found]
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
