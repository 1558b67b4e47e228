"""What a parser gets wrong in a treebank: tables of errors by label, tag, length and word, and the errors
themselves.

Lengths of arcs and of sentences are those of McDonald & Nivre (2007): by the right tree's arcs it is told how
many are found, by the predicted tree's arcs how many are right.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from spacy.training import Example

from .calibration import PUNCTUATION
from .documents import ROOT_LABEL

#: In place of a head: there is no gold one.
NO_HEAD = -1

# So many words show what a sentence is about, and can be read at a glance.
_READABLE = 10

#: Where the bins of the lengths of arcs and of sentences begin, in words. An arc of the length 0 is a root's.
ARC_LENGTHS = (0, 1, 2, 3, 6, 11)
SENTENCE_LENGTHS = (1, 11, 21, 31, 41)


class Rows(NamedTuple):
    """The tokens that have a gold tag or a gold head, one after the other.

    sentence (int64[tokens]), place (int64[tokens]): Which example, and which of its tokens.
    head, gold_head (int64[tokens]): Places of heads, a root's own; `NO_HEAD` where there is no gold head.
    label, gold_label, tag, gold_tag (str[tokens]): Empty where there is none.
    known (bool[tokens]): Whether the word is known; meaningless if nobody knows.
    """

    sentence: np.ndarray
    place: np.ndarray
    head: np.ndarray
    gold_head: np.ndarray
    label: np.ndarray
    gold_label: np.ndarray
    tag: np.ndarray
    gold_tag: np.ndarray
    known: np.ndarray

    @property
    def has_head(self) -> np.ndarray:
        """Which have their right head (bool[tokens])."""
        return self.head == self.gold_head

    @property
    def has_arc(self) -> np.ndarray:
        """Which have it with the right label."""
        return self.has_head & (self.label == self.gold_label)

    @property
    def has_tag(self) -> np.ndarray:
        """Which have their right tag."""
        return self.tag == self.gold_tag

    def of(self, chosen: np.ndarray) -> "Rows":
        """Those of them that are chosen."""
        return Rows(*(column[chosen] for column in self))


_NAMES = ("gold_label", "label", "gold_tag", "tag")


@dataclass(frozen=True)
class Found:
    """An error in its sentence.

    word (int): Its place in the words.
    gold_head, predicted_head (int | None): Places in them; None for a root, and if there is no gold head.
    """

    words: tuple[str, ...]
    word: int
    gold_head: int | None
    predicted_head: int | None
    gold_label: str
    predicted_label: str
    gold_tag: str
    predicted_tag: str


@dataclass(frozen=True)
class Confusion:
    """Tokens that have one label or tag and were given another one.

    right_heads (int): How many of them have their right head; tokens without a gold head have none.
    examples (list[Found]): Some of them, those in sentences of about ten words first.
    """

    gold: str
    predicted: str
    count: int
    right_heads: int
    examples: list[Found]


@dataclass(frozen=True)
class Errors:
    """The errors of a parser in a treebank; proportions are from 0 to 1, and None where there is nothing to
    count.

    labels, tags (list[dict]): Of each label and each tag, the most frequent first: "name", "gold" and
        "predicted" (how many tokens have it), "precision", "recall" and "f"; for labels, of arcs with the
        right head and label, and "uas", how many that have it have their right head.
    arc_lengths (list[dict]): Of the arcs that are so long, "gold" and "predicted" ones: "precision" and
        "recall" of arcs without their labels, "las" of the gold ones. "root" is the length of a root's.
    sentence_lengths (list[dict]): Of the sentences with so many words: "sentences", "tokens", "uas", "las",
        "tag_acc", and "complete_match", how many have no wrong head.
    words (list[dict]): Of known and of unknown words: "tokens", "uas", "las" and "tag_acc". Empty if nobody
        knows.
    label_confusions, tag_confusions (list[Confusion]): The most frequent first.
    wrong_heads (list[Confusion]): Tokens with the right label and a wrong head, by label.
    """

    labels: list[dict[str, Any]]
    tags: list[dict[str, Any]]
    arc_lengths: list[dict[str, Any]]
    sentence_lengths: list[dict[str, Any]]
    words: list[dict[str, Any]]
    label_confusions: list[Confusion] = field(default_factory=list)
    tag_confusions: list[Confusion] = field(default_factory=list)
    wrong_heads: list[Confusion] = field(default_factory=list)


def find_errors(
    examples: Sequence[Example],
    *,
    known: Callable[[str], bool] | None = None,
    punctuation: bool = False,
    show: int = 3,
) -> Errors:
    """Find the errors in parsed sentences.

    examples (Sequence[Example]): Parsed documents, each of them one sentence, and their references with the
        same tokens.
    known (Callable[[str], bool] | None): Whether training knew a word; without it no table tells known from
        unknown words.
    punctuation (bool): Whether the arcs of punctuation, by its gold label, count.
    show (int): How many examples of each confusion are kept.
    """
    rows = _rows(examples, known)
    words = [tuple(token.text for token in example.predicted) for example in examples]
    counted, with_head = [], rows.gold_head != NO_HEAD
    for labels in (rows.gold_label, rows.label):
        is_punctuation = np.array([label.lower() in PUNCTUATION for label in labels], dtype=bool)
        counted.append(rows.of(with_head & (punctuation | ~is_punctuation)))
    arcs, predicted = counted
    tagged = rows.of(rows.gold_tag != "")
    label_scores = _scores(arcs.gold_label, arcs.has_arc, predicted.label, predicted.has_arc)
    right_label = arcs.label == arcs.gold_label
    return Errors(
        labels=[{**row, "uas": _part(arcs.has_head[arcs.gold_label == row["name"]])} for row in label_scores],
        tags=_scores(tagged.gold_tag, tagged.has_tag, tagged.tag, tagged.has_tag),
        arc_lengths=_arc_lengths(arcs, predicted),
        sentence_lengths=_sentence_lengths(arcs, tagged, words),
        words=[
            {"words": name, **_attachment(arcs, tagged, arcs.known == is_known, tagged.known == is_known)}
            for name, is_known in (("known", True), ("unknown", False))
            if known is not None
        ],
        label_confusions=_confusions(arcs.of(~right_label), "label", words, show),
        tag_confusions=_confusions(tagged.of(~tagged.has_tag), "tag", words, show),
        wrong_heads=_confusions(arcs.of(right_label & ~arcs.has_head), "label", words, show),
    )


def _rows(examples: Iterable[Example], known: Callable[[str], bool] | None) -> Rows:
    found: list[tuple[Any, ...]] = []
    for number, example in enumerate(examples):
        for token, gold in zip(example.predicted, example.reference):
            if token.is_space or not (gold.tag_ or gold.has_dep()):
                continue
            heads = token.head.i, gold.head.i if gold.has_dep() else NO_HEAD
            is_known = known is None or known(token.text)
            labels = _label(token.dep_, heads[0] == token.i), _label(gold.dep_, heads[1] == token.i)
            found.append((number, token.i, *heads, *labels, token.tag_, gold.tag_, is_known))
    kinds = [np.int64] * 4 + [object] * 4 + [bool]
    columns = list(zip(*found)) or [()] * len(kinds)
    return Rows(*(np.array(column, dtype=kind) for column, kind in zip(columns, kinds)))


def _label(label: str, is_root: bool) -> str:
    # UD has "root" where spaCy has "ROOT".
    return ROOT_LABEL if is_root and label.lower() == ROOT_LABEL.lower() else label


def _part(right: np.ndarray) -> float | None:
    return float(right.mean()) if len(right) else None


def _scores(
    gold: np.ndarray, found: np.ndarray, predicted: np.ndarray, right: np.ndarray
) -> list[dict[str, Any]]:
    """A row for each name, those of the most gold tokens first: of gold ones whether they have been found, of
    predicted ones whether they are right.
    """
    names, counts = np.unique(gold.astype(str), return_counts=True)
    only = sorted(set(predicted) - set(names.tolist()) - {""})
    table = []
    for name in [*names[np.lexsort((names, -counts))].tolist(), *only]:
        own, others = gold == name, predicted == name
        precision, recall, f = _part(right[others]), _part(found[own]), None
        if precision is not None and recall is not None:
            f = 2.0 * precision * recall / ((precision + recall) or 1.0)
        counts = {"gold": int(own.sum()), "predicted": int(others.sum())}
        table.append({"name": name, **counts, "precision": precision, "recall": recall, "f": f})
    return table


def _bins(values: np.ndarray, starts: Sequence[int]) -> list[tuple[str, np.ndarray]]:
    ends = [*(start - 1 for start in starts[1:]), None]
    names = [f"{a}+" if b is None else str(a) if a == b else f"{a}-{b}" for a, b in zip(starts, ends)]
    place = np.searchsorted(starts, values, side="right") - 1
    return [(name, place == number) for number, name in enumerate(names)]


def _arc_lengths(arcs: Rows, predicted: Rows) -> list[dict[str, Any]]:
    by_gold = _bins(np.abs(arcs.gold_head - arcs.place), ARC_LENGTHS)
    by_predicted = _bins(np.abs(predicted.head - predicted.place), ARC_LENGTHS)
    return [
        {
            "length": "root" if name == "0" else name,
            "gold": int(own.sum()),
            "predicted": int(others.sum()),
            "precision": _part(predicted.has_head[others]),
            "recall": _part(arcs.has_head[own]),
            "las": _part(arcs.has_arc[own]),
        }
        for (name, own), (_, others) in zip(by_gold, by_predicted)
    ]


def _sentence_lengths(arcs: Rows, tagged: Rows, words: Sequence[tuple[str, ...]]) -> list[dict[str, Any]]:
    lengths = np.array([len(sentence) for sentence in words], dtype=np.int64)
    wrong = np.bincount(arcs.sentence[~arcs.has_head], minlength=len(words))
    has_tree = np.bincount(arcs.sentence, minlength=len(words)) > 0
    table = []
    for name, own in _bins(lengths, SENTENCE_LENGTHS):
        counts = _attachment(arcs, tagged, own[arcs.sentence], own[tagged.sentence])
        complete = _part(wrong[own & has_tree] == 0)
        table.append({"length": name, "sentences": int(own.sum()), **counts, "complete_match": complete})
    return table


def _attachment(arcs: Rows, tagged: Rows, of_arcs: np.ndarray, of_tagged: np.ndarray) -> dict[str, Any]:
    return {
        "tokens": int(of_arcs.sum()),
        "uas": _part(arcs.has_head[of_arcs]),
        "las": _part(arcs.has_arc[of_arcs]),
        "tag_acc": _part(tagged.has_tag[of_tagged]),
    }


def _confusions(wrong: Rows, name: str, words: Sequence[tuple[str, ...]], show: int) -> list[Confusion]:
    """The errors by what is gold and what is predicted of a label or a tag."""

    def find(i: int) -> Found:
        sentence, place, *heads = (int(column[i]) for column in wrong[:4])
        head, gold_head = (None if each in (NO_HEAD, place) else each for each in heads)
        return Found(words[sentence], place, gold_head, head, *(getattr(wrong, name)[i] for name in _NAMES))

    groups: dict[tuple[str, str], list[int]] = {}
    for i, pair in enumerate(zip(getattr(wrong, f"gold_{name}"), getattr(wrong, name))):
        groups.setdefault(pair, []).append(i)
    found = []
    for (gold, predicted), places in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        readable = sorted(places, key=lambda i: abs(len(words[wrong.sentence[i]]) - _READABLE))[:show]
        right = int(np.sum(wrong.has_head[places]))
        found.append(Confusion(gold, predicted, len(places), right, [find(i) for i in readable]))
    return found
