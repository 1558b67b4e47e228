"""Numba: options and methods of dispatchers, and the classes of its cache.

Checked with Numba 0.60.0 on Python 3.10, and 0.68.1 on 3.10 to 3.13.
"""

import pickle
from collections.abc import Callable
from functools import cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.datamodel import models
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.typing.typeof import typeof_impl
from numba.extending import intrinsic, register_model

# Its copy of appdirs: where the platform has what an application can make again.
from numba.misc.appdirs import user_cache_dir as user_cache_dir

from .libraries import EntryPipeline, InnerPipeline


def options(*, counting: bool, called_from_python: bool) -> dict[str, Any]:
    """Options of `njit` that are not documented.

    counting (bool): Whether the references to arrays are counted, by atomic operations; without, a function
        can make none. This is the option `_nrt`.
    called_from_python (bool): Whether there is a function that takes Python's objects apart. None is handed
        to C as a function pointer, so there is never one for that.
    """
    return {
        "_nrt": counting,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": not called_from_python,
        "pipeline_class": EntryPipeline if called_from_python else InnerPipeline,
    }


def check_overloads(dispatcher: Any, check: Callable[[Any], None]) -> None:
    """Have a function called with the type that each overload of a compiled function returns, before the
    overload can be used.

    Numba has no event for that which comes before it is used; `add_overload` is what each passes through,
    from the cache too.
    """
    add_overload = dispatcher.add_overload

    def checked(result: Any) -> None:
        check(result.signature.return_type)
        add_overload(result)

    dispatcher.add_overload = checked


class _Called(CPUDispatcher):
    """What compiled code calls. It is compiled once for constants and for signed integers of all sizes."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(
            tuple(map(_widened, args)), {name: _widened(arg) for name, arg in kws.items()}
        )


def _widened(arg: types.Type) -> types.Type:
    arg = types.unliteral(arg)
    return types.int64 if isinstance(arg, types.Integer) and arg.signed else arg


class Inner(_Called):
    """What compiled code calls, and Python cannot: there is nothing that takes Python's objects apart, and
    Numba would jump there.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """There is no such call."""
        raise TypeError(
            f"'{self.py_func.__module__}.{self.py_func.__qualname__}' is compiled for other compiled "
            f"functions only, and Python "
            "cannot call it. Call what calls it, or its uncompiled form, the attribute 'py_func'."
        )


class Maker(_Called):
    """What compiled code calls. Python runs it as it is."""

    def __call__(self, *args: Any) -> Any:
        """Run it uncompiled."""
        return self.py_func(*args)


class Entry(CPUDispatcher):
    """What Python calls. Compiled code calls `inner` in its place. That and its cache are made when they are
    first asked for.
    """

    @cached_property
    def inner(self) -> Inner:
        """What compiled code calls."""
        return self._make_inner()

    @cached_property
    def _cache(self) -> FunctionCache | NullCache:
        return self._make_cache()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """That of `inner`."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """That of `inner`."""
        return self.inner.get_overload(sig)


def as_entry(
    dispatcher: Any, inner: Callable[[], Inner], cache: Callable[[], FunctionCache | NullCache]
) -> Entry:
    """Make a compiled function an `Entry`.

    inner (Callable): Makes what compiled code calls.
    cache (Callable): Makes its cache: `cache=True` would give it Numba's own.
    """
    dispatcher.__class__ = Entry
    dispatcher._make_inner, dispatcher._make_cache = inner, cache
    # What Numba gives it keeps nothing.
    del dispatcher._cache
    return dispatcher


class Entries(IndexDataCacheFile):
    """What Numba has compiled of a function: a file for each overload, which says itself what it is made
    from.

    Numba keeps an index that numbers the files of a function. Two processes that compile at once can both
    give a number away, and one that is killed can leave an old file under a new number: from then on a call
    would run another overload, or an older version of the function. Here the name of a file is derived from
    what is compiled, and what is read is only taken if it is what was asked for. There is nothing to lock,
    and what is damaged is compiled again.
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
    RAISES (RuntimeError): If Numba finds no directory that it can write to: neither NUMBA_CACHE_DIR, nor
        beside the function's file, nor at home.
    """

    def __init__(self, function: Callable, stamp: str, report: Callable[[Exception], None]) -> None:
        super().__init__(function)
        self._cache_file = Entries(self.cache_path, self._impl.filename_base, stamp)
        self._report = report

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """An overload, or None. What can be compiled is not imported before it is clear that something has to
        be.
        """
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save an overload, or report why that cannot be done."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._report(error)


def new_cache(function: Callable, stamp: str, report: Callable[[Exception], None]) -> DiskCache | NullCache:
    """A `DiskCache` where there is a directory for it; elsewhere one that keeps nothing, and a report of
    that.
    """
    try:
        return DiskCache(function, stamp, report)
    except RuntimeError as error:
        report(error)
        return NullCache()


@intrinsic
def fetch(typing: Any, array: Any, place: Any) -> Any:
    """Have the processor fetch an entry of an array, counted in one row, which is read soon: it goes on
    without waiting for it.
    """

    def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data, number = context.make_array(array)(context, builder, given[0]).data, ir.IntType(32)
        at = builder.gep(data, [context.cast(builder, given[1], place, types.int64)])
        at = builder.bitcast(at, ir.IntType(8).as_pointer())
        function = ir.FunctionType(ir.VoidType(), [at.type, number, number, number])
        # To be read; to be kept in every cache; of data.
        flags = number(0), number(3), number(1)
        builder.call(builder.module.declare_intrinsic("llvm.prefetch", [at.type], function), [at, *flags])
        return context.get_dummy_value()

    return types.void(array, place), write


class Generic:
    """What compiled code calls in place of a function: what is entered for the class of the first argument.

    function (Callable): Says what its arguments are.
    default (Any): The compiled function for classes for which nothing is entered; None if there is none.
    """

    def __init__(self, function: Callable, default: Any = None) -> None:
        self.implementations: dict[type, Any] = {}
        self.default = default
        self._type = _GenericType(self, f"generic {function.__module__}.{function.__qualname__}")
        update_wrapper(self, function)

    def __call__(self, first: Any, *rest: Any) -> Any:
        """What is entered for the class of the first argument, if Python may call that."""
        return self.implementations[type(first)](first, *rest)


class _GenericType(types.Callable, types.Opaque):
    """Numba's type of a `Generic`. The types of a NamedTuple and of a `Reference` have its class as
    `instance_class`.
    """

    def __init__(self, generic: Generic, name: str) -> None:
        self._generic = generic
        super().__init__(name)

    def _implementation(self, first: Any) -> types.Dispatcher | None:
        generic = self._generic
        implementation = generic.implementations.get(getattr(first, "instance_class", None), generic.default)
        return None if implementation is None else types.Dispatcher(implementation)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        implementation = self._implementation(args[0])
        return None if implementation is None else implementation.get_call_type(context, args, kws)

    def get_call_signatures(self) -> tuple[list, bool]:
        return [], True

    def get_impl_key(self, sig: Any) -> Any:
        return self._implementation(sig.args[0]).get_impl_key(sig)


register_model(_GenericType)(models.OpaqueModel)


@typeof_impl.register(Generic)
def _type_of_generic(generic: Generic, context: Any) -> _GenericType:
    return generic._type


@lower_constant(_GenericType)
def _constant(context: Any, builder: Any, type: _GenericType, generic: Generic) -> Any:
    return context.get_dummy_value()
