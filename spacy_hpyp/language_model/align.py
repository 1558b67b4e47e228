"""Values of another model's words or sub-words beside the rows of a table of surprisals."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

from .tables import cell, read_table

# Marks of sub-words, and tokens that stand for no text.
_MARKS = re.compile(r"^##|[\sĠĊ▁]|^<[^<>]+>$|^\[(?:CLS|SEP|PAD)\]$")
_MISSING = {"", "na", "nan", "none", "null"}
# Characters that another table may have more of than the rows, in one place.
_WINDOW = 1000


class Alignment:
    """Another model's table, as minicons and pangoling make them, read beside rows by their
    characters.

    A row has the sum of the values of its sub-words. It has none if a word of the other table
    reaches over its border, or if the texts differ there.

    path (Path): The table, with a row for each word or sub-word, in the order of the text.
    word (str): The column of its words; if it has none of this name, `token` or `word`.
    value (str): The column of numbers, which add up over the sub-words of a word.
    RAISES (ValueError): If there are no such columns, or a value is no number.
    """

    def __init__(self, path: Path, word: str, value: str) -> None:
        self.column = f"{path.stem}_{value}"
        self.rows = self.unaligned = 0
        texts, self._values = [], []
        for name, row in read_table(path):
            column = next((each for each in (word, "token", "word") if each in row), word)
            if text := _folded(cell(name, row, column)):
                texts.append(text)
                number = cell(name, row, value).strip()
                try:
                    self._values.append(None if number.lower() in _MISSING else float(number))
                except ValueError as error:
                    raise ValueError(f"The {value} of {name} is no number: {number}.") from error
        self._text, self._ends = "".join(texts), [0, *accumulate(map(len, texts))]
        self._place = 0

    def take(self, texts: Sequence[str]) -> list[float | None]:
        """Return the values of the texts of rows, which stand behind those of the calls before."""
        folded, values = list(map(_folded, texts)), []
        for text, following in zip(folded, [*folded[1:], ""]):
            start = self._place if self._text.startswith(text, self._place) else -1
            if start < 0:
                start = self._text.find(text + following, self._place, self._place + _WINDOW)
            values.append(None if start < 0 else self._sum(start, start + len(text)))
            self._place = self._place if start < 0 else start + len(text)
        self.rows += len(values)
        self.unaligned += values.count(None)
        return values

    def _sum(self, start: int, end: int) -> float | None:
        first, last = bisect_left(self._ends, start), bisect_left(self._ends, end)
        if first == last or (self._ends[first], self._ends[last]) != (start, end):
            return None
        values = self._values[first:last]
        return None if None in values else sum(values)

    def message(self) -> tuple[str, bool]:
        """Tell how many rows have no value, and whether these are many."""
        share = self.unaligned / max(self.rows, 1)
        return f"{self.unaligned:,} of {self.rows:,} rows have no {self.column}.", share > 0.05


def _folded(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKC", text)).casefold()
