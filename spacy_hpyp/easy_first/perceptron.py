"""Hashed features, and the averaged perceptron over them (Collins 2002).

A template is a list of element names, such as `["left.tag", "right.tag"]`, with one binary feature
for each combination of their symbols. Each task has its own elements (`arcs`, `labels`, `words`). A
*feature row* holds the symbol of each element once; a compiled template is a list of columns of
that row. The highest bits of a hash of the template and its symbols are the place of a feature in
the table of weights. Features may share a place, so no alphabet is stored.

The weights of a feature form a row of the table, one weight for each outcome. Predictions use the
average of the weights over time (`tick`). For lazy averaging, `sums` accumulates each change times
the time before it: the average is the last weights minus the sums divided by the time.
"""

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..compiled import jitable, struct
from ..memory import giving_back
from ..settings import Possible, Whole
from ..storage import dump, load
from ..text.elements import compile_lists

#: The possible sizes of a table of weights.
PLACES = Possible(
    "a power of two of at least 2 and at most 2^30",
    lambda value: value in Whole(2, 2**30) and int(value).bit_count() == 1,
)
# Odd numbers without regularity in their bits: the golden ratio's, and another.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_BITS = 64
# The highest number of 16 bits.
_HIGHEST = 32_767
# Compact models keep averages as multiples of this.
_PRECISION = 1 / 32


@struct
class Templates(NamedTuple):
    """Compiled templates."""

    numbers: np.ndarray  # int32[templates]: their places among all templates
    seeds: np.ndarray  # uint64[templates]: the hashes of features before any symbol
    # Each template's columns of the feature row.
    offsets: np.ndarray  # int32[templates + 1]
    columns: np.ndarray  # int32[*]


def check_templates(
    templates: Sequence[Sequence[str]], elements: Collection[str], task: str
) -> None:
    """Check templates, lists of names of elements.

    elements (Collection[str]): The known names.
    task (str): The name of the list, for errors.
    RAISES (ValueError): If there is no template; if one is empty, a string or repeated; or if one
        names an element twice, or an unknown one.
    """
    if not templates:
        raise ValueError(f"There is no template in '{task}'.")
    seen = set()
    for template in templates:
        if isinstance(template, str) or not template:
            raise ValueError(
                f"A template in '{task}' must be a list of names of elements, not {template!r}."
            )
        if frozenset(template) in seen:
            raise ValueError(f"A template is in '{task}' twice: {', '.join(template)}.")
        seen.add(frozenset(template))
    compile_lists(templates, elements, task)


def compile_templates(
    templates: Sequence[Sequence[str]], numbers: Sequence[int]
) -> tuple[list[str], Templates]:
    """Compile the templates of these numbers. Return the names in their feature row, and them."""
    chosen = [templates[number] for number in numbers]
    names = list(dict.fromkeys(chain(*chosen)))
    columns = np.array([names.index(name) for name in chain(*chosen)], dtype=np.int32)
    offsets, number = np.cumsum([0, *map(len, chosen)], dtype=np.int32), np.array(numbers, np.int32)
    return names, Templates(number, (number + 1).astype(np.uint64) * _STIR, offsets, columns)


@jitable
def shift_for(size):
    """Return the shift that makes a hash a place in a table of `size` places, a power of two."""
    bits = 0
    while 1 << bits < size:
        bits += 1
    return np.uint64(_BITS - bits)


@jitable
def read_symbol(code, symbol):
    """Return the hash of a feature with one more symbol."""
    code = (code ^ np.uint64(np.uint32(symbol))) * _MIX
    return code ^ (code >> _HALF)


@jitable
def place_of(code, shift):
    """Return the place of a feature with all its symbols."""
    return np.int64((code * _STIR) >> shift)


@jitable
def find_features(templates, row, size, places):
    """Find the places (int64[templates]) of the features of a row in a table of `size` places."""
    shift = shift_for(size)
    for i in range(len(templates.numbers)):
        code = templates.seeds[i]
        for j in range(templates.offsets[i], templates.offsets[i + 1]):
            code = read_symbol(code, row[templates.columns[j]])
        places[i] = place_of(code, shift)


@struct
class Weights(NamedTuple):
    """Weights in training."""

    weights: np.ndarray  # float32[places, outcomes]: after the last update
    sums: np.ndarray  # float64[places, outcomes]: the changes, each times the time before it
    clock: np.ndarray  # int64[1]: the time, see `tick`


class Rounded(NamedTuple):
    """Averages rounded to 16 bits, half the size of float32, for a processor's cache."""

    weights: np.ndarray  # int16[places, outcomes]: multiples of the step
    step: float


class Sparse(NamedTuple):
    """Averages without zeros: few labels have a weight for a feature (EWT: 13 MB, not 142)."""

    offsets: np.ndarray  # int32[places + 1]: the first entry of each place
    outcomes: np.ndarray  # int32[entries]
    weights: np.ndarray  # float32[entries, 1]
    size: int  # The number of outcomes


def round_averages(averages: np.ndarray) -> Rounded:
    """Return averages (float32[*]) as 16-bit multiples of the smallest possible step."""
    step = float(np.abs(averages).max(initial=0.0) / _HIGHEST) or 1.0
    return Rounded(np.rint(averages / np.float32(step)).astype(np.int16), step)


@jitable
def tick(perceptron):
    """Advance the clock: for an update, and for a sequence (for labels: for an arc)."""
    perceptron.clock[0] += 1


@jitable
def change_weight(perceptron, place, outcome, amount):
    """Add to one weight."""
    perceptron.weights[place, outcome] += amount
    perceptron.sums[place, outcome] += (perceptron.clock[0] - 1) * amount


@jitable
def change_kept(perceptron, places, kept, outcome, amount):
    """Add to the weights of the kept features (bool[features]) for an outcome."""
    for i in range(len(places)):
        if kept[i]:
            change_weight(perceptron, places[i], outcome, amount)


class Perceptron:
    """An averaged perceptron.

    places, outcomes (int): The size of its table; the places are a power of two.
    data (bytes | None): The result of `to_bytes`. It stays packed until the perceptron learns.
    sparse (bool): Whether to keep averages without zeros, or all, rounded to 16 bits.
    """

    def __init__(
        self, places: int, outcomes: int, data: bytes | None = None, *, sparse: bool = False
    ) -> None:
        self._shape, self._sparse = (places, outcomes), sparse
        nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32), np.zeros(0), 0
        self._data = _pack(*nothing) if data is None else data
        self._weights: Weights | None = None
        self._averages: Rounded | Sparse | None = None

    def begin_learning(self) -> Weights:
        """Return the weights in training. RAISES (ValueError): If the perceptron is compact."""
        if self._weights is None:
            places, weights, sums, clock = self._entries()
            if sums is None:
                raise ValueError(
                    "'hpyp compact' has removed what training needs from this model. Train the "
                    "original pipeline."
                )
            table = Weights(
                np.zeros(self._shape, dtype=np.float32),
                np.zeros(self._shape),
                np.full(1, clock, dtype=np.int64),
            )
            table.weights.reshape(-1)[places] = weights
            table.sums.reshape(-1)[places] = sums
            self._weights = table
        self._data = self._averages = None
        return self._weights

    def averages(self) -> Any:
        """Return the mean of the weights over time (Rounded, or Sparse if `sparse`)."""
        if self._averages is None:
            self._averages = self._new_averages()
        return self._averages

    @giving_back
    def _new_averages(self) -> Rounded | Sparse:
        places, values = self._averages_of_entries()
        if self._sparse:
            size, outcomes = self._shape
            offsets = np.searchsorted(places, outcomes * np.arange(size + 1))
            columns = offsets, places % outcomes
            columns = (column.astype(np.int32) for column in columns)
            return Sparse(*columns, values[:, None], outcomes)
        values, step = round_averages(values)
        table = np.zeros(self._shape, dtype=values.dtype)
        table.reshape(-1)[places] = values
        return Rounded(table, step)

    def _averages_of_entries(self) -> tuple[np.ndarray, np.ndarray]:
        places, weights, sums, clock = self._entries()
        return places, (weights - sums / clock).astype(np.float32) if clock else weights

    def _entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, int]:
        """Return the flat places of weights or sums other than 0, their values, and the clock."""
        if self._weights is not None:
            weights, sums, clock = self._weights
            places = np.flatnonzero((weights != 0.0) | (sums != 0.0))
            return places, weights.ravel()[places], sums.ravel()[places], int(clock[0])
        stored = load(self._data)
        weights, sums = stored["weights"], stored["sums"]
        if sums is None:
            weights = (weights * np.float32(_PRECISION)).astype(np.float32)
        return np.cumsum(stored["gaps"], dtype=np.int64), weights, sums, stored["clock"]

    def compact(self) -> None:
        """Keep only the averages, as multiples of 1/32. The perceptron cannot learn any more."""
        places, averages = self._averages_of_entries()
        multiples = np.rint(averages / _PRECISION).astype(np.int64)
        kept = np.flatnonzero(multiples)
        self._data = _pack(places[kept], multiples[kept], None, 0)
        self._weights = self._averages = None

    @giving_back
    def to_bytes(self) -> bytes:
        """Serialize the perceptron, without zeros."""
        return _pack(*self._entries()) if self._data is None else self._data


def _pack(places: np.ndarray, weights: np.ndarray, sums: np.ndarray | None, clock: int) -> bytes:
    gaps = np.ediff1d(places, to_begin=places[:1])
    return dump({"clock": clock, "gaps": gaps, "weights": weights, "sums": sums})
