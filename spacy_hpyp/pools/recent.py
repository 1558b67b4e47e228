"""What the experts of a pool have said lately.

The derivations of a beam differ in little, so most experts meet the same context again and again. What one has found is kept
under a *fingerprint* of expert, context and dish, in a table that fits a processor's cache; two that fall into one slot
displace each other. Fingerprints have 64 bits: that two contexts share one is not to be expected in any lifetime.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled
from ..hpyp.franchise import deepest_of, paths_of
from .view import view_path_probability

_SLOTS = 4096


class Recent(NamedTuple):
    """A table of what was found lately, and the answers to the present question.

    fingerprint (uint64[slots]): Whose answer stands in a slot; 0 where there is none.
    known_place (int32[slots]), known_probability (float64[slots]): The answers.
    place (int32[experts]), probability (float64[experts]): The answers to the present question, see `find_places`.
    missing (int32[experts]), print_of (uint64[experts]), path (int32[depth + 1, experts]): Workspace.
    """

    fingerprint: np.ndarray
    known_place: np.ndarray
    known_probability: np.ndarray
    place: np.ndarray
    probability: np.ndarray
    missing: np.ndarray
    print_of: np.ndarray
    path: np.ndarray


@compiled
def new_recent(view):
    """An empty table for the experts of a view."""
    experts, depth = view.columns.shape
    return Recent(
        np.zeros(_SLOTS, dtype=np.uint64),
        np.empty(_SLOTS, dtype=np.int32),
        np.empty(_SLOTS),
        np.empty(experts, dtype=np.int32),
        np.empty(experts),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.uint64),
        np.empty((depth + 1, experts), dtype=np.int32),
    )


@borrowing
def find_places(view, row, recent):
    """Find the deepest restaurant of a context under every expert: `recent.place`."""
    missing = recent.missing[: _recall(view, row, NONE, recent)]
    deepest_of(view, row, missing, recent.place)
    _remember(recent, missing)


@borrowing
def find_probabilities(view, row, dish, recent):
    """Find the deepest restaurant and p(dish | context) under every expert: `recent.place` and `recent.probability`."""
    missing = recent.missing[: _recall(view, row, dish, recent)]
    paths_of(view, row, missing, recent.path)
    for expert in missing:
        last = 0
        while last + 1 < len(recent.path) and recent.path[last + 1, expert] != NONE:
            last += 1
        recent.place[expert] = recent.path[last, expert]
        recent.probability[expert] = view_path_probability(view, recent.path, expert, dish)
    _remember(recent, missing)


@borrowing
def _recall(view, row, dish, recent):
    """Read off the table what it has. Returns how many experts it has nothing of: the first in `recent.missing`."""
    columns = view.columns
    count = 0
    for expert in range(len(columns)):
        mixed = _mix(_mix(np.uint64(0), expert), dish)
        for level in range(columns.shape[1]):
            if columns[expert, level] == NONE:
                break
            mixed = _mix(mixed, row[columns[expert, level]])
        # Never 0, which stands for an empty slot.
        mixed |= np.uint64(1) << np.uint64(63)
        slot = np.int64(mixed & np.uint64(_SLOTS - 1))
        recent.print_of[expert] = mixed
        if recent.fingerprint[slot] == mixed:
            recent.place[expert] = recent.known_place[slot]
            recent.probability[expert] = recent.known_probability[slot]
        else:
            recent.missing[count] = expert
            count += 1
    return count


@compiled
def _mix(mixed, symbol):
    mixed = (mixed ^ np.uint64(symbol + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(29))


@borrowing
def _remember(recent, experts):
    for expert in experts:
        slot = np.int64(recent.print_of[expert] & np.uint64(_SLOTS - 1))
        recent.fingerprint[slot] = recent.print_of[expert]
        recent.known_place[slot] = recent.place[expert]
        recent.known_probability[slot] = recent.probability[expert]
