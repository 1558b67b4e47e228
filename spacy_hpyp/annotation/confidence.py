"""Calibrated probabilities of arcs and tags.

Posterior probabilities in a beam are too extreme, and how much so depends on the treebank. Platt
scaling corrects them: a logistic regression on the log-odds of the posterior, with the length of an
arc and whether it is a root's, or whether a tagged word is unknown.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE
from .arrays import Parses, block_starts

#: Weights of `features` and `tag_features` that do not change posterior probabilities.
UNLEARNED = np.array([0.0, 1.0, 0.0, 0.0])
UNLEARNED_TAGS = np.array([0.0, 1.0, 0.0])

# A beam cannot distinguish probabilities closer to 0 or 1.
_CERTAIN = 1e-5


class Confidence(NamedTuple):
    """The weights of `features` (float64[4]) and of `tag_features` (float64[3])."""

    heads: np.ndarray
    tags: np.ndarray

    def of(self, parses: Parses, offsets: np.ndarray, is_known: np.ndarray) -> Parses:
        """Calibrate the probabilities of parses; the arguments are those of the features."""
        return parses._replace(
            head_probability=logistic(features(parses, offsets), self.heads),
            tag_probability=logistic(tag_features(parses, is_known), self.tags),
        )


def features(parses: Parses, offsets: np.ndarray) -> np.ndarray:
    """Return 1, the log-odds of each arc, log(1 + its length in words), and whether it is a root's
    (float64[tokens, 4]), of blocks with offsets (int64[blocks + 1]).
    """
    is_root = parses.heads == NONE
    position = np.arange(len(is_root)) - block_starts(offsets)
    length = np.where(is_root, 0, np.abs(parses.heads - position))
    return np.column_stack(
        [np.ones(len(length)), log_odds(parses.head_probability), np.log1p(length), is_root]
    )


def tag_features(parses: Parses, is_known: np.ndarray) -> np.ndarray:
    """Return 1, the log-odds of each tag, and whether the word is unknown (float64[tokens, 3]),
    given which words are known (bool[tokens]).
    """
    return np.column_stack([np.ones(len(is_known)), log_odds(parses.tag_probability), ~is_known])


def log_odds(probability: np.ndarray, certain: float = _CERTAIN) -> np.ndarray:
    """Return the log-odds of probabilities, which are clipped to [certain, 1 - certain]."""
    p = np.clip(probability.astype(np.float64), certain, 1.0 - certain)
    return np.log(p / (1.0 - p))


def linear(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted sum of each row of features (float64[n, m]).

    A matrix product would depend, in the last bit, on the number of rows.
    """
    return np.sum(features * weights, axis=1)


def logistic(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the probability of each row of features (float64[n, m]) by a logistic regression."""
    return 1.0 / (1.0 + np.exp(-linear(features, weights)))
