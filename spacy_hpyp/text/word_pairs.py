"""How often words stand side by side: what classes of words are learned from. Counts of parts of a text are merged to those of the whole."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..storage.arrays import load_arrays, save_arrays

# After so many pairs they are added up, so that memory grows with different ones and not with the text.
_WAITING = 1 << 22
# A pair is one number: its first word, its second word, and whether the first one begins a sentence.
_FIRST, _SECOND = np.int64(32), np.int64(1)
_HALF = (1 << 31) - 1


class WordPairs(NamedTuple):
    """Pairs of words that stand side by side.

    words (list[str]): Different words in their order; "" at the head of them stands for the border of sentences.
    pairs (int64[n]): Different pairs in their order: 2³² times the number of the word, 2 times that of the next one or of the border, and
        whether the word is the first of its sentence.
    counts (int64[n]): How often each is there.
    """

    words: list[str]
    pairs: np.ndarray
    counts: np.ndarray

    @property
    def first(self) -> np.ndarray:
        """Of each pair the number of the word (int64[n])."""
        return self.pairs >> _FIRST

    @property
    def second(self) -> np.ndarray:
        """Of each pair the number of the next word, 0 if there is none (int64[n])."""
        return self.pairs >> _SECOND & _HALF

    @property
    def begins(self) -> np.ndarray:
        """Of each pair whether the word begins its sentence (bool[n])."""
        return (self.pairs & 1).astype(bool)

    def to_bytes(self) -> bytes:
        """As bytes."""
        # Words have no white space, but perhaps other line ends than this.
        text = np.frombuffer("\n".join(self.words).encode("utf8", "surrogatepass"), dtype=np.uint8)
        return save_arrays(words=text, pairs=np.diff(self.pairs, prepend=0), counts=self.counts)

    @classmethod
    def from_bytes(cls, data: bytes) -> "WordPairs":
        """From `to_bytes`."""
        arrays = load_arrays(data)
        words = arrays["words"].tobytes().decode("utf8", "surrogatepass").split("\n")
        return cls(words, np.cumsum(arrays["pairs"]), arrays["counts"])


def count_pairs(sentences: Iterable[Sequence[str]]) -> WordPairs:
    """Count the pairs of a text, which is read once.

    sentences (Iterable[Sequence[str]]): The words of each sentence; empty sentences are left out.
    """
    number = {"": 0}
    pairs, counts = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    waiting: list[int] = []
    starts: list[int] = []

    def added() -> tuple[np.ndarray, np.ndarray]:
        row = np.array([*waiting, 0], dtype=np.int64)
        own = row[:-1] << _FIRST | row[1:] << _SECOND
        own[starts] |= 1
        # Sentences have their borders between them, which are no word.
        own = own[row[:-1] > 0]
        return _add_up(np.concatenate([pairs, own]), np.concatenate([counts, np.ones(len(own), dtype=np.int64)]))

    for words in sentences:
        if words:
            starts.append(len(waiting))
            waiting += [number.setdefault(word, len(number)) for word in words]
            waiting.append(0)
        if len(waiting) > _WAITING:
            pairs, counts = added()
            waiting, starts = [], []
    return merge_pairs([WordPairs([*number], *added())])


def merge_pairs(parts: Sequence[WordPairs]) -> WordPairs:
    """The pairs of texts together."""
    words = sorted(set().union(*(part.words for part in parts)) | {""})
    place = {word: i for i, word in enumerate(words)}
    pairs, counts = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for part in parts:
        moved = np.array([place[word] for word in part.words], dtype=np.int64)
        pairs.append(moved[part.first] << _FIRST | moved[part.second] << _SECOND | part.begins)
        counts.append(part.counts)
    return WordPairs(words, *_add_up(np.concatenate(pairs), np.concatenate(counts)))


def _add_up(pairs: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    different, where = np.unique(pairs, return_inverse=True)
    return different, np.bincount(where, weights=counts, minlength=len(different)).astype(np.int64)
