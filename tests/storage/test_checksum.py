"""A checksum shows every bit that was changed, and what has none is read as before."""

import numpy as np
import pytest
import srsly

from spacy_hpyp.storage.checksum import unpack_message, with_checksum, without_checksum

MESSAGE = {
    "words": ["a", "b"],
    "count": 7,
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "data": b"\x00\xff",
}


def packed():
    return srsly.msgpack_dumps(MESSAGE)


def refuses(data):
    try:
        unpack_message(data)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("content", [b"", b"x", bytes(range(256)) * 9])
def test_content_comes_back(content):
    data = with_checksum(content)
    assert data != content
    assert without_checksum(data) == content
    assert without_checksum(content) == content


def test_every_flipped_bit_is_seen():
    data = with_checksum(packed())
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            assert refuses(bytes(damaged)), (place, bit)


def test_what_is_cut_off_or_added_is_seen():
    data = with_checksum(packed())
    for length in range(len(data)):
        assert refuses(data[:length])
    assert refuses(data + b"\x00")
    assert refuses(data + data)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"text", None, 7, "text", srsly.msgpack_dumps([1]), srsly.msgpack_dumps(None)]
)
def test_what_is_no_message_is_refused(data):
    assert refuses(data)
    if isinstance(data, bytes):
        assert refuses(with_checksum(data))
