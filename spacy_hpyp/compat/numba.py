"""Options and methods of Numba's dispatchers, and classes of its cache.

`setup.cfg` bounds the versions of Numba that these are known to work with.
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
    """Return undocumented options of `njit`.

    counting (bool): Whether to count references to arrays (`_nrt`); without, a function can make none.
    called_from_python (bool): Whether to make a wrapper for Python.
    """
    return {
        "_nrt": counting,
        "no_cfunc_wrapper": True,
        "no_cpython_wrapper": not called_from_python,
        "pipeline_class": EntryPipeline if called_from_python else InnerPipeline,
    }


def check_overloads(dispatcher: Any, check: Callable[[Any], None]) -> None:
    """Call `check` with the return type of each overload before it can be used.

    Each overload passes through `add_overload`, from the cache too.
    """
    add_overload = dispatcher.add_overload

    def checked(result: Any) -> None:
        check(result.signature.return_type)
        add_overload(result)

    dispatcher.add_overload = checked


class _Called(CPUDispatcher):
    """Compiled code that compiled code calls, once for constants and for signed integers of all sizes."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(
            tuple(map(_widened, args)), {name: _widened(arg) for name, arg in kws.items()}
        )


def _widened(arg: types.Type) -> types.Type:
    arg = types.unliteral(arg)
    return types.int64 if isinstance(arg, types.Integer) and arg.signed else arg


class Inner(_Called):
    """Compiled code without a wrapper for Python."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse to be called: Numba would jump to a missing wrapper."""
        raise TypeError(
            f"Python cannot call '{self.py_func.__module__}.{self.py_func.__qualname__}', which is compiled "
            f"for "
            "compiled functions only. Call its attribute 'py_func'."
        )


class Maker(_Called):
    """Compiled code for compiled code. Python runs the function uncompiled."""

    def __call__(self, *args: Any) -> Any:
        """Run it uncompiled."""
        return self.py_func(*args)


class Entry(CPUDispatcher):
    """Compiled code for Python. Compiled code calls `inner` instead."""

    @cached_property
    def inner(self) -> Inner:
        """The function for compiled code, made when it is needed."""
        return self._make_inner()

    @cached_property
    def _cache(self) -> FunctionCache | NullCache:
        return self._make_cache()

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return that of `inner`."""
        return self.inner.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        """Return that of `inner`."""
        return self.inner.get_overload(sig)


def as_entry(
    dispatcher: Any, inner: Callable[[], Inner], cache: Callable[[], FunctionCache | NullCache]
) -> Entry:
    """Make a compiled function an `Entry`.

    inner (Callable): Makes the function for compiled code.
    cache (Callable): Makes its cache: `cache=True` would give it Numba's own.
    """
    dispatcher.__class__ = Entry
    dispatcher._make_inner, dispatcher._make_cache = inner, cache
    # What Numba gives it keeps nothing.
    del dispatcher._cache
    return dispatcher


class Entries(IndexDataCacheFile):
    """Compiled overloads of a function, a file each.

    Numba numbers the files of a function in an index. Two processes that compile at once can use one number,
    and a killed one can leave an old file under a new number: a call would then run wrong code. Here the name
    of a file is derived from its key, and its content says what it was made from. Nothing is locked; damaged
    files are compiled again.
    """

    def save(self, key: Any, data: Any) -> None:
        """Save an overload."""
        self._save_data(self._name(key), (self._made_from(), self._dump((key, data))))

    def load(self, key: Any) -> Any:
        """Return an overload, or None."""
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
    """Numba's cache with `Entries`, which a full disk does not stop.

    function (Callable): The function.
    stamp (str): Entries with another stamp are not used.
    report (Callable): Called with an error that keeps an overload from being saved.
    RAISES (RuntimeError): If Numba finds no directory that it can write to.
    """

    def __init__(self, function: Callable, stamp: str, report: Callable[[Exception], None]) -> None:
        super().__init__(function)
        self._cache_file = Entries(self.cache_path, self._impl.filename_base, stamp)
        self._report = report

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return an overload, or None, before anything else is imported for compiling."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save an overload, or report the error."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            self._report(error)


def new_cache(function: Callable, stamp: str, report: Callable[[Exception], None]) -> DiskCache | NullCache:
    """Return a `DiskCache` where there is a directory for it; else report that, and return one that keeps
    nothing.
    """
    try:
        return DiskCache(function, stamp, report)
    except RuntimeError as error:
        report(error)
        return NullCache()


@intrinsic
def fetch(typing: Any, array: Any, place: Any) -> Any:
    """Prefetch an entry of an array, given its flat index."""

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
    """A function of compiled code with an implementation for each class of the first argument.

    function (Callable): Documents the arguments.
    """

    def __init__(self, function: Callable) -> None:
        self.implementations: dict[type, Any] = {}
        self._type = _GenericType(self, f"generic {function.__module__}.{function.__qualname__}")
        update_wrapper(self, function)

    def __call__(self, first: Any, *rest: Any) -> Any:
        """Call the implementation for the class of the first argument, if Python may call it."""
        return self.implementations[type(first)](first, *rest)


class _GenericType(types.Callable, types.Opaque):
    """Numba's type of a `Generic`. Types of NamedTuples and `Reference`s have their class as
    `instance_class`.
    """

    def __init__(self, generic: Generic, name: str) -> None:
        self._generic = generic
        super().__init__(name)

    def _implementation(self, first: Any) -> types.Dispatcher | None:
        implementation = self._generic.implementations.get(getattr(first, "instance_class", None))
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
