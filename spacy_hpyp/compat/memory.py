"""Memory that nobody needs any more: what the C library keeps of what was freed, arrays that are still there,
and how often Python looks for it.
"""

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
    """Let a function that works on large arrays give the system back what it has freed.

    glibc keeps arrays of less than 32 MB, in each thread for itself: of the columns of a large seating that
    is hundreds of MB.
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
    """Give back the memory of an array that nobody reads any more, as far as it takes whole pages and may be
    written to: its numbers are lost, unless a file has them that it is mapped from.
    """
    begin, end = (-(-array.ctypes.data // mmap.PAGESIZE), (array.ctypes.data + array.nbytes) // mmap.PAGESIZE)
    if _advise is not None and begin < end and array.flags.carray:
        _advise(begin * mmap.PAGESIZE, (end - begin) * mmap.PAGESIZE, mmap.MADV_DONTNEED)


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Have Python look seldom for cycles of objects, where many are made that stay, and it would look through
    them again and again.
    """
    threshold = gc.get_threshold()
    with ExitStack() as stack:
        # Where another thread has done so, it is that one which ends it.
        if 0 < threshold[0] < _RARELY[0]:
            stack.callback(gc.set_threshold, *threshold)
            gc.set_threshold(*_RARELY)
        yield
