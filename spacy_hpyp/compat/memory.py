"""Release of freed memory, and rarer garbage collection."""

import ctypes
import gc
import mmap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

import numpy as np

_Arguments, _Result = ParamSpec("_Arguments"), TypeVar("_Result")

try:
    _trim, _advise = ctypes.CDLL(None).malloc_trim, ctypes.CDLL(None).madvise
    _advise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
except (OSError, AttributeError, TypeError):
    # Windows, and other libraries than glibc.
    _trim = _advise = None
# How seldom Python looks for cycles of objects.
_RARELY = (100_000, 50, 50)


def giving_back(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return freed memory to the system after a function that works on large arrays.

    glibc keeps arrays of less than 32 MB in each thread: hundreds of MB for the columns of a large seating.
    """

    @wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        finally:
            if _trim is not None:
                _trim(0)

    return call


def let_go(array: np.ndarray) -> None:
    """Release the whole pages of an array that nobody reads any more. Its numbers are lost unless a file has
    them.
    """
    begin, end = (-(-array.ctypes.data // mmap.PAGESIZE), (array.ctypes.data + array.nbytes) // mmap.PAGESIZE)
    if _advise is not None and begin < end and array.flags.carray:
        _advise(begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE, mmap.MADV_DONTNEED)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage rarely while many objects are made that stay."""
    threshold = gc.get_threshold()
    with ExitStack() as stack:
        # Where another thread has done so, it is that one which ends it.
        if 0 < threshold[0] < _RARELY[0]:
            stack.callback(gc.set_threshold, *threshold)
            gc.set_threshold(*_RARELY)
        yield
