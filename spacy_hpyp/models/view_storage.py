"""Frozen views as files: arrays as they are used, which are mapped into memory and not read.

Processes that map the same files share the memory. What is mapped is checked first: that nothing has changed since it was written,
that it belongs to the model's own file, and that no number leads outside of the arrays. A view that does not pass is not used;
it follows from the seating, which is in the model's file, and is made again.
"""

import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import srsly

from ..arc_standard.distributions import DISTRIBUTIONS
from ..pools.conditional import Conditional
from ..pools.view import View, is_sound, view_of
from ..storage.checksum import DAMAGE
from ..storage.files import replace_folder

FORMAT = 1
_CONTENT = "content.json"
_PARTS = ("restaurants", "servings", "row")
# So many numbers are checked at a time, and forgotten again: a multiple of the width of any entry.
_CHUNK = 3 << 18


def write_views(folder: Path, views: Mapping[str, View], model: str) -> None:
    """Write views to a directory, in the place of what was there.

    folder (Path): The directory.
    views (Mapping[str, View]): By distribution.
    model (str): What identifies the file of the model.
    """
    complete = folder.with_name(f"{folder.name}.new")
    complete.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {"format": FORMAT, "model": model, "parts": {}}
    for name in DISTRIBUTIONS:
        for part in _PARTS:
            array = np.ascontiguousarray(getattr(views[name], part))
            np.save(complete / f"{name}.{part}.npy", array)
            content["parts"][f"{name}.{part}"] = zlib.crc32(array.reshape(-1).view(np.uint8))
    srsly.write_json(complete / _CONTENT, content)
    replace_folder(folder, complete)


def read_views(
    folder: Path, conditionals: Mapping[str, Conditional], alphabets: Mapping[str, int], model: str
) -> dict[str, View] | None:
    """Map the views of a directory into memory.

    folder (Path): The directory.
    conditionals (Mapping[str, Conditional]), alphabets (Mapping[str, int]): What they have to fit.
    model (str): What identifies the file of the model.
    RETURNS (dict[str, View] | None): By distribution; none if there are none, or only those of another file.
    RAISES (ValueError): If they are damaged.
    """
    if not (folder / _CONTENT).is_file():
        return None
    try:
        content = srsly.read_json(folder / _CONTENT)
        if content["format"] != FORMAT or content["model"] != model:
            return None
        sums = {name: int(content["parts"][name]) for name in _names()}
        # Copied where they are written to, which they never are: for Numba that is the type that fresh arrays have.
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="c") for name in _names()}
    except (*DAMAGE, OSError) as error:
        raise ValueError(f"a part is missing or of the wrong kind ({error})") from error
    views = {}
    for name in DISTRIBUTIONS:
        restaurants, servings, row = (arrays[f"{name}.{part}"] for part in _PARTS)
        kinds = {array.dtype for array in (restaurants, servings)} | {row.dtype}
        if kinds != {np.dtype(np.uint32), np.dtype(np.float32)} or (restaurants.ndim, servings.ndim, row.ndim) != (
            1,
            1,
            2,
        ):
            raise ValueError(f"the {name} distribution has arrays of other kinds")
        if not all(array.flags.c_contiguous for array in (restaurants, servings, row)):
            raise ValueError(f"the {name} distribution has arrays in another order")
        alphabet = np.array([alphabets[name]], dtype=np.int64)
        views[name] = view_of(conditionals[name].columns, alphabet, *map(np.asarray, (restaurants, servings, row)))
    with ThreadPoolExecutor() as executor:
        list(executor.map(lambda name: _check(folder, name, views, conditionals, sums[name]), _names()))
    return views


def _names() -> Iterator[str]:
    return (f"{name}.{part}" for name in DISTRIBUTIONS for part in _PARTS)


def _check(
    folder: Path, name: str, views: Mapping[str, View], conditionals: Mapping[str, Conditional], expected: int
) -> None:
    """See that an array is what was written, and that compiled code can work on it. It is read by the way, and not mapped.

    RAISES (ValueError): If it is not.
    """
    distribution, part = name.split(".")
    view, conditional = views[distribution], conditionals[distribution]
    array = getattr(view, part)
    multiplied = not conditional.is_plain and not conditional.mixed
    if part == "row" and array.shape[1] != (view.alphabet[0] if multiplied else 0):
        raise ValueError(f"the {distribution} distribution has another alphabet")
    found, sound = 0, True
    with (folder / f"{name}.npy").open("rb") as file:
        file.seek(-array.nbytes, 2)
        begin = 0
        while begin < array.size:
            chunk = np.frombuffer(file.read(array.itemsize * _CHUNK), dtype=array.dtype)
            if not len(chunk):
                break
            found = zlib.crc32(chunk.view(np.uint8), found)
            sound = sound and is_sound(view, part, chunk, begin, multiplied=multiplied)
            begin += len(chunk)
    if found != expected:
        raise ValueError(
            f"the {distribution} distribution has changed since it was written: the checksum is another one"
        )
    if not sound:
        raise ValueError(f"the {distribution} distribution has numbers that lead nowhere")
