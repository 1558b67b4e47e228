"""The spelling of rare words: p(word) = p(class) · p(letters | class), an open vocabulary.

An HPYP n-gram model generates the characters of a word from the last to the first, because word
classes mostly depend on endings. Its context is the previous characters, then the class. It is
learned from the rare word types in training. The unknown characters of Unicode have equal
probabilities.

The probabilities of all strings sum to at most 1. Some is lost on letters of known words, or of
words in another class. So log-probabilities are lower bounds of those of a model with rejection
sampling.
"""

from collections.abc import Iterable, Sequence
from math import log
from typing import Any

import numpy as np

from ..text.folding import fold
from ..text.vocabulary import Vocabulary
from .franchise import Franchise, new_franchise
from .sequences import BEFORE, GROUP, contexts, draw_sequence, learn_sequences, score_symbols
from .storage import pack, unpack

#: The number of code points in Unicode, assigned or not.
CODE_POINTS = 0x110000
#: The number of attempts to draw a word, and the largest number of its characters.
ATTEMPTS, LONGEST = 1000, 50
# Previous characters, the nearest first, then the class: the best order on English, French and
# Tamil.
_COLUMNS = np.array([[*range(BEFORE, BEFORE + 5), GROUP]], dtype=np.int32)
_SWEEPS = 8


class Characters:
    """The alphabet of characters: known ones, one number for all others, and the end of a word."""

    def __init__(self, known: Iterable[str]) -> None:
        self.known = "".join(sorted(set(known)))
        self.unknown, self.end = len(self.known), len(self.known) + 1
        #: The log-probability of each unknown character given that a character is unknown, in nats.
        self.log_share = -log(CODE_POINTS - len(self.known))
        self._numbers = {character: number for number, character in enumerate(self.known)}
        self._numbers[""] = self.end

    def __len__(self) -> int:
        return len(self.known) + 2

    def encode(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the characters of each word in reverse, then its end, one word after the other
        (int32[*]); and the start of each word (int64[words + 1]).
        """
        numbers, unknown = self._numbers, self.unknown
        symbols = [
            numbers.get(character, unknown) for word in words for character in (*reversed(word), "")
        ]
        offsets = np.cumsum([0, *(len(word) + 1 for word in words)])
        return np.array(symbols, dtype=np.int32), offsets.astype(np.int64)

    def decode(self, symbols: np.ndarray) -> str | None:
        """Return the word, or None if a character is unknown; `symbols` exclude the end."""
        if np.any(symbols >= self.unknown):
            return None
        return "".join(self.known[number] for number in reversed(symbols.tolist()))


class Spelling:
    """The distribution of the letters of rare words given their class.

    characters (Characters): The alphabet.
    franchise (Franchise): Their seating, see `hpyp.sequences`; groups are classes, from 0.
    """

    def __init__(self, characters: Characters, franchise: Franchise) -> None:
        self.characters, self.franchise = characters, franchise

    @classmethod
    def learn(
        cls, vocabulary: Vocabulary, words: Iterable[str], rng: np.random.Generator
    ) -> "Spelling":
        """Learn the spelling of the rare words of a vocabulary. The known characters are those of
        all words of the training data, `words`; duplicates are ignored.
        """
        types = sorted(set(map(fold, words)))
        known = len(vocabulary.words)
        rare = [
            (word, n - known) for word, n in zip(types, vocabulary.numbers(types)) if n >= known
        ]
        characters = Characters("".join(types))
        symbols, offsets = characters.encode([word for word, _ in rare])
        groups = np.array([number for _, number in rare], dtype=np.int32)
        empty = new_franchise(_COLUMNS, len(characters))
        seated = learn_sequences(empty, symbols, offsets, groups, _SWEEPS, rng)
        # Predict the same before and after storage.
        return cls(characters, unpack(pack(seated), new_franchise(_COLUMNS, len(characters))))

    def log_probs(self, words: Sequence[str], classes: np.ndarray) -> np.ndarray:
        """Return the log-probabilities of n words (float64[n], nats) given their classes (int[n]),
        numbered from 0.
        """
        if len(words) == 0:
            return np.zeros(0)
        symbols, offsets = self.characters.encode(list(map(fold, words)))
        rows = contexts(self.franchise, symbols, offsets, np.asarray(classes))
        scores = score_symbols(self.franchise, rows, symbols)
        scores[symbols == self.characters.unknown] += self.characters.log_share
        return np.add.reduceat(scores, offsets[:-1])

    def draw(self, vocabulary: Vocabulary, number: int, rng: np.random.Generator) -> str | None:
        """Draw a word of a class, numbered from 0, or None if `ATTEMPTS` draws fail."""
        symbols = np.empty(LONGEST, dtype=np.int32)
        for _ in range(ATTEMPTS):
            length = draw_sequence(self.franchise, number, rng, symbols)
            word = self.characters.decode(symbols[:length]) if length > 0 else None
            if (
                word
                and word.strip() == word
                and vocabulary.number(word) == number + len(vocabulary.words)
            ):
                return word
        return None

    def to_message(self) -> dict[str, Any]:
        """Return the spelling as part of a message."""
        return {"characters": self.characters.known, "letters": pack(self.franchise)}

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Spelling":
        """Read what `to_message` wrote."""
        characters = Characters(message["characters"])
        return cls(characters, unpack(message["letters"], new_franchise(_COLUMNS, len(characters))))


def write_out(
    vocabulary: Vocabulary, spelling: Spelling | None, number: int, rng: np.random.Generator
) -> str:
    """Return the word of a number; for a class, a word drawn from it, or its name if that fails."""
    rare = number - len(vocabulary.words)
    drawn = None if spelling is None or rare < 0 else spelling.draw(vocabulary, rare, rng)
    return drawn or vocabulary.name(number)


def spell(
    spelling: Spelling | None, known: int, words: Sequence[str], numbers: np.ndarray
) -> np.ndarray:
    """Return the log-probabilities of words (float64[n], nats), given their numbers (int32[n]) in
    the vocabulary: 0 for the first `known` ones, and for all words without a `spelling`.
    """
    scores = np.zeros(len(numbers))
    rare = np.flatnonzero(numbers >= known)
    if spelling is not None and len(rare) > 0:
        scores[rare] = spelling.log_probs([words[i] for i in rare.tolist()], numbers[rare] - known)
    return scores
