"""Errors of a parser in a treebank, by length of arc, label and word."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from spacy.tokens import Token
from spacy.training import Example

from .calibration import PUNCTUATION
from .documents import ROOT_LABEL, words_in_trees

# Bins of lengths of arcs in words, by where they begin. A root's arc has the length 0.
_LENGTHS = {0: "root", 1: "1", 2: "2", 3: "3-5", 6: "6-10", 11: "11+"}
# Examples are sentences of about so many words.
_READABLE = 10
#: A parsed token, and the gold one.
Pair = tuple[Token, Token]


class Confusion(NamedTuple):
    """Words with one gold label or tag that got another one, with one of them in its sentence."""

    gold: str
    predicted: str
    count: int
    example: str


class Errors(NamedTuple):
    """The errors of a parser in a treebank, by the titles of tables.

    tables (dict[str, list[dict]]): Rows with "name", a property of gold words, "tokens", and the
        proportions of right heads, "uas", arcs with labels, "las", and tags, "tag_acc"; the most
        frequent first.
    confusions (dict[str, list[Confusion]]): The most frequent first.
    """

    tables: dict[str, list[dict[str, Any]]]
    confusions: dict[str, list[Confusion]]


def find_errors(
    examples: Iterable[Example], *, known: Callable[[str], bool] | None = None
) -> Errors:
    """Find the errors in parsed sentences with complete gold trees, but for punctuation by its gold
    label.

    examples (Iterable[Example]): Parsed sentences, and their references with the same tokens.
    known (Callable[[str], bool] | None): Whether training knew a word.
    """
    words = [
        (token, gold)
        for example in examples
        for token, gold, in_tree in zip(
            example.predicted, example.reference, words_in_trees(example.reference)
        )
        if in_tree and gold.dep_.lower() not in PUNCTUATION
    ]
    keys: dict[str, Callable[[Token], str]] = {
        "By length of the arc": lambda gold: _length(abs(gold.head.i - gold.i)),
        "By label": _label,
    }
    if known is not None:
        keys["By whether the word is known"] = lambda gold: (
            "known" if known(gold.text) else "unknown"
        )
    tables = {
        title: [
            _row(name, pairs) for name, pairs in _group(words, lambda pair, key=key: key(pair[1]))
        ]
        for title, key in keys.items()
    }
    labels = _group(words, lambda pair: (_label(pair[1]), _label(pair[0])))
    tags = _group(
        (pair for pair in words if pair[1].tag), lambda pair: (pair[1].tag_, pair[0].tag_)
    )
    confusions = {
        title: [
            Confusion(*names, len(pairs), _example(pairs))
            for names, pairs in groups
            if len({*names}) > 1
        ]
        for title, groups in (("Confusions of labels", labels), ("Confusions of tags", tags))
    }
    return Errors(tables, confusions)


def _label(token: Token) -> str:
    # UD has "root" where spaCy has "ROOT".
    return ROOT_LABEL if token.head.i == token.i and token.dep_ == "root" else token.dep_


def _length(words: int) -> str:
    return _LENGTHS[max(start for start in _LENGTHS if start <= words)]


def _group(words: Iterable[Pair], key: Callable[[Pair], Any]) -> list[tuple[Any, list[Pair]]]:
    groups = defaultdict(list)
    for pair in words:
        groups[key(pair)].append(pair)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _row(name: str, pairs: list[Pair]) -> dict[str, Any]:
    heads = [token.head.i == gold.head.i for token, gold in pairs]
    arcs = [head and _label(token) == _label(gold) for head, (token, gold) in zip(heads, pairs)]
    tags = [token.tag_ == gold.tag_ for token, gold in pairs if gold.tag]
    means = {
        key: sum(right) / len(right) if right else None
        for key, right in (("uas", heads), ("las", arcs), ("tag_acc", tags))
    }
    return {"name": name, "tokens": len(pairs), **means}


def _example(pairs: list[Pair]) -> str:
    """Return a short sentence with one of some words in brackets, its gold head, and the other
    one.
    """
    token, gold = min(pairs, key=lambda pair: abs(len(pair[0].doc) - _READABLE))
    words = [f"[{word.text}]" if word.i == token.i else word.text for word in token.doc]
    heads = [f"{token.doc[i]} {i + 1}" for i in dict.fromkeys((gold.head.i, token.head.i))]
    return f"{' '.join(words)} (head: {', not '.join(heads)})"
