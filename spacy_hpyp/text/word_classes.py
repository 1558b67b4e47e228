"""Classes of words, learned from raw text: learning, look-up, and a file that a person can read and
edit.

A class is known by its path from the root of a binary tree, as "0110": words whose paths begin
alike stand in like places, and the first steps of a path are a coarser class. In a file each line
has a path, a word and its count, with tabs between (the format of P. Liang's `wcluster`). Words
that are too rare for a class of their own are there by their looks, as `<LOW-ing>`.

Generative models know words by them that the treebank has seldom or not at all: `ClassedRule` makes
an unknown word of raw text one of its class.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from spacy.vocab import Vocab

from .exchange import count_bigrams, exchange, hierarchy
from .folding import fold
from .ngrams import by_frequency, count_ngrams
from .unknown_words import UnknownWordRule, frequent_names, universal_unknown_words

_looks = universal_unknown_words(suffix_length=3)
# The mark before the path in the name of a class of unknown words.
_CLASS = "@"


class WordClass(NamedTuple):
    """A line of a file: the path to the class, of "0" and "1", the word, and its count."""

    path: str
    word: str
    count: int


#: The table of `nlp.vocab.lookups` with the classes of a pipeline. It stores only the hashes of
#: keys, and the items of a saved table are lists.
TABLE = "word_classes"
#: Words with their classes, by word.
Classes = Mapping[str, WordClass]
# Steps of the path in names of an unknown word's class when the whole path is too rare.
_COARSER = (16, 12, 10, 8, 6, 4)
_LINE = re.compile(r"([01]*)\t([^\t]*)\t([0-9]+)")


def read_classes(path: Path) -> list[WordClass]:
    """Read a file of classes. RAISES (ValueError): If a line is malformed or repeats a word, with
    its number, or if there are no lines.
    """
    found: dict[str, WordClass] = {}
    lines = path.read_text("utf8").removesuffix("\n").split("\n")
    if lines == [""]:
        raise ValueError(f"There are no words in '{path}'.")
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None or match[2] in found:
            raise ValueError(
                f"Line {number} of '{path}' must be a path of 0 and 1, tab, new word, tab, count."
            )
        found[match[2]] = WordClass(match[1], match[2], int(match[3]))
    return list(found.values())


def class_lines(classes: Iterable[WordClass]) -> Iterator[str]:
    """Yield the lines of a file of classes, class by class, frequent words first."""
    for each in sorted(classes, key=lambda each: (each.path, -each.count, each.word)):
        yield f"{each.path}\t{each.word}\t{each.count}\n"


def _looks_of(word: str) -> list[str]:
    """Return the looks of a word that is too rare, the most telling first."""
    return [f"<{name}>" for name in _looks(word, "")]


@lru_cache(maxsize=1 << 18)
def without_digits(word: str) -> str:
    """Replace all digits of a word by 0."""
    return "".join("0" if character.isdigit() else character for character in word)


def path_of(classes: Classes, word: str) -> str:
    """Return the path to the class of a word: of itself; folded; with its digits as 0; in lower
    case; of words that look like it. "" if there is none.
    """
    plain = fold(word)
    digits = without_digits(plain)
    for form in (word, plain, digits, digits.lower()):
        if form in classes:
            return classes[form][0]
    return next((classes[form][0] for form in _looks_of(plain) if form in classes), "")


def uncased_classes(classes: Classes) -> dict[str, WordClass]:
    """Return the classes of words in lower case, which have that of the most frequent form."""
    found: dict[str, WordClass] = {}
    for path, word, count in classes.values():
        lower = word if _is_look(word) else word.lower()
        if lower not in found or count > found[lower].count:
            found[lower] = WordClass(path, lower, count)
    return found


def classes_in(vocab: Vocab) -> Classes | None:
    """Return the classes of words, if a vocabulary has them."""
    return vocab.lookups.get_table(TABLE) if vocab.lookups.has_table(TABLE) else None


def in_raw_text(classes: Classes, word: str) -> str:
    """Return the form of a word in raw text: itself, or in lower case if its first letter alone, or
    all of it, is in capitals; "" if raw text has neither, for digits (0 there), and for looks
    (`<LOW-ing>`).
    """
    if any(character.isdigit() for character in word) or _is_look(word):
        return ""
    lower = word.lower()
    forms = (word, lower) if word in (lower[:1].upper() + lower[1:], lower.upper()) else (word,)
    return next((form for form in forms if form in classes), "")


@dataclass(frozen=True)
class ClassedRule:
    """Rule for unknown words: their class in raw text (`classes`), coarser ones, then the names by
    another rule (`rule`). Words that are not in raw text have only the last.
    """

    rule: UnknownWordRule
    classes: Classes

    def __call__(self, form: str, lower_tag: str) -> list[str]:
        """See `UnknownWordRule`."""
        names, known = self.rule(form, lower_tag), in_raw_text(self.classes, form)
        if not known:
            return names
        path = self.classes[known][0]
        case = "" if known == form else "CAP" if form[1:] == known[1:] else "CAPS"
        steps = dict.fromkeys([len(path), *(steps for steps in _COARSER if steps < len(path))])
        return [*(f"{case}{_CLASS}{path[:n]}" for n in steps), *names]


def path_in(name: str) -> str:
    """Return the path in the name of a class by a `ClassedRule`, "" if it has none."""
    path = name.rpartition(_CLASS)[2]
    return path if _CLASS in name and not set(path) - {"0", "1"} else ""


def _is_look(word: str) -> bool:
    return len(word) > 2 and word[0] == "<" and word[-1] == ">"


def learn_classes(
    read: Callable[[], Iterable[Sequence[str]]],
    classes: int,
    *,
    min_count: int = 5,
    passes: Iterable[int] = range(20),
) -> list[WordClass]:
    """Learn classes from text. The first word of a sentence is counted in lower case where it is
    more frequent so elsewhere. Spelling variants are one word, see `folding`.

    read (Callable[[], Iterable[Sequence[str]]]): Yields the words of each sentence; called twice.
    classes (int): The number of classes.
    min_count (int): Words seen less often are known by their looks.
    passes (Iterable[int]): See `exchange`.
    RETURNS (list[WordClass]): The words with their classes.
    RAISES (ValueError): If there are fewer words and looks than classes.
    """
    first, inside = Counter[str](), Counter[str]()
    for sentence in read():
        first.update(map(fold, sentence[:1]))
        inside.update(map(fold, sentence[1:]))
    # The word that the first word of a sentence is.
    begun = {word: word.lower() if inside[word.lower()] > inside[word] else word for word in first}
    counts = inside.copy()
    for word, count in first.items():
        counts[begun[word]] += count
    rare = {word: count for word, count in counts.items() if count < min_count}
    names = {word: word for word in counts} | dict(frequent_names(_looks_of, rare, min_count))
    known: Counter[str] = Counter()
    for word, count in counts.items():
        known[names[word]] += count
    if len(known) < classes:
        raise ValueError(
            f"{classes} classes of {len(known)} words are too many: ask for fewer, or add text."
        )
    named = (
        [names[begun[word] if i == 0 else word] for i, word in enumerate(map(fold, sentence))]
        for sentence in read()
    )
    pairs = count_ngrams(named, 2)
    words = ["", *by_frequency(known)]
    number = {name: i for i, name in enumerate(words)}
    after, before = np.array([number[name] for name in pairs.words])[pairs.rows].T
    bigrams = count_bigrams(before, after, pairs.counts, len(words))
    of_word = exchange(bigrams, classes, passes)
    paths = hierarchy(bigrams, of_word)
    return [
        WordClass(paths[own], word, count)
        for own, word, count in zip(of_word[1:].tolist(), words[1:], bigrams.count[1:].tolist())
    ]
