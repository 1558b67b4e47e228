"""Bytes with a checksum: a file that has changed since it was written is seen before anything reads
it.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from srsly.msgpack.exceptions import UnpackException

#: Errors that Python, NumPy and srsly raise when they read damaged bytes.
DAMAGE = (
    *(ValueError, TypeError, LookupError, AttributeError, OverflowError),
    *(SyntaxError, AssertionError, UnpackException),
)


@contextmanager
def blaming(problem: str) -> Iterator[None]:
    """Turn what damaged input raises into one ValueError that begins with a description of the
    problem.
    """
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"{problem}: {error}") from error


# The number of the format, and a line end that a transfer as text would change.
_MARK = b"\xc1hpyp\x03\r\n"
_DIGEST = 16


def with_checksum(content: bytes) -> bytes:
    """Put a mark with the number of the format and a checksum before some bytes."""
    return _MARK + _digest(content) + content


def without_checksum(data: bytes) -> bytes:
    """Check and remove what `with_checksum` put before some bytes.

    RAISES (ValueError): If the content has changed since, or was written by another version.
    """
    begin = len(_MARK) + _DIGEST
    if data[: len(_MARK)] != _MARK:
        raise ValueError("it was not written by this version of spacy-hpyp, or it is damaged")
    if data[len(_MARK) : begin] != _digest(data[begin:]):
        raise ValueError(
            "its content has changed since it was written: the checksum is another one"
        )
    return data[begin:]


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST).digest()
