"""Frozen views as a file, see `storage.mapped`: a view that is not used is made again, as it follows from the
seating, which is in the model's file.
"""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from ..arc_standard.distributions import DISTRIBUTIONS
from ..pools.conditional import Conditional
from ..pools.soundness import is_sound, restaurants_in
from ..pools.view import View, view_of
from ..storage.checksum import blaming
from ..storage.files import MappedFile
from ..storage.mapped import check_array, check_once, map_arrays, write_arrays

# The parts of a view, with the number of their dimensions.
_PARTS = {
    "large": (np.int32, 1),
    "chains": (np.int64, 1),
    "restaurants": (np.uint32, 1),
    "servings": (np.uint32, 1),
    "row": (np.int16, 2),
}
_KINDS = {f"{name}.{part}": _PARTS[part] for name, part in product(DISTRIBUTIONS, _PARTS)}


def write_views(path: Path, views: Iterable[tuple[str, View]], model: str) -> None:
    """Write views to a file, in the place of what was there.

    views (Iterable[tuple[str, View]]): All distributions in their order; each is needed only until it is
        written.
    model (str): What identifies the file of the model.
    """
    write_arrays(
        path, ((f"{name}.{part}", getattr(view, part)) for name, view in views for part in _PARTS), model
    )


def read_views(
    path: Path,
    conditionals: Mapping[str, Conditional],
    alphabets: Mapping[str, int],
    packed: Mapping[str, Any],
    model: str,
) -> tuple[dict[str, View], MappedFile] | None:
    """Map the views of a file into memory.

    conditionals (Mapping[str, Conditional]), alphabets (Mapping[str, int]), packed (Mapping[str, Any]): What
        they have to fit; the last as `hpyp.storage.pack` makes it.
    model (str): What identifies the file of the model.
    RETURNS (tuple[dict[str, View], MappedFile] | None): By distribution, and where they are mapped from; none
        without a file.
    RAISES (ValueError): If they are damaged, or those of another model.
    RAISES (OSError): If the file cannot be read.
    """
    if not path.is_file():
        return None
    stored, mapped = map_arrays(path, _KINDS, model)
    with blaming("what it begins with is not what it should be"):
        restaurants = {name: sum(packed[name]["restaurants"]) for name in DISTRIBUTIONS}
    views = {}
    for name in DISTRIBUTIONS:
        alphabet = np.array([alphabets[name]], dtype=np.int64)
        arrays = (stored[f"{name}.{part}"].array for part in _PARTS)
        views[name] = view_of(conditionals[name].columns, alphabet, *arrays)

    def check(name: str, part: str) -> None:
        conditional, view, array = conditionals[name], views[name], stored[f"{name}.{part}"]
        multiplied = not conditional.is_plain and not conditional.mixed
        if part == "row" and array.array.shape[1] != (view.alphabet[0] if multiplied else 0):
            raise ValueError(f"the {name} distribution has another alphabet")
        occupied = 0

        def are_sound(numbers: np.ndarray, begin: int) -> bool:
            nonlocal occupied
            sound = is_sound(view, part, numbers, begin, multiplied=multiplied)
            occupied += restaurants_in(view, numbers, begin) if sound and part == "restaurants" else 0
            return sound

        check_array(path, array, f"the {name} distribution", are_sound)
        if part == "restaurants" and occupied != restaurants[name] + len(view.columns):
            raise ValueError(f"the {name} distribution has not the restaurants of the model")

    def check_all() -> None:
        with ThreadPoolExecutor() as executor:
            list(executor.map(check, *zip(*product(DISTRIBUTIONS, _PARTS))))

    check_once(mapped, check_all)
    return views, mapped
