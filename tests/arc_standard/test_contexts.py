"""Context elements are what their names say, in every configuration of every derivation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_hpyp.arc_standard.configuration import (
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
    label_of,
    left_arc,
    reduce,
    right_arc,
    shift,
)
from spacy_hpyp.arc_standard.contexts import ELEMENTS, compile_contexts, read_context, with_classes
from spacy_hpyp.text.elements import CLASS_ATTRIBUTES, number_paths

NEXT = 7
SIDES = ["left", "right"]
STEPS = ["left", "right", "left2", "right2"]
STACK = [f"s{place}" for place in range(1, 5)]
PATHS = [*STACK, *(f"{word}.{step}" for word in STACK for step in STEPS)]
NAMES = [
    "next.tag",
    "action",
    "depth",
    *(f"{word}.distance" for word in STACK),
    *(f"{path}.{field}" for path in [*PATHS, "w1", "w2", "w3"] for field in ["tag", "word"]),
    *(
        f"{path}.{step}.{field}"
        for path in PATHS[4:]
        for step in STEPS
        for field in ["tag", "word"]
    ),
    *(f"{path}.{side}.{field}" for path in PATHS for side in SIDES for field in ["label", "count"]),
]
CLASSES = [f"{path}.{field}" for path in [*PATHS, "w1", "w2", "w3"] for field in CLASS_ATTRIBUTES]
# Of words by their numbers; the last ones have none.
CLASS_PATHS = ["0101", "0110", "0101101010101011010", "1", *12 * [""]]


@st.composite
def derivations(draw):
    """Actions of one or two sentences, of all derivations that there are and not only those of the
    oracle.
    """
    actions = []
    for words in draw(st.lists(st.integers(1, 8), min_size=1, max_size=2)):
        depth, left = 0, words
        while depth or left:
            options = [SHIFT] if left else []
            if depth >= 2:
                options += [arc(label) for arc in (left_arc, right_arc) for label in range(3)]
            elif depth == 1 and not left:
                options = [END]
            action = draw(st.sampled_from(options))
            depth += 1 if action == SHIFT else -1
            left -= action == SHIFT
            actions.append(action)
    return actions


class Simulation:
    """A stack of word positions and a list of arcs; words are numbered by their positions, tags by
    twice these.
    """

    def __init__(self):
        self.stack, self.arcs, self.words, self.first, self.last = [], [], 0, 0, None

    def execute(self, action):
        self.last = action
        if action == SHIFT:
            self.stack.append(self.words)
            self.words += 1
        elif action == END:
            self.stack.pop()
            self.first = self.words
        else:
            second, first = self.stack[-2:]
            head, dependent = (first, second) if class_of(action) == LEFT_ARCS else (second, first)
            self.arcs.append((head, dependent, label_of(action)))
            self.stack.remove(dependent)

    def item(self, name):
        """The position of a word on the stack or before the next one, "ROOT", or None."""
        kind, place = name[0], int(name[1:])
        if kind == "w":
            return self.words - place if self.words - place >= self.first else None
        if place == len(self.stack) + 1:
            return "ROOT"
        return self.stack[-place] if place <= len(self.stack) else None

    def children(self, word, side):
        """Dependents on one side with their labels, the outermost last."""
        found = [(dependent, label) for head, dependent, label in self.arcs if head == word]
        return (
            []
            if word in ("ROOT", None)
            else [d for d in found if (d[0] < word) == (side == "left")]
        )

    def position(self, word):
        return 0 if word in ("ROOT", None) else word - self.first + 1

    def distance(self, name):
        place = int(name[1:])
        front = (
            self.words - self.first + 1 if place == 1 else self.position(self.item(f"s{place - 1}"))
        )
        words = front - self.position(self.item(name))
        return (
            0
            if self.position(self.item(name)) == 0
            else [0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6][min(words, 10)]
        )

    def read(self, name):
        if name in ("next.tag", "next.direction"):
            return FIRST_SYMBOL + NEXT
        if name == "action":
            return FIRST_SYMBOL + self.last if self.stack else NULL_SYMBOL
        if name == "depth":
            return min(len(self.stack) + 1, 6)
        start, *steps, field = name.split(".")
        if field == "distance":
            return self.distance(start)
        word = self.item(start)
        side = steps.pop() if field in ("label", "count") else None
        for step in steps:
            children = self.children(word, step.rstrip("2"))
            place = 2 if step.endswith("2") else 1
            word = children[-place][0] if len(children) >= place else None
        if side:
            children = self.children(word, side)
            if field == "count":
                return min(len(children), 4)
            return FIRST_SYMBOL + children[-1][1] if children else NULL_SYMBOL
        if word in ("ROOT", None):
            return ROOT_SYMBOL if word == "ROOT" else NULL_SYMBOL
        if field in CLASS_ATTRIBUTES and CLASS_PATHS[word]:
            numbers = number_paths([*[""] * FIRST_SYMBOL, *CLASS_PATHS])
            return numbers[FIRST_SYMBOL + word, list(CLASS_ATTRIBUTES).index(field)]
        return FIRST_SYMBOL + (2 * word if field == "tag" else word)


def row_of(elements, records, top, known=NEXT):
    row = np.full(len(elements), -1, dtype=np.int32)
    read_context(elements, records, top, known, row)
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


def test_the_known_elements_are_those_of_stack_items_last_words_and_what_comes_next():
    assert sorted(ELEMENTS) == sorted([*NAMES, *CLASSES, "next.direction"])
    assert len(set(ELEMENTS.values())) == len(ELEMENTS) - 1


@settings(deadline=None, derandomize=True)
@given(derivations())
def test_elements_are_what_a_stack_and_its_arcs_hold(actions):
    names = [*NAMES, *CLASSES]
    elements = with_classes(compile_contexts([names], "word")[0], CLASS_PATHS)
    simulation = Simulation()
    for step, (records, top) in enumerate(configurations(actions)):
        if step:
            simulation.execute(actions[step - 1])
        assert dict(zip(names, row_of(elements, records, top))) == {
            name: simulation.read(name) for name in names
        }


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=6), max_size=4))
def test_columns_lead_each_expert_to_its_own_elements_in_their_order(experts):
    elements, columns, _ = compile_contexts(experts, "word")
    rows = [tuple(element) for element in elements.tolist()]
    assert len(set(rows)) == len(rows)
    assert {name for name in NAMES if ELEMENTS[name] in rows} == {
        name for expert in experts for name in expert
    }
    assert columns.shape == (len(experts), max(map(len, experts), default=0))
    for expert, row in zip(experts, columns.tolist()):
        assert [rows[column] for column in row[: len(expert)]] == [
            ELEMENTS[name] for name in expert
        ]
        assert set(row[len(expert) :]) <= {-1}


@pytest.mark.parametrize(
    "name",
    [
        "s5.tag",
        "s0.tag",
        "s1",
        "s1.left",
        "s1.left.left.left.tag",
        "w4.tag",
        "w1.left.tag",
        "S1.tag",
        "next.word",
        "",
    ],
)
def test_error_about_an_unknown_element_lists_the_known_ones(name):
    with pytest.raises(ValueError, match="is not a context element") as error:
        compile_contexts([["s1.tag"], ["s2.tag", name]], "transition")
    assert str(error.value).startswith(f"'{name}' in 'transition'")
    listed = str(error.value).partition("The known ones are: ")[2].rstrip(".").split(", ")
    assert sorted(listed) == sorted(ELEMENTS)


@pytest.mark.parametrize(("name", "only"), [("next.tag", "word"), ("next.direction", "label")])
@pytest.mark.parametrize("distribution", ["transition", "label", "tag", "word"])
def test_what_comes_next_is_known_to_one_distribution(distribution, name, only):
    if distribution == only:
        elements, _, _ = compile_contexts([["s1.tag", name]], distribution)
        *_, (records, top) = configurations([SHIFT])
        assert row_of(elements, records, top)[1] == FIRST_SYMBOL + NEXT
        return
    with pytest.raises(
        ValueError, match=rf"'{name}' in '{distribution}' is not known yet .* only the {only} dist"
    ):
        compile_contexts([["s1.tag", name]], distribution)


def test_an_expert_names_an_element_only_once():
    with pytest.raises(
        ValueError, match=r"'tag' names an element twice: s1\.tag, s2\.tag, s1\.tag"
    ):
        compile_contexts([["s1.tag"], ["s1.tag", "s2.tag", "s1.tag"]], "tag")
