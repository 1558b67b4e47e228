"""How the numerical core is compiled: decorators that say it once.

`compiled` is for what Python calls and for what makes arrays. Short functions that only work on the arrays of their callers
are `borrowing`, and those of them that only compiled code calls, with a whole parser as an argument, are `inner`.

All that we touch of Numba beyond its documented interface is here: of a dispatcher `_cache`, `add_overload` and the option
`_nrt`; of the module `numba.core.caching` the classes below and what they override and call. Checked with Numba 0.68.1; most of it, before
its last changes, with 0.60.0, 0.61.2 and 0.65.1 too.
"""

import pickle
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

# NumPy imports this module when `numpy.ma` is first read, and Numba reads that to find the type of an array, without a lock.
# Of two threads that call compiled functions for the first time, one could ask for it while the other was just done with
# importing it, and ask until the stack was full. So it is imported before there are threads.
import numpy.ma  # noqa: F401
from numba import njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.extending import overload

#: In place of a number, a position or an outcome: there is none.
NONE = -1

# Numba recompiles a function when its own file changes, but not when a function that it calls does, in another file: after
# an update it would go on with the old one. So the stamp of every function is the content of all files that have some.
_FILES = [file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py"))]
_STAMP = sha256(b"".join(file for file in _FILES if b"compiled import" in file)).hexdigest()


def compiled(function: Callable) -> Any:
    """Compile a function with Numba: cached on disk, without the GIL, with the error model of NumPy."""
    return _compile(function, counting=True)


def borrowing(function: Callable) -> Any:
    """Compile a function that makes no array and returns none.

    Numba counts the references to every array that a function is given, each field of a tuple for itself, by atomic
    operations. A short function that is given a whole model would do little else. Its caller holds on to the arrays, so it
    need not.

    RAISES (NumbaError | TypeError): When it is compiled, if it makes or returns an array.
    """
    return _compile(function, counting=False)


def inner(function: Callable) -> Any:
    """`borrowing`, for a function that is not called from Python: what takes a parser apart for it would be longer than
    the function, and take longer to compile.
    """
    return _compile(function, counting=False, no_cpython_wrapper=True)


def _compile(function: Callable, *, counting: bool, **options: bool) -> Any:
    # Nothing here is handed to C as a function pointer.
    options = {"no_cfunc_wrapper": True, "_nrt": counting, **options}
    dispatcher = njit(nogil=True, error_model="numpy", **options)(function)
    # What is kept of a function that is compiled in several ways is not all the same.
    dispatcher._cache = _cache_of(function, f"{_STAMP} {options}")
    if not counting:
        _refuse_arrays(dispatcher)
    return dispatcher


def _refuse_arrays(dispatcher: Any) -> None:
    """Let a function not be compiled that gives away what it has only borrowed. That it makes none Numba sees to."""
    add_overload = dispatcher.add_overload

    def check(result: Any) -> None:
        returned = result.signature.return_type
        for part in returned if isinstance(returned, types.BaseTuple) else [returned]:
            if not isinstance(part, types.Number | types.Boolean | types.NoneType):
                raise TypeError(f"{dispatcher.py_func.__name__} must not be borrowing: it returns {part}.")
        add_overload(result)

    dispatcher.add_overload = check


class _Entries(IndexDataCacheFile):
    """What Numba has compiled of a function: a file for each overload, which says itself what it is made from.

    Numba keeps an index that numbers the files of a function. Two processes that compile at once can both give a number
    away, and one that is killed can leave an old file under a new number: from then on a call would run another overload,
    or an older version of the function. Here the name of a file is derived from what is compiled, and what is read is
    only taken if it is what was asked for. There is nothing to lock, and what is damaged is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), (self._made_from(), self._dump((key, data))))

    def load(self, key: Any) -> Any:
        try:
            made_from, content = self._load_data(self._name(key))
            found, data = pickle.loads(content) if made_from == self._made_from() else (None, None)
        except Exception:
            # It is not there, or damaged; what that raises depends on where it is.
            return None
        return data if found == key else None

    def flush(self) -> None:
        index = Path(self._index_path)
        for file in index.parent.glob(f"{index.stem}.*.nbc"):
            file.unlink(missing_ok=True)

    def _made_from(self) -> tuple[str, str]:
        return self._version, self._source_stamp

    def _name(self, key: Any) -> str:
        return self._data_name(int.from_bytes(sha256(repr(key).encode()).digest()[:8], "big"))


class _DiskCache(FunctionCache):
    """Numba's cache with `_Entries`, that a full disk does not stop."""

    def __init__(self, function: Callable, stamp: str) -> None:
        super().__init__(function)
        self._cache_file = _Entries(self.cache_path, self._impl.filename_base, stamp)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _warn_once(error)


def _cache_of(function: Callable, stamp: str) -> _DiskCache | NullCache:
    try:
        return _DiskCache(function, stamp)
    except RuntimeError as error:
        # Numba has found no directory that it can write to: neither NUMBA_CACHE_DIR, nor beside the file, nor at home.
        _warn_once(error)
        return NullCache()


_warned: list[Exception] = []


def _warn_once(error: Exception) -> None:
    if not _warned:
        _warned.append(error)
        warnings.warn(
            f"Compiled functions cannot be kept on disk ({error}), so every process compiles what it uses for itself, which "
            "takes a minute or two. Set the environment variable NUMBA_CACHE_DIR to a directory that can be written to.",
            stacklevel=2,
        )


@borrowing
def overwrite(target, source):
    """Copy one array to the beginning of another."""
    for i in range(len(source)):
        target[i] = source[i]


def generic(function: Callable) -> Any:
    """A function of compiled code that each kind of its first argument, a NamedTuple, implements for itself.

    So an algorithm is written once for all that it can be handed. An implementation is a compiled function with the same
    arguments; it is entered by `implements`.
    """
    implementations: dict[type, Any] = {}

    def choose(first: Any, *rest: Any) -> Callable | None:
        implementation = implementations.get(getattr(first, "instance_class", None))
        return None if implementation is None else lambda first, *rest: implementation(first, *rest)

    overload(function, {"_nrt": False, "error_model": "numpy"}, strict=False)(choose)
    function.implementations = implementations
    return function


def implements(function: Any, *kinds: type) -> Callable:
    """Enter a compiled function as what a `generic` one does with some kinds of first arguments.

    kinds (type): NamedTuples.
    """

    def enter(implementation: Any) -> Any:
        function.implementations.update(dict.fromkeys(kinds, implementation))
        return implementation

    return enter
