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

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    for doc, words in zip(docs, layout.words):
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
    guide = _read(doc, None)
    if guide is not None:
        _check([guide])
    return guide


def _read(doc: Doc, before: Guide | None) -> Guide | None:
    """Read what has been written into a Doc, perhaps after another guide, and check all but its numbers."""
    found = doc._.guide
    if found is None:
        return None
    with _blaming_the_guide():
        guide = _take_apart(found, before)
    if len(guide.heads) != len(doc):
        raise ValueError(
            f"doc._.guide is about {len(guide.heads)} tokens, but the document has {len(doc)}. It was made before tokens were "
            "merged or split, or for another document: parse this one again."
        )
    return guide


@contextmanager
def _blaming_the_guide() -> Iterator[None]:
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"doc._.guide is not what a guide should be: {error}. What wrote it, or the file that it was read from, is to blame."
        ) from error


_PARTS = [declared.name for declared in fields(Guide)]


def _take_apart(found: Any, before: Guide | None) -> Guide:
    if not isinstance(found, Mapping) or not found.keys() >= set(_PARTS):
        raise ValueError(f"it must be a dictionary with the keys {', '.join(_PARTS)}")
    # Most guides have the names of the one before.
    label_names = _names(found["label_names"], "label_names", None if before is None else before.label_names)
    tag_names = _names(found["tag_names"], "tag_names", None if before is None else before.tag_names)
    heads, head_labels, tags = (_table(found[name], name, np.int32) for name in ("heads", "head_labels", "tags"))
    head_probs, tag_probs = (_table(found[name], name, np.float32) for name in ("head_probs", "tag_probs"))
    if not heads.shape == head_labels.shape == head_probs.shape or tags.shape != tag_probs.shape:
        raise ValueError(
            "'heads', 'head_labels' and 'head_probs', or 'tags' and 'tag_probs', are not of the same shape"
        )
    if len(heads) != len(tags):
        raise ValueError("'heads' and 'tags' are not about the same tokens")
    return Guide(heads, head_probs, head_labels, label_names, tags, tag_probs, tag_names)


def _check(guides: Sequence[Guide]) -> dict[str, np.ndarray]:
    """Check the numbers of some guides, one at least. Returns their tables, one below the other; what narrower ones lack is nothing."""
    tables = {
        name: _join([getattr(guide, name) for guide in guides], nothing)
        for name, nothing in (
            ("heads", NONE),
            ("head_probs", 0.0),
            ("head_labels", NONE),
            ("tags", NONE),
            ("tag_probs", 0.0),
        )
    }
    rows = [len(guide.heads) for guide in guides]
    with _blaming_the_guide():
        for name, sizes in (
            ("heads", rows),
            ("head_labels", [len(guide.label_names) for guide in guides]),
            ("tags", [len(guide.tag_names) for guide in guides]),
        ):
            _check_numbers(tables[name], name, np.repeat(sizes, rows))
        for numbers, probs, name in (
            (tables["heads"], tables["head_probs"], "head_probs"),
            (tables["tags"], tables["tag_probs"], "tag_probs"),
        ):
            # What is not a number is not in the range.
            if not np.all((probs >= 0.0) & (probs <= 1.0)):
                raise ValueError(f"'{name}' has a probability that is not between 0 and 1")
            if np.any(probs[numbers == NONE] > 0.0):
                raise ValueError(f"'{name}' has a probability of something that is not there")
            if np.any(probs[:, 1:] > probs[:, :-1]):
                raise ValueError(f"'{name}' must have the highest probability first")
    return tables


def _join(tables: Sequence[np.ndarray], nothing: float) -> np.ndarray:
    """Tables one below the other, as wide as the widest of them."""
    columns = max(table.shape[1] for table in tables)
    return np.concatenate([table if table.shape[1] == columns else _fit(table, columns, nothing) for table in tables])


def _names(value: Any, name: str, known: list[str] | None) -> list[str]:
    if known is not None and value == known:
        return known
    # Stored lists may come back as tuples.
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"'{name}' must be a list of strings")
    return list(value)


def _table(value: Any, name: str, kind: type) -> np.ndarray:
    table = np.asarray(value)
    if table.dtype == kind and table.ndim == 2 and table.shape[1] > 0:
        return table
    if not np.issubdtype(table.dtype, np.integer if kind is np.int32 else np.floating):
        raise ValueError(f"'{name}' must be an array of {np.dtype(kind).name}, not of {table.dtype}")
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"'{name}' must have a row for each token and at least one column")
    if kind is np.int32 and np.any(table != table.astype(np.int32)):
        raise ValueError(f"'{name}' has numbers that are too high or too low")
    return table.astype(kind)


def _check_numbers(numbers: np.ndarray, name: str, sizes: np.ndarray) -> None:
    wrong = np.any((numbers < NONE) | (numbers >= sizes[:, None]), axis=1)
    if np.any(wrong):
        raise ValueError(f"'{name}' has a number that is not from {NONE} to {sizes[wrong][0] - 1}")


def names_in_guides(docs: Sequence[Doc], part: str) -> list[str]:
    """The names of tags or labels that the guides of some Docs have.

    part (str): "tag_names" or "label_names".
    """
    guides = (_read(doc, None) for doc in docs)
    return list(dict.fromkeys(name for guide in guides if guide is not None for name in getattr(guide, part)))


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
    own = np.diff(layout.docs)
    read: list[Guide] = []
    for doc, words in zip(docs, own):
        if words == 0:
            continue
        guide = _read(doc, read[-1] if read else None)
        if guide is None:
            raise ValueError(
                f"The component '{reader}' reads guides, but a document has none (doc._.guide): the component that writes them is "
                "missing. In a pipeline put an 'hpyp_parser' with guides = true before it; to train and evaluate, use documents "
                "that 'python -m spacy hpyp guides' has written."
            )
        read.append(guide)
    if not read:
        return no_guides(0)
    tables = _check(read)
    own = own[own > 0]
    rows = np.array([len(guide.heads) for guide in read])
    # Of each word the row of its guide's first token, its own row, and where its block begins and ends.
    first = np.repeat(np.cumsum(rows) - rows, own)[:, None]
    row = first[:, 0] + layout.token
    begins = block_starts(layout.offsets)[:, None]
    ends = np.repeat(layout.offsets[1:], np.diff(layout.offsets))[:, None]
    word_of = np.full(rows.sum(), NONE)
    word_of[row] = np.arange(len(row))
    heads = _fit(tables["heads"][row], HEADS, NONE)
    probability = _fit(tables["head_probs"][row], HEADS, 0.0)
    arc_labels = _translate(tables["head_labels"][row], [guide.label_names for guide in read], own, labels)
    is_root = heads == layout.token[:, None]
    target = np.where(heads == NONE, NONE, word_of[first + heads])
    inside = (target >= begins) & (target < ends)
    # What stays moves to the front.
    order = np.argsort(~inside, axis=1, kind="stable")

    def in_order(values: np.ndarray, nothing: float) -> np.ndarray:
        return np.take_along_axis(np.where(inside, values, nothing), order, axis=1)

    return Guides(
        in_order(np.where(is_root, NONE, target - begins), NONE).astype(np.int32),
        in_order(probability, np.float32(0.0)),
        in_order(np.where(is_root, NONE, _fit(arc_labels, HEADS, NONE)), NONE).astype(np.int32),
        _fit(_translate(tables["tags"][row], [guide.tag_names for guide in read], own, tags), TAGS, NONE),
        _fit(tables["tag_probs"][row], TAGS, 0.0),
    )


def _fit(table: np.ndarray, columns: int, nothing: float) -> np.ndarray:
    """A table with so many columns, the last ones of which are dropped or filled in."""
    fitting = np.full((len(table), columns), nothing, dtype=table.dtype)
    fitting[:, : table.shape[1]] = table[:, :columns]
    return fitting


def _translate(
    numbers: np.ndarray, names: Sequence[list[str]], words: np.ndarray, known: Mapping[str, int]
) -> np.ndarray:
    """Places in the lists of names of guides (int32[words, *]), each about so many words, as a component's numbers."""
    found: list[int] = []
    begins: list[int] = []
    for i, own in enumerate(names):
        if i > 0 and own is names[i - 1]:
            begins.append(begins[-1])
            continue
        begins.append(len(found))
        found.extend(known.get(name, known.get(name.split(nonproj.DELIMITER)[0], NONE)) for name in own)
    place = np.where(numbers == NONE, len(found), numbers + np.repeat(begins, words)[:, None])
    return np.array([*found, NONE], dtype=np.int32)[place]
