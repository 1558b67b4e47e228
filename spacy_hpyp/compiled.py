"""Decorators that compile the numerical core.

`compiled` is for functions that Python calls and that make arrays. Short functions that only work on arrays
of their callers are `borrowing`; if only compiled code calls them, `inner`, or `inner_maker` if they make
arrays. Functions with an implementation for each kind of argument are `generic` or
`generic_maker`.

Numba compiles a function anew for every constant argument. Where that gains no speed, the constant is a
number of NumPy, as np.bool_(True).
"""

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

# NumPy imports this module when `numpy.ma` is first read, and Numba reads that to find the type of an array,
# without a lock. Of two threads that call compiled functions for the first time, one could ask for it while
# the other was just done with importing it, and ask until the stack was full. So it is imported before there
# are threads.
import numpy.ma  # noqa: F401
from numba import njit, types

from .compat import numba as compat
from .compat.numba import fetch as fetch
from .compat.references import by_reference as by_reference

#: In place of a number, a position or an outcome: there is none.
NONE = -1

# Numba recompiles a function when its own file changes, but not when a function that it calls does, in
# another file: after an update it would go on with the old one. So the stamp of a function is the content of
# all files that its own imports, and those import, and so on; and wherever there is something `generic`, of
# those that implement it: they import it, not the other way round.
_PACKAGE = Path(__file__).parent
_IMPORT = re.compile(r"\n *from (\.+)([\w.]*) import (\([^)]*\)|.*)")
_DECORATED = re.compile(r"\n@(compiled|borrowing|inner|inner_maker|maker)\n")


# As they are imported: by the time that something is called somebody may have changed them.
_SOURCES = {file: file.read_text(encoding="utf8") for file in sorted(_PACKAGE.rglob("*.py"))}


@cache
def _imports() -> dict[Path, set[Path]]:
    """Return the files that each file of the package depends on directly."""
    # Where a file stands, as the names of folders and its own; a folder is its __init__.py.
    places = {file: file.relative_to(_PACKAGE).with_suffix("").parts for file in _SOURCES}
    modules = {
        ".".join(parts[:-1] if parts[-1] == "__init__" else parts): file for file, parts in places.items()
    }
    imports = {}
    for file, source in _SOURCES.items():
        found = set()
        for dots, module, names in _IMPORT.findall(source):
            base = [*places[file][: len(places[file]) - len(dots)], *filter(None, module.split("."))]
            found |= {".".join(base), *(".".join([*base, name]) for name in re.findall(r"\w+", names))}
        imports[file] = {modules[name] for name in found & modules.keys()}
    generic = {file for file, source in _SOURCES.items() if "\n@generic" in source}
    for file, source in _SOURCES.items():
        if "\n@implements(" in source or "\nimplements(" in source:
            for other in imports[file] & generic:
                imports[other].add(file)
    return imports


@cache
def _stamp(file: Path) -> str:
    """Return a digest of everything that compiled functions of a file depend on."""
    # Functions of other packages, as those of tests, can call any of this.
    reached = (
        {file}
        if file in _SOURCES
        else {each for each, source in _SOURCES.items() if _DECORATED.search(source)}
    )
    ahead = list(reached)
    while ahead:
        new = _imports()[ahead.pop()] - reached
        reached |= new
        ahead += new
    return sha256("".join(_SOURCES[each] for each in sorted(reached)).encode()).hexdigest()


def compiled(function: Callable) -> Any:
    """Compile a function with Numba: cached on disk, without the GIL, with the error model of NumPy."""
    return _compile(function, counting=True)


def borrowing(function: Callable) -> Any:
    """Compile a function that makes no array and returns none, without counting references.

    Numba counts references to each array of each argument by atomic operations, which would take most of the
    time of short functions. The caller holds on to the arrays.

    RAISES (NumbaError | TypeError): When it is compiled, if it makes or returns an array.
    """
    return _compile(function, counting=False)


def inner(function: Callable) -> Any:
    """`borrowing` without a wrapper for Python, which would take longer to compile than the function."""
    return _compile(function, counting=False, called_from_python=False)


def inner_maker(function: Callable) -> Any:
    """`inner`, for a function that makes arrays."""
    return _compile(function, counting=True, called_from_python=False)


def maker(function: Callable) -> Any:
    """Compile a function that makes arrays for compiled code. Python runs it uncompiled."""
    dispatcher = _dispatcher(function, counting=True, called_from_python=False)
    dispatcher.__class__ = compat.Maker
    return dispatcher


def _compile(function: Callable, *, counting: bool, called_from_python: bool = True) -> Any:
    def make_inner() -> compat.Inner:
        inner = _dispatcher(function, counting=counting, called_from_python=False)
        inner.__class__ = compat.Inner
        return inner

    def make_cache() -> Any:
        # What is kept of a function that is compiled in several ways is not all the same.
        stamp = f"{_stamp(Path(function.__code__.co_filename))} {counting}"
        return compat.new_cache(function, stamp, _warn_once)

    if not called_from_python:
        return make_inner()
    return compat.as_entry(
        _dispatcher(function, counting=counting, called_from_python=True), make_inner, make_cache
    )


def _dispatcher(function: Callable, *, counting: bool, called_from_python: bool) -> Any:
    options = compat.options(counting=counting, called_from_python=called_from_python)
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    if not counting:
        compat.check_overloads(dispatcher, partial(_refuse_arrays, function.__name__))
    return dispatcher


def _refuse_arrays(name: str, returned: Any) -> None:
    """Raise an error if a borrowing function returns an array."""
    for part in returned if isinstance(returned, types.BaseTuple) else [returned]:
        if not isinstance(part, types.Number | types.Boolean | types.NoneType):
            raise TypeError(f"{name} must not be borrowing: it returns {part}.")


_warned: list[Exception] = []


def _warn_once(error: Exception) -> None:
    if not _warned:
        _warned.append(error)
        warnings.warn(
            f"Compiled functions cannot be kept on disk ({error}), so every process compiles for a minute or "
            f"two. "
            "Set the environment variable NUMBA_CACHE_DIR to a writable directory.",
            stacklevel=2,
        )


@borrowing
def overwrite(target, source):
    """Copy one array to the beginning of another."""
    for i in range(len(source)):
        target[i] = source[i]


def generic(function: Callable) -> Any:
    """A function of compiled code that each kind of its first argument, a NamedTuple, implements for itself.

    So an algorithm is written once for all that it can be handed. An implementation is a compiled function
    with the same arguments; it is entered by `implements`. As with `borrowing`, it makes no array that it
    returns.
    """
    return compat.Generic(function)


def generic_maker(function: Callable) -> Any:
    """`generic`, for a function that makes arrays and returns them."""
    return compat.Generic(function)


def implements(function: Any, *kinds: type) -> Callable:
    """Enter a compiled function as what a `generic` one does with some kinds of first arguments.

    kinds (type): NamedTuples.
    """

    def enter(implementation: Any) -> Any:
        function.implementations.update(dict.fromkeys(kinds, implementation))
        return implementation

    return enter
