"""Errors of parsed documents, and the calibration of their probabilities."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import and_
from typing import Any

import numpy as np
from spacy.scorer import ROCAUCScore
from spacy.tokens import Token
from spacy.training import Example

from ..annotation.encoding import words_in_trees
from ..annotation.sentences import PUNCTUATION, ROOT_LABEL

# Bins of lengths of arcs in words, by their first length. A root's arc has the length 0.
_LENGTHS = {0: "root", 1: "1", 2: "2", 3: "3-5", 6: "6-10", 11: "11+"}
# The approximate length of example sentences in words.
_READABLE = 10
# Bins of probabilities, of equal width; 1 belongs to the last one.
_BINS = 10
#: A parsed token, and the gold one.
Pair = tuple[Token, Token]
#: Rows of tables by their titles.
Tables = dict[str, list[dict[str, Any]]]


def find_errors(examples: Iterable[Example]) -> tuple[Tables, Tables]:
    """Find the errors in parsed sentences with complete gold trees, without punctuation.

    examples (Iterable[Example]): Parsed sentences, and their references with the same tokens.
    RETURNS (tuple[Tables, Tables]): Scores by a property of gold words, the most frequent first:
        "name", "tokens", "uas", "las" and "tag_acc", None without gold tags. And confusions of
        labels and tags: "gold", "predicted", "count", and "example", a sentence.
    """
    words = [
        (token, gold)
        for example in examples
        for token, gold, in_tree in zip(
            example.predicted, example.reference, words_in_trees(example.reference)
        )
        if in_tree and gold.dep_.lower() not in PUNCTUATION
    ]
    properties: dict[str, Callable[[Token, Token], Any]] = {
        "By length of the arc": lambda _, gold: _length(abs(gold.head.i - gold.i)),
        "By label": lambda _, gold: _label(gold),
    }
    confused: dict[str, Callable[[Token, Token], Any]] = {
        "Confusions of labels": lambda token, gold: (_label(gold), _label(token)),
        "Confusions of tags": lambda token, gold: (gold.tag_, token.tag_ if gold.tag else ""),
    }
    scores = {
        title: [_scores(name, pairs) for name, pairs in _group(words, key)]
        for title, key in properties.items()
    }
    confusions = {
        title: [
            {"gold": gold, "predicted": own, "count": len(pairs), "example": _example(pairs)}
            for (gold, own), pairs in _group(words, key)
            if gold != own
        ]
        for title, key in confused.items()
    }
    return scores, confusions


def _label(token: Token) -> str:
    # UD has "root" where spaCy has "ROOT".
    return ROOT_LABEL if token.head.i == token.i and token.dep_ == "root" else token.dep_


def _length(words: int) -> str:
    return _LENGTHS[max(start for start in _LENGTHS if start <= words)]


def _group(words: Iterable[Pair], key: Callable[[Token, Token], Any]) -> list[tuple[Any, list]]:
    groups = defaultdict(list)
    for pair in words:
        groups[key(*pair)].append(pair)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def _scores(name: str, pairs: list[Pair]) -> dict[str, Any]:
    right = [token.head.i == gold.head.i for token, gold in pairs]
    labels = [_label(token) == _label(gold) for token, gold in pairs]
    tags = [token.tag_ == gold.tag_ for token, gold in pairs if gold.tag]
    return {
        "name": name,
        "tokens": len(pairs),
        "uas": sum(right) / len(pairs),
        "las": sum(map(and_, right, labels)) / len(pairs),
        "tag_acc": sum(tags) / len(tags) if tags else None,
    }


def _example(pairs: list[Pair]) -> str:
    """Return the sentence nearest to ten tokens, a word in brackets, and its heads."""
    token, gold = min(pairs, key=lambda pair: abs(len(pair[0].doc) - _READABLE))
    words = [f"[{word.text}]" if word.i == token.i else word.text for word in token.doc]
    heads = [f"{token.doc[i]} {i + 1}" for i in dict.fromkeys((gold.head.i, token.head.i))]
    return f"{' '.join(words)} (head: {', not '.join(heads)})"


def calibrations(examples: Iterable[Example]) -> dict[str, dict[str, Any]]:
    """Return the calibration of "heads", by `token._.head_prob`, and of "tags", by
    `token._.tag_prob`.

    A head is right if it is the gold one, whatever the label, as in UAS. Tokens that are not gold
    tokens, or lack a probability or a gold tag, are left out; of heads also punctuation and
    sentences without a complete gold tree. See `calibrate` for the figures.
    """
    heads, tags = [], []
    for example in examples:
        gold, in_tree = _gold_tokens(example), words_in_trees(example.reference)
        for i, own in gold.items():
            token = example.predicted[i]
            if token._.tag_prob is not None and own.tag_:
                tags.append((token._.tag_prob, token.tag_ == own.tag_))
            is_counted = in_tree[own.i] and own.dep_.lower() not in PUNCTUATION
            if token._.head_prob is not None and is_counted:
                heads.append((token._.head_prob, gold.get(token.head.i) == own.head))
    return {"heads": calibrate(heads), "tags": calibrate(tags)}


def _gold_tokens(example: Example) -> dict[int, Token]:
    """Return the gold tokens of the tokens that are just one of them, by position."""
    gold, predicted = example.alignment.x2y, example.alignment.y2x
    places = {i: int(gold[i][0]) for i in np.flatnonzero(gold.lengths == 1).tolist()}
    return {
        i: example.reference[place] for i, place in places.items() if predicted.lengths[place] == 1
    }


def calibrate(choices: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Compare probabilities of choices with the proportions of right ones (Guo et al. 2017).

    choices (Sequence[tuple[float, bool]]): The probability of each choice, and whether it is right.
    RETURNS (dict[str, Any]): "tokens"; the means "confidence" and "accuracy";
        "expected_calibration_error", the mean over all tokens of |accuracy - confidence| of their
        bins; "auroc", the probability that a right choice is surer than a wrong one; and "bins",
        the non-empty ones of ten, with "from", "to", "tokens" and means. Undefined figures: None.
    """
    p, right = np.array(choices, dtype=np.float64).reshape(-1, 2).T
    place = np.minimum((p * _BINS).astype(np.int64), _BINS - 1)
    curve = ROCAUCScore()
    for choice in choices:
        curve.score_set(*choice)

    def means(chosen: np.ndarray) -> dict[str, Any]:
        found = {"confidence": p[chosen], "accuracy": right[chosen]}
        return {name: float(own.mean()) if len(own) else None for name, own in found.items()}

    rows = [
        {"from": i / _BINS, "to": (i + 1) / _BINS, "tokens": int(own.sum()), **means(own)}
        for i in np.unique(place).tolist()
        for own in [place == i]
    ]
    errors = [row["tokens"] * abs(row["accuracy"] - row["confidence"]) for row in rows]
    return {
        "tokens": len(p),
        **means(np.ones(len(p), dtype=bool)),
        "expected_calibration_error": sum(errors) / len(p) if rows else None,
        "auroc": curve.score if 0 < right.sum() < len(right) else None,
        "bins": rows,
    }
