"""Possible outcomes of words where there are many, as morphological features and lemma rules.

A frequent word has the outcomes that it was seen with. A rare or new word also has those of rare
words with the same ending: the longest that enough of them have. Capitalised words have endings of
their own.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .folding import fold
from .ngrams import by_frequency

# Words seen at most this often determine the outcomes of endings.
_RARE = 10
_LONGEST = 6
# The number of words that an ending needs.
_ENOUGH = 10
# The largest number of outcomes of an ending.
_MOST = 24
# Prefixes of endings of capitalised and other words; alone, each is an ending of all of these.
_CAPITAL, _OTHER = "^", "-"


@dataclass(eq=False)
class WordOutcomes:
    """Kinds of words, and their possible outcomes."""

    forms: list[str]  # Known words, folded, the first kinds
    endings: list[str]  # Endings of words, the other kinds; every word has one of them
    offsets: np.ndarray  # int64[kinds + 1]: where the outcomes of each kind begin
    outcomes: np.ndarray  # int32[*]: by frequency; those of a word before those of its ending

    def __post_init__(self) -> None:
        forms, endings = self.forms, self.endings
        self._of_form = {form: number for number, form in enumerate(forms)}
        self._of_ending = {ending: number for number, ending in enumerate(endings, len(forms))}

    @classmethod
    def collect(cls, words: Iterable[tuple[str, int]], frequent: int) -> "WordOutcomes":
        """Learn from words with their outcomes.

        words (Iterable[tuple[str, int]]): Each token with its outcome; at least one.
        frequent (int): Words seen so often have no other outcomes than those seen.
        """
        counts: dict[str, Counter[int]] = {}
        for (form, outcome), count in Counter(words).items():
            counts.setdefault(fold(form), Counter())[outcome] += count
        by_ending: dict[str, Counter[int]] = {}
        different: Counter[str] = Counter()
        everything: Counter[int] = Counter()
        for form, own in counts.items():
            everything.update(own)
            if own.total() <= _RARE:
                different.update(_endings(form))
                for ending in _endings(form):
                    by_ending.setdefault(ending, Counter()).update(own)
        kept = {
            ending: by_frequency(own)[:_MOST]
            for ending, own in by_ending.items()
            if different[ending] >= _ENOUGH
        }
        for ending in (_CAPITAL, _OTHER):
            kept.setdefault(ending, by_frequency(everything)[:_MOST])

        def with_ending(form: str, own: Counter[int]) -> list[int]:
            ending = next(ending for ending in _endings(form) if ending in kept)
            return list(dict.fromkeys([*by_frequency(own), *kept[ending]]))

        table = {
            form: by_frequency(own) if own.total() >= frequent else with_ending(form, own)
            for form, own in counts.items()
        }
        # A word that differs from a known one only by a capital may be that word.
        for form, own in counts.items():
            capital = form[:1].upper() + form[1:]
            if own.total() > 1 and capital not in counts:
                table[capital] = with_ending(capital, own)
        found = [*table.values(), *kept.values()]
        offsets = np.cumsum([0, *map(len, found)]).astype(np.int64)
        return cls(list(table), list(kept), offsets, np.concatenate(found).astype(np.int32))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def kind(self, form: str) -> int:
        """Return the kind of a word."""
        form = fold(form)
        if form in self._of_form:
            return self._of_form[form]
        known = self._of_ending
        return next(known[ending] for ending in _endings(form) if ending in known)


def _endings(form: str) -> list[str]:
    """Return the endings of a word in lower case, the longest first, each with a sign for
    capitals.
    """
    sign, lower = _CAPITAL if form[:1].isupper() else _OTHER, form.lower()
    return [sign + lower[len(lower) - n :] for n in range(min(_LONGEST, len(lower)), -1, -1)]
