"""Numba: options and methods of dispatchers, and the classes of its cache.

Checked with Numba 0.60.0 on Python 3.10, and 0.68.1 on 3.10 to 3.13.
"""

import pickle
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.registry import CPUDispatcher
from numba.extending import overload


def options(*, counting: bool, called_from_python: bool) -> dict[str, bool]:
    """Options of `njit` that are not documented.

    counting (bool): Whether the references to arrays are counted, by atomic operations; without, a function can make none.
        This is the option `_nrt`.
    called_from_python (bool): Whether there is a function that takes Python's objects apart. None is handed to C as a
        function pointer, so there is never one for that.
    """
    return {"_nrt": counting, "no_cfunc_wrapper": True, "no_cpython_wrapper": not called_from_python}


def set_cache(dispatcher: Any, cache: FunctionCache | NullCache) -> None:
    """Give a compiled function a cache: `cache=True` would give it Numba's own."""
    dispatcher._cache = cache


def check_overloads(dispatcher: Any, check: Callable[[Any], None]) -> None:
    """Have a function called with the type that each overload of a compiled function returns, before the overload can be used.

    Numba has no event for that which comes before it is used; `add_overload` is what each passes through, from the cache too.
    """
    add_overload = dispatcher.add_overload

    def checked(result: Any) -> None:
        check(result.signature.return_type)
        add_overload(result)

    dispatcher.add_overload = checked


class _Inner(CPUDispatcher):
    """A compiled function that Python cannot call: there is nothing that takes Python's objects apart, and Numba would jump there."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"'{self.py_func.__module__}.{self.py_func.__qualname__}' is compiled for other compiled functions only, and Python "
            "cannot call it. Call what calls it, or its uncompiled form, the attribute 'py_func'."
        )


def refuse_calls(dispatcher: Any) -> None:
    """Let calls of a compiled function from Python raise a TypeError, see `called_from_python` in `options`."""
    dispatcher.__class__ = _Inner


class Entries(IndexDataCacheFile):
    """What Numba has compiled of a function: a file for each overload, which says itself what it is made from.

    Numba keeps an index that numbers the files of a function. Two processes that compile at once can both give a number
    away, and one that is killed can leave an old file under a new number: from then on a call would run another overload,
    or an older version of the function. Here the name of a file is derived from what is compiled, and what is read is
    only taken if it is what was asked for. There is nothing to lock, and what is damaged is compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save an overload."""
        self._save_data(self._name(key), (self._made_from(), self._dump((key, data))))

    def load(self, key: Any) -> Any:
        """An overload, or None."""
        try:
            made_from, content = self._load_data(self._name(key))
            found, data = pickle.loads(content) if made_from == self._made_from() else (None, None)
        except Exception:
            # It is not there, or damaged; what that raises depends on where it is.
            return None
        return data if found == key else None

    def flush(self) -> None:
        """Remove all overloads."""
        index = Path(self._index_path)
        for file in index.parent.glob(f"{index.stem}.*.nbc"):
            file.unlink(missing_ok=True)

    def _made_from(self) -> tuple[str, str]:
        return self._version, self._source_stamp

    def _name(self, key: Any) -> str:
        return self._data_name(int.from_bytes(sha256(repr(key).encode()).digest()[:8], "big"))


class DiskCache(FunctionCache):
    """Numba's cache with `Entries`, that a full disk does not stop.

    function (Callable): What is compiled.
    stamp (str): What is kept of the function is only used where the stamp is the same.
    report (Callable): Called with an error that keeps an overload from being saved.
    RAISES (RuntimeError): If Numba finds no directory that it can write to: neither NUMBA_CACHE_DIR, nor beside the function's
        file, nor at home.
    """

    def __init__(self, function: Callable, stamp: str, report: Callable[[Exception], None]) -> None:
        super().__init__(function)
        self._cache_file = Entries(self.cache_path, self._impl.filename_base, stamp)
        self._report = report

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save an overload, or report why that cannot be done."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._report(error)


def new_cache(function: Callable, stamp: str, report: Callable[[Exception], None]) -> DiskCache | NullCache:
    """A `DiskCache` where there is a directory for it; elsewhere one that keeps nothing, and a report of that."""
    try:
        return DiskCache(function, stamp, report)
    except RuntimeError as error:
        report(error)
        return NullCache()


def choose_by_kind(function: Callable, *, counting: bool) -> Any:
    """Let compiled code call, in place of a function, what is entered for the class of its first argument.

    Numba's type of a NamedTuple has that class as `instance_class`.

    function (Callable): Gets an attribute `implementations` (dict[type, Any]), by class.
    counting (bool): Whether the references to arrays are counted in between, see `options`.
    """
    implementations: dict[type, Any] = {}

    def choose(first: Any, *rest: Any) -> Callable | None:
        implementation = implementations.get(getattr(first, "instance_class", None))
        return None if implementation is None else lambda first, *rest: implementation(first, *rest)

    overload(function, {"_nrt": counting, "error_model": "numpy"}, strict=False)(choose)
    function.implementations = implementations  # type: ignore[attr-defined]
    return function
