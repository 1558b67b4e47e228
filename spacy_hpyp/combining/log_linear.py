"""Log-linear models of competing choices, fitted by penalised maximum likelihood.

The log-likelihood is concave in the weights, so Newton's method finds its one maximum.
"""

from typing import NamedTuple

import numpy as np

from ..annotation.confidence import linear

_STEPS, _HALVINGS = 50, 30
# Rows of features per block of the Hessian, to bound memory.
_ROWS = 20_000


class Groups(NamedTuple):
    """Competing choices for words. No function of this module reads the choices themselves."""

    word: np.ndarray  # int64[groups]: the word of each choice, ascending
    features: np.ndarray  # float64[groups, m]: their features
    choice: np.ndarray | None = None  # int32[groups]


def shares(groups: Groups, weights: np.ndarray, *, or_none: bool = True) -> np.ndarray:
    """Return the probability that each group is right (float64[groups]): exp(w·f) normalised over
    the groups of its word.

    or_none (bool): Whether all groups of a word may be wrong, with the score 0.
    """
    return np.exp(_log_shares(groups, weights, or_none=or_none)[1])


def _log_shares(
    groups: Groups, weights: np.ndarray, *, or_none: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each group's word by rank, log `shares`, and if `or_none` each word's log p(none)."""
    score = linear(groups.features, weights)
    _, place = np.unique(groups.word, return_inverse=True)
    highest = np.full(int(place.max(initial=-1)) + 1, 0.0 if or_none else -np.inf)
    np.maximum.at(highest, place, score)
    odds = np.bincount(place, np.exp(score - highest[place]), minlength=len(highest))
    total = highest + np.log(odds + (np.exp(-highest) if or_none else 0.0))
    return place, score - total[place], -total


def log_likelihood(
    groups: Groups, right: np.ndarray, weights: np.ndarray, *, or_none: bool = True
) -> float:
    """Return the log-probability of the right choices in nats; see `fit`."""
    place, log_share, log_none = _log_shares(groups, weights, or_none=or_none)
    is_none = np.bincount(place, right, minlength=len(log_none)) == 0.0
    return float(right @ log_share + (log_none[is_none].sum() if or_none else 0.0))


def fit(
    groups: Groups,
    right: np.ndarray,
    prior: float,
    *,
    prior_mean: np.ndarray | float = 0.0,
    or_none: bool = True,
    highest: float = 100.0,
    close: float = 1e-5,
) -> np.ndarray:
    """Fit weights (float64[m]) by penalised maximum likelihood.

    right (bool[groups] or float64[groups]): Whether each is right, or its share if several are.
    prior (float), prior_mean (float64[m] | float): Inverse variance and mean of the weights' normal
        prior.
    or_none (bool): Whether all groups of a word may be wrong.
    highest (float): Bound of the weights, on either side of 0.
    close (float): Stop after a step that moves every weight by less than this.
    """
    starts = np.flatnonzero(np.diff(groups.word, prepend=-1))
    ends = np.append(starts, len(groups.word))
    bounds = [*range(0, len(starts), _ROWS), len(starts)]

    def objective(weights: np.ndarray) -> float:
        likelihood = log_likelihood(groups, right, weights, or_none=or_none)
        return likelihood - 0.5 * prior * float(np.sum((weights - prior_mean) ** 2))

    def newton_step(weights: np.ndarray) -> np.ndarray:
        share, information = shares(groups, weights, or_none=or_none), prior * np.eye(len(weights))
        for begin, end in zip(bounds, bounds[1:]):
            rows = slice(ends[begin], ends[end])
            weighted = groups.features[rows] * share[rows, None]
            mean = np.add.reduceat(weighted, starts[begin:end] - starts[begin], axis=0)
            information += weighted.T @ groups.features[rows] - mean.T @ mean
        gradient = groups.features.T @ (right - share) - prior * (weights - prior_mean)
        return np.linalg.solve(information, gradient)

    # From 0 every step is a good one; near certainty the likelihood is flat.
    weights = np.zeros(groups.features.shape[1])
    value = objective(weights)
    for _ in range(_STEPS):
        step, before = newton_step(weights), value
        for _ in range(_HALVINGS):
            moved = np.clip(weights + step, -highest, highest)
            value = objective(moved)
            if value >= before:
                break
            step = step / 2.0
        else:
            break
        weights = moved
        if np.abs(step).max(initial=0.0) < close:
            break
    return weights


def fit_confidence(observed: np.ndarray, right: np.ndarray, unlearned: np.ndarray) -> np.ndarray:
    """Fit the weights (float64[m]) of a logistic regression.

    observed (float64[n, m]), right (bool[n]): Features, and whether the choices are right.
    unlearned (float64[m]): The mean of the weights' prior.
    """
    choices = Groups(np.arange(len(observed)), observed)
    return fit(choices, right, 1.0, prior_mean=unlearned, close=1e-6)
