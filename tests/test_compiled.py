"""Compiled code: recompilation after changes, read-only caches, NamedTuples by pointer."""

import gc
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.errors import TypingError

from spacy_hpyp import code_cache, compiled, memory
from spacy_hpyp.compiled import dispatch, jit, jitable, struct

CALLS = "from package.b import double; print(double(2), sum(double.stats.cache_hits.values()))"
# Root ignores file permissions.
READ_ONLY = """import tempfile

usual = tempfile.TemporaryFile

def temporary_file(dir):
    if "cache" in str(dir):
        raise PermissionError(dir)
    return usual(dir=dir)

tempfile.TemporaryFile = temporary_file
"""


@pytest.fixture
def package(tmp_path):
    """A package of two modules with compiled functions."""
    path = tmp_path / "package"
    path.mkdir()
    (path / "__init__.py").touch()
    for module in (code_cache, compiled, memory):
        shutil.copy(module.__file__, path)
    shared = "from .compiled import jit\n"
    (path / "a.py").write_text(f"{shared}@jit\ndef factor():\n    return 2\n")
    (path / "b.py").write_text(
        f"{shared}from .a import factor\n@jit\ndef double(number):\n    return factor() * number\n"
    )
    return path


def run(package, before=""):
    """Return the result of compiled code, the number of cache hits, and warnings."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(package.parent / "cache")}
    command = [sys.executable, "-c", before + CALLS]
    settings = {"cwd": package.parent, "env": environment, "text": True}
    ran = subprocess.run(command, capture_output=True, **settings)
    return ran.stdout, ran.stderr


def test_code_is_recompiled_when_a_called_function_changes(package):
    assert [run(package)[0] for _ in range(2)] == ["4 0\n", "4 1\n"]
    # Python considers a file of the same size and modification second unchanged.
    (package / "a.py").write_text((package / "a.py").read_text().replace("2", "1 + 2"))
    assert [run(package)[0] for _ in range(2)] == ["6 0\n", "6 1\n"]


def test_a_read_only_cache_is_used(package):
    assert "NUMBA_CACHE_DIR" in run(package, READ_ONLY)[1]
    run(package)
    assert run(package, READ_ONLY) == ("4 1\n", "")


@struct
class Numbers(NamedTuple):
    values: np.ndarray
    factor: float
    count: int
    is_negative: bool


@struct
class Pair(NamedTuple):
    first: Numbers
    name: int
    matrix: np.ndarray


class Other(NamedTuple):
    values: np.ndarray


@jit
def total(pair):
    numbers = pair.first
    found = numbers.values[: numbers.count].sum() * numbers.factor + pair.matrix[1, 2] + pair.name
    return -found if numbers.is_negative else found


def test_fields_are_read_by_pointer():
    for matrix in (np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(4, 3)[::2]):
        pair = Pair(Numbers(np.arange(4, dtype=np.int32), 0.5, 3, True), 7, matrix)
        assert total(pair) == -(1.5 + matrix[1, 2] + 7)


def test_pointers_neither_leak_nor_dangle():
    values = np.arange(4.0)
    before = sys.getrefcount(values)
    pairs = [Pair(Numbers(values, 1.0, i, False), 0, np.zeros((2, 3))) for i in range(4)]
    # New arrays would reuse freed blocks.
    found = [(total(pair), np.full(12, 99)) for _ in range(3) for pair in pairs]
    assert [each for each, _ in found] == [0.0, 0.0, 1.0, 3.0] * 3
    del pairs
    gc.collect()
    assert sys.getrefcount(values) == before


@dispatch
def powers(kind, factor):
    raise NotImplementedError


@powers.register(Numbers)
@jit
def _squares(kind, factor):
    return factor * kind.values**2


@powers.register(Other)
@jitable
def _cubes(kind, factor):
    return factor * kind.values**3


@jit
def sum_of_powers(kind, factor):
    return powers(kind, factor).sum()


def test_implementations_dispatch_on_the_class_of_the_first_argument():
    numbers = Numbers(np.arange(4.0), 1.0, 4, False)
    assert sum_of_powers(numbers, 2.0) == powers(numbers, 2.0).sum() == 28.0
    assert sum_of_powers(Other(numbers.values), 2.0) == 72.0
    with pytest.raises(TypingError):
        sum_of_powers(numbers.values, 2.0)


def test_compiling_registers_no_types_that_threads_look_up():
    code = (
        "import spacy_hpyp.compiled, numba; from numba.extending import typeof_impl as types; "
        "before = len(types.registry); numba.njit(lambda x: x + 1)(1); "
        "assert len(types.registry) == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
