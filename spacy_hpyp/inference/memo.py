"""What has been computed for equal contexts before: a table that forgets when it needs the room.

Many derivations of a beam look the same to a distribution, because they differ in what it does not read.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, maker, overwrite


@by_reference
class Memo(NamedTuple):
    """Finished lists of outcomes by their keys; two keys that fall into one slot displace each other.

    key (int32[2**i, width]): What was asked.
    outcome (int32[2**i, best]), probability (float64[2**i, best]): What was found.
    """

    key: np.ndarray
    outcome: np.ndarray
    probability: np.ndarray


@maker
def new_memo(size, width, best):
    """An empty memo.

    size (int): A power of two.
    """
    return Memo(
        np.full((size, width), -1, dtype=np.int32), np.empty((size, best), dtype=np.int32), np.empty((size, best))
    )


@borrowing
def forget(memo):
    """Let a memo be empty."""
    for slot in range(len(memo.key)):
        for i in range(memo.key.shape[1]):
            memo.key[slot, i] = -1


@borrowing
def recall(keys, key):
    """Look a key up and make it the key of its slot.

    keys (int32[2**i, width]): Those of the slots.
    key (int32[width]): Not all -1.
    RETURNS (tuple[int, bool]): The slot, and whether it already holds what was found for the key.
    """
    mixed = np.uint64(0)
    for part in key:
        mixed = (mixed ^ np.uint64(part)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
    slot = np.int64(mixed & np.uint64(len(keys) - 1))
    known = keys[slot]
    for i in range(len(key)):
        if known[i] != key[i]:
            overwrite(known, key)
            return slot, False
    return slot, True


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
