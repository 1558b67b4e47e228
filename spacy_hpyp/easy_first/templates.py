"""Feature templates.

A template is a list of element names, such as `["left.tag", "right.tag"]`, with one binary feature
for each combination of their symbols. Each task has its own elements (`arcs`, `labels`, `words`). A
*feature row* holds the symbol of each element once; a compiled template is a list of columns of
that row. The highest bits of a hash of the template and its symbols are the place of a feature in
the table of weights. Features may share a place, so no alphabet is stored.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import jit, struct
from ..text.elements import compile_lists

# Odd numbers without regularity in their bits: the golden ratio's, and another.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BITS = 64


@struct
class Templates(NamedTuple):
    """Compiled templates."""

    numbers: np.ndarray  # int32[templates]: the first part of the hash of their features
    # Each template's columns of the feature row.
    offsets: np.ndarray  # int32[templates + 1]
    columns: np.ndarray  # int32[*]


def compile_templates(
    templates: Sequence[Sequence[str]], elements: Collection[str], task: str
) -> tuple[list[str], Templates]:
    """Compile templates.

    templates (Sequence[Sequence[str]]): Lists of names of elements.
    elements (Collection[str]): The known names.
    task (str): The name of the list, for errors.
    RETURNS (tuple[list[str], Templates]): The names that occur, in the order of the feature row,
        and the templates.
    RAISES (ValueError): If a template is empty, there twice, or names an unknown element.
    """
    if not templates:
        raise ValueError(f"There is no template in '{task}'.")
    for template in templates:
        if isinstance(template, str) or not template:
            raise ValueError(
                f"A template in '{task}' must be a list of names of elements, not {template!r}."
            )
    names, padded, _ = compile_lists(
        templates, elements, task, element="an element", a_list="A template"
    )
    seen = set()
    for template in templates:
        if frozenset(template) in seen:
            raise ValueError(f"A template is in '{task}' twice: {', '.join(template)}.")
        seen.add(frozenset(template))
    columns = [row[: len(template)] for row, template in zip(padded, templates)]
    return names, _lay_out(columns, range(len(columns)))


def _lay_out(columns: Sequence[Sequence[int]], numbers: Sequence[int]) -> Templates:
    parts = numbers, np.cumsum([0, *map(len, columns)]), np.concatenate([[], *columns])
    return Templates(*(np.asarray(part, dtype=np.int32) for part in parts))


def part_of(templates: Templates, numbers: Sequence[int]) -> tuple[np.ndarray, Templates]:
    """Return some templates for a row of only the columns that they read, and these columns
    (int32[*]).
    """
    columns = [templates.columns[templates.offsets[i] : templates.offsets[i + 1]] for i in numbers]
    read = np.unique(np.concatenate([np.empty(0, dtype=np.int32), *columns]))
    return read, _lay_out([np.searchsorted(read, row).tolist() for row in columns], numbers)


@jit
def shift_for(size):
    """Return the shift that makes the hash of a feature a place in a table of `size` places, a
    power of two.
    """
    bits = 0
    while 1 << bits < size:
        bits += 1
    return np.uint64(_BITS - bits)


@jit
def begin_feature(template):
    """Return the hash of a template before any symbol."""
    return np.uint64(template + 1) * _STIR


@jit
def read_symbol(code, symbol):
    """Return the hash of a feature with one more symbol."""
    code = (code ^ np.uint64(np.uint32(symbol))) * _MIX
    return code ^ (code >> _HALF)


@jit
def place_of(code, shift):
    """Return the place of a feature with all its symbols."""
    return np.int64((code * _STIR) >> shift)


@jit
def find_features(templates, row, size, places):
    """Find the places (int64[templates]) of the features of a row in a table of some size, a power
    of two.
    """
    shift = shift_for(size)
    for i in range(len(templates.numbers)):
        code = begin_feature(templates.numbers[i])
        for j in range(templates.offsets[i], templates.offsets[i + 1]):
            code = read_symbol(code, row[templates.columns[j]])
        places[i] = place_of(code, shift)
