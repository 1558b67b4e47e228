"""What stored models are made of: fields, said once, by which messages are written, read and checked.

A message is a dictionary that srsly can write. A `Field` says how one thing stands in it: `write` makes parts
of a message of a value, and `read` makes the value again, or says what is wrong. Fields are made of fields.
How many things one of them has, and how high its numbers may be, depends on others: `sizes` has the lengths
of the lists of names that have been read before, and what else a model knows.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .arrays import pack_integers, unpack_integers

Message = dict[str, Any]
Sizes = dict[str, int]


class Field(NamedTuple):
    """How one thing stands in a message.

    write (Callable): The parts of a message that stand for a value.
    read (Callable): The value that parts of a message stand for, given `sizes`. It raises a ValueError if a
        part is missing, of another kind, damaged, or does not fit the others.
    """

    write: Callable[[Any], Message]
    read: Callable[[Message, Sizes], Any]


class Ragged(NamedTuple):
    """Arrays of integers, one after the other: all of their numbers (int32[*] | int32[rows, *]), and where
    each begins (int64[n + 1]).
    """

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, arrays: Sequence[np.ndarray]) -> "Ragged":
        """Some arrays (int[*] or int[rows, *])."""
        offsets = np.cumsum([0, *(array.shape[-1] for array in arrays)])
        return cls(np.concatenate(arrays, axis=-1) if arrays else np.empty(0, dtype=np.int32), offsets)

    def parts(self) -> list[np.ndarray]:
        """The arrays, each by itself."""
        bounds = self.offsets.tolist()
        return [self.values[..., start:end].copy() for start, end in zip(bounds, bounds[1:])]


class Keyed(NamedTuple):
    """Arrays of integers that belong to sentences or documents, and what identifies each of these; all keys
    have the same length.
    """

    keys: list[bytes]
    arrays: Ragged


def number(name: str) -> Field:
    """A number of things (int, at least 0)."""

    def read(message: Message, sizes: Sizes) -> int:
        if part(message, name, int) < 0:
            raise ValueError("a count is damaged")
        return message[name]

    return Field(lambda value: {name: value}, read)


def numbers(*names: str) -> dict[str, Field]:
    """A `number` for each of some names."""
    return {name: number(name) for name in names}


def different_names(name: str) -> Field:
    """Different names (list[str]). How many there are is known by the name of the part."""

    def read(message: Message, sizes: Sizes) -> list[str]:
        found = part(message, name, list)
        if not all(isinstance(each, str) for each in found):
            raise ValueError("a list of names is damaged")
        if len(set(found)) < len(found):
            raise ValueError("a name is listed twice")
        sizes[name] = len(found)
        return found

    return Field(lambda value: {name: list(value)}, read)


def integers(name: str) -> Field:
    """An array of integers from 0 on (int32[*])."""
    return Field(
        lambda value: {name: pack_integers(value)},
        lambda message, _: unpack_integers(part(message, name, dict)),
    )


def arrays(
    lengths: str,
    values: str,
    problem: str,
    *,
    keys: str = "",
    times: int = 1,
    rows: int = 1,
    lowest: int = 0,
    shortest: int = 0,
    count: Sequence[str] = (),
    below: str = "",
    beyond: str = "",
) -> Field:
    """Several arrays of integers (`Ragged`), or such that belong to something (`Keyed`).

    lengths, values (str): The parts that have their lengths, and all of their numbers.
    problem (str): What is wrong if they do not fit together.
    keys (str): The part that has what they belong to, if they do.
    times (int): How many numbers an array has for each one of its length.
    rows (int): How many rows it has. All first rows are stored before all second ones.
    lowest (int): The lowest number there may be; it is stored as 0.
    shortest (int): What the lengths are at least.
    count (Sequence[str]): What there is as much of, all together, as there are arrays.
    below (str): What there is more of than the numbers say; `beyond` is what is wrong otherwise.
    """

    def write(value: Ragged | Keyed) -> Message:
        owners, (found, offsets) = value if keys else ([], value)
        return {
            **({keys: b"".join(owners)} if keys else {}),
            lengths: pack_integers(np.diff(offsets) // times),
            values: pack_integers(found.ravel().astype(np.int64) - lowest),
        }

    def read(message: Message, sizes: Sizes) -> Ragged | Keyed:
        size, found = (unpack_integers(part(message, name, dict)) for name in (lengths, values))
        size = times * size.astype(np.int64)
        owners = sentence_keys(part(message, keys, bytes), len(size)) if keys else []
        counted = not count or len(size) == sum(sizes[name] for name in count)
        if np.any(size < shortest) or rows * size.sum() != len(found) or not counted:
            raise ValueError(problem)
        found += np.int32(lowest)
        if below and found.max(initial=lowest) >= sizes[below]:
            raise ValueError(beyond or problem)
        ragged = Ragged(
            found.reshape(rows, -1) if rows > 1 else found, np.concatenate([[0], np.cumsum(size)])
        )
        return Keyed(owners, ragged) if keys else ragged

    return Field(write, read)


def copies(keys: str, counts: str) -> Field:
    """How often each of some sentences is there (dict[bytes, int]): the parts `keys` and `counts`, in the
    order of the keys.
    """

    def write(value: Mapping[bytes, int]) -> Message:
        found = np.array([value[key] for key in sorted(value)], dtype=np.int64)
        return {keys: b"".join(sorted(value)), counts: pack_integers(found)}

    def read(message: Message, sizes: Sizes) -> dict[bytes, int]:
        joined = part(message, keys, bytes)
        found = unpack_integers(part(message, counts, dict), most=len(joined)).tolist()
        return dict(zip(sentence_keys(joined, len(found)), found, strict=True))

    return Field(write, read)


def group(**fields: Field) -> Field:
    """Several things with names, in their order (dict[str, Any])."""

    def write(value: Mapping[str, Any]) -> Message:
        return {part: own for name, field in fields.items() for part, own in field.write(value[name]).items()}

    return Field(
        write, lambda message, sizes: {name: field.read(message, sizes) for name, field in fields.items()}
    )


def inside(name: str, field: Field) -> Field:
    """What stands in a message of its own, which is a part of another one."""
    return Field(
        lambda value: {name: field.write(value)}, lambda msg, sizes: field.read(part(msg, name, dict), sizes)
    )


def part(message: Message, name: str, kind: type) -> Any:
    """A part of a message.

    RAISES (ValueError): If it is missing or of another kind.
    """
    if not isinstance(message.get(name), kind):
        raise ValueError(f"the part '{name}' is missing or of the wrong kind")
    return message[name]


def sentence_keys(joined: bytes, count: int) -> list[bytes]:
    """The keys of some sentences, all of which have the same length, that were put one after the other.

    RAISES (ValueError): If they cannot be taken apart.
    """
    width = len(joined) // max(1, count)
    if width * count != len(joined) or (count > 0 and width == 0):
        raise ValueError("a list of sentences is damaged")
    return [joined[width * i : width * (i + 1)] for i in range(count)]
