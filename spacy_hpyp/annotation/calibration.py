"""Calibration: whether of what the parser is sure of by p, the part p is right (Guo et al. 2017)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.scorer import ROCAUCScore
from spacy.tokens import Token
from spacy.training import Example

#: Labels that are left out, as spaCy's scorer leaves them out of UAS and LAS.
PUNCTUATION = ("p", "punct")
#: How many of the choices are to be right that are as sure as a threshold, as a proportion.
PRECISION = 0.99
#: Of which parts of the choices, the surest ones, the risk is told.
COVERAGE = np.linspace(0.1, 1.0, 10)


@dataclass(frozen=True)
class Calibration:
    """A reliability table: tokens in bins of equal width by the probability of what was chosen for them.

    tokens (int64[bins]): How many there are.
    confidence (float64[bins]): The mean of the probabilities; not a number in empty bins.
    accuracy (float64[bins]): How many of the choices are right, as a proportion; not a number in empty bins.
    auroc (float): The area under the receiver operating characteristic: how probable it is that a right
        choice is surer than a wrong one; 0.5 is chance. Not a number unless there are both.
    risk (float64[10]): How many are wrong of the surest 10 %, 20 % ... of the choices, as a proportion
        (El-Yaniv & Wiener 2010); of equally sure ones, as many as of all of those. Not a number where there
        are none.
    least (float64[10]): How sure the least sure of them are.
    threshold (float): From which confidence on `PRECISION` of the choices are right; not a number if there is
        none.
    above (float): How many of all choices are as sure, as a proportion.
    """

    tokens: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    auroc: float
    risk: np.ndarray
    least: np.ndarray
    threshold: float
    above: float

    @property
    def error(self) -> float:
        """The expected calibration error: the mean over all tokens of |accuracy - confidence| of their bins."""
        return self._mean(np.abs(self.accuracy - self.confidence))

    @property
    def mean_confidence(self) -> float:
        """The mean of all probabilities."""
        return self._mean(self.confidence)

    @property
    def mean_accuracy(self) -> float:
        """How many of all choices are right, as a proportion."""
        return self._mean(self.accuracy)

    def _mean(self, values: np.ndarray) -> float:
        filled = self.tokens > 0
        return (
            float(np.average(values[filled], weights=self.tokens[filled])) if filled.any() else float("nan")
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures and the table; nothing that JSON does not have."""
        edges = np.linspace(0.0, 1.0, len(self.tokens) + 1)
        bins = zip(
            *map(np.ndarray.tolist, (edges[:-1], edges[1:], self.tokens, self.confidence, self.accuracy))
        )
        coverage = zip(*map(np.ndarray.tolist, (COVERAGE.round(1), self.least, self.risk)))
        sure = None if np.isnan(self.threshold) else self.threshold
        figures = {
            "confidence": self.mean_confidence,
            "accuracy": self.mean_accuracy,
            "expected_calibration_error": self.error,
            "auroc": self.auroc,
        }
        return {
            "tokens": int(self.tokens.sum()),
            **{name: None if np.isnan(value) else value for name, value in figures.items()},
            "threshold": {"precision": PRECISION, "confidence": sure, "part": self.above},
            "bins": [
                dict(zip(("from", "to", "tokens", "confidence", "accuracy"), row)) for row in bins if row[2]
            ],
            "coverage": [
                dict(zip(("part", "confidence", "risk"), row)) for row in coverage if self.tokens.any()
            ],
        }


def calibrate(confidence: Iterable[float], correct: Iterable[bool], bins: int = 10) -> Calibration:
    """Make a reliability table.

    confidence (Iterable[float]): Of each choice, its probability, from 0 to 1; 1 belongs to the last bin.
    correct (Iterable[bool]): Whether it was right.
    bins (int): The number of bins, at least 1.
    RAISES (ValueError): If a probability is none.
    """
    p, right = np.array([*confidence], dtype=np.float64), np.array([*correct], dtype=np.float64)
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("A confidence is not between 0 and 1.")
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    tokens = np.bincount(place, minlength=bins)
    curve = ROCAUCScore()
    for score, label in zip(p.tolist(), right.tolist()):
        curve.score_set(score, label)
    auroc = curve.score if 0 < right.sum() < len(right) else float("nan")
    with np.errstate(invalid="ignore"):
        means = [np.bincount(place, each, minlength=bins) / tokens for each in (p, right)]
    return Calibration(tokens, *means, auroc, *_risks(p, right))


def _risks(confidence: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """The risk of the surest parts of choices, and how sure the least sure of each are; and the threshold,
    see `Calibration`.
    """
    if len(confidence) == 0:
        return np.full(len(COVERAGE), np.nan), np.full(len(COVERAGE), np.nan), np.nan, 0.0
    values, place, counts = np.unique(-confidence, return_inverse=True, return_counts=True)
    sums = np.bincount(place.ravel(), 1.0 - right)
    wrong = np.repeat(sums / counts, counts)
    ends = np.ceil(COVERAGE * len(confidence) - 1e-9).astype(np.int64)
    sure = np.flatnonzero(np.cumsum(sums) <= (1.0 - PRECISION) * np.cumsum(counts))
    threshold, above = (-values[sure[-1]], counts[: sure[-1] + 1].sum()) if len(sure) else (np.nan, 0)
    risk = np.cumsum(wrong)[ends - 1] / ends
    return risk, -np.repeat(values, counts)[ends - 1], float(threshold), float(above / len(confidence))


def calibrate_heads(examples: Iterable[Example], bins: int = 10, *, punctuation: bool = False) -> Calibration:
    """How well `token._.head_prob` of parsed documents is calibrated.

    A head is right if it is the gold one, whatever the label, as in UAS. Tokens without a gold head, white
    space and, unless asked for, punctuation by its gold label are left out; and so are tokens that are no
    gold tokens, which have no right head.
    """
    found = [
        (
            token._.head_prob,
            head is not None and head == gold.head,
        )
        for token, gold, head in with_gold(examples)
        if token._.head_prob is not None
        and gold.has_dep()
        and (punctuation or gold.dep_.lower() not in PUNCTUATION)
    ]
    return calibrate([sure for sure, _ in found], [right for _, right in found], bins)


def calibrate_tags(examples: Iterable[Example], bins: int = 10) -> Calibration:
    """How well `token._.tag_prob` is calibrated. Tokens without a gold tag, white space and what is no gold
    token are left out.
    """
    found = [
        (token._.tag_prob, token.tag_ == gold.tag_)
        for token, gold, _ in with_gold(examples)
        if token._.tag_prob is not None and gold.tag_
    ]
    return calibrate([sure for sure, _ in found], [right for _, right in found], bins)


def with_gold(examples: Iterable[Example]) -> Iterator[tuple[Token, Token, Token | None]]:
    """Each token that is a gold token, neither a part of one nor with one as a part; that; and the one that
    its head is, if it is any.
    """
    for example in examples:
        held, holding = example.alignment.x2y, example.alignment.y2x
        gold: list[Token | None] = [None] * len(example.predicted)
        for i in np.flatnonzero(held.lengths == 1).tolist():
            place = int(held[i][0])
            gold[i] = example.reference[place] if holding.lengths[place] == 1 else None
        for token, own in zip(example.predicted, gold):
            if own is not None:
                yield token, own, gold[token.head.i]
