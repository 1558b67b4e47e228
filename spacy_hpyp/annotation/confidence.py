"""Confidence in arcs and tags: how often one like this is right.

Posterior probabilities in a beam are too sure: a beam of a hundred derivations cannot hold what is one in a
thousand, and a model takes its events for more independent than they are. How much too sure depends on the
treebank, and on the arc: long ones are wrong more often than short ones. So confidence is learned, by
logistic regression on what the parser says of sentences that are taken out of the model for it: of the
log-odds of the arc's posterior probability, its length, and whether it is the root's; of a tag, of the
log-odds of its own and whether the word is known. It is learned on running text, as the sentences come,
without their boundaries.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..compiled import NONE
from ..newton import maximize
from .arrays import Blocks, Parses, block_starts, offsets_of

#: The weights of `features` and of `tag_features` that leave posterior probabilities as they are.
UNLEARNED = np.array([0.0, 1.0, 0.0, 0.0])
UNLEARNED_TAGS = np.array([0.0, 1.0, 0.0])

# Beyond these log-odds a beam says nothing more.
_CERTAIN = 1e-5
# How sure the weights are to be `UNLEARNED`, in tokens.
_PRIOR = 1.0
_HIGHEST = 100.0


class Confidence(NamedTuple):
    """How posterior probabilities are to be taken: the weights of `features` (float64[4]) and of
    `tag_features` (float64[3]).
    """

    heads: np.ndarray
    tags: np.ndarray

    def of(self, parses: Parses, offsets: np.ndarray, is_known: np.ndarray) -> Parses:
        """Parses with how probable it is that each arc and each tag is right, in the place of posterior
        probabilities; see there.
        """
        return parses._replace(
            head_probability=logistic(features(parses, offsets) @ self.heads),
            tag_probability=logistic(tag_features(parses, is_known) @ self.tags),
        )


class Passage(NamedTuple):
    """Consecutive sentences of a training document: what identifies them, and their words, tags, heads and
    labels (int32[4, *]).
    """

    keys: list[bytes]
    rows: list[np.ndarray]


def running_text(passages: Sequence[Passage]) -> tuple[Blocks, np.ndarray]:
    """Passages as blocks whose sentences have to be found.

    passages (Sequence[Passage]): At least one.
    RETURNS (tuple[Blocks, int32[tokens]]): What to parse; and the right heads, as positions in the block,
        `NONE` for roots.
    """
    rows = [sentence for passage in passages for sentence in passage.rows]
    words, _, heads, _ = np.concatenate(rows, axis=1)
    starts = offsets_of([sentence.shape[1] for sentence in rows])
    offsets = starts[offsets_of([len(passage.rows) for passage in passages])]
    in_block = np.where(heads == NONE, NONE, heads + block_starts(starts) - block_starts(offsets))
    n = len(words)
    return Blocks(words, np.full(n, NONE, dtype=np.int32), np.ones(n, dtype=bool), offsets), in_block.astype(
        np.int32
    )


def features(parses: Parses, offsets: np.ndarray) -> np.ndarray:
    """What confidence is learned from.

    offsets (int64[blocks + 1]): Where each block of the parses begins.
    RETURNS (float64[tokens, 4]): 1; the log-odds of the arc; log(1 + its length in words); whether it is a
        root's.
    """
    is_root = parses.heads == NONE
    position = np.arange(len(is_root)) - block_starts(offsets)
    length = np.where(is_root, 0, np.abs(parses.heads - position))
    return np.column_stack(
        [np.ones(len(length)), log_odds(parses.head_probability), np.log1p(length), is_root]
    )


def tag_features(parses: Parses, is_known: np.ndarray) -> np.ndarray:
    """What confidence in tags is learned from.

    is_known (bool[tokens]): Which words the vocabulary has.
    RETURNS (float64[tokens, 3]): 1; the log-odds of the tag; whether the word is not known.
    """
    return np.column_stack([np.ones(len(is_known)), log_odds(parses.tag_probability), ~is_known])


def fit_confidence(observed: np.ndarray, right: np.ndarray, unlearned: np.ndarray = UNLEARNED) -> np.ndarray:
    """Fit the weights by penalised maximum likelihood, with Newton's method.

    observed (float64[n, m]), right (bool[n]): The features of n arcs, and whether they are right.
    unlearned (float64[m]): The weights if nothing is observed.
    """

    def objective(weights: np.ndarray) -> float:
        odds = observed @ weights
        likelihood = right @ odds - np.logaddexp(0.0, odds).sum()
        return float(likelihood - 0.5 * _PRIOR * np.sum((weights - unlearned) ** 2))

    def derivatives(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = logistic(observed @ weights)
        gradient = observed.T @ (right - p) - _PRIOR * (weights - unlearned)
        return gradient, (observed * (p * (1.0 - p))[:, None]).T @ observed + _PRIOR * np.eye(len(weights))

    # From here every step is a good one; near certainty the likelihood is flat.
    return maximize(objective, derivatives, np.zeros_like(unlearned), highest=_HIGHEST, close=1e-6)


def read_weights(weights: object, unlearned: np.ndarray = UNLEARNED) -> np.ndarray:
    """Weights read from a file, as many as there are in `unlearned`.

    RAISES (ValueError): If they are none.
    """
    try:
        found = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the weights of its confidence are damaged ({error})") from error
    if found.shape != unlearned.shape or not np.all(np.abs(found) <= _HIGHEST):
        raise ValueError("the weights of its confidence are damaged")
    return found


def log_odds(probability: np.ndarray, certain: float = _CERTAIN) -> np.ndarray:
    """The log-odds of probabilities; those nearer to 0 or 1 than `certain` say nothing more."""
    p = np.clip(probability.astype(np.float64), certain, 1.0 - certain)
    return np.log(p / (1.0 - p))


def logistic(x: np.ndarray) -> np.ndarray:
    """The probability of log-odds."""
    return 1.0 / (1.0 + np.exp(-x))
