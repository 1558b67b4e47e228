"""Context elements, read off a tree that is made by hand."""

from itertools import product

import numpy as np
import pytest
from compiling import compiled
from small_models import NULL, PAPER, ROOT, STOP, Tree, arrays_of, learning, make_model, number

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.contexts import (
    DISTRIBUTIONS,
    ELEMENTS,
    LABEL,
    TAG,
    HeadOutwardContexts,
    compile_contexts,
    conditionals,
    unchartable,
    with_classes,
)
from spacy_hpyp.head_outward.events import events_of
from spacy_hpyp.hpyp.franchise import SYMBOL
from spacy_hpyp.text.elements import reads_classes

events_of = compiled(events_of)

#: Word 1 has the children 0, 2, 3, 4 and 9, word 4 has 7, and 7 has 5, 6 and 8; the other words
#: have none.
HEADS = (1, NONE, 1, 1, 1, 7, 7, 4, 7, 1)
TAGS = (0, 1, 0, 1, 1, 0, 0, 0, 1, 0)
#: Uncased words times 4, and cases.
WORDS = (0, 5, 2, 3, 4, 1, 6, 7, 0, 5)
TREE = Tree(WORDS, TAGS, HEADS, tuple(NONE if head == NONE else 0 for head in HEADS))

#: What each element reads where a word is generated: left children are generated from right to
#: left.
EXPECTED = {
    1: {
        **{f"parent.{what}": ROOT for what in ("tag", "word", "case")},
        **{
            f"{who}.{what}": NULL
            for who in ("sibling", "grandparent")
            for what in ("tag", "word", "case")
        },
        **{"direction": 1, "grandparent.direction": NULL, "sibling.distance": NULL},
    },
    2: {
        **{"parent.tag": 1, "parent.word": 1, "parent.case": 1},
        **{f"sibling.{what}": NULL for what in ("tag", "word", "case")},
        **{f"grandparent.{what}": ROOT for what in ("tag", "word", "case")},
        **{"child.tag": 0, "child.word": 0, "child.case": 2, "child.children": 0, "distance": 0},
        **{
            f"child.{side}.{what}": NULL
            for side in ("left", "right")
            for what in ("tag", "word", "case")
        },
        **{"direction": 1, "grandparent.direction": 1, "sibling.distance": NULL},
    },
    3: {
        "sibling.tag": 0,
        "sibling.word": 0,
        "sibling.case": 2,
        "sibling.distance": 0,
        "distance": 1,
    },
    4: {
        **{
            "sibling.tag": 1,
            "sibling.word": 0,
            "sibling.case": 3,
            "sibling.distance": 1,
            "distance": 2,
        },
        **{f"child.left.{what}": NULL for what in ("tag", "word", "case")},
        **{"child.right.tag": 0, "child.right.word": 1, "child.right.case": 3, "child.children": 1},
        **{"direction": 1, "parent.tag": 1},
    },
    5: {
        **{
            "parent.tag": 0,
            "parent.word": 1,
            "parent.case": 3,
            "direction": 0,
            "grandparent.direction": 1,
        },
        **{"grandparent.tag": 1, "grandparent.word": 1, "grandparent.case": 0},
        **{
            "sibling.tag": 0,
            "sibling.word": 1,
            "sibling.case": 2,
            "sibling.distance": 0,
            "distance": 1,
        },
    },
    6: {"sibling.tag": NULL, "sibling.distance": NULL, "direction": 0, "distance": 0},
    7: {
        **{
            "child.left.tag": 0,
            "child.left.word": 0,
            "child.left.case": 1,
            "child.children": 1,
            "distance": 2,
        },
        **{
            "child.right.tag": 1,
            "child.right.word": 0,
            "child.right.case": 0,
            "child.tag": 0,
            "child.word": 1,
        },
        **{"child.case": 3, "direction": 1, "grandparent.direction": 1, "grandparent.tag": 1},
    },
    8: {"direction": 1, "sibling.tag": NULL, "grandparent.direction": 1, "distance": 0},
    9: {
        "sibling.tag": 1,
        "sibling.word": 1,
        "sibling.case": 0,
        "sibling.distance": 2,
        "distance": 3,
        "direction": 1,
    },
    0: {
        "sibling.tag": NULL,
        "direction": 0,
        "distance": 0,
        "grandparent.tag": ROOT,
        "grandparent.direction": 1,
    },
}
#: The same where a word generates STOP on one of its sides.
AT_STOP = {
    (1, 1): {
        **{
            "parent.tag": 1,
            "parent.word": 1,
            "parent.case": 1,
            "grandparent.tag": ROOT,
            "direction": 1,
        },
        **{
            "sibling.tag": 0,
            "sibling.word": 1,
            "sibling.case": 1,
            "sibling.distance": 3,
            "grandparent.direction": 1,
        },
    },
    (1, 0): {
        "sibling.tag": 0,
        "sibling.word": 0,
        "sibling.case": 0,
        "sibling.distance": 0,
        "direction": 0,
    },
    (7, 0): {
        **{
            "sibling.tag": 0,
            "sibling.word": 0,
            "sibling.case": 1,
            "sibling.distance": 1,
            "direction": 0,
        },
        **{"grandparent.tag": 1, "grandparent.direction": 1, "parent.word": 1},
    },
    (5, 1): {
        "sibling.tag": NULL,
        "sibling.distance": NULL,
        "direction": 1,
        "grandparent.direction": 0,
    },
    (5, 0): {
        "sibling.word": NULL,
        "grandparent.case": 3,
        "direction": 0,
        "grandparent.word": 1,
        "parent.case": 1,
    },
}


#: The elements that read no classes.
PLAIN = {name: element for name, element in ELEMENTS.items() if not reads_classes([name])}


def read_all(lists, distribution, tree=TREE):
    """The model, and the symbols that its experts of one element each read at the events of a tree
    (events, experts).
    """
    given = {"tag": [[]], "word": [], "case": [], DISTRIBUTIONS[distribution]: lists}
    model = make_model(HeadOutwardContexts(**given))
    pool = getattr(learning(model), DISTRIBUTIONS[distribution])
    sentence = arrays_of([tree])
    events = events_of(
        pool,
        distribution,
        sentence.words,
        sentence.tags,
        sentence.heads,
        sentence.labels,
        model.alphabets.symbols,
    )
    places = events.restaurants[: events.count[0]]
    return model, pool.experts.restaurants[places, SYMBOL], events.dish[: events.count[0]]


def test_every_element_reads_what_its_name_says():
    model, found, _ = read_all([[name] for name in PLAIN], LABEL)
    children = [child for child in range(len(HEADS)) if HEADS[child] != NONE]
    assert len(found) == len(children)
    seen = set()
    for symbols, child in zip(found, children):
        read = dict(zip(PLAIN, symbols.tolist()))
        for name, value in EXPECTED[child].items():
            assert read[name] == number(name, value, model), (child, name)
            seen.add(name)
    assert seen == PLAIN.keys()


def test_elements_of_tags_are_known_where_there_is_no_child_yet():
    names = [name for name, (_, _, first) in PLAIN.items() if first == TAG]
    model, found, outcomes = read_all([[name] for name in names], TAG)
    for child, expected in EXPECTED.items():
        read = dict(zip(names, found[child].tolist()))
        assert outcomes[child] == TAGS[child]
        for name in expected.keys() & set(names):
            assert read[name] == number(name, expected[name], model), (child, name)
    for (parent, direction), expected in AT_STOP.items():
        place = len(HEADS) + 2 * parent + direction
        read = dict(zip(names, found[place].tolist()))
        assert outcomes[place] == model.alphabets.of("tag") - 1
        for name, value in expected.items():
            assert read[name] == number(name, value, model), (STOP, parent, direction, name)


@pytest.mark.parametrize(
    "names",
    [
        ["parent.word", "parent.case"],
        ["direction", "parent.tag", "sibling.distance"],
        ["grandparent.direction", "child.children", "distance", "child.left.word"],
    ],
)
def test_joined_elements_are_one_for_each_combination(names):
    _, found, _ = read_all([[name] for name in names] + [["+".join(names)]], LABEL)
    apart, joined = [tuple(row) for row in found[:, :-1].tolist()], found[:, -1].tolist()
    assert len(set(apart)) > 2
    for (one, first), (other, second) in product(zip(apart, joined), repeat=2):
        assert (one == other) == (first == second)


def test_numbers_of_joined_elements_are_all_different_up_to_their_size():
    model = make_model(PAPER)
    sizes = model.alphabets.symbols
    values = {
        number("parent.word+parent.case+direction", (word, case, direction), model)
        for word in (*range(sizes[1] - 2), ROOT, NULL)
        for case in (*range(sizes[2] - 2), ROOT, NULL)
        for direction in range(2)
    }
    assert values == set(range(sizes[1] * sizes[2] * 2))


def test_experts_share_what_they_read_and_back_off_in_their_order():
    lists = [["child.tag", "parent.tag"], ["direction"], ["parent.tag", "child.tag", "direction"]]
    elements, columns, gates = compile_contexts(lists, "word", ["child.tag", "sibling.tag"])
    assert columns.tolist() == [[0, 1, NONE], [2, NONE, NONE], [1, 0, 2]]
    assert gates.tolist() == [0, 3]
    expected = [
        ELEMENTS[name][:2] for name in ("child.tag", "parent.tag", "direction", "sibling.tag")
    ]
    assert [tuple(row[:2]) for row in elements.tolist()] == expected
    assert np.all(elements[:, 2:] == NONE)


def test_each_element_is_known_from_one_distribution_on():
    for name, (_, _, first) in ELEMENTS.items():
        for place, distribution in enumerate(DISTRIBUTIONS):
            if place >= first:
                compile_contexts([[name]], distribution)
            else:
                with pytest.raises(ValueError, match="not generated before"):
                    compile_contexts([[name]], distribution)
    # A child is generated tag by word by case.
    assert [ELEMENTS[f"child.{what}"][2] for what in ("tag", "word", "case", "children")] == [
        1,
        2,
        3,
        4,
    ]


def test_a_class_is_that_of_the_word_and_the_word_itself_where_it_has_none():
    elements, _, _ = compile_contexts([["parent.class", "sibling.class:2", "parent.word"]], "tag")
    # Of two words, of ROOT, and of what does not exist.
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
def test_what_dynamic_programming_cannot_know_is_found(lists, problem):
    given = {"tag": [["parent.tag"]], "word": [], "case": [], **lists}
    assert unchartable(conditionals(HeadOutwardContexts(**given))) == problem
