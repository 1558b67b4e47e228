"""All projective trees of short sentences, scored event by event."""

from collections.abc import Sequence
from functools import cache
from itertools import product

import numpy as np

from spacy_hpyp.compiled import NONE
from spacy_hpyp.head_outward.chart import ChartScores

Tree = tuple[int, ...]


def is_projective_tree(heads: Sequence[int]) -> bool:
    """Tell whether heads form a projective tree with one child of the root."""
    if list(heads).count(NONE) != 1:
        return False
    above: list[set[int]] = []
    for word in range(len(heads)):
        path = {word}
        while (word := heads[word]) != NONE:
            if word in path:
                return False
            path.add(word)
        above.append(path)
    return all(
        head in above[between]
        for child, head in enumerate(heads)
        if head != NONE
        for between in range(min(head, child), max(head, child))
    )


@cache
def projective_trees(n: int) -> list[Tree]:
    """The heads of all projective trees of n words."""
    return [heads for heads in product(range(NONE, n), repeat=n) if is_projective_tree(heads)]


def children_of(heads: Sequence[int], head: int, side: int) -> list[int]:
    """The children of a word on one side (0: left, 1: right), the nearest first."""
    children = [child for child, other in enumerate(heads) if other == head]
    if side == 1:
        return [child for child in children if child > head]
    return [child for child in reversed(children) if child < head]


def score(scores: ChartScores, heads: Sequence[int]) -> float:
    """The sum over a tree's events."""
    total = scores.root[list(heads).index(NONE)]
    for head in range(len(heads)):
        for side in range(2):
            chain = children_of(heads, head, side)
            for i, child in enumerate(chain):
                sibling = chain[i - 1] if scores.next.shape[1] > 1 else 0
                total += scores.first[head, child] if i == 0 else scores.next[head, sibling, child]
            total += scores.last[head, chain[-1]] if chain else scores.stop[side, head]
    return total


def random_scores(
    n: int, seed: int, *, scale: float = 2.0, impossible: float = 0.0, with_siblings: bool = True
) -> ChartScores:
    """Normal scores, some of them minus infinity. Unread scores are not numbers.

    scale (float): Their standard deviation.
    impossible (float): The probability that an event is impossible.
    with_siblings (bool): Whether the next child depends on the previous one.
    """
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return np.where(rng.random(shape) < impossible, -np.inf, rng.normal(-3.0, scale, shape))

    head, sibling, child = np.indices((n, n if with_siblings else 1, n))
    between = (head < sibling) & (sibling < child) | (child < sibling) & (sibling < head)
    read = between if with_siblings else head != child
    apart = ~np.eye(n, dtype=bool)
    return ChartScores(
        draw(n),
        np.where(apart, draw(n, n), np.nan),
        np.where(read, draw(*head.shape), np.nan),
        draw(2, n),
        np.where(apart, draw(n, n), np.nan),
    )
