"""How the training of an easy-first parser stands in messages."""

import numpy as np

from ..annotation.arrays import joined
from ..compiled import NONE
from ..easy_first.learning import Lessons
from ..easy_first.storage import pack_table, unpack_table
from ..storage.schema import (
    Field,
    Message,
    Sizes,
    arrays,
    different_names,
    group,
    inside,
    integers,
    numbers,
    part,
    sentence_keys,
)

# The tables of `_tables`, in their order: what they are of, and what they have as many columns as, or how many.
_TABLES = [
    *((np.int32, "columns"), (np.int32, "guides"), (np.float32, "guides"), (np.int32, "guides")),
    *((np.float32, 2), (np.int32, 2)),
]
_LENGTHS = integers("lengths")


def _write_held_out(value: dict[bytes, Lessons]) -> Message:
    keys = sorted(value)
    lessons = [value[key] for key in keys]
    lengths = np.array([len(each.gold_heads) for each in lessons], dtype=np.int64)
    tables = [pack_table(table) for table in _tables(joined(lessons))] if lessons else []
    return {"keys": b"".join(keys), **_LENGTHS.write(lengths), "tables": tables}


def _read_held_out(message: Message, sizes: Sizes) -> dict[bytes, Lessons]:
    lengths = _LENGTHS.read(message, sizes).astype(np.int64)
    keys, tables = sentence_keys(part(message, "keys", bytes), len(lengths)), part(message, "tables", list)
    if not keys:
        return {}
    n = int(lengths.sum())
    if np.any(lengths < 1) or len(tables) != len(_TABLES):
        raise ValueError("the sentences that confidence is learned from are damaged")
    *said, gold = (
        unpack_table(table, kind, (n, width if isinstance(width, int) else sizes[width]))
        for table, (kind, width) in zip(tables, _TABLES, strict=True)
    )
    probability, expected, (heads, labels) = said[2], said[4], gold.T
    limits = np.column_stack([np.repeat(lengths, lengths), np.full(n, sizes["labels"])])
    if (
        np.any((gold < NONE) | (gold >= limits))
        or np.any((heads == NONE) != (labels == NONE))
        or np.any((probability < 0.0) | (probability > 1.0))
        or np.any(expected < 0.0)
    ):
        raise ValueError("the sentences that confidence is learned from are not what they should be")
    found = {}
    for key, end, length in zip(keys, np.cumsum(lengths).tolist(), lengths.tolist(), strict=True):
        words = [np.ascontiguousarray(each[end - length : end]) for each in (*said, heads, labels)]
        found[key] = Lessons(*words, np.zeros(length, dtype=np.float32), np.array([0, length], dtype=np.int64))
    return found


def _tables(lessons: Lessons) -> list[np.ndarray]:
    """All of some lessons but where they begin, and what is of no use to confidence, as tables."""
    gold = np.column_stack([lessons.gold_heads, lessons.gold_labels])
    return [lessons.symbols, lessons.heads, lessons.probability, lessons.labels, lessons.expected, gold]


#: `ParserProgress` in messages. Sentences that confidence is learned from are stored without how rare their words are.
PROGRESS = inside(
    "progress",
    group(
        **numbers("sentences", "visited", "passes", "steps"),
        counts=inside("counts", group(words=different_names("words"), counts=integers("counts"))),
        tags=inside(
            "tags",
            arrays("lengths", "tags", "the tags of its sentences are damaged", keys="keys", lowest=NONE, below="tags"),
        ),
        held_out=inside("held_out", Field(_write_held_out, _read_held_out)),
    ),
)
