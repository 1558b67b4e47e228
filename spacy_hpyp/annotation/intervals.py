"""Bootstrap intervals of scores over sentences (Efron & Tibshirani 1993, chapter 13)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.training import Example

from .calibration import PUNCTUATION

#: The proportion of the resampled scores inside an interval.
LEVEL = 0.95


class Interval(NamedTuple):
    """A score and the interval that holds it."""

    score: float
    low: float
    high: float


def count_by_sentence(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """Count what scores are made of, sentence by sentence.

    examples (Sequence[Example]): Parsed sentences, and their references with the same tokens.
    RETURNS (dict[str, float64[sentences, 2]]): By "tag_acc", "dep_uas", "dep_las", "complete_match" and
        "token_log_prob": the score of some sentences is the ratio of the sums of the columns. Punctuation is
        left out as spaCy does it. Scores without any counts are left out.
    """
    rows = [_count(example) for example in examples]
    counts = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    return {name: table for name, table in counts.items() if table[:, 1].any()}


def _count(example: Example) -> dict[str, tuple[float, float]]:
    pairs = [(t, gold) for t, gold in zip(example.predicted, example.reference) if not t.is_space]
    tags = [(t.tag, gold.tag) for t, gold in pairs if gold.tag]
    arcs = [(t, gold) for t, gold in pairs if gold.dep]
    has_head = [t.head.i == gold.head.i for t, gold in arcs]
    counted = [gold.dep_.lower() not in PUNCTUATION for _, gold in arcs]
    found = [t.dep_.lower() not in PUNCTUATION for t, _ in arcs]
    same = [t.dep_.lower() == gold.dep_.lower() for t, gold in arcs]
    right = [head and a and b for head, a, b in zip(has_head, counted, found)]
    both = sum(counted) + sum(found)
    has_tree = bool(pairs) and len(arcs) == len(pairs)
    log_probs = [t._.log_prob for t, _ in pairs if t._.log_prob is not None]
    return {
        "tag_acc": (sum(ours == gold for ours, gold in tags), len(tags)),
        "dep_uas": (2 * sum(right), both),
        "dep_las": (2 * sum(head and label for head, label in zip(right, same)), both),
        "complete_match": (has_tree and all(head or not a for head, a in zip(has_head, counted)), has_tree),
        "token_log_prob": (sum(log_probs), len(log_probs)),
    }


def bootstrap(counts: np.ndarray, *, resamples: int = 1000, seed: int = 0) -> Interval:
    """Return a score with its percentile interval, from resampling sentences with replacement.

    counts (float64[sentences, 2]): See `count_by_sentence`.
    """
    rng, sentences = np.random.default_rng(seed), len(counts)
    draws = (rng.integers(sentences, size=sentences) for _ in range(resamples))
    sums = np.array([np.bincount(draw, minlength=sentences) @ counts for draw in draws])
    score = float(counts[:, 0].sum() / counts[:, 1].sum())
    # A sample may have nothing to count.
    scores = sums[sums[:, 1] > 0]
    ends = np.quantile(scores[:, 0] / scores[:, 1], [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) if len(scores) else []
    low, high = (float(end) for end in ends) if len(ends) else (score, score)
    return Interval(score, min(score, low), max(score, high))
