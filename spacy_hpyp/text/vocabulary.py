"""The vocabulary: frequent words as themselves, all others as classes, and the tags that each may
have.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled import NONE
from .folding import fold
from .ngrams import by_frequency
from .tag_classes import TagClasses
from .tag_history import SeenForms, SeenTags
from .unknown_words import UnknownWordRule, frequent_names

#: The class of words that belong to no class seen in training. It is part of every vocabulary.
UNKNOWN = "UNKNOWN"

#: A tag is an open class if at least this share of the tokens of rare words has it.
_OPEN_CLASS_SHARE = 0.002


@dataclass(frozen=True)
class VocabularySettings:
    """Thresholds of a vocabulary."""

    rule: UnknownWordRule  # Maps rare words to classes
    min_count: int = 2  # Words seen less often are known by their class only
    min_class_count: int = 5  # Classes seen less often give way to more general ones
    open_class_below: int = 50  # Rarer words may have every open-class tag, besides those seen
    # Whether the usual tag and the form of a rare word are observed, see `text.tag_history`.
    observed: bool = False
    max_tags: int = 0  # Classes replace tags if there are more, see `text.tag_classes`; 0: never


class Vocabulary:
    """Words and word classes as numbers, frequent words first.

    With observations (`seen`), a class has further numbers: for each usual tag and form of its rare
    words, and for each form. The generated words and classes are the first `len` numbers; words to
    be parsed have those of `numbers_observed`.

    Spelling variants are one word, see `folding`.

    words (Sequence[str]): The known words, each as it is mostly spelled.
    classes (Sequence[str]): The word classes; the first is for words of no other class.
    tags (Sequence[str]): The names of the tags.
    tag_offsets (int64[len + 1]), candidate_tags (int32[*]): Possible tags of each word and class,
        the most frequent first. The attributes also cover the further numbers.
    rule (UnknownWordRule): Maps unknown words to classes.
    rare (Mapping[str, Sequence[int]]): Tags of all tokens of each rare word, folded, if observed.
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
        tag_classes: TagClasses | None = None,
    ) -> None:
        self.tag_classes = tag_classes
        self.words, self.classes, self.tags = list(words), list(classes), list(tags)
        self.tag_offsets, self.candidate_tags = tag_offsets, candidate_tags
        self.rule, self.seen, self.forms = rule, seen, forms
        self.rare = {word: list(own) for word, own in (rare or {}).items()}
        # The usual tag of each rare word.
        self._usual = {word: by_frequency(Counter(own))[0] for word, own in self.rare.items()}
        self._known = {fold(word): number for number, word in enumerate(self.words)}
        self._class = {name: len(self.words) + number for number, name in enumerate(self.classes)}
        is_classed = forms is not None and hasattr(rule, "rule")
        self._form = {name: i for i, name in enumerate(forms.names)} if is_classed else {}
        # Classes that do not determine the form of their words.
        self._formless = {
            number
            for name, number in self._class.items()
            if is_classed and name != UNKNOWN and name not in self._form
        }
        # The class, usual tag and form of rare words, and each formless class with each form.
        found: list[tuple[int, int, int]] = []
        if seen:
            numbers = ((word, self.number(word), tag) for word, tag in self._usual.items())
            pairs = {(number, tag, self._form_of(word, number)) for word, number, tag in numbers}
            pairs |= {(number, NONE, i) for number in self._formless for i in self._form.values()}
            found = sorted(pairs)
        self._observed = {each: len(self) + number for number, each in enumerate(found)}
        plain = [(number, NONE, NONE) for number in range(len(self))]
        numbers = np.array([*plain, *found], dtype=np.int32).reshape(-1, 3)
        self.outcomes, self.observed, self.observed_form = np.ascontiguousarray(numbers.T)
        # The tags of a class, with the observed one.
        candidates = [self.candidate_tags]
        for number, tag, _ in found:
            own = candidate_tags[tag_offsets[number] : tag_offsets[number + 1]]
            is_new = tag != NONE and tag not in own
            candidates.append(np.append(own, np.int32(tag)) if is_new else own)
        ends = tag_offsets[-1] + np.cumsum([*map(len, candidates[1:])], dtype=np.int64)
        self.tag_offsets = np.concatenate([tag_offsets, ends])
        self.candidate_tags = np.concatenate(candidates)

    def _form_of(self, word: str, number: int) -> int:
        """Return the observed form of a word, `NONE` if it is generated as its form."""
        if number not in self._formless:
            return NONE
        names = self.rule.rule(word, "")
        return next((self._form[name] for name in names if name in self._form), NONE)

    def __len__(self) -> int:
        return len(self.words) + len(self.classes)

    def to_dict(self) -> dict[str, Any]:
        """Return all but the rule by name."""
        offsets, forms = self.tag_offsets[: len(self) + 1], self.forms
        return {
            "tags": self.tags,
            "words": self.words,
            "classes": self.classes,
            "tag_offsets": offsets,
            "candidate_tags": self.candidate_tags[: offsets[-1]],
            "rare": self.rare,
            "seen": self.seen and vars(self.seen),
            "forms": forms and {"names": forms.names, "seen": vars(forms.seen)},
            "tag_classes": self.tag_classes and [*self.tag_classes],
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any], rule: UnknownWordRule) -> "Vocabulary":
        """Make a vocabulary of what `to_dict` returned; older files have no classes of tags."""
        seen, forms, classes = stored["seen"], stored["forms"], stored.get("tag_classes")
        seen = seen and SeenTags(**seen)
        forms = forms and SeenForms(forms["names"], SeenTags(**forms["seen"]))
        found = {"seen": seen, "forms": forms, "tag_classes": classes and TagClasses(*classes)}
        return cls(**{**stored, **found}, rule=rule)

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
            return [*settings.rule(word, tags[by_frequency(usual)[0]] if usual else ""), UNKNOWN]

        totals = {word: found.total() for word, found in rare.items()}
        by_class: dict[str, Counter[int]] = {UNKNOWN: Counter()}
        # New words belong to open classes, which are the tags of rare words.
        rare_tags: Counter[int] = Counter()
        for word, name in frequent_names(classes_of, totals, settings.min_class_count):
            by_class.setdefault(name, Counter()).update(rare[word])
            rare_tags.update(rare[word])
        classes = [UNKNOWN, *sorted(name for name in by_class if name != UNKNOWN)]
        least = max(1.0, _OPEN_CLASS_SHARE * rare_tags.total())
        every = range(len(tags))
        open_class = [tag for tag in every if rare_tags[tag] >= least] or list(every)
        candidates = [
            by_frequency(found, open_class if found.total() < settings.open_class_below else ())
            for found in (by_word[word] for word in known)
        ]
        candidates += [by_frequency(by_class[name], open_class) for name in classes]
        known = [by_frequency(spelled[word])[0] for word in known]
        offsets = np.cumsum([0, *map(len, candidates)]).astype(np.int64)
        flat = np.concatenate(candidates).astype(np.int32)
        if not settings.observed or not rare:
            return cls(known, classes, tags, offsets, flat, settings.rule)
        tags_of = {word: sorted(found.elements()) for word, found in rare.items()}
        seen_again = _seen_again(counts.values(), max(2, settings.min_count))
        forms, of_form = None, getattr(settings.rule, "rule", None)
        if of_form is not None:
            named = frequent_names(lambda word: of_form(word, ""), totals, settings.min_class_count)
            forms = SeenForms.learn(dict(named), tags_of, len(tags))
        observed = tags_of, SeenTags.learn(seen_again, len(tags)), forms
        return cls(known, classes, tags, offsets, flat, settings.rule, *observed)

    def number(self, word: str) -> int:
        """Return the number of a word, or of its class. It does not depend on the context."""
        word = fold(word)
        number = self._known.get(word)
        return self._class_number(word) if number is None else number

    def _class_number(self, word: str) -> int:
        lower = word.lower()
        known = self._known.get(lower) if lower != word else None
        lower_tag = "" if known is None else self.tags[self.candidate_tags[self.tag_offsets[known]]]
        names = self.rule(word, lower_tag)
        return next((self._class[name] for name in names if name in self._class), len(self.words))

    def numbers(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words that are generated."""
        return [self.number(word) for word in words]

    def numbers_observed(self, words: Sequence[str]) -> list[int]:
        """Return the numbers of words to be parsed: rare ones with their usual tags and forms, as
        far as they are observed.
        """
        return [
            self._with_observed(form, self.number(form), self._usual.get(form, NONE))
            for form in map(fold, words)
        ]

    def _with_observed(self, word: str, number: int, tag: int) -> int:
        """Return the number of a class with the tag and form of a word, as far as observed."""
        if not self.seen or number < len(self.words):
            return number
        form = self._form_of(word, number)
        plain = self._observed.get((number, NONE, form), number)
        return self._observed.get((number, tag, form), plain)

    def numbers_by_counts(
        self, numbers: np.ndarray, counts: np.ndarray, min_count: int
    ) -> np.ndarray:
        """Return the numbers of words as if they had been seen only so often: too rare ones, see
        `VocabularySettings`, become classes.

        numbers (int32[*]): The numbers of the words.
        counts (int64[len]): How often each number was seen elsewhere.
        """
        found = np.arange(len(self.outcomes), dtype=np.int32)
        known = np.unique(numbers[self.is_known(numbers)])
        for number in known[counts[known] < min_count].tolist():
            word, usual = fold(self.words[number]), self.candidate_tags[self.tag_offsets[number]]
            tag = int(usual) if counts[number] else NONE
            found[number] = self._with_observed(word, self._class_number(word), tag)
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


def _seen_again(counts: Iterable[Counter[int]], most: int) -> Iterator[tuple[int, int]]:
    """Yield the tag of each token of rare words, and the usual tag of the word's other tokens."""
    for found in counts:
        if 1 < found.total() <= most:
            for tag, count in found.items():
                usual = by_frequency(found - Counter([tag]))[0]
                yield from [(tag, usual)] * count
