"""Perceptrons as bytes.

Stored are the weights after the last update, the sums and the clock, so that training can go on; the averages
follow from them. Or the averages alone, as multiples of their precision (`perceptron.averages_alone`), if
there is to be no training. Zeros, which most are, are left out.
"""

from typing import Any

import numpy as np

from ..compat.memory import giving_back
from ..storage.format import dump, load
from .perceptron import (
    PRECISION,
    Perceptron,
    Rounded,
    is_compact,
    new_perceptron,
    round_averages,
    table_of_averages,
)


class StoredPerceptron:
    """A perceptron as it was stored: prediction reads its averages, learning unpacks it.

    message (bytes), places, outcomes (int): See `perceptron_from_message`.
    rounded (bool): Whether its averages are rounded to 16 bits.
    """

    def __init__(self, message: bytes, places: int, outcomes: int, *, rounded: bool = True) -> None:
        self.message, self._shape = message, (places, outcomes)
        clock, entries, averages, sums, _ = _read(message)
        if clock:
            sums /= clock
            averages = (averages - sums).astype(np.float32)
        multiples, step = round_averages(averages) if rounded else (averages, 1.0)
        table = np.zeros(self._shape, dtype=multiples.dtype)
        table.reshape(-1)[entries] = multiples
        #: What it predicts by.
        self.averages = Rounded(table, step) if rounded else table

    def unpack(self) -> Perceptron:
        """Return the perceptron."""
        return perceptron_from_message(self.message, *self._shape)


class Unpacked:
    """An attribute that is a perceptron, which may have been stored: it is unpacked when it is asked for.
    With "stored_" before its name it is what is there.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"stored_{name}"

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        found = self if model is None else vars(model)[self._name]
        if isinstance(found, StoredPerceptron):
            found = vars(model)[self._name] = found.unpack()
        return found

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self._name] = value


def averages_in(perceptron: Any, *, rounded: bool = True) -> np.ndarray | Rounded:
    """What a perceptron predicts by: the averages of one that was stored, or those that it has now."""
    if isinstance(perceptron, StoredPerceptron):
        return perceptron.averages
    table = table_of_averages(perceptron)
    return round_averages(table) if rounded else table


@giving_back
def perceptron_to_message(perceptron: Perceptron | StoredPerceptron) -> bytes:
    """Serialize a perceptron."""
    if isinstance(perceptron, StoredPerceptron):
        return perceptron.message
    entries = np.flatnonzero((perceptron.weights != 0.0) | (perceptron.sums != 0.0))
    weights, compact = perceptron.weights.ravel()[entries], is_compact(perceptron)
    return dump(
        {
            "clock": int(perceptron.clock[0]),
            "gaps": np.ediff1d(entries, to_begin=entries[:1]),
            "weights": np.rint(weights / PRECISION).astype(np.int64) if compact else weights,
            "sums": None if compact else perceptron.sums.ravel()[entries],
        }
    )


def perceptron_from_message(message: bytes, places: int, outcomes: int) -> Perceptron:
    """Read what `perceptron_to_message` wrote, into a table of `places` times `outcomes`."""
    clock, entries, weights, sums, compact = _read(message)
    perceptron = new_perceptron(places, outcomes)
    perceptron.weights.reshape(-1)[entries] = weights
    if not compact:
        perceptron.sums.reshape(-1)[entries] = sums
    perceptron.clock[0] = clock
    return perceptron


def _read(message: bytes) -> tuple[int, np.ndarray, np.ndarray, np.ndarray | None, bool]:
    """Return the clock, the places and values of weights, the sums, and whether there are averages alone."""
    found = load(message)
    weights, compact = found["weights"], found["sums"] is None
    if compact:
        weights = (weights * np.float32(PRECISION)).astype(np.float32)
    return found["clock"], np.cumsum(found["gaps"], dtype=np.int64), weights, found["sums"], compact
