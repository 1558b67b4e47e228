"""Joint models as bytes, with all that they have seated; what is read is checked before anything compiled works on it."""

from collections import Counter
from typing import Any

import numpy as np
import srsly

from ..annotation.confidence import UNLEARNED, UNLEARNED_TAGS, Confidence, Passage, check_weights
from ..arc_standard.distributions import DISTRIBUTIONS, GATES
from ..arc_standard.oracle import is_derivation
from ..hpyp.franchise import NONE
from ..hpyp.storage import pack_integers, unpack_integers
from ..storage.checksum import unpack_message
from .joint_model import JointModel
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
from .progress import Progress, Sweep
from .settings import PoolSettings
from .spelling import Spelling

#: The format that is written. Models of format 1 have not learned any confidence.
FORMAT = 2
_USUAL_GATES = {name: list(gates) for name, gates in GATES.items()}
_USUAL_PACE = PoolSettings().gate_pace


def model_to_bytes(model: JointModel) -> bytes:
    """The whole model: alphabets, vocabulary, seating, which sentences are seated, and how far a sweep over them is."""
    confidence = model.confidence or Confidence(UNLEARNED, UNLEARNED_TAGS)
    msg: dict[str, Any] = {
        "format": FORMAT,
        "contexts": _context_lists(model),
        "gates": _gates(model),
        "gate_pace": model.pools.gate_pace,
        "root_last": model.root_last,
        "steps": model.progress.steps,
        "tokens": model.progress.tokens,
        "sweeps": model.progress.sweeps,
        "awaits_contrast": model.progress.awaits_contrast,
        "confidence": confidence.heads.tolist(),
        "tag_confidence": confidence.tags.tolist(),
    }
    if model.is_initialized:
        vocabulary, progress = model.vocabulary, model.progress
        keys = sorted(progress.seated)
        msg |= {
            **vocabulary_to_message(vocabulary),
            "labels": model.labels,
            "distributions": model.seating.pack(),
            "seated": b"".join(keys),
            "copies": pack_integers(np.array([progress.seated[key] for key in keys], dtype=np.int64)),
            "derivations": _pack_derivations(progress.derivations),
            "sweep": _pack_sweep(progress),
        }
        if model.spelling is not None:
            msg["spelling"] = model.spelling.to_message()
    return srsly.msgpack_dumps(msg)


def model_from_bytes(model: JointModel, data: bytes) -> JointModel:
    """Read what `model_to_bytes` wrote. The weights of pools are not part of it: they are those of `first_weights`.

    model (JointModel): A model with the settings of the one that was written; it stays as it is.
    RETURNS (JointModel): A new model. Its seating is not read yet, see `Seating.franchises`.
    RAISES (ValueError): If the bytes are damaged or belong to a model with other context lists.
    """
    msg = unpack_message(data)
    check_format(msg, FORMAT, "a model", oldest=1)
    if msg.get("contexts") != _context_lists(model):
        raise ValueError(
            "its context lists are not those of the config: a trained model cannot change what it is conditioned on"
        )
    # Files of earlier versions do not name these: they had the usual ones.
    if msg.get("gates", _USUAL_GATES) != _gates(model) or msg.get("gate_pace", _USUAL_PACE) != model.pools.gate_pace:
        raise ValueError(
            "its 'gates' or 'gate_pace' are not those of the config: the weights of a trained model are for its own ones"
        )
    # Files of earlier versions do not say it: ROOT came first.
    if msg.get("root_last", False) != model.root_last:
        raise ValueError(
            "its 'root' is not that of the config: a trained model cannot change where ROOT stands, which ends its sentences"
        )
    loaded = model.untrained()
    if "distributions" in msg:
        _read(loaded, msg)
    return loaded


def _context_lists(model: JointModel) -> dict[str, list[list[str]]]:
    return {name: [list(expert) for expert in each.experts] for name, each in model.conditionals.items()}


def _gates(model: JointModel) -> dict[str, list[str]]:
    return {name: list(model.contexts.gates.get(name, usual)) for name, usual in GATES.items()}


def _read(model: JointModel, msg: dict[str, Any]) -> None:
    """Read the parts of a trained model. Whatever is wrong with them is a ValueError; other errors are not the file's."""
    labels = strings(part(msg, "labels", list))
    if any(label.count("||") > 1 for label in labels):
        raise ValueError("a label is decorated twice")
    vocabulary = vocabulary_from_message(msg, model.vocabulary_settings.rule)
    distributions = part(msg, "distributions", dict)
    model.initialize(labels, vocabulary, {name: part(distributions, name, dict) for name in DISTRIBUTIONS})
    model.progress.seated = counted_sentences(msg, "seated", "copies")
    model.progress.derivations = _unpack_derivations(model, part(msg, "derivations", dict))
    # Files of earlier versions do not have it: for them, what is seated is all that there is, and a sweep is to begin.
    model.progress.sweep = (
        _unpack_sweep(model, part(msg, "sweep", dict)) if "sweep" in msg else Sweep(Counter(model.progress.seated))
    )
    # Files of earlier versions do not have it, and files of models whose rare words are not spelled out.
    if model.spelled and "spelling" in msg:
        model.spelling = Spelling.from_message(msg["spelling"])
    if msg["format"] > 1:
        heads = check_weights(part(msg, "confidence", list), UNLEARNED)
        # Files of earlier versions do not have it: for them, that of tags is their posterior probability.
        tags = check_weights(msg.get("tag_confidence", UNLEARNED_TAGS), UNLEARNED_TAGS)
        model.confidence = None if np.array_equal(heads, UNLEARNED) else Confidence(heads, tags)
    for name in ("steps", "tokens", "sweeps"):
        setattr(model.progress, name, check_count(part(msg, name, int)))
    # Files of earlier versions do not have it.
    model.progress.awaits_contrast = msg.get("awaits_contrast") is True


def _pack_derivations(derivations: dict[bytes, list[np.ndarray]]) -> dict[str, Any]:
    found = [(key, path) for key in sorted(derivations) for path in derivations[key]]
    paths = [path for _, path in found] or [np.empty(0, dtype=np.int32)]
    return {
        "keys": b"".join(key for key, _ in found),
        "words": pack_integers(np.array([len(path) // 3 for _, path in found], dtype=np.int64)),
        "paths": pack_integers(np.concatenate(paths)),
    }


def _unpack_derivations(model: JointModel, msg: dict[str, Any]) -> dict[bytes, list[np.ndarray]]:
    """Read the derivations of seated sentences and check that they are what they should be."""
    words, paths = (unpack_integers(part(msg, name, dict)) for name in ("words", "paths"))
    words, keys = words.astype(np.int64), sentence_keys(part(msg, "keys", bytes), len(words))
    if np.any(words < 1) or 3 * words.sum() != len(paths):
        raise ValueError("the derivations of its sentences are damaged")
    found: dict[bytes, list[np.ndarray]] = {}
    end = np.cumsum(3 * words)
    for i, n in enumerate(words.tolist()):
        path = paths[end[i] - 3 * n : end[i]]
        actions, tags = path[: 2 * n], path[2 * n :]
        if not is_derivation(actions, n, len(model.labels)) or tags.max() >= len(model.tags):
            raise ValueError("the derivation of a sentence is damaged")
        found.setdefault(keys[i], []).append(path.copy())
    if any(len(paths_of) > model.progress.seated.get(key, 0) for key, paths_of in found.items()):
        raise ValueError("it has derivations of sentences that are not seated")
    return found


def _pack_sweep(progress: Progress) -> dict[str, Any]:
    sweep, passages = progress.sweep, progress.sweep.passages
    # After the first sweep there are none.
    missing = sorted(key for key, count in sweep.copies.items() if count != progress.seated.get(key, 0))
    rows = [np.empty((4, 0), dtype=np.int32), *(sentence for passage in passages for sentence in passage.rows)]
    return {
        "visited": sweep.visited,
        "keys": b"".join(missing),
        "copies": pack_integers(np.array([sweep.copies[key] for key in missing], dtype=np.int64)),
        "passages": {
            "sentences": pack_integers(np.array([len(passage.rows) for passage in passages], dtype=np.int64)),
            "keys": b"".join(key for passage in passages for key in passage.keys),
            "words": pack_integers(np.array([sentence.shape[1] for sentence in rows[1:]], dtype=np.int64)),
            # The least of them is `NONE`.
            "rows": pack_integers(np.concatenate(rows, axis=1).astype(np.int64).ravel() - NONE),
        },
    }


def _unpack_sweep(model: JointModel, msg: dict[str, Any]) -> Sweep:
    """Read how far a sweep is, and check that what it tells of exists."""
    visited, missing = check_count(part(msg, "visited", int)), counted_sentences(msg, "keys", "copies")
    if any(count < model.progress.seated.get(key, 0) for key, count in missing.items()):
        raise ValueError("it has seated a sentence more often than the treebank has it")
    passages = part(msg, "passages", dict)
    sentences, words, rows = (unpack_integers(part(passages, name, dict)) for name in ("sentences", "words", "rows"))
    words = words.astype(np.int64)
    keys = sentence_keys(part(passages, "keys", bytes), len(words))
    if np.any(sentences < 1) or sentences.sum() != len(words) or np.any(words < 1) or 4 * words.sum() != len(rows):
        raise ValueError("the passages of its sweep are damaged")
    rows = rows.reshape(4, -1) + np.int32(NONE)
    alphabets, labels = model.alphabets(model.vocabulary), max(1, len(model.labels))
    limits = [np.full(len(rows[0]), size) for size in (alphabets["word"], alphabets["tag"] - model.root_last)]
    limits += [np.repeat(words, words), np.full(len(rows[0]), labels)]
    # A root has no label, and what is none has one.
    if np.any(rows >= np.array(limits)) or np.any(rows[:2] < 0) or np.any((rows[2] == NONE) != (rows[3] == NONE)):
        raise ValueError("the passages of its sweep have words, tags or labels that do not exist")
    found = np.split(rows, np.cumsum(words)[:-1], axis=1)
    ends = np.cumsum(sentences).tolist()
    return Sweep(
        copies=Counter(model.progress.seated | missing),
        visited=visited,
        passages=[Passage(keys[end - n : end], found[end - n : end]) for n, end in zip(sentences.tolist(), ends)],
    )
