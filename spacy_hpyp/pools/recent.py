"""What the experts of a pool have said lately.

The derivations of a beam differ in little, so most experts meet the same context again and again. What one has found is kept
under a *fingerprint* of expert, context and dish, in a table that fits a processor's cache; two that fall into one slot
displace each other. Fingerprints have 64 bits: that two contexts share one is not to be expected in any lifetime.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, compiled
from .view import BACK_OFF, LIST, ROW, SHARE, all_below, share_of, standing_of

_SLOTS = 4096


class Recent(NamedTuple):
    """A table of what was found lately, and the answers to the present question.

    fingerprint (uint64[slots]): Whose answer stands in a slot; 0 where there is none.
    known (float64[slots, 2]), known_entry (int32[slots, 2]): The answers.
    weight (float64[experts]): The weight that the expert has in the deepest restaurant of the context.
    probability (float64[experts]): Of experts that are mixed, p(dish | context); of others the restaurant's excess.
    row, list (int32[experts]): Of experts that are multiplied, the restaurant's row and list, see `View`.
    missing, active, trial, symbol, place, level (int32[experts]), print_of (uint64[experts]): Workspace.
    """

    fingerprint: np.ndarray
    known: np.ndarray
    known_entry: np.ndarray
    weight: np.ndarray
    probability: np.ndarray
    row: np.ndarray
    list: np.ndarray
    missing: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    symbol: np.ndarray
    place: np.ndarray
    level: np.ndarray
    print_of: np.ndarray


@compiled
def new_recent(view):
    """An empty table for the experts of a view."""
    experts = len(view.columns)
    return Recent(
        np.zeros(_SLOTS, dtype=np.uint64),
        np.empty((_SLOTS, 2)),
        np.empty((_SLOTS, 2), dtype=np.int32),
        np.empty(experts),
        np.empty(experts),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.int32),
        np.empty(experts, dtype=np.uint64),
    )


@borrowing
def find_places(view, weights, row, recent):
    """Find the weight of every expert in the deepest restaurant of its context, and what the restaurant says.

    weights (float64[tiers, STANDINGS]): By tier and standing, see `pool.Weights`.
    row (int32[elements]): The context row.
    """
    missing = recent.missing[: _recall(view, row, NONE, recent)]
    active, depth = recent.active, view.columns.shape[1]
    count = len(missing)
    for i in range(count):
        active[i] = missing[i]
        recent.place[missing[i]], recent.level[missing[i]] = missing[i], 0
    for level in range(depth):
        count = all_below(view, row, level, active, count, recent.trial, recent.symbol, recent.place)
        if count == 0:
            break
        for i in range(count):
            recent.level[active[i]] = level + 1
    for expert in missing:
        place, tier = recent.place[expert], expert * (depth + 1) + recent.level[expert]
        recent.weight[expert] = weights[tier, standing_of(view, place)]
        recent.row[expert] = view.restaurants[place, ROW]
        recent.list[expert] = view.restaurants[place, LIST]
        recent.probability[expert] = (
            view.value[place, SHARE] if recent.list[expert] < 0 else view.restaurants[place, SHARE]
        )
    _remember(recent, missing)


@borrowing
def find_probabilities(view, weights, row, dish, recent):
    """Find p(dish | context) under every expert, and the weight that each has in the deepest restaurant of its context.

    weights (float64[tiers, STANDINGS]), row (int32[elements]): As for `find_places`.
    """
    missing = recent.missing[: _recall(view, row, dish, recent)]
    active, depth = recent.active, view.columns.shape[1]
    count = len(missing)
    for i in range(count):
        expert = missing[i]
        active[i] = expert
        recent.place[expert], recent.level[expert] = expert, 0
        share = share_of(view, expert, dish)
        # With its sign it says whether the restaurant serves the dish: what one does not serve, none below it serves either.
        recent.probability[expert] = share if share >= 0.0 else -view.value[expert, BACK_OFF] / view.alphabet[0]
    for level in range(depth):
        count = all_below(view, row, level, active, count, recent.trial, recent.symbol, recent.place)
        if count == 0:
            break
        for i in range(count):
            expert = active[i]
            place, above = recent.place[expert], recent.probability[expert]
            recent.level[expert] = level + 1
            share = share_of(view, place, dish) if above >= 0.0 else -1.0
            recent.probability[expert] = share if share >= 0.0 else -abs(above) * view.value[place, BACK_OFF]
    for expert in missing:
        recent.probability[expert] = abs(recent.probability[expert])
        tier = expert * (depth + 1) + recent.level[expert]
        recent.weight[expert] = weights[tier, standing_of(view, recent.place[expert])]
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
            recent.weight[expert], recent.probability[expert] = recent.known[slot, 0], recent.known[slot, 1]
            recent.row[expert], recent.list[expert] = recent.known_entry[slot, 0], recent.known_entry[slot, 1]
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
        recent.known[slot, 0], recent.known[slot, 1] = recent.weight[expert], recent.probability[expert]
        recent.known_entry[slot, 0], recent.known_entry[slot, 1] = recent.row[expert], recent.list[expert]
