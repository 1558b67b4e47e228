"""The parser as a language model: the probability of a sentence, summed over its derivations."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from spacy.util import minibatch

from ..annotation.arrays import sentence_blocks
from ..arc_standard.likelihood import new_queries
from ..arc_standard.sampling import estimate_log_probabilities
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..settings import HIGHEST_PARTICLES, whole
from ..text.vocabulary import Vocabulary
from .perplexity import Perplexity

_BATCH = 256
# With fewer particles, surprisals of long sentences are further than a few tenths of a bit from those with very many.
_READING = 3000
# How many labels of an arc and tags of a word a derivation is divided between at least where probabilities are summed up, and by how
# much its particles are multiplied for that. With more of them the sums hardly grow.
_LABELS, _TAGS, _SPREAD = 5, 8, 10


def search_for_sums(search: Search, *, predictive: bool = False) -> Search:
    """The search that leaves little out of a sum, with the same number of particles: the beam stands for the posterior and is not
    narrowed down to the best derivation, more labels and tags are tried, derivations are divided more finely, and none is preferred
    for what its tags promise of the words to come. It is slower.

    search (Search): How parses are searched for.
    predictive (bool): Whether the probabilities of words are those given the derivations that are kept, see `Search`; else their
        products are lower bounds of those of sentences.
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
        predictive=predictive,
        spread=_SPREAD,
    )


def search_for_reading(search: Search, particles: int | None = None) -> Search:
    """The search by which texts are read for the surprisals of their words: each is predicted from the words before it alone, and where
    sentences are to be found, the sum goes over all places where they may end, see `inference.running_text`.

    search (Search): How parses are searched for.
    particles (int | None): How many particles, instead of those that parses are searched with, or 3,000 if these are fewer.
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
    sentences (Iterable[Sequence[str]]): The words of each sentence, at least one; some are held in memory at a time.
    search (Search): How to search.
    threads (int): How many threads share the sentences; the result does not depend on it.
    RAISES (ValueError): If a sentence has no words.
    """
    for batch in minibatch(sentences, _BATCH):
        numbers = [_numbers(model, words) for words in batch]
        blocks = sentence_blocks(numbers)
        log_probability = model.frozen.decode(blocks, search, threads).log_probability
        totals = np.add.reduceat(log_probability, blocks.offsets[:-1]).tolist()
        for words, own, total in zip(batch, numbers, totals):
            yield scored_sentence(model, words, own, total)


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

    The mean of the filters' estimates is an unbiased estimate of the probability. Its log has the variance s² / (R p²), where
    s² is the variance of the R estimates and p their mean (the delta method), and is too low by half of that on
    average (`Perplexity.bias`).

    model (JointModel): A trained model that generates words.
    sentences (Iterable[Sequence[str]]): The words of each sentence, at least one; some are held in memory at a time.
    particles (int): How many particles a filter has.
    replicates (int): How many filters there are for each sentence, at least 2.
    seed (int): Fixes the estimates.
    threads (int): How many threads share the sentences; the result does not depend on it.
    RAISES (ValueError): If a sentence has no words, there are too few filters, or a setting is out of its range.
    """
    whole("particles", particles, highest=HIGHEST_PARTICLES)
    whole("seed", seed, least=0)
    if replicates < 2:
        raise ValueError(f"'replicates' must be at least 2, or there is no standard error, but it is {replicates}.")
    _vocabulary(model)
    distributions = model.frozen.distributions

    def score(job: tuple[int, Sequence[str], np.ndarray]) -> Perplexity:
        number, forms, words = job
        estimates = np.empty(replicates)
        rng = np.random.default_rng([seed, number])
        estimate_log_probabilities(distributions, new_queries(distributions, 1), words, particles, rng, estimates)
        highest = estimates.max()
        if highest == -np.inf:
            return scored_sentence(model, forms, words, -np.inf)
        ratios = np.exp(estimates - highest)
        log_prob = float(highest + np.log(ratios.mean()))
        variance = float(ratios.var(ddof=1) / (replicates * ratios.mean() ** 2))
        return scored_sentence(model, forms, words, log_prob, variance)

    jobs = ((number, words, _numbers(model, words)) for number, words in enumerate(sentences))
    with ThreadPoolExecutor(threads) as pool:
        for batch in minibatch(jobs, _BATCH):
            yield from pool.map(score, batch)


def _vocabulary(model: JointModel) -> Vocabulary:
    if not model.is_initialized or not model.is_lexicalised:
        raise ValueError("An unlexicalised model, or one that has not been trained, gives no probability to words.")
    return model.vocabulary


def _numbers(model: JointModel, words: Sequence[str]) -> np.ndarray:
    if not words:
        raise ValueError("A sentence without words has no probability.")
    vocabulary = _vocabulary(model)
    return np.array(vocabulary.numbers(words), dtype=np.int32)


def scored_sentence(
    model: JointModel, words: Sequence[str], numbers: np.ndarray, log_prob: float, variance: float = 0.0
) -> Perplexity:
    """A sentence with the log-probability of its known words and classes, to which that of letters is added.

    model (JointModel): A trained model that generates words.
    words (Sequence[str]): Its words.
    numbers (int32[n]): Their numbers in the model's vocabulary.
    log_prob, variance (float): Without letters, in nats, see `Perplexity`.
    """
    unknown = int(np.sum(numbers >= len(_vocabulary(model).words)))
    characters = sum(map(len, words))
    if model.spelling is None:
        return Perplexity(log_prob, len(words), unknown, variance, characters)
    letters = float(model.spell(words, numbers).sum())
    return Perplexity(log_prob + letters, len(words), unknown, variance, characters, letters)
