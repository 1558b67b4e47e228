"""Between kept parses and the ballots of voters: what they say of the words of sentences, and what is right."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from spacy.attrs import IS_SPACE, SENT_START
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import joined
from .guides import Guide, read_guide
from .words import Layout, layout_of
from .written import KeptParse, current_parse, kept_parses, noted_starts

#: In the place of what a voter says, if it says nothing of a word; `NONE` is the head of a root.
ABSENT = -2
#: The right head of a word that voters have put into another sentence than it: no voter can be right.
OUTSIDE = -3


class Ballots(NamedTuple):
    """What voters say of the words of some sentences.

    heads (int32[words, voters]): Positions in the sentence, `NONE` for roots, `ABSENT` where a voter says
        nothing.
    labels, tags (int32[words, voters]): Numbers; `ABSENT` where a voter says nothing.
    head_probability, tag_probability (float64[words, voters]): How sure voters are; not a number where they
        do not say so.
    offsets (int64[sentences + 1]): Where each sentence begins.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray
    offsets: np.ndarray


class Gold(NamedTuple):
    """What is right of each word (int32[words]), as in `Ballots`; `ABSENT` where that is not known, `OUTSIDE`
    for heads in other sentences.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray


@dataclass(frozen=True)
class Names:
    """Numbers of tags and labels by name. Those that are not known get numbers beyond the known ones."""

    tags: dict[str, int]
    labels: dict[str, int]

    @classmethod
    def known(cls, tags: Sequence[str], labels: Sequence[str]) -> "Names":
        """The numbers of known ones."""
        return cls({tag: i for i, tag in enumerate(tags)}, {label: i for i, label in enumerate(labels)})


def read_ballots(
    docs: Sequence[Doc], voters: Sequence[str], names: Names, *, last: str, reader: str
) -> tuple[Ballots, Layout]:
    """What voters say of the words of Docs. White space is left out.

    A sentence begins where that was set before the first parser, and where it was not ruled out, as the first
    voter says. How sure a voter is of its arcs who does not say so, a guide says (`annotation.guides`), if
    there is one.

    voters (Sequence[str]): The names of their parses, in `doc._.parses`.
    names (Names): Gets numbers for the tags and labels that it does not have.
    last (str): The name of the parse that a Doc has now, if it has one; "" if that is none of a voter.
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
        parsed = doc.has_annotation("DEP")
        if last and parsed:
            parses[last] = current_parse(doc)
        for voter in voters:
            if voter not in parses:
                raise ValueError(
                    f"The component '{reader}' needs the parse of '{voter}', but a document has only "
                    f"{sorted(parses) or 'none'}. Put that parser, and a 'keep_parse' after it, before "
                    f"'{reader}', or enable them if they "
                    "are disabled."
                )
        block = _blocks(doc, parses[voters[0]], parsed)
        places[-1] = np.split(token, np.flatnonzero(np.diff(block[token])) + 1)
        guide = read_guide(doc)
        said = [_guided(parses[voter], guide) for voter in voters]
        columns.append(_ballots(token, block, said, names))
    layout = layout_of(places)
    return Ballots(*(np.concatenate(parts) for parts in zip(*columns)), layout.offsets), layout


def _guided(parse: KeptParse, guide: Guide | None) -> KeptParse:
    """A parse by a voter who does not say of all arcs how sure it is, with the probabilities that a guide
    gives to the others.
    """
    unsaid = np.isnan(parse.head_prob)
    if guide is None or not unsaid.any():
        return parse
    own = guide.heads == (np.arange(len(parse.heads)) + parse.heads)[:, None]
    guided = np.where(own, guide.head_probs, 0.0).sum(axis=1)
    return parse._replace(head_prob=np.where(unsaid, guided, parse.head_prob))


def _blocks(doc: Doc, first: KeptParse, parsed: bool) -> np.ndarray:
    """The number of each token's sentence."""
    given = noted_starts(doc)
    if given is None:
        # What is set in a parsed Doc its parser has set.
        given = np.zeros(len(doc), dtype=np.int64) if parsed else doc.to_array(SENT_START).view(np.int64)
    return np.cumsum((given == 1) | ((given == 0) & first.starts))


def _ballots(
    token: np.ndarray, block: np.ndarray, parses: Sequence[KeptParse], names: Names
) -> list[np.ndarray]:
    heads, labels, tags = (np.empty((len(token), len(parses)), dtype=np.int32) for _ in range(3))
    for v, parse in enumerate(parses):
        heads[:, v] = _heads(token, block, np.arange(len(block)) + parse.heads)
        heads[[parse.labels[i] == "" for i in token.tolist()], v] = ABSENT
        labels[:, v] = _numbers(token, parse.labels, names.labels)
        tags[:, v] = _numbers(token, parse.tags, names.tags)
    sure = [
        np.column_stack([getattr(parse, name)[token] for parse in parses])
        for name in ("head_prob", "tag_prob")
    ]
    return [heads, labels, tags, *sure]


def _heads(token: np.ndarray, block: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Heads of words as positions in their sentences; `ABSENT` if they are white space, or in another one."""
    word = np.full(len(block), ABSENT)
    word[token] = np.arange(len(token))
    inside = (heads >= 0) & (heads < len(block))
    place = np.where(inside, heads, 0)
    known = (inside & (word[place] != ABSENT) & (block[place] == block))[token]
    own = block[token]
    first = np.searchsorted(own, own)
    found = np.where(heads[token] == token, NONE, word[place[token]] - first)
    return np.where(known, found, ABSENT)


def _numbers(token: np.ndarray, values: Sequence[str], numbers: dict[str, int]) -> list[int]:
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
    """What is right about the words of a Doc.

    layout (Layout): Of this Doc alone, as `read_ballots` gives it.
    heads (Sequence[int | None]), labels, tags (Sequence[str | None]): Of each token, the first as positions;
        None where it is not known.
    names (Names): Gets numbers for the tags and labels that it does not have.
    """
    block = np.zeros(len(doc), dtype=np.int64)
    block[layout.token] = np.repeat(np.arange(len(layout.offsets) - 1), np.diff(layout.offsets))
    places = np.array([ABSENT if head is None else head for head in heads], dtype=np.int64)
    found = _heads(layout.token, block, places)
    is_word = np.isin(places, layout.token)[layout.token]
    return Gold(
        np.where((found == ABSENT) & is_word, OUTSIDE, found).astype(np.int32),
        np.array(_numbers(layout.token, [label or "" for label in labels], names.labels), dtype=np.int32),
        np.array(_numbers(layout.token, [tag or "" for tag in tags], names.tags), dtype=np.int32),
    )


def join_ballots(parts: Iterable[tuple[Ballots, Gold]]) -> tuple[Ballots, Gold]:
    """Ballots and what is right, one after the other."""
    ballots, gold = zip(*parts)
    return joined(ballots), Gold(*(np.concatenate(columns) for columns in zip(*gold)))
