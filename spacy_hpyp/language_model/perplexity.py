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
from math import exp, log, sqrt
from typing import Any, NamedTuple

CONVENTION = "closed vocabulary: a rare or unknown word counts as its class; one prediction a word and one for the end"
OPEN_CONVENTION = (
    "open vocabulary: a rare or unknown word counts as its class and its letters; one prediction a word and one for the "
    "end"
)


class Perplexity(NamedTuple):
    """What a model says of a text, or of one of its sentences.

    log_prob (float): The log-probability of the words and of the ends of the sentences, in nats.
    words, unknown (int): Numbers of words, and of those that the model knows by their class only.
    variance (float): Of the log-probability where that is an estimate, else 0.
    characters (int): The number of characters of the words, their ends left out.
    spelling (float | None): The part of `log_prob` that the letters of those words have; None if the vocabulary is a closed one.
    sentences (int): The number of sentences.
    """

    log_prob: float
    words: int
    unknown: int
    variance: float = 0.0
    characters: int = 0
    spelling: float | None = None
    sentences: int = 1

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

    def _plus(self, other: "Perplexity") -> "Perplexity":
        spelled = [each.spelling for each in (self, other) if each.spelling is not None]
        sums = {name: getattr(self, name) + getattr(other, name) for name in self._fields if name != "spelling"}
        return Perplexity(**sums, spelling=sum(spelled) if spelled else None)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, and the convention."""
        figures = ("predictions", "log_prob_per_prediction", "perplexity", "closed_perplexity", "bits_per_character")
        figures += ("standard_error", "bias", "convention")
        return self._asdict() | {name: getattr(self, name) for name in figures}


def perplexity_of(sentences: Iterable[Perplexity]) -> Perplexity:
    """The perplexity of a text.

    sentences (Iterable[Perplexity]): What a model says of each of its sentences.
    RETURNS (Perplexity): Their sums: exp of minus the mean log-probability of a prediction, and what it is made of.
    RAISES (ValueError): If there are no sentences.
    """
    total: Perplexity | None = None
    for each in sentences:
        total = each if total is None else total._plus(each)
    if total is None:
        raise ValueError("There is no sentence in the text, and so it has no perplexity.")
    return total
