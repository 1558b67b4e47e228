"""How the numerical core is compiled: decorators that say it once.

`compiled` is for what Python calls and for what makes arrays. Short functions that only work on the arrays of their callers
are `borrowing`, and those of them that only compiled code calls, with a whole parser as an argument, are `inner`.
"""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit, types

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
    dispatcher = njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    cache_file = getattr(dispatcher._cache, "_cache_file", None)
    if cache_file is not None:
        cache_file._source_stamp = _STAMP
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


@borrowing
def overwrite(target, source):
    """Copy one array to the beginning of another."""
    for i in range(len(source)):
        target[i] = source[i]
