"""Context elements, by name: a path to a word and what is read there, as in `s1.tag` or
`s1.right.tag`.

* words: `s1` to `s4`, the stack from its top, and `w1` to `w3`, the words shifted last, the latest
  first;
* steps from a stack item, up to two: `left` and `right` to the outermost children, `left2` and
  `right2` to those before them;
* what is read: `tag`, `word`; `label` (of the arc to the outermost child: `s1.left.label`) and
  `count` (of the children on a side, at most 4), both of stack items after one step at most before
  the side; `class` and `class:N` (the path to the class of the word, or N steps of it, see
  `text.elements`; after one step at most); and `distance` (from a stack item to the one above it,
  for `s1` to the word that would be shifted next; in classes);
* `depth` is the depth of the stack (at most 6), `action` the transition before (NULL at depth 1);
* `next.tag` is the tag of the word about to be generated (B&B's beta.t) and exists for words only;
  `next.direction` is the direction of the arc about to be labelled and exists for labels only.

An item that does not exist has the symbol NULL. A *context row* holds the symbols of all elements
that a pool's experts name, each once; an expert's context is a list of columns of that row.
"""

from collections.abc import Sequence

import numpy as np

from ..compiled import jitable
from ..text.elements import CLASS_ATTRIBUTES, compile_lists, with_class_symbols
from . import configuration as column
from .configuration import FIELDS, FIRST_SYMBOL

# First steps of the paths of elements.
NEXT, *_STACK, _WORD_1, _WORD_2, _WORD_3 = range(8)
_STACK_WORDS = {f"s{place}": place for place in _STACK}
_WORDS = {**_STACK_WORDS, "w1": _WORD_1, "w2": _WORD_2, "w3": _WORD_3}
_STEPS = {
    "left": column.LEFT,
    "right": column.RIGHT,
    "left2": column.SECOND_LEFT,
    "right2": column.SECOND_RIGHT,
}
_NO_STEP = -1
_OUTERMOST = {
    "left": (column.LEFT_LABEL, column.LEFT_COUNT),
    "right": (column.RIGHT_LABEL, column.RIGHT_COUNT),
}

# Numbers of classes in place of a column, and the length of a row of `ELEMENTS`.
_CLASSES = {name: FIELDS + number for number, name in enumerate(CLASS_ATTRIBUTES)}
_WIDTH = 4

_MOST_CHILDREN = 4
_MOST_DEPTH = 6

#: Elements that only one distribution may read, and the name of the distribution.
NEXT_OF = {"next.tag": "word", "next.direction": "label"}


def _elements() -> dict[str, tuple[int, int, int, int]]:
    known = {name: (NEXT, _NO_STEP, _NO_STEP, column.TAG) for name in NEXT_OF}
    known["action"] = (1, _NO_STEP, _NO_STEP, column.ACTION)
    known["depth"] = (1, _NO_STEP, _NO_STEP, column.DEPTH)
    paths = {word: (start, _NO_STEP, _NO_STEP) for word, start in _WORDS.items()}
    for item, start in _STACK_WORDS.items():
        known[f"{item}.distance"] = (start, _NO_STEP, _NO_STEP, column.POSITION)
        for step, first in _STEPS.items():
            paths[f"{item}.{step}"] = (start, first, _NO_STEP)
            for other, below in _STEPS.items():
                paths[f"{item}.{step}.{other}"] = (start, first, below)
    for path, steps in paths.items():
        known[f"{path}.tag"] = (*steps, column.TAG)
        known[f"{path}.word"] = (*steps, column.WORD)
        if steps[2] == _NO_STEP:
            known |= {f"{path}.{name}": (*steps, number) for name, number in _CLASSES.items()}
        if path[0] == "s" and steps[2] == _NO_STEP:
            for side, (label, count) in _OUTERMOST.items():
                known[f"{path}.{side}.label"] = (*steps, label)
                known[f"{path}.{side}.count"] = (*steps, count)
    return known


#: Every context element by its name: the start of its path, two steps (columns, or -1), and the
#: column to read, or from `FIELDS` on a number of `CLASS_ATTRIBUTES`.
ELEMENTS = _elements()


def compile_contexts(
    experts: Sequence[Sequence[str]], distribution: str, gates: Sequence[str] = ()
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Translate context lists of a distribution into arrays.

    gates (Sequence[str]): Names of elements that are read besides.
    RETURNS (tuple): elements (int32[elements, 4]), rows of `ELEMENTS`; columns (int32[experts,
        depth]), positions in the context row, -1 past the end; and the positions of the gates
        (int32[gates]).
    RAISES (ValueError): If a name is not known, is repeated within an expert, or is of another
        distribution, see `NEXT_OF`.
    """

    def check(name: str) -> None:
        only = NEXT_OF.get(name, distribution)
        if only != distribution:
            raise ValueError(
                f"'{name}' in '{distribution}' is unknown when the {distribution} is predicted. "
                f"Remove it: only '{only}' can be conditioned on it."
            )

    names, columns, places = compile_lists(experts, ELEMENTS, distribution, more=gates, check=check)
    return (
        np.array([ELEMENTS[name] for name in names], dtype=np.int32).reshape(-1, _WIDTH),
        columns,
        places,
    )


def with_classes(elements: np.ndarray, paths: Sequence[str]) -> np.ndarray:
    """Append to each row the class symbol of each symbol of a word, if any row reads classes.

    elements (int32[elements, 4]): Rows of `ELEMENTS`.
    paths (Sequence[str]): The class path of each word of the vocabulary, "" if it has none.
    RETURNS (int32[elements, 4 or 6 + words]): The rows.
    """
    return with_class_symbols(elements, _WIDTH - 1, FIELDS, ["", "", *paths])


@jitable
def read_context(elements, records, top, known, row):
    """Read a context row (int32[elements], overwritten) off a configuration.

    known (int): The tag of the next word or direction of the arc to be labelled, if it is read.
    """
    second = records[top, column.BELOW]
    third = records[second, column.BELOW]
    last = records[top, column.LAST]
    for i in range(len(elements)):
        start = elements[i, 0]
        if start == NEXT:
            row[i] = FIRST_SYMBOL + known
            continue
        front = last
        if start == 1:
            record = top
        elif start == 2:
            record = second
            front = top
        elif start == 3:
            record = third
            front = second
        elif start == 4:
            record = records[third, column.BELOW]
            front = third
        else:
            record = last
            for _ in range(start - _WORD_1):
                record = records[records[record, column.PREVIOUS], column.LAST]
        if elements[i, 1] != _NO_STEP:
            record = records[record, elements[i, 1]]
            if elements[i, 2] != _NO_STEP:
                record = records[record, elements[i, 2]]
        what = elements[i, 3]
        if what >= FIELDS:
            row[i] = elements[i, _WIDTH + records[record, column.WORD]]
            continue
        value = records[record, what]
        if what == column.POSITION:
            row[i] = _distance(value, records[front, column.POSITION] + np.int32(start == 1))
        elif what == column.LEFT_COUNT or what == column.RIGHT_COUNT:
            row[i] = min(value, _MOST_CHILDREN)
        elif what == column.DEPTH:
            row[i] = min(value, _MOST_DEPTH)
        elif what == column.ACTION:
            row[i] = FIRST_SYMBOL + value if records[top, column.DEPTH] > 1 else 0
        else:
            row[i] = value


@jitable
def _distance(position, front):
    """Return the class of a distance: 1, 2, 3, 4 to 5 (4), 6 to 9 (5), 10 or more (6)."""
    distance = front - position
    if position == 0:  # ROOT or nowhere
        return 0
    if distance <= 3:
        return distance
    return 4 if distance <= 5 else 5 if distance <= 9 else 6
