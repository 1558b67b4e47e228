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
        "weights": pack_table(perceptron.weights[rows]),
        "sums": pack_table(perceptron.sums[rows]),
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
    perceptron.weights[rows] = unpack_table(weights, np.float32, (len(rows), outcomes))
    perceptron.sums[rows] = unpack_table(sums, np.float64, (len(rows), outcomes))
    perceptron.clock[0] = clock
    return perceptron


def pack_table(values: np.ndarray) -> bytes:
    """Compress a table of numbers."""
    # Bytes of equal significance stand together: as weights are small whole numbers, most of them are zero.
    little = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
    return zlib.compress(little.view(np.uint8).reshape(-1, values.dtype.itemsize).T.tobytes(), _LEVEL)


def unpack_table(data: Any, kind: type, shape: tuple[int, int]) -> np.ndarray:
    """Read what `pack_table` wrote.

    RAISES (ValueError): If it is damaged, or of another shape.
    """
    width = np.dtype(kind).itemsize
    size = shape[0] * shape[1] * width
    # Decompress no more than there can be: a few edited bytes must not fill the memory.
    reader = zlib.decompressobj()
    try:
        raw = reader.decompress(data, max(1, size))
    except (TypeError, zlib.error) as error:
        raise ValueError(f"a table cannot be decompressed ({error})") from error
    if len(raw) != size or not reader.eof:
        raise ValueError("a table has not as many numbers as it should have")
    planes = np.frombuffer(raw, dtype=np.uint8).reshape(width, -1)
    values = np.ascontiguousarray(planes.T).view(np.dtype(kind).newbyteorder("<")).reshape(shape)
    if not np.all(np.isfinite(values)):
        raise ValueError("a table has what is not a number")
    return values.astype(kind)
