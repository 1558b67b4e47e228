"""Arrays as a file: as they are used, which are mapped into memory and not read.

Processes that map the same file share the memory. What is mapped is checked first: that nothing has changed
since it was written, and that it belongs to what it follows from, a model's own file for instance. What does
not pass is not used, and made again. Of a file of the user's cache whose numbers have been checked before
only the beginning is, see `cache`.
"""

import math
import os
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import srsly

from .cache import cached_file, in_cache, note_checked, was_checked
from .checksum import DAMAGE, with_checksum, without_checksum
from .files import MappedFile, replacing

FORMAT = 3
# The file begins with a page that says what there is, and each array where a line of a processor's cache
# does.
_HEAD, _LINE = 4096, 64
# So many numbers are checked at a time, and forgotten again: a multiple of the width of any entry.
_CHUNK = 3 << 18

#: Arrays by name: the type of their numbers, and how many dimensions they have.
Kinds = Mapping[str, tuple[type, int]]


class StoredArray(NamedTuple):
    """An array in a file: where it begins, what it is, and the checksum of its bytes and of what fills its
    last line.
    """

    begin: int
    array: np.ndarray
    checksum: int


def write_arrays(path: Path, arrays: Iterable[tuple[str, np.ndarray]], owner: str) -> None:
    """Write arrays to a file, in the place of what was there.

    path (Path): The file.
    arrays (Iterable[tuple[str, np.ndarray]]): In their order; each is needed only until it is written.
    owner (str): What identifies what they follow from.
    """
    with replacing(path) as file:
        file.write(bytes(_HEAD))
        parts = {name: _write(file, array) for name, array in arrays}
        head = srsly.json_dumps({"format": FORMAT, "model": owner, "parts": parts}).encode()
        file.seek(0)
        file.write(with_checksum(head.ljust(_HEAD - len(with_checksum(b"")))))


def _write(file: IO[bytes], array: np.ndarray) -> list[Any]:
    """Write an array, and fill its last line. Returns its shape and checksum."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    file.write(data)
    file.write(_filling(array))
    return [list(array.shape), zlib.crc32(_filling(array), zlib.crc32(data))]


def map_arrays(path: Path, kinds: Kinds, owner: str) -> tuple[dict[str, StoredArray], MappedFile]:
    """Map the arrays of a file into memory. Each is still to be checked by `check_array`.

    path (Path), owner (str): As in `write_arrays`.
    kinds (Kinds): The arrays in their order.
    RAISES (ValueError): If what the file begins with is damaged, or they are those of another owner.
    RAISES (OSError): If the file cannot be read.
    """
    with path.open("rb") as file:
        mapped = MappedFile(path.absolute(), os.fstat(file.fileno()))
        try:
            head = srsly.json_loads(without_checksum(file.read(_HEAD)))
            if (head["format"], head["model"]) != (FORMAT, owner):
                raise ValueError("it belongs to another model, or to another version of spacy-hpyp")
            # Copied where they are written to, which they never are: for Numba that is the type that fresh
            # arrays have.
            return _locate(head["parts"], kinds, np.memmap(file, dtype=np.uint8, mode="c")), mapped
        except DAMAGE as error:
            raise ValueError(f"what it begins with is not what it should be ({error})") from error


def _filling(array: np.ndarray) -> bytes:
    """What stands between an array and the next one."""
    return bytes(-array.nbytes % _LINE)


def _locate(parts: dict[str, Any], kinds: Kinds, memory: np.ndarray) -> dict[str, StoredArray]:
    """The arrays of a file by their shapes, in its memory (uint8[*])."""
    found, begin = {}, _HEAD
    for name, (kind, dimensions) in kinds.items():
        shape, checksum = parts[name]
        if len(shape) != dimensions or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError("an array has an impossible size")
        end = begin + np.dtype(kind).itemsize * math.prod(shape)
        array = np.asarray(memory[begin:end].view(kind).reshape(shape))
        found[name] = StoredArray(begin, array, checksum)
        begin = end + len(_filling(array))
    if begin != len(memory):
        raise ValueError(f"there are {len(memory)} bytes where there should be {begin}")
    return found


def check_array(
    path: Path, stored: StoredArray, called: str, is_sound: Callable[[np.ndarray, int], bool]
) -> None:
    """See that an array is what was written, and that compiled code can work on it. It is read by the way,
    and not mapped.

    path (Path): The file.
    called (str): What errors call it.
    is_sound (Callable): Told some numbers in a row, and how many there are before them, says whether they are
        what they can be.
    RAISES (ValueError): If it is not.
    """
    array, found, sound = stored.array, 0, True
    with path.open("rb") as file:
        file.seek(stored.begin)
        for begin in range(0, max(1, array.size), _CHUNK):
            data = file.read(array.itemsize * min(_CHUNK, array.size - begin))
            found = zlib.crc32(data, found)
            sound = is_sound(np.frombuffer(data, dtype=array.dtype), begin) and sound
        found = zlib.crc32(file.read(len(_filling(array))), found)
    if found != stored.checksum:
        raise ValueError(f"{called} has changed since it was written: the checksum is another one")
    if not sound:
        raise ValueError(f"{called} has numbers that lead nowhere")


def check_once(mapped: MappedFile, check: Callable[[], None]) -> None:
    """Check a file that is mapped as a whole, unless it is one of the cache that has been checked before.

    check (Callable): Raises a ValueError if the file is not what it should be.
    RAISES (ValueError): If it is not, or has changed meanwhile.
    """
    if was_checked(mapped):
        return
    check()
    if not mapped.is_there() or mapped.is_overwritten():
        raise ValueError("it was replaced or overwritten while it was read")
    note_checked(mapped)


def kept_arrays(
    key: str, kinds: Kinds, make: Callable[[], Iterable[np.ndarray]], is_sound: Callable[..., bool]
) -> list[np.ndarray]:
    """Arrays that follow from something, mapped from the user's cache; they are made if they are not there,
    and kept if that is possible.

    key (str): What identifies what they follow from.
    kinds (Kinds), make (Callable): What they are, and what makes them.
    is_sound (Callable): Told all of them, says whether compiled code can work on them.
    """
    found: list[np.ndarray] = []
    with suppress(OSError):
        found = _find(cached_file(key), kinds, key, is_sound)
        if not found:
            with in_cache(key) as path:
                found = _find(path, kinds, key, is_sound)
                if not found:
                    found = [*make()]
                    write_arrays(path, zip(kinds, found), key)
                    found = _find(path, kinds, key, is_sound) or found
    return found or [*make()]


def _find(path: Path, kinds: Kinds, key: str, is_sound: Callable[..., bool]) -> list[np.ndarray]:
    """Arrays of the cache; none if they are not there, or not what they should be."""
    with suppress(ValueError, FileNotFoundError):
        stored, mapped = map_arrays(path, kinds, key)
        found = [each.array for each in stored.values()]

        def check() -> None:
            for name, each in stored.items():
                check_array(path, each, name, lambda numbers, begin: True)
            if not is_sound(*found):
                raise ValueError("its arrays have numbers that lead nowhere")

        check_once(mapped, check)
        return found
    return []
