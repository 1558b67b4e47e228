"""The one format of everything that is saved: nested lists, dictionaries and arrays as compressed
msgpack.

Arrays are stored as planes of bytes of equal significance, which compress well: nearly all of the
higher bytes of counts are zero. What is loaded is trusted, see `storage.checksum`.
"""

import zlib
from typing import Any

import numpy as np
import srsly

_LEVEL = 6


def dump(value: Any) -> bytes:
    """Serialize a value of dictionaries, lists, arrays, strings, bytes and numbers; see `load`."""
    return srsly.msgpack_dumps(_encode(value))


def load(data: bytes) -> Any:
    """Return the value that `dump` was given; tuples have become lists."""
    return _decode(srsly.msgpack_loads(data))


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, dict):
        if value and all(isinstance(key, bytes) for key in value):
            return {"<keys>": _encode([*value]), "<values>": _encode([*value.values()])}
        return {key: _encode(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return _encode_list(value)
    return value


def _encode_list(value: Any) -> Any:
    first = value[0] if len(value) else None
    if len(value) > 1 and all(type(each) is type(first) for each in value):
        if isinstance(first, bytes) and all(len(each) == len(first) > 0 for each in value):
            return {"<bytes>": b"".join(value), "<width>": len(first)}
        if (
            isinstance(first, int)
            and not isinstance(first, bool)
            and 0 <= min(value) <= max(value) < 2**63
        ):
            return {"<integers>": _encode_array(np.array(value, dtype=np.int64))}
        if isinstance(first, np.ndarray) and all(
            each.dtype == first.dtype and each.shape[:-1] == first.shape[:-1] and each.ndim
            for each in value
        ):
            lengths = np.array([each.shape[-1] for each in value])
            return {
                "<arrays>": _encode_array(np.concatenate(value, axis=-1)),
                "<lengths>": _encode(lengths),
            }
    return [_encode(each) for each in value]


def _encode_array(array: np.ndarray) -> dict[str, Any]:
    kind, lowest = array.dtype.str, 0
    if array.dtype.kind in "iu" and array.size:
        lowest = int(array.min())
        array = (array.astype(np.int64) - lowest if lowest else array).astype(
            np.min_scalar_type(int(array.max()) - lowest)
        )
    little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    planes = little.reshape(-1, 1).view(np.uint8).T
    # Floats hardly compress but for their zeros, which run lengths find in a ninth of the time.
    packer = zlib.compressobj(
        _LEVEL, strategy=zlib.Z_RLE if array.dtype.kind == "f" else zlib.Z_DEFAULT_STRATEGY
    )
    data = packer.compress(planes.tobytes()) + packer.flush()
    return {
        "<array>": data,
        "kind": kind,
        "as": little.dtype.str,
        "lowest": lowest,
        "shape": [*array.shape],
    }


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(each) for each in value]
    if not isinstance(value, dict):
        return value
    if "<array>" in value:
        return _decode_array(value)
    if "<keys>" in value:
        return dict(zip(_decode(value["<keys>"]), _decode(value["<values>"]), strict=True))
    if "<bytes>" in value:
        joined, width = value["<bytes>"], value["<width>"]
        return [joined[i : i + width] for i in range(0, len(joined), width)]
    if "<integers>" in value:
        return _decode_array(value["<integers>"]).tolist()
    if "<arrays>" in value:
        ends = np.cumsum(_decode_array(value["<lengths>"]))
        return [
            each.copy() for each in np.split(_decode_array(value["<arrays>"]), ends[:-1], axis=-1)
        ]
    return {key: _decode(each) for key, each in value.items()}


def _decode_array(value: dict[str, Any]) -> np.ndarray:
    stored = np.dtype(value["as"])
    planes = np.frombuffer(zlib.decompress(value["<array>"]), dtype=np.uint8).reshape(
        stored.itemsize, -1
    )
    array = np.ascontiguousarray(planes.T).view(stored).reshape(value["shape"])
    return array.astype(value["kind"]) + np.dtype(value["kind"]).type(value["lowest"])
