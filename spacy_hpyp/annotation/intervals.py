"""How sure scores are: bootstrap intervals over sentences (Efron & Tibshirani 1993, chapter 13)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from spacy.training import Example

from .calibration import PUNCTUATION

#: Of the scores of as many samples, this part lies inside an interval.
LEVEL = 0.95


class Interval(NamedTuple):
    """A score and its interval; the score lies inside it."""

    score: float
    low: float
    high: float


def count_by_sentence(examples: Sequence[Example]) -> dict[str, np.ndarray]:
    """What scores are made of, sentence by sentence.

    examples (Sequence[Example]): Parsed documents, each of them one sentence, and their references with the
        same tokens.
    RETURNS (dict[str, float64[sentences, 2]]): By the names of spaCy's scores, "tag_acc", "dep_uas" and
        "dep_las", and "complete_match" and "token_log_prob": the score of some sentences is the ratio of the
        sums of the columns. Punctuation is left out as spaCy leaves it out, by the gold and by the predicted
        label. Scores that nothing is counted for are left out.
    """
    rows = [_count(example) for example in examples]
    found = {name: np.array([row[name] for row in rows]) for name in (rows[0] if rows else ())}
    return {name: counts for name, counts in found.items() if counts[:, 1].any()}


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


def bootstrap(
    counts: Mapping[str, np.ndarray], *, resamples: int = 1000, seed: int = 0
) -> dict[str, Interval]:
    """Percentile intervals of scores: as many sentences as there are, are drawn with replacement, again and
    again.

    counts (Mapping[str, float64[sentences, 2]]): What `count_by_sentence` returns; all scores are of the same
        sentences.
    resamples (int): How often, at least once.
    RETURNS (dict[str, Interval]): The scores; of the scores of all samples, `LEVEL` is inside of each
        interval.
    """
    if not counts:
        return {}
    rng = np.random.default_rng(seed)
    columns = np.concatenate([*counts.values()], axis=1).astype(np.float64)
    sentences = len(columns)
    drawn = (rng.integers(sentences, size=sentences) for _ in range(resamples))
    sums = np.array([np.bincount(sample, minlength=sentences) @ columns for sample in drawn])
    found = {}
    for place, (name, own) in enumerate(counts.items()):
        hits, total = sums[:, 2 * place], sums[:, 2 * place + 1]
        score = float(own[:, 0].sum() / own[:, 1].sum())
        # A sample may have none of what is counted.
        scores = hits[total > 0] / total[total > 0]
        ends = np.quantile(scores, [(1.0 - LEVEL) / 2, (1.0 + LEVEL) / 2]) if len(scores) else [score, score]
        found[name] = Interval(score, min(score, float(ends[0])), max(score, float(ends[1])))
    return found
