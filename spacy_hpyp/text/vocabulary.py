"""The vocabulary: frequent words as themselves, all others as classes, and the tags that each may
have.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..compiled import NONE
from ..settings import whole
from .folding import fold
from .tag_history import SeenForms, SeenTags
from .unknown_words import UnknownWordRule

#: The class of words that belong to no class seen in training. It is part of every vocabulary.
UNKNOWN = "UNKNOWN"

#: A tag is an open class if at least this part of the rare words have it.
_OPEN_CLASS_SHARE = 0.002


@dataclass(frozen=True)
class VocabularySettings:
    """Thresholds of a vocabulary.

    rule (UnknownWordRule): Maps rare words to classes.
    min_count (int): Words seen less often are known by their class only.
    min_class_count (int): Classes seen less often give way to more general ones.
    open_class_below (int): Words seen less often may have every open-class tag besides those seen
        with them.
    observed (bool): Whether the usual tag and the form of a rare word are observed, see
    `text.tag_history`. RAISES (ValueError): If a threshold is not a whole number, 0 or more.
    """

    rule: UnknownWordRule
    min_count: int = 2
    min_class_count: int = 5
    open_class_below: int = 50
    observed: bool = False

    def __post_init__(self) -> None:
        for setting in ("min_count", "min_class_count", "open_class_below"):
            whole(setting, getattr(self, setting), least=0)


class Vocabulary:
    """Words and word classes as numbers, frequent words first.

    With observations (`seen`), a class has further numbers: one for each usual tag and form of its
    rare words. The generated words and classes are the first `len` numbers; words to be parsed have
    those of `numbers_observed`.

    Spelling variants are one word, see `folding`.

    words (Sequence[str]): The known words, each as it is mostly spelled.
    classes (Sequence[str]): The word classes; the first is for words of no other class.
    tags (Sequence[str]): The names of the tags.
    tag_offsets (int64[numbers + 1]), candidate_tags (int32[*]): Possible tags of each word and
        class, the most frequent first.
    rule (UnknownWordRule): Maps unknown words to classes.
    rare (Mapping[str, Sequence[int]]): The tags of all tokens of the rare words, if observed.
    seen (SeenTags | None): The distribution of observed tags.
    forms (SeenForms | None): The distribution of observed forms of words that are generated as
        something else.

    outcomes (int32[numbers]): The word or class that is generated, for each number.
    observed (int32[numbers]): The observed tag, or `NONE`.
    observed_form (int32[numbers]): The place of the observed form in `forms`, or `NONE`.
    """

    def __init__(
        self,
        words: Sequence[str],
        classes: Sequence[str],
        tags: Sequence[str],
        tag_offsets: np.ndarray,
        candidate_tags: np.ndarray,
        rule: UnknownWordRule,
        rare: Mapping[str, Sequence[int]] | None = None,
        seen: SeenTags | None = None,
        forms: SeenForms | None = None,
    ) -> None:
        self.words = list(words)
        self.classes = list(classes)
        self.tags = list(tags)
        self.tag_offsets = tag_offsets
        self.candidate_tags = candidate_tags
        self.rule = rule
        self.rare = {word: list(own) for word, own in (rare or {}).items()}
        self._known = {fold(word): number for number, word in enumerate(self.words)}
        self._class = {name: len(self.words) + number for number, name in enumerate(self.classes)}
        self.seen, self.forms = seen, forms
        of_form = getattr(rule, "rule", None) if forms else None
        self._form = {name: place for place, name in enumerate(forms.names)} if of_form else {}
        # Generated symbols that do not tell the form.
        self._formless = {
            self._class[name]
            for name in self.classes
            if of_form and name not in {UNKNOWN, *self._form}
        }
        found = sorted(set(self._observations())) if seen else []
        self._observed = {each: len(self) + number for number, each in enumerate(found)}
        plain = [(number, NONE, NONE) for number in range(len(self))]
        numbers = np.array([*plain, *found], dtype=np.int32).reshape(-1, 3)
        self.outcomes, self.observed, self.observed_form = np.ascontiguousarray(numbers.T)
        candidates = [self._candidates(number, tag) for number, tag, _ in found]
        ends = self.tag_offsets[-1] + np.cumsum([len(own) for own in candidates], dtype=np.int64)
        self.tag_offsets = np.concatenate([self.tag_offsets, ends])
        self.candidate_tags = np.concatenate([self.candidate_tags, *candidates])

    def _observations(self) -> Iterator[tuple[int, int, int]]:
        """Yield the class, usual tag and form of each rare word, and each class of words with each
        form.
        """
        for word, tags in self.rare.items():
            number = self.number(word)
            yield number, _usual(tags), self._form_of(word, number)
        yield from (
            (number, NONE, form) for number in self._formless for form in self._form.values()
        )

    def _form_of(self, word: str, number: int) -> int:
        """Return the observed form of a word, `NONE` if it is generated as its form."""
        if number not in self._formless:
            return NONE
        return next(
            (self._form[name] for name in self.rule.rule(word, "") if name in self._form), NONE
        )

    def _candidates(self, number: int, tag: int) -> np.ndarray:
        """Return the tags of a class, with the given tag if any (int32[*])."""
        own = self.candidate_tags[self.tag_offsets[number] : self.tag_offsets[number + 1]]
        return own if tag == NONE or tag in own else np.append(own, np.int32(tag))

    def __len__(self) -> int:
        return len(self.words) + len(self.classes)

    def with_rule(self, rule: UnknownWordRule) -> "Vocabulary":
        """Return the same vocabulary with another rule for unknown words."""
        offsets = self.tag_offsets[: len(self) + 1]
        candidates = self.candidate_tags[: offsets[-1]]
        return Vocabulary(
            self.words,
            self.classes,
            self.tags,
            offsets,
            candidates,
            rule,
            self.rare,
            self.seen,
            self.forms,
        )

    @classmethod
    def collect(
        cls,
        sentences: Iterable[tuple[Sequence[str], Sequence[int]]],
        tags: Sequence[str],
        settings: VocabularySettings,
    ) -> "Vocabulary":
        """Make a vocabulary of sentences, given as words and tag numbers."""
        # How often each word was seen with each tag, and in each spelling.
        seen: Counter[tuple[str, int]] = Counter()
        for words, numbers in sentences:
            seen.update(zip(words, numbers))
        counts: dict[str, Counter[int]] = {}
        spelled: dict[str, Counter[str]] = {}
        for (word, tag), count in seen.items():
            counts.setdefault(fold(word), Counter())[tag] += count
            spelled.setdefault(fold(word), Counter())[word] += count
        by_word = {
            word: found for word, found in counts.items() if found.total() >= settings.min_count
        }
        known = sorted(by_word, key=lambda word: (-by_word[word].total(), word))
        rare = {word: found for word, found in counts.items() if word not in by_word}

        def classes_of(word: str) -> list[str]:
            lower = word.lower()
            usual = by_word.get(lower) if lower != word else None
            return settings.rule(word, tags[by_frequency(usual)[0]] if usual else "")

        sizes: Counter[str] = Counter()
        for word, found in rare.items():
            sizes.update({name: found.total() for name in classes_of(word)})
        by_class: dict[str, Counter[int]] = {UNKNOWN: Counter()}
        for word, found in rare.items():
            names = (name for name in classes_of(word) if sizes[name] >= settings.min_class_count)
            by_class.setdefault(next(names, UNKNOWN), Counter()).update(found)
        classes = [UNKNOWN, *sorted(name for name in by_class if name != UNKNOWN)]
        # Open classes are those that new words belong to: where a rare word has its tags from.
        rare_tags: Counter[int] = Counter()
        for found in rare.values():
            rare_tags.update(found)
        least = max(1.0, _OPEN_CLASS_SHARE * rare_tags.total())
        open_class = [tag for tag in range(len(tags)) if rare_tags[tag] >= least] or list(
            range(len(tags))
        )
        candidates = [
            by_frequency(found, open_class if found.total() < settings.open_class_below else ())
            for found in (by_word[word] for word in known)
        ]
        candidates += [by_frequency(by_class[name], open_class) for name in classes]
        known = [by_frequency(spelled[word])[0] for word in known]
        offsets = np.cumsum([0, *map(len, candidates)]).astype(np.int64)
        flat = np.array(list(chain.from_iterable(candidates)), dtype=np.int32)
        if not settings.observed or not rare:
            return cls(known, classes, tags, offsets, flat, settings.rule)
        tags_of = {word: sorted(found.elements()) for word, found in rare.items()}
        told = SeenTags.learn(_seen_again(counts.values(), max(2, settings.min_count)), len(tags))
        forms, of_form = None, getattr(settings.rule, "rule", None)
        if of_form is not None:
            tokens = [(of_form(word, ""), tag) for word, own in tags_of.items() for tag in own]
            forms = SeenForms.learn(tokens, settings.min_class_count, len(tags))
        return cls(known, classes, tags, offsets, flat, settings.rule, tags_of, told, forms)

    def number(self, word: str) -> int:
        """Return the number of a word, or of its class. It does not depend on the context."""
        word = fold(word)
        number = self._known.get(word)
        return self._class_number(word) if number is None else number

    def _class_number(self, word: str) -> int:
        lower = word.lower()
        known = self._known.get(lower) if lower != word else None
        lower_tag = "" if known is None else self.tags[self.candidate_tags[self.tag_offsets[known]]]
        for name in self.rule(word, lower_tag):
            number = self._class.get(name)
            if number is not None:
                return number
        return len(self.words)

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words that are generated."""
        return [self.number(word) for word in words]

    def numbers_observed(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words to be parsed: rare ones with the tags that they had
        elsewhere.
        """
        forms = map(fold, words)
        return [
            self._with_observed(word, self.number(word), self.rare.get(word, ())) for word in forms
        ]

    def _with_observed(self, word: str, number: int, elsewhere: Sequence[int]) -> int:
        """Return the number of a class with the usual tag and the form of a word, as far as they
        are observed.
        """
        if not self.seen or number < len(self.words):
            return number
        form = self._form_of(word, number)
        plain = self._observed.get((number, NONE, form), number)
        return self._observed.get((number, _usual(elsewhere), form), plain) if elsewhere else plain

    def numbers_by_counts(
        self, numbers: np.ndarray, counts: np.ndarray, min_count: int
    ) -> np.ndarray:
        """Return the numbers of words as if they had been seen only so often: too rare ones become
        classes.

        numbers (int32[*]), counts (int64[len]): Their numbers, and how often each number was seen
        elsewhere. min_count (int): As in `VocabularySettings`.
        """
        found = np.arange(len(self.outcomes), dtype=np.int32)
        for number in np.unique(numbers[self.is_known(numbers)]).tolist():
            if counts[number] < min_count:
                word, usual = (
                    fold(self.words[number]),
                    self.candidate_tags[self.tag_offsets[number]],
                )
                elsewhere = [usual] if counts[number] else ()
                found[number] = self._with_observed(word, self._class_number(word), elsewhere)
        return found[numbers]

    def is_known(self, numbers: np.ndarray) -> np.ndarray:
        """Whether numbers are words, and not classes (bool[*])."""
        return numbers < len(self.words)

    def name(self, number: int) -> str:
        """Return a word, or a class in angle brackets with the observed form and tag."""
        if number < len(self.words):
            return self.words[number]
        names = [self.classes[self.outcomes[number] - len(self.words)]]
        if self.observed_form[number] != NONE:
            names.append(self.forms.names[self.observed_form[number]])
        if self.observed[number] != NONE:
            names.append(f"SEEN~{self.tags[self.observed[number]]}")
        return f"<{'~'.join(names)}>"


def by_frequency(found: Counter[Any], more: Iterable[Any] = ()) -> list[Any]:
    """Return counted items in descending order of counts, ties in their own order; `more` with
    count 0.
    """
    return sorted({*found, *more}, key=lambda each: (-found[each], each))


def _usual(tags: Sequence[int]) -> int:
    return tags[0] if len(tags) == 1 else by_frequency(Counter(tags))[0]


def _seen_again(counts: Iterable[Counter[int]], most: int) -> Iterator[tuple[int, int]]:
    """Yield the tag of each token of rare words, and the usual tag of the other tokens of the
    word.
    """
    for found in counts:
        if 1 < found.total() <= most:
            for tag, count in found.items():
                for _ in range(count):
                    yield tag, _usual(_without(sorted(found.elements()), tag))


def _without(seen: Sequence[int], tag: int) -> list[int]:
    left = list(seen)
    if tag in left:
        left.remove(tag)
    return left
