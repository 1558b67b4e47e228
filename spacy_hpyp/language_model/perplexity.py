"""Perplexity: how well a model predicts text.

There is one prediction for each word and one for the end of each sentence. With a *closed*
vocabulary a rare word counts as its class, so that only models with the same words and classes can
be compared. With an *open* vocabulary its probability is that of its class times that of its
letters (`spacy_hpyp.hpyp.spelling`), so that all models that spell can be compared. Bits a
character can be compared between all models that spell or know all words: minus the binary log of
the text's probability, divided by the number of characters, with one for the end of each word.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np
from spacy.util import minibatch

from ..arc_standard.derivations import sample_derivation, with_every_tag
from ..arc_standard.likelihood import new_workspace
from ..arc_standard.model import JointModel
from ..arc_standard.proposals import sampling_task
from ..arc_standard.search import Search
from ..settings import HIGHEST_PARTICLES, whole

_BATCH = 256
# With fewer particles, surprisals of long sentences are further than a few tenths of a bit from
# those with very many. They are divided into more parts, so that sums leave less out.
_PARTICLES, _SPREAD = 5000, 10
# With the best label of each arc alone, perplexities are 2 to 3 % higher (four treebanks).
_LABELS = 3


def reading_search(search: Search, particles: int | None = None) -> Search:
    """Return a search that predicts each word from the words before it alone, with as many
    particles; by default with the parser's, but at least 5,000. In running text it sums over all
    places where sentences may end, see `arc_standard.particle_filter`.
    """
    return search._replace(
        particles=max(search.particles, _PARTICLES) if particles is None else particles,
        marginals=True,
        future_cost=0.0,
        apart=True,
        spread=_SPREAD,
        labels_per_arc=_LABELS,
    )


class Perplexity(NamedTuple):
    """The score of a text, or of one of its sentences."""

    log_prob: float  # Of the words and the ends of sentences, in nats
    words: int
    unknown: int  # The number of words that the model knows by their class only
    sentences: int
    characters: int  # The number of characters of the words
    variance: float  # The variance of `log_prob` if it is an estimate, else 0
    spelling: float | None  # The part of `log_prob` of letters; None with a closed vocabulary

    @classmethod
    def total(cls, sentences: Iterable["Perplexity"]) -> "Perplexity":
        """Sum the scores of sentences. RAISES (ValueError): If there are none."""
        scores = list(sentences)
        if not scores:
            raise ValueError("There is no sentence in the text, so it has no perplexity.")
        *sums, spelling = zip(*scores)
        return cls(*map(sum, sums), None if None in spelling else sum(spelling))

    @property
    def perplexity(self) -> float:
        """exp(-log_prob / predictions), with a prediction for each word and end of a sentence."""
        return exp(-self.log_prob / (self.words + self.sentences))

    def to_dict(self) -> dict[str, Any]:
        """Return all figures by name, and the convention.

        Log-probabilities are in nats. `bits_per_character` is None if a closed vocabulary lacks a
        word. The standard error and the bias are those of `log_prob_per_prediction`: the log of an
        unbiased estimate is too low by half of its variance on average.
        """
        is_open, predictions = self.spelling is not None, self.words + self.sentences
        bits = -self.log_prob / log(2.0) / (self.characters + self.words)
        counts_as = "its class and its letters" if is_open else "its class"
        return self._asdict() | {
            "predictions": predictions,
            "log_prob_per_prediction": self.log_prob / predictions,
            "perplexity": self.perplexity,
            "closed_perplexity": exp(-(self.log_prob - (self.spelling or 0.0)) / predictions),
            "bits_per_character": bits if is_open or self.unknown == 0 else None,
            "standard_error": sqrt(self.variance) / predictions,
            "bias": -0.5 * self.variance / predictions + 0.0,
            "convention": f"{'open' if is_open else 'closed'} vocabulary: a rare or unknown word "
            f"counts as {counts_as}; one prediction a word and one for the end",
        }


def estimate(
    model: JointModel,
    sentences: Iterable[Sequence[str]],
    *,
    particles: int,
    replicates: int = 5,
    seed: int = 0,
    threads: int = 1,
) -> Iterator[Perplexity]:
    """Estimate the log-probability of each sentence by independent particle filters.

    The mean of the filters' estimates is an unbiased estimate of the probability. The variance of
    its log is s² / (R p²), with the variance s² of the R estimates and their mean p (delta method).

    sentences (Iterable[Sequence[str]]): The words of each sentence.
    particles (int), replicates (int): Particles of a filter; filters per sentence, at least 2.
    seed (int), threads (int): The seed fixes the estimates, whatever the number of threads.
    RAISES (ValueError): If a setting is out of range, or the model is untrained or unlexicalised.
    """
    whole("particles", particles, highest=HIGHEST_PARTICLES)
    whole("replicates", replicates, least=2)
    whole("seed", seed, least=0)
    check_lexicalised(model)
    every_tag = with_every_tag(model.frozen, len(model.tags))

    def score(job: tuple[int, Sequence[str]]) -> Perplexity:
        number, words = job
        numbers = np.array(model.vocabulary.numbers(words), dtype=np.int32)
        rng = np.random.default_rng([seed, number])
        task = sampling_task(every_tag, new_workspace(every_tag, remembered=1), numbers, particles)
        drawn = np.empty(2 * len(words), np.int32), np.empty(len(words), np.int32)
        estimates = np.array([sample_derivation(task, rng, *drawn) for _ in range(replicates)])
        log_prob, variance = float(estimates.max()), 0.0
        if log_prob > -np.inf:
            ratios = np.exp(estimates - log_prob)
            log_prob += float(np.log(ratios.mean()))
            variance = float(ratios.var(ddof=1) / (replicates * ratios.mean() ** 2))
        letters = None if model.spelling is None else float(model.spell(words, numbers).sum())
        unknown = int(np.sum(~model.vocabulary.is_known(numbers)))
        log_prob, characters = log_prob + (letters or 0.0), sum(map(len, words))
        return Perplexity(log_prob, len(words), unknown, 1, characters, variance, letters)

    with ThreadPoolExecutor(threads) as pool:
        for batch in minibatch(enumerate(sentences), _BATCH):
            yield from pool.map(score, batch)


def check_lexicalised(model: Any) -> None:
    """Check a parser's model. RAISES (ValueError): If it is untrained or generates no words."""
    if isinstance(model, JointModel) and not (model.is_initialized and model.is_lexicalised):
        raise ValueError("An unlexicalised or untrained model gives no probability to words.")
