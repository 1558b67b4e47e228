"""Cache of results for equal contexts.

Many derivations of a beam look the same to a distribution.
"""

from typing import NamedTuple

import numpy as np

from .compiled import NONE, jitable, struct

_SPREAD, _TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(1) << np.uint64(63)


@struct
class Memo(NamedTuple):
    """Finished lists of outcomes by key; keys in one slot displace each other."""

    fingerprint: np.ndarray  # uint64[2**i]: those of the keys; 0 for none
    outcome: np.ndarray  # int32[2**i, best]
    probability: np.ndarray  # float64[2**i, best]


@jitable
def new_memo(size, best):
    """Return an empty memo, whose size is a power of two."""
    return Memo(
        np.zeros(size, dtype=np.uint64),
        np.empty((size, best), dtype=np.int32),
        np.empty((size, best)),
    )


@jitable
def mixed(key):
    """Return a hash of numbers (int32[width])."""
    code = np.uint64(0)
    # Each by itself: what comes next could make up for a difference in the upper half alone.
    for part in key:
        code = code * _SPREAD + np.uint64(np.uint32(part))
    code = (code ^ code >> np.uint64(32)) * _SPREAD
    return code ^ code >> np.uint64(29)


@jitable
def recall(fingerprints, key):
    """Look a key up and make it the key of its slot.

    fingerprints (uint64[2**i]): Those of the slots.
    key (int32[width]): The key.
    RETURNS (tuple[int, bool]): The slot, and whether it already holds the results for the key.
    """
    code = mixed(key) | _TOP
    slot = np.int64(code & np.uint64(len(fingerprints) - 1))
    known = fingerprints[slot] == code
    fingerprints[slot] = code
    return slot, known


@jitable
def keep_best(dish, probability, found, value):
    """Enter a dish in a list of the best, in descending order; of equals the lower comes first.

    dish (int32[best]), probability (float64[best]): The list, `NONE` and 0 where it is not full.
    found (int), value (float): The dish to enter, and its probability.
    """
    place = len(dish)
    while place > 0:
        other = probability[place - 1]
        if dish[place - 1] != NONE and (
            value < other or (value == other and found > dish[place - 1])
        ):
            break
        place -= 1
    for i in range(len(dish) - 1, place, -1):
        dish[i] = dish[i - 1]
        probability[i] = probability[i - 1]
    if place < len(dish):
        dish[place] = found
        probability[place] = value
