"""Observations of rare words: p(usual tag elsewhere | tag), and p(form | tag).

A rare word is generated as the class of its form, and the tag that it usually had elsewhere is
observed, so that it is as probable as

    p(class | tag, configuration) p(tag elsewhere | tag).

This is learned from the rare words of the treebank, each token in turn as if it had not been seen.
Mostly a tag is the same again, with one probability for all tags, and otherwise as frequent as it
is among rare words. A rare word that is generated as one of a class of words of raw text has its
form observed, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

# The smoothing that `SeenTags.learn` chooses from.
_REPEATS = (*np.arange(0.0, 0.95, 0.1).tolist(), 0.95, 0.98)
_STRENGTHS = tuple(2.0**power for power in range(-1, 11))
# Added to each count, so that no tag is impossible.
_PRIOR = 0.5


@dataclass(frozen=True)
class SeenTags:
    """Distribution of an observation given the tag of a word: its tag elsewhere, or its form."""

    pairs: np.ndarray  # int64[n, 3]: tag, observation, and how often they were seen together
    repeats: float  # Probability that the tag elsewhere is the same, before any counts; below 1
    strength: float  # How many counts the expectation is worth; above 0

    @classmethod
    def learn(
        cls, seen: Iterable[tuple[int, int]], tags: int, observations: int | None = None
    ) -> "SeenTags":
        """Choose the smoothing that makes each count most probable given the others.

        seen (Iterable[tuple[int, int]]): The tag and the observation of each token.
        tags (int): Number of tags.
        observations (int | None): Number of possible observations, if these are not tags.
        """
        counts = np.zeros((tags, observations or tags), dtype=np.int64)
        for pair in seen:
            counts[pair] += 1
        rows, columns = np.nonzero(counts)
        found, usual = counts[rows, columns], _usual(counts)[columns]
        of_tag = counts.sum(axis=1)[rows]

        def log_prob(smoothing: tuple[float, float]) -> float:
            repeats, strength = smoothing
            expected = repeats * (rows == columns) + (1 - repeats) * usual
            return found @ np.log((found - 1 + strength * expected) / (of_tag - 1 + strength))

        repeats = _REPEATS if observations is None else (0.0,)
        best = max(product(repeats, _STRENGTHS), key=log_prob)
        return cls(np.column_stack([rows, columns, found]), *best)

    def given(self, tags: int, observations: int | None = None) -> np.ndarray:
        """Return p(observation | tag) (float64[observations, tags]); arguments as of `learn`."""
        counts = np.zeros((tags, observations or tags), dtype=np.int64)
        rows, columns, found = self.pairs.T
        counts[rows, columns] = found
        expected = self.repeats * np.eye(*counts.shape) + (1 - self.repeats) * _usual(counts)
        totals = counts.sum(axis=1, keepdims=True)
        smoothed = (counts + self.strength * expected) / (totals + self.strength)
        return np.ascontiguousarray(smoothed.T)


class SeenForms(NamedTuple):
    """Distribution of the form of a rare word given its tag."""

    names: list[str]  # The forms, by their names in a rule for unknown words
    seen: SeenTags

    @classmethod
    def learn(
        cls, forms: Mapping[str, str], rare: Mapping[str, Sequence[int]], tags: int
    ) -> "SeenForms":
        """Choose the smoothing, given the form of each rare word, and the tags of its tokens."""
        names = sorted(set(forms.values()))
        pairs = [(tag, names.index(name)) for word, name in forms.items() for tag in rare[word]]
        return cls(names, SeenTags.learn(pairs, tags, len(names)))

    def given(self, tags: int) -> np.ndarray:
        """Return the distribution (float64[forms, tags])."""
        return self.seen.given(tags, len(self.names))


def _usual(counts: np.ndarray) -> np.ndarray:
    """Frequency of each observation, whatever the tag (float64[observations])."""
    return (counts.sum(axis=0) + _PRIOR) / (counts.sum() + _PRIOR * counts.shape[1])
