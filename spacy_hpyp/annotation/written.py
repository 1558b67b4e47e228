"""Where a Doc's user data have what components have written about tokens."""

from collections.abc import Mapping
from typing import Any

from spacy.attrs import IDX
from spacy.tokens import Doc

from ..compat.spacy import attribute_key

#: What is written for each token; see `spacy_hpyp.annotation.extensions.register_extensions`.
WRITTEN = ("log_prob", "surprisal_lexical", "surprisal_syntactic", "head_prob", "tag_prob")

#: Each value has an entry in the user data, as `doc.to_json` looks for it. In a long Doc that would take as much memory as the rest of
#: the parsed Doc four times over: it has one entry for each token, a tuple of all values. The key is that of an attribute, so that spaCy
#: moves the entry with the token into documents that are made of this one.
TOGETHER = "hpyp_parser"


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
