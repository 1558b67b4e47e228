"""Perplexity: how well a model predicts text, with a closed vocabulary or an open one.

One prediction is counted for each word and one for the end of each sentence. With a closed
vocabulary a word that the model knows by its class only counts as the class, so that perplexities
can be compared only between models whose vocabularies and classes are the same.

With an open vocabulary such a word is spelled out: its probability is that of its class times that
of its letters (`spacy_hpyp.hpyp.spelling`). Then perplexities can be compared between all models
that spell, and bits a character with those of any model of the same text: minus the binary log of
the text's probability, divided by the number of its characters. The end of each word is one of
these.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from spacy.util import minibatch

from ..annotation.arrays import sentence_blocks
from ..arc_standard.decoding import decode
from ..arc_standard.likelihood import new_workspace
from ..arc_standard.model import JointModel
from ..arc_standard.proposals import sampling_task
from ..arc_standard.sampling import sample_derivation, with_every_tag
from ..arc_standard.search import Search
from ..settings import HIGHEST_PARTICLES, whole

_BATCH = 256
# With fewer particles, surprisals of long sentences are further than a few tenths of a bit from
# those with very many.
_READING = 5000
# Labels of an arc and tags of a word that a derivation is divided between at least in sums of
# probabilities, and the factor of its particles. With more of them the sums hardly grow.
_LABELS, _TAGS, _SPREAD = 5, 8, 10


class Perplexity(NamedTuple):
    """The score of a text, or of one of its sentences.

    log_prob (float): The log-probability of the words and of the ends of the sentences, in nats.
    words, unknown, sentences (int): The numbers of words, of words that the model knows by their
        class only, and of sentences.
    variance (float): Of the log-probability where that is an estimate, else 0.
    characters (int): The number of characters of the words, without their ends.
    spelling (float | None): The part of `log_prob` of letters of rare words; None in a closed
    vocabulary.
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
        """The number of words and ends of sentences."""
        return self.words + self.sentences

    @property
    def perplexity(self) -> float:
        """exp(-log_prob / predictions)."""
        return exp(-self.log_prob / self.predictions)

    def to_dict(self) -> dict[str, Any]:
        """Return all figures by name, and the convention.

        The standard error and the bias are those of the log-probability of a prediction in nats:
        the log of an unbiased estimate is too low by half of its variance on average.
        """
        unspelled, is_open = self.log_prob - (self.spelling or 0.0), self.spelling is not None
        kind, counts_as = ("open", "class and its letters") if is_open else ("closed", "class")
        bits = None
        if is_open or self.unknown == 0:
            bits = -self.log_prob / log(2.0) / (self.characters + self.words)
        return self._asdict() | {
            "predictions": self.predictions,
            "log_prob_per_prediction": self.log_prob / self.predictions,
            "perplexity": self.perplexity,
            "closed_perplexity": exp(-unspelled / self.predictions),
            "bits_per_character": bits,
            "standard_error": sqrt(self.variance) / self.predictions,
            "bias": -0.5 * self.variance / self.predictions + 0.0,
            "convention": f"{kind} vocabulary: a rare or unknown word counts as its {counts_as}; one prediction "
            f"a word and one for the end",
        }


def perplexity_of(sentences: Iterable[Perplexity]) -> Perplexity:
    """Sum the scores of the sentences of a text. RAISES (ValueError): If there are no sentences."""
    found = list(sentences)
    if not found:
        raise ValueError("There is no sentence in the text, and so it has no perplexity.")
    *sums, spelling, sentences = zip(*found)
    spelled = [value for value in spelling if value is not None]
    return Perplexity(*map(sum, sums), sum(spelled) if spelled else None, sum(sentences))


def search_for_sums(search: Search) -> Search:
    """Return a slower search that leaves little out of sums, with the same number of particles: the
    beam stands for the posterior, more labels and tags are tried, and derivations are divided more
    finely.
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
        future_cost=0.0,
        spread=_SPREAD,
    )


def search_for_reading(search: Search, particles: int | None = None) -> Search:
    """Return a search for the surprisals of words: each is predicted from the words before it
    alone, summed over all places where sentences may end, see `arc_standard.particle_filter`.

    particles (int | None): How many particles, instead of the parser's, or 5,000 if these are
    fewer.
    """
    return search._replace(
        particles=max(search.particles, _READING) if particles is None else particles,
        marginals=True,
        future_cost=0.0,
        apart=True,
        spread=_SPREAD,
    )


def score_by_beam(
    model: JointModel, sentences: Iterable[Sequence[str]], search: Search, *, threads: int = 1
) -> Iterator[Perplexity]:
    """Score each sentence by the sum over the final beam, a lower bound of its log-probability.

    model (JointModel): A trained model that generates words.
    sentences (Iterable[Sequence[str]]): The words of each sentence, at least one; some are held in
        memory at a time.
    RAISES (ValueError): If a sentence has no words, or the model gives no probability to words.
    """
    for batch in minibatch(sentences, _BATCH):
        blocks = sentence_blocks([_numbers(model, words) for words in batch])
        parses = decode(model.frozen, blocks, search, threads)
        totals = np.add.reduceat(parses.log_probability, blocks.offsets[:-1]).tolist()
        for words, own, total in zip(batch, np.split(blocks.words, blocks.offsets[1:-1]), totals):
            yield score_of(model, words, own, total)


def score_by_particles(
    model: JointModel,
    sentences: Iterable[Sequence[str]],
    *,
    particles: int,
    replicates: int,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[Perplexity]:
    """Estimate the log-probability of each sentence by independent particle filters.

    The mean of the filters' estimates is an unbiased estimate of the probability. Its log has the
    variance s² / (R p²), where s² is the variance of the R estimates and p their mean (the delta
    method).

    model, sentences, threads: As for `score_by_beam`.
    particles (int): The number of particles of a filter.
    replicates (int): The number of filters for each sentence, at least 2.
    RAISES (ValueError): If a sentence has no words, or a setting is out of its range.
    """
    whole("particles", particles, highest=HIGHEST_PARTICLES)
    whole("replicates", replicates, least=2)
    whole("seed", seed, least=0)

    def score(job: tuple[int, Sequence[str]]) -> Perplexity:
        number, forms = job
        words, rng = _numbers(model, forms), np.random.default_rng([seed, number])
        task = sampling_task(every_tag, new_workspace(every_tag, remembered=1), words, particles)
        found = np.empty(2 * len(words), np.int32), np.empty(len(words), np.int32)
        estimates = np.array([sample_derivation(task, rng, *found) for _ in range(replicates)])
        highest = estimates.max()
        if highest == -np.inf:
            return score_of(model, forms, words, -np.inf)
        ratios = np.exp(estimates - highest)
        variance = float(ratios.var(ddof=1) / (replicates * ratios.mean() ** 2))
        return score_of(model, forms, words, float(highest + np.log(ratios.mean())), variance)

    every_tag = with_every_tag(model.frozen, len(model.tags))
    with ThreadPoolExecutor(threads) as pool:
        for batch in minibatch(enumerate(sentences), _BATCH):
            yield from pool.map(score, batch)


def _numbers(model: JointModel, words: Sequence[str]) -> np.ndarray:
    if not words:
        raise ValueError("A sentence without words has no probability.")
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError(
            "An unlexicalised model, or one that has not been trained, gives no probability to words."
        )
    return np.array(model.vocabulary.numbers(words), dtype=np.int32)


def score_of(
    model: Any, words: Sequence[str], numbers: np.ndarray, log_prob: float, variance: float = 0.0
) -> Perplexity:
    """Score a sentence by the log-probability of its known words and classes, and add that of
    letters if rare words are spelled out.

    model (JointModel | NGramModel): The model with its vocabulary and spelling.
    words (Sequence[str]), numbers (int32[n]): Its words, and their numbers in the vocabulary.
    log_prob, variance (float): Without letters, in nats, see `Perplexity`.
    """
    spelling = None if model.spelling is None else float(model.spell(words, numbers).sum())
    unknown, characters = int(np.sum(numbers >= len(model.vocabulary.words))), sum(map(len, words))
    return Perplexity(
        log_prob + (spelling or 0.0), len(words), unknown, variance, characters, spelling
    )
