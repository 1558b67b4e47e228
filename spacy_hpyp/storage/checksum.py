"""Bytes with a checksum: what was changed since they were written is seen before anything is made of it."""

import gc
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import srsly
from srsly.msgpack.exceptions import UnpackException

#: What damaged bytes, and values of a wrong kind in them, make Python, NumPy and srsly raise. Compiled code,
#: whose errors can be
#: of the same kinds and have other causes, must not run where these are caught.
DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError),
    # Of the names of NumPy's types, of spaCy's DocBin, and of msgpack.
    *(SyntaxError, AssertionError, UnpackException),
)


@contextmanager
def blaming(problem: str) -> Iterator[None]:
    """What is damaged of what is read here is an error that says so. Compiled code must not run inside, see
    `DAMAGE`.

    problem (str): What is said before what is wrong.
    RAISES (ValueError): If something is.
    """
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{problem}: {error}") from error


# No msgpack begins like this, as what was written before there were checksums does, not even with one bit
# changed. The line end is one that a transfer as text would change.
_MARK = b"\xc1hpyp\x01\r\n"
_DIGEST = 16


def with_checksum(content: bytes) -> bytes:
    """Put a mark and a checksum before some bytes, which `without_checksum` takes away."""
    return _MARK + _digest(content) + content


def without_checksum(data: bytes) -> bytes:
    """Check and remove what `with_checksum` put before some bytes. Bytes without the mark are older, and stay
    as they are.

    RAISES (ValueError): If the content is not what it was, or these are no bytes at all.
    """
    if not isinstance(data, bytes):
        raise ValueError("it has no content")
    if not data.startswith(_MARK):
        return data
    digest, content = data[len(_MARK) : len(_MARK) + _DIGEST], data[len(_MARK) + _DIGEST :]
    if digest != _digest(content):
        raise ValueError("its content has changed since it was written: the checksum is another one")
    return content


def identity(data: bytes) -> str:
    """What identifies some bytes: of those with a checksum, the checksum."""
    return (data[len(_MARK) : len(_MARK) + _DIGEST] if data.startswith(_MARK) else _digest(data)).hex()


def identity_of_file(path: Path) -> str:
    """`identity` of what stands in a file. Of one with a checksum no more is read than that."""
    with path.open("rb") as file:
        head = file.read(len(_MARK) + _DIGEST)
        return identity(head if head.startswith(_MARK) else head + file.read())


def unpack_message(data: bytes) -> dict[str, Any]:
    """Check the checksum of a msgpack message, which an older one does not have, and read its parts by their
    names.

    RAISES (ValueError): If it is damaged, or is no such message.
    """
    content = without_checksum(data)
    collecting = gc.isenabled()
    try:
        message = srsly.msgpack_loads(content)
    except DAMAGE as error:
        raise ValueError(f"it cannot be unpacked ({error})") from error
    finally:
        # After an error srsly leaves the garbage collector switched off.
        if collecting:
            gc.enable()
    if not isinstance(message, dict):
        raise ValueError("it is not a message with named parts")
    return message


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
