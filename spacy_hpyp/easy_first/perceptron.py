"""The averaged perceptron over hashed features (Collins 2002).

The weights of a feature form a row, one weight for each outcome. Predictions use the average of the
weights after each update. For lazy averaging, `sums` accumulates each change times the time before
it: the average is the last weights minus the sums divided by the time.

Files store the weights, the sums and the clock, so that training can continue; or, after
`hpyp compact`, only the averages, as multiples of `PRECISION`. Zeros are not stored.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compiled import jit, struct
from ..memory import giving_back
from ..settings import Possible, Whole
from ..storage import dump, load

#: Sizes of hashed weights that a config may set.
PLACES = Possible(
    "a power of two of at least 2 and at most 2^30",
    lambda value: value in Whole(2, 2**30) and int(value).bit_count() == 1,
)

# The highest number of 16 bits.
_HIGHEST = 32_767
#: Compact models keep averages as multiples of this.
PRECISION = 1 / 32


@struct
class Perceptron(NamedTuple):
    """Weights in training."""

    weights: (
        np.ndarray
    )  # float32[places, outcomes]: after the last update; the places are a power of two
    sums: np.ndarray  # float64[places, outcomes]: the changes, each times the time before it
    clock: np.ndarray  # int64[1]: the number of updates, and of sequences without one


class Rounded(NamedTuple):
    """Averages rounded to 16 bits, which take half of a processor's cache."""

    # Multiples of the step.
    multiples: np.ndarray  # int16[places, outcomes]
    step: float


def new_perceptron(places: int, outcomes: int) -> Perceptron:
    """Return an untrained perceptron."""
    return Perceptron(
        np.zeros((places, outcomes), dtype=np.float32),
        np.zeros((places, outcomes)),
        np.zeros(1, dtype=np.int64),
    )


def averages_alone(perceptron: Perceptron) -> Perceptron:
    """Return a perceptron that can only predict: its weights are the rounded averages, at time
    0.
    """
    kept = np.round(table_of_averages(perceptron) / PRECISION) * PRECISION
    return new_perceptron(*kept.shape)._replace(weights=kept)


def table_of_averages(perceptron: Perceptron) -> np.ndarray:
    """Return the mean of the weights after each update (float32[places, outcomes]), not to be
    written to.
    """
    if perceptron.clock[0] == 0:
        return perceptron.weights
    table = perceptron.sums / np.float64(perceptron.clock[0])
    return np.subtract(perceptron.weights, table, out=table).astype(np.float32)


def round_averages(averages: np.ndarray) -> Rounded:
    """Return averages (float32[*]) as 16-bit multiples of the smallest possible step."""
    step = float(max(averages.max(initial=0.0), -averages.min(initial=0.0)) / _HIGHEST) or 1.0
    return Rounded(np.rint(averages / np.float32(step)).astype(np.int16), step)


def is_compact(perceptron: Perceptron) -> bool:
    """Return whether a perceptron was made by `averages_alone`."""
    return bool(perceptron.clock[0] == 0 and perceptron.weights.any())


def check_can_learn(perceptron: Perceptron) -> None:
    """RAISES (ValueError): If a perceptron is compact."""
    if is_compact(perceptron):
        raise ValueError(
            "'hpyp compact' has removed what training needs from this model. Train the original pipeline."
        )


@jit
def tick(perceptron):
    """Advance the clock, for an update or a sequence without one."""
    perceptron.clock[0] += 1


@jit
def change_weight(perceptron, place, outcome, amount):
    """Add to one weight."""
    perceptron.weights[place, outcome] += amount
    perceptron.sums[place, outcome] += (perceptron.clock[0] - 1) * amount


@jit
def change_kept(perceptron, places, kept, outcome, amount):
    """Add to the weights of the kept features (bool[features]) for an outcome."""
    for i in range(len(places)):
        if kept[i]:
            change_weight(perceptron, places[i], outcome, amount)


class StoredPerceptron:
    """A stored perceptron: prediction reads its averages, learning unpacks it.

    message (bytes), places, outcomes (int): See `perceptron_from_message`.
    rounded (bool): Whether to round its averages to 16 bits.
    """

    def __init__(self, message: bytes, places: int, outcomes: int, *, rounded: bool = True) -> None:
        self.message, self._shape = message, (places, outcomes)
        clock, entries, averages, sums, _ = _read(message)
        if clock:
            sums /= clock
            averages = (averages - sums).astype(np.float32)
        multiples, step = round_averages(averages) if rounded else (averages, 1.0)
        table = np.zeros(self._shape, dtype=multiples.dtype)
        table.reshape(-1)[entries] = multiples
        #: The weights for prediction.
        self.averages = Rounded(table, step) if rounded else table

    def unpack(self) -> Perceptron:
        """Return the perceptron."""
        return perceptron_from_message(self.message, *self._shape)


class Unpacked:
    """A perceptron attribute, unpacked on first use. `stored_<name>` gives it without unpacking."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"stored_{name}"

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        value = self if model is None else vars(model)[self._name]
        if isinstance(value, StoredPerceptron):
            value = vars(model)[self._name] = value.unpack()
        return value

    def __set__(self, model: Any, value: Any) -> None:
        vars(model)[self._name] = value


def averages_in(perceptron: Any, *, rounded: bool = True) -> np.ndarray | Rounded:
    """Return the averages of a perceptron, stored or in training."""
    if isinstance(perceptron, StoredPerceptron):
        return perceptron.averages
    table = table_of_averages(perceptron)
    return round_averages(table) if rounded else table


@giving_back
def perceptron_to_message(perceptron: Perceptron | StoredPerceptron) -> bytes:
    """Serialize a perceptron."""
    if isinstance(perceptron, StoredPerceptron):
        return perceptron.message
    entries = np.flatnonzero((perceptron.weights != 0.0) | (perceptron.sums != 0.0))
    weights, compact = perceptron.weights.ravel()[entries], is_compact(perceptron)
    return dump(
        {
            "clock": int(perceptron.clock[0]),
            "gaps": np.ediff1d(entries, to_begin=entries[:1]),
            "weights": np.rint(weights / PRECISION).astype(np.int64) if compact else weights,
            "sums": None if compact else perceptron.sums.ravel()[entries],
        }
    )


def perceptron_from_message(message: bytes, places: int, outcomes: int) -> Perceptron:
    """Read what `perceptron_to_message` wrote, into a table of `places` times `outcomes`."""
    clock, entries, weights, sums, compact = _read(message)
    perceptron = new_perceptron(places, outcomes)
    perceptron.weights.reshape(-1)[entries] = weights
    if not compact:
        perceptron.sums.reshape(-1)[entries] = sums
    perceptron.clock[0] = clock
    return perceptron


def _read(message: bytes) -> tuple[int, np.ndarray, np.ndarray, np.ndarray | None, bool]:
    """Return the clock, the places and values of weights, the sums, and whether it is compact."""
    stored = load(message)
    weights, compact = stored["weights"], stored["sums"] is None
    if compact:
        weights = (weights * np.float32(PRECISION)).astype(np.float32)
    places = np.cumsum(stored["gaps"], dtype=np.int64)
    return stored["clock"], places, weights, stored["sums"], compact
