"""Words as sequences of characters, so that every string is one."""

from collections.abc import Iterable, Sequence
from math import log

import numpy as np

#: How many characters there are in Unicode, with those that have no meaning yet.
CODE_POINTS = 0x110000


class Characters:
    """Characters as numbers: those that are known, one number for all others, and one for the end of a word.

    known (Iterable[str]): The known characters.
    """

    def __init__(self, known: Iterable[str]) -> None:
        #: In the order of their numbers.
        self.known = "".join(sorted(set(known)))
        self._numbers = {character: number for number, character in enumerate(self.known)}
        self._numbers[""] = self.end

    def __len__(self) -> int:
        return len(self.known) + 2

    @property
    def unknown(self) -> int:
        """The number of all characters that are not known."""
        return len(self.known)

    @property
    def end(self) -> int:
        """The number of the end of a word, the last one."""
        return len(self.known) + 1

    @property
    def log_share(self) -> float:
        """The log-probability, in nats, of a character that is not known given that it is one of these: all are alike."""
        return -log(CODE_POINTS - len(self.known))

    def encode(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Words as numbers, one after the other.

        RETURNS (tuple[int32[*], int64[words + 1]]): The numbers of each word's characters, the last one first, and of its end; and
            where each word begins.
        """
        numbers, unknown = self._numbers, self.unknown
        symbols = [numbers.get(character, unknown) for word in words for character in (*reversed(word), "")]
        offsets = np.cumsum([0, *(len(word) + 1 for word in words)])
        return np.array(symbols, dtype=np.int32), offsets.astype(np.int64)

    def decode(self, symbols: np.ndarray) -> str | None:
        """The word that numbers stand for, its end left out; none if one of its characters is not known."""
        if np.any(symbols >= self.unknown):
            return None
        return "".join(self.known[number] for number in reversed(symbols.tolist()))
