"""Counts of words that stand together in a text, and the order of counted items."""

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

# Words to gather before counting: memory grows with different n-grams, not with the text.
_WAITING = 1 << 22


class NGrams(NamedTuple):
    """The different n-grams of a text, sorted."""

    words: list[str]  # Different words, sorted, after "" for the border of sentences
    rows: np.ndarray  # int32[m, n]: the numbers of the words of each n-gram, the last word first
    counts: np.ndarray  # int64[m]: the count of each

    def tokens(self) -> Iterator[list[str]]:
        """Yield for each word but the border a list of as many copies as the text has."""
        often = np.bincount(self.rows[:, 0], self.counts, len(self.words)).astype(np.int64)
        return ([word] * count for word, count in zip(self.words[1:], often[1:].tolist()))


def _rows(text: np.ndarray, order: int) -> np.ndarray:
    """Return a row of each word and each end of a sentence in a text, which has 0 before it and
    after each sentence, with the words before it in the sentence, the nearest first
    (int32[*, order]).
    """
    columns = [text[1:]]
    for distance in range(1, order):
        before = np.zeros_like(columns[0])
        before[distance - 1 :] = text[: max(0, len(text) - distance)]
        # Only borders precede a border.
        before[(columns[-1] == 0) & (distance > 1)] = 0
        columns.append(before)
    return np.stack(columns, axis=1)


def count_ngrams(sentences: Iterable[Sequence[str]], order: int) -> NGrams:
    """Count the n-grams of a text that end with a word, or with an end of a sentence.

    sentences (Iterable[Sequence[str]]): The words of each sentence, read once; empty sentences are
        left out. No word is "".
    """
    number = {"": 0}
    waiting = array("i", [0])
    rows = np.empty((0, order), dtype=np.int32)
    counts = np.empty(0, dtype=np.int64)

    def added() -> tuple[np.ndarray, np.ndarray]:
        own = _rows(np.array(waiting, dtype=np.int32), order)
        ones = np.ones(len(own), dtype=np.int64)
        return add_up(np.concatenate([rows, own]), np.append(counts, ones))

    for words in sentences:
        if words:
            waiting.extend(number.setdefault(word, len(number)) for word in words)
            waiting.append(0)
        if len(waiting) > max(_WAITING, len(counts)):
            rows, counts = added()
            waiting = array("i", [0])
    rows, counts = added()
    words = sorted(number)
    place = np.empty(len(words), dtype=np.int32)
    place[[number[word] for word in words]] = np.arange(len(words))
    return NGrams(words, *add_up(place[rows], counts))


def add_up(rows: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, sorted, and the sum of the counts of each."""
    order = np.lexsort(rows.T[::-1])
    rows = rows[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    return rows[is_first], np.add.reduceat(counts[order], np.flatnonzero(is_first))


def by_frequency(found: Counter[Any], more: Iterable[Any] = ()) -> list[Any]:
    """Return counted items in descending order of counts, ties in their own order; `more` with
    count 0.
    """
    return sorted({*found, *more}, key=lambda each: (-found[each], each))
