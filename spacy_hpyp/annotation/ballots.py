"""Ballots: the heads, labels and tags that several voters propose for words, and the gold ones."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import joined
from .guides import Guide, read_guide
from .words import Layout, layout_of
from .written import KeptParse, current_parse, kept_parses

#: The choice of a voter without one; `NONE` is the head of a root.
ABSENT = -2
#: The gold head of a word that the ballots put into another sentence than its head: no voter can be right.
OUTSIDE = -3


class Ballots(NamedTuple):
    """The choices of voters for the words of some sentences.

    heads (int32[words, voters]): Positions in the sentence, `NONE` for roots, `ABSENT` without a choice.
    labels, tags (int32[words, voters]): Numbers; `ABSENT` without a choice.
    head_probability, tag_probability (float64[words, voters]): The voters' own probabilities, or NaN.
    offsets (int64[sentences + 1]): Where each sentence begins.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray
    offsets: np.ndarray


class Gold(NamedTuple):
    """Gold heads, labels and tags (int32[words]), as in `Ballots`; `ABSENT` where unknown."""

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray


class Names(NamedTuple):
    """Numbers of tags and labels by name; readers of ballots add unknown ones."""

    tags: dict[str, int]
    labels: dict[str, int]


def read_ballots(
    docs: Sequence[Doc], voters: Sequence[str], names: Names, *, reader: str
) -> tuple[Ballots, Layout]:
    """Read the choices of voters for the words of Docs, without white space.

    Sentences are those of the first voter. A guide (`annotation.guides`) gives probabilities to voters that
    have none.

    voters (Sequence[str]): The names of their parses in `doc._.parses`; if the last one is missing there, it
        is the current parse.
    reader (str): The name of the component, for errors.
    RAISES (ValueError): If the parse of a voter is missing.
    """
    nothing = np.empty((0, len(voters)))
    columns = [[*[nothing.astype(np.int32)] * 3, nothing, nothing]]
    places: list[list[np.ndarray]] = []
    for doc in docs:
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        places.append([])
        if len(token) == 0:
            continue
        parses = kept_parses(doc)
        if voters and voters[-1] not in parses and doc.has_annotation("DEP"):
            parses[voters[-1]] = current_parse(doc)
        missing = [voter for voter in voters if voter not in parses]
        if missing:
            raise ValueError(
                f"The component '{reader}' needs the parse of '{missing[0]}', but a document has only "
                f"{sorted(parses) or 'none'}. Put that parser, with a 'keep_parse' after it, before "
                f"'{reader}', and enable both."
            )
        block = np.cumsum(parses[voters[0]].starts)
        places[-1] = np.split(token, np.flatnonzero(np.diff(block[token])) + 1)
        guide = read_guide(doc)
        columns.append(_ballots(token, block, [_guided(parses[voter], guide) for voter in voters], names))
    layout = layout_of(places)
    return Ballots(*(np.concatenate(parts) for parts in zip(*columns)), layout.offsets), layout


def _guided(parse: KeptParse, guide: Guide | None) -> KeptParse:
    """Add a guide's probabilities to a parse where it has none of its own."""
    unknown = np.isnan(parse.head_prob)
    if guide is None or not unknown.any():
        return parse
    same = guide.heads == (np.arange(len(parse.heads)) + parse.heads)[:, None]
    guided = np.where(same, guide.head_probs, 0.0).sum(axis=1)
    return parse._replace(head_prob=np.where(unknown, guided, parse.head_prob))


def _ballots(
    token: np.ndarray, block: np.ndarray, parses: Sequence[KeptParse], names: Names
) -> list[np.ndarray]:
    heads, labels, tags = (np.empty((len(token), len(parses)), dtype=np.int32) for _ in range(3))
    for v, parse in enumerate(parses):
        heads[:, v] = _heads(token, block, np.arange(len(block)) + parse.heads)
        heads[[parse.labels[i] == "" for i in token.tolist()], v] = ABSENT
        labels[:, v] = _numbers(token, parse.labels, names.labels)
        tags[:, v] = _numbers(token, parse.tags, names.tags)
    probabilities = (
        np.column_stack([getattr(parse, name)[token] for parse in parses])
        for name in ("head_prob", "tag_prob")
    )
    return [heads, labels, tags, *probabilities]


def _heads(token: np.ndarray, block: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Return heads as positions in the sentence; `ABSENT` for white space and heads in other sentences."""
    word = np.full(len(block), ABSENT)
    word[token] = np.arange(len(token))
    place = np.where((heads >= 0) & (heads < len(block)), heads, 0)
    known = ((place == heads) & (word[place] != ABSENT) & (block[place] == block))[token]
    sentence = block[token]
    first = np.searchsorted(sentence, sentence)
    found = np.where(heads[token] == token, NONE, word[place[token]] - first)
    return np.where(known, found, ABSENT)


def _numbers(token: np.ndarray, values: Sequence[str | None], numbers: dict[str, int]) -> list[int]:
    chosen = [values[i] for i in token.tolist()]
    return [numbers.setdefault(value, len(numbers)) if value else ABSENT for value in chosen]


def read_gold_votes(
    doc: Doc,
    layout: Layout,
    heads: Sequence[int | None],
    labels: Sequence[str | None],
    tags: Sequence[str | None],
    names: Names,
) -> Gold:
    """Read the gold annotation of the words of a Doc.

    layout (Layout): Of this Doc alone, as `read_ballots` returns it.
    heads, labels, tags (Sequence): Of each token; None where unknown. Heads are positions in the Doc.
    """
    block = np.zeros(len(doc), dtype=np.int64)
    block[layout.token] = np.repeat(np.arange(len(layout.offsets) - 1), np.diff(layout.offsets))
    places = np.array([ABSENT if head is None else head for head in heads], dtype=np.int64)
    found = _heads(layout.token, block, places)
    is_word = np.isin(places, layout.token)[layout.token]
    return Gold(
        np.where((found == ABSENT) & is_word, OUTSIDE, found).astype(np.int32),
        np.array(_numbers(layout.token, labels, names.labels), dtype=np.int32),
        np.array(_numbers(layout.token, tags, names.tags), dtype=np.int32),
    )


def join_ballots(parts: Iterable[tuple[Ballots, Gold]]) -> tuple[Ballots, Gold]:
    """Concatenate ballots and gold annotation."""
    ballots, gold = zip(*parts)
    return joined(ballots), Gold(*(np.concatenate(columns) for columns in zip(*gold)))
