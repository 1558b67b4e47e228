"""Errors of a parser in a treebank, by label, tag, length and word (McDonald & Nivre 2007)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from spacy.training import Example

from .calibration import PUNCTUATION
from .documents import ROOT_LABEL

#: Bins of lengths in words, by where they begin. A root's arc has the length 0.
ARC_LENGTHS = {0: "root", 1: "1", 2: "2", 3: "3-5", 6: "6-10", 11: "11+"}
SENTENCE_LENGTHS = {1: "1-10", 11: "11-20", 21: "21-30", 31: "31-40", 41: "41+"}
#: The titles of tables and of lists of confusions.
TITLES = {
    "arc_lengths": "By length of the arc",
    "sentence_lengths": "By length of the sentence",
    "known": "By whether the word is known",
    "labels": "By label",
    "tags": "By tag",
    "label_confusions": "Confusions of labels",
    "wrong_heads": "Wrong heads of right labels",
    "tag_confusions": "Confusions of tags",
}
# Examples are sentences of about so many words, of which so many are shown on each side.
_READABLE, _WINDOW = 10, 6


class Word(NamedTuple):
    """A token of a parsed sentence beside the gold one. Heads are places; a root is its own head."""

    sentence: tuple[str, ...]
    place: int
    head: int
    gold_head: int | None
    label: str
    gold_label: str
    tag: str
    gold_tag: str
    known: bool

    @property
    def has_head(self) -> bool:
        """Whether the head is right."""
        return self.head == self.gold_head

    @property
    def has_arc(self) -> bool:
        """Whether the head and its label are right."""
        return self.has_head and self.label == self.gold_label

    @property
    def has_tag(self) -> bool:
        """Whether the tag is right."""
        return self.tag == self.gold_tag

    def __str__(self) -> str:
        """The word in its sentence, with its heads."""
        start, end = max(0, self.place - _WINDOW), self.place + _WINDOW + 1
        words = [f"[{word}]" if i == self.place else word for i, word in enumerate(self.sentence)]
        text = " ".join(["…"] * (start > 0) + words[start:end] + ["…"] * (end < len(words)))
        if self.gold_head is None:
            return text
        heads = self._name(self.gold_head) + f", not {self._name(self.head)}" * (not self.has_head)
        return f"{text} (head: {heads})"

    def _name(self, place: int) -> str:
        return "ROOT" if place == self.place else f"{self.sentence[place]} {place + 1}"


class Confusion(NamedTuple):
    """Words with one gold label or tag that got another one, with some of them in their sentences."""

    gold: str
    predicted: str
    count: int
    examples: list[str]


class Errors(NamedTuple):
    """The errors of a parser in a treebank.

    tables (dict[str, list[dict]]): "labels" and "tags", the most frequent first, and "arc_lengths" have
        "name", "gold" and "predicted" counts, "precision", "recall" and "f"; arcs of a label count with it,
        those of a length without it. "sentence_lengths" and "known" have "name", "tokens", "uas", "las" and
        "tag_acc". Proportions are from 0 to 1, or None if there is nothing to count.
    confusions (dict[str, list[Confusion]]): "label_confusions", "wrong_heads" of right labels, and
        "tag_confusions", the most frequent first.
    """

    tables: dict[str, list[dict[str, Any]]]
    confusions: dict[str, list[Confusion]]


def find_errors(
    examples: Iterable[Example],
    *,
    known: Callable[[str], bool] | None = None,
    punctuation: bool = False,
    show: int = 3,
) -> Errors:
    """Find the errors in parsed sentences.

    examples (Iterable[Example]): Parsed sentences, and their references with the same tokens.
    known (Callable[[str], bool] | None): Whether training knew a word.
    punctuation (bool): Whether the arcs of punctuation count.
    show (int): The examples of each confusion.
    """
    words = [word for example in examples for word in _words(example, known)]
    arcs = [word for word in words if word.gold_head is not None]
    gold = [word for word in arcs if punctuation or word.gold_label.lower() not in PUNCTUATION]
    found = [word for word in arcs if punctuation or word.label.lower() not in PUNCTUATION]
    tagged = [word for word in words if word.gold_tag]
    tables = {
        "arc_lengths": _scores(
            [(_bin(abs((word.gold_head or 0) - word.place), ARC_LENGTHS), word.has_head) for word in gold],
            [(_bin(abs(word.head - word.place), ARC_LENGTHS), word.has_head) for word in found],
            list(ARC_LENGTHS.values()),
        ),
        "sentence_lengths": _accuracies(
            gold, tagged, lambda word: _bin(len(word.sentence), SENTENCE_LENGTHS), SENTENCE_LENGTHS.values()
        ),
        "labels": _scores(
            [(word.gold_label, word.has_arc) for word in gold], [(word.label, word.has_arc) for word in found]
        ),
        "tags": _scores(
            [(word.gold_tag, word.has_tag) for word in tagged], [(word.tag, word.has_tag) for word in tagged]
        ),
    }
    if known is not None:
        tables["known"] = _accuracies(
            gold, tagged, lambda word: "known" if word.known else "unknown", ("known", "unknown")
        )
    labelled = [word for word in gold if word.label == word.gold_label]
    mislabelled = [word for word in gold if word.label != word.gold_label]
    pairs = {
        "label_confusions": [((word.gold_label, word.label), word) for word in mislabelled],
        "wrong_heads": [((word.label, word.label), word) for word in labelled if not word.has_head],
        "tag_confusions": [((word.gold_tag, word.tag), word) for word in tagged if not word.has_tag],
    }
    return Errors(tables, {name: _confusions(own, show) for name, own in pairs.items()})


def _words(example: Example, known: Callable[[str], bool] | None) -> Iterator[Word]:
    sentence = tuple(token.text for token in example.predicted)
    for token, gold in zip(example.predicted, example.reference):
        if token.is_space or not (gold.tag_ or gold.has_dep()):
            continue
        gold_head = gold.head.i if gold.has_dep() else None
        # UD has "root" where spaCy has "ROOT".
        labels = (
            ROOT_LABEL if head == token.i and label.lower() == ROOT_LABEL.lower() else label
            for head, label in ((token.head.i, token.dep_), (gold_head, gold.dep_))
        )
        is_known = known is None or known(token.text)
        yield Word(sentence, token.i, token.head.i, gold_head, *labels, token.tag_, gold.tag_, is_known)


def _bin(length: int, bins: dict[int, str]) -> str:
    return bins[max(start for start in bins if start <= length)]


def _group(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    groups = defaultdict(list)
    for name, value in pairs:
        groups[name].append(value)
    return groups


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _scores(
    gold: Iterable[tuple[str, bool]], predicted: Iterable[tuple[str, bool]], order: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Rows of precision and recall by name, in an order or the most frequent first."""
    found, right = _group(gold), _group(predicted)
    names = [name for name in {**found, **right} if name]
    names.sort(key=lambda name: order.index(name) if order else (-len(found.get(name, ())), name))
    rows = []
    for name in names:
        recall, precision = _mean(found.get(name, [])), _mean(right.get(name, []))
        f = None
        if recall is not None and precision is not None:
            f = 2.0 * precision * recall / ((precision + recall) or 1.0)
        counts = {"gold": len(found.get(name, ())), "predicted": len(right.get(name, ()))}
        rows.append({"name": name, **counts, "precision": precision, "recall": recall, "f": f})
    return rows


def _accuracies(
    arcs: Sequence[Word], tagged: Sequence[Word], key: Callable[[Word], str], names: Iterable[str]
) -> list[dict[str, Any]]:
    by_arcs, by_tags = (_group((key(word), word) for word in words) for words in (arcs, tagged))
    return [
        {
            "name": name,
            "tokens": len(by_arcs[name]),
            "uas": _mean([word.has_head for word in by_arcs[name]]),
            "las": _mean([word.has_arc for word in by_arcs[name]]),
            "tag_acc": _mean([word.has_tag for word in by_tags[name]]),
        }
        for name in names
    ]


def _confusions(pairs: Iterable[tuple[tuple[str, str], Word]], show: int) -> list[Confusion]:
    groups = sorted(_group(pairs).items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        Confusion(gold, predicted, len(words), [str(word) for word in sorted(words, key=_length)[:show]])
        for (gold, predicted), words in groups
    ]


def _length(word: Word) -> int:
    return abs(len(word.sentence) - _READABLE)
