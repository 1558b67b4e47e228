"""Guides: what a parser believes about the tokens of a Doc, for components that learn from it
(stacking features, Nivre & McDonald 2008).

Any parser can write the dictionary `doc._.guide`, which is stored with the user data of the Doc:

- "heads" (int32[tokens, k]): The most probable heads of each token as positions in the Doc, the
  best first. Its own position stands for a root.
- "head_probs" (float32[tokens, k]): Their probabilities.
- "head_labels" (int32[tokens, k]): The most probable label of each arc, as a place in
  "label_names".
- "tags" (int32[tokens, m]): The most probable tags as places in "tag_names", the best first.
- "tag_probs" (float32[tokens, m]): Their probabilities.
- "label_names", "tag_names" (list[str]): Labels and tags. Labels of lifted arcs are decorated as
  by spaCy (Nivre & Nilsson 2005).

Missing heads and tags are -1, with the probability 0. Unknown labels and those of roots are -1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from spacy.tokens import Doc

from ..compiled import NONE
from ..spacy_internals import nonproj
from .arrays import HEADS, TAGS, Guides, block_starts, no_guides
from .encoding import Layout
from .sentences import Encoder


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
    """Write a guide into a Doc."""
    doc._.guide = dict(vars(guide))


def read_guide(doc: Doc) -> Guide | None:
    """Return the guide of a Doc; None if there is none.

    RAISES (ValueError): If it is about another number of tokens.
    """
    if doc._.guide is None:
        return None
    guide = Guide(**doc._.guide)
    if len(guide.heads) != len(doc):
        raise ValueError(
            f"doc._.guide is about {len(guide.heads)} tokens, but the document has {len(doc)}: "
            "parse it again."
        )
    return guide


def write_guides(docs: Sequence[Doc], layout: Layout, guides: Guides, encoder: Encoder) -> None:
    """Write a parser's beliefs about the words of blocks into their Docs."""
    is_none = guides.head_probability == 0.0
    words = np.arange(len(layout.token))[:, None]
    starts = block_starts(layout.offsets)[:, None]
    heads = np.where(guides.heads == NONE, words, guides.heads + starts)
    guides = guides._replace(heads=np.where(is_none, NONE, layout.token[heads]))
    for doc, words in zip(docs, layout.words):
        of_tokens = no_guides(len(doc))
        for column, of_words in zip(of_tokens, guides):
            column[layout.token[words]] = of_words[words]
        arcs, tags = of_tokens[:3], of_tokens[3:]
        write_guide(doc, Guide(*arcs, list(encoder.labels), *tags, list(encoder.vocabulary.tags)))


def names_in_guides(docs: Sequence[Doc], part: str) -> list[str]:
    """Return the "tag_names" or "label_names" in the guides of Docs; errors as of `read_guide`."""
    guides = [guide for guide in map(read_guide, docs) if guide is not None]
    return list(dict.fromkeys(name for guide in guides for name in getattr(guide, part)))


def block_guides(
    docs: Sequence[Doc],
    layout: Layout,
    labels: Mapping[str, int],
    tags: Mapping[str, int],
    *,
    reader: str,
) -> Guides:
    """Return the guides of the words of blocks, in the numbers of the component that reads them.

    Heads outside a word's block are left out. An unknown decorated label is taken for the one it
    decorates; other unknown labels and tags are `NONE`. Only `HEADS` heads and `TAGS` tags count.

    layout (Layout): The positions of the words in the Docs.
    labels, tags (Mapping[str, int]): The component's numbers.
    reader (str): The component's name, for errors.
    RAISES (ValueError): If a Doc with words has no guide, or one about another number of tokens.
    """
    found = no_guides(len(layout.token))
    starts = block_starts(layout.offsets)[:, None]
    ends = np.repeat(layout.offsets[1:], np.diff(layout.offsets))[:, None]
    for doc, words, token in zip(docs, layout.words, layout.tokens):
        if len(token) == 0:
            continue
        guide = read_guide(doc)
        if guide is None:
            raise ValueError(
                f"The component '{reader}' reads guides, but a document has none. Put an "
                "'hpyp_parser' with guides = true before it, and train this component on documents "
                "written by 'python -m spacy hpyp guides'."
            )
        word_of = np.full(len(doc) + 1, NONE)
        word_of[token] = np.arange(words.start, words.stop)
        heads = guide.heads[token, :HEADS]
        target = word_of[heads]
        inside = (target >= starts[words]) & (target < ends[words])
        has_label = inside & (heads != token[:, None])
        arcs = _translate(guide.head_labels[token, :HEADS], guide.label_names, labels)
        columns = (
            np.where(has_label, target - starts[words], NONE),
            np.where(inside, guide.head_probs[token, :HEADS], 0.0),
            np.where(has_label, arcs, NONE),
        )
        # Heads inside move to the front.
        order = np.argsort(~inside, axis=1, kind="stable")
        for column, of_doc in zip(found, columns):
            column[words, : heads.shape[1]] = np.take_along_axis(of_doc, order, axis=1)
        numbers = _translate(guide.tags[token, :TAGS], guide.tag_names, tags)
        found.tags[words, : numbers.shape[1]] = numbers
        found.tag_probability[words, : numbers.shape[1]] = guide.tag_probs[token, :TAGS]
    return found


def _translate(numbers: np.ndarray, names: Sequence[str], known: Mapping[str, int]) -> np.ndarray:
    """Return places in a guide's list of names as a component's numbers (int32[words, *])."""
    found = [known.get(name, known.get(name.split(nonproj.DELIMITER)[0], NONE)) for name in names]
    # The last entry is for `NONE`.
    return np.array([*found, NONE], dtype=np.int32)[numbers]
