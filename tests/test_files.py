"""Saved data loads unchanged or is rejected."""

import errno
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from spacy_hpyp.storage import (
    dump,
    load,
    prepare_folder,
    replace_file,
    replacing,
    with_checksum,
    without_checksum,
)

CONTENT = bytes(range(64))
KINDS = [np.int8, np.int32, np.int64, np.uint16, np.float32, np.float64, np.bool_]
SHAPES = array_shapes(min_dims=1, max_dims=3, min_side=0)


@given(st.sampled_from(KINDS).flatmap(lambda kind: arrays(kind, SHAPES)))
def test_arrays_of_any_dtype_and_shape_round_trip(array):
    (found,) = load(dump([array]))
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


def test_nested_values_round_trip():
    value = {b"ab": [1, -1, 2**62, None], "c": {"d": [], b"": ["y", b"z", 0.5, True]}}
    assert load(dump(value)) == value


def test_small_numbers_take_little_space():
    assert len(dump(np.arange(100_000) % 3)) < 1_000


def test_checksums_detect_every_change():
    data = with_checksum(CONTENT)
    assert without_checksum(data) == CONTENT
    damaged = [data[:length] for length in range(len(data))] + [data + b"\x00", data + data]
    for place in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            damaged.append(bytes(flipped))
    for other in damaged:
        with pytest.raises(ValueError, match=r"changed|version"):
            without_checksum(other)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_only_when_complete(tmp_path):
    path = tmp_path / "file"
    replace_file(path, b"old")
    with replacing(path) as one, replacing(path) as other:
        one.write(b"one")
        other.write(b"other")
        one.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"one"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()]
)
def test_the_old_file_survives_an_error(tmp_path, failure):
    path = tmp_path / "file"
    replace_file(path, b"old")

    def fail(file):
        file.write(b"new")
        raise failure

    with pytest.raises(type(failure)) as error, replacing(path) as file:
        fail(file)
    if isinstance(failure, OSError):
        assert (error.value.errno, error.value.filename) == (errno.ENOSPC, str(path))
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")
def test_new_files_have_default_permissions(tmp_path):
    replace_file(tmp_path / "ours", b"")
    (tmp_path / "usual").write_bytes(b"")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("ours", "usual")]
    assert modes[0] == modes[1]


def test_prepare_folder_creates_folders_and_rejects_files(tmp_path):
    prepare_folder(tmp_path / "new" / "folder")
    assert names_in(tmp_path / "new") == ["folder"]
    (tmp_path / "file").write_bytes(b"")
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(NotADirectoryError):
            prepare_folder(folder)
