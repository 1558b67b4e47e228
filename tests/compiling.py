"""Functions that only compiled code calls, for tests."""

from functools import cache

from numba import njit


@cache
def compiled(function):
    """Return a function compiled for Python."""
    return njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
