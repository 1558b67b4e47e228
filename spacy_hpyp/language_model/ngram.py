"""The n-gram model: a hierarchical Pitman-Yor process over the previous words (Teh 2006), the
baseline of B&B section 5.2.

The n - 1 words before it predict a word or the end of the sentence; each back-off level drops the
farthest one. Rare words are their class, by the same rules as in the parser. The last seating of
Gibbs sampling predicts.

The end of a sentence is the *boundary*, the last dish of the alphabet. As an element of a context
it stands for what is before the beginning of the sentence, see `spacy_hpyp.hpyp.sequences`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compiled import jit
from ..hpyp.franchise import (
    deepest,
    dish_counts,
    dish_probability,
    new_franchise,
    reserve,
    restaurant_distribution,
)
from ..hpyp.hyperparameters import resample
from ..hpyp.seating import open_restaurant, seat, unseat
from ..hpyp.sequences import BEFORE, draw_sequence, read_context
from ..hpyp.spelling import Spelling, spell, write_out
from ..hpyp.storage import pack, unpack
from ..models.messages import vocabulary_from_message, vocabulary_to_message
from ..settings import whole
from ..storage import dump, load, replace_file, with_checksum, without_checksum
from ..text.ngrams import add_up, count_ngrams
from ..text.unknown_words import RULES, UnknownWordRule
from ..text.vocabulary import Vocabulary, VocabularySettings
from .generation import ATTEMPTS, check_drawing, unfound
from .scoring import Perplexity, score_of

KIND, FORMAT = "spacy-hpyp n-gram model", 4
HIGHEST_ORDER = 20
# Customers for whom room is made at once.
_CUSTOMERS = 1 << 14


@jit
def visit(franchise, rows, seated, rng):
    """Take one Gibbs step for each of some n-grams: remove it, if it is seated, and add it.

    franchise (Franchise): With room for them.
    rows (int32[*, order]): A word each, and those before it, the nearest first.
    seated (bool): Whether they are seated.
    rng (numpy.random.Generator): The source of randomness.
    RETURNS (float): The sum of the log-probabilities in nats, each predicted before it is added.
    """
    total = 0.0
    for row in rows:
        # Its contexts stand where `read_context` has them.
        restaurant = open_restaurant(franchise, 0, row)
        if seated:
            unseat(franchise, restaurant, row[0], rng)
        total += log(seat(franchise, restaurant, row[0], rng))
    return total


@jit
def next_distributions(franchise, words, out):
    """Compute the distribution of what follows each prefix of a sentence.

    franchise (Franchise): A seating that `visit` made.
    words (int32[n]): The words of the sentence.
    out (float64[n + 1, alphabet]): Overwritten with p(word or boundary | the words before), before
        the first word and after each.
    """
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    for place in range(len(words) + 1):
        read_context(words, 0, place, 0, franchise.alphabet[0] - 1, row)
        restaurant_distribution(franchise, deepest(franchise, 0, row), out[place])


@jit
def score_words(franchise, words, out):
    """Compute the log-probabilities of a sentence's words and of its end.

    franchise, words: See `next_distributions`.
    out (float64[n + 1]): Overwritten with log p(word or boundary | the words before it) in nats.
    """
    boundary = franchise.alphabet[0] - 1
    row = np.empty(BEFORE + franchise.columns.shape[1], dtype=np.int32)
    for place in range(len(words) + 1):
        read_context(words, 0, place, 0, boundary, row)
        outcome = words[place] if place < len(words) else boundary
        out[place] = log(dish_probability(franchise, deepest(franchise, 0, row), outcome))


class NGramVocabulary(NamedTuple):
    """A vocabulary with its rule for unknown words and perhaps its spelling.

    vocabulary (Vocabulary): The words and the classes of rare words.
    unknown_words (dict[str, Any]): The rule as a block of a config, {"@misc": name, ...}; one of
        this package's.
    lang (str): The language code of the tokenizer that the words come from.
    tokenizer (bytes): A learned tokenizer of a pipeline that reads text; if empty spaCy's of the
    language.
    """

    vocabulary: Vocabulary
    unknown_words: dict[str, Any]
    lang: str
    spelling: Spelling | None = None
    tokenizer: bytes = b""


class DrawnSentence(NamedTuple):
    """A sentence that has been drawn.

    log_prob (float): Of the words and the end, and of the letters of words that are spelled out, in
    nats.
    """

    words: list[str]
    log_prob: float


def resolve_rule(unknown_words: dict[str, Any]) -> UnknownWordRule:
    """Make the rule for unknown words that a block of a config describes.

    RAISES (ValueError): If it is no rule of this package: a model's file does not say which code is
    run.
    """
    arguments = dict(unknown_words)
    name = arguments.pop("@misc")
    if name not in RULES:
        raise ValueError(
            f"'{name}' is no rule for unknown words of spacy-hpyp, and n-gram models take no other."
        )
    return RULES[name](**arguments)


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

    The classes are those of `spacy-hpyp.EnglishSignatures.v1` for English, else of
    `spacy-hpyp.UnknownWords.v1`.

    sentences (Iterable[Sequence[str]]): The words of each sentence, in any order.
    min_count (int): Words seen less often are known by their class only.
    min_class_count (int): Classes seen less often give way to more general ones.
    spelling (bool): Whether to learn how rare words are spelled, so that the vocabulary is an open
    one. RAISES (ValueError): If a threshold is less than 1, or there are no sentences.
    """
    whole("min_count", min_count)
    whole("min_class_count", min_class_count)
    rule: dict[str, Any] = {"@misc": "spacy-hpyp.EnglishSignatures.v1"}
    if lang != "en":
        rule = {"@misc": "spacy-hpyp.UnknownWords.v1", "lang": lang}
    types: set[str] = set()

    def read() -> Iterator[tuple[Sequence[str], list[int]]]:
        for words in sentences:
            types.update(words)
            # All words have one and the same tag, whose name is empty: it says nothing about a
            # word's class.
            yield words, [0] * len(words)

    settings = VocabularySettings(resolve_rule(rule), min_count, min_class_count)
    vocabulary = Vocabulary.collect(read(), [""], settings)
    if not types:
        raise ValueError("There is no sentence to take a vocabulary from.")
    learned = None
    if spelling:
        learned = Spelling.learn(vocabulary, sorted(types), np.random.default_rng([seed, 0, 4]))
    return NGramVocabulary(vocabulary, rule, lang, learned)


class NGramModel:
    """A trained n-gram model. Make one with `train_ngram_model` or `NGramModel.from_disk`.

    order (int): n, the length of the longest n-gram.
    seating (dict[str, Any]): The seating of the training data, packed by `hpyp.storage.pack`.
    """

    def __init__(self, words: NGramVocabulary, order: int, seating: dict[str, Any]) -> None:
        self.words, self.order = words, order
        self.vocabulary, self.spelling = words.vocabulary, words.spelling
        self._seating = seating
        self._franchise = unpack(
            seating, new_franchise(columns_of(order), len(self.vocabulary) + 1)
        )

    def word_counts(self) -> np.ndarray:
        """Count how often each word and class of the vocabulary was seen in training (int64[words +
        classes]).
        """
        return dish_counts(self._franchise)[:-1]

    def log_probs(self, words: Sequence[str]) -> np.ndarray:
        """Compute the log-probabilities of a sentence's words and of its end.

        RETURNS (float64[n + 1]): In nats, of each word given those before it, and of the end. A
            word that is not in the vocabulary has the probability of its class, times that of its
            letters if it is spelled out.
        """
        numbers = self._numbers(words)
        found = self._score(numbers)
        found[:-1] += self.spell(words, numbers)
        return found

    def next_words(self, words: Sequence[str]) -> np.ndarray:
        """Compute the distributions of the next word, or the end, after each prefix of a sentence.

        RETURNS (float64[n + 1, outcomes]): Probabilities of all words and classes of the vocabulary
            by their numbers, and in the last column of the end; before the first word and after
            each.
        """
        found = np.empty((len(words) + 1, len(self.vocabulary) + 1))
        next_distributions(self._franchise, self._numbers(words), found)
        return found

    def score(self, sentences: Iterable[Sequence[str]]) -> Iterator[Perplexity]:
        """Compute the log-probability of each sentence.

        sentences (Iterable[Sequence[str]]): The words of each sentence.
        """
        for words in sentences:
            numbers = self._numbers(words)
            yield score_of(self, words, numbers, float(self._score(numbers).sum()))

    def generate(
        self, count: int, *, max_length: int = 60, seed: int = 0
    ) -> Iterator[DrawnSentence]:
        """Draw sentences from the model, word by word (B&B section 5.5).

        They are drawn from its distribution given that they have a word and are not too long. Rare
        words are spelled out where the model does that, and else written as the name of their class
        in angle brackets.

        max_length (int): The most words of a sentence.
        seed (int): Fixes the sentences. The first ones are the same for every count.
        RAISES (ValueError): If a setting is out of its range, or no sentence that is short enough
        is found.
        """
        count, max_length, seed = check_drawing(count, max_length, seed)
        room = np.empty(max_length, dtype=np.int32)

        def draw(number: int) -> DrawnSentence:
            rng = np.random.default_rng([seed, number])
            lengths = (draw_sequence(self._franchise, 0, rng, room) for _ in range(ATTEMPTS))
            drawn = room[: next((n for n in lengths if n > 0), 0)]
            if not len(drawn):
                raise unfound("sentences", max_length)
            words = [
                write_out(self.vocabulary, self.spelling, word, rng) for word in drawn.tolist()
            ]
            log_prob = self._score(drawn).sum() + self.spell(words, drawn).sum()
            return DrawnSentence(words, float(log_prob))

        return map(draw, range(count))

    def spell(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        """Compute the log-probabilities of the letters of rare words, see `hpyp.spelling.spell`."""
        return spell(self.spelling, len(self.vocabulary.words), words, numbers)

    def _numbers(self, words: Sequence[str]) -> np.ndarray:
        return np.array(self.vocabulary.numbers(words), dtype=np.int32)

    def _score(self, numbers: np.ndarray) -> np.ndarray:
        found = np.empty(len(numbers) + 1)
        score_words(self._franchise, numbers, found)
        return found

    def to_bytes(self) -> bytes:
        """Serialize the model, with a checksum."""
        message = {
            "kind": KIND,
            "format": FORMAT,
            "order": self.order,
            "lang": self.words.lang,
            "tokenizer": self.words.tokenizer,
            "unknown_words": self.words.unknown_words,
            "vocabulary": vocabulary_to_message(self.vocabulary),
            "seating": self._seating,
            "spelling": None if self.spelling is None else self.spelling.to_message(),
        }
        return with_checksum(dump(message))

    @classmethod
    def from_bytes(cls, data: bytes) -> "NGramModel":
        """Load what `to_bytes` wrote. RAISES (ValueError): If the bytes are damaged or are no
        n-gram model.
        """
        message = load(without_checksum(data))
        if (message.get("kind"), message.get("format")) != (KIND, FORMAT):
            raise ValueError("it is not an n-gram model of this version of spacy-hpyp")
        rule, spelling = message["unknown_words"], message["spelling"]
        vocabulary = vocabulary_from_message(message["vocabulary"], resolve_rule(rule))
        if spelling is not None:
            spelling = Spelling.from_message(spelling)
        words = NGramVocabulary(vocabulary, rule, message["lang"], spelling, message["tokenizer"])
        return cls(words, message["order"], message["seating"])

    def to_disk(self, path: str | Path) -> None:
        """Save the model to a file, which takes the place of a previous one only when it is
        complete.
        """
        replace_file(Path(path), self.to_bytes())

    @classmethod
    def from_disk(cls, path: str | Path) -> "NGramModel":
        """Load a model from a file. RAISES (ValueError): If it is damaged or is no n-gram model."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except ValueError as error:
            raise ValueError(
                f"The n-gram model '{path}' cannot be read: {error}. Train or copy it again."
            ) from error


def columns_of(order: int) -> np.ndarray:
    """Return the context elements of an n-gram model's only expert (int32[1, order - 1]): the
    previous words, the nearest first.
    """
    return np.arange(BEFORE, BEFORE + order - 1, dtype=np.int32).reshape(1, order - 1)


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

    The first sweep seats every n-gram, the others remove each and add it again, in an order that
    does not depend on that of the text; after every sweep, discounts and strengths are resampled.

    text (Iterable[Sequence[str]]): The words of each sentence, which are read once.
    words (NGramVocabulary | Callable): The vocabulary, or what makes one of all words.
    order (int): n, from 1 to 20.
    seed (int): Fixes the model bit for bit.
    progress (Callable | None): Called after each sweep with its number and the mean log-probability
        of a prediction in it, in nats.
    RAISES (ValueError): If a setting is out of its range, or there are no sentences.
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
    franchise = new_franchise(columns_of(order), boundary + 1)
    ends = np.cumsum(counts)
    for sweep in range(1, sweeps + 1):
        log_prob = 0.0
        for start in range(0, ends[-1], _CUSTOMERS):
            customers = np.arange(start, min(start + _CUSTOMERS, ends[-1]))
            franchise = reserve(franchise, len(customers))
            of_customers = rows[np.searchsorted(ends, customers, side="right")]
            log_prob += visit(franchise, of_customers, sweep > 1, rng)
        resample(franchise, rng)
        if progress is not None:
            progress(sweep, log_prob / ends[-1])
    return NGramModel(words, order, pack(franchise))
