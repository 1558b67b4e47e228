"""Context elements: what a distribution may be conditioned on, by name.

An element is named as a path: a stack item (`s1` is the top), optionally its outermost child on one side, and a field,
as in `s1.tag`, `s2.word` or `s1.right.tag` (B&B's rc1(s1).t). `next.tag` is the tag of the word about to be generated
(B&B's beta.t) and exists for the word distribution only. An item or child that does not exist has the symbol NULL.

A *context row* holds the symbols of all elements that a pool's experts name, each once; an expert's context is a list of
columns of that row.
"""

from collections.abc import Sequence

import numpy as np

from ..compiled import compiled
from .configuration import BELOW, FIRST_SYMBOL, LEFT, RIGHT, TAG, WORD

_ITEMS = {"s1": 1, "s2": 2, "s3": 3, "s4": 4}
_CHILDREN = {"left": LEFT, "right": RIGHT}
_FIELDS = {"tag": TAG, "word": WORD}
_NO_CHILD = -1
_NEXT_TAG = "next.tag"

#: The stack place of elements that belong to the word about to be generated.
NEXT_WORD = 0


def _elements() -> dict[str, tuple[int, int, int]]:
    known = {_NEXT_TAG: (NEXT_WORD, _NO_CHILD, TAG)}
    for item, place in _ITEMS.items():
        for field, column in _FIELDS.items():
            known[f"{item}.{field}"] = (place, _NO_CHILD, column)
            for child, side in _CHILDREN.items():
                known[f"{item}.{child}.{field}"] = (place, side, column)
    return known


#: Every context element by its name: stack place (`NEXT_WORD`, or 1 for the top), child column or -1, field column.
ELEMENTS = _elements()


def compile_contexts(
    experts: Sequence[Sequence[str]], setting: str, *, next_tag: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Translate context lists into what compiled code reads.

    experts (Sequence[Sequence[str]]): One list of element names for each expert, most important first.
    setting (str): The name of the setting that the lists come from, for errors.
    next_tag (bool): Whether `next.tag` exists, that is, whether a word is being predicted.
    RETURNS (tuple): elements (int32[elements, 3]), rows of `ELEMENTS`, and columns (int32[experts, depth]), each
        expert's positions in the context row, -1 past its end.
    RAISES (ValueError): If a name is not known, is repeated within an expert, or cannot be known yet.
    """
    names: list[str] = []
    for expert in experts:
        for name in expert:
            if name not in ELEMENTS:
                known = ", ".join(sorted(ELEMENTS))
                raise ValueError(f"'{name}' in '{setting}' is not a context element. The known ones are: {known}.")
            if name == _NEXT_TAG and not next_tag:
                raise ValueError(
                    f"'{_NEXT_TAG}' in '{setting}' is not known before the tag is generated: "
                    "only the word distribution can be conditioned on it."
                )
            if name not in names:
                names.append(name)
        if len(set(expert)) < len(expert):
            raise ValueError(f"A context list in '{setting}' names an element twice: {', '.join(expert)}.")
    elements = np.array([ELEMENTS[name] for name in names], dtype=np.int32).reshape(-1, 3)
    depth = max((len(expert) for expert in experts), default=0)
    columns = np.full((len(experts), depth), -1, dtype=np.int32)
    for number, expert in enumerate(experts):
        columns[number, : len(expert)] = [names.index(name) for name in expert]
    return elements, columns


@compiled
def read_context(elements, records, top, next_tag, row):
    """Read a context row off a configuration.

    elements (int32[elements, 3]): What to read.
    top (int): The record of the configuration.
    next_tag (int): The tag of the word about to be generated; anything where the elements do not name it.
    row (int32[elements]): Overwritten with the symbols.
    """
    for i in range(len(elements)):
        if elements[i, 0] == NEXT_WORD:
            row[i] = FIRST_SYMBOL + next_tag
            continue
        record = top
        for _ in range(elements[i, 0] - 1):
            record = records[record, BELOW]
        if elements[i, 1] != _NO_CHILD:
            record = records[record, elements[i, 1]]
        row[i] = records[record, elements[i, 2]]
