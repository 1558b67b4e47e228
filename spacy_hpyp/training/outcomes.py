"""Gold words between documents and easy-first models of their outcomes."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import offsets_of
from ..compiled import NONE
from ..easy_first.classification import EasyFirstSearch, Sequences
from ..easy_first.word_model import WordClassifier
from ..easy_first.words import CANDIDATES
from ..text.candidates import WordOutcomes
from ..text.vocabulary import Vocabulary

# The largest number of neighbouring sequences in one fold.
_STRETCH = 200


class Encoded(NamedTuple):
    """Encoded sequences, see `Sequences`, and their outcomes, `NONE` where unknown."""

    symbols: np.ndarray
    kind: np.ndarray
    given: np.ndarray
    gold: np.ndarray
    offsets: np.ndarray

    @property
    def sequences(self) -> Sequences:
        """The words."""
        return Sequences(self.symbols, self.kind, self.given, self.offsets)

    def take(self, order: np.ndarray) -> "Encoded":
        """Return some of the sequences, by number (int64[*]), in their new order."""
        offsets = offsets_of(np.diff(self.offsets)[order])
        shift = np.repeat(self.offsets[:-1][order] - offsets[:-1], np.diff(offsets))
        words = shift + np.arange(offsets[-1])
        return Encoded(*(column[words] for column in self[:-1]), offsets)


@dataclass(frozen=True)
class GoldWords:
    """Sequences of words to learn from."""

    keys: list[bytes]  # Identify the content of each sequence
    forms: list[str]  # The distinct forms
    place: np.ndarray  # int64[words]: the form of each word
    gold: np.ndarray  # int32[words]: the outcomes, `NONE` where unknown
    given: np.ndarray  # int32[words]: outcomes known before prediction, `NONE` elsewhere
    more: dict[str, np.ndarray]  # int32[words]: by attribute
    offsets: np.ndarray  # int64[sequences + 1]: the start of each sequence

    @classmethod
    def join(cls, parts: Sequence["GoldWords"]) -> "GoldWords":
        """Join the sequences of parts, at least one."""
        number: dict[str, int] = {}
        numbers = [[number.setdefault(form, len(number)) for form in part.forms] for part in parts]
        place = [np.array(own, np.int64)[part.place] for own, part in zip(numbers, parts)]
        return cls(
            [key for part in parts for key in part.keys],
            list(number),
            np.concatenate(place),
            np.concatenate([part.gold for part in parts]),
            np.concatenate([part.given for part in parts]),
            {name: np.concatenate([part.more[name] for part in parts]) for name in parts[0].more},
            offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        )

    def teach_words(
        self, model: WordClassifier, outcomes: Sequence[str], left_out: Sequence[int] = ()
    ) -> None:
        """Initialize a model with the words and outcomes of all sequences but those `left_out`."""
        words, sentences = [self.forms[i] for i in self.place.tolist()], []
        places = np.split(np.arange(len(words)), self.offsets[1:-1])
        for i in np.setdiff1d(np.arange(len(places)), left_out):
            known = places[i][self.gold[places[i]] != NONE]
            sentences.append(([words[j] for j in known.tolist()], self.gold[known].tolist()))
        candidates = None
        if model.task.possible == CANDIDATES:
            seen = (pair for sentence in sentences for pair in zip(*sentence))
            candidates = WordOutcomes.collect(seen, model.task.frequent)
        vocabulary = Vocabulary.collect(sentences, outcomes, model.vocabulary_settings)
        model.initialize(vocabulary, candidates)

    def encode(self, model: WordClassifier) -> Encoded:
        """Encode the words for a model."""
        symbols, kind = model.encode(self.forms, self.place, self.more)
        return Encoded(symbols, kind, self.given, self.gold, self.offsets)


def jackknife(
    model: WordClassifier,
    gold: GoldWords,
    search: EasyFirstSearch,
    *,
    folds: int,
    epochs: int,
    threads: int,
) -> dict[bytes, np.ndarray]:
    """Find the outcomes of each sequence (int32[*], by key) by a model that has been trained on the
    others. Sequences of the same content are in the same fold.

    model (WordClassifier): A model with the same settings; it stays as it is.
    folds, epochs (int): The number of parts, at least 2, and of passes of each model.
    threads (int): The number of folds at once; the result does not depend on it.
    """
    numbers = {key: number for number, key in enumerate(dict.fromkeys(gold.keys))}
    number = np.array([numbers[key] for key in gold.keys], dtype=np.int64)
    # Neighbours are similar, so they share a fold.
    fold_of = number // max(1, min(_STRETCH, -(-len(numbers) // folds))) % folds

    def decide_fold(fold: int) -> dict[bytes, np.ndarray]:
        own, others = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        left_out = model.untrained()
        gold.teach_words(left_out, model.outcomes, own.tolist())
        encoded = gold.encode(left_out)
        rng = np.random.default_rng(fold)
        for _ in range(epochs):
            epoch = encoded.take(rng.permutation(others))
            left_out.learn(epoch.sequences, epoch.gold, search)
        held_out = encoded.take(own).sequences
        outcomes = np.split(left_out.decide(held_out, search), held_out.offsets[1:-1])
        return {gold.keys[i]: each for i, each in zip(own.tolist(), outcomes)}

    with ThreadPoolExecutor(threads) as executor:
        parts = executor.map(decide_fold, range(min(folds, len(numbers))))
        return {key: outcomes for part in parts for key, outcomes in part.items()}
