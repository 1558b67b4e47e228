"""Compiled code: functions that Numba compiles, and NamedTuples that they get by pointer."""

from collections.abc import Callable
from functools import cached_property, singledispatch
from hashlib import sha256
from typing import Any, TypeVar

import numba

# It registers types. Numba imports it with its first compilation, and another thread that looks up
# a type meanwhile would fail.
import numba.experimental.function_type
import numpy as np

# Numba reads `numpy.ma` to find the type of an array, and NumPy then imports it without a lock. Two
# threads that do so at once would recurse until the stack is full.
import numpy.ma
from llvmlite import ir
from numba import extending, njit, typeof, types
from numba.core import cgutils, event

from .code_cache import cache_directory
from .memory import collecting_rarely

Class = TypeVar("Class", bound=type)

#: In place of a missing number, position or outcome.
NONE = -1

_WORD = ir.IntType(64)
_BLOCK = _WORD.as_pointer()
#: Release the GIL, give an infinity or NaN for a division by 0, and make no wrappers for C, which
#: take a tenth of the time to compile.
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


class _Compilation(event.Listener):
    """Listener that collects garbage rarely while Numba compiles, which takes a tenth less time."""

    def __init__(self) -> None:
        self.open: list = []

    def on_start(self, event: Any) -> None:
        self.open.append(collecting_rarely())
        self.open[-1].__enter__()

    def on_end(self, event: Any) -> None:
        self.open.pop().__exit__(None, None, None)


event.register("numba:compile", _Compilation())


def jit(function: Callable) -> Any:
    """Compile a function for Python and for compiled code; cache it on disk if possible."""
    directory, configured = cache_directory(), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = directory or configured
    try:
        return njit(cache=directory is not None, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = configured


def jitable(function: Callable) -> Any:
    """Compile a function as part of each `jit` function that calls it; Python runs it as it is.

    It needs no wrapper for Python and no file in the cache: with `jit` in its place everywhere, a
    cold start takes a third longer.
    """
    return extending.register_jitable(**_OPTIONS)(function)


def dispatch(function: Callable) -> Any:
    """Make a function `functools.singledispatch`, for compiled code, too; classes are NamedTuples.
    Only Python can call the function itself, for other classes.
    """
    generic = singledispatch(function)

    @extending.overload(generic, jit_options=_OPTIONS, strict=False)
    def choose(first: Any, *others: Any) -> Any:
        implementation = generic.dispatch(getattr(first, "instance_class", object))
        if implementation is not function:
            return getattr(implementation, "py_func", implementation)

    return generic


@extending.intrinsic
def fetch(typing: Any, array: Any, place: Any) -> Any:
    """Prefetch an entry of an array, given its flat index."""

    def write(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        data, flag = context.make_array(array)(context, builder, given[0]).data, ir.IntType(32)
        at = builder.gep(data, [context.cast(builder, given[1], place, types.int64)])
        at = builder.bitcast(at, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [at.type, flag, flag, flag])
        function = builder.module.declare_intrinsic("llvm.prefetch", [at.type], kind)
        # Prefetch for reading, into every cache, as data.
        builder.call(function, [at, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, place), write


@jit
def overwrite(target, source):
    """Copy one array to the beginning of another."""
    for i in range(len(source)):
        target[i] = source[i]


# Numba unpacks a tuple into an argument for each number and seven for each array: hundreds for a
# parser. A struct is one argument, the address of a block of 64-bit words: its scalars and those of
# the tuples in it, and the address and shape (and strides, unless C-contiguous) of each array. The
# Python tuple keeps the arrays and the block alive.
class Struct(types.NamedTuple):
    """Numba's type of a `struct`, named by a digest: its name is in those of functions that take
    it.
    """

    def __init__(self, members: tuple[types.Type, ...], instance_class: type) -> None:
        super().__init__(members, instance_class)
        content = f"{instance_class.__module__}.{instance_class.__qualname__}{members}"
        self.name = f"{instance_class.__name__}*{sha256(content.encode()).hexdigest()[:12]}"

    #: Equal types have equal names, and Python caches the hash of a name.
    key = property(lambda self: self.name)


def _words(member: types.Type) -> int:
    if isinstance(member, Struct):
        return sum(map(_words, member))
    if isinstance(member, types.Array):
        return 1 + member.ndim * (1 if member.layout == "C" else 2)
    return 1


#: Caches of types: `typeof` is slower, and hashes of types are slow.
_ARRAYS: dict[tuple[np.dtype, int, int], types.Type] = {}
_STRUCTS: dict[tuple, Struct] = {}


def _lay_out(value: Any) -> tuple[Struct, list[int]]:
    """Return the type of a NamedTuple, and its words."""
    members, words = [], []
    for part in value:
        if isinstance(part, np.ndarray):
            looks = part.dtype, part.ndim, part.flags.num
            member = _ARRAYS.get(looks) or _ARRAYS.setdefault(looks, typeof(part))
            words.append(part.__array_interface__["data"][0])
            words += part.shape if member.layout == "C" else part.shape + part.strides
        elif hasattr(part, "_fields"):
            member, inside = part._layout[:2] if isinstance(part, _ByPointer) else _lay_out(part)
            words += inside
        else:
            member = typeof(part)
            is_float = isinstance(member, types.Float)
            words.append(int(np.float64(part).view(np.int64) if is_float else part))
        members.append(member)
    key = type(value), *map(id, members)
    if key not in _STRUCTS:
        _STRUCTS[key] = Struct(tuple(members), type(value))
    return _STRUCTS[key], words


class _ByPointer:
    @cached_property
    def _layout(self) -> tuple[Struct, list[int], np.ndarray]:
        struct, words = _lay_out(self)
        # Concurrent threads all keep the first block, because compiled code may be reading it.
        return self.__dict__.setdefault("_layout", (struct, words, np.array(words, dtype=np.int64)))

    @cached_property
    def _address(self) -> int:
        return self._layout[2].__array_interface__["data"][0]

    def __getstate__(self) -> None:
        """Leave the layout out of copies and pickles."""


def struct(declared: Class) -> Class:
    """Hand the NamedTuples of a class, and those in their fields, to compiled code by pointer.

    Fields are read as usual there. Tuples that compiled code makes are ordinary ones.
    """
    contents = {name: getattr(declared, name) for name in ("__module__", "__qualname__", "__doc__")}
    made = type(declared.__name__, (declared, _ByPointer), contents)
    extending.typeof_impl.register(made)(lambda value, context: value._layout[0])
    return made  # type: ignore[return-value]


@extending.register_model(Struct)
class _Model(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, struct: Struct) -> None:
        super().__init__(manager, struct, _BLOCK)


@extending.unbox(Struct)
def _unbox(struct: Struct, value: Any, context: Any) -> extending.NativeValue:
    builder = context.builder
    pointer = cgutils.alloca_once_value(builder, cgutils.get_null_value(_BLOCK))
    address = context.pyapi.object_getattr_string(value, "_address")
    # It is missing if Python was interrupted.
    with builder.if_then(cgutils.is_not_null(builder, address)):
        builder.store(builder.bitcast(context.pyapi.long_as_voidptr(address), _BLOCK), pointer)
        context.pyapi.decref(address)
    return extending.NativeValue(builder.load(pointer), is_error=cgutils.is_null(builder, address))


@extending.lower_getattr_generic(Struct)
def _read(context: Any, builder: Any, struct: Struct, block: Any, name: str) -> Any:
    index = struct.fields.index(name)
    member, place = struct[index], sum(map(_words, struct.types[:index]))
    if isinstance(member, Struct):
        return builder.gep(block, [_WORD(place)])
    words = [builder.load(builder.gep(block, [_WORD(place + i)])) for i in range(_words(member))]
    for word in words:
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
    if isinstance(member, types.Boolean):
        return builder.icmp_unsigned("!=", words[0], _WORD(0))
    if isinstance(member, types.Float):
        value = builder.bitcast(words[0], ir.DoubleType())
        return context.cast(builder, value, types.float64, member)
    if not isinstance(member, types.Array):
        return context.cast(builder, words[0], types.int64, member)
    array, size = context.make_array(member)(context, builder), _WORD(1)
    shape, strides = words[1 : member.ndim + 1], words[member.ndim + 1 :]
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(member.dtype)))
    for length in shape[::-1]:
        if member.layout == "C":
            strides.insert(0, builder.mul(itemsize, size))
        size = builder.mul(size, length)
    array.data = builder.inttoptr(words[0], array.data.type)
    array.itemsize, array.nitems = itemsize, size
    array.shape = cgutils.pack_array(builder, shape)
    array.strides = cgutils.pack_array(builder, strides)
    for owner in ("meminfo", "parent"):
        setattr(array, owner, cgutils.get_null_value(getattr(array, owner).type))
    return array._getvalue()
