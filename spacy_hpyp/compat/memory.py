"""Memory that the C library keeps of what was freed."""

import ctypes
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

_Arguments, _Result = ParamSpec("_Arguments"), TypeVar("_Result")

try:
    _trim = ctypes.CDLL(None).malloc_trim
except (OSError, AttributeError, TypeError):
    # Windows, and other libraries than glibc.
    _trim = None


def giving_back(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Let a function that works on large arrays give the system back what it has freed.

    glibc keeps arrays of less than 32 MB, in each thread for itself: of the columns of a large seating that is hundreds of MB.
    """

    @wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        finally:
            if _trim is not None:
                _trim(0)

    return call
