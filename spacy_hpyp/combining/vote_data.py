"""Ballots: the heads, labels and tags that several voters propose for words."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.tokens import Doc

from ..annotation.encoding import Layout, layout_of
from ..annotation.guides import read_guide
from ..annotation.user_data import KeptParse, current_parse, kept_parses
from ..compiled import NONE

#: The choice of a voter without one; `NONE` is the head of a root.
ABSENT = -2


class Ballots(NamedTuple):
    """The choices of voters for the words of some sentences.

    heads (int32[words, voters]): Positions in the sentence, `NONE` for roots, `ABSENT` without a
        choice.
    labels, tags (int32[words, voters]): Numbers; `ABSENT` without a choice.
    head_probability, tag_probability (float64[words, voters]): The voters' own probabilities, or
        NaN.
    offsets (int64[sentences + 1]): Where each sentence begins.
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
    """Return the parses of voters. A guide gives probabilities to voters that have none.

    voters (Sequence[str]): The names of their parses in `doc._.hpyp_parses`; if the last one is
        missing there, it is the current parse.
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
    found = [parses[voter] for voter in voters if voter in parses]
    for i, parse in enumerate(found if guide is not None else []):
        same = guide.heads == (np.arange(len(doc)) + parse.heads)[:, None]
        guided = np.where(same, guide.head_probs, 0.0).sum(axis=1)
        unknown = np.isnan(parse.head_prob)
        found[i] = parse._replace(head_prob=np.where(unknown, guided, parse.head_prob))
    return found


def cast(
    docs: Sequence[Doc], parses: Sequence[Sequence[KeptParse]], names: Names
) -> tuple[Ballots, Layout]:
    """Return the choices of voters for the words of Docs, without white space.

    parses (Sequence[Sequence[KeptParse]]): Of each Doc with tokens, those of all voters. Sentences
        are those of the first voter; heads in other sentences are `ABSENT`.
    """
    voters = max(map(len, parses), default=0)
    columns = [[np.empty((0, voters), dtype=kind) for kind in [np.int32] * 3 + [np.float64] * 2]]
    places: list[list[np.ndarray]] = [[] for _ in docs]
    for i, (doc, of_doc) in enumerate(zip(docs, parses)):
        token = np.flatnonzero(doc.to_array(IS_SPACE) == 0)
        if len(token):
            sentence = np.cumsum(of_doc[0].starts)[token]
            places[i] = np.split(token, np.flatnonzero(np.diff(sentence)) + 1)
            ballots = zip(*(_ballot(parse, token, sentence, names) for parse in of_doc))
            columns.append([np.column_stack(part) for part in ballots])
    layout = layout_of(places)
    return Ballots(*map(np.concatenate, zip(*columns)), layout.offsets), layout


def _ballot(
    parse: KeptParse, token: np.ndarray, sentence: np.ndarray, names: Names
) -> list[np.ndarray]:
    """Return the choices of a voter for the words at given tokens, in order of `Ballots`."""
    head = token + parse.heads[token]
    place = np.minimum(np.searchsorted(token, head), len(token) - 1)
    is_inside = (token[place] == head) & (sentence[place] == sentence)
    position = place - np.searchsorted(sentence, sentence)
    labels = _numbers(parse.labels, token, names.labels)
    heads = np.where(parse.heads[token] == 0, NONE, position)
    heads = np.where(is_inside & (labels != ABSENT), heads, ABSENT).astype(np.int32)
    tags = _numbers(parse.tags, token, names.tags)
    return [heads, labels, tags, parse.head_prob[token], parse.tag_prob[token]]


def _numbers(column: list[str], token: np.ndarray, known: dict[str, int]) -> np.ndarray:
    """Return the numbers of the names at given tokens (int32[words])."""
    found = [column[i] for i in token.tolist()]
    return np.array(
        [known.setdefault(name, len(known)) if name else ABSENT for name in found], dtype=np.int32
    )
