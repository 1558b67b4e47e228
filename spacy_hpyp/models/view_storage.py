"""Frozen views as a file: arrays as they are used, which are mapped into memory and not read.

Processes that map the same file share the memory. What is mapped is checked first: that nothing has changed since it was written,
that it belongs to the model's own file, and that no number leads outside of the arrays. A view that does not pass is not used;
it follows from the seating, which is in the model's file, and is made again.
"""

import math
import os
import zlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import srsly

from ..arc_standard.distributions import DISTRIBUTIONS
from ..pools.conditional import Conditional
from ..pools.view import EMPTY, WIDTH, View, is_sound, view_of
from ..storage.checksum import DAMAGE, with_checksum, without_checksum
from ..storage.files import MappedFile, replacing

FORMAT = 2
# The parts of a view, with the number of their dimensions.
_PARTS = {"restaurants": (np.uint32, 1), "servings": (np.uint32, 1), "row": (np.float32, 2)}
# The file begins with a page that says what there is, and each array where a line of a processor's cache does.
_HEAD, _LINE = 4096, 64
# So many numbers are checked at a time, and forgotten again: a multiple of the width of any entry.
_CHUNK = 3 << 18


class _Stored(NamedTuple):
    """An array in a file: where it begins, what it is, and the checksum of its bytes and of what fills its last line."""

    begin: int
    array: np.ndarray
    checksum: int


def write_views(path: Path, views: Iterable[tuple[str, View]], model: str) -> None:
    """Write views to a file, in the place of what was there.

    views (Iterable[tuple[str, View]]): All distributions in their order; each is needed only until it is written.
    model (str): What identifies the file of the model.
    """
    with replacing(path) as file:
        file.write(bytes(_HEAD))
        parts = {f"{name}.{part}": _write(file, getattr(view, part)) for name, view in views for part in _PARTS}
        head = srsly.json_dumps({"format": FORMAT, "model": model, "parts": parts}).encode()
        file.seek(0)
        file.write(with_checksum(head.ljust(_HEAD - len(with_checksum(b"")))))


def _write(file: IO[bytes], array: np.ndarray) -> list[Any]:
    """Write an array, and fill its last line. Returns its shape and checksum."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    file.write(data)
    file.write(_filling(array))
    return [list(array.shape), zlib.crc32(_filling(array), zlib.crc32(data))]


def read_views(
    path: Path,
    conditionals: Mapping[str, Conditional],
    alphabets: Mapping[str, int],
    packed: Mapping[str, Any],
    model: str,
) -> tuple[dict[str, View], MappedFile] | None:
    """Map the views of a file into memory.

    conditionals (Mapping[str, Conditional]), alphabets (Mapping[str, int]), packed (Mapping[str, Any]): What they have to fit; the
        last as `hpyp.storage.pack` makes it.
    model (str): What identifies the file of the model.
    RETURNS (tuple[dict[str, View], MappedFile] | None): By distribution, and where they are mapped from; none without a file.
    RAISES (ValueError): If they are damaged, or those of another model.
    RAISES (OSError): If the file cannot be read.
    """
    if not path.is_file():
        return None
    with path.open("rb") as file:
        mapped = MappedFile(path.absolute(), os.fstat(file.fileno()))
        try:
            head = srsly.json_loads(without_checksum(file.read(_HEAD)))
            if (head["format"], head["model"]) != (FORMAT, model):
                raise ValueError("it belongs to another model, or to another version of spacy-hpyp")
            # Copied where they are written to, which they never are: for Numba that is the type that fresh arrays have.
            stored = _locate(head["parts"], np.memmap(file, dtype=np.uint8, mode="c"))
            restaurants = {name: sum(packed[name]["restaurants"]) for name in DISTRIBUTIONS}
        except DAMAGE as error:
            raise ValueError(f"what it begins with is not what it should be ({error})") from error
    views = {}
    for name in DISTRIBUTIONS:
        alphabet = np.array([alphabets[name]], dtype=np.int64)
        arrays = (stored[f"{name}.{part}"].array for part in _PARTS)
        views[name] = view_of(conditionals[name].columns, alphabet, *arrays)

    def check(name: str, part: str) -> None:
        conditional = conditionals[name]
        multiplied = not conditional.is_plain and not conditional.mixed
        _check(path, stored[f"{name}.{part}"], name, part, views[name], restaurants[name], multiplied=multiplied)

    with ThreadPoolExecutor() as executor:
        list(executor.map(check, *zip(*product(DISTRIBUTIONS, _PARTS))))
    if not mapped.is_there() or mapped.is_overwritten():
        raise ValueError("it was replaced or overwritten while it was read")
    return views, mapped


def _filling(array: np.ndarray) -> bytes:
    """What stands between an array and the next one."""
    return bytes(-array.nbytes % _LINE)


def _locate(parts: dict[str, Any], memory: np.ndarray) -> dict[str, _Stored]:
    """The arrays of a file by their shapes, in its memory (uint8[*])."""
    found, begin = {}, _HEAD
    for name, part in product(DISTRIBUTIONS, _PARTS):
        shape, checksum = parts[f"{name}.{part}"]
        kind, dimensions = _PARTS[part]
        if len(shape) != dimensions or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError("an array has an impossible size")
        end = begin + np.dtype(kind).itemsize * math.prod(shape)
        array = np.asarray(memory[begin:end].view(kind).reshape(shape))
        found[f"{name}.{part}"] = _Stored(begin, array, checksum)
        begin = end + len(_filling(array))
    if begin != len(memory):
        raise ValueError(f"there are {len(memory)} bytes where there should be {begin}")
    return found


def _check(
    path: Path, stored: _Stored, name: str, part: str, view: View, restaurants: int, *, multiplied: bool
) -> None:
    """See that an array, a part of a view, is what was written, and that compiled code can work on it. It is read by the way, and not mapped."""
    array = stored.array
    if part == "row" and array.shape[1] != (view.alphabet[0] if multiplied else 0):
        raise ValueError(f"the {name} distribution has another alphabet")
    found, sound = 0, True
    with path.open("rb") as file:
        file.seek(stored.begin)
        for begin in range(0, max(1, array.size), _CHUNK):
            data = file.read(array.itemsize * min(_CHUNK, array.size - begin))
            found = zlib.crc32(data, found)
            numbers = np.frombuffer(data, dtype=array.dtype)
            sound = sound and is_sound(view, part, numbers, begin, multiplied=multiplied)
            if part == "restaurants":
                restaurants -= np.count_nonzero(numbers[::WIDTH] != EMPTY)
        found = zlib.crc32(file.read(len(_filling(array))), found)
    if found != stored.checksum:
        raise ValueError(f"the {name} distribution has changed since it was written: the checksum is another one")
    if not sound:
        raise ValueError(f"the {name} distribution has numbers that lead nowhere")
    if part == "restaurants" and restaurants != 0:
        raise ValueError(f"the {name} distribution has not the restaurants of the model")
