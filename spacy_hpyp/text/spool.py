"""Text that is gone through many times, on disk instead of in memory."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np

from .vocabulary import Vocabulary

_PART = 1 << 14


class Spool(AbstractContextManager["Spool"]):
    """The sentences of a text in a temporary file.

    They are read once, whatever it costs to find them. What stays in memory is the text's word types. A spool is a context
    manager, and at its end the file is gone.

    sentences (Iterable[Sequence[str]]): The words of each sentence; empty sentences are left out.
    """

    def __init__(self, sentences: Iterable[Sequence[str]]) -> None:
        #: The number of sentences, and the number of their words.
        self.sentences = 0
        self.words = 0
        # The file has the numbers of the word types, and 0 after each sentence.
        self._types: dict[str, int] = {}
        self._file = tempfile.TemporaryFile()
        for sentence in sentences:
            if len(sentence) > 0:
                numbers = [self._types.setdefault(word, len(self._types) + 1) for word in sentence]
                self._file.write(np.array([*numbers, 0], dtype=np.int32).tobytes())
                self.sentences += 1
                self.words += len(numbers)

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def texts(self) -> Iterator[list[str]]:
        """The words of each sentence."""
        words = ["", *self._types]
        for part in self._parts():
            start = 0
            for end in np.flatnonzero(part == 0).tolist():
                yield [words[number] for number in part[start:end].tolist()]
                start = end + 1

    def encode(self, vocabulary: Vocabulary) -> np.ndarray:
        """What stands for each number of the file in a stream of a vocabulary's numbers, see `streams`.

        RETURNS (int32[types + 1]): The numbers of the word types; and for the end of a sentence the first number that is
            no word, which is the vocabulary's length.
        """
        return np.array([len(vocabulary), *vocabulary.numbers([*self._types])], dtype=np.int32)

    def streams(self, numbers: np.ndarray) -> Iterator[np.ndarray]:
        """The sentences by numbers that `encode` has made, some at a time (int32[*]): those of words, and that of the end after each."""
        return (numbers[part] for part in self._parts())

    def _parts(self) -> Iterator[np.ndarray]:
        self._file.seek(0)
        rest = np.empty(0, dtype=np.int32)
        while data := self._file.read(_PART * rest.itemsize):
            rest = np.concatenate([rest, np.frombuffer(data, dtype=np.int32)])
            whole = len(rest) - int(np.argmax(rest[::-1] == 0))
            if rest[whole - 1] == 0:
                yield rest[:whole]
                rest = rest[whole:]
