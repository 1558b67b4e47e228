"""Guides: what a parser believes about the tokens of a Doc, for other components to read (Nivre & McDonald 2008).

The extension attribute `doc._.guide` holds a dictionary that any parser can write and that is stored with the Doc by
`DocBin(store_user_data=True)`, `doc.to_bytes` and `pickle`:

| key | what | |
| --- | --- | --- |
| "heads" | int32[tokens, k] | the most probable heads of each token as positions in the Doc, the most probable first; its own position says that it is a root |
| "head_probs" | float32[tokens, k] | their probabilities |
| "head_labels" | int32[tokens, k] | the most probable label of the arc from each of them, as a place in "label_names" |
| "label_names" | list[str] | labels |
| "tags" | int32[tokens, m] | the most probable tags of each token as places in "tag_names", the most probable first |
| "tag_probs" | float32[tokens, m] | their probabilities |
| "tag_names" | list[str] | tags |

k and m are at least 1. Where there is no such head or tag, as for white space, the number is -1 and the probability 0; a label can be
-1, too, as those of roots. Heads are those of the trees that the parser itself makes: if it lifts arcs to make them projective (Nivre &
Nilsson 2005), the labels are decorated as spaCy does it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..compat.spacy import nonproj
from ..compiled import NONE
from .arrays import HEADS, TAGS, Guides, block_starts, no_guides
from .documents import Encoder, Layout


@dataclass(frozen=True)
class Guide:
    """A guide whose arrays have been checked; the fields are those of the dictionary."""

    heads: np.ndarray
    head_probs: np.ndarray
    head_labels: np.ndarray
    label_names: list[str]
    tags: np.ndarray
    tag_probs: np.ndarray
    tag_names: list[str]


def write_guide(doc: Doc, guide: Guide) -> None:
    """Write a guide into a Doc, as the dictionary that it is stored as."""
    doc._.guide = dict(vars(guide))


def write_guides(docs: Sequence[Doc], layout: Layout, guides: Guides, encoder: Encoder) -> None:
    """Write what a parser believes about the words of blocks into their Docs.

    docs (Sequence[Doc]): The Docs.
    layout (Layout): Where the words of the blocks stand in them.
    guides (Guides): A row for each word.
    encoder (Encoder): What their numbers stand for.
    """
    is_none = guides.head_probability == 0.0
    own = np.arange(len(layout.token))[:, None]
    heads = np.where(guides.heads == NONE, own, guides.heads + block_starts(layout.offsets)[:, None])
    places = np.where(is_none, NONE, layout.token[heads])
    for i, doc in enumerate(docs):
        words = slice(layout.docs[i], layout.docs[i + 1])
        token = layout.token[words]
        found = no_guides(len(doc))
        found.heads[token] = places[words]
        for part in ("head_probability", "head_labels", "tags", "tag_probability"):
            getattr(found, part)[token] = getattr(guides, part)[words]
        write_guide(
            doc,
            Guide(
                heads=found.heads,
                head_probs=found.head_probability,
                head_labels=found.head_labels,
                label_names=list(encoder.labels),
                tags=found.tags,
                tag_probs=found.tag_probability,
                tag_names=list(encoder.tags),
            ),
        )


def read_guide(doc: Doc) -> Guide | None:
    """Read and check what has been written into a Doc.

    RETURNS (Guide | None): None if there is nothing.
    RAISES (ValueError): If it is no guide, or one of another document.
    """
    found = doc._.guide
    if found is None:
        return None
    try:
        guide = _read(found)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"doc._.guide is not what a guide should be: {error}. What wrote it, or the file that it was read from, is to blame."
        ) from error
    if len(guide.heads) != len(doc):
        raise ValueError(
            f"doc._.guide is about {len(guide.heads)} tokens, but the document has {len(doc)}. It was made before tokens were "
            "merged or split, or for another document: parse this one again."
        )
    return guide


def _read(found: Any) -> Guide:
    names = [declared.name for declared in fields(Guide)]
    if not isinstance(found, Mapping) or not found.keys() >= set(names):
        raise ValueError(f"it must be a dictionary with the keys {', '.join(names)}")
    label_names, tag_names = (_names(found[name], name) for name in ("label_names", "tag_names"))
    heads, head_labels, tags = (_table(found[name], name, np.int32) for name in ("heads", "head_labels", "tags"))
    head_probs, tag_probs = (_table(found[name], name, np.float32) for name in ("head_probs", "tag_probs"))
    if not heads.shape == head_labels.shape == head_probs.shape or tags.shape != tag_probs.shape:
        raise ValueError(
            "'heads', 'head_labels' and 'head_probs', or 'tags' and 'tag_probs', are not of the same shape"
        )
    if len(heads) != len(tags):
        raise ValueError("'heads' and 'tags' are not about the same tokens")
    _check_numbers(heads, "heads", len(heads))
    _check_numbers(head_labels, "head_labels", len(label_names))
    _check_numbers(tags, "tags", len(tag_names))
    for numbers, probs, name in ((heads, head_probs, "head_probs"), (tags, tag_probs, "tag_probs")):
        # What is not a number is not in the range.
        if not np.all((probs >= 0.0) & (probs <= 1.0)):
            raise ValueError(f"'{name}' has a probability that is not between 0 and 1")
        if np.any(probs[numbers == NONE] > 0.0):
            raise ValueError(f"'{name}' has a probability of something that is not there")
        if np.any(np.diff(probs, axis=1) > 0.0):
            raise ValueError(f"'{name}' must have the highest probability first")
    return Guide(heads, head_probs, head_labels, label_names, tags, tag_probs, tag_names)


def _names(value: Any, name: str) -> list[str]:
    # Stored lists may come back as tuples.
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"'{name}' must be a list of strings")
    return list(value)


def _table(value: Any, name: str, kind: type) -> np.ndarray:
    table = np.asarray(value)
    if not np.issubdtype(table.dtype, np.integer if kind is np.int32 else np.floating):
        raise ValueError(f"'{name}' must be an array of {np.dtype(kind).name}, not of {table.dtype}")
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"'{name}' must have a row for each token and at least one column")
    if kind is np.int32 and np.any(table != table.astype(np.int32)):
        raise ValueError(f"'{name}' has numbers that are too high or too low")
    return table.astype(kind)


def _check_numbers(numbers: np.ndarray, name: str, size: int) -> None:
    if np.any((numbers < NONE) | (numbers >= size)):
        raise ValueError(f"'{name}' has a number that is not from {NONE} to {size - 1}")


def block_guides(
    docs: Sequence[Doc], layout: Layout, labels: Mapping[str, int], tags: Mapping[str, int], *, reader: str
) -> Guides:
    """What the guides of some Docs say of the words of blocks, in the numbers of a component that reads them.

    Heads outside of a word's block are left out. A decorated label that the component does not have is taken for the one it decorates;
    other labels and tags that it does not have are `NONE`.

    docs (Sequence[Doc]): The Docs.
    layout (Layout): Where the words of the blocks stand in them.
    labels, tags (Mapping[str, int]): The component's numbers.
    reader (str): The component's name, for errors.
    RETURNS (Guides): A row for each word.
    RAISES (ValueError): If a Doc that has words has no guide, or a guide is damaged or that of another document.
    """
    words = len(layout.token)
    found = no_guides(words)
    begins = block_starts(layout.offsets)
    ends = np.repeat(layout.offsets[1:], np.diff(layout.offsets))
    for i, doc in enumerate(docs):
        start, end = layout.docs[i], layout.docs[i + 1]
        if start == end:
            continue
        guide = read_guide(doc)
        if guide is None:
            raise ValueError(
                f"The component '{reader}' reads guides, but a document has none (doc._.guide): the component that writes them is "
                "missing. In a pipeline put an 'hpyp_parser' with guides = true before it; to train and evaluate, use documents "
                "that 'python -m spacy hpyp annotate' has written."
            )
        token = layout.token[start:end]
        word_of = np.full(len(doc), NONE)
        word_of[token] = np.arange(start, end)
        heads, probability = _fit(guide.heads[token], HEADS, NONE), _fit(guide.head_probs[token], HEADS, 0.0)
        arc_labels = _fit(_translate(guide.head_labels[token], guide.label_names, labels), HEADS, NONE)
        is_root = heads == token[:, None]
        target = np.where(heads == NONE, NONE, word_of[heads])
        inside = (target >= begins[start:end, None]) & (target < ends[start:end, None])
        # What stays moves to the front.
        order = np.argsort(~inside, axis=1, kind="stable")
        place = np.where(is_root, NONE, target - begins[start:end, None])
        for part, values, nothing in (
            (found.heads, place, NONE),
            (found.head_probability, probability, 0.0),
            (found.head_labels, np.where(is_root, NONE, arc_labels), NONE),
        ):
            part[start:end] = np.take_along_axis(np.where(inside, values, nothing), order, axis=1)
        found.tags[start:end] = _fit(_translate(guide.tags[token], guide.tag_names, tags), TAGS, NONE)
        found.tag_probability[start:end] = _fit(guide.tag_probs[token], TAGS, 0.0)
    return found


def _fit(table: np.ndarray, columns: int, nothing: float) -> np.ndarray:
    """A table with so many columns, the last ones of which are dropped or filled in."""
    missing = max(0, columns - table.shape[1])
    return np.pad(table[:, :columns], ((0, 0), (0, missing)), constant_values=nothing)


def _translate(numbers: np.ndarray, names: Sequence[str], known: Mapping[str, int]) -> np.ndarray:
    """Places in a list of names as a component's numbers."""
    found = [known.get(name, known.get(name.split(nonproj.DELIMITER)[0], NONE)) for name in names]
    # `NONE` finds the last one.
    return np.array([*found, NONE], dtype=np.int32)[numbers]
