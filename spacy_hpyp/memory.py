"""Release of freed memory, rarer garbage collection, and batches of limited size."""

import ctypes
import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_Arguments, _Result, _Item = ParamSpec("_Arguments"), TypeVar("_Result"), TypeVar("_Item")

try:
    _trim = ctypes.CDLL(None).malloc_trim
except (OSError, AttributeError, TypeError):
    # Windows, and other libraries than glibc.
    _trim = None
# Garbage collection thresholds for rare searches for cycles of objects.
_RARELY = (100_000, 50, 50)


def giving_back(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return freed memory to the system after a function that works on large arrays.

    glibc keeps arrays of less than 32 MB in each thread: hundreds of MB for a large seating.
    """

    @wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        finally:
            if _trim is not None:
                _trim(0)

    return call


@contextmanager
def collecting_rarely() -> Iterator[None]:
    """Collect garbage rarely while many objects are made that stay."""
    threshold = gc.get_threshold()
    with ExitStack() as stack:
        # If another thread has done so, that thread ends it.
        if 0 < threshold[0] < _RARELY[0]:
            stack.callback(gc.set_threshold, *threshold)
            gc.set_threshold(*_RARELY)
        yield


def batches(
    items: Iterable[_Item], size: int, length: Callable[[Any], int] = len
) -> Iterator[list[_Item]]:
    """Group items in batches, each of as few as have at least the summed length `size`."""
    batch, total = [], 0
    for item in items:
        batch.append(item)
        total += length(item)
        if total >= size:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch
