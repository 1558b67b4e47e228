"""Context elements are what their names say, in every configuration of every derivation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.transitions.configuration import (
    END,
    FIELDS,
    FIRST_SYMBOL,
    LEFT_ARCS,
    NULL_SYMBOL,
    ROOT,
    ROOT_SYMBOL,
    SHIFT,
    begin,
    class_of,
    left_arc,
    reduce,
    right_arc,
    shift,
)
from spacy_hpyp.transitions.contexts import ELEMENTS, compile_contexts, read_context

NEXT_TAG = 7
NAMES = [
    "next.tag",
    *(
        f"s{place}{child}.{field}"
        for place, child, field in itertools.product([1, 2, 3, 4], ["", ".left", ".right"], ["tag", "word"])
    ),
]


@st.composite
def derivations(draw):
    """Actions of one or two sentences, of all derivations that there are and not only those of the oracle."""
    actions = []
    for words in draw(st.lists(st.integers(1, 8), min_size=1, max_size=2)):
        depth, left = 0, words
        while depth or left:
            options = [SHIFT] if left else []
            if depth >= 2:
                options += [left_arc(0), right_arc(0)]
            elif depth == 1 and not left:
                options = [END]
            action = draw(st.sampled_from(options))
            depth += 1 if action == SHIFT else -1
            left -= action == SHIFT
            actions.append(action)
    return actions


class Simulation:
    """A stack of word positions and a list of arcs; words are numbered by their positions, tags by twice these."""

    def __init__(self):
        self.stack, self.arcs, self.words = [], [], 0

    def execute(self, action):
        if action == SHIFT:
            self.stack.append(self.words)
            self.words += 1
        elif action == END:
            self.stack.pop()
        else:
            second, first = self.stack[-2:]
            head, dependent = (first, second) if class_of(action) == LEFT_ARCS else (second, first)
            self.arcs.append((head, dependent))
            self.stack.remove(dependent)

    def read(self, name):
        if name == "next.tag":
            return FIRST_SYMBOL + NEXT_TAG
        item, *child, field = name.split(".")
        place = int(item[1:])
        if place == len(self.stack) + 1:
            return NULL_SYMBOL if child else ROOT_SYMBOL
        if place > len(self.stack):
            return NULL_SYMBOL
        word = self.stack[-place]
        if child:
            dependents = [dependent for head, dependent in self.arcs if head == word]
            outermost = min(dependents, default=word) if child == ["left"] else max(dependents, default=word)
            if outermost == word or (outermost < word) != (child == ["left"]):
                return NULL_SYMBOL
            word = outermost
        return FIRST_SYMBOL + (2 * word if field == "tag" else word)


def row_of(elements, records, top, next_tag=NEXT_TAG):
    row = np.full(len(elements), -1, dtype=np.int32)
    read_context(elements, records, top, next_tag, row)
    return row.tolist()


def configurations(actions):
    """The records and the number of the top one after no action, after one, and so on."""
    records = np.full((2 + len(actions), FIELDS), -1, dtype=np.int32)
    used, top, word = begin(records), ROOT, 0
    yield records, top
    for action in actions:
        if action == SHIFT:
            shift(records, used, top, 2 * word, word)
            word += 1
        else:
            reduce(records, used, top, action)
        top = used
        used += 1
        yield records, top


def test_the_known_elements_are_those_of_four_stack_items_and_the_next_tag():
    assert sorted(ELEMENTS) == sorted(NAMES)
    assert len(set(ELEMENTS.values())) == len(ELEMENTS)


@settings(deadline=None, derandomize=True)
@given(derivations())
def test_elements_are_what_a_stack_and_its_arcs_hold(actions):
    elements, _ = compile_contexts([NAMES], "word", next_tag=True)
    simulation = Simulation()
    for step, (records, top) in enumerate(configurations(actions)):
        if step:
            simulation.execute(actions[step - 1])
        assert dict(zip(NAMES, row_of(elements, records, top))) == {name: simulation.read(name) for name in NAMES}


@settings(deadline=None, derandomize=True)
@given(derivations())
def test_configurations_can_be_read_after_others_were_made(actions):
    elements, _ = compile_contexts([NAMES], "word", next_tag=True)
    rows = [(top, row_of(elements, records, top)) for records, top in configurations(actions)]
    *_, (records, _) = configurations(actions)
    assert [(top, row_of(elements, records, top)) for top, _ in rows] == rows


def test_in_the_beginning_and_after_a_sentence_there_is_root_alone():
    elements, _ = compile_contexts([NAMES[1:]], "transition")
    expected = [ROOT_SYMBOL if name in ("s1.tag", "s1.word") else NULL_SYMBOL for name in NAMES[1:]]
    sentence = [SHIFT, SHIFT, left_arc(0), SHIFT, right_arc(0), END]
    before, *_, after = [row_of(elements, *configuration) for configuration in configurations(sentence)]
    assert before == expected
    assert after == expected


@pytest.mark.parametrize(("name", "word"), [("s1.left.word", 0), ("s1.right.word", 4), ("s1.word", 2)])
def test_children_are_the_outermost_ones(name, word):
    actions = [SHIFT, SHIFT, SHIFT, left_arc(0), left_arc(0), SHIFT, right_arc(0), SHIFT, right_arc(0)]
    elements, _ = compile_contexts([[name]], "tag")
    *_, (records, top) = configurations(actions)
    assert row_of(elements, records, top) == [FIRST_SYMBOL + word]


def test_the_next_tag_may_be_anything_where_it_is_not_named():
    elements, _ = compile_contexts([["s1.tag", "s2.left.word"]], "tag")
    *_, (records, top) = configurations([SHIFT, SHIFT, left_arc(0), SHIFT])
    assert row_of(elements, records, top, next_tag=-5) == row_of(elements, records, top, next_tag=10**6)


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=6), max_size=4))
def test_columns_lead_each_expert_to_its_own_elements_in_their_order(experts):
    elements, columns = compile_contexts(experts, "word", next_tag=True)
    rows = [tuple(element) for element in elements.tolist()]
    assert len(set(rows)) == len(rows)
    assert {name for name in NAMES if ELEMENTS[name] in rows} == {name for expert in experts for name in expert}
    assert columns.shape == (len(experts), max(map(len, experts), default=0))
    for expert, row in zip(experts, columns.tolist()):
        assert [rows[column] for column in row[: len(expert)]] == [ELEMENTS[name] for name in expert]
        assert set(row[len(expert) :]) <= {-1}


def test_experts_share_the_columns_of_elements_that_they_have_in_common():
    elements, columns = compile_contexts([["s1.tag", "s2.tag"], [], ["s2.tag", "s1.word", "s1.tag"]], "tag")
    assert elements.tolist() == [list(ELEMENTS[name]) for name in ("s1.tag", "s2.tag", "s1.word")]
    assert columns.tolist() == [[0, 1, -1], [-1, -1, -1], [1, 2, 0]]


@pytest.mark.parametrize("experts", [[], [[]], [[], []]])
def test_there_may_be_no_elements(experts):
    elements, columns = compile_contexts(experts, "tag")
    assert elements.shape == (0, 3)
    assert columns.shape == (len(experts), 0)
    *_, (records, top) = configurations([SHIFT])
    assert row_of(elements, records, top) == []


@pytest.mark.parametrize("name", ["s5.tag", "s0.tag", "s1", "s1.left", "s1.left.left.tag", "S1.tag", "next.word", ""])
def test_error_about_an_unknown_element_lists_the_known_ones(name):
    with pytest.raises(ValueError, match="is not a context element") as error:
        compile_contexts([["s1.tag"], ["s2.tag", name]], "transition")
    assert str(error.value).startswith(f"'{name}' in 'transition'")
    listed = str(error.value).partition("The known ones are: ")[2].rstrip(".").split(", ")
    assert sorted(listed) == sorted(NAMES)


@pytest.mark.parametrize("setting", ["transition", "tag"])
def test_only_the_word_distribution_may_name_the_next_tag(setting):
    with pytest.raises(ValueError, match=rf"'next\.tag' in '{setting}' is not known before the tag is generated"):
        compile_contexts([["s1.tag", "next.tag"]], setting)


def test_an_expert_names_an_element_only_once():
    with pytest.raises(ValueError, match=r"'tag' names an element twice: s1\.tag, s2\.tag, s1\.tag"):
        compile_contexts([["s1.tag"], ["s1.tag", "s2.tag", "s1.tag"]], "tag")
