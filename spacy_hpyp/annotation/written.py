"""Where a Doc's user data have what components have written about tokens."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from spacy.attrs import IDX
from spacy.tokens import Doc

from ..compat.spacy import attribute_key

#: What is written for each token; see `spacy_hpyp.annotation.extensions.register_extensions`.
WRITTEN = ("log_prob", "surprisal_lexical", "surprisal_syntactic", "head_prob", "tag_prob")

#: Each value has an entry in the user data, as `doc.to_json` looks for it. In a long Doc that would take as much memory as the rest of
#: the parsed Doc four times over: it has one entry for each token, a tuple of all values. The key is that of an attribute, so that spaCy
#: moves the entry with the token into documents that are made of this one.
TOGETHER = "hpyp_parser"
#: A sentence's log-probability and how many tokens it has, at its first token.
SENTENCE = "sentence_log_prob"


def is_of_token(key: Any) -> bool:
    """Whether a key of user data is that of an attribute of a token."""
    return isinstance(key, tuple) and len(key) == 4 and key[3] is None and key[2] is not None and key[0] == "._."


def value_at(data: Mapping[Any, Any], name: str, offset: int) -> Any:
    """What is written about a token, None if it is nothing.

    data (Mapping): The user data.
    name (str): One of `WRITTEN`.
    offset (int): `token.idx`.
    """
    if (own := attribute_key(name, offset)) in data:
        return data[own]
    written = data.get(attribute_key(TOGETHER, offset))
    return None if written is None else written[WRITTEN.index(name)]


def values_of(doc: Doc, name: str) -> list[Any]:
    """What is written about each token of a Doc, see `value_at`."""
    data = doc.user_data
    return [value_at(data, name, offset) for offset in doc.to_array(IDX).tolist()]


def entries_of(doc: Doc, name: str) -> list[Any]:
    """What the user data of a Doc have for each token, None where there is nothing."""
    return [doc.user_data.get(attribute_key(name, offset)) for offset in doc.to_array(IDX).tolist()]


def write_entries(doc: Doc, name: str, values: Iterable[Any], token: np.ndarray | None = None) -> None:
    """Write into the user data of a Doc what `entries_of` reads.

    values (Iterable[Any]): Of each token.
    token (int64[*] | None): Which tokens they are about, if not all.
    """
    offsets = doc.to_array(IDX) if token is None else doc.to_array(IDX)[token]
    doc.user_data.update({attribute_key(name, at): value for at, value in zip(offsets.tolist(), values)})
