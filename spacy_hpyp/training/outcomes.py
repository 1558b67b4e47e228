"""Gold words between documents and easy-first models of their outcomes."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import offsets_of
from ..compiled import NONE
from ..easy_first.classification import EasyFirstSearch, Sequences
from ..easy_first.word_model import WordClassifier
from ..easy_first.words import CANDIDATES
from ..text.candidates import WordOutcomes
from ..text.vocabulary import Vocabulary


@dataclass(frozen=True)
class GoldWords:
    """A sequence of words to learn from."""

    key: bytes  # Identifies its content
    forms: list[str]
    gold: np.ndarray  # int32[words]: their outcomes, `NONE` where unknown
    given: (
        np.ndarray
    )  # int32[words]: the outcomes that are known before prediction, `NONE` elsewhere
    more: dict[str, np.ndarray] = field(default_factory=dict)  # int32[words]: by attribute


class Encoded(NamedTuple):
    """Some sequences as a model reads them, see `Sequences`, and their outcomes, `NONE` where
    unknown.
    """

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
        """Some of the sequences, by number (int64[*]), in their new order."""
        offsets = offsets_of(np.diff(self.offsets)[order])
        words = np.repeat(self.offsets[:-1][order] - offsets[:-1], np.diff(offsets)) + np.arange(
            offsets[-1]
        )
        return Encoded(*(column[words] for column in self[:-1]), offsets)


class Corpus:
    """Gold words of at least one sequence, read once for several models."""

    def __init__(self, sequences: Sequence[GoldWords]) -> None:
        self.sequences = list(sequences)
        number: dict[str, int] = {}
        place = [
            number.setdefault(form, len(number)) for words in self.sequences for form in words.forms
        ]
        self.forms = list(number)
        self.place = np.array(place, dtype=np.int64)
        self.gold = np.concatenate([words.gold for words in self.sequences])
        self.given = np.concatenate([words.given for words in self.sequences])
        self.offsets = offsets_of([len(words.forms) for words in self.sequences])
        attributes = self.sequences[0].more
        self.more = {
            name: np.concatenate([words.more[name] for words in self.sequences])
            for name in attributes
        }

    def teach_words(
        self, model: WordClassifier, outcomes: Sequence[str], left_out: Iterable[int] = ()
    ) -> None:
        """Initialize a model with the words and their outcomes, without the sequences
        `left_out`.
        """
        dropped = set(left_out)
        sentences = [_known(words) for i, words in enumerate(self.sequences) if i not in dropped]
        candidates = None
        if model.task.possible == CANDIDATES:
            seen = (pair for words, gold in sentences for pair in zip(words, gold))
            candidates = WordOutcomes.collect(seen, model.task.frequent)
        model.initialize(
            Vocabulary.collect(sentences, outcomes, model.vocabulary_settings), candidates
        )

    def encode(self, model: WordClassifier) -> Encoded:
        """Encode all of it for a model."""
        symbols, kind = model.encode(self.forms, self.place, self.more)
        return Encoded(symbols, kind, self.given, self.gold, self.offsets)


def _known(words: GoldWords) -> tuple[list[str], list[int]]:
    """The words whose outcomes are known, with these."""
    found = np.flatnonzero(words.gold != NONE)
    return [words.forms[i] for i in found.tolist()], words.gold[found].tolist()


# How many sequences that stand together are in one fold, at the most.
_STRETCH = 200


def jackknife(
    model: WordClassifier,
    sequences: Sequence[GoldWords],
    search: EasyFirstSearch,
    *,
    folds: int,
    epochs: int,
    threads: int,
) -> Iterator[tuple[GoldWords, np.ndarray]]:
    """Find the outcomes of sequences by models that have been trained on the others, as outcomes of
    training sentences are too good. Sequences of the same content are in the same fold.

    model (WordClassifier): A model with the same settings; it stays as it is.
    folds (int): The number of parts, at least 2.
    epochs (int): The number of passes of each model.
    threads (int): The number of folds at once; the result does not depend on it.
    """
    if not sequences:
        return
    corpus = Corpus(sequences)
    numbers: dict[bytes, int] = {}
    number = np.array([numbers.setdefault(words.key, len(numbers)) for words in corpus.sequences])
    # What stands together is alike: new text is not from among the old.
    fold_of = number // min(_STRETCH, -(-len(numbers) // folds)) % folds

    def decide_fold(fold: int) -> list[np.ndarray]:
        own, others = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        left_out = model.untrained()
        corpus.teach_words(left_out, model.outcomes, own.tolist())
        encoded = corpus.encode(left_out)
        rng = np.random.default_rng(fold)
        for _ in range(epochs):
            epoch = encoded.take(rng.permutation(others))
            left_out.learn(epoch.sequences, epoch.gold, search)
        held_out = encoded.take(own)
        found = left_out.decide(held_out.sequences, search)
        return np.split(found, held_out.sequences.offsets[1:-1])

    with ThreadPoolExecutor(threads) as executor:
        for fold, found in enumerate(executor.map(decide_fold, range(folds))):
            for i, outcomes in zip(np.flatnonzero(fold_of == fold).tolist(), found):
                yield corpus.sequences[i], outcomes
