"""Perplexity: how well a model predicts text, by the closed-vocabulary convention.

One prediction is counted for each word and one for the end of each sentence. A word that the model knows by its class only
counts as the class: its probability is not shared out among the words of the class. So perplexities can be compared between
models whose vocabularies and classes are the same, and only between these.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import exp, sqrt
from typing import Any, NamedTuple

CONVENTION = "closed vocabulary: a rare or unknown word counts as its class; one prediction a word and one for the end"


class ScoredSentence(NamedTuple):
    """What a model says about a sentence.

    log_prob (float): The log-probability of its words and its end, in nats.
    words (int): The number of its words.
    unknown (int): How many of them the model knows by their class only.
    variance (float): Of the log-probability where that is an estimate, else 0.
    """

    log_prob: float
    words: int
    unknown: int
    variance: float = 0.0


@dataclass(frozen=True)
class Perplexity:
    """The perplexity of a text, and what it is made of.

    sentences, words, unknown (int): Numbers of sentences, of words, and of words known by their class only.
    log_prob (float): The log-probability of the text in nats.
    variance (float): Of the log-probability where that is an estimate, else 0.
    """

    sentences: int
    words: int
    unknown: int
    log_prob: float
    variance: float = 0.0

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

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, and the convention."""
        figures = ("predictions", "log_prob_per_prediction", "perplexity", "standard_error", "bias")
        return asdict(self) | {name: getattr(self, name) for name in figures} | {"convention": CONVENTION}


def perplexity_of(sentences: Iterable[ScoredSentence]) -> Perplexity:
    """The perplexity of scored sentences.

    sentences (Iterable[ScoredSentence]): What a model says about each sentence of a text.
    RETURNS (Perplexity): exp of minus the mean log-probability of a prediction, and what it is made of.
    RAISES (ValueError): If there are no sentences.
    """
    count = words = unknown = 0
    log_prob = variance = 0.0
    for sentence in sentences:
        count += 1
        words += sentence.words
        unknown += sentence.unknown
        log_prob += sentence.log_prob
        variance += sentence.variance
    if count == 0:
        raise ValueError("There is no sentence in the text, and so it has no perplexity.")
    return Perplexity(sentences=count, words=words, unknown=unknown, log_prob=log_prob, variance=variance)
