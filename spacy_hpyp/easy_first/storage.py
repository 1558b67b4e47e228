"""Perceptrons as messages: compact, and checked before anything compiled reads them.

What is stored are the weights as they are after the last update, the sums and the clock, so that training can go on; the averages
follow from them. Rows of zeros, which most are, are left out.
"""

import zlib
from typing import Any

import numpy as np

from ..hpyp.storage import pack_integers, unpack_integers
from .perceptron import Perceptron, new_perceptron

_LEVEL = 6


def perceptron_to_message(perceptron: Perceptron) -> dict[str, Any]:
    """A perceptron as a dictionary that srsly can write."""
    rows = np.flatnonzero(perceptron.weights.any(axis=1) | perceptron.sums.any(axis=1))
    return {
        "clock": int(perceptron.clock[0]),
        "gaps": pack_integers(np.diff(rows, prepend=0)),
        "weights": _pack(perceptron.weights[rows]),
        "sums": _pack(perceptron.sums[rows]),
    }


def perceptron_from_message(message: Any, places: int, outcomes: int) -> Perceptron:
    """Read what `perceptron_to_message` wrote.

    places, outcomes (int): The shape of its table.
    RETURNS (Perceptron): As it was.
    RAISES (ValueError): If it is damaged, or of another shape.
    """
    perceptron = new_perceptron(places, outcomes)
    try:
        clock, gaps, weights, sums = (message[part] for part in ("clock", "gaps", "weights", "sums"))
    except (KeyError, TypeError) as error:
        raise ValueError(f"a part of its weights is missing or of the wrong kind ({error})") from error
    steps = unpack_integers(gaps)
    rows = np.cumsum(steps, dtype=np.int64)
    if np.any(steps[1:] == 0) or (len(rows) > 0 and rows[-1] >= places):
        raise ValueError("its weights are not those of a table of that size")
    if type(clock) is not int or not 0 <= clock < 2**62:
        raise ValueError("the number of updates is damaged")
    perceptron.weights[rows] = _unpack(weights, np.float32, (len(rows), outcomes))
    perceptron.sums[rows] = _unpack(sums, np.float64, (len(rows), outcomes))
    perceptron.clock[0] = clock
    return perceptron


def _pack(values: np.ndarray) -> bytes:
    # Bytes of equal significance stand together: as weights are small whole numbers, most of them are zero.
    little = values.astype(values.dtype.newbyteorder("<"))
    return zlib.compress(little.view(np.uint8).reshape(-1, values.dtype.itemsize).T.tobytes(), _LEVEL)


def _unpack(data: Any, kind: type, shape: tuple[int, int]) -> np.ndarray:
    width = np.dtype(kind).itemsize
    size = shape[0] * shape[1] * width
    # Decompress no more than there can be: a few edited bytes must not fill the memory.
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(data, max(1, size))
    except (TypeError, zlib.error) as error:
        raise ValueError(f"its weights cannot be decompressed ({error})") from error
    if len(raw) != size or not reader.eof:
        raise ValueError("its weights are not as many as they should be")
    planes = np.frombuffer(raw, dtype=np.uint8).reshape(width, -1)
    values = np.ascontiguousarray(planes.T).view(np.dtype(kind).newbyteorder("<")).reshape(shape)
    if not np.all(np.isfinite(values)):
        raise ValueError("a weight is not a number")
    return values.astype(kind)
