"""Head-outward parsing: chart scores, labels, and Viterbi or minimum Bayes risk trees."""

from concurrent.futures import ThreadPoolExecutor
from math import log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable
from ..hpyp.pool import alphabet_of, predict, predict_one, workspace
from .chart import ChartScores, best_tree, inside, k_best, marginals, minimum_bayes_risk_tree
from .contexts import (
    CASE,
    CASES,
    CHILDREN,
    DISTANCE,
    LABEL,
    RIGHT,
    TAG,
    WORD,
    HeadOutwardDistributions,
    family_of,
    place_child,
    place_in_tree,
    place_stop,
    read_context,
    symbols_of,
)


@jitable
def _workspaces(model):
    """Return the workspaces of the pools in the order of `DISTRIBUTIONS`."""
    tag, word, case = workspace(model.tag), workspace(model.word), workspace(model.case)
    children, distance = workspace(model.children), workspace(model.distance)
    return tag, word, case, children, distance, workspace(model.label)


@jitable
def _predict(model, pool, symbols, event, scratch):
    """Find the distribution of a pool that is not of words, `scratch.out`."""
    read_context(pool.elements, model.sizes, symbols, event, scratch.context)
    predict(pool, scratch.context, 0, scratch, scratch.out)


@jitable
def _log_probability(model, distribution, symbols, event, outcome, work):
    """Return the log-probability of an outcome of a distribution, in nats."""
    pools = model.tag, model.word, model.case, model.children, model.distance, model.label
    pool, scratch = pools[distribution], work[distribution]
    if distribution == WORD:
        read_context(pool.elements, model.sizes, symbols, event, scratch.context)
        return log(predict_one(pool, scratch.context, outcome, scratch))
    _predict(model, pool, symbols, event, scratch)
    return log(scratch.out[outcome])


@jitable
def chart_scores(model, words, tags):
    """Return the `ChartScores` of cased words and tags (int32[n]) in nats, without labels."""
    n = len(words)
    symbols, work = symbols_of(words, tags, model.sizes), _workspaces(model)
    reads = model.reads_sibling
    child_reads = reads[WORD] or reads[CASE] or reads[DISTANCE]
    siblings = n if reads[TAG] or child_reads else min(n, 1)
    scores = ChartScores(
        np.empty(n),
        np.empty((n, n)),
        np.empty((n, siblings, n)),
        np.empty((2, n)),
        np.empty((n, n)),
    )
    p_tag, stop = work[TAG].out, alphabet_of(model.tag) - 1
    without_tag = np.empty(n)
    for child in range(n):
        event = place_child(n, n + 1, child, n)
        score = _log_probability(model, TAG, symbols, event, tags[child], work)
        scores.root[child] = score + _log_child(model, symbols, event, words, work)
    for parent in range(n):
        for direction in range(2):
            step, end = (1, n) if direction == RIGHT else (-1, -1)
            for child in range(parent + step, end, step):
                event = place_child(parent, n + 1, child, n)
                without_tag[child] = _log_child(model, symbols, event, words, work)
            # The first child and STOP, then both after each sibling.
            for sibling in range(parent, end, step):
                is_first = sibling == parent
                if not is_first and siblings == 1 and sibling != parent + step:
                    scores.last[parent, sibling] = scores.last[parent, parent + step]
                    continue
                before = n + 1 if is_first else sibling
                event = place_stop(parent, before, n + 1, direction, n)
                _predict(model, model.tag, symbols, event, work[TAG])
                if is_first:
                    row = scores.first[parent]
                    scores.stop[direction, parent] = log(p_tag[stop])
                else:
                    row = scores.next[parent, sibling % siblings]
                    scores.last[parent, sibling] = log(p_tag[stop])
                for child in range(sibling + step, end, step):
                    score = without_tag[child]
                    if not is_first and child_reads:
                        event = place_child(parent, before, child, n)
                        score = _log_child(model, symbols, event, words, work)
                    row[child] = log(p_tag[tags[child]]) + score
    return scores


@jitable
def _log_child(model, symbols, event, words, work):
    """Return the log-probability of a child's word, case and distance, in nats."""
    word = words[event.child]
    score = _log_probability(model, WORD, symbols, event, word // CASES, work)
    if model.generated[CASE]:
        score += _log_probability(model, CASE, symbols, event, word % CASES, work)
    if model.generated[DISTANCE] and event.parent < len(words):
        score += _log_probability(model, DISTANCE, symbols, event, event.distance, work)
    return score


@jit
def tree_log_probabilities(model, words, tags, heads, labels, given_labels):
    """Return the log-probability of each word with its tag, its arc and its STOPs.

    words, tags, heads (int32[n]): Cased words, tags, and heads, `NONE` for the root's child.
    labels (int32[n]): The labels of the arcs, ignored unless `given_labels`.
    RETURNS (float64[n]): In nats.
    """
    n, work = len(words), _workspaces(model)
    symbols, family = symbols_of(words, tags, model.sizes), family_of(heads)
    log_probability = np.zeros(n)
    stop = alphabet_of(model.tag) - 1
    for child in range(n):
        event = place_in_tree(family, child, n)
        score = _log_probability(model, TAG, symbols, event, tags[child], work)
        score += _log_child(model, symbols, event, words, work)
        if model.generated[CHILDREN]:
            score += _log_probability(model, CHILDREN, symbols, event, event.children, work)
        if given_labels and model.generated[LABEL] and heads[child] != NONE:
            score += _log_probability(model, LABEL, symbols, event, labels[child], work)
        for direction in range(2):
            event = place_stop(
                child, family.last[direction, child], family.parent[child], direction, n
            )
            score += _log_probability(model, TAG, symbols, event, stop, work)
        log_probability[child] = score
    return log_probability


@jit
def candidate_log_probabilities(model, words, tags, heads, labels):
    """Return the log-probabilities of k trees of a sentence, in nats.

    words (int32[n]): Cased words.
    tags, heads, labels (int32[k, n]): Trees. An unknown label (`NONE`) is uniformly distributed.
    RETURNS (float64[k, 2]): Of the words, tags and tree; and of the labels given these.
    """
    k, n = heads.shape
    scores = np.zeros((k, 2))
    work = _workspaces(model)
    unknown = -log(max(1, alphabet_of(model.label)))
    given_labels = np.bool_(False)
    for i in range(k):
        scores[i, 0] = np.sum(
            tree_log_probabilities(model, words, tags[i], heads[i], labels[i], given_labels)
        )
        if model.generated[LABEL]:
            symbols, family = symbols_of(words, tags[i], model.sizes), family_of(heads[i])
            for child in range(n):
                if heads[i, child] != NONE and labels[i, child] == NONE:
                    scores[i, 1] += unknown
                elif heads[i, child] != NONE:
                    event = place_in_tree(family, child, n)
                    scores[i, 1] += _log_probability(
                        model, LABEL, symbols, event, labels[i, child], work
                    )
    return scores


@jitable
def find_labels(model, words, tags, heads, labels):
    """Write the best labels into `labels` (int32[n]); `NONE` for the root, 0 without lists."""
    n = len(words)
    symbols, family = symbols_of(words, tags, model.sizes), family_of(heads)
    scratch = workspace(model.label)
    for child in range(n):
        labels[child] = NONE if heads[child] == NONE else 0
        if heads[child] != NONE and model.generated[LABEL]:
            event = place_in_tree(family, child, n)
            _predict(model, model.label, symbols, event, scratch)
            labels[child] = np.argmax(scratch.out)


# The number of sentences that a thread takes at a time.
_PART = 16


class HeadOutwardTrees(NamedTuple):
    """The best tree of each sentence."""

    heads: np.ndarray  # int32[words]: positions in the sentence, `NONE` for the root's child
    labels: np.ndarray  # int32[words]: `NONE` for the root's child
    head_probability: np.ndarray  # float64[words]: the posterior probability of the arc
    # The log-probability of words and tags, summed over all projective trees, in nats.
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
    """Parse sentences by dynamic programming, with a model that is not `unchartable`.

    words, tags (int32[words]): The sentences, one after the other; words are cased.
    offsets (int64[sentences + 1]): Their starts; none is empty.
    consensus (bool): Whether to minimise expected wrong heads; else find the most probable tree.
    threads (int): Threads to parse with; at least 1.
    """
    trees = HeadOutwardTrees(
        np.empty(len(words), dtype=np.int32),
        np.empty(len(words), dtype=np.int32),
        np.empty(len(words)),
        np.empty(len(offsets) - 1),
    )

    def work(first: int) -> None:
        last = min(first + _PART, len(offsets) - 1)
        _parse(model, words, tags, offsets, consensus, first, last, trees)

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, range(0, len(offsets) - 1, _PART)))
    return trees


@jit
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


@jit
def best_trees(model, words, tags, k):
    """Return the k most probable trees of a sentence, the best first, see `k_best`: heads and
    labels (int32[m, n]), and log-probabilities of words, tags and unlabelled tree (float64[m],
    nats).
    """
    heads, score = k_best(chart_scores(model, words, tags), k)
    labels = np.empty_like(heads)
    for i in range(len(heads)):
        find_labels(model, words, tags, heads[i], labels[i])
    return heads, labels, score
