"""A checksum shows every bit that was changed, and what has none is read as before."""

import gc
import random

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


def test_line_ends_that_were_changed_are_seen():
    for content in (packed(), b"", b"\n", b"\r\n"):
        data = with_checksum(content)
        assert refuses(data.replace(b"\r\n", b"\n"))
        assert refuses(data.replace(b"\n", b"\r\n"))


def test_messages_are_read_with_and_without_a_checksum():
    for data in (packed(), with_checksum(packed())):
        found = unpack_message(data)
        np.testing.assert_array_equal(found.pop("weights"), MESSAGE["weights"])
        assert found == {name: value for name, value in MESSAGE.items() if name != "weights"}


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"text", None, 7, "text", srsly.msgpack_dumps([1]), srsly.msgpack_dumps(None)]
)
def test_what_is_no_message_is_refused(data):
    assert refuses(data)
    if isinstance(data, bytes):
        assert refuses(with_checksum(data))


def test_nothing_but_a_value_error_comes_of_damaged_messages():
    rng = random.Random(0)
    data = packed()
    for _ in range(4_000):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 2, 5])):
            damaged[rng.randrange(len(data))] = rng.randrange(256)
        refuses(bytes(damaged))
    # The name of a NumPy type that is none to Python's grammar.
    assert refuses(srsly.msgpack_dumps(MESSAGE).replace(b"<f4", b"(f4"))


def test_the_garbage_collector_stays_as_it_is():
    assert gc.isenabled()
    assert refuses(b"\x81")
    assert gc.isenabled()
