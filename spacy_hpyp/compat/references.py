"""NamedTuples that compiled code is handed by pointer.

Numba unpacks a tuple into an argument for each number and seven for each array: hundreds for a parser. A
class that is `by_reference` is one argument: the address of a block of 64-bit words with all scalars of a
tuple and of the tuples in it, and the address and shape of each array.

The Python tuple keeps the arrays and the block alive. Tuples do not change, so the block needs to be read
once.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof, typeof_impl
from numba.extending import NativeValue, infer_getattr, register_model, unbox
from numba.np.arrayobj import populate_array

Class = TypeVar("Class", bound=type)

_WORD = ir.IntType(64)


class Reference(types.Type):
    """Type of a NamedTuple that is handed by pointer.

    instance_class (type): The class of the tuple.
    members (tuple[types.Type, ...]): The types of its fields.
    """

    def __init__(self, instance_class: type, members: tuple[types.Type, ...]) -> None:
        self.instance_class, self.members = instance_class, members
        content = f"{instance_class.__module__}.{instance_class.__qualname__}{members}"
        # Names of compiled functions are made of those of their arguments: whole lists would be long.
        super().__init__(f"{instance_class.__name__}*{sha256(content.encode()).hexdigest()[:12]}")

    @property
    def words(self) -> int:
        """The number of 64-bit words."""
        return sum(map(_words, self.members))

    def find(self, name: str) -> tuple[types.Type, int]:
        """Return the type of a field, and the place of its words."""
        place = self.instance_class._fields.index(name)  # type: ignore[attr-defined]
        return self.members[place], sum(map(_words, self.members[:place]))


def _words(member: types.Type) -> int:
    if isinstance(member, Reference):
        return member.words
    if isinstance(member, types.Array):
        return 1 + member.ndim * (1 if member.layout == "C" else 2)
    return 1


#: Types of arrays by what they depend on: finding one takes Numba longer than all else here.
_TYPES: dict[tuple[np.dtype, int, int], types.Type] = {}
#: References by the identities of what they are made of, which they keep: types of Numba are hashed in
#: Python.
_REFERENCES: dict[tuple[int, ...], Reference] = {}


def _type_of(part: Any) -> types.Type:
    if not isinstance(part, np.ndarray):
        return typeof(part)
    looks = part.dtype, part.ndim, part.flags.num
    if looks not in _TYPES:
        _TYPES[looks] = typeof(part)
    return _TYPES[looks]


def _lay_out(value: Any) -> tuple[Reference, list[int]]:
    """Return the type of a NamedTuple, and its words."""
    members, words = [], []
    for name, part in zip(value._fields, value):
        if hasattr(part, "_fields"):
            member, inside = (
                (part._reference, part._words) if isinstance(part, _ByReference) else _lay_out(part)
            )
            words += inside
        else:
            member = _type_of(part)
            if isinstance(member, types.Array):
                words.append(part.__array_interface__["data"][0])
                words += part.shape if member.layout == "C" else part.shape + part.strides
            elif isinstance(member, types.Float):
                words.append(int(np.float64(part).view(np.int64)))
            elif isinstance(member, types.Integer | types.Boolean):
                words.append(int(part))
            else:
                raise TypeError(
                    f"The field {name!r} of {type(value).__name__} cannot be handed by pointer: {part!r}"
                )
        members.append(member)
    key = id(type(value)), *map(id, members)
    if key not in _REFERENCES:
        _REFERENCES[key] = Reference(type(value), tuple(members))
    return _REFERENCES[key], words


class _ByReference:
    """Caches the type, words and address of a NamedTuple under names that no field has."""

    def __getattr__(self, name: str) -> Any:
        if name not in ("_reference", "_words", "_block", "_address"):
            raise AttributeError(f"{type(self).__name__!r} has no field {name!r}")
        reference, words = _lay_out(self)
        block = np.array(words, dtype=np.int64)
        address = block.__array_interface__["data"][0]
        # All at once, or an interrupt could leave some of them missing; and of threads that come together all
        # take what the first one has kept: if another took its place, its block would be gone while compiled
        # code reads it.
        kept = self.__dict__.setdefault(
            "_kept", {"_reference": reference, "_words": words, "_block": block, "_address": address}
        )
        self.__dict__.update(kept)
        return kept[name]

    def __getstate__(self) -> None:
        """Leave out the cache."""
        return


def by_reference(declared: Class) -> Class:
    """Hand the NamedTuples of a class to compiled code by pointer.

    Fields are read as usual there, and NamedTuples in them are handed by pointer, too. Tuples made there are
    ordinary.
    """
    contents = {name: getattr(declared, name) for name in ("__module__", "__qualname__", "__doc__")}
    made = type(declared.__name__, (declared, _ByReference), contents)
    typeof_impl.register(made)(lambda value, context: value._reference)
    return made  # type: ignore[return-value]


@register_model(Reference)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, _WORD.as_pointer())


@unbox(Reference)
def _unbox(reference: Reference, value: Any, context: Any) -> NativeValue:
    builder = context.builder
    pointer = cgutils.alloca_once_value(builder, cgutils.get_null_value(_WORD.as_pointer()))
    address = context.pyapi.object_getattr_string(value, "_address")
    # There is none if Python was interrupted while it was found out.
    with builder.if_then(cgutils.is_not_null(builder, address)):
        builder.store(builder.bitcast(context.pyapi.long_as_voidptr(address), _WORD.as_pointer()), pointer)
        context.pyapi.decref(address)
    return NativeValue(builder.load(pointer), is_error=cgutils.is_null(builder, address))


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:
        return reference.find(name)[0] if name in reference.instance_class._fields else None  # type: ignore[attr-defined]


@lower_getattr_generic(Reference)
def _read(context: Any, builder: Any, reference: Reference, block: Any, name: str) -> Any:
    member, place = reference.find(name)
    if isinstance(member, Reference):
        return builder.gep(block, [_WORD(place)])
    words = _load(builder, block, place)
    if not isinstance(member, types.Array):
        return _scalar(context, builder, next(words), member)
    array = context.make_array(member)(context, builder)
    data = builder.inttoptr(next(words), array.data.type)
    shape = [next(words) for _ in range(member.ndim)]
    itemsize = context.get_abi_sizeof(context.get_data_type(member.dtype))
    strides = [_WORD(itemsize)] * member.ndim
    if member.layout == "C":
        for axis in range(member.ndim - 1, 0, -1):
            strides[axis - 1] = builder.mul(strides[axis], shape[axis])
    else:
        strides = [next(words) for _ in range(member.ndim)]
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()


def _load(builder: Any, block: Any, place: int) -> Iterator[Any]:
    """Yield the words of a block from a place on."""
    while True:
        word = builder.load(builder.gep(block, [_WORD(place)]))
        word.set_metadata("invariant.load", builder.module.add_metadata([]))
        yield word
        place += 1


def _scalar(context: Any, builder: Any, word: Any, member: types.Type) -> Any:
    if isinstance(member, types.Boolean):
        return builder.icmp_unsigned("!=", word, _WORD(0))
    if isinstance(member, types.Float):
        return context.cast(builder, builder.bitcast(word, ir.DoubleType()), types.float64, member)
    return context.cast(builder, word, types.int64, member)
