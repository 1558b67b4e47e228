"""Lists of elements: conditions of a distribution, or features, by the names that a config gives
them.

Elements are read once into a *row* of symbols; a list is then a list of columns of that row.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from zlib import crc32

import numpy as np

from ..compiled import NONE

#: Elements of the class of a word (`text.word_classes`): its whole path, or this many steps of it.
CLASS_ATTRIBUTES = {
    "class": 1_000,
    **{f"class:{steps}": steps for steps in (2, 4, 6, 8, 10, 12, 16)},
}

#: The number of words with cached symbols.
_KEPT_FORMS = 1 << 16


def compile_lists(
    lists: Sequence[Sequence[str]],
    known: Collection[str],
    reader: str,
    *,
    more: Sequence[str] = (),
    joined: int = 1,
    check: Callable[[str], None] = lambda name: None,
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Find the elements to read, and the columns of each list.

    lists (Sequence[Sequence[str]]): Lists of names, the most important name first.
    known (Collection[str]), reader (str): All elements; the name of the lists, for errors.
    more (Sequence[str]): Further elements to read.
    joined (int): The number of elements that `+` may join.
    check (Callable): Raises an error if an element may not be read.
    RETURNS (tuple[list[str], int32[lists, longest], int32[more]]): The names of the row; the
        columns of each list, -1 past its end; and the columns of `more`.
    RAISES (ValueError): If an element is unknown, or is repeated within a list, joined or not.
    """
    for own in lists:
        parts = [part for name in own for part in name.split("+", joined - 1)]
        for part in parts:
            if part not in known:
                every = ", ".join(sorted(known))
                raise ValueError(f"'{part}' in '{reader}' is none of the elements: {every}.")
            check(part)
        if len(set(parts)) < len(parts):
            raise ValueError(f"A list in '{reader}' names an element twice: {', '.join(own)}.")
    names = list(dict.fromkeys(chain(*lists, more)))
    columns = np.full((len(lists), max(map(len, lists), default=0)), NONE, dtype=np.int32)
    for row, own in zip(columns, lists):
        row[: len(own)] = [names.index(name) for name in own]
    return names, columns, np.array([names.index(name) for name in more], dtype=np.int32)


def string_number(text: str) -> int:
    """Return the CRC-32 of a string, the same in every process."""
    return crc32(text.encode("utf8", "surrogatepass"))


class FormRows(dict[str, bytes]):
    """Cache of rows of numbers about forms.

    columns (int): The length of a row.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns

    def of(self, forms: Sequence[str], find: Callable[[str], Iterable[int]]) -> np.ndarray:
        """Return the rows of forms (int32[*, columns]).

        find (Callable): Returns a row of numbers from 0 to 2^32 - 1. Not kept, to avoid a cycle.
        """
        if len(self) > _KEPT_FORMS:
            self.clear()
        for form in forms:
            if form not in self:
                self[form] = np.fromiter(find(form), dtype=np.uint32, count=self._columns).tobytes()
        rows = np.frombuffer(b"".join([self[form] for form in forms]), dtype=np.int32)
        return rows.reshape(-1, self._columns)


def class_symbols(path: str) -> list[int]:
    """Return the symbols of a class path in the order of `CLASS_ATTRIBUTES`; 0 without a class."""
    return [string_number(path[:steps]) >> 1 if path else 0 for steps in CLASS_ATTRIBUTES.values()]


def reads_classes(names: Iterable[str]) -> bool:
    """Whether one of some elements reads classes."""
    return any(name.rsplit(".", 1)[-1] in CLASS_ATTRIBUTES for name in names)


def without_classes(lists: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """Return the lists that read no classes, for a pipeline without classes."""
    return [names for names in lists if not reads_classes(names)]


def contexts_without_classes(experts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return context lists for a pipeline without word classes.

    Classes are left out of each list. A list that is then the beginning of another is dropped: that
    one backs off to it.
    """
    left = [[name for name in names if not reads_classes([name])] for names in experts]

    def is_covered(i: int) -> bool:
        return any(
            other[: len(left[i])] == left[i]
            and (len(other) > len(left[i]) or j < i or not reads_classes(experts[j]))
            for j, other in enumerate(left)
            if j != i
        )

    return [own for i, own in enumerate(left) if not (reads_classes(experts[i]) and is_covered(i))]


def with_class_symbols(
    elements: np.ndarray, column: int, first: int, paths: Sequence[str]
) -> np.ndarray:
    """Append the class symbols of words to elements (int32[elements, *]) that read classes: the
    paths to their classes, cut to a length, are numbered after the symbols of words.

    column (int), first (int): The column of what is read, and its value for the first of
        `CLASS_ATTRIBUTES`.
    paths (Sequence[str]): The path to the class of each symbol of a word. Without a path, the
        symbol is read.
    RETURNS (int32[elements, * + symbols]): Each row with the number read for each symbol, 0 in
        other rows than those of classes; the same rows if none reads classes.
    """
    is_class = elements[:, column] >= first
    if not is_class.any():
        return elements
    read = np.zeros((len(elements), len(paths)), dtype=np.int32)
    symbols, numbers = [], {}
    for symbol, path in enumerate(paths):
        prefixes = [path[:steps] for steps in CLASS_ATTRIBUTES.values()] if path else []
        found = [len(paths) + numbers.setdefault(prefix, len(numbers)) for prefix in prefixes]
        symbols.append(found or [symbol] * len(CLASS_ATTRIBUTES))
    read[is_class] = np.array(symbols).T[elements[is_class, column] - first]
    return np.hstack([elements, read])
