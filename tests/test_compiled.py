"""Compiled functions are kept on disk, and never used when something that they call has changed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError

import spacy_hpyp.compiled
from spacy_hpyp.compiled import borrowing, compiled

CALLER = """
from .compiled import compiled
from .called import called

@compiled
def caller(x):
    return called(x) + 1
"""
CALLED = """
from .compiled import compiled

@compiled
def called(x):
    return {factor} * x
"""
PROGRAM = "from tiny.caller import caller; print(caller(10), sum(caller.stats.cache_hits.values()))"


@pytest.fixture
def tiny(tmp_path):
    """A package of two compiled functions, one of which calls the other in another file."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    shutil.copy(Path(spacy_hpyp.compiled.__file__), package / "compiled.py")
    (package / "caller.py").write_text(CALLER)
    (package / "called.py").write_text(CALLED.format(factor=2))
    return package


def call(package):
    """What the calling function returns in a new process, and whether it came from the disk."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        cwd=package.parent,
        env={**environment, "PYTHONPATH": str(package.parent)},
    )
    assert done.returncode == 0, done.stderr
    return tuple(int(number) for number in done.stdout.split())


def test_functions_are_compiled_again_when_another_file_has_changed(tiny):
    assert call(tiny) == (21, 0)
    assert call(tiny) == (21, 1)
    # As large and as old as before: what counts is the content.
    times = (tiny / "called.py").stat()
    (tiny / "called.py").write_text(CALLED.format(factor=3))
    os.utime(tiny / "called.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert call(tiny) == (31, 0)
    (tiny / "new.py").write_text("# A file without any.\n")
    assert call(tiny) == (31, 1)


def make(n):
    return np.empty(n).sum()


def give(array):
    return len(array), array


def test_a_function_that_borrows_cannot_make_arrays():
    with pytest.raises(NumbaError):
        borrowing(make).compile("(int64,)")
    assert compiled(make).compile("(int64,)") is not None


def test_a_function_that_borrows_returns_no_arrays():
    with pytest.raises(TypeError, match="give must not be borrowing"):
        borrowing(give).compile("(float64[:],)")
