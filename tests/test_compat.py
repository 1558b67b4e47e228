"""What we touch of other packages that they do not promise to keep does what we take it for, and is touched
in one place.
"""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import TypingError

from spacy_hpyp.compat import numba as compat
from spacy_hpyp.compiled import compiled, generic_maker, implements

# Numba


def length(array):
    return len(array)


def total(n):
    return np.ones(n).sum()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty directory that Numba keeps functions in."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    return tmp_path


@njit
def squares(n):
    return [i * i for i in range(n)]


def test_every_overload_is_checked_before_it_can_be_used_from_the_cache_too(cache):
    def refuse(returned):
        raise TypeError(f"it returns {returned}")

    seen, problems = [], []
    for check in (seen.append, seen.append, refuse):
        function = njit(length)
        compat.as_entry(function, None, lambda: compat.new_cache(length, "stamp", problems.append))
        compat.check_overloads(function, check)
        if check == refuse:
            with pytest.raises(TypeError, match="it returns int64"):
                function(np.ones(2))
            assert not function.overloads
        else:
            assert function(np.ones(2)) == 2
    assert seen == [types.int64, types.int64]
    assert sum(function.stats.cache_hits.values()) == 1
    assert not problems


def test_an_overload_is_kept_in_a_file_of_its_own_and_read_where_the_stamp_is_the_same(cache):
    def hits(stamp):
        function, problems = njit(length), []
        kept = compat.new_cache(length, stamp, problems.append)
        compat.as_entry(function, None, lambda: kept)
        assert function(np.ones(2)) == function(np.ones(2, dtype=np.int8)) == 2
        assert not problems
        return sum(function.stats.cache_hits.values()), kept

    assert [hits(stamp)[0] for stamp in ("one", "one", "other", "other")] == [0, 2, 0, 2]
    files = list(cache.rglob("*.nbc"))
    assert len(files) == 2
    # There is no index.
    assert not list(cache.rglob("*.nbi"))
    hits("other")[1].flush()
    assert not list(cache.rglob("*.nbc"))


class Squares(NamedTuple):
    numbers: np.ndarray


class Cubes(NamedTuple):
    numbers: np.ndarray


class Others(NamedTuple):
    numbers: np.ndarray


@generic_maker
def powers(kind, factor):
    raise NotImplementedError


@implements(powers, Squares)
@compiled
def _squares(kind, factor):
    return factor * kind.numbers**2


@implements(powers, Cubes)
@compiled
def _cubes(kind, factor):
    return factor * kind.numbers**3


@njit
def sum_of_powers(kind, factor, times):
    found = 0.0
    for _ in range(times):
        found += powers(kind, factor).sum()
    return found


def test_what_is_called_depends_on_the_kind_of_the_first_argument():
    numbers = np.arange(4.0)
    assert sum_of_powers(Squares(numbers), 2.0, 3) == 84.0
    assert sum_of_powers(Cubes(numbers), 2.0, 3) == 216.0
    with pytest.raises(TypingError):
        sum_of_powers(Others(numbers), 2.0, 1)
