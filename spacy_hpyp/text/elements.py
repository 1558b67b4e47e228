"""Lists of elements: what a distribution is conditioned on, or a feature reads, said by names in a config.

Each system says for itself what elements there are and how they are read. What its lists name is read once,
into a *row* of symbols; a list is then a list of columns of that row.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from zlib import crc32

import numpy as np

#: What may be read of the class of a word (`text.word_classes`): all of its path, or as many steps of it.
CLASS_ATTRIBUTES = {"class": 1_000, **{f"class:{steps}": steps for steps in (2, 4, 6, 8, 10, 12, 16)}}

#: Of so many words it is kept what they say.
KEPT_FORMS = 1 << 16
#: Past the end of a list.
_NONE = -1


def compile_lists(
    lists: Sequence[Sequence[str]],
    known: Collection[str],
    reader: str,
    *,
    element: str = "a context element",
    a_list: str = "A context list",
    more: Sequence[str] = (),
    joined: int = 1,
    check: Callable[[str], None] = lambda name: None,
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Find out which elements are read, and which of them each list names.

    lists (Sequence[Sequence[str]]): Lists of names, most important first.
    known (Collection[str]): The elements that there are.
    reader (str): What the lists are for, and `element` and `a_list` what an element and a list are called,
        for errors.
    more (Sequence[str]): Names of elements that are read besides.
    joined (int): How many elements may be one if their names are joined by `+`.
    check (Callable): Raises an error if an element may not be read.
    RETURNS (tuple[list[str], int32[lists, longest], int32[more]]): The names in the order of the row, each
        once; each list's columns, -1 past its end; and the columns of `more`.
    RAISES (ValueError): If a name is not known, is repeated within a list, or too many are joined.
    """
    names: list[str] = []
    for own in lists:
        parts = [part for name in own for part in (name.split("+") if joined > 1 else [name])]
        for part in parts:
            if part not in known:
                every = ", ".join(sorted(known))
                raise ValueError(f"'{part}' in '{reader}' is not {element}. The known ones are: {every}.")
            check(part)
        for name in own:
            if name.count("+") >= joined:
                raise ValueError(f"'{name}' in '{reader}' joins more than {joined} elements.")
        if len(set(parts)) < len(parts):
            raise ValueError(f"{a_list} in '{reader}' names an element twice: {', '.join(own)}.")
        names += [name for name in dict.fromkeys(own) if name not in names]
    names += [name for name in dict.fromkeys(more) if name not in names]
    columns = np.full((len(lists), max(map(len, lists), default=0)), _NONE, dtype=np.int32)
    for row, own in zip(columns, lists):
        row[: len(own)] = [names.index(name) for name in own]
    return names, columns, np.array([names.index(name) for name in more], dtype=np.int32)


def string_number(text: str) -> int:
    """A number for a string, the same in every process (CRC-32); strings that share one are read as the same."""
    return crc32(text.encode("utf8", "surrogatepass"))


class FormRows(dict[str, bytes]):
    """What words say by themselves, in rows of numbers that are found once.

    columns (int): How many numbers a row has.
    """

    def __init__(self, columns: int) -> None:
        self._columns = columns

    def of(self, forms: Sequence[str], find: Callable[[str], Iterable[int]]) -> np.ndarray:
        """The rows of some words (int32[*, columns]).

        find (Callable): The numbers of a word. It is not kept: whoever has these rows would never be let go.
        """
        if len(self) > KEPT_FORMS:
            self.clear()
        for form in forms:
            if form not in self:
                self[form] = np.fromiter(find(form), dtype=np.uint32, count=self._columns).tobytes()
        return np.frombuffer(b"".join([self[form] for form in forms]), dtype=np.int32).reshape(
            -1, self._columns
        )


def class_symbols(path: str) -> list[int]:
    """What is read of a class, in the order of `CLASS_ATTRIBUTES`: numbers that are the same in every
    process, 0 where there is no class.
    """
    return [string_number(path[:steps]) >> 1 if path else 0 for steps in CLASS_ATTRIBUTES.values()]


def reads_classes(names: Iterable[str]) -> bool:
    """Whether one of some elements reads classes."""
    return any(name.rsplit(".", 1)[-1] in CLASS_ATTRIBUTES for name in names)


def without_classes(lists: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The lists that read no classes, for a pipeline that has none."""
    return [names for names in lists if not reads_classes(names)]


def contexts_without_classes(experts: Sequence[Sequence[str]]) -> list[list[str]]:
    """Context lists as they are where there are no classes of words.

    Classes are left out of each list; and what is then the beginning of another list is left out, since that
    one backs off to it.
    """
    own = [[name for name in names if not reads_classes([name])] for names in experts]

    def is_covered(i: int) -> bool:
        return any(
            other[: len(own[i])] == own[i]
            and (len(other) > len(own[i]) or j < i or not reads_classes(experts[j]))
            for j, other in enumerate(own)
            if j != i
        )

    return [left for i, left in enumerate(own) if not (reads_classes(experts[i]) and is_covered(i))]


def with_class_symbols(elements: np.ndarray, column: int, first: int, paths: Sequence[str]) -> np.ndarray:
    """Elements that read classes of words, which are a function of the word.

    elements (int32[elements, *]): Rows of numbers.
    column (int), first (int): Where a row says that it reads a class, and by which number: this one for the
        first of `CLASS_ATTRIBUTES`.
    paths (Sequence[str]): The path to the class of each symbol of a word, or as much of it as is known. Where
        there is none, the symbol is read.
    RETURNS (int32[elements, * + symbols]): Behind each row what is read for each symbol. Nothing more if none
        of them reads classes.
    """
    is_class = elements[:, column] >= first
    if not is_class.any():
        return elements
    symbols = [
        class_symbols(path) if path else [own] * len(CLASS_ATTRIBUTES) for own, path in enumerate(paths)
    ]
    read = np.zeros((len(elements), len(paths)), dtype=np.int32)
    read[is_class] = np.array(symbols, dtype=np.int32).T[elements[is_class, column] - first]
    return np.hstack([elements, read])
