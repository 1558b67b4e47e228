"""Stored easy-first parsers; what is read is checked before anything compiled works on it."""

from typing import Any

import numpy as np
import srsly

from ..annotation.confidence import check_weights
from ..annotation.guides import HEADS
from ..compat.spacy import nonproj
from ..compiled import NONE
from ..easy_first.learning import Lessons, join
from ..easy_first.storage import pack_table, perceptron_from_message, perceptron_to_message, unpack_table
from ..hpyp.storage import pack_integers, unpack_integers
from ..storage.checksum import unpack_message
from .messages import (
    check_count,
    check_format,
    part,
    sentence_keys,
    strings,
    vocabulary_from_message,
    vocabulary_to_message,
)
from .tree_model import UNLEARNED, ParserProgress, TreeModel

FORMAT = 1
_NUMBERS = ("sentences", "visited", "passes", "steps")


def tree_model_to_bytes(model: TreeModel) -> bytes:
    """The whole model: templates, alphabets, vocabulary, weights with what their averages are made of, and how far training is."""
    message: dict[str, Any] = {"format": FORMAT, **_made_for(model)}
    if model.is_initialized:
        message |= {
            **vocabulary_to_message(model.vocabulary),
            "labels": model.labels,
            "arcs": perceptron_to_message(model.arc_perceptron),
            "arc_labels": perceptron_to_message(model.label_perceptron),
            "confidence": None if model.confidence is None else model.confidence.tolist(),
            "progress": _pack_progress(model.progress),
        }
    return srsly.msgpack_dumps(message)


def tree_model_from_bytes(model: TreeModel, data: bytes) -> TreeModel:
    """Read a stored model.

    model (TreeModel): A model with the settings of the one that was written; it stays as it is.
    RETURNS (TreeModel): A new model.
    RAISES (ValueError): If the bytes are damaged or belong to a model with other templates.
    """
    message = unpack_message(data)
    check_format(message, FORMAT, "an easy-first parser")
    for name, ours in _made_for(model).items():
        if message.get(name) != ours:
            raise ValueError(
                f"its {name} are not those of the config: a trained model cannot change what it reads, nor the size of its tables"
            )
    loaded = model.untrained()
    if "arcs" not in message:
        return loaded
    labels = strings(part(message, "labels", list))
    if any(label.count(nonproj.DELIMITER) > 1 for label in labels):
        raise ValueError("a label is decorated twice")
    vocabulary = vocabulary_from_message(message, model.vocabulary_settings.rule)
    loaded.initialize(vocabulary, labels, empty=True)
    loaded.arc_perceptron = perceptron_from_message(part(message, "arcs", dict), model.arc_places, 2)
    outcomes = max(1, len(labels))
    loaded.label_perceptron = perceptron_from_message(part(message, "arc_labels", dict), model.label_places, outcomes)
    if message.get("confidence") is not None:
        loaded.confidence = check_weights(part(message, "confidence", list), UNLEARNED)
    loaded.progress = _unpack_progress(loaded, part(message, "progress", dict))
    return loaded


def _made_for(model: TreeModel) -> dict[str, Any]:
    return {
        "templates": [model.arc_templates, model.label_templates],
        "places": [model.arc_places, model.label_places],
    }


def _pack_progress(progress: ParserProgress) -> dict[str, Any]:
    counted, held_out = sorted(progress.counts), [progress.held_out[key] for key in sorted(progress.held_out)]
    tags = [np.empty(0, dtype=np.int32), *(progress.tags[key] for key in sorted(progress.tags))]
    message = {name: getattr(progress, name) for name in _NUMBERS}
    message["counts"] = {
        "words": counted,
        "counts": pack_integers(np.array([progress.counts[word] for word in counted], dtype=np.int64)),
    }
    message["tags"] = {
        "keys": b"".join(sorted(progress.tags)),
        "lengths": pack_integers(np.array([len(each) for each in tags[1:]], dtype=np.int64)),
        # The least of them is `NONE`.
        "tags": pack_integers(np.concatenate(tags).astype(np.int64) - NONE),
    }
    message["held_out"] = {
        "keys": b"".join(sorted(progress.held_out)),
        "lengths": pack_integers(np.array([len(each.gold_heads) for each in held_out], dtype=np.int64)),
        "tables": [pack_table(table) for table in _tables(join(held_out))] if held_out else [],
    }
    return message


def _unpack_progress(model: TreeModel, message: dict[str, Any]) -> ParserProgress:
    counts, tags, held_out = (part(message, name, dict) for name in ("counts", "tags", "held_out"))
    words, numbers = strings(part(counts, "words", list)), unpack_integers(part(counts, "counts", dict)).tolist()
    if len(words) != len(numbers):
        raise ValueError("the counts of its words are damaged")
    lengths, given = (unpack_integers(part(tags, name, dict)) for name in ("lengths", "tags"))
    keys = sentence_keys(part(tags, "keys", bytes), len(lengths))
    if lengths.sum() != len(given) or np.any(given + NONE >= len(model.tags)):
        raise ValueError("the tags of its sentences are damaged")
    ends = np.cumsum(lengths)[:-1]
    return ParserProgress(
        **{name: check_count(part(message, name, int)) for name in _NUMBERS},
        counts=dict(zip(words, numbers, strict=True)),
        tags=dict(zip(keys, np.split(given + np.int32(NONE), ends), strict=True)) if keys else {},
        held_out=_unpack_held_out(model, held_out),
    )


def _tables(lessons: Lessons) -> list[np.ndarray]:
    """All of some lessons but where they begin, and what is of no use to confidence, as tables."""
    gold = np.column_stack([lessons.gold_heads, lessons.gold_labels])
    return [lessons.symbols, lessons.heads, lessons.probability, lessons.labels, lessons.expected, gold]


def _unpack_held_out(model: TreeModel, message: dict[str, Any]) -> dict[bytes, Lessons]:
    """Read the sentences that confidence is learned from, and check that they can be parsed."""
    lengths = unpack_integers(part(message, "lengths", dict)).astype(np.int64)
    keys, tables = sentence_keys(part(message, "keys", bytes), len(lengths)), part(message, "tables", list)
    if not keys:
        return {}
    n, k = int(lengths.sum()), HEADS if model.is_guided else 0
    kinds = [np.int32, np.int32, np.float32, np.int32, np.float32, np.int32]
    columns = [model.columns, k, k, k, 2, 2]
    if np.any(lengths < 1) or len(tables) != len(kinds):
        raise ValueError("the sentences that confidence is learned from are damaged")
    parts = [unpack_table(table, kind, (n, width)) for table, kind, width in zip(tables, kinds, columns, strict=True)]
    *said, gold = parts
    probability, expected = said[2], said[4]
    heads, labels = gold.T
    if (
        np.any((gold < NONE) | (gold >= np.column_stack([np.repeat(lengths, lengths), np.full(n, len(model.labels))])))
        or np.any((heads == NONE) != (labels == NONE))
        or np.any((probability < 0.0) | (probability > 1.0))
        or np.any(expected < 0.0)
    ):
        raise ValueError("the sentences that confidence is learned from are not what they should be")
    found, begin = {}, 0
    for key, length in zip(keys, lengths.tolist(), strict=True):
        own = slice(begin, begin + length)
        begin += length
        words = [np.ascontiguousarray(each[own]) for each in (*said, heads, labels)]
        found[key] = Lessons(*words, np.zeros(length, dtype=np.float32), np.array([0, length], dtype=np.int64))
    return found
