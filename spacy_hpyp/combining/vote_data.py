"""Ballots: the heads, labels and tags that several voters propose for words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc

from ..annotation.guides import Guide, read_guide
from ..annotation.user_data import KeptParse, current_parse, kept_parses
from ..annotation.words import Layout, layout_of
from ..compiled import NONE

#: The choice of a voter without one; `NONE` is the head of a root.
ABSENT = -2


class Ballots(NamedTuple):
    """The choices of voters for the words of some sentences.

    heads (int32[words, voters]): Positions in the sentence, `NONE` for roots, `ABSENT` without a
    choice. labels, tags (int32[words, voters]): Numbers; `ABSENT` without a choice.
    head_probability, tag_probability (float64[words, voters]): The voters' own probabilities, or
    NaN. offsets (int64[sentences + 1]): Where each sentence begins.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray
    offsets: np.ndarray


class Names(NamedTuple):
    """Numbers of tags and labels by name; `cast` adds unknown ones."""

    tags: dict[str, int]
    labels: dict[str, int]


def parses_of(doc: Doc, voters: Sequence[str], *, reader: str) -> list[KeptParse]:
    """Return the parses of voters.

    A guide (`annotation.guides`) gives probabilities to voters that have none.

    voters (Sequence[str]): The names of their parses in `doc._.parses`; if the last one is missing
        there, it is the current parse.
    reader (str): The name of the component, for errors.
    RAISES (ValueError): If the parse of a voter is missing.
    """
    parses, guide = kept_parses(doc), read_guide(doc)
    if voters and voters[-1] not in parses and doc.has_annotation("DEP"):
        parses[voters[-1]] = current_parse(doc)
    missing = [voter for voter in voters if voter not in parses]
    if missing and len(doc):
        raise ValueError(
            f"The component '{reader}' needs the parse of '{missing[0]}', but a document has only "
            f"{sorted(parses) or 'none'}. Put that parser, with a 'keep_parse' after it, before "
            f"'{reader}', and enable both."
        )
    return [_guided(parses[voter], guide) for voter in voters if voter in parses]


def _guided(parse: KeptParse, guide: Guide | None) -> KeptParse:
    unknown = np.isnan(parse.head_prob)
    if guide is None or not unknown.any():
        return parse
    same = guide.heads == (np.arange(len(parse.heads)) + parse.heads)[:, None]
    guided = np.where(same, guide.head_probs, 0.0).sum(axis=1)
    return parse._replace(head_prob=np.where(unknown, guided, parse.head_prob))


def cast(
    docs: Sequence[Doc], parses: Sequence[Sequence[KeptParse]], names: Names
) -> tuple[Ballots, Layout]:
    """Return the choices of voters for the words of Docs, without white space.

    parses (Sequence[Sequence[KeptParse]]): Of each Doc with tokens, those of all voters. Sentences
        are those of the first voter; heads in other sentences are `ABSENT`.
    """
    voters = max(map(len, parses), default=0)
    columns = [[np.empty((0, voters), dtype=kind) for kind in [np.int32] * 3 + [np.float64] * 2]]
    places: list[list[np.ndarray]] = []
    for doc, of_doc in zip(docs, parses):
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        if len(token):
            sentence = np.cumsum(of_doc[0].starts)[token]
            places.append(np.split(token, np.flatnonzero(np.diff(sentence)) + 1))
            ballots = zip(*(_ballot(parse, token, sentence, names) for parse in of_doc))
            columns.append([np.column_stack(part) for part in ballots])
        else:
            places.append([])
    layout = layout_of(places)
    return Ballots(*map(np.concatenate, zip(*columns)), layout.offsets), layout


def _ballot(
    parse: KeptParse, token: np.ndarray, sentence: np.ndarray, names: Names
) -> list[np.ndarray]:
    """Return the choices of a voter for the words at given tokens, in order of `Ballots`."""
    head = token + parse.heads[token]
    place = np.minimum(np.searchsorted(token, head), len(token) - 1)
    is_inside = (token[place] == head) & (sentence[place] == sentence)
    own = np.where(parse.heads[token] == 0, NONE, place - np.searchsorted(sentence, sentence))
    labels, tags = (
        [
            numbers.setdefault(column[i], len(numbers)) if column[i] else ABSENT
            for i in token.tolist()
        ]
        for column, numbers in ((parse.labels, names.labels), (parse.tags, names.tags))
    )
    labels = np.array(labels, dtype=np.int32)
    heads = np.where(is_inside & (labels != ABSENT), own, ABSENT).astype(np.int32)
    return [
        heads,
        labels,
        np.array(tags, dtype=np.int32),
        parse.head_prob[token],
        parse.tag_prob[token],
    ]
