"""User data of tokens: values written by components, and parses kept for others.

`doc._.parses` is a dictionary with a `KeptParse` for each parser. It is stored under the keys
`("._.", "parses", token.idx, None)`, as dictionaries from names to lists

    [distance to the head in tokens (0: a root), label, tag, head_prob or None, tag_prob or None,
    whether a sentence begins, length of the token in characters]

spaCy moves such entries with their tokens to other Docs, files and processes. Once tokens have been
merged or split, a kept parse is dropped with a warning.
"""

import warnings
from collections.abc import Container, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, LENGTH, SENT_START, TAG
from spacy.tokens import Doc

#: What is written for each token; see `spacy_hpyp.annotation.extensions.register_extensions`.
WRITTEN = ("log_prob", "surprisal_lexical", "surprisal_syntactic", "head_prob", "tag_prob")
#: Those of several words or tokens are sums.
SUMMED = WRITTEN[:3]

#: Log-probability of a sentence, and its length in characters, at its first token.
SENTENCE = "sentence_log_prob"
PARSES = "parses"


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """Return the key in user data of an extension attribute of the token that begins at an
    offset.
    """
    return "._.", name, offset, None


def attribute_keys(name: str, offsets: Iterable[int]) -> Iterator[tuple[str, str, int, None]]:
    """Yield the keys of an attribute of several tokens."""
    return zip(repeat("._."), repeat(name), offsets, repeat(None))


def remove(data: dict[Any, Any], names: Container[str]) -> None:
    """Remove attributes of tokens from user data."""
    for key in [key for key in data if type(key) is tuple and len(key) == 4 and key[1] in names]:
        if key[2] is not None and key[3] is None:
            del data[key]


def entries_of(doc: Doc, name: str) -> list[Any]:
    """Return the values of all tokens, None where there is none."""
    return list(map(doc.user_data.get, attribute_keys(name, doc.to_array(IDX).tolist())))


def write_entries(
    doc: Doc, name: str, values: Iterable[Any], token: np.ndarray | None = None
) -> None:
    """Write values that `entries_of` reads.

    values (Iterable[Any]): Those of each token.
    token (int64[*] | None): The tokens, if not all.
    """
    offsets = doc.to_array(IDX) if token is None else doc.to_array(IDX)[token]
    doc.user_data.update(zip(attribute_keys(name, offsets.tolist()), values))


class KeptParse(NamedTuple):
    """The parse of a Doc.

    heads (int32[tokens]): Distance to the head in tokens; 0 for roots. It may lie outside a part of
    a Doc. labels, tags (list[str]): Labels are "" where there is no arc.
    head_prob, tag_prob (float64[tokens]): Probabilities; NaN where unknown.
    starts (bool[tokens]): Where sentences begin.
    """

    heads: np.ndarray
    labels: list[str]
    tags: list[str]
    head_prob: np.ndarray
    tag_prob: np.ndarray
    starts: np.ndarray


def kept_parses(doc: Doc) -> dict[str, KeptParse]:
    """Return the parses kept in a Doc whose tokens are words, by name: the value of
    `doc._.parses`.
    """
    rows = [row or {} for row in entries_of(doc, PARSES)]
    names = dict.fromkeys(name for row in rows for name in row)
    lengths = doc.to_array([LENGTH]).ravel().tolist() if names else []
    found = {name: [row.get(name) for row in rows] for name in names}
    changed = [name for name, of_name in found.items() if _is_changed(of_name, lengths)]
    if changed:
        warnings.warn(
            f"Tokens have been merged or split since {changed} parsed them: these parses are dropped.",
            stacklevel=2,
        )
    return {name: _columns(of_name) for name, of_name in found.items() if name not in changed}


def _is_changed(rows: list[list | None], lengths: list[int]) -> bool:
    return any(row is not None and row[-1] != length for row, length in zip(rows, lengths))


def _columns(rows: list[list | None]) -> KeptParse:
    nothing = [0, "", "", None, None, False, 0]
    heads, labels, tags, *sure, starts, _ = zip(*(row or nothing for row in rows))
    probabilities = (np.array(each, dtype=np.float64) for each in sure)
    starts = np.array(starts, dtype=bool)
    return KeptParse(
        np.array(heads, dtype=np.int32), list(labels), list(tags), *probabilities, starts
    )


def current_parse(doc: Doc) -> KeptParse:
    """Return the current parse of a Doc."""
    heads, starts = doc.to_array([HEAD, SENT_START]).view(np.int64).T
    strings = doc.vocab.strings
    labels, tags = (
        [strings[number] for number in column] for column in doc.to_array([DEP, TAG]).T.tolist()
    )
    sure = (np.array(entries_of(doc, name), dtype=np.float64) for name in ("head_prob", "tag_prob"))
    return KeptParse(heads.astype(np.int32), labels, tags, *sure, starts == 1)


def keep(doc: Doc, name: str, parse: KeptParse) -> None:
    """Write a parse into the user data of a Doc, under a name."""
    columns = [parse.heads.tolist(), parse.labels, parse.tags]
    columns += [
        [None if p != p else p for p in each.tolist()] for each in (parse.head_prob, parse.tag_prob)
    ]
    # A copy of the Doc may have the same dictionaries.
    columns += [parse.starts.tolist(), doc.to_array([LENGTH]).ravel().tolist()]
    rows = zip(entries_of(doc, PARSES), zip(*columns))
    write_entries(doc, PARSES, [{**(before or {}), name: list(row)} for before, row in rows])


def restore(doc: Doc, parse: KeptParse) -> None:
    """Make a parse the current one of its Doc, without its probabilities."""
    add = doc.vocab.strings.add
    heads = parse.heads.astype(np.int64).view(np.uint64)
    labels, tags = (
        np.array([*map(add, names)], dtype=np.uint64) for names in (parse.labels, parse.tags)
    )
    doc.from_array([HEAD, DEP, TAG], np.column_stack([heads, labels, tags]))


def take_back(doc: Doc) -> None:
    """Remove heads and labels, and leave sentence boundaries as they are."""
    if len(doc) == 0:
        return
    starts = doc.to_array([SENT_START])
    doc.from_array([HEAD, DEP], np.zeros((len(doc), 2), dtype=np.uint64))
    doc.from_array([SENT_START], starts.reshape(-1, 1))
