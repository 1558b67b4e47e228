"""The events of a tree: the outcomes and contexts of each distribution."""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jitable
from ..hpyp.gibbs import enter_event, new_events, read_events
from .contexts import (
    CASE,
    CASES,
    CHILDREN,
    DISTANCE,
    DISTANCES,
    LABEL,
    LEFT,
    RIGHT,
    TAG,
    WORD,
    Event,
    distance_class,
    read_context,
    symbols_of,
)

# The direction of a parent without a grandparent.
_NEITHER = 2


class GeneratedInTrees(NamedTuple):
    """The sentences of a batch, for the events of one distribution."""

    distribution: int  # `TAG`, `WORD`, `CASE`, `CHILDREN`, `DISTANCE` or `LABEL`
    words: np.ndarray  # int32[tokens]: cased words
    tags: np.ndarray  # int32[tokens]
    heads: np.ndarray  # int32[tokens]: positions in the sentence, `NONE` for the root's child
    labels: np.ndarray  # int32[tokens]
    offsets: np.ndarray  # int64[sentences + 1]
    sizes: np.ndarray  # int32[3]: the numbers of symbols of tags, words and cases


@jitable
def sentence_of(sentences, number):
    """Return the words, tags, heads and labels (int32[n]) of a sentence."""
    start, end = sentences.offsets[number], sentences.offsets[number + 1]
    words, tags = sentences.words[start:end], sentences.tags[start:end]
    return words, tags, sentences.heads[start:end], sentences.labels[start:end]


@read_events.register(GeneratedInTrees)
@jitable
def _read_events(generated, number, pool):
    return events_of(pool, generated.distribution, *sentence_of(generated, number), generated.sizes)


class Family(NamedTuple):
    """The relatives of each word in a tree of n words; ROOT is n, and a missing word n + 1."""

    parent: np.ndarray  # int32[n]
    sibling: np.ndarray  # int32[n]: the previous child of the parent on the same side
    last: np.ndarray  # int32[2, n]: the outermost child on each side


@jitable
def family_of(heads):
    """Return the relatives in a tree, given heads (int32[n]), `NONE` for the root."""
    n = len(heads)
    family = Family(
        np.empty(n, dtype=np.int32),
        np.full(n, n + 1, dtype=np.int32),
        np.full((2, n), n + 1, dtype=np.int32),
    )
    for i in range(n):
        family.parent[i] = n if heads[i] == NONE else heads[i]
    for i in range(n):
        head = heads[i]
        if head != NONE and head < i:
            family.sibling[i] = family.last[RIGHT, head]
            family.last[RIGHT, head] = i
    for i in range(n - 1, -1, -1):
        head = heads[i]
        if head > i:
            family.sibling[i] = family.last[LEFT, head]
            family.last[LEFT, head] = i
    return family


@jitable
def _place(parent, sibling, grandparent, child, left, right, direction, n):
    """Return the event of a child whose outermost children are `left` and `right`."""
    if grandparent > n:
        grand_direction = _NEITHER
    else:
        grand_direction = LEFT if parent < grandparent < n else RIGHT
    return Event(
        np.int64(parent),
        np.int64(sibling),
        np.int64(grandparent),
        np.int64(child),
        np.int64(left),
        np.int64(right),
        np.int64(direction),
        np.int64(grand_direction),
        np.int64(left <= n or right <= n),
        np.int64(distance_class(abs(child - parent)) if parent < n and child < n else 0),
        np.int64(DISTANCES if sibling > n else distance_class(abs(sibling - parent))),
    )


@jitable
def place_child(parent, sibling, child, n):
    """Return the event of a child without its grandparent and its children."""
    direction = LEFT if child < parent < n else RIGHT
    return _place(parent, sibling, n + 1, child, n + 1, n + 1, direction, n)


@jitable
def place_stop(parent, last, grandparent, direction, n):
    """Return the event of STOP on a side of a word, after its last child there."""
    return _place(parent, last, grandparent, n + 1, n + 1, n + 1, direction, n)


@jitable
def place_in_tree(family, child, n):
    """Return the event of a child in a complete tree."""
    parent = family.parent[child]
    grandparent = family.parent[parent] if parent < n else n + 1
    left, right = family.last[LEFT, child], family.last[RIGHT, child]
    direction = LEFT if child < parent < n else RIGHT
    return _place(parent, family.sibling[child], grandparent, child, left, right, direction, n)


@jitable
def _outcome_of(distribution, event, words, tags, labels):
    if distribution == TAG:
        return tags[event.child]
    if distribution == WORD:
        return words[event.child] // CASES
    if distribution == CASE:
        return words[event.child] % CASES
    if distribution == CHILDREN:
        return np.int32(event.children)
    if distribution == DISTANCE:
        return np.int32(event.distance)
    return labels[event.child]


@jitable
def events_of(pool, distribution, words, tags, heads, labels, sizes):
    """Return the events of one distribution; the root's child has no distance and no label."""
    n = len(words)
    events = new_events(pool, 3 * n if distribution == TAG else n)
    if pool.experts.columns.shape[0] == 0:
        return events
    symbols, family = symbols_of(words, tags, sizes), family_of(heads)
    stop = np.int32(pool.experts.alphabet[0] - 1)
    for child in range(n):
        if heads[child] == NONE and (distribution == DISTANCE or distribution == LABEL):
            continue
        event = place_in_tree(family, child, n)
        read_context(pool.elements, sizes, symbols, event, events.row)
        enter_event(pool, events, 0, _outcome_of(distribution, event, words, tags, labels))
    if distribution == TAG:
        for parent in range(n):
            for direction in range(2):
                last = family.last[direction, parent]
                event = place_stop(parent, last, family.parent[parent], direction, n)
                read_context(pool.elements, sizes, symbols, event, events.row)
                enter_event(pool, events, 0, stop)
    return events
