"""The vocabulary: frequent words as themselves, all others as classes, and the tags that each may have."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from ..compiled import NONE
from ..settings import OneOf, check, whole
from .elements import string_number
from .seen_tags import SeenForms, SeenTags
from .unknown_words import UnknownWordRule, check_rule

#: The class of words that belong to no class seen in training. It is part of every vocabulary.
UNKNOWN = "UNKNOWN"

#: A tag is an open class if at least this part of the rare words have it.
_OPEN_CLASS_SHARE = 0.002

#: What rare words can be known by: the classes of their form alone, the tags that they had elsewhere before
#: these, or both: the classes,
#: and the tags as an observation besides.
CLASSES, TAGS, AUTO = "classes", "tags", "auto"
RARE_WORDS = OneOf((AUTO, CLASSES, TAGS))
# Where tags come first, classes that were seen so often are kept, even where `min_class_count` is higher.
_SMALL_CLASS = 2
# What a rare word's tag elsewhere says is learned from one in so many of the words that are just frequent
# enough to be known.
_TEACHERS = 2


@dataclass(frozen=True)
class VocabularySettings:
    """How a vocabulary is made.

    rule (UnknownWordRule): Maps words that are too rare to classes.
    min_count (int): Words seen less often than this are known by their class only.
    min_class_count (int): Classes seen less often than this give way to more general ones.
    open_class_below (int): Words seen less often than this may have every open-class tag, and not only those
        that they were seen with.
    rare_words (str): "classes": words that are too rare are known by the class of their form. "tags": by the
        usual tag that they had elsewhere if they had one, and classes may be as small as 2. "auto": by the
        class of their form, and that tag is observed besides, see `SeenTags`.
    RAISES (ValueError): If a threshold is not a whole number, 0 or more, `rare_words` is something else, or
        the rule does not take what a rule is given.
    """

    rule: UnknownWordRule
    min_count: int = 2
    min_class_count: int = 5
    open_class_below: int = 50
    rare_words: str = CLASSES

    def __post_init__(self) -> None:
        for setting in ("min_count", "min_class_count", "open_class_below"):
            whole(setting, getattr(self, setting), least=0)
        check("rare_words", self.rare_words, RARE_WORDS)
        check_rule(self.rule)


class Vocabulary:
    """Words and word classes as numbers, frequent words first.

    Where rare words are known by the tags that they had, a word of a sentence that the model learns from has
    another number than in a text that it reads: of what it was, the sentence itself must not tell. See
    `numbers_left_out`.

    Where these tags are observed besides the classes of rare words (`seen`), what is generated are the words
    and classes, the first `len` numbers. A class has further numbers, together with each tag that a rare word
    of it had: those have the words of a text that is parsed, see `numbers_observed`.

    words (Sequence[str]): The known words.
    classes (Sequence[str]): The word classes; the first is for words that belong to no other.
    tags (Sequence[str]): The names of the tags.
    tag_offsets (int64[numbers + 1]), candidate_tags (int32[*]): The tags that each word or class may have,
        those seen most often with it first. They are given for the words and classes.
    rule (UnknownWordRule): Maps words that are not known to classes.
    rare (Mapping[str, Sequence[int]]): The tags of each token of the words that are not known but were seen;
        none where their classes alone are used.
    seen (SeenTags | None): What these tags say as observations; none where they tell classes apart.
    forms (SeenForms | None): What the forms of rare words say as observations, of those that are generated as
        something else.

    outcomes (int32[numbers]): The word or class that is generated, for each number.
    observed (int32[numbers]): The tag that is observed besides, or `NONE`.
    observed_form (int32[numbers]): The form that is, by its place in `forms`, or `NONE`.
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
        self._known = {word: number for number, word in enumerate(self.words)}
        self._class = {name: len(self.words) + number for number, name in enumerate(self.classes)}
        self.seen, self.forms = seen, forms
        of_form = getattr(rule, "rule", None) if forms else None
        self._form = {name: place for place, name in enumerate(forms.names)} if of_form else {}
        # What is generated that does not say the form.
        self._formless = {
            self._class[name] for name in self.classes if of_form and name not in {UNKNOWN, *self._form}
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
        """The class, the usual tag and the form of each rare word; and each class of words with each form."""
        for word, tags in self.rare.items():
            number = self.number(word)
            yield number, _usual(tags), self._form_of(word, number)
        yield from ((number, NONE, form) for number in self._formless for form in self._form.values())

    def _form_of(self, word: str, number: int) -> int:
        """The form of a word that is observed besides what it is generated as, `NONE` if that is its form."""
        if number not in self._formless:
            return NONE
        return next((self._form[name] for name in self.rule.rule(word, "") if name in self._form), NONE)

    def _candidates(self, number: int, tag: int) -> np.ndarray:
        """The tags that a class may have, with one that a word of it had, if any (int32[*])."""
        own = self.candidate_tags[self.tag_offsets[number] : self.tag_offsets[number + 1]]
        return own if tag == NONE or tag in own else np.append(own, np.int32(tag))

    def __len__(self) -> int:
        return len(self.words) + len(self.classes)

    def with_rule(self, rule: UnknownWordRule) -> "Vocabulary":
        """The same vocabulary with another rule for unknown words."""
        offsets = self.tag_offsets[: len(self) + 1]
        candidates = self.candidate_tags[: offsets[-1]]
        return Vocabulary(
            self.words, self.classes, self.tags, offsets, candidates, rule, self.rare, self.seen, self.forms
        )

    @classmethod
    def collect(
        cls,
        sentences: Iterable[tuple[Sequence[str], Sequence[int]]],
        tags: Sequence[str],
        settings: VocabularySettings,
    ) -> "Vocabulary":
        """Count words and tags and make a vocabulary of them.

        sentences (Iterable[tuple[Sequence[str], Sequence[int]]]): The words and the tag numbers of each
            sentence.
        """
        # How often each word was seen with each tag.
        seen: Counter[tuple[str, int]] = Counter()
        for words, numbers in sentences:
            seen.update(zip(words, numbers))
        counts: dict[str, Counter[int]] = {}
        for (word, tag), count in seen.items():
            counts.setdefault(word, Counter())[tag] += count
        by_tags = settings.rare_words == TAGS
        min_class_count = min(settings.min_class_count, _SMALL_CLASS) if by_tags else settings.min_class_count
        least = {word: settings.min_count + int(by_tags and _teaches(word)) for word in counts}
        by_word = {word: found for word, found in counts.items() if found.total() >= least[word]}
        known = sorted(by_word, key=lambda word: (-by_word[word].total(), word))
        rare = [(entry, count) for entry, count in seen.items() if entry[0] not in by_word]
        tags_of = {word: sorted(counts[word].elements()) for (word, _), _ in rare}

        def classes_of(word: str, tag: int) -> list[str]:
            lower = word.lower()
            usual = by_word.get(lower) if lower != word else None
            lower_tag = tags[by_frequency(usual)[0]] if usual else ""
            names = settings.rule(word, lower_tag)
            elsewhere = _without(tags_of.get(word, ()), tag) if by_tags else ()
            return _class_names(names, elsewhere, tags, of_form=names[-1:])

        sizes: Counter[str] = Counter()
        for (word, tag), count in rare:
            sizes.update({name: count for name in classes_of(word, tag)})
        by_class: dict[str, Counter[int]] = {UNKNOWN: Counter()}
        for (word, tag), count in rare:
            names = (name for name in classes_of(word, tag) if sizes[name] >= min_class_count)
            by_class.setdefault(next(names, UNKNOWN), Counter())[tag] += count
        classes = [UNKNOWN, *sorted(name for name in by_class if name != UNKNOWN)]
        # Open classes are those that new words belong to: where a rare word has its tags from.
        rare_tags = np.bincount([tag for (_, tag), _ in rare], [count for _, count in rare], len(tags))
        open_class = np.flatnonzero(rare_tags >= max(1.0, _OPEN_CLASS_SHARE * rare_tags.sum())).tolist()
        open_class = open_class or list(range(len(tags)))
        candidates = [
            by_frequency(
                by_word[word], open_class if by_word[word].total() < settings.open_class_below else ()
            )
            for word in known
        ]
        candidates += [by_frequency(by_class[name], open_class) for name in classes]
        offsets = np.cumsum([0, *map(len, candidates)]).astype(np.int64)
        flat = np.array(list(chain.from_iterable(candidates)), dtype=np.int32)
        told = forms = None
        if settings.rare_words == AUTO and rare:
            told = SeenTags.learn(_seen_again(counts.values(), max(2, settings.min_count)), len(tags))
            of_form = getattr(settings.rule, "rule", None)
            if of_form is not None:
                forms = SeenForms.learn(
                    [(of_form(word, ""), tag) for (word, tag), n in rare for _ in range(n)],
                    min_class_count,
                    len(tags),
                )
        return cls(
            known,
            classes,
            tags,
            offsets,
            flat,
            settings.rule,
            tags_of if by_tags or told else {},
            told,
            forms,
        )

    def number(self, word: str) -> int:
        """The number of a word, or of its class where it is not known. It does not depend on where the word
        stands.
        """
        return self._number(word, self._elsewhere(word))

    def _elsewhere(self, word: str) -> Sequence[int]:
        """The tags that tell the class of a rare word."""
        return () if self.seen else self.rare.get(word, ())

    def _number(self, word: str, elsewhere: Sequence[int]) -> int:
        """The number of a word that had some tags elsewhere."""
        number = self._known.get(word)
        return self._class_number(word, elsewhere) if number is None else number

    def _class_number(self, word: str, elsewhere: Sequence[int]) -> int:
        lower = word.lower()
        known = self._known.get(lower) if lower != word else None
        lower_tag = "" if known is None else self.tags[self.candidate_tags[self.tag_offsets[known]]]
        for name in _class_names(self.rule(word, lower_tag), elsewhere, self.tags):
            number = self._class.get(name)
            if number is not None:
                return number
        return len(self.words)

    def numbers(self, words: Sequence[str]) -> list[int]:
        """The number of each of some words, see `number`: what is generated."""
        return [self.number(word) for word in words]

    def numbers_observed(self, words: Sequence[str]) -> list[int]:
        """The number of each of some words that are parsed, of a rare one together with the tag that it had
        elsewhere.
        """
        return [self._with_observed(word, self.number(word), self.rare.get(word, ())) for word in words]

    def _with_observed(self, word: str, number: int, elsewhere: Sequence[int]) -> int:
        """The number of the class of a word together with the usual one of some tags, if there is one, and
        its form, if it is observed.
        """
        if not self.seen or number < len(self.words):
            return number
        form = self._form_of(word, number)
        plain = self._observed.get((number, NONE, form), number)
        return self._observed.get((number, _usual(elsewhere), form), plain) if elsewhere else plain

    def numbers_left_out(self, words: Sequence[str], tags: Sequence[int]) -> list[int]:
        """The number that each word of a sentence that the vocabulary was made of would have if it had not
        been seen where it stands.
        """
        return [self._number(word, _without(self._elsewhere(word), tag)) for word, tag in zip(words, tags)]

    def numbers_by_counts(self, numbers: np.ndarray, counts: np.ndarray, min_count: int) -> np.ndarray:
        """The numbers that words would have if they had been seen only so often: too rare ones those of their
        classes.

        numbers (int32[*]), counts (int64[len]): Those that they have, and how often each number has been seen
            elsewhere.
        min_count (int): As in `VocabularySettings`.
        """
        found = np.arange(len(self.outcomes), dtype=np.int32)
        by_tags = bool(self.rare) and not self.seen
        for number in np.unique(numbers[self.is_known(numbers)]).tolist():
            word = self.words[number]
            if counts[number] < min_count + int(by_tags and _teaches(word)):
                usual = self.candidate_tags[self.tag_offsets[number]]
                elsewhere = [usual] if self.rare and counts[number] else ()
                known_by = self._class_number(word, elsewhere if by_tags else ())
                found[number] = self._with_observed(word, known_by, elsewhere)
        return found[numbers]

    def is_known(self, numbers: np.ndarray) -> np.ndarray:
        """Which numbers are those of words, and not of classes (bool[*])."""
        return numbers < len(self.words)

    def name(self, number: int) -> str:
        """The word with a number, or its class in angle brackets, with the tag that is observed besides."""
        if number < len(self.words):
            return self.words[number]
        names = [self.classes[self.outcomes[number] - len(self.words)]]
        if self.observed_form[number] != NONE:
            names.append(self.forms.names[self.observed_form[number]])
        if self.observed[number] != NONE:
            names.append(f"SEEN~{self.tags[self.observed[number]]}")
        return f"<{'~'.join(names)}>"


def by_frequency(found: Counter[Any], more: Iterable[Any] = ()) -> list[Any]:
    """Tags, or whatever was counted, in descending order of their counts, ties in their own order; further
    ones where they belong, with count 0.
    """
    return sorted({*found, *more}, key=lambda each: (-found[each], each))


def _usual(tags: Sequence[int]) -> int:
    return tags[0] if len(tags) == 1 else by_frequency(Counter(tags))[0]


def _seen_again(counts: Iterable[Counter[int]], most: int) -> Iterator[tuple[int, int]]:
    """The tag of each token of words that are seen so often at most, and the usual one of the others of the
    same word.
    """
    for found in counts:
        if 1 < found.total() <= most:
            for tag, count in found.items():
                for _ in range(count):
                    yield tag, _usual(_without(sorted(found.elements()), tag))


def _teaches(word: str) -> bool:
    """Whether a word is one of those from which it is learned what a rare word's tag elsewhere says."""
    return string_number(word) % _TEACHERS == 0


def _without(seen: Sequence[int], tag: int) -> list[int]:
    left = list(seen)
    if tag in left:
        left.remove(tag)
    return left


def _class_names(
    names: list[str], elsewhere: Sequence[int], tags: Sequence[str], of_form: list[str] | None = None
) -> list[str]:
    """The classes of a word, the most telling first: those of its form together with the usual tag that it
    had elsewhere tell more than that tag alone, and this more than its form.

    names (list[str]), of_form (list[str] | None): Those of its form, the most general last; and which there
        are together with tags, if not all.
    """
    if not elsewhere:
        return names
    seen = f"SEEN~{tags[_usual(elsewhere)]}"
    return [*(f"{name}~{seen}" for name in (names if of_form is None else of_form)), seen, *names]
