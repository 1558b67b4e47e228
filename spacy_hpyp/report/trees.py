"""Trees as displaCy draws them, as parts of a page."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup, escape
from spacy.displacy import DependencyRenderer
from spacy.tokens import Token
from spacy.training import Example
from spacy.vocab import Vocab

from ..annotation.calibration import PUNCTUATION

_ARROW = '<g class="displacy-arrow">'
_WRONG = '<g class="displacy-arrow wrong">'
_OPTIONS = {
    "color": "currentColor",
    "bg": "none",
    "font": "inherit",
    "distance": 110,
    "offset_x": 45,
    "word_spacing": 32,
    "arrow_spacing": 10,
}


class WrongTree(NamedTuple):
    """A sentence whose tree is not the gold one.

    number (int): Which sentence of the data it is, from 1.
    text (str): The sentence.
    wrong (int): How many of its arcs have a wrong head or label, punctuation left out.
    arcs (int): How many it has.
    gold, predicted (Markup): The trees as SVG; arcs that the other one does not have are of the class "wrong".
    """

    number: int
    text: str
    wrong: int
    arcs: int
    gold: Markup
    predicted: Markup


class _Arc(NamedTuple):
    """The arc of a word; a root's head is itself."""

    word: int
    head: int
    label: str


def worst_trees(examples: Sequence[Example], count: int) -> list[WrongTree]:
    """The sentences with the most wrong arcs, the first ones of equally bad ones.

    examples (Sequence[Example]): Parsed documents, each of them one sentence, and their references with the same tokens.
    count (int): How many there are to be at most. None is without a wrong arc.
    """
    rated = []
    for number, example in enumerate(examples):
        counted = [gold for gold in example.reference if gold.dep and gold.dep_.lower() not in PUNCTUATION]
        wrong = sum(_arc(gold) != _arc(example.predicted[gold.i]) for gold in counted)
        if wrong:
            rated.append((-wrong, number, len(counted)))
    return [_tree(examples[number], number, -wrong, arcs) for wrong, number, arcs in sorted(rated)[:count]]


def _arc(token: Token) -> _Arc:
    # UD has "root" where spaCy has "ROOT".
    label = token.dep_.upper() if token.head.i == token.i else token.dep_
    return _Arc(token.i, token.head.i, label)


def _tree(example: Example, number: int, wrong: int, arcs: int) -> WrongTree:
    gold_arcs, found_arcs = ([_arc(t) for t in doc if t.dep] for doc in (example.reference, example.predicted))
    drawn = [
        _draw(
            [t.text for t in example.predicted],
            [t.tag_ for t in doc],
            own,
            {arc for arc in own if arc not in others},
            name=f"tree-{number + 1}-{kind}",
            vocab=doc.vocab,
        )
        for kind, doc, own, others in (
            ("gold", example.reference, gold_arcs, set(found_arcs)),
            ("predicted", example.predicted, found_arcs, set(gold_arcs)),
        )
    ]
    return WrongTree(number + 1, example.predicted.text, wrong, arcs, *drawn)


def _draw(
    words: Sequence[str], tags: Sequence[str], arcs: Sequence[_Arc], wrong: set[_Arc], *, name: str, vocab: Vocab
) -> Markup:
    renderer = DependencyRenderer(options=_OPTIONS)
    renderer.direction, renderer.lang = vocab.writing_system.get("direction", "ltr"), vocab.lang
    shown = [arc for arc in arcs if arc.word != arc.head]
    # Of words it escapes what HTML would take for markup, of tags and labels it does not.
    svg = renderer.render_svg(
        name,
        [{"text": word, "tag": str(escape(tag))} for word, tag in zip(words, tags)],
        [
            {
                "start": min(arc.word, arc.head),
                "end": max(arc.word, arc.head),
                "label": str(escape(arc.label)),
                "dir": "left" if arc.word < arc.head else "right",
            }
            for arc in shown
        ],
    )
    marks = iter([_WRONG if arc in wrong else _ARROW for arc in shown])
    return Markup(re.sub(re.escape(_ARROW), lambda _: next(marks), svg))
