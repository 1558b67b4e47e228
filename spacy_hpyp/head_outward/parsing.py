"""Trees of sentences whose tags are given: the most probable one, or the one with the fewest wrong heads to
be expected; and Metropolis-Hastings steps for sentences whose trees are latent.

A sentence leaves all distributions; a tree is drawn from the chart, which holds the counts fixed, and labels
for its arcs; and it is accepted or not, see `spacy_hpyp.inference.metropolis`. What is drawn does not depend
on the tree before: trees are proposed independently, and what leaves the posterior as it is is as in
`spacy_hpyp.arc_standard.latent`.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, by_reference, compiled, implements, inner_maker
from ..inference.metropolis import derivation_of, pools_of, propose, read_all
from .chart import best_tree, inside, marginals, minimum_bayes_risk_tree, sample_tree
from .contexts import CASE, CHILDREN, DISTANCE, LABEL, TAG, WORD
from .distributions import HeadOutwardDistributions
from .events import events_of, sentence_of
from .k_best import k_best
from .scoring import chart_scores, find_labels, pools_in_order

# Sentences are handed to threads in parts of so many.
_PART = 16


class HeadOutwardTrees(NamedTuple):
    """The trees that were found for some sentences.

    heads (int32[words]): Positions in the sentence, `NONE` for the root's child.
    labels (int32[words]): `NONE` for the root's child.
    head_probability (float64[words]): The sum of the probabilities of all trees that have the arc, given the
        sentence.
    log_probability (float64[sentences]): Of the words and tags, summed over all projective trees, in nats.
    """

    heads: np.ndarray
    labels: np.ndarray
    head_probability: np.ndarray
    log_probability: np.ndarray


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

    model (HeadOutwardDistributions): Frozen.
    words, tags (int32[words]): The sentences, one after the other; words are cased.
    offsets (int64[sentences + 1]): Where each begins; none is empty.
    consensus (bool): Whether to look for the tree with the fewest wrong heads to be expected, and not for the
        most probable one.
    threads (int): How many share the work; the result does not depend on it.
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
        find_labels(model, words[start:end], tags[start:end], heads, None, trees.labels[start:end])


@compiled
def best_trees(model, words, tags, k):
    """The most probable trees of a sentence.

    model (HeadOutwardDistributions): Frozen.
    words, tags (int32[n]): The sentence; words are cased.
    k (int): How many trees, at least 1.
    RETURNS (tuple[int32[found, n], int32[found, n], float64[found]]): Heads, labels, and log-probabilities of
        the words, the tags and the tree without labels, in nats, the best first.
    """
    heads, score = k_best(chart_scores(model, words, tags), k)
    labels = np.empty_like(heads)
    for i in range(len(heads)):
        find_labels(model, words, tags, heads[i], None, labels[i])
    return heads, labels, score


@compiled
def head_marginals(model, words, tags):
    """The probability of each arc, given the words and the tags of a sentence; see `marginals`."""
    scores = chart_scores(model, words, tags)
    return marginals(scores, inside(scores))


@by_reference
class LatentTrees(NamedTuple):
    """Sentences whose trees are latent, for `inference.metropolis`.

    model (HeadOutwardDistributions): The pools, while they learn.
    sentences (Sentences): Their trees are overwritten. Words are cased.
    """

    model: HeadOutwardDistributions
    sentences: Sentences


@implements(pools_of, LatentTrees)
@inner_maker
def _pools_of(latent):
    return pools_in_order(latent.model)


@implements(derivation_of, LatentTrees)
@inner_maker
def _derivation_of(latent, number):
    return sentence_of(latent.sentences, number)[2:]


@implements(read_all, LatentTrees)
@inner_maker
def _read_all(latent, number):
    model, sizes, sentence = latent.model, latent.model.sizes, sentence_of(latent.sentences, number)
    return (
        events_of(model.tag, TAG, *sentence, sizes),
        events_of(model.word, WORD, *sentence, sizes),
        events_of(model.case, CASE, *sentence, sizes),
        events_of(model.children, CHILDREN, *sentence, sizes),
        events_of(model.distance, DISTANCE, *sentence, sizes),
        events_of(model.label, LABEL, *sentence, sizes),
    )


@implements(propose, LatentTrees)
@inner_maker
def _propose(latent, number, old, rng):
    words, tags, heads, labels = sentence_of(latent.sentences, number)
    scores = chart_scores(latent.model, words, tags)
    heads[:] = sample_tree(scores, inside(scores), rng)
    find_labels(latent.model, words, tags, heads, rng, labels)
