"""Trees as a browser lays them out: displaCy gives each word the same width, which long words do not keep to."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from ..annotation.calibration import PUNCTUATION


class DrawnArc(NamedTuple):
    """An arc of a tree.

    start, end (int): The places of the first and the last word that it joins.
    level (int): How high it is, from 1: above all others in between.
    is_first (bool): Whether the first word is the dependent, and not the head.
    wrong (bool): Whether the other tree does not have it.
    sure (float | None): How probable it is that it is right, if that is known.
    """

    start: int
    end: int
    level: int
    label: str
    is_first: bool
    wrong: bool
    sure: float | None = None


class DrawnTree(NamedTuple):
    """A tree: the tags of its words; all arcs but those of roots; the label and the head of each word, as a
    reader finds them in a table; and how high the highest arc is, at least 1.
    """

    tags: list[str]
    arcs: list[DrawnArc]
    heads: list[str]
    levels: int


class _Arc(NamedTuple):
    """The arc of a word; a root's head is itself. Places are those in its sentence."""

    word: int
    head: int
    label: str


def worst_trees(examples: Sequence[Example], count: int) -> list[dict[str, Any]]:
    """The sentences with the most wrong arcs, the first ones of equally bad ones.

    examples (Sequence[Example]): Parsed documents, each of them one sentence, and their references with the
        same tokens.
    count (int): How many there are to be at most. None is without a wrong arc.
    RETURNS (list[dict]): "number", which sentence of the data it is, from 1; "doc"; "direction", "ltr" or
        "rtl", as it is written; how many of its "arcs" have a "wrong" head or label, punctuation left out;
        the "gold" and the "predicted" `DrawnTree`.
    """
    rated = []
    for number, example in enumerate(examples):
        counted = [gold for gold in example.reference if gold.dep and gold.dep_.lower() not in PUNCTUATION]
        wrong = sum(_arc(gold) != _arc(example.predicted[gold.i]) for gold in counted)
        if wrong:
            rated.append((-wrong, number, len(counted)))
    found = []
    for wrong, number, arcs in sorted(rated)[:count]:
        gold, predicted = examples[number].reference, examples[number].predicted
        place = {"number": number + 1, "doc": predicted, "direction": direction_of(predicted)}
        trees = {"gold": draw_tree(gold[:], predicted[:]), "predicted": draw_tree(predicted[:], gold[:])}
        found.append({**place, "wrong": -wrong, "arcs": arcs, **trees})
    return found


def _arc(token: Token, start: int = 0) -> _Arc:
    # UD has "root" where spaCy has "ROOT".
    label = token.dep_.upper() if token.head.i == token.i else token.dep_
    return _Arc(token.i - start, token.head.i - start, label)


def direction_of(doc: Doc) -> str:
    """How the language of a document is written: "ltr" or "rtl"."""
    return doc.vocab.writing_system.get("direction", "ltr")


def draw_tree(sentence: Span, other: Span | None = None, sure: Sequence[float | None] = ()) -> DrawnTree:
    """A tree as it is drawn.

    other (Span | None): The same sentence with another tree, to be compared.
    sure (Sequence[float | None]): How probable it is that the arc of each word is right, if that is to be
        shown.
    """
    drawn: list[DrawnArc] = []
    heads = [""] * len(sentence)
    arcs, others = _arcs(sentence), None if other is None else {*_arcs(other)}
    # Short ones first: what is between the ends of an arc is there when its level is looked for.
    for arc in sorted(arcs, key=lambda arc: abs(arc.word - arc.head)):
        head = sentence[arc.head]
        heads[arc.word] = arc.label if arc.word == arc.head else f"{arc.label}: {head.text} ({arc.head + 1})"
        if arc.word != arc.head:
            start, end = sorted((arc.word, arc.head))
            level = 1 + max(
                (each.level for each in drawn if each.start < end and start < each.end), default=0
            )
            wrong = others is not None and arc not in others
            probability = sure[arc.word] if sure else None
            drawn.append(DrawnArc(start, end, level, arc.label, arc.word < arc.head, wrong, probability))
    return DrawnTree([t.tag_ for t in sentence], drawn, heads, max((each.level for each in drawn), default=1))


def _arcs(sentence: Span) -> list[_Arc]:
    return [_arc(token, sentence.start) for token in sentence if token.dep]
