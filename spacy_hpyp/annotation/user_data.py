"""User data of tokens: values that components write, and parses that `keep_parse` keeps.

A value is stored under the key `("._.", NAME, token.idx, None)`, as spaCy stores extension
attributes, so that spaCy moves it with its token to other Docs, files and processes.

`doc._.hpyp_parses` has a `KeptParse` for each parser.
"""

import warnings
from collections.abc import Container, Iterable, Iterator
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from spacy.attrs import DEP, HEAD, IDX, SENT_START, TAG
from spacy.tokens import Doc

#: Values that parsers write for each token, see `extensions.register_extensions`.
WRITTEN = ("log_prob", "surprisal_lexical", "surprisal_syntactic", "head_prob", "tag_prob")
#: Values that are summed over several words or tokens.
SUMMED = WRITTEN[:3]
PROBABILITIES = WRITTEN[3:]
#: The log-probability of a sentence, at its first token.
SENTENCE = "sentence_log_prob"
#: The component that wrote uncalibrated probabilities.
UNCALIBRATED = "uncalibrated_by"
#: All that is written about the probabilities of arcs and tags.
ARCS_AND_TAGS = (*PROBABILITIES, UNCALIBRATED)
PARSES = "hpyp_parses"

_KEPT = "._.", PARSES, None, None


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """Return the key of a value of the token that begins at a character."""
    return "._.", name, offset, None


def attribute_keys(name: str, offsets: Iterable[int]) -> Iterator[tuple[str, str, int, None]]:
    """Yield the keys of a value of several tokens, given their first characters."""
    return zip(repeat("._."), repeat(name), offsets, repeat(None))


def entries_of(doc: Doc, name: str) -> list[Any]:
    """Return a value of every token, None where there is none."""
    return list(map(doc.user_data.get, attribute_keys(name, doc.to_array(IDX).tolist())))


def write_entries(
    doc: Doc, name: str, values: Iterable[Any], token: np.ndarray | None = None
) -> None:
    """Write a value for each token, or for those at given positions (int64[*])."""
    offsets = doc.to_array(IDX) if token is None else doc.to_array(IDX)[token]
    doc.user_data.update(zip(attribute_keys(name, offsets.tolist()), values))


def mark_uncalibrated(docs: Iterable[Doc], component: str) -> None:
    """Let readers of probabilities be warned that a component has not calibrated them."""
    for doc in docs:
        write_entries(doc, UNCALIBRATED, [component] * len(doc))


def write_sentence_probabilities(doc: Doc, starts: np.ndarray, values: np.ndarray) -> None:
    """Write log-probabilities of whole sentences, given by their first tokens (int64[sentences]),
    in the place of those of tokens; in nats (float64[sentences]).
    """
    forget(doc, (SENTENCE, *SUMMED))
    write_entries(doc, SENTENCE, values.tolist(), starts)


def forget(doc: Doc, names: Container[str] = (SENTENCE, UNCALIBRATED, *WRITTEN)) -> None:
    """Remove values of tokens, by default all probabilities and surprisals."""
    data = doc.user_data
    for key in [key for key in data if type(key) is tuple and len(key) == 4 and key[1] in names]:
        if key[2] is not None and key[3] is None:
            del data[key]


class KeptParse(NamedTuple):
    """The parse of a Doc.

    heads (int32[tokens]): Distance to the head in tokens, 0 for roots.
    labels, tags (list[str]): Labels are "" where there is no arc.
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
    """Return the parses kept in a Doc whose tokens are words, by name.

    If tokens have been merged or split since, a parse is left out with a warning.
    """
    parses = {name: KeptParse(*parse) for name, parse in doc.user_data.get(_KEPT, {}).items()}
    changed = [name for name, parse in parses.items() if len(parse.heads) != len(doc)]
    if changed:
        warnings.warn(
            f"The parses of {changed} are dropped: tokens have been merged or split since.",
            stacklevel=2,
        )
    return {name: parse for name, parse in parses.items() if name not in changed}


def current_parse(doc: Doc) -> KeptParse:
    """Return the current parse of a Doc."""
    heads, starts = doc.to_array([HEAD, SENT_START]).view(np.int64).T
    probabilities = (
        np.array(entries_of(doc, name), dtype=np.float64) for name in ("head_prob", "tag_prob")
    )
    labels, tags = [token.dep_ for token in doc], [token.tag_ for token in doc]
    return KeptParse(heads.astype(np.int32), labels, tags, *probabilities, starts == 1)


def keep(doc: Doc, name: str, parse: KeptParse) -> None:
    """Write a parse into the user data of a Doc, under a name."""
    # Copies of the Doc share the dictionary.
    doc.user_data[_KEPT] = {**doc.user_data.get(_KEPT, {}), name: tuple(parse)}


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
