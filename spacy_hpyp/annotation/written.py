"""Where a Doc's user data have what components have written about tokens, and the parses that are kept while
other parsers work on it.

`doc._.parses` is a dictionary with a `KeptParse` for each parser's name. What it is made of are the Doc's
user data: at each token, under the key `("._.", "parses", token.idx, None)`, a dictionary from names to lists

    [distance to the head in tokens (0: a root), label, tag, head_prob or None, tag_prob or None, whether a
    sentence begins]

and under the key `("._.", "given_start", token.idx, None)` whether a boundary was set before any parser (1)
or ruled out (-1). spaCy moves such entries with their tokens: into `span.as_doc(copy_user_data=True)`,
`Doc.from_docs`, `DocBin(store_user_data=True)`, and to other processes.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, SENT_START, TAG
from spacy.tokens import Doc

#: What is written for each token; see `spacy_hpyp.annotation.extensions.register_extensions`.
WRITTEN = ("log_prob", "surprisal_lexical", "surprisal_syntactic", "head_prob", "tag_prob")

#: A sentence's log-probability and how many tokens it has, at its first token.
SENTENCE = "sentence_log_prob"
PARSES, GIVEN_START = "parses", "given_start"
# Of each token a parse has so many parts.
_PARTS = 6


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """Return the key in user data of an extension attribute of the token that begins at an offset."""
    return "._.", name, offset, None


def attribute_keys(name: str, offsets: Iterable[int]) -> Iterator[tuple[str, str, int, None]]:
    """Yield the keys of an attribute of several tokens."""
    return zip(repeat("._."), repeat(name), offsets, repeat(None))


def take(
    data: dict[Any, Any], names: Container[str], offsets: Container[int] = ()
) -> list[tuple[str, int, Any]]:
    """Take out of user data what they have about tokens under some names, or of the tokens that begin at some
    offsets.

    RETURNS (list[tuple[str, int, Any]]): The name, where the token begins, and the value.
    """
    # Most keys are of neither, which is asked first as there are several of each token.
    keys = [
        key for key in data if type(key) is tuple and len(key) == 4 and (key[1] in names or key[2] in offsets)
    ]
    of_tokens = [key for key in keys if key[0] == "._." and key[2] is not None and key[3] is None]
    return [(key[1], key[2], data.pop(key)) for key in of_tokens]


def entries_of(doc: Doc, name: str) -> list[Any]:
    """What the user data of a Doc have for each token, None where there is nothing."""
    return list(map(doc.user_data.get, attribute_keys(name, doc.to_array(IDX).tolist())))


def write_entries(doc: Doc, name: str, values: Iterable[Any], token: np.ndarray | None = None) -> None:
    """Write into the user data of a Doc what `entries_of` reads.

    values (Iterable[Any]): Of each token.
    token (int64[*] | None): Which tokens they are about, if not all.
    """
    offsets = doc.to_array(IDX) if token is None else doc.to_array(IDX)[token]
    doc.user_data.update(zip(attribute_keys(name, offsets.tolist()), values))


class KeptParse(NamedTuple):
    """What a parser has found for the tokens of a Doc.

    heads (int32[tokens]): How far the head is, in tokens; 0 for roots. It may lie outside a Doc that is a
        part of another one.
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
        raise ValueError(
            "The user data of a Doc have something else where parses should be kept ('doc._.parses')."
        )
    heads, labels, tags, *sure, starts = zip(*(row or nothing for row in rows))
    probabilities = (np.array(each, dtype=np.float64) for each in sure)
    columns = (
        np.array(heads, dtype=np.int32),
        list(labels),
        list(tags),
        *probabilities,
        np.array(starts, dtype=bool),
    )
    return KeptParse(*columns)


def current_parse(doc: Doc) -> KeptParse:
    """The parse that a Doc has now."""
    heads, starts = doc.to_array([HEAD, SENT_START]).view(np.int64).T
    strings = doc.vocab.strings
    labels, tags = ([strings[number] for number in column] for column in doc.to_array([DEP, TAG]).T.tolist())
    sure = (np.array(entries_of(doc, name), dtype=np.float64) for name in ("head_prob", "tag_prob"))
    return KeptParse(heads.astype(np.int32), labels, tags, *sure, starts == 1)


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
    """What `note_starts` has noted (int64[tokens]): 1, -1, or 0 where nothing was set. None if it has not
    been called.
    """
    found = entries_of(doc, GIVEN_START)
    return None if None in found else np.array(found, dtype=np.int64)


def take_back(doc: Doc, starts: np.ndarray) -> None:
    """Take heads and labels out of a Doc.

    starts (int64[tokens]): The sentence boundaries that it is to have: 1, -1, or 0 where nothing is to be
        set.
    """
    if len(doc) == 0:
        return
    doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    doc.from_array([SENT_START], starts.view(np.uint64).reshape(-1, 1))
