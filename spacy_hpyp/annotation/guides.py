"""Guides: the beliefs of a parser about the tokens of a Doc, for other components (Nivre & McDonald
2008).

`doc._.guide` holds a dictionary that any parser can write. It is stored with the user data of the
Doc:

- "heads" (int32[tokens, k]): the most probable heads of each token as positions in the Doc, the
  most probable first; its own position stands for a root.
- "head_probs" (float32[tokens, k]): their probabilities.
- "head_labels" (int32[tokens, k]): the most probable label of each arc, as a place in
  "label_names".
- "tags" (int32[tokens, m]): the most probable tags as places in "tag_names", the most probable
  first.
- "tag_probs" (float32[tokens, m]): their probabilities.
- "label_names", "tag_names" (list[str]): labels and tags.

Missing heads, tags and labels are -1, with the probability 0. A parser that lifts arcs to make
trees projective (Nivre & Nilsson 2005) decorates their labels as spaCy does.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

from ..compiled import NONE
from .arrays import HEADS, TAGS, Guides, block_starts, no_guides
from .documents import Encoder, Layout


@dataclass(frozen=True)
class Guide:
    """A guide; the fields are those of the dictionary."""

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
    """Write what a parser believes about the words of blocks into their Docs."""
    is_none = guides.head_probability == 0.0
    own = np.arange(len(layout.token))[:, None]
    heads = np.where(
        guides.heads == NONE, own, guides.heads + block_starts(layout.offsets)[:, None]
    )
    places = np.where(is_none, NONE, layout.token[heads])
    for doc, words in zip(docs, layout.words):
        token = layout.token[words]
        found = no_guides(len(doc))
        found.heads[token] = places[words]
        for part in ("head_probability", "head_labels", "tags", "tag_probability"):
            getattr(found, part)[token] = getattr(guides, part)[words]
        arcs = found.heads, found.head_probability, found.head_labels, list(encoder.labels)
        write_guide(doc, Guide(*arcs, found.tags, found.tag_probability, list(encoder.tags)))


def read_guide(doc: Doc) -> Guide | None:
    """Return the guide of a Doc; None if there is none.

    RAISES (ValueError): If it is about another number of tokens.
    """
    found = doc._.guide
    if found is None:
        return None
    integers = {
        name: np.asarray(found[name], dtype=np.int32) for name in ("heads", "head_labels", "tags")
    }
    probs = {
        name: np.asarray(found[name], dtype=np.float32) for name in ("head_probs", "tag_probs")
    }
    guide = Guide(
        **integers,
        **probs,
        label_names=list(found["label_names"]),
        tag_names=list(found["tag_names"]),
    )
    if len(guide.heads) != len(doc):
        raise ValueError(
            f"doc._.guide is about {len(guide.heads)} tokens, but the document has {len(doc)}: parse it "
            f"again."
        )
    return guide


def names_in_guides(docs: Sequence[Doc], part: str) -> list[str]:
    """The names of tags or labels ("tag_names", "label_names") that the guides of some Docs
    have.
    """
    guides = map(read_guide, docs)
    return list(
        dict.fromkeys(
            name for guide in guides if guide is not None for name in getattr(guide, part)
        )
    )


def block_guides(
    docs: Sequence[Doc],
    layout: Layout,
    labels: Mapping[str, int],
    tags: Mapping[str, int],
    *,
    reader: str,
) -> Guides:
    """Return the guides of the words of blocks, in the numbers of the component that reads them (a
    row a word).

    Heads outside a word's block are left out. An unknown decorated label is taken for the one it
    decorates; other unknown labels and tags are `NONE`.

    layout (Layout): The positions of the words in the Docs.
    labels, tags (Mapping[str, int]): The component's numbers.
    reader (str): The component's name, for errors.
    RAISES (ValueError): If a Doc with words has no guide of its own.
    """
    parts = [no_guides(0)]
    begins = block_starts(layout.offsets)[:, None]
    ends = np.repeat(layout.offsets[1:], np.diff(layout.offsets))[:, None]
    for doc, words in zip(docs, layout.words):
        if words.start == words.stop:
            continue
        guide = read_guide(doc)
        if guide is None:
            raise ValueError(
                f"The component '{reader}' reads guides, but a document has none. Put an 'hpyp_parser' with "
                "guides = true before it; train it on documents written by 'python -m spacy hpyp guides'."
            )
        token = layout.token[words]
        word_of = np.full(len(doc), NONE)
        word_of[token] = np.arange(words.start, words.stop)
        heads = _fit(guide.heads[token], HEADS, NONE)
        target = np.where(heads == NONE, NONE, word_of[heads])
        inside = (target >= begins[words]) & (target < ends[words])
        is_root = heads == token[:, None]
        arcs = _fit(_translate(guide.head_labels[token], guide.label_names, labels), HEADS, NONE)
        # What is inside moves to the front.
        order = np.argsort(~inside, axis=1, kind="stable")
        columns = (
            np.where(inside & ~is_root, target - begins[words], NONE),
            np.where(inside, _fit(guide.head_probs[token], HEADS, 0.0), np.float32(0.0)),
            np.where(inside & ~is_root, arcs, NONE),
        )
        tagged = _fit(_translate(guide.tags[token], guide.tag_names, tags), TAGS, NONE)
        ordered = [np.take_along_axis(column, order, axis=1) for column in columns]
        parts.append(Guides(*ordered, tagged, _fit(guide.tag_probs[token], TAGS, 0.0)))
    kinds = [part.dtype for part in parts[0]]
    return Guides(
        *(np.concatenate(column).astype(kind) for column, kind in zip(zip(*parts), kinds))
    )


def _fit(table: np.ndarray, columns: int, nothing: float) -> np.ndarray:
    """A table with so many columns, the last ones of which are dropped or filled in."""
    fitting = np.full((len(table), columns), nothing, dtype=table.dtype)
    fitting[:, : table.shape[1]] = table[:, :columns]
    return fitting


def _translate(numbers: np.ndarray, names: Sequence[str], known: Mapping[str, int]) -> np.ndarray:
    """Places in a guide's list of names as a component's numbers (int32[words, *])."""
    found = [known.get(name, known.get(name.split(nonproj.DELIMITER)[0], NONE)) for name in names]
    # The last one is that of `NONE`.
    return np.array([*found, NONE], dtype=np.int32)[numbers]
