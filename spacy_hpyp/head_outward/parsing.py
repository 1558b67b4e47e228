"""Parsing with a head-outward model: the most probable tree, or the one with the fewest expected wrong heads."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, compiled
from .chart import best_tree, inside, marginals, minimum_bayes_risk_tree
from .distributions import HeadOutwardDistributions
from .k_best import k_best
from .scoring import chart_scores, find_labels

# Sentences are handed to threads in parts of so many.
_PART = 16


class HeadOutwardTrees(NamedTuple):
    """The trees that were found for some sentences."""

    heads: np.ndarray  # int32[words]: positions in the sentence, `NONE` for the root's child
    labels: np.ndarray  # int32[words]: `NONE` for the root's child
    # The sum of the probabilities of all trees that have the arc, given the sentence.
    head_probability: np.ndarray  # float64[words]
    # Of the words and tags, summed over all projective trees, in nats.
    log_probability: np.ndarray  # float64[sentences]


def parse(
    model: HeadOutwardDistributions,
    words: np.ndarray,
    tags: np.ndarray,
    offsets: np.ndarray,
    *,
    consensus: bool,
    threads: int,
) -> HeadOutwardTrees:
    """Parse sentences by dynamic programming.

    words, tags (int32[words]): The sentences, one after the other; words are cased.
    offsets (int64[sentences + 1]): Their starts; none is empty.
    consensus (bool): Whether to find the tree with the fewest expected wrong heads, not the most probable one.
    """
    trees = HeadOutwardTrees(
        np.empty(len(words), dtype=np.int32),
        np.empty(len(words), dtype=np.int32),
        np.empty(len(words)),
        np.empty(len(offsets) - 1),
    )

    def work(first: int) -> None:
        _parse(model, words, tags, offsets, consensus, first, min(first + _PART, len(offsets) - 1), trees)

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, range(0, len(offsets) - 1, _PART)))
    return trees


@compiled
def _parse(model, words, tags, offsets, consensus, first, last, trees):
    for i in range(first, last):
        start, end = offsets[i], offsets[i + 1]
        scores = chart_scores(model, words[start:end], tags[start:end])
        chart = inside(scores)
        probability = marginals(scores, chart)
        heads, _ = minimum_bayes_risk_tree(probability) if consensus else best_tree(scores)
        trees.heads[start:end] = heads
        for child in range(end - start):
            head = child if heads[child] == NONE else heads[child]
            trees.head_probability[start + child] = probability[head, child]
        trees.log_probability[i] = chart.total
        find_labels(model, words[start:end], tags[start:end], heads, trees.labels[start:end])


@compiled
def best_trees(model, words, tags, k):
    """Return the k most probable trees of a sentence, the best first: heads and labels (int32[found, n]), and
    log-probabilities of words, tags and unlabelled tree (float64[found], in nats).
    """
    heads, score = k_best(chart_scores(model, words, tags), k)
    labels = np.empty_like(heads)
    for i in range(len(heads)):
        find_labels(model, words, tags, heads[i], labels[i])
    return heads, labels, score


@compiled
def head_marginals(model, words, tags):
    """The probability of each arc, given the words and the tags of a sentence; see `marginals`."""
    scores = chart_scores(model, words, tags)
    return marginals(scores, inside(scores))
