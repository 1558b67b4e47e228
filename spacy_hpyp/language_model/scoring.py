"""Perplexity: how well a model predicts text, by the convention of a closed vocabulary or of an open one.

One prediction is counted for each word and one for the end of each sentence. With a closed vocabulary a word
that the model knows by its class only counts as the class: its probability is not shared out among the words
of the class. So perplexities can be compared between models whose vocabularies and classes are the same, and
only between these.

With an open vocabulary such a word is spelled out, and its probability is that of its class times that of its
letters (`spacy_hpyp.models.spelling`). It is lower, so that the perplexity is higher, and can be compared
between all models that spell, and bits a character with those of any model of the same text: minus the binary
log of the text's probability, divided by the number of its characters. The end of each word is one of these,
as the space between two words or the line end after a sentence.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from spacy.util import minibatch

from ..annotation.arrays import Blocks, Parses, sentence_blocks
from ..arc_standard.decoding import decode
from ..arc_standard.likelihood import new_queries
from ..arc_standard.sampling import estimate_log_probabilities
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..settings import HIGHEST_PARTICLES, whole

_BATCH = 256
# With fewer particles, surprisals of long sentences are further than a few tenths of a bit from those with
# very many.
_READING = 5000
# How many labels of an arc and tags of a word a derivation is divided between at least where probabilities
# are summed up, and by how much its particles are multiplied for that. With more of them the sums hardly
# grow.
_LABELS, _TAGS, _SPREAD = 5, 8, 10


class Perplexity(NamedTuple):
    """What a model says of a text, or of one of its sentences.

    log_prob (float): The log-probability of the words and of the ends of the sentences, in nats.
    words, unknown, sentences (int): Numbers of words, of those that the model knows by their class only, and
        of sentences.
    variance (float): Of the log-probability where that is an estimate, else 0.
    characters (int): The number of characters of the words, their ends left out.
    spelling (float | None): The part of `log_prob` that the letters of those words have; None if the
        vocabulary is a closed one.
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
        """About how much `log_prob_per_prediction` is off on average, in nats: the log of an unbiased
        estimate is too low by half of its variance.
        """
        return -0.5 * self.variance / self.predictions + 0.0

    @property
    def closed_perplexity(self) -> float:
        """The perplexity of the same words with a closed vocabulary: without letters."""
        return exp(-(self.log_prob - (self.spelling or 0.0)) / self.predictions)

    @property
    def bits_per_character(self) -> float | None:
        """The bits of the text divided by its characters, each word with its end; None if a word counts as
        its class only.
        """
        if self.spelling is None and self.unknown > 0:
            return None
        return -self.log_prob / log(2.0) / (self.characters + self.words)

    @property
    def convention(self) -> str:
        """What is predicted."""
        kind, counts_as = ("closed", "class") if self.spelling is None else ("open", "class and its letters")
        return f"{kind} vocabulary: a rare or unknown word counts as its {counts_as}; one prediction a word and one for the end"

    def _plus(self, other: "Perplexity") -> "Perplexity":
        spelled = [each.spelling for each in (self, other) if each.spelling is not None]
        sums = {
            name: getattr(self, name) + getattr(other, name) for name in self._fields if name != "spelling"
        }
        return Perplexity(**sums, spelling=sum(spelled) if spelled else None)

    def to_dict(self) -> dict[str, Any]:
        """All figures by name, and the convention."""
        figures = (
            "predictions",
            "log_prob_per_prediction",
            "perplexity",
            "closed_perplexity",
            "bits_per_character",
        )
        figures += ("standard_error", "bias", "convention")
        return self._asdict() | {name: getattr(self, name) for name in figures}


def perplexity_of(sentences: Iterable[Perplexity]) -> Perplexity:
    """The perplexity of a text: the sums of what a model says of each of its sentences.

    RAISES (ValueError): If there are no sentences.
    """
    found = iter(sentences)
    first = next(found, None)
    if first is None:
        raise ValueError("There is no sentence in the text, and so it has no perplexity.")
    return reduce(Perplexity._plus, found, first)


def search_for_sums(search: Search) -> Search:
    """The search that leaves little out of a sum, with the same number of particles: the beam stands for the
    posterior and is not narrowed down to the best derivation, more labels and tags are tried, derivations are
    divided more finely, and none is preferred for what its tags promise of the words to come. It is slower.
    """
    return search._replace(
        marginals=True,
        consensus=False,
        guides=False,
        temperature=1.0,
        labels_per_arc=max(search.labels_per_arc, _LABELS),
        tags_per_word=max(search.tags_per_word, _TAGS),
        tag_threshold=0.0,
        # A word is predicted from what stands before it alone.
        outlook=0.0,
        spread=_SPREAD,
    )


def search_for_reading(search: Search, particles: int | None = None) -> Search:
    """The search by which texts are read for the surprisals of their words: each is predicted from the words
    before it alone, and where sentences are to be found, the sum goes over all places where they may end, see
    `inference.running_text`.

    particles (int | None): How many particles, instead of those that parses are searched with, or 5,000 if
        these are fewer.
    """
    return search._replace(
        particles=max(search.particles, _READING) if particles is None else particles,
        marginals=True,
        outlook=0.0,
        apart=True,
        spread=_SPREAD,
    )


def score_by_beam(
    model: JointModel, sentences: Iterable[Sequence[str]], search: Search, *, threads: int = 1
) -> Iterator[Perplexity]:
    """The log-probability of each sentence as the sum over the final beam, a lower bound.

    model (JointModel): A trained model that generates words.
    sentences (Iterable[Sequence[str]]): The words of each sentence, at least one; some are held in memory at
        a time.
    RAISES (ValueError): If a sentence has no words.
    """
    for batch, blocks, parses in decoded(model, sentences, search, threads):
        totals = np.add.reduceat(parses.log_probability, blocks.offsets[:-1]).tolist()
        for words, own, total in zip(batch, np.split(blocks.words, blocks.offsets[1:-1]), totals):
            yield score_of(model, words, own, total)


def decoded(
    model: JointModel, sentences: Iterable[Sequence[str]], search: Search, threads: int
) -> Iterator[tuple[list[Sequence[str]], Blocks, Parses]]:
    """Sentences, some at a time: their words, and what the parser says of them. The arguments are those of
    `score_by_beam`.
    """
    for batch in minibatch(sentences, _BATCH):
        blocks = sentence_blocks([_numbers(model, words) for words in batch])
        yield batch, blocks, decode(model.frozen, blocks, search, threads)


def score_by_particles(
    model: JointModel,
    sentences: Iterable[Sequence[str]],
    *,
    particles: int,
    replicates: int,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[Perplexity]:
    """The log-probability of each sentence, estimated by particle filters that are independent of each other.

    The mean of the filters' estimates is an unbiased estimate of the probability. Its log has the variance s²
    / (R p²), where s² is the variance of the R estimates and p their mean (the delta method), and is too low
    by half of that on
    average (`Perplexity.bias`).

    model, sentences, threads: As for `score_by_beam`.
    particles (int): How many particles a filter has.
    replicates (int): How many filters there are for each sentence, at least 2.
    RAISES (ValueError): If a sentence has no words, there are too few filters, or a setting is out of its
        range.
    """
    whole("particles", particles, highest=HIGHEST_PARTICLES)
    whole("seed", seed, least=0)
    if replicates < 2:
        raise ValueError(
            f"'replicates' must be at least 2, or there is no standard error, but it is {replicates}."
        )
    check_lexicalised(model)
    frozen = model.frozen

    def score(job: tuple[int, Sequence[str], np.ndarray]) -> Perplexity:
        number, forms, words = job
        estimates = np.empty(replicates)
        rng = np.random.default_rng([seed, number])
        estimate_log_probabilities(frozen, new_queries(frozen, 1), words, particles, rng, estimates)
        highest = estimates.max()
        if highest == -np.inf:
            return score_of(model, forms, words, -np.inf)
        ratios = np.exp(estimates - highest)
        log_prob = float(highest + np.log(ratios.mean()))
        variance = float(ratios.var(ddof=1) / (replicates * ratios.mean() ** 2))
        return score_of(model, forms, words, log_prob, variance)

    jobs = ((number, words, _numbers(model, words)) for number, words in enumerate(sentences))
    with ThreadPoolExecutor(threads) as pool:
        for batch in minibatch(jobs, _BATCH):
            yield from pool.map(score, batch)


def check_lexicalised(model: JointModel) -> None:
    """See that a model is a language model.

    RAISES (ValueError): If it gives no probability to words.
    """
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "An unlexicalised model, or one that has not been trained, gives no probability to words."
        )


def _numbers(model: JointModel, words: Sequence[str]) -> np.ndarray:
    if not words:
        raise ValueError("A sentence without words has no probability.")
    check_lexicalised(model)
    return np.array(model.vocabulary.numbers(words), dtype=np.int32)


def score_of(
    model: Any, words: Sequence[str], numbers: np.ndarray, log_prob: float, variance: float = 0.0
) -> Perplexity:
    """A sentence with the log-probability of its known words and classes, to which that of letters is added
    if rare words are spelled out.

    model (JointModel | NGramModel): Whose vocabulary and spelling it is.
    words (Sequence[str]), numbers (int32[n]): Its words, and their numbers in the vocabulary.
    log_prob, variance (float): Without letters, in nats, see `Perplexity`.
    """
    spelling = None if model.spelling is None else float(model.spell(words, numbers).sum())
    unknown, characters = int(np.sum(numbers >= len(model.vocabulary.words))), sum(map(len, words))
    return Perplexity(log_prob + (spelling or 0.0), len(words), unknown, variance, characters, spelling)
