"""The vocabulary: frequent words as themselves, all others as classes, and the tags that each may have."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from .unknown_words import UnknownWordRule

#: The class of words whose class was never seen in training. It is part of every vocabulary.
UNKNOWN = "UNKNOWN"


class Vocabulary:
    """Words and word classes as numbers, frequent words first.

    words (list[str]): The known words.
    classes (list[str]): The word classes; `UNKNOWN` is the first.
    tag_offsets (int64[len + 1]), candidate_tags (int32[*]): The tags that each word or class may have, those seen
        most often with it first.
    """

    def __init__(
        self,
        words: Sequence[str],
        classes: Sequence[str],
        tag_offsets: np.ndarray,
        candidate_tags: np.ndarray,
        rule: UnknownWordRule,
    ) -> None:
        self.words = list(words)
        self.classes = list(classes)
        self.tag_offsets = tag_offsets
        self.candidate_tags = candidate_tags
        self.rule = rule
        self._known = {word: number for number, word in enumerate(self.words)}
        self._class = {name: len(self.words) + number for number, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.words) + len(self.classes)

    @classmethod
    def collect(
        cls,
        sentences: Iterable[tuple[Sequence[str], Sequence[int]]],
        *,
        tags: int,
        rule: UnknownWordRule,
        min_count: int,
        open_class_below: int,
    ) -> "Vocabulary":
        """Count words and tags and make a vocabulary of them.

        sentences (Iterable[tuple[Sequence[str], Sequence[int]]]): The words and the tag numbers of each sentence.
        tags (int): The number of tags.
        rule (UnknownWordRule): Maps words that are too rare to classes.
        min_count (int): Words seen less often than this are known by their class only.
        open_class_below (int): Words seen less often than this may have every open-class tag, and not only those that
            they were seen with.
        """
        counts: Counter[str] = Counter()
        seen: Counter[tuple[str, int, bool]] = Counter()
        for words, numbers in sentences:
            counts.update(words)
            seen.update((word, tag, i == 0) for i, (word, tag) in enumerate(zip(words, numbers)))
        known = [
            word for word, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if count >= min_count
        ]
        is_known = set(known)
        classes: Counter[str] = Counter()
        tagged: dict[str, Counter[int]] = {}
        rare = np.zeros(tags)
        for (word, tag, initial), count in seen.items():
            name = word
            if word not in is_known:
                name = rule(word, initial)
                classes[name] += count
                # A class may have the name of a word: the two must not share their tags.
                name = "\0" + name
                rare[tag] += count
            tagged.setdefault(name, Counter())[tag] += count
        names = [UNKNOWN] + sorted(name for name in classes if name != UNKNOWN)
        # Open classes are those that new words belong to: where a word seen once in training has its tags from.
        open_class = np.flatnonzero(rare >= max(1.0, 0.002 * rare.sum()))
        if len(open_class) == 0:
            open_class = np.arange(tags)
        offsets, candidates = [0], []
        for name in known + ["\0" + name for name in names]:
            found = tagged.get(name, Counter())
            possible = set(found)
            if name.startswith("\0") or counts[name] < open_class_below:
                possible.update(open_class.tolist())
            candidates.extend(sorted(possible, key=lambda tag: (-found[tag], tag)))
            offsets.append(len(candidates))
        return cls(known, names, np.array(offsets, dtype=np.int64), np.array(candidates, dtype=np.int32), rule)

    def number(self, word: str, initial: bool) -> int:
        """The number of a word, or of its class where it is not known.

        initial (bool): Whether the word is the first of its sentence.
        """
        number = self._known.get(word)
        if number is None:
            number = self._class.get(self.rule(word, initial), len(self.words))
        return number

    def name(self, number: int) -> str:
        """The word with a number, or its class in angle brackets."""
        if number < len(self.words):
            return self.words[number]
        return f"<{self.classes[number - len(self.words)]}>"
