"""A checksum shows every bit that was changed."""

import pytest

from spacy_hpyp.storage.checksum import with_checksum, without_checksum

CONTENT = bytes(range(64))


@pytest.mark.parametrize("content", [b"", b"x", CONTENT])
def test_content_comes_back(content):
    assert without_checksum(with_checksum(content)) == content


def test_every_flipped_bit_is_seen():
    data = with_checksum(CONTENT)
    for place in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[place] ^= 1 << bit
            with pytest.raises(ValueError, match=r"changed|version"):
                without_checksum(bytes(damaged))


def test_missing_and_additional_bytes_are_seen():
    data = with_checksum(CONTENT)
    for damaged in (*(data[:length] for length in range(len(data))), data + b"\x00", data + data):
        with pytest.raises(ValueError, match=r"changed|version"):
            without_checksum(damaged)
