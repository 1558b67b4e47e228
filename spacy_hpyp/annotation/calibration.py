"""Calibration: whether of the choices with probability p the proportion p is right (Guo et al.
2017).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from spacy.scorer import ROCAUCScore
from spacy.tokens import Token
from spacy.training import Example

from .documents import words_in_trees

#: Labels that are left out, as spaCy's scorer leaves them out of UAS and LAS.
PUNCTUATION = ("p", "punct")


def is_counted(labels: Sequence[str]) -> np.ndarray:
    """Return which arcs with these labels are no punctuation (bool[*])."""
    return np.array([label.lower() not in PUNCTUATION for label in labels], dtype=bool)


class Calibration(NamedTuple):
    """A reliability table: tokens in bins of equal width by the probability of their choices.

    tokens (int64[bins]): Their number.
    confidence, accuracy (float64[bins]): The mean probability, and the proportion of right choices;
        NaN in empty bins.
    mean_confidence, mean_accuracy (float): Those of all tokens; NaN of none.
    error (float): The expected calibration error: the mean over all tokens of |accuracy -
        confidence| of their bins.
    auroc (float): The area under the receiver operating characteristic: the probability that a
        right choice is surer than a wrong one; 0.5 is chance. NaN unless there are both.
    """

    tokens: np.ndarray
    confidence: np.ndarray
    accuracy: np.ndarray
    mean_confidence: float
    mean_accuracy: float
    error: float
    auroc: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures and the table, as JSON has them."""
        names = "confidence", "accuracy", "expected_calibration_error", "auroc"
        edges = np.linspace(0.0, 1.0, len(self.tokens) + 1)
        rows = zip(*(each.tolist() for each in (edges[:-1], edges[1:], *self[:3])))
        return {
            "tokens": int(self.tokens.sum()),
            **{name: None if np.isnan(value) else value for name, value in zip(names, self[3:])},
            "bins": [
                dict(zip(("from", "to", "tokens", "confidence", "accuracy"), row))
                for row in rows
                if row[2]
            ],
        }


def calibrate(confidence: Sequence[float], correct: Sequence[bool], bins: int = 10) -> Calibration:
    """Make a reliability table.

    confidence (Sequence[float]): The probability of each choice; 1 belongs to the last bin.
    correct (Sequence[bool]): Whether each is right.
    bins (int): The number of bins, at least 1.
    RAISES (ValueError): If a probability is not between 0 and 1.
    """
    p, right = np.array(confidence, dtype=np.float64), np.array(correct, dtype=np.float64)
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
        figures = [
            np.nansum(each * tokens) / tokens.sum()
            for each in (*means, np.abs(means[1] - means[0]))
        ]
    return Calibration(tokens, *means, *map(float, figures), auroc)


def calibrate_heads(examples: Iterable[Example]) -> Calibration:
    """Return the calibration of `token._.head_prob` of parsed documents.

    A head is right if it is the gold one, whatever the label, as in UAS. Punctuation, white space,
    sentences without a complete gold tree, and tokens that are no gold tokens are left out.
    """
    choices = [
        (token._.head_prob, head is not None and head == gold.head)
        for example in examples
        for in_tree in [words_in_trees(example.reference)]
        for token, gold, head in with_gold(example)
        if token._.head_prob is not None
        and in_tree[gold.i]
        and gold.dep_.lower() not in PUNCTUATION
    ]
    return calibrate([sure for sure, _ in choices], [right for _, right in choices])


def calibrate_tags(examples: Iterable[Example]) -> Calibration:
    """Return the calibration of `token._.tag_prob`, of gold tokens with a gold tag."""
    choices = [
        (token._.tag_prob, token.tag_ == gold.tag_)
        for example in examples
        for token, gold, _ in with_gold(example)
        if token._.tag_prob is not None and gold.tag_
    ]
    return calibrate([sure for sure, _ in choices], [right for _, right in choices])


def with_gold(example: Example) -> Iterator[tuple[Token, Token, Token | None]]:
    """Yield tokens that are gold tokens, neither a part of one nor with one as a part, with these
    and the gold tokens that their heads are.
    """
    held, holding = example.alignment.x2y, example.alignment.y2x
    gold: list[Token | None] = [None] * len(example.predicted)
    for i in np.flatnonzero(held.lengths == 1).tolist():
        place = int(held[i][0])
        gold[i] = example.reference[place] if holding.lengths[place] == 1 else None
    for token, own in zip(example.predicted, gold):
        if own is not None:
            yield token, own, gold[token.head.i]
