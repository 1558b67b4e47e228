"""Context elements match their names in every configuration of every derivation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transitions import configurations, derivations

from spacy_hpyp.arc_standard import configuration as system
from spacy_hpyp.arc_standard.configuration import END, FIRST_SYMBOL, SHIFT
from spacy_hpyp.arc_standard.contexts import ELEMENTS, compile_contexts, read_context, with_classes
from spacy_hpyp.arc_standard.distributions import DISTRIBUTIONS
from spacy_hpyp.text.elements import CLASS_ATTRIBUTES, with_class_symbols

NEXT = 7
SIDES = ["left", "right"]
STEPS = ["left", "right", "left2", "right2"]
STACK, WORDS = ["s1", "s2", "s3", "s4"], ["w1", "w2", "w3"]


def paths(*parts):
    """All paths of one name from each list."""
    return [*map(".".join, itertools.product(*parts))]


PATHS = [*STACK, *paths(STACK, STEPS)]
NAMES = [
    *("next.tag", "action", "depth", *paths(STACK, ["distance"])),
    *paths([*PATHS, *WORDS, *paths(STACK, STEPS, STEPS)], ["tag", "word"]),
    *paths(PATHS, SIDES, ["label", "count"]),
]
CLASSES = paths([*PATHS, *WORDS], CLASS_ATTRIBUTES)
# Class paths by word number. The last words have none.
CLASS_PATHS = ["0101", "0110", "0101101010101011010", "1", *12 * [""]]


class Simulation:
    """A stack of word positions and a list of arcs. Words are numbered by position, tags by twice
    the position.
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
            head, dependent = (
                (first, second) if system.class_of(action) == system.LEFT_ARCS else (second, first)
            )
            self.arcs.append((head, dependent, system.label_of(action)))
            self.stack.remove(dependent)

    def item(self, name):
        """The position of a word on the stack or before the next word, "ROOT", or None."""
        kind, place = name[0], int(name[1:])
        if kind == "w":
            return self.words - place if self.words - place >= self.first else None
        if place == len(self.stack) + 1:
            return "ROOT"
        return self.stack[-place] if place <= len(self.stack) else None

    def children(self, word, side):
        """Dependents on one side with their labels, the outermost last."""
        return [
            (dependent, label)
            for head, dependent, label in self.arcs
            if head == word and (dependent < word) == (side == "left")
        ]

    def position(self, word):
        return 0 if word in ("ROOT", None) else word - self.first + 1

    def distance(self, name):
        place = int(name[1:])
        last, position = self.words - self.first, self.position(self.item(name))
        front = last + 1 if place == 1 else self.position(self.item(f"s{place - 1}"))
        return [0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 6][min(front - position, 10)] if position else 0

    def read(self, name):
        if name in ("next.tag", "next.direction"):
            return FIRST_SYMBOL + NEXT
        if name == "action":
            return FIRST_SYMBOL + self.last if self.stack else system.NULL_SYMBOL
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
            return FIRST_SYMBOL + children[-1][1] if children else system.NULL_SYMBOL
        if word in ("ROOT", None):
            return system.ROOT_SYMBOL if word == "ROOT" else system.NULL_SYMBOL
        if field in CLASS_ATTRIBUTES and CLASS_PATHS[word]:
            elements = np.array([[list(CLASS_ATTRIBUTES).index(field)]])
            paths = [*[""] * FIRST_SYMBOL, *CLASS_PATHS]
            return with_class_symbols(elements, 0, 0, paths)[0, 1 + FIRST_SYMBOL + word]
        return FIRST_SYMBOL + (2 * word if field == "tag" else word)


def row_of(elements, records, top, known=NEXT):
    row = np.full(len(elements), -1, dtype=np.int32)
    read_context(elements, records, top, known, row)
    return row.tolist()


def test_elements_cover_the_stack_the_last_words_and_the_next_token():
    assert sorted(ELEMENTS) == sorted([*NAMES, *CLASSES, "next.direction"])
    assert len(set(ELEMENTS.values())) == len(ELEMENTS) - 1


@settings(deadline=None, derandomize=True)
@given(derivations(sentences=2))
def test_elements_match_a_simulated_stack_and_its_arcs(actions):
    names = [*NAMES, *CLASSES]
    elements = with_classes(compile_contexts([names], "word")[0], CLASS_PATHS)
    simulation, words = Simulation(), range(len(actions))
    steps = configurations(actions, [2 * word for word in words], words)
    for step, (records, top) in enumerate(steps):
        if step:
            simulation.execute(actions[step - 1])
        assert dict(zip(names, row_of(elements, records, top))) == {
            name: simulation.read(name) for name in names
        }


@settings(deadline=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(NAMES), unique=True, max_size=6), max_size=4))
def test_columns_map_each_expert_to_its_elements_in_order(experts):
    elements, columns, _ = compile_contexts(experts, "word")
    rows = [tuple(element) for element in elements.tolist()]
    assert len(set(rows)) == len(rows)
    assert {name for name in NAMES if ELEMENTS[name] in rows} == {
        name for expert in experts for name in expert
    }
    assert columns.shape == (len(experts), max(map(len, experts), default=0))
    for expert, row in zip(experts, columns.tolist()):
        assert [rows[column] for column in row[: len(expert)]] == [*map(ELEMENTS.get, expert)]
        assert set(row[len(expert) :]) <= {-1}


@pytest.mark.parametrize("name", ["s5.tag", "s1", "s1.left.left.left.tag", "w1.left.tag"])
def test_an_unknown_element_raises_an_error(name):
    with pytest.raises(ValueError, match=rf"'{name}' in 'transition'"):
        compile_contexts([["s1.tag"], ["s2.tag", name]], "transition")


@pytest.mark.parametrize(("name", "only"), [("next.tag", "word"), ("next.direction", "label")])
def test_only_one_distribution_may_read_each_next_element(name, only):
    elements, _, _ = compile_contexts([["s1.tag", name]], only)
    *_, (records, top) = configurations([SHIFT], [0], [0])
    assert row_of(elements, records, top)[1] == FIRST_SYMBOL + NEXT
    for distribution in {*DISTRIBUTIONS} - {only}:
        with pytest.raises(ValueError, match=f"'{name}' in '{distribution}'"):
            compile_contexts([["s1.tag", name]], distribution)


def test_a_repeated_element_in_an_expert_raises_an_error():
    with pytest.raises(ValueError, match="twice"):
        compile_contexts([["s1.tag"], ["s1.tag", "s2.tag", "s1.tag"]], "tag")
