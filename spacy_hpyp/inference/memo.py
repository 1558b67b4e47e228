"""What has been computed for equal contexts before: a table that forgets when it needs the room.

Many derivations of a beam look the same to a distribution, because they differ in what it does not read.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, maker

_SPREAD, _TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(1) << np.uint64(63)


@by_reference
class Memo(NamedTuple):
    """Finished lists of outcomes by their keys; two keys that fall into one slot displace each other.

    fingerprint (uint64[2**i]): Of what was asked, see `recall`; 0 where nothing was.
    outcome (int32[2**i, best]), probability (float64[2**i, best]): What was found.
    """

    fingerprint: np.ndarray
    outcome: np.ndarray
    probability: np.ndarray


@maker
def new_memo(size, best):
    """An empty memo.

    size (int): A power of two.
    """
    return Memo(
        np.zeros(size, dtype=np.uint64), np.empty((size, best), dtype=np.int32), np.empty((size, best))
    )


@borrowing
def mixed(key):
    """A hash of some numbers (int32[width])."""
    code = np.uint64(0)
    # Each by itself: what comes next could make up for a difference in the upper half alone.
    for part in key:
        code = code * _SPREAD + np.uint64(np.uint32(part))
    code = (code ^ code >> np.uint64(32)) * _SPREAD
    return code ^ code >> np.uint64(29)


@borrowing
def recall(fingerprints, key):
    """Look a key up and make it the key of its slot. That two keys have one fingerprint is not to be expected
    in any lifetime.

    fingerprints (uint64[2**i]): Those of the slots.
    key (int32[width]): What is asked.
    RETURNS (tuple[int, bool]): The slot, and whether it already holds what was found for the key.
    """
    code = mixed(key) | _TOP
    slot = np.int64(code & np.uint64(len(fingerprints) - 1))
    known = fingerprints[slot] == code
    fingerprints[slot] = code
    return slot, known


@borrowing
def keep_best(dish, probability, found, value):
    """Enter a dish into a list of the best, kept in descending order; of equals the lower number comes first.

    dish (int32[best]), probability (float64[best]): The list, `NONE` and 0 where it is not full.
    """
    place = len(dish)
    while place > 0:
        other = probability[place - 1]
        if dish[place - 1] != NONE and (value < other or (value == other and found > dish[place - 1])):
            break
        place -= 1
    for i in range(len(dish) - 1, place, -1):
        dish[i] = dish[i - 1]
        probability[i] = probability[i - 1]
    if place < len(dish):
        dish[place] = found
        probability[place] = value
