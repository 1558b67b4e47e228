"""Compiled code: functions that Numba compiles, and NamedTuples that they get by pointer."""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache, update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

# Numba reads `numpy.ma` when it finds the type of an array, and NumPy imports it at that moment without a
# lock. Two threads that did so at once would recurse until the stack is full.
import numpy.ma
from llvmlite import ir
from numba import njit, typeof, types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    lower_getattr_generic,
    models,
    overload,
    register_jitable,
    register_model,
    typeof_impl,
    unbox,
)

Class = TypeVar("Class", bound=type)

#: In place of a number, a position or an outcome: there is none.
NONE = -1

_PACKAGE = Path(__file__).parent
_WORD = ir.IntType(64)
#: Without the GIL; a division by 0 gives an infinity or NaN.
_OPTIONS = {"nogil": True, "error_model": "numpy"}


@cache
def _cache_directory() -> str | None:
    """Return the directory of the code that is compiled from the present sources, or None.

    Numba compiles a function again after a change of its file, but not after a change of another file with a
    function that it calls. So the directory is named after the content of all folders with compiled code.
    """
    sources = {file: file.read_bytes() for file in sorted(_PACKAGE.rglob("*.py"))}
    folders = {file.parent for file, source in sources.items() if b"\n@jit\n" in source}
    stamp = sha256(b"".join(source for file, source in sources.items() if file.parent in folders))
    name = f"spacy_hpyp-numba-{numba.__version__}-{stamp.hexdigest()[:16]}"
    places = [Path(numba.config.CACHE_DIR)] if numba.config.CACHE_DIR else []
    places = [place / name for place in places or [_PACKAGE / "__pycache__", Path.home() / ".cache"]]
    for place in places:
        try:
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            return str(place)
        except OSError:
            pass
    # Numba does not read a directory that it cannot write to, so this process works on a copy.
    filled = next((place for place in places if any(place.rglob("*.nbi"))), None)
    if filled is None:
        warnings.warn(
            f"Every process compiles for a minute, as {places[0].parent} cannot be written to and has no code "
            "for this version. Set NUMBA_CACHE_DIR to a directory where `spacy hpyp precompile` ran.",
            stacklevel=2,
        )
        return None
    copied = tempfile.mkdtemp(prefix="spacy_hpyp-")
    atexit.register(shutil.rmtree, copied, ignore_errors=True)
    shutil.copytree(filled, copied, dirs_exist_ok=True)
    return copied


def jit(function: Callable) -> Any:
    """Compile a function for Python and for compiled code, and cache it on disk."""
    directory, configured = _cache_directory(), numba.config.CACHE_DIR
    numba.config.CACHE_DIR = directory or configured
    try:
        return njit(cache=directory is not None, **_OPTIONS)(function)
    finally:
        numba.config.CACHE_DIR = configured


def jitable(function: Callable) -> Any:
    """Compile a function as part of each `jit` function that calls it; Python runs it as it is.

    This saves a file in the cache, and a compilation for each constant argument.
    """
    return register_jitable(**_OPTIONS)(function)


def dispatch(function: Callable) -> Any:
    """Choose an implementation by the class of the first argument, a NamedTuple.

    `@function.register(Class, ...)` enters one, as with `functools.singledispatch`.
    """
    implementations: dict[type, Any] = {}

    def call(first: Any, *others: Any) -> Any:
        return implementations[type(first)](first, *others)

    def register(*classes: type) -> Callable:
        def enter(implementation: Any) -> Any:
            python = getattr(implementation, "py_func", implementation)
            implementations.update(dict.fromkeys(classes, python))
            return implementation

        return enter

    @overload(call, jit_options=_OPTIONS, strict=False)
    def choose(first: Any, *others: Any) -> Any:
        return implementations.get(getattr(first, "instance_class", None))

    call.register = register  # type: ignore[attr-defined]
    return update_wrapper(call, function)


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


@jit
def overwrite(target, source):
    """Copy one array to the beginning of another."""
    for i in range(len(source)):
        target[i] = source[i]


# Numba unpacks a tuple into an argument for each number and seven for each array: hundreds for a parser. A
# struct is one argument, the address of a block of 64-bit words: its scalars and those of the tuples in it,
# and the address and shape of each array. The Python tuple keeps the arrays and the block alive.


class Struct(types.BaseNamedTuple):
    """Numba's type of a `struct`, given the class of the tuple and the types of its fields."""

    def __init__(self, instance_class: type, members: tuple[types.Type, ...]) -> None:
        self.instance_class, self.members, self.count = instance_class, members, len(members)
        self.fields = instance_class._fields  # type: ignore[attr-defined]
        content = f"{instance_class.__module__}.{instance_class.__qualname__}{members}"
        # Names of compiled functions are made of those of their arguments: whole lists would be long.
        super().__init__(f"{instance_class.__name__}*{sha256(content.encode()).hexdigest()[:12]}")

    def __getitem__(self, place: int) -> types.Type:
        return self.members[place]

    def __iter__(self) -> Iterator[types.Type]:
        return iter(self.members)

    def __len__(self) -> int:
        return self.count


def _words(member: types.Type) -> int:
    if isinstance(member, Struct):
        return sum(map(_words, member))
    return 1 + member.ndim * (1 if member.layout == "C" else 2) if isinstance(member, types.Array) else 1


#: Types of arrays by what they depend on, and of tuples by the identities of the types that they keep:
#: `typeof` takes longer, and Numba hashes types in Python.
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
            words.append(int(np.float64(part).view(np.int64) if isinstance(member, types.Float) else part))
        members.append(member)
    key = type(value), *map(id, members)
    if key not in _STRUCTS:
        _STRUCTS[key] = Struct(type(value), tuple(members))
    return _STRUCTS[key], words


class _ByPointer:
    """Caches the layout of a NamedTuple (type, words, block, address)."""

    def __getattr__(self, name: str) -> Any:
        if name == "_layout":
            struct, words = _lay_out(self)
            block = np.array(words, dtype=np.int64)
            layout = struct, words, block, block.__array_interface__["data"][0]
            # Threads that come together all use the first one's block: compiled code may be reading it.
            return self.__dict__.setdefault(name, layout)
        if name == "_address":
            return self.__dict__.setdefault(name, self._layout[3])
        raise AttributeError(f"{type(self).__name__!r} has no field {name!r}")

    def __getstate__(self) -> None:
        """Leave out the layout."""
        return


def struct(declared: Class) -> Class:
    """Hand the NamedTuples of a class, and those in their fields, to compiled code by pointer.

    Fields are read as usual there. Tuples that compiled code makes are ordinary ones.
    """
    contents = {name: getattr(declared, name) for name in ("__module__", "__qualname__", "__doc__")}
    made = type(declared.__name__, (declared, _ByPointer), contents)
    typeof_impl.register(made)(lambda value, context: value._layout[0])
    return made  # type: ignore[return-value]


@register_model(Struct)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, struct: Struct) -> None:
        super().__init__(manager, struct, _WORD.as_pointer())


@unbox(Struct)
def _unbox(struct: Struct, value: Any, context: Any) -> NativeValue:
    builder = context.builder
    pointer = cgutils.alloca_once_value(builder, cgutils.get_null_value(_WORD.as_pointer()))
    address = context.pyapi.object_getattr_string(value, "_address")
    # There is none if Python was interrupted.
    with builder.if_then(cgutils.is_not_null(builder, address)):
        builder.store(builder.bitcast(context.pyapi.long_as_voidptr(address), _WORD.as_pointer()), pointer)
        context.pyapi.decref(address)
    return NativeValue(builder.load(pointer), is_error=cgutils.is_null(builder, address))


@lower_getattr_generic(Struct)
def _read(context: Any, builder: Any, struct: Struct, block: Any, name: str) -> Any:
    index = struct.fields.index(name)
    member, place = struct[index], sum(map(_words, struct.members[:index]))
    if isinstance(member, Struct):
        return builder.gep(block, [_WORD(place)])
    words = [builder.load(builder.gep(block, [_WORD(place + i)])) for i in range(_words(member))]
    for word in words:
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
    if isinstance(member, types.Boolean):
        return builder.icmp_unsigned("!=", words[0], _WORD(0))
    if isinstance(member, types.Float):
        return context.cast(builder, builder.bitcast(words[0], ir.DoubleType()), types.float64, member)
    if not isinstance(member, types.Array):
        return context.cast(builder, words[0], types.int64, member)
    array, size = context.make_array(member)(context, builder), _WORD(1)
    shape, strides = words[1 : member.ndim + 1], words[member.ndim + 1 :]
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(member.dtype)))
    for length in shape[::-1]:
        if member.layout == "C":
            strides.insert(0, builder.mul(itemsize, size))
        size = builder.mul(size, length)
    array.data, array.itemsize, array.nitems = builder.inttoptr(words[0], array.data.type), itemsize, size
    array.shape, array.strides = cgutils.pack_array(builder, shape), cgutils.pack_array(builder, strides)
    for owner in ("meminfo", "parent"):
        setattr(array, owner, cgutils.get_null_value(getattr(array, owner).type))
    return array._getvalue()
