"""The n-gram model: a hierarchical Pitman-Yor process over the previous words (Teh 2006), which is
the baseline of B&B section 5.2.

The n - 1 previous words predict a word or the end of the sentence, backing off by dropping the
farthest word first. Rare words are their class, by the same rules as in the parser. The last sample
of Gibbs sampling predicts.

The end of a sentence is the *boundary*, the last dish of the alphabet. In a context it stands for
the words before the beginning of the sentence, see `spacy_hpyp.hpyp.sequences`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from spacy.util import registry

from ..compiled import jit
from ..hpyp.franchise import deepest, dish_counts, new_franchise, reserve, restaurant_distribution
from ..hpyp.hyperparameters import resample
from ..hpyp.sequences import BEFORE, contexts, draw_sequence, score_symbols, visit
from ..hpyp.spelling import Spelling, spell, write_out
from ..hpyp.storage import pack, unpack
from ..settings import whole
from ..storage import dump, load, replace_file, with_checksum, without_checksum
from ..text.ngrams import add_up, count_ngrams
from ..text.vocabulary import Vocabulary, VocabularySettings
from .generation import ATTEMPTS, check_drawing, not_found

KIND = "spacy-hpyp n-gram model"
HIGHEST_ORDER = 20
# The number of customers to reserve room for at once.
_CUSTOMERS = 1 << 14


@jit
def next_distributions(franchise, rows):
    """Return p(word or boundary | context) for some contexts (float64[n, alphabet])."""
    found = np.empty((len(rows), franchise.alphabet[0]))
    for place in range(len(rows)):
        restaurant_distribution(franchise, deepest(franchise, 0, rows[place]), found[place])
    return found


class NGramVocabulary(NamedTuple):
    """A vocabulary with its rule for unknown words, its tokenizer, and perhaps its spelling."""

    vocabulary: Vocabulary
    unknown_words: dict[str, Any]  # The rule as a block of a config, {"@misc": name, ...}
    lang: str  # The language code of the tokenizer that the words come from
    spelling: Spelling | None = None
    tokenizer: bytes = b""  # A learned tokenizer; empty for spaCy's tokenizer of the language


def collect_vocabulary(
    sentences: Iterable[Sequence[str]],
    *,
    lang: str = "en",
    min_count: int = 2,
    min_class_count: int = 5,
    spelling: bool = False,
    seed: int = 0,
) -> NGramVocabulary:
    """Collect the vocabulary of a text: its frequent words, and the classes of the others.

    sentences (Iterable[Sequence[str]]): The words of each sentence, in any order.
    lang (str): The language code. The classes are those of `spacy-hpyp.EnglishSignatures.v1` for
        "en", else of `spacy-hpyp.UnknownWords.v1`.
    min_count (int), min_class_count (int): See `VocabularySettings`.
    spelling (bool): Whether to learn how rare words are spelled: an open vocabulary.
    seed (int): Fixes the spelling.
    RAISES (ValueError): If a threshold is not a whole number of at least 1, or there are no words.
    """
    whole("min_count", min_count)
    whole("min_class_count", min_class_count)
    rule: dict[str, Any] = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": lang}
    if lang == "en":
        rule = {"@misc": "spacy-hpyp.EnglishSignatures.v1"}
    resolved = registry.resolve({"rule": rule})["rule"]
    settings = VocabularySettings(resolved, min_count, min_class_count)
    types: set[str] = set()

    def tagged() -> Iterator[tuple[Sequence[str], list[int]]]:
        for words in sentences:
            types.update(words)
            # All words have the same tag, which says nothing about a word's class.
            yield words, [0] * len(words)

    vocabulary = Vocabulary.collect(tagged(), [""], settings)
    if not types:
        raise ValueError("There is no sentence to take a vocabulary from.")
    rng = np.random.default_rng([seed, 0, 4])
    letters = Spelling.learn(vocabulary, types, rng) if spelling else None
    return NGramVocabulary(vocabulary, rule, lang, letters)


class NGramModel:
    """A trained n-gram model. Make one with `train_ngram_model` or `NGramModel.from_disk`.

    words (NGramVocabulary), order (int): The vocabulary, and n, the length of the longest n-gram.
    seating (dict[str, Any]): The seating of the training data, see `hpyp.storage.pack`.
    """

    def __init__(self, words: NGramVocabulary, order: int, seating: dict[str, Any]) -> None:
        self.words, self.order = words, order
        self.vocabulary, self.spelling = words.vocabulary, words.spelling
        self._seating = seating
        self._franchise = unpack(seating, _new_franchise(order, words.vocabulary))

    def word_counts(self) -> np.ndarray:
        """Return the count of each word and class in training (int64[words + classes])."""
        return dish_counts(self._franchise)[:-1]

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """Return log p(word or end | words before) of a sentence (float64[n + 1], nats).

        An unknown word has the probability of its class, times that of its letters if it is
        spelled.
        """
        return self._log_probs(words, self._numbers(words))

    def next_words(self, words: Sequence[str]) -> np.ndarray:
        """Return the distribution of the next word or the end after each prefix of a sentence.

        RETURNS (float64[n + 1, outcomes]): Probabilities of the words and classes of the
            vocabulary, and in the last column of the end.
        """
        return next_distributions(self._franchise, self._contexts(self._numbers(words))[0])

    def spell(self, words: Sequence[str]) -> np.ndarray:
        """Return the log-probabilities of the letters of unknown words (float64[n], nats)."""
        return spell(self.spelling, len(self.vocabulary.words), words, self._numbers(words))

    def _numbers(self, words: Sequence[str]) -> np.ndarray:
        return np.array(self.vocabulary.numbers(words), dtype=np.int32)

    def _contexts(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the contexts of words and of the end, and their numbers."""
        symbols = np.append(numbers, np.int32(len(self.vocabulary)))
        one = np.array([0, len(symbols)])
        return contexts(self._franchise, symbols, one, np.zeros(1, dtype=np.int32)), symbols

    def _log_probs(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        found = score_symbols(self._franchise, *self._contexts(numbers))
        found[:-1] += spell(self.spelling, len(self.vocabulary.words), words, numbers)
        return found

    def generate(
        self, count: int, *, max_length: int = 60, seed: int = 0
    ) -> Iterator[tuple[list[str], float]]:
        """Draw sentences, given that they have at least one word and are not too long (B&B section
        5.5).

        An unknown word is spelled, or written as its class in angle brackets.

        count (int), max_length (int): The numbers of sentences, and of words at most.
        seed (int): Fixes the sentences. The first ones are the same for every count.
        YIELDS (tuple[list[str], float]): The words, and their log-probability with the end, in
            nats.
        RAISES (ValueError): If a setting is out of range, or no such sentence is found.
        """
        count, max_length, seed = check_drawing(count, max_length, seed)
        room = np.empty(max_length, dtype=np.int32)

        def draw(number: int) -> tuple[list[str], float]:
            rng = np.random.default_rng([seed, number])
            lengths = (draw_sequence(self._franchise, 0, rng, room) for _ in range(ATTEMPTS))
            drawn = room[: next((n for n in lengths if n > 0), 0)]
            if not len(drawn):
                raise not_found(max_length)
            words = [
                write_out(self.vocabulary, self.spelling, word, rng) for word in drawn.tolist()
            ]
            return words, float(self._log_probs(words, drawn).sum())

        return map(draw, range(count))

    def to_bytes(self) -> bytes:
        """Serialize the model, with a checksum."""
        message = {
            "kind": KIND,
            "order": self.order,
            "lang": self.words.lang,
            "tokenizer": self.words.tokenizer,
            "unknown_words": self.words.unknown_words,
            "vocabulary": {"vocabulary": self.vocabulary.to_dict()},
            "seating": self._seating,
            "spelling": self.spelling and self.spelling.to_message(),
        }
        return with_checksum(dump(message))

    @classmethod
    def from_bytes(cls, data: bytes) -> "NGramModel":
        """Load what `to_bytes` wrote. RAISES (ValueError): If the bytes are not that."""
        message = load(without_checksum(data))
        if message.get("kind") != KIND:
            raise ValueError("it is not an n-gram model")
        rule, spelling = message["unknown_words"], message["spelling"]
        resolved = registry.resolve({"rule": rule})["rule"]
        vocabulary = Vocabulary.from_dict(message["vocabulary"]["vocabulary"], resolved)
        spelling = spelling and Spelling.from_message(spelling)
        words = NGramVocabulary(vocabulary, rule, message["lang"], spelling, message["tokenizer"])
        return cls(words, message["order"], message["seating"])

    def to_disk(self, path: str | Path) -> None:
        """Save the model to a file."""
        replace_file(Path(path), self.to_bytes())

    @classmethod
    def from_disk(cls, path: str | Path) -> "NGramModel":
        """Load a model from a file. RAISES (ValueError): If it is damaged or no n-gram model."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(
                f"The n-gram model '{path}' cannot be read: {error}. Train or copy it again."
            ) from error


def _new_franchise(order: int, vocabulary: Vocabulary) -> Any:
    """Return an empty franchise whose contexts are the previous words, the nearest first."""
    columns = np.arange(BEFORE, BEFORE + order - 1, dtype=np.int32).reshape(1, order - 1)
    return new_franchise(columns, len(vocabulary) + 1)


def train_ngram_model(
    text: Iterable[Sequence[str]],
    words: NGramVocabulary
    | Callable[[Iterable[Sequence[str]]], NGramVocabulary] = collect_vocabulary,
    *,
    order: int = 5,
    sweeps: int = 20,
    seed: int = 0,
    progress: Callable[[int, float], None] | None = None,
) -> NGramModel:
    """Train an n-gram model by Gibbs sampling.

    The first sweep adds every n-gram, later ones remove and add it, in an order independent of that
    of the text. Each sweep then resamples discounts and strengths.

    text (Iterable[Sequence[str]]): The words of each sentence, which are read once.
    words (NGramVocabulary | Callable): The vocabulary, or a function that makes it from all words.
    order (int), sweeps (int): n, from 1 to 20, and the number of sweeps, at least 1.
    seed (int): Fixes the model bit for bit.
    progress (Callable | None): Called after each sweep with its number and the mean log-probability
        of a prediction, in nats.
    RAISES (ValueError): If a setting is out of range, or there are no sentences.
    """
    whole("order", order, highest=HIGHEST_ORDER)
    whole("sweeps", sweeps)
    rng = np.random.default_rng(whole("seed", seed, least=0))
    counted = count_ngrams(text, order)
    if not len(counted.rows):
        raise ValueError("There is no sentence to train on.")
    words = words(counted.tokens()) if callable(words) else words
    boundary = len(words.vocabulary)
    numbers = np.array([boundary, *words.vocabulary.numbers(counted.words[1:])], dtype=np.int32)
    rows, counts = add_up(numbers[counted.rows], counted.counts)
    del counted
    franchise, ends = _new_franchise(order, words.vocabulary), np.cumsum(counts)
    for sweep in range(1, sweeps + 1):
        log_prob = 0.0
        for start in range(0, ends[-1], _CUSTOMERS):
            customers = np.arange(start, min(start + _CUSTOMERS, ends[-1]))
            franchise = reserve(franchise, len(customers))
            # The word precedes its context, in the place of a group.
            ngrams = rows[np.searchsorted(ends, customers, side="right")]
            log_prob += visit(franchise, ngrams, ngrams[:, 0].copy(), sweep > 1, rng)
        resample(franchise, rng)
        if progress is not None:
            progress(sweep, log_prob / ends[-1])
    return NGramModel(words, order, pack(franchise))
