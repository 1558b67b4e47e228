"""Head-outward models as bytes, with all that they have seated; what is read is checked before anything compiled works on it."""

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np
import srsly

from ..annotation.arrays import is_tree
from ..compiled import NONE
from ..head_outward.contexts import DISTRIBUTIONS
from ..hpyp.storage import pack, pack_integers, unpack, unpack_integers
from ..storage.checksum import unpack_message
from .head_outward_model import HeadOutwardModel
from .messages import (
    check_count,
    check_format,
    counted_sentences,
    part,
    sentence_keys,
    strings,
    vocabulary_from_message,
    vocabulary_to_message,
)
from .progress import Progress

FORMAT = 1
_NUMBERS = ("steps", "tokens", "sweeps")


def head_outward_to_bytes(model: HeadOutwardModel) -> bytes:
    """The whole model: alphabets, vocabulary, seating, which sentences are seated, with which trees, and how far a sweep is."""
    message: dict[str, Any] = {"format": FORMAT, **_made_for(model)}
    if model.is_initialized:
        progress = model.progress
        keys = sorted(progress.seated)
        missing = sorted(key for key, n in progress.sweep.copies.items() if n != progress.seated.get(key, 0))
        message |= {
            **vocabulary_to_message(model.vocabulary),
            "labels": model.labels,
            "distributions": {name: pack(franchise) for name, franchise in model.franchises.items()},
            "seated": b"".join(keys),
            "copies": pack_integers(np.array([progress.seated[key] for key in keys], dtype=np.int64)),
            "trees": _pack_trees(progress.derivations),
            "visited": progress.sweep.visited,
            "missing": b"".join(missing),
            "missing_copies": pack_integers(np.array([progress.sweep.copies[key] for key in missing], dtype=np.int64)),
            **{name: getattr(progress, name) for name in _NUMBERS},
        }
    return srsly.msgpack_dumps(message)


def head_outward_from_bytes(model: HeadOutwardModel, data: bytes) -> HeadOutwardModel:
    """Read what `head_outward_to_bytes` wrote. The weights of pools are not part of it: they are those of `first_weights`.

    model (HeadOutwardModel): A model with the settings of the one that was written; it stays as it is.
    RETURNS (HeadOutwardModel): A new model.
    RAISES (ValueError): If the bytes are damaged or belong to a model with other context lists or another estimator.
    """
    message = unpack_message(data)
    check_format(message, FORMAT, "a head-outward model")
    for name, ours in _made_for(model).items():
        if message.get(name) != ours:
            raise ValueError(f"its {name} are not those of the config: a trained model cannot change how it counts")
    loaded = model.untrained()
    if "distributions" in message:
        _read(loaded, message)
    return loaded


def _made_for(model: HeadOutwardModel) -> dict[str, Any]:
    kept = ("prior", "counts", "uniform_roots", "gate_pace")
    return {
        "contexts": {name: [list(expert) for expert in each.experts] for name, each in model.conditionals.items()},
        "estimators": {name: value for name, value in asdict(model.settings).items() if name in kept},
    }


def _read(model: HeadOutwardModel, message: dict[str, Any]) -> None:
    labels = strings(part(message, "labels", list))
    if any(label.count("||") > 1 for label in labels):
        raise ValueError("a label is decorated twice")
    vocabulary = vocabulary_from_message(message, model.vocabulary_settings.rule)
    model.initialize(labels, vocabulary)
    distributions = part(message, "distributions", dict)
    for name in DISTRIBUTIONS:
        packed = part(distributions, name, dict)
        how = {"one_table": model.one_table, "own_tables": model.own_tables}
        try:
            model.franchises[name] = unpack(packed, model.conditionals[name].columns, model.alphabets.of(name), **how)
        except ValueError as error:
            raise ValueError(f"its {name} distribution is damaged: {error}") from error
    progress = Progress()
    progress.seated = counted_sentences(message, "seated", "copies")
    missing = counted_sentences(message, "missing", "missing_copies")
    if any(count < progress.seated.get(key, 0) for key, count in missing.items()):
        raise ValueError("it has seated a sentence more often than the treebank has it")
    progress.sweep.copies = Counter(progress.seated | missing)
    progress.sweep.visited = check_count(part(message, "visited", int))
    progress.derivations = _unpack_trees(part(message, "trees", dict), len(labels), progress.seated)
    for name in _NUMBERS:
        setattr(progress, name, check_count(part(message, name, int)))
    model.progress = progress


def _pack_trees(trees: dict[bytes, list[np.ndarray]]) -> dict[str, Any]:
    found = [(key, tree) for key in sorted(trees) for tree in trees[key]]
    rows = [tree for _, tree in found] or [np.empty(0, dtype=np.int32)]
    return {
        "keys": b"".join(key for key, _ in found),
        "words": pack_integers(np.array([len(tree) // 2 for _, tree in found], dtype=np.int64)),
        # The least of them is `NONE`.
        "trees": pack_integers(np.concatenate(rows).astype(np.int64) - NONE),
    }


def _unpack_trees(message: dict[str, Any], labels: int, seated: dict[bytes, int]) -> dict[bytes, list[np.ndarray]]:
    """Read the trees that were drawn, and check that they are trees."""
    words, rows = (unpack_integers(part(message, name, dict)) for name in ("words", "trees"))
    words, keys = words.astype(np.int64), sentence_keys(part(message, "keys", bytes), len(words))
    if np.any(words < 1) or 2 * words.sum() != len(rows):
        raise ValueError("the trees of its sentences are damaged")
    found: dict[bytes, list[np.ndarray]] = {}
    ends = np.cumsum(2 * words)
    for key, n, end in zip(keys, words.tolist(), ends.tolist()):
        tree = rows[end - 2 * n : end] + np.int32(NONE)
        if not is_tree(tree[:n]) or tree[n:].max(initial=NONE) >= max(1, labels):
            raise ValueError("the tree of a sentence is damaged")
        if np.any((tree[:n] == NONE) != (tree[n:] == NONE)):
            raise ValueError("the tree of a sentence has a root with a label, or an arc without one")
        found.setdefault(key, []).append(tree.copy())
    if any(len(each) > seated.get(key, 0) for key, each in found.items()):
        raise ValueError("it has trees of sentences that are not seated")
    return found
