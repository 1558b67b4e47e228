"""Perceptrons as messages: compact, and checked before anything compiled reads them.

What is stored are the weights as they are after the last update, the sums and the clock, so that training can
go on; the averages follow from them. Or the averages alone, in the whole numbers that they are multiples by,
see `perceptron.averages_alone`, if there is to be no training. Zeros, which most are, are left out.
"""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compat.memory import giving_back
from ..storage.arrays import compress, pack_integers, unpack_integers
from .perceptron import (
    PRECISION,
    Perceptron,
    Rounded,
    is_compact,
    new_perceptron,
    round_averages,
    table_of_averages,
)

# Tables are read in pieces of about so many numbers: a copy of the largest would be most of what a process
# needs.
_PIECE = 1 << 20
# zlib compresses to no less than this part.
_DENSEST = 1040


class StoredPerceptron:
    """A perceptron as it was stored, all of which has been checked: what predicts reads its averages, and
    what learns unpacks it.

    message (dict[str, Any]), places, outcomes (int): See `perceptron_from_message`.
    rounded (bool): Whether its averages are rounded to 16 bits.
    RAISES (ValueError): If it is of another shape.
    """

    def __init__(self, message: dict[str, Any], places: int, outcomes: int, *, rounded: bool = True) -> None:
        self.message, self._shape = message, (places, outcomes)
        #: What it predicts by.
        self.averages = self._unpack_averages(rounded)

    def _unpack_averages(self, rounded: bool) -> np.ndarray | Rounded:
        clock, entries, found, sums, _ = _read(self.message, *self._shape)
        if clock:
            # In place: there are millions.
            np.copyto(
                found, np.subtract(found, np.divide(sums, clock, out=sums), out=sums), casting="same_kind"
            )
        multiples, step = round_averages(found) if rounded else (found, 1.0)
        table = np.zeros(self._shape, dtype=multiples.dtype)
        table.reshape(-1, 1)[entries] = multiples
        return Rounded(table, step) if rounded else table

    def unpack(self) -> Perceptron:
        """The perceptron."""
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
def perceptron_to_message(perceptron: Perceptron | StoredPerceptron) -> dict[str, Any]:
    """A perceptron as a dictionary that srsly can write."""
    if isinstance(perceptron, StoredPerceptron):
        return perceptron.message
    entries = np.flatnonzero((perceptron.weights != 0.0) | (perceptron.sums != 0.0))
    message = {
        "clock": int(perceptron.clock[0]),
        "compact": is_compact(perceptron),
        "outcomes": perceptron.weights.shape[1],
        "entries": pack_integers(np.ediff1d(entries, to_begin=entries[:1]), zlib.Z_RLE),
    }
    if message["compact"]:
        return message | {"multiples": pack_integers(_fold(perceptron.weights.ravel()[entries]))}
    weights = _pack(entries, lambda some: perceptron.weights.reshape(-1, 1)[some], 1)
    return message | {
        "weights": weights,
        "sums": _pack(entries, lambda some: perceptron.sums.reshape(-1, 1)[some], 1),
    }


def _fold(weights: np.ndarray) -> np.ndarray:
    """Multiples of the precision as integers from 0 on, odd ones for what is positive."""
    multiples = np.rint(weights / PRECISION).astype(np.int64)
    return np.where(multiples > 0, 2 * multiples - 1, -2 * multiples)


def _unfold(folded: np.ndarray) -> np.ndarray:
    """The weights that `_fold` was given (float32[*, 1])."""
    return (np.where(folded % 2, folded // 2 + 1, -(folded // 2)) * np.float32(PRECISION)).astype(np.float32)[
        :, None
    ]


def perceptron_from_message(message: Any, places: int, outcomes: int) -> Perceptron:
    """Read what `perceptron_to_message` wrote.

    places, outcomes (int): The shape of its table.
    RAISES (ValueError): If it is damaged, or of another shape.
    """
    clock, entries, weights, sums, _ = _read(message, places, outcomes)
    perceptron = new_perceptron(places, outcomes)
    perceptron.weights.reshape(-1, 1)[entries] = weights
    if clock:
        perceptron.sums.reshape(-1, 1)[entries] = sums
    perceptron.clock[0] = clock
    return perceptron


def _read(message: Any, places: int, outcomes: int) -> tuple:
    """What a message says, see `perceptron_from_message`: the clock; where the weights stand that are not
    zero (int64[n]); these, and the sums of their changes (float32[n, 1], float64[n, 1]), of which there are
    none where no time has passed; and whether it is compact.
    """
    try:
        clock, compact, width, gaps = (message[name] for name in ("clock", "compact", "outcomes", "entries"))
        packed, sums = (message["multiples"], None) if compact else (message["weights"], message["sums"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"a part of its weights is missing or of the wrong kind ({error})") from error
    steps = unpack_integers(gaps)
    entries = np.cumsum(steps, dtype=np.int64)
    if width != outcomes or np.any(steps[1:] == 0) or (len(entries) > 0 and entries[-1] >= places * outcomes):
        raise ValueError("its weights are not those of a table of that size")
    if type(clock) is not int or not 0 <= clock < 2**62:
        raise ValueError("the number of updates is damaged")
    if compact is not (clock == 0 and len(entries) > 0):
        raise ValueError(
            "the number of updates is damaged: it is not 0 where, and only where, there are averages alone"
        )
    shape = (len(entries), 1)
    weights = _unfold(unpack_integers(packed)) if compact else unpack_table(packed, np.float32, shape)
    if weights.shape != shape:
        raise ValueError("its weights are not as many as they should be")
    return clock, entries, weights, unpack_table(sums, np.float64, shape) if clock else None, compact


def pack_table(values: np.ndarray) -> bytes:
    """Compress a table of numbers."""
    return _pack(np.arange(len(values)), lambda rows: values[rows], values.shape[1])


def _pack(rows: np.ndarray, read: Callable[[np.ndarray], np.ndarray], columns: int) -> bytes:
    """Compress a table that is read some rows at a time."""
    step, width = max(1, _PIECE // max(1, columns)), read(rows[:0]).dtype.itemsize
    # Bytes of equal significance stand together: as weights are small whole numbers, most of them are zero.
    planes = np.empty((width, len(rows) * columns), dtype=np.uint8)
    for begin in range(0, len(rows), step):
        values = read(rows[begin : begin + step])
        little = (
            np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            .view(np.uint8)
            .reshape(-1, width)
        )
        planes[:, begin * columns :][:, : len(little)] = little.T
    return compress(planes, zlib.Z_RLE)


def unpack_table(data: Any, kind: type, shape: tuple[int, int]) -> np.ndarray:
    """Read what `pack_table` wrote.

    RAISES (ValueError): If it is damaged, or of another shape.
    """
    width, size = np.dtype(kind).itemsize, shape[0] * shape[1]
    reader = zlib.decompressobj()
    try:
        # Decompress no more than there can be: a few edited bytes must not fill the memory.
        planes = reader.decompress(data, width * size + 1) if width * size <= _DENSEST * len(data) else b""
    except (TypeError, zlib.error) as error:
        raise ValueError(f"a table cannot be decompressed ({error})") from error
    if len(planes) != width * size or not reader.eof:
        raise ValueError("a table has not as many numbers as it should have")
    values = np.frombuffer(planes, dtype=np.uint8).reshape(width, size).T.copy().reshape(-1)
    values = values.view(np.dtype(kind).newbyteorder("<")).reshape(shape)
    if not np.all(np.isfinite(values)):
        raise ValueError("a table has what is not a number")
    return values.astype(kind, copy=False)
