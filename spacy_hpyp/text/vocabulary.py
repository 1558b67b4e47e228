"""The vocabulary: frequent words as themselves, all others as classes, and the tags that each may have."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ..settings import whole
from .unknown_words import UnknownWordRule, check_rule

#: The class of words that belong to no class seen in training. It is part of every vocabulary.
UNKNOWN = "UNKNOWN"

#: A tag is an open class if at least this part of the rare words have it.
_OPEN_CLASS_SHARE = 0.002


@dataclass(frozen=True)
class VocabularySettings:
    """How a vocabulary is made.

    rule (UnknownWordRule): Maps words that are too rare to classes.
    min_count (int): Words seen less often than this are known by their class only.
    min_class_count (int): Classes seen less often than this give way to more general ones.
    open_class_below (int): Words seen less often than this may have every open-class tag, and not only those that they
        were seen with.
    RAISES (ValueError): If a threshold is not a whole number, 0 or more, or the rule does not take what a rule is given.
    """

    rule: UnknownWordRule
    min_count: int = 2
    min_class_count: int = 5
    open_class_below: int = 50

    def __post_init__(self) -> None:
        for setting in ("min_count", "min_class_count", "open_class_below"):
            whole(setting, getattr(self, setting), least=0)
        check_rule(self.rule)


class Vocabulary:
    """Words and word classes as numbers, frequent words first.

    words (Sequence[str]): The known words.
    classes (Sequence[str]): The word classes; the first is for words that belong to no other.
    tags (Sequence[str]): The names of the tags.
    tag_offsets (int64[len + 1]), candidate_tags (int32[*]): The tags that each word or class may have, those seen
        most often with it first.
    rule (UnknownWordRule): Maps words that are not known to classes.
    """

    def __init__(
        self,
        words: Sequence[str],
        classes: Sequence[str],
        tags: Sequence[str],
        tag_offsets: np.ndarray,
        candidate_tags: np.ndarray,
        rule: UnknownWordRule,
    ) -> None:
        self.words = list(words)
        self.classes = list(classes)
        self.tags = list(tags)
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
        tags: Sequence[str],
        settings: VocabularySettings,
    ) -> "Vocabulary":
        """Count words and tags and make a vocabulary of them.

        sentences (Iterable[tuple[Sequence[str], Sequence[int]]]): The words and the tag numbers of each sentence.
        tags (Sequence[str]): The names of the tags.
        settings (VocabularySettings): Thresholds and the rule for rare words.
        """
        # How often each word was seen with each tag.
        seen: Counter[tuple[str, int]] = Counter()
        for words, numbers in sentences:
            seen.update(zip(words, numbers))
        by_word: dict[str, Counter[int]] = {}
        for (word, tag), count in seen.items():
            by_word.setdefault(word, Counter())[tag] += count
        by_word = {word: found for word, found in by_word.items() if found.total() >= settings.min_count}
        known = sorted(by_word, key=lambda word: (-by_word[word].total(), word))
        rare = [(entry, count) for entry, count in seen.items() if entry[0] not in by_word]

        def classes_of(word: str) -> list[str]:
            lower = word.lower()
            usual = by_word.get(lower) if lower != word else None
            lower_tag = tags[_by_frequency(usual)[0]] if usual else ""
            return settings.rule(word, lower_tag)

        sizes: Counter[str] = Counter()
        for (word, _), count in rare:
            sizes.update({name: count for name in classes_of(word)})
        by_class: dict[str, Counter[int]] = {UNKNOWN: Counter()}
        for (word, tag), count in rare:
            names = (name for name in classes_of(word) if sizes[name] >= settings.min_class_count)
            by_class.setdefault(next(names, UNKNOWN), Counter())[tag] += count
        classes = [UNKNOWN, *sorted(name for name in by_class if name != UNKNOWN)]
        # Open classes are those that new words belong to: where a rare word has its tags from.
        rare_tags = np.zeros(len(tags))
        for (_, tag), count in rare:
            rare_tags[tag] += count
        open_class = np.flatnonzero(rare_tags >= max(1.0, _OPEN_CLASS_SHARE * rare_tags.sum())).tolist()
        open_class = open_class or list(range(len(tags)))
        candidates = [
            _by_frequency(by_word[word], open_class if by_word[word].total() < settings.open_class_below else ())
            for word in known
        ]
        candidates += [_by_frequency(by_class[name], open_class) for name in classes]
        offsets = np.concatenate([[0], np.cumsum([len(found) for found in candidates])]).astype(np.int64)
        flat = np.array([tag for found in candidates for tag in found], dtype=np.int32)
        return cls(known, classes, tags, offsets, flat, settings.rule)

    def number(self, word: str) -> int:
        """The number of a word, or of its class where it is not known. It does not depend on where the word stands."""
        number = self._known.get(word)
        if number is not None:
            return number
        lower = word.lower()
        known = self._known.get(lower) if lower != word else None
        lower_tag = "" if known is None else self.tags[self.candidate_tags[self.tag_offsets[known]]]
        for name in self.rule(word, lower_tag):
            number = self._class.get(name)
            if number is not None:
                return number
        return len(self.words)

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The number of each of some words, see `number`."""
        return [self.number(word) for word in words]

    def name(self, number: int) -> str:
        """The word with a number, or its class in angle brackets."""
        if number < len(self.words):
            return self.words[number]
        return f"<{self.classes[number - len(self.words)]}>"


def _by_frequency(found: Counter[int], more: Iterable[int] = ()) -> list[int]:
    """Tags in descending order of their counts, ties by number; further ones where they belong, with count 0."""
    return sorted({*found, *more}, key=lambda tag: (-found[tag], tag))
