"""What follows from something is made once, mapped by who needs it again, and made again if it is not what it
was.
"""

import os
import sys
import time

import numpy as np
import pytest

from spacy_hpyp.storage import cache as cache_module
from spacy_hpyp.storage import mapped
from spacy_hpyp.storage.cache import cached_file, empty_cache
from spacy_hpyp.storage.mapped import kept_arrays, write_arrays

KINDS = {"numbers": (np.int64, 1), "table": (np.float32, 2)}


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SPACY_HPYP_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def arrays(seed=0):
    """Some arrays, of which one does not fill its last line."""
    rng = np.random.default_rng(seed)
    return [rng.integers(9, size=7), rng.random((300, 5), dtype=np.float32)]


def is_sound(numbers, table):
    return bool(np.all(numbers < 9))


class Maker:
    """Makes arrays, and counts how often."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return arrays()


def keep(make, key="key"):
    found = kept_arrays(key, KINDS, make, is_sound)
    assert all(map(np.array_equal, found, arrays()))
    assert all(
        own.dtype == other.dtype and own.flags.writeable for own, other in zip(found, arrays(), strict=True)
    )
    return found


def test_arrays_are_made_once_for_each_key_and_mapped():
    make = Maker()
    for _ in range(3):
        assert all(isinstance(array.base, np.memmap) for array in keep(make))
    assert make.calls == 1
    keep(make, "other")
    assert make.calls == 2


def edited(file, place):
    """The content of a file with one bit changed."""
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    return content


@pytest.mark.parametrize("place", [3, 200, 4096, 4100, 4152, 4160, -1])
def test_what_has_changed_is_made_again(place):
    make = Maker()
    # What is mapped does not change with it.
    kept_arrays("key", KINDS, make, is_sound)
    file = cached_file("key")
    file.write_bytes(edited(file, place))
    keep(make)
    assert make.calls == 2
    keep(make)
    assert make.calls == 2


@pytest.mark.parametrize("length", [0, 10, 4096, 5000])
def test_what_is_cut_off_is_made_again(length):
    make = Maker()
    kept_arrays("key", KINDS, make, is_sound)
    cached_file("key").write_bytes(cached_file("key").read_bytes()[:length])
    keep(make)
    assert make.calls == 2


def test_what_compiled_code_cannot_work_on_is_made_again():
    numbers, table = arrays()
    make = Maker()
    for wrong in ([numbers + 9, table], [numbers, table[0]], [table[0], table]):
        cached_file("key").parent.mkdir(exist_ok=True)
        write_arrays(cached_file("key"), zip(KINDS, wrong, strict=True), "key")
        calls = make.calls
        keep(make)
        assert make.calls == calls + 1


def test_where_nothing_can_be_kept_arrays_are_made_each_time(cache):
    cache.write_bytes(b"")
    make = Maker()
    keep(make)
    keep(make)
    assert make.calls == 2


def test_what_cannot_be_made_is_an_error_and_leaves_nothing(cache):
    def fail():
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        kept_arrays("key", KINDS, fail, is_sound)
    assert not list(cache.glob("*.bin"))
    keep(Maker())


# Files that have been checked before.


def age(file, seconds):
    """Let a file have been changed so long ago."""
    then = time.time_ns() - seconds * 10**9
    os.utime(file, ns=(then, then))


@pytest.fixture
def checked(monkeypatch):
    """How often an array has been checked since it was last asked, by a function."""
    calls = []
    original = mapped.check_array
    monkeypatch.setattr(mapped, "check_array", lambda *given: calls.append(given) or original(*given))

    def asked():
        found = len(calls)
        calls.clear()
        return found

    return asked


@pytest.fixture
def noted(cache, checked):
    """A file of the cache that has been checked, which is noted."""
    keep(Maker())
    file = cached_file("key")
    age(file, 60)
    keep(Maker())
    assert checked() > 0
    return file


def count_makes():
    make = Maker()
    keep(make)
    return make.calls


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@POSIX
def test_what_was_checked_is_not_read_as_a_whole_again(noted, checked):
    assert count_makes() == 0
    assert checked() == 0


@POSIX
@pytest.mark.parametrize("place", [4096, -1])
def test_what_has_changed_after_it_was_checked_is_made_again(noted, checked, place):
    noted.write_bytes(edited(noted, place))
    assert count_makes() == 1
    assert checked() > 0


@POSIX
def test_what_begins_otherwise_is_made_again_though_a_note_fits_it(noted, checked):
    state = noted.stat()
    noted.write_bytes(edited(noted, 50))
    os.utime(noted, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert count_makes() == 1
    assert checked() > 0


@POSIX
def test_another_file_of_the_same_size_and_time_is_checked_again(noted, checked):
    state, other = noted.stat(), noted.with_suffix(".other")
    other.write_bytes(edited(noted, 4096))
    os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
    os.replace(other, noted)
    assert count_makes() == 1


@POSIX
def test_what_another_version_has_checked_is_checked_again(noted, checked, monkeypatch):
    monkeypatch.setattr(cache_module, "__version__", "another")
    assert count_makes() == 0
    assert checked() > 0


@POSIX
@pytest.mark.parametrize("edit", [lambda note: b"", lambda note: note[:-1], lambda note: note + b"0", None])
def test_without_a_note_that_is_complete_files_are_checked_again(noted, checked, edit):
    note = noted.with_suffix(".checked")
    content = note.read_bytes()
    note.unlink()
    if edit:
        note.write_bytes(edit(content))
    assert count_makes() == 0
    assert checked() > 0
    assert note.read_bytes() == content


@POSIX
@pytest.mark.parametrize("which", ["file", "note", "folder"])
@pytest.mark.parametrize("bit", [0o020, 0o002])
def test_what_others_can_write_to_is_checked_each_time(noted, checked, which, bit):
    path = {"file": noted, "note": noted.with_suffix(".checked"), "folder": noted.parent}[which]
    path.chmod(path.stat().st_mode | bit)
    assert count_makes() == 0
    assert checked() > 0


@POSIX
def test_what_another_user_has_written_is_checked_each_time(noted, checked, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: noted.stat().st_uid + 1)
    assert count_makes() == 0
    assert checked() > 0


def test_what_was_changed_a_moment_ago_is_checked_each_time(cache, checked):
    for _ in range(3):
        keep(Maker())
        assert checked() > 0
    assert not list(cache.glob("*.checked"))


@POSIX
def test_notes_go_with_their_files(noted):
    assert noted.with_suffix(".checked").exists()
    empty_cache()
    assert [path.name for path in noted.parent.iterdir()] == ["lock"]
