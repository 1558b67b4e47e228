"""Parses that are kept while other parsers work on the same Doc.

`doc._.parses` is a dictionary with a `KeptParse` for each parser's name. What it is made of are the Doc's user data: at each token,
under the key `("._.", "parses", token.idx, None)`, a dictionary from names to lists

    [distance to the head in tokens (0: a root), label, tag, head_prob or None, tag_prob or None, whether a sentence begins]

and under the key `("._.", "given_start", token.idx, None)` whether a boundary was set before any parser (1) or ruled out (-1). spaCy
moves such entries with their tokens: into `span.as_doc(copy_user_data=True)`, `Doc.from_docs`, `DocBin(store_user_data=True)`, and to other
processes.
"""

from typing import NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, SENT_START, TAG
from spacy.tokens import Doc

from .written import entries_of, values_of, write_entries

PARSES, GIVEN_START = "parses", "given_start"
_PARTS = 6


class KeptParse(NamedTuple):
    """What a parser has found for the tokens of a Doc.

    heads (int32[tokens]): How far the head is, in tokens; 0 for roots. It may lie outside a Doc that is a part of another one.
    labels, tags (list[str]): Of each token; a label is "" where there is no arc.
    head_prob, tag_prob (float64[tokens]): How sure it is; not a number where it does not say so.
    starts (bool[tokens]): Where sentences begin.
    """

    heads: np.ndarray
    labels: list[str]
    tags: list[str]
    head_prob: np.ndarray
    tag_prob: np.ndarray
    starts: np.ndarray


def kept_parses(doc: Doc) -> dict[str, KeptParse]:
    """The parses that are kept in a Doc, by their names; the value of `doc._.parses`.

    RAISES (ValueError): If something else is in their place in its user data.
    """
    rows = [row or {} for row in entries_of(doc, PARSES)]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _columns([row.get(name) for row in rows]) for name in names}


def _columns(rows: list[list | None]) -> KeptParse:
    nothing = [0, "", "", None, None, False]
    if any(row is not None and len(row) != _PARTS for row in rows):
        raise ValueError("The user data of a Doc have something else where parses should be kept ('doc._.parses').")
    heads, labels, tags, head_prob, tag_prob, starts = zip(*(row or nothing for row in rows))
    return KeptParse(
        np.array(heads, dtype=np.int32),
        list(labels),
        list(tags),
        np.array(head_prob, dtype=np.float64),
        np.array(tag_prob, dtype=np.float64),
        np.array(starts, dtype=bool),
    )


def current_parse(doc: Doc) -> KeptParse:
    """The parse that a Doc has now."""
    heads, deps, tags, starts = (
        column.view(np.int64) for column in doc.to_array([HEAD, DEP, TAG, SENT_START]).T.copy()
    )
    strings = doc.vocab.strings
    labels, names = ([strings[number] for number in column.view(np.uint64).tolist()] for column in (deps, tags))
    sure = [values_of(doc, name) for name in ("head_prob", "tag_prob")]
    return KeptParse(
        heads.astype(np.int32), labels, names, *(np.array(each, dtype=np.float64) for each in sure), starts == 1
    )


def keep(doc: Doc, name: str, parse: KeptParse) -> None:
    """Write a parse into the user data of a Doc, under a name; one of this name is replaced."""
    columns = [parse.heads.tolist(), parse.labels, parse.tags]
    columns += [[None if p != p else p for p in each.tolist()] for each in (parse.head_prob, parse.tag_prob)]
    # A copy of the Doc may have the same dictionaries.
    rows = zip(entries_of(doc, PARSES), zip(*columns, parse.starts.tolist()))
    write_entries(doc, PARSES, [{**(before or {}), name: list(row)} for before, row in rows])


def note_starts(doc: Doc) -> None:
    """Note which sentence boundaries are set in a Doc before it is parsed."""
    write_entries(doc, GIVEN_START, doc.to_array(SENT_START).view(np.int64).tolist())


def noted_starts(doc: Doc) -> np.ndarray | None:
    """What `note_starts` has noted (int64[tokens]): 1, -1, or 0 where nothing was set. None if it has not been called."""
    found = entries_of(doc, GIVEN_START)
    return None if None in found else np.array(found, dtype=np.int64)


def take_back(doc: Doc, starts: np.ndarray) -> None:
    """Take heads and labels out of a Doc.

    starts (int64[tokens]): The sentence boundaries that it is to have: 1, -1, or 0 where nothing is to be set.
    """
    if len(doc) == 0:
        return
    doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    doc.from_array([SENT_START], starts.view(np.uint64).reshape(-1, 1))
