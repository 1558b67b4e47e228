"""The events of one distribution in a treebank, with their context rows, before any expert has seated them."""

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, compiled
from ..hpyp.franchise import new_franchise
from ..hpyp.leave_one_out import Observations
from ..pools.pool import SeatedPool, Weights
from .events import events_of
from .oracle import static_oracle


def observe(
    sentences: Sentences,
    distribution: int,
    factored: bool,
    elements: np.ndarray,
    possible: np.ndarray,
    root_tag: int = NONE,
) -> Observations:
    """Read the events of one distribution off the static oracle's derivations.

    sentences (Sentences): Projective trees.
    distribution (int), factored (bool): See `events_of`.
    elements (int32[elements, 4]): What to read, rows of `ELEMENTS`.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context.
    root_tag (int): See `Distributions`.
    RETURNS (Observations): A group of events for each sentence.
    RAISES (ValueError): If a tree is not projective or does not have exactly one root.
    """
    # A pool without experts, whose gates are all that there is to read.
    gates = np.arange(len(elements), dtype=np.int32)
    none = Weights(np.empty((0, 0)), np.empty((len(gates), 0, 0)))
    franchise = new_franchise(np.empty((0, 0), dtype=np.int32), possible.shape[1])
    pool = SeatedPool(franchise, none, none, gates, possible, elements, np.empty((1, 1)), False)
    words = len(sentences.words)
    row = np.empty((2 * words, len(elements)), dtype=np.int32)
    dish, kind = np.empty(2 * words, dtype=np.int32), np.empty(2 * words, dtype=np.int32)
    offsets = np.zeros(len(sentences.offsets), dtype=np.int64)
    if not _observe(pool, distribution, factored, root_tag, sentences, row, dish, kind, offsets):
        raise ValueError("A sentence is not a projective tree with one root.")
    count = offsets[-1]
    return Observations(row[:count], dish[:count], kind[:count], offsets, possible)


@compiled
def _observe(pool, distribution, factored, root_tag, sentences, row, dish, kind, offsets):
    count = 0
    for number in range(len(offsets) - 1):
        start, end = sentences.offsets[number], sentences.offsets[number + 1]
        actions = np.empty(2 * (end - start), dtype=np.int32)
        if not static_oracle(sentences.heads[start:end], sentences.labels[start:end], actions):
            return False
        words, tags = sentences.words[start:end], sentences.tags[start:end]
        events = events_of(pool, distribution, factored, words, tags, actions, root_tag)
        for i in range(events.count[0]):
            row[count] = events.symbols[i]
            dish[count] = events.dish[i]
            kind[count] = events.kind[i]
            count += 1
        offsets[number + 1] = count
    return True
