"""Parsing many sentences: trees of the best states, their labels, and evidence for confidence."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference, compiled
from .arcs import L, R, Scorer, sentence_of, share_of
from .labels import label_tree, new_workbench
from .partial_trees import HEAD, LEFT_ARC, read_heads
from .search import BEFORE, FROM, MARGIN, WHAT, new_states, search


@by_reference
class SentencesToParse(NamedTuple):
    """Sentences, one after the other: the fields of `SentenceToParse`, and the start of each
    (int64[sentences + 1]).
    """

    symbols: np.ndarray
    heads: np.ndarray
    probability: np.ndarray
    labels: np.ndarray
    expected: np.ndarray
    offsets: np.ndarray


@by_reference
class EasyFirstTrees(NamedTuple):
    """Trees."""

    heads: np.ndarray  # int32[words]: positions in the sentence, `NONE` for roots
    labels: np.ndarray  # int32[words]: `NONE` for roots
    # How much higher the score of the arc was than that of any other that involves the word, when it was
    # attached; for a root that of the last action.
    margin: np.ndarray  # float32[words]
    # The share of the final beam that has this head, with states weighted by exp(score / `SCALE`).
    share: np.ndarray  # float32[words]
    guide: np.ndarray  # float32[words]: the probability of the head by the guide


#: The scale of scores.
SCALE = 20.0


@borrowing
def read_margins(states, last, margin):
    """Write the margins of the arcs of a sequence of actions, from its last one, into `margin` (float32[n])."""
    records = states.forest.records
    margin[:] = states.margin[last] if last != 0 else 0.0
    while last != 0:
        action = states.actions[last]
        child = action[FROM + (L if action[WHAT] == LEFT_ARC else R)]
        margin[records[child, HEAD]] = states.margin[last]
        last = action[BEFORE]


@compiled
def _parse_some(arc_scorer, label_scorer, sentences, chosen, width, states, workbench, written, trees):
    """Parse the chosen sentences (int64[*]) into `trees`."""
    other, pending = written[0], written[1]
    for i in chosen:
        start, end = sentences.offsets[i], sentences.offsets[i + 1]
        sentence = sentence_of(sentences, sentences.symbols[start:end], start, end)
        heads, share = trees.heads[start:end], trees.share[start:end]
        half, size = search(arc_scorer, sentence, width, states)
        read_heads(states.forest, states.trees[half, 0, MARGIN], heads, pending)
        read_margins(states, states.last[half, 0], trees.margin[start:end])
        share[:] = 1.0
        whole = np.float32(1.0)
        for state in range(1, size):
            weight = np.float32(np.exp((states.total[half, state] - states.total[half, 0]) / SCALE))
            read_heads(states.forest, states.trees[half, state, MARGIN], other, pending)
            whole += weight
            for word in range(end - start):
                if other[word] == heads[word]:
                    share[word] += weight
        for word in range(end - start):
            share[word] /= whole
            trees.guide[start + word] = share_of(sentence, word, heads[word])
        label_tree(label_scorer, sentence, heads, trees.labels[start:end], workbench)


@compiled
def _parse_beam(
    arc_scorer, label_scorer, sentences, i, width, states, workbench, pending, heads, labels, scores
):
    start, end = sentences.offsets[i], sentences.offsets[i + 1]
    sentence = sentence_of(sentences, sentences.symbols[start:end], start, end)
    half, size = search(arc_scorer, sentence, width, states)
    for state in range(size):
        read_heads(states.forest, states.trees[half, state, MARGIN], heads[state], pending)
        label_tree(label_scorer, sentence, heads[state], labels[state], workbench)
        scores[state] = states.total[half, state]
    return size


def parse_beam(
    arc_scorer: Scorer, label_scorer: Scorer, sentences: SentencesToParse, i: int, width: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return heads, labels (int32[m, n]) and scores (float64[m]) of the final beam, the best first."""
    n = int(sentences.offsets[i + 1] - sentences.offsets[i])
    written = new_states(arc_scorer, n, width), new_workbench(label_scorer, n), np.empty(n, dtype=np.int32)
    found = np.empty((width, n), dtype=np.int32), np.empty((width, n), dtype=np.int32), np.empty(width)
    size = _parse_beam(arc_scorer, label_scorer, sentences, i, width, *written, *found)
    heads, labels, scores = (each[:size].copy() for each in found)
    return heads, labels, scores


def parse(
    arc_scorer: Scorer,
    label_scorer: Scorer,
    sentences: SentencesToParse,
    *,
    width: int,
    threads: int = 1,
) -> EasyFirstTrees:
    """Parse sentences with a beam of some width; the result does not depend on the number of threads."""
    words, count = len(sentences.symbols), len(sentences.offsets) - 1
    numbers = [np.empty(words, dtype=np.int32) for _ in range(2)]
    trees = EasyFirstTrees(*numbers, *(np.empty(words, dtype=np.float32) for _ in range(3)))
    threads = max(1, min(threads, count))
    parts = [np.arange(thread, count, threads) for thread in range(threads)]

    def work(part: np.ndarray) -> None:
        longest = int(np.diff(sentences.offsets)[part].max(initial=1))
        written = new_states(arc_scorer, longest, width), new_workbench(label_scorer, longest)
        rows = np.empty((2, longest), dtype=np.int32)
        _parse_some(arc_scorer, label_scorer, sentences, part, width, *written, rows, trees)

    with ThreadPoolExecutor(threads) as executor:
        list(executor.map(work, parts))
    return trees
