"""What follows from something is made once, mapped by who needs it again, and made again if it is not what it was."""

import numpy as np
import pytest

from spacy_hpyp.storage.cache import cached_file
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
    assert all(own.dtype == other.dtype and own.flags.writeable for own, other in zip(found, arrays(), strict=True))
    return found


def test_arrays_are_made_once_for_each_key_and_mapped():
    make = Maker()
    for _ in range(3):
        assert all(isinstance(array.base, np.memmap) for array in keep(make))
    assert make.calls == 1
    keep(make, "other")
    assert make.calls == 2


@pytest.mark.parametrize("place", [3, 200, 4096, 4100, 4152, 4160, -1])
def test_what_has_changed_is_made_again(place):
    make = Maker()
    # What is mapped does not change with it.
    kept_arrays("key", KINDS, make, is_sound)
    file = cached_file("key")
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
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
