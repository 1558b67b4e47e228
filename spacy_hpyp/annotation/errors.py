"""Errors of a parser in a treebank, by label, tag, length and word."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from spacy.training import Example

from .calibration import PUNCTUATION
from .documents import ROOT_LABEL

# Bins of lengths of arcs in words, by where they begin. A root's arc has the length 0.
_LENGTHS = {0: "root", 1: "1", 2: "2", 3: "3-5", 6: "6-10", 11: "11+"}
# Examples are sentences of about so many words.
_READABLE = 10


class Word(NamedTuple):
    """A token of a parsed sentence beside the gold one. Heads are places; a root is its own head."""

    sentence: tuple[str, ...]
    place: int
    head: int
    gold_head: int
    label: str
    gold_label: str
    tag: str
    gold_tag: str

    @property
    def has_head(self) -> bool:
        """Whether the head is right."""
        return self.head == self.gold_head

    def __str__(self) -> str:
        words = [f"[{word}]" if i == self.place else word for i, word in enumerate(self.sentence)]
        heads = [f"{self.sentence[i]} {i + 1}" for i in dict.fromkeys((self.gold_head, self.head))]
        return f"{' '.join(words)} (head: {', not '.join(heads)})"


class Confusion(NamedTuple):
    """Words with one gold label or tag that got another one, with one of them in its sentence."""

    gold: str
    predicted: str
    count: int
    example: str


class Errors(NamedTuple):
    """The errors of a parser in a treebank, by the titles of tables.

    tables (dict[str, list[dict]]): Rows with "name", a property of gold words, "tokens", and the proportions
        of right heads, "uas", arcs with labels, "las", and tags, "tag_acc"; the most frequent first.
    confusions (dict[str, list[Confusion]]): The most frequent first.
    """

    tables: dict[str, list[dict[str, Any]]]
    confusions: dict[str, list[Confusion]]


def find_errors(examples: Iterable[Example], *, known: Callable[[str], bool] | None = None) -> Errors:
    """Find the errors in parsed sentences. Punctuation, by its gold label, is left out.

    examples (Iterable[Example]): Parsed sentences, and their references with the same tokens.
    known (Callable[[str], bool] | None): Whether training knew a word.
    """
    words = [word for example in examples for word in _words(example)]
    words = [word for word in words if word.gold_label.lower() not in PUNCTUATION]
    keys: dict[str, Callable[[Word], str]] = {
        "By length of the arc": lambda word: _length(abs(word.gold_head - word.place)),
        "By label": lambda word: word.gold_label,
    }
    if known is not None:
        keys["By whether the word is known"] = lambda word: (
            "known" if known(word.sentence[word.place]) else "unknown"
        )
    tables = {title: [_row(name, own) for name, own in _group(words, key)] for title, key in keys.items()}
    labels = [word for word in words if word.label != word.gold_label]
    tags = [word for word in words if word.gold_tag and word.tag != word.gold_tag]
    confusions = {
        "Confusions of labels": _group(labels, lambda word: (word.gold_label, word.label)),
        "Confusions of tags": _group(tags, lambda word: (word.gold_tag, word.tag)),
    }
    return Errors(tables, {title: [_confusion(*own) for own in each] for title, each in confusions.items()})


def _words(example: Example) -> Iterator[Word]:
    sentence = tuple(token.text for token in example.predicted)
    for token, gold in zip(example.predicted, example.reference):
        if gold.has_dep() and not token.is_space:
            # UD has "root" where spaCy has "ROOT".
            labels = (ROOT_LABEL if t.head.i == t.i and t.dep_ == "root" else t.dep_ for t in (token, gold))
            yield Word(sentence, token.i, token.head.i, gold.head.i, *labels, token.tag_, gold.tag_)


def _length(words: int) -> str:
    return _LENGTHS[max(start for start in _LENGTHS if start <= words)]


def _group(words: Iterable[Word], key: Callable[[Word], Any]) -> list[tuple[Any, list[Word]]]:
    groups = defaultdict(list)
    for word in words:
        groups[key(word)].append(word)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _row(name: str, words: list[Word]) -> dict[str, Any]:
    right = {
        "uas": [word.has_head for word in words],
        "las": [word.has_head and word.label == word.gold_label for word in words],
        "tag_acc": [word.tag == word.gold_tag for word in words if word.gold_tag],
    }
    means = {key: sum(each) / len(each) if each else None for key, each in right.items()}
    return {"name": name, "tokens": len(words), **means}


def _confusion(pair: tuple[str, str], words: list[Word]) -> Confusion:
    readable = min(words, key=lambda word: abs(len(word.sentence) - _READABLE))
    return Confusion(*pair, len(words), str(readable))
