"""Models with latent states as bytes, with all that training needs to go on; what is read is checked before it is used."""

from typing import Any

import numpy as np
import srsly

from ..head_outward.states import OF_DOCUMENTS, STATE, StateModel, columns_of, word_counts
from ..hpyp.franchise import DISH, N_RESTAURANTS, N_SERVINGS, RESTAURANT, SERVED, SYMBOL, TIER, Franchise
from ..hpyp.storage import pack, pack_integers, unpack, unpack_integers
from ..storage.checksum import unpack_message
from .latent_states import LatentStates, StateTraining
from .messages import check_count, check_format, part, sentence_keys, vocabulary_from_message, vocabulary_to_message

#: The format that is written.
FORMAT = 1


def latent_states_to_bytes(model: LatentStates) -> bytes:
    """The whole model: its words, its seating, and the states of the documents that are seated."""
    msg: dict[str, Any] = {"format": FORMAT, **_made_for(model)}
    if model.is_initialized:
        training = model.training
        msg |= vocabulary_to_message(model.vocabulary)
        msg |= {
            "of_states": pack(model.seating.states),
            "of_words": pack(model.seating.words),
            "documents": b"".join(training.documents),
            "lengths": pack_integers(np.array([len(states) for states in training.states])),
            "state": pack_integers(np.concatenate([np.empty(0, dtype=np.int32), *training.states])),
            "drawn": pack_integers(np.array(list(training.heads), dtype=np.int64)),
            # A child of the root has no head, and is stored as 0.
            "heads": pack_integers(np.concatenate([np.empty(0, dtype=np.int64), *training.heads.values()]) + 1),
            "size": training.size,
            "visited": training.visited,
            "steps": training.steps,
        }
    return srsly.msgpack_dumps(msg)


def latent_states_from_bytes(model: LatentStates, data: bytes) -> LatentStates:
    """Read what `latent_states_to_bytes` wrote.

    model (LatentStates): A model with the settings of the one that was written; it stays as it is.
    RETURNS (LatentStates): A new model.
    RAISES (ValueError): If the bytes are damaged or belong to a model of another kind or with another number of states.
    """
    msg = unpack_message(data)
    check_format(msg, FORMAT, "a model")
    for name, ours in _made_for(model).items():
        if msg.get(name) != ours:
            raise ValueError(f"its '{name}' is {msg.get(name)!r}, and that of the config {ours!r}")
    loaded = model.untrained()
    if "of_words" in msg:
        vocabulary = vocabulary_from_message(msg, model.vocabulary_settings.rule)
        of_states, of_words = columns_of(model.kind, model.back_off)
        seating = StateModel(
            unpack(part(msg, "of_states", dict), of_states, model.states),
            unpack(part(msg, "of_words", dict), of_words, len(vocabulary)),
            np.array([model.kind in OF_DOCUMENTS]),
        )
        loaded.initialize(vocabulary, seating)
        loaded.training = _read_training(msg, model.states)
        _check(loaded)
    return loaded


def _made_for(model: LatentStates) -> dict[str, Any]:
    return {"kind": model.kind, "states": model.states, "back_off": model.back_off}


def _read_training(msg: dict[str, Any], states: int) -> StateTraining:
    lengths = unpack_integers(part(msg, "lengths", dict))
    state = unpack_integers(part(msg, "state", dict))
    keys = sentence_keys(part(msg, "documents", bytes), len(lengths))
    if len(set(keys)) < len(keys):
        raise ValueError("a document is listed twice")
    if lengths.sum() != len(state) or int(state.max(initial=0)) >= states:
        raise ValueError("the states of the documents are damaged")
    split = np.split(state, np.cumsum(lengths)[:-1]) if len(lengths) else []
    drawn, heads = (unpack_integers(part(msg, name, dict)) for name in ("drawn", "heads"))
    if len(set(drawn.tolist())) < len(drawn) or int(drawn.max(initial=-1)) >= len(lengths):
        raise ValueError("a document whose trees were drawn does not exist, or is listed twice")
    ends = np.cumsum(lengths[drawn])
    if len(heads) != lengths[drawn].sum() or np.any(heads > np.repeat(lengths[drawn], lengths[drawn])):
        raise ValueError("the trees of the documents are damaged")
    trees = np.split(heads - 1, ends[:-1]) if len(drawn) else []
    return StateTraining(
        documents={key: number for number, key in enumerate(keys)},
        states=split,
        heads={int(number): tree.astype(np.int32) for number, tree in zip(drawn, trees)},
        **{name: check_count(part(msg, name, int)) for name in ("size", "visited", "steps")},
    )


def _check(model: LatentStates) -> None:
    """RAISES (ValueError): If the seating is not that of the documents' words and states."""
    seating, training = model.seating, model.training
    conditions = len(training.documents) if model.kind in OF_DOCUMENTS else len(model.vocabulary) + 1
    _check_symbols(seating.states, [conditions])
    limits = [model.states if column == STATE else len(model.vocabulary) + 1 for column in seating.words.columns[0]]
    _check_symbols(seating.words, limits)
    state = np.concatenate([np.empty(0, dtype=np.int32), *training.states])
    found = [word_counts(seating).sum(axis=1), _dish_counts(seating.states)]
    if any(not np.array_equal(np.bincount(state, minlength=model.states), counts) for counts in found):
        raise ValueError("the states of the documents and the seating do not belong together")
    if np.any(seating.states.discount) or np.any(seating.words.discount):
        raise ValueError("a discount is not 0")


def _dish_counts(franchise: Franchise) -> np.ndarray:
    """How often each dish is served where contexts are complete."""
    rows = franchise.servings[: franchise.used[N_SERVINGS]]
    rows = rows[franchise.restaurants[rows[:, RESTAURANT], TIER] == franchise.columns.shape[1]]
    return np.bincount(rows[:, DISH], weights=rows[:, SERVED], minlength=franchise.alphabet[0])


def _check_symbols(franchise: Franchise, limits: list[int]) -> None:
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    for level, limit in enumerate(limits[: franchise.columns.shape[1]], start=1):
        if int(restaurants[restaurants[:, TIER] == level, SYMBOL].max(initial=-1)) >= limit:
            raise ValueError("a context does not exist")
