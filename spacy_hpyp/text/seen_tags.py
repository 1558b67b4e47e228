"""What the tag that a rare word had elsewhere says of its tag where it stands: p(tag elsewhere | tag).

A word that was seen too seldom to be known is generated as the class of its form. With one observation more,
the tag that it usually had where it was seen, it is as probable as

    p(class | tag, configuration) p(tag elsewhere | tag)

The latter is learned from all words of the treebank that were seen seldom, each of their tokens in turn as if
it had not been seen. The counts are smoothed: a tag mostly is the same again, with one probability for all
tags, and otherwise as frequent as it is among rare words.

Where a rare word is generated as one of a class of words, its form is another observation, p(form | tag),
which is learned from rare words.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

# What `SeenTags.learn` chooses from.
_REPEATS = (*np.arange(0.0, 0.95, 0.1).tolist(), 0.95, 0.98)
_STRENGTHS = tuple(2.0**power for power in range(-1, 11))
# Of a tag that was not seen elsewhere, so that no tag is impossible.
_PRIOR = 0.5


@dataclass(frozen=True)
class SeenTags:
    """A distribution of the tag that a word had elsewhere, given its tag; or of something else that is seen
    of a word.

    pairs (int64[n, 3]): Tags, tags elsewhere, and how often they were seen together.
    repeats (float): With which probability a tag is the same elsewhere, before it has been counted; between 0
        and 1.
    strength (float): How many counts that is worth; above 0.
    """

    pairs: np.ndarray
    repeats: float
    strength: float

    @classmethod
    def learn(cls, seen: Iterable[tuple[int, int]], tags: int, others: int | None = None) -> "SeenTags":
        """Learn it, with the smoothing by which each count is most probable, given the others.

        seen (Iterable[tuple[int, int]]): The tag of a token, and the usual one of the same word elsewhere.
        tags (int): How many tags there are.
        others (int | None): How many things may be seen, if these are no tags.
        """
        counts = np.zeros((tags, tags if others is None else others), dtype=np.int64)
        for tag, elsewhere in seen:
            counts[tag, elsewhere] += 1
        rows, columns = np.nonzero(counts)
        found, usual = counts[rows, columns], _usual(counts)[columns]
        of_tag = counts.sum(axis=1)[rows]
        best = -np.inf, 0.0, 1.0
        for repeats in _REPEATS if others is None else (0.0,):
            expected = repeats * (rows == columns) + (1 - repeats) * usual
            for strength in _STRENGTHS:
                left = (found - 1 + strength * expected) / (of_tag - 1 + strength)
                best = max(best, (float(found @ np.log(left)), repeats, strength), key=lambda each: each[0])
        return cls(np.column_stack([rows, columns, found]), *best[1:])

    def given(self, tags: int, others: int | None = None) -> np.ndarray:
        """The distribution.

        tags (int), others (int | None): As for `learn`.
        RETURNS (float64[tags elsewhere, tags]): For each tag the probabilities of what it is elsewhere, which
            sum to 1 over the rows.
        """
        counts = np.zeros((tags, tags if others is None else others), dtype=np.int64)
        rows, columns, found = self.pairs.T
        counts[rows, columns] = found
        expected = self.repeats * np.eye(*counts.shape) + (1 - self.repeats) * _usual(counts)
        smoothed = (counts + self.strength * expected) / (counts.sum(axis=1, keepdims=True) + self.strength)
        return np.ascontiguousarray(smoothed.T)


@dataclass(frozen=True)
class SeenForms:
    """A distribution of the form of a rare word, given its tag.

    names (list[str]): What forms there are, as a rule for unknown words calls them.
    seen (SeenTags): How often each was seen with each tag.
    """

    names: list[str]
    seen: SeenTags

    @classmethod
    def learn(cls, rare: Sequence[tuple[Sequence[str], int]], least: int, tags: int) -> "SeenForms":
        """Learn it.

        rare (Sequence[tuple[Sequence[str], int]]): What each token of a rare word is called by its form, the
            most telling first, and its tag.
        least (int): Names that are rarer give way to more general ones.
        tags (int): How many tags there are.
        """
        sizes = Counter(name for names, _ in rare for name in names)
        own = [
            next((name for name in names if sizes[name] >= least), names[-1]) for names, _ in rare if names
        ]
        names = sorted({*own})
        number = {name: place for place, name in enumerate(names)}
        found = [(tag, number[name]) for name, (_, tag) in zip(own, (each for each in rare if each[0]))]
        return cls(names, SeenTags.learn(found, tags, len(names)))

    def given(self, tags: int) -> np.ndarray:
        """The distribution (float64[forms, tags]), see `SeenTags.given`."""
        return self.seen.given(tags, len(self.names))


def _usual(counts: np.ndarray) -> np.ndarray:
    """How frequent tags are elsewhere, whatever the tag (float64[tags])."""
    return (counts.sum(axis=0) + _PRIOR) / (counts.sum() + _PRIOR * counts.shape[1])
