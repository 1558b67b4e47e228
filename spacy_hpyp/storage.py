"""Files: one format for models, a checksum, and files that are replaced as a whole.

A model is nested lists, dictionaries and arrays, as msgpack. Each array is compressed as planes of
bytes of equal significance: nearly all of the higher bytes of counts are zero. Once the checksum of
a file holds, its content is trusted.
"""

import errno
import hashlib
import os
import secrets
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import srsly
from srsly.msgpack.exceptions import UnpackException

#: Errors that Python, NumPy and srsly raise when they read damaged bytes.
DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError),
    *(SyntaxError, AssertionError, UnpackException, zlib.error),
)
# The number of the format, and a line end that a transfer as text would change.
_MARK = b"\xc1hpyp\x04\r\n"
_DIGEST = 16
_LEVEL = 6


@contextmanager
def blaming(problem: str) -> Iterator[None]:
    """Turn errors of damaged input (`DAMAGE`) into a ValueError that begins with a description."""
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{problem}: {error}") from error


def with_checksum(content: bytes) -> bytes:
    """Put a mark with the number of the format and a checksum before some bytes."""
    return _MARK + _digest(content) + content


def without_checksum(data: bytes) -> bytes:
    """Check and remove what `with_checksum` added.

    RAISES (ValueError): If the content has changed, or was written by another version.
    """
    begin = len(_MARK) + _DIGEST
    if data[: len(_MARK)] != _MARK:
        raise ValueError("it was not written by this version of spacy-hpyp, or it is damaged")
    if data[len(_MARK) : begin] != _digest(data[begin:]):
        raise ValueError("its content has changed since it was written: the checksum is wrong")
    return data[begin:]


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()


def dump(value: Any) -> bytes:
    """Serialize dictionaries, lists, numeric arrays, strings, bytes, numbers and None."""
    return srsly.msgpack_dumps(_encode(value))


def load(data: bytes) -> Any:
    """Return the value that `dump` was given; tuples have become lists."""
    return _decode(srsly.msgpack_loads(data))


def _encode(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encode(item) for item in value]
    if not isinstance(value, np.ndarray):
        return value
    kind, lowest = value.dtype.str, 0
    if value.dtype.kind in "iu" and value.size:
        lowest, smallest = int(value.min()), np.min_scalar_type(int(value.max()) - int(value.min()))
        value = (value.astype(np.int64) - lowest if lowest else value).astype(smallest)
    little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
    planes = little.reshape(-1, 1).view(np.uint8).T
    # Floats hardly compress except for zeros, which run lengths find in a ninth of the time.
    strategy = zlib.Z_RLE if value.dtype.kind == "f" else zlib.Z_DEFAULT_STRATEGY
    packer = zlib.compressobj(_LEVEL, strategy=strategy)
    data = packer.compress(planes.tobytes()) + packer.flush()
    stored = {"kind": kind, "as": little.dtype.str, "lowest": lowest, "shape": [*value.shape]}
    return {"<array>": data, **stored}


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "<array>" not in value:
        return {key: _decode(item) for key, item in value.items()}
    kind, stored = np.dtype(value["kind"]), np.dtype(value["as"])
    planes = np.frombuffer(zlib.decompress(value["<array>"]), dtype=np.uint8)
    array = np.ascontiguousarray(planes.reshape(stored.itemsize, -1).T).view(stored)
    return array.reshape(value["shape"]).astype(kind) + kind.type(value["lowest"])


@contextmanager
def replacing(path: Path, mode: str = "wb", **settings: Any) -> Iterator[Any]:
    """Open a file that replaces the one at a path when it is complete.

    Until then it has a temporary name in the same directory. After an error it is removed.

    mode (str), settings: As of `open`; the mode has a "w".
    RAISES (OSError): If the file cannot be written. It names the path; the old file is still there.
    """
    temporary = path.parent / f".{secrets.token_hex(16)}.tmp"
    try:
        # Exclusive creation follows no link and, unlike `tempfile`, gives the usual permissions.
        with temporary.open(mode.replace("w", "x"), **settings) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, which replaces the one at the path when complete; see `replacing`."""
    with replacing(path) as file:
        file.write(data)


def prepare_folder(folder: Path) -> None:
    """Make a directory if it is missing, and check early that it can be written to.

    RAISES (OSError): If it cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error
