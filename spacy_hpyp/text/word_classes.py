"""Classes of words, learned from raw text: how they are learned, looked up, and written to a file that a person can read and edit.

A class is known by its path from the root of a binary tree, as "0110": words whose paths begin alike stand in like places, and the first
steps of a path are a coarser class. In a file each line has a path, a word and its count, with tabs between (the format of P. Liang's
`wcluster`). Words that are too rare for a class of their own are there by what they look like, as `<LOW-ing>`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from spacy.vocab import Vocab

from .exchange import BORDER, Bigrams, count_bigrams, exchange, hierarchy
from .spool import Spool
from .unknown_words import universal_unknown_words
from .vocabulary import by_frequency

#: What features may read of a class: all of its path, or as many steps of it.
CLASS_ATTRIBUTES = {"class": 1_000, **{f"class:{steps}": steps for steps in (2, 4, 6, 8, 10, 12, 16)}}

_looks = universal_unknown_words(suffix_length=3)
# How many different bigrams are waited for before they are added up, so that memory grows with these and not with the text.
_WAITING = 1 << 24


#: The table of `nlp.vocab.lookups` that has the classes of a pipeline: paths by word.
TABLE = "word_classes"


class WordClass(NamedTuple):
    """A line of a file.

    path (str): The path to the class, of "0" and "1".
    word (str): The word.
    count (int): How often it was seen.
    """

    path: str
    word: str
    count: int


def read_classes(path: Path) -> list[WordClass]:
    """Read a file of classes.

    RAISES (ValueError): If a line is none, with its number; a word is there twice; or there are none.
    """
    found: dict[str, WordClass] = {}
    with path.open(encoding="utf8") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.rstrip("\n").split("\t")
            if len(parts) != 3 or set(parts[0]) - {"0", "1"} or not parts[1] or not parts[2].isdecimal():
                raise ValueError(
                    f"Line {number} of '{path}' is no word with its class: a path of 0 and 1, a word and a count are needed, with tabs between."
                )
            if parts[1] in found:
                raise ValueError(f"Line {number} of '{path}' has the word {parts[1]!r}, which was there before.")
            found[parts[1]] = WordClass(parts[0], parts[1], int(parts[2]))
    if not found:
        raise ValueError(f"There are no words in '{path}'.")
    return list(found.values())


def class_lines(classes: Iterable[WordClass]) -> Iterator[str]:
    """The lines of a file of classes, class by class, frequent words first."""
    for each in sorted(classes, key=lambda each: (each.path, -each.count, each.word)):
        yield f"{each.path}\t{each.word}\t{each.count}\n"


def looks_of(word: str) -> list[str]:
    """What a word is called that is too rare, by what it looks like; the most telling first."""
    return [f"<{name}>" for name in _looks(word, "")]


def without_digits(word: str) -> str:
    """A word with all digits made one."""
    return "".join("0" if character.isdigit() else character for character in word)


def path_of(paths: Mapping[str, str], word: str) -> str:
    """The path to the class of a word: of itself; with other digits; in lower case; of words that look like it. "" if there is none.

    paths (Mapping[str, str]): Paths by word.
    """
    digits = without_digits(word)
    for form in (word, digits, digits.lower(), *looks_of(word)):
        found = paths.get(form)
        if found is not None:
            return found
    return ""


def classes_in(vocab: Vocab) -> Mapping[str, str] | None:
    """Paths to the classes of words, by word, if a vocabulary has them."""
    return vocab.lookups.get_table(TABLE) if vocab.lookups.has_table(TABLE) else None


def class_symbols(path: str) -> list[int]:
    """What is read of a class, in the order of `CLASS_ATTRIBUTES`: numbers that are the same in every process, 0 where there is no class."""
    return [crc32(path[:steps].encode()) >> 1 if path else 0 for steps in CLASS_ATTRIBUTES.values()]


def reads_classes(names: Iterable[str]) -> bool:
    """Whether one of some elements of features reads classes."""
    return any(name.rsplit(".", 1)[-1] in CLASS_ATTRIBUTES for name in names)


def without_classes(templates: Iterable[Sequence[str]]) -> list[Sequence[str]]:
    """The templates that read no classes, for a pipeline that has none."""
    return [template for template in templates if not reads_classes(template)]


def learn_classes(
    sentences: Iterable[Sequence[str]],
    classes: int,
    *,
    min_count: int = 5,
    fold: bool = True,
    digits: bool = True,
    iterations: int = 20,
    threads: int = 1,
    seed: int | None = None,
    progress: Callable[[int, int, float], None] | None = None,
) -> list[WordClass]:
    """Learn classes from text.

    sentences (Iterable[Sequence[str]]): Its words, read once; they are kept in a temporary file.
    classes (int): How many there are to be.
    min_count (int): Words seen less often are known by what they look like.
    fold (bool): Whether the first word of a sentence is counted in lower case where it is more frequent so elsewhere.
    digits (bool): Whether all digits are one.
    iterations, threads, seed, progress: As for `exchange`. An interrupt (Ctrl-C) after the first iteration ends learning with what there is.
    RETURNS (list[WordClass]): The words with their classes.
    RAISES (ValueError): If there is no text, or there are fewer words than classes.
    """
    with Spool([*map(without_digits, words)] if digits else words for words in sentences) as spool:
        if not spool.words:
            raise ValueError("There are no words to learn classes from.")
        inside: Counter[str] = Counter()
        first: Counter[str] = Counter()
        for words in spool.texts():
            first[words[0]] += 1
            inside.update(words[1:])
        folded = {word: word.lower() for word in first if fold and inside[word.lower()] > inside[word]}
        counts = inside.copy()
        for word, count in first.items():
            counts[folded.get(word, word)] += count
        names = _names(counts, min_count)
        if len(set(names.values())) < classes:
            raise ValueError(
                f"There cannot be {classes} classes of {len(set(names.values()))} words: ask for fewer classes, or give more text."
            )
        known: Counter[str] = Counter()
        for word, count in counts.items():
            known[names[word]] += count
        words = ["", *by_frequency(known)]
        bigrams = _bigrams(spool, folded, names, words)
    found = np.zeros(len(words), dtype=np.int32)
    try:
        of_word = exchange(
            bigrams, classes, iterations=iterations, threads=threads, seed=seed, progress=progress, found=found
        )
    except KeyboardInterrupt:
        if not found.any():
            raise
        of_word = found
    paths = hierarchy(bigrams, of_word)
    return [
        WordClass(paths[own], word, count)
        for own, word, count in zip(of_word[1:].tolist(), words[1:], bigrams.count[1:].tolist())
    ]


def _names(counts: Counter[str], min_count: int) -> dict[str, str]:
    """What each word is known by: itself, or what it looks like, if enough words do."""
    rare = [word for word, count in counts.items() if count < min_count]
    sizes: Counter[str] = Counter()
    for word in rare:
        sizes.update({name: counts[word] for name in looks_of(word)})
    names = {word: word for word, count in counts.items() if count >= min_count}
    for word in rare:
        own = looks_of(word)
        names[word] = next((name for name in own if sizes[name] >= min_count), own[-1])
    return names


def _bigrams(spool: Spool, folded: Mapping[str, str], names: Mapping[str, str], ordered: Sequence[str]) -> Bigrams:
    """How often what words are known by stands side by side.

    ordered (Sequence[str]): What that is: the border of sentences, and the most frequent first.
    """
    number = {name: i for i, name in enumerate(ordered)}
    own = {word: number[name] for word, name in names.items()}
    pairs, sizes, waiting, several = np.empty(0, np.int64), np.empty(0, np.int64), [], 0

    def add_up() -> tuple[np.ndarray, np.ndarray]:
        together = np.concatenate([pairs, *waiting])
        weights = np.concatenate([sizes, *(np.ones(len(each), np.int64) for each in waiting)])
        different, place = np.unique(together, return_inverse=True)
        return different, np.bincount(place, weights=weights, minlength=len(different)).astype(np.int64)

    for words in spool.texts():
        found = [BORDER, own[folded.get(words[0], words[0])], *(own[word] for word in words[1:]), BORDER]
        row = np.array(found, dtype=np.int64)
        waiting.append(row[:-1] * len(ordered) + row[1:])
        several += len(row)
        if several > _WAITING:
            pairs, sizes = add_up()
            waiting, several = [], 0
    return count_bigrams(*add_up(), len(ordered))
