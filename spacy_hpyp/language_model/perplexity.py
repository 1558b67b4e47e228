"""Perplexity: how well a model predicts text, by the convention of a closed vocabulary or of an open one.

One prediction is counted for each word and one for the end of each sentence. With a closed vocabulary a word that the model knows
by its class only counts as the class: its probability is not shared out among the words of the class. So perplexities can be compared
between models whose vocabularies and classes are the same, and only between these.

With an open vocabulary such a word is spelled out, and its probability is that of its class times that of its letters
(`spacy_hpyp.models.spelling`). It is lower, so that the perplexity is higher, and can be compared between all models that spell, and
bits a character with those of any model of the same text: minus the binary log of the text's probability, divided by the number
of its characters. The end of each word is one of these, as the space between two words or the line end after a sentence.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import exp, log, sqrt
from typing import Any, NamedTuple

CONVENTION = "closed vocabulary: a rare or unknown word counts as its class; one prediction a word and one for the end"
OPEN_CONVENTION = (
    "open vocabulary: a rare or unknown word counts as its class and its letters; one prediction a word and one for the "
    "end"
)


class ScoredSentence(NamedTuple):
    """What a model says about a sentence.

    log_prob (float): The log-probability of its words and its end, in nats.
    words (int): The number of its words.
    unknown (int): How many of them the model knows by their class only.
    variance (float): Of the log-probability where that is an estimate, else 0.
    characters (int): The number of characters of its words, their ends left out.
    spelling (float | None): The log-probability of the letters of those words, which is a part of `log_prob`, in nats; None if the
        vocabulary is a closed one.
    """

    log_prob: float
    words: int
    unknown: int
    variance: float = 0.0
    characters: int = 0
    spelling: float | None = None


@dataclass(frozen=True)
class Perplexity:
    """The perplexity of a text, and what it is made of.

    sentences, words, unknown (int): Numbers of sentences, of words, and of words known by their class only.
    log_prob (float): The log-probability of the text in nats.
    variance (float): Of the log-probability where that is an estimate, else 0.
    characters (int): The number of characters of the words, their ends left out.
    spelling (float | None): The part of `log_prob` that letters have, None if the vocabulary is a closed one.
    """

    sentences: int
    words: int
    unknown: int
    log_prob: float
    variance: float = 0.0
    characters: int = 0
    spelling: float | None = None

    @property
    def predictions(self) -> int:
        """Words and ends of sentences."""
        return self.words + self.sentences

    @property
    def log_prob_per_prediction(self) -> float:
        """The mean log-probability of a word or end, in nats."""
        return self.log_prob / self.predictions

    @property
    def perplexity(self) -> float:
        """exp(-log_prob / predictions)."""
        return exp(-self.log_prob_per_prediction)

    @property
    def standard_error(self) -> float:
        """Of `log_prob_per_prediction`, in nats; multiplied by the perplexity, it is that of the perplexity."""
        return sqrt(self.variance) / self.predictions

    @property
    def bias(self) -> float:
        """About how much `log_prob_per_prediction` is off on average, in nats: the log of an unbiased estimate is too low by
        half of its variance.
        """
        return -0.5 * self.variance / self.predictions + 0.0

    @property
    def closed_perplexity(self) -> float:
        """The perplexity of the same words with a closed vocabulary: without letters."""
        return exp(-(self.log_prob - (self.spelling or 0.0)) / self.predictions)

    @property
    def bits_per_character(self) -> float | None:
        """The bits of the text divided by its characters, each word with its end; None if a word counts as its class only."""
        if self.spelling is None and self.unknown > 0:
            return None
        return -self.log_prob / log(2.0) / (self.characters + self.words)

    @property
    def convention(self) -> str:
        """What is predicted."""
        return CONVENTION if self.spelling is None else OPEN_CONVENTION

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, and the convention."""
        figures = ("predictions", "log_prob_per_prediction", "perplexity", "closed_perplexity", "bits_per_character")
        figures += ("standard_error", "bias", "convention")
        return asdict(self) | {name: getattr(self, name) for name in figures}


def perplexity_of(sentences: Iterable[ScoredSentence]) -> Perplexity:
    """The perplexity of scored sentences.

    sentences (Iterable[ScoredSentence]): What a model says about each sentence of a text.
    RETURNS (Perplexity): exp of minus the mean log-probability of a prediction, and what it is made of.
    RAISES (ValueError): If there are no sentences.
    """
    count = words = unknown = characters = 0
    log_prob = variance = 0.0
    spelling: float | None = None
    for sentence in sentences:
        count += 1
        words += sentence.words
        unknown += sentence.unknown
        log_prob += sentence.log_prob
        variance += sentence.variance
        characters += sentence.characters
        if sentence.spelling is not None:
            spelling = (spelling or 0.0) + sentence.spelling
    if count == 0:
        raise ValueError("There is no sentence in the text, and so it has no perplexity.")
    return Perplexity(
        sentences=count,
        words=words,
        unknown=unknown,
        log_prob=log_prob,
        variance=variance,
        characters=characters,
        spelling=spelling,
    )
