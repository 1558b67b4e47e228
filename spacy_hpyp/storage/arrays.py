"""Arrays as parts of messages: compressed, and checked for being what they say before they take any memory;
and those that processes hand on.
"""

import zlib
from io import BytesIO
from typing import Any

import numpy as np

_LEVEL = 6
#: So many numbers may stand in a byte of a file, and so many wherever they stand: no file asks for much more
#: memory than its size.
PER_BYTE, FEW = 32, 1 << 20
#: No integer that is stored is as high.
HIGHEST = np.iinfo(np.int32).max


def compress(data: Any, strategy: int) -> bytes:
    """Compress bytes by one of zlib's strategies: those of tables that are mostly zeros take a ninth of the
    time by `zlib.Z_RLE`.
    """
    packer = zlib.compressobj(_LEVEL, strategy=strategy)
    return packer.compress(data) + packer.flush()


def pack_integers(values: np.ndarray, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> dict[str, Any]:
    """Compress an array of integers from 0 to 2 ** 31 - 2. Returns its item size, length and compressed
    bytes.

    strategy (int): See `compress`.
    RAISES (ValueError): If one is larger.
    """
    values = np.asarray(values)
    highest = int(values.max(initial=0))
    if highest >= HIGHEST:
        raise ValueError(f"An integer of {highest} is too large to be stored.")
    width = next(size for size in (1, 2, 4) if highest < 1 << (8 * size))
    # Bytes of equal significance stand together: nearly all of the higher ones are zero.
    planes = values.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T
    data = compress(planes.tobytes(), strategy)
    if len(values) > FEW:
        data = data.ljust(-(-len(values) // PER_BYTE), b"\0")
    return {"width": width, "length": len(values), "data": data}


def unpack_integers(packed: Any, most: int | None = None, *, narrow: bool = False) -> np.ndarray:
    """Read what `pack_integers` wrote.

    most (int | None): How many there can be at most, if other parts of the file say it: not all files of
        earlier versions have `PER_BYTE` in a byte.
    narrow (bool): Whether they may have the bits that they were stored with.
    RETURNS (int32[length] | uint8[length] | uint16[length] | uint32[length]): The integers, each below 2 **
        31 - 1. There are no more of them, so that sums in 64 bits, as NumPy adds them up, do not overflow.
    RAISES (ValueError): If the bytes are not what they say they are.
    """
    try:
        width, length, data = packed["width"], packed["length"], packed["data"]
        if (
            type(width) is not int
            or width not in (1, 2, 4)
            or type(length) is not int
            or not 0 <= length <= HIGHEST
        ):
            raise ValueError("an array has an impossible size")
        if length > (max(FEW, PER_BYTE * len(data)) if most is None else most):
            raise ValueError("an array is longer than what stands in the file allows")
        # Decompress no more than is announced: a few edited bytes must not fill the memory.
        reader = zlib.decompressobj()
        raw = reader.decompress(data, max(1, width * length))
    except (KeyError, TypeError, zlib.error) as error:
        raise ValueError(f"an array cannot be decompressed ({error})") from error
    if len(raw) != width * length or not reader.eof:
        raise ValueError("an array is not as long as it says")
    planes = np.frombuffer(raw, dtype=np.uint8).reshape(width, length)
    values = np.ascontiguousarray(planes.T).view(f"<u{width}").ravel()
    if int(values.max(initial=0)) >= HIGHEST:
        raise ValueError("an array holds a number that is too large")
    return values if narrow else values.astype(np.int32)


def save_arrays(**arrays: np.ndarray) -> bytes:
    """Compress arrays of any kind, which one process hands on to another: the same arrays become the same
    bytes.
    """
    file = BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def load_arrays(data: bytes) -> dict[str, np.ndarray]:
    """Read what `save_arrays` wrote."""
    with np.load(BytesIO(data)) as arrays:
        return dict(arrays)
