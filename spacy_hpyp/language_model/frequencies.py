"""How frequent words are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import log10

import numpy as np

from ..text.vocabulary import Vocabulary


class Frequencies:
    """Frequencies of words on the Zipf scale (van Heuven et al. 2014): log10 of how often a word occurs in a billion. Each is counted once more
    than it was seen, so that those that were not seen have one, too. Capitals and small letters are the same.

    counts (Mapping[str, int]): How often words were seen.
    total (int | None): How many words were seen, if not all of them are in the counts.
    """

    def __init__(self, counts: Mapping[str, int], total: int | None = None) -> None:
        self._counts: Counter[str] = Counter()
        for word, count in counts.items():
            self._counts[word.lower()] += count
        self._total = (self._counts.total() if total is None else total) + len(self._counts)

    @classmethod
    def of_training(cls, vocabulary: Vocabulary, seen: np.ndarray) -> "Frequencies":
        """Those of what a model has learned from. Words that it knows by their class alone were not seen, for all that it remembers.

        vocabulary (Vocabulary): Its words.
        seen (int64[words + classes]): How often each number of the vocabulary was seen.
        """
        rare = {word: len(tags) for word, tags in vocabulary.rare.items()}
        return cls({**rare, **dict(zip(vocabulary.words, seen.tolist()))}, int(seen.sum()))

    def of(self, word: str, tokens: Sequence[str]) -> float:
        """The frequency of a word: without the punctuation around it, or if it was not seen like this, that of its rarest token.

        word (str): The word, as "table,".
        tokens (Sequence[str]): Its tokens but for punctuation.
        """
        places = [i for i, letter in enumerate(word) if letter.isalnum()]
        bare = word[places[0] : places[-1] + 1].lower() if places else word
        parts = [token.lower() for token in tokens] or [bare]
        count = self._counts[bare] or min(self._counts[part] for part in parts)
        return log10((count + 1) / self._total) + 9
