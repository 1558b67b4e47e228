"""Compiled functions are kept on disk where that is possible, and are never others than those that are asked
for.
"""

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile
from numba.core.errors import NumbaError

import spacy_hpyp.compat.numba
import spacy_hpyp.compiled
from spacy_hpyp.compiled import borrowing, compiled, inner

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
GENERIC = """
from .compiled import compiled, generic

@generic
def called(x):
    pass
"""
KIND = """
from typing import NamedTuple
from .called import called
from .compiled import compiled, implements

class Kind(NamedTuple):
    x: int

@implements(called, Kind)
@compiled
def called_with_kind(kind):
    return {factor} * kind.x
"""
PROGRAM = "from tiny.caller import caller; print(caller(10), sum(caller.stats.cache_hits.values()))"
OVERLOADS = """
import sys
from tiny.caller import caller

numbers = [10, 10.5]
for i in map(int, sys.argv[1:]):
    assert caller(numbers[i]) == 2 * numbers[i] + 1
print(sum(caller.stats.cache_hits.values()))
"""
#: The second process is a new interpreter.
TWO_PROCESSES = """
import multiprocessing
from tiny.caller import caller

def call(x):
    return caller(x)

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(call(10), pool.apply(call, [10]))
"""
#: When a first call has imported numpy.ma, and just before NumPy has it as an attribute, another thread makes
#: its first call.
TWO_THREADS = """
import threading, types
import numpy
from tiny.caller import caller

errors = []

def call():
    try:
        caller(numpy.ones(2))
    except BaseException as error:
        errors.append(error)

class Module(types.ModuleType):
    def __setattr__(self, name, value):
        if name == "ma":
            other = threading.Thread(target=call)
            other.start()
            other.join()
        super().__setattr__(name, value)

numpy.__class__ = Module
call()
print(errors)
"""
WHOLE_PACKAGE = """
import numpy as np
import spacy
spacy.blank("en").add_pipe("hpyp_parser")
import spacy_hpyp.compiled
numbers = np.zeros(2)
spacy_hpyp.compiled.overwrite(numbers, np.ones(2))
print(numbers.sum(), spacy_hpyp.__file__)
"""
WARNING = "Compiled functions cannot be kept on disk"


@pytest.fixture
def tiny(tmp_path):
    """A package of two compiled functions, one of which calls the other in another file."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").touch()
    source = Path(spacy_hpyp.compiled.__file__)
    shutil.copy(source, package / "compiled.py")
    shutil.copytree(
        source.with_name("compat"), package / "compat", ignore=shutil.ignore_patterns("__pycache__")
    )
    (package / "caller.py").write_text(CALLER)
    (package / "called.py").write_text(CALLED.format(factor=2))
    return package


def start(program, package, *arguments, **environment):
    """Start a program that imports a package, in a new process."""
    unset = {
        name: value for name, value in os.environ.items() if name not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    }
    # Python itself takes a file of the same size and age for the same one.
    unset["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.Popen(
        [
            sys.executable,
            "-W",
            "always",
            *(["-c", program] if isinstance(program, str) else [program]),
            *arguments,
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=package.parent,
        env={**unset, "PYTHONPATH": str(package.parent), **environment},
    )


def finish(process):
    """What a process has written to its standard output and to its standard error."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output, errors


def call(package):
    """What the calling function returns in a new process, and whether it came from the disk."""
    return tuple(int(number) for number in finish(start(PROGRAM, package))[0].split())


def test_functions_are_compiled_again_when_another_file_has_changed(tiny):
    assert call(tiny) == (21, 0)
    # As large and as old as before: what counts is the content.
    times = (tiny / "called.py").stat()
    (tiny / "called.py").write_text(CALLED.format(factor=3))
    os.utime(tiny / "called.py", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert call(tiny) == (31, 0)
    # What it does not import is nothing to it.
    (tiny / "new.py").write_text("from .compiled import compiled\nfrom .called import called\n")
    assert call(tiny) == (31, 1)


def test_functions_are_compiled_again_when_what_implements_a_generic_one_has_changed(tiny):
    (tiny / "called.py").write_text(GENERIC)
    (tiny / "kind.py").write_text(KIND.format(factor=2))
    program = PROGRAM.replace("caller(10)", "caller(Kind(10))").replace(
        "from", "from tiny.kind import Kind; from", 1
    )

    def call_with_kind():
        return tuple(int(number) for number in finish(start(program, tiny))[0].split())

    assert call_with_kind() == (21, 0)
    (tiny / "kind.py").write_text(KIND.format(factor=3))
    assert call_with_kind() == (31, 0)


def test_what_python_cannot_call_says_so():
    @inner
    def halved(x):
        return x / 2.0

    @compiled
    def calling(x):
        return halved(x)

    for arguments in ((3.0,), (), (None, "x")):
        with pytest.raises(TypeError, match=r"halved.*for other compiled functions only"):
            halved(*arguments)
    assert calling(3.0) == 1.5
    assert halved.py_func(3.0) == 1.5


FACTOR = 2


def doubled(x):
    return x + x


def scaled(x):
    return FACTOR * x


def make(n):
    return np.empty(n).sum()


def give(array):
    return len(array), array


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache for the functions that a test compiles."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(spacy_hpyp.compiled, "_warned", [])
    return tmp_path


def test_a_function_that_borrows_cannot_make_arrays(cache):
    # That another one has been compiled of the same function does not matter.
    assert compiled(make).compile("(int64,)") is not None
    with pytest.raises(NumbaError):
        borrowing(make).compile("(int64,)")


def test_a_function_that_borrows_returns_no_arrays():
    with pytest.raises(TypeError, match="give must not be borrowing"):
        borrowing(give).compile("(float64[:],)")


def test_caches_that_are_filled_at_once_do_not_mix_overloads_up(cache, monkeypatch):
    # Both processes have seen an empty cache when the first of them saves, and the second saves before that
    # is done.
    one, other = compiled(doubled), compiled(doubled)
    save_data = IndexDataCacheFile._save_data

    def save_late(self, name, data):
        if not other.overloads:
            other(np.ones(2))
        save_data(self, name, data)

    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_load_index", lambda self: {})
        patched.setattr(IndexDataCacheFile, "_save_data", save_late)
        one(1)
    later = compiled(doubled)
    assert later(1) == 2
    assert later(np.ones(2)).tolist() == [2.0, 2.0]
    assert sum(later.stats.cache_hits.values()) == 2


def test_a_process_that_ends_while_it_saves_leaves_no_old_function_for_a_new_one(cache, monkeypatch):
    def compile_and_call(factor):
        monkeypatch.setattr(spacy_hpyp.compiled, "_stamp", lambda file: f"the version with {factor}")
        monkeypatch.setitem(globals(), "FACTOR", factor)
        return compiled(scaled)(10)

    def end(*_):
        raise KeyboardInterrupt

    assert compile_and_call(2) == 20
    with monkeypatch.context() as patched:
        patched.setattr(IndexDataCacheFile, "_save_data", end)
        with pytest.raises(KeyboardInterrupt):
            compile_and_call(3)
    assert compile_and_call(3) == 30


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[: len(data) // 2], lambda data: b"x" + data]
)
def test_what_is_damaged_in_the_cache_is_compiled_again(cache, damage):
    compiled(doubled)(1)
    (file,) = cache.rglob("*.nbc")
    file.write_bytes(damage(file.read_bytes()))
    again, later = compiled(doubled), compiled(doubled)
    assert again(1) == later(1) == 2
    assert [sum(function.stats.cache_hits.values()) for function in (again, later)] == [0, 1]


def test_overloads_that_share_a_file_by_chance_are_not_mixed_up(cache, monkeypatch):
    monkeypatch.setattr(spacy_hpyp.compat.numba.Entries, "_name", lambda self, key: self._data_name(1))
    assert compiled(doubled)(1) == 2
    assert compiled(doubled)(np.ones(2)).tolist() == [2.0, 2.0]
    assert len(list(cache.rglob("*.nbc"))) == 1


def test_a_full_disk_stops_no_call(cache, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", fail)
    with pytest.warns(UserWarning, match=WARNING) as warnings:
        assert compiled(doubled)(1) + compiled(scaled)(10) == 22
    assert len(warnings) == 1


def test_processes_that_fill_a_shared_cache_at_once_give_the_right_results(tiny, tmp_path):
    shared = {"NUMBA_CACHE_DIR": str(tmp_path / "shared")}
    both = [start(OVERLOADS, tiny, *order, **shared) for order in ("01", "10")]
    for process in both:
        finish(process)
    assert finish(start(OVERLOADS, tiny, *"01", **shared))[0] == "2\n"


@pytest.fixture
def locked(tmp_path):
    """Environment variables with which Numba finds nowhere to write; a package gets a file where its cache
    would be.

    That refuses the system's administrator as well, whom no permissions stop.
    """
    if os.name == "nt":
        pytest.skip("On Windows, Numba does not ask the environment where the user's files are.")
    home = tmp_path / "home"
    home.write_text("not a directory")

    def lock(package):
        shutil.rmtree(package / "__pycache__", ignore_errors=True)
        for folder in [package, *(file for file in package.rglob("*") if file.is_dir())]:
            (folder / "__pycache__").write_text("not a directory")
        return {"HOME": str(home)}

    return lock


def test_functions_are_compiled_in_memory_where_no_directory_can_be_written_to(tiny, locked):
    environment = {**locked(tiny), "NUMBA_CACHE_DIR": str(tiny.parent / "home" / "cache")}
    output, errors = finish(start(PROGRAM, tiny, **environment))
    assert output == "21 0\n"
    assert errors.count(WARNING) == 1


def test_each_process_warns_once_that_it_compiles_in_memory(tiny, locked, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(TWO_PROCESSES)
    output, errors = finish(start(program, tiny, **locked(tiny)))
    assert output == "21 21\n"
    assert errors.count(WARNING) == 2


def test_the_package_works_where_no_directory_can_be_written_to(tmp_path, locked):
    package = tmp_path / "spacy_hpyp"
    source = Path(spacy_hpyp.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    # Where it is installed they are in it.
    shutil.copytree(source.with_name("configs"), package / "configs", dirs_exist_ok=True)
    output, errors = finish(start(WHOLE_PACKAGE, package, **locked(package)))
    assert output == f"2.0 {package / '__init__.py'}\n"
    assert errors.count(WARNING) == 1


def test_threads_can_make_their_first_calls_at_once(tiny):
    assert finish(start(TWO_THREADS, tiny))[0] == "[]\n"
