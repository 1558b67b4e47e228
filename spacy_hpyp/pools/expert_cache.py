"""What the experts of a pool have said lately.

The derivations of a beam differ in little, so most experts meet the same context again and again. What one has found is kept
under a *fingerprint* of expert, context and dish, in a table that fits a processor's cache; two that fall into one slot
displace each other. Fingerprints have 64 bits: that two contexts share one is not to be expected in any lifetime.

A view does not fit the cache: nearly every step towards the deepest restaurant of a context waits for the memory. So all experts
of which nothing is known go down level by level, and at each level all places are fetched before any is looked at: a processor
fetches a dozen of them in the time of one.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, maker
from .view import (
    BACK_OFF,
    BUCKET_BITS,
    BUCKETS,
    EMPTY,
    EXCESS,
    FIRST,
    LENGTH,
    LIST,
    PAIR,
    ROOM,
    ROW,
    SHARE,
    SINGLE,
    VALUE,
    WIDTH,
    bucket_of_restaurant,
    find,
    first_try,
    share_of,
)

_SLOTS = 4096

# An index that is known not to be negative takes fewer instructions.
_ONE, _FIRST, _ROOM, _LIST, _WIDTH = np.uint64(1), np.uint64(FIRST), np.uint64(ROOM), np.uint64(LIST), np.uint64(WIDTH)
_LENGTH, _BACK_OFF, _SHARE, _PAIR = np.uint64(LENGTH), np.uint64(BACK_OFF), np.uint64(SHARE), np.uint64(PAIR)
_VALUE, _BUCKET_BITS, _ONLY = np.uint64(VALUE), np.uint64(BUCKET_BITS), np.uint32(SINGLE)
_SPREAD, _TOP, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(1) << np.uint64(63), np.uint64(_SLOTS - 1)
_EMPTY, _NOTHING = np.uint32(EMPTY), np.uint64(0)


@by_reference
class Questions(NamedTuple):
    """What is looked up: a context under one expert each. Workspace of `recall_all`.

    expert (uint32[*]): Which expert.
    symbols (uint32[* * depth]): The symbols that it reads, level by level.
    fingerprint (uint64[*]): Of the question.
    place, level (uint32[*]): The restaurant that it has come to, and how deep that is.
    probability (float64[*]): Of the dish; negative where the restaurant does not serve it.
    active (uint32[*]): The questions that go on.
    trial, found (uint32[*]): Where to look next, and what stands there.
    """

    expert: np.ndarray
    symbols: np.ndarray
    fingerprint: np.ndarray
    place: np.ndarray
    level: np.ndarray
    probability: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    found: np.ndarray


@by_reference
class ExpertCache(NamedTuple):
    """A table of what was found lately, and the answers to the present question.

    fingerprint (uint64[slots]): Whose answer stands in a slot; 0 where there is none.
    known (float64[slots]), known_entry (uint32[slots, 3]): The answers.
    weight (float64[experts]): The weight that the expert has in the deepest restaurant of the context.
    weight_at (uint32[experts]): Where that stands in `pool.Weights.bucket`, flattened.
    probability (float64[experts]): Of experts that are mixed, p(dish | context). Of others what the restaurant's single dish has in
        excess of its row, or how many dishes it lists.
    row, list (uint32[experts]): Of experts that are multiplied, the restaurant's row and list, see `View`.
    questions (Questions): Workspace.
    """

    fingerprint: np.ndarray
    known: np.ndarray
    known_entry: np.ndarray
    weight: np.ndarray
    weight_at: np.ndarray
    probability: np.ndarray
    row: np.ndarray
    list: np.ndarray
    questions: Questions


@maker
def new_expert_cache(view):
    """An empty table for the experts of a view."""
    experts, depth = view.columns.shape
    return ExpertCache(
        np.zeros(_SLOTS, dtype=np.uint64),
        np.empty(_SLOTS),
        np.empty((_SLOTS, 3), dtype=np.uint32),
        np.empty(experts),
        np.empty(experts, dtype=np.uint32),
        np.empty(experts),
        np.empty(experts, dtype=np.uint32),
        np.empty(experts, dtype=np.uint32),
        Questions(
            np.empty(experts, dtype=np.uint32),
            np.empty(experts * depth, dtype=np.uint32),
            np.empty(experts, dtype=np.uint64),
            np.empty(experts, dtype=np.uint32),
            np.empty(experts, dtype=np.uint32),
            np.empty(experts),
            np.empty(experts, dtype=np.uint32),
            np.empty(experts, dtype=np.uint32),
            np.empty(experts, dtype=np.uint32),
        ),
    )


@borrowing
def recall_all(view, weights, row, dish, cache):
    """Find what every expert says in a context: `cache.weight`, and the other answers.

    weights (float64[tiers, BUCKETS]): By tier and bucket, see `pool.Weights`.
    row (int32[elements]): The context row.
    dish (int): The dish whose probability is asked for; `NONE` where experts are multiplied.
    """
    questions = cache.questions
    missing = 0
    for expert in range(len(view.columns)):
        fingerprint = _ask(view, row, dish, expert, questions, missing)
        slot = fingerprint & _LOW
        if cache.fingerprint[slot] == fingerprint:
            _answer(weights, cache, expert, slot)
        else:
            missing += 1
    if missing > 0:
        _go_down(view, dish, missing, cache)
        for i in range(missing):
            # Two of them may share a slot.
            _conclude(view, dish, i, cache)
            _answer(weights, cache, questions.expert[i], questions.fingerprint[i] & _LOW)


@borrowing
def _ask(view, row, dish, expert, questions, i):
    """Put a question. Returns its fingerprint, which is never 0: that stands for an empty slot."""
    depth = view.columns.shape[1]
    mixed = np.uint64(expert + 1) * _SPREAD + np.uint64(dish + 2)
    place = i * depth
    for level in range(depth):
        column = view.columns[expert, level]
        if column < 0:
            break
        symbol = np.uint64(np.uint32(row[column]))
        questions.symbols[place + level] = symbol
        mixed = mixed * _SPREAD + symbol
    mixed ^= mixed >> np.uint64(32)
    mixed *= _SPREAD
    mixed ^= mixed >> np.uint64(29)
    mixed |= _TOP
    questions.expert[i], questions.fingerprint[i] = expert, mixed
    return mixed


@borrowing
def _answer(weights, cache, expert, slot):
    at = cache.known_entry[slot, 2]
    cache.weight_at[expert], cache.probability[expert] = at, cache.known[slot]
    cache.weight[expert] = weights[at >> BUCKET_BITS, at & (BUCKETS - 1)]
    cache.row[expert], cache.list[expert] = cache.known_entry[slot, 0], cache.known_entry[slot, 1]


@borrowing
def _go_down(view, dish, count, cache):
    """Let the first questions find the deepest restaurant of their context, and the probability of the dish there."""
    questions, table, depth = cache.questions, view.restaurants, np.uint64(view.columns.shape[1])
    symbols, place, active, trial = questions.symbols, questions.place, questions.active, questions.trial
    found, levels = questions.found, questions.level
    for i in range(count):
        expert = questions.expert[i]
        active[i], levels[i] = i, 0
        place[i] = expert * _WIDTH
        if dish != NONE:
            root = np.int64(expert) * WIDTH
            share = share_of(view, root, dish)
            questions.probability[i] = share if share >= 0.0 else -view.value[root + BACK_OFF] / view.alphabet[0]
    left = np.uint64(count)
    for level in range(depth):
        tried = _NOTHING
        for a in range(left):
            i = active[a]
            restaurant = np.uint64(place[i])
            room = np.uint64(table[restaurant + _ROOM]) >> _BUCKET_BITS
            # Where there is a child, the expert reads a symbol.
            if room != _NOTHING:
                at = first_try(np.uint64(symbols[i * depth + level]), room)
                at = at * _WIDTH + np.uint64(table[restaurant + _FIRST])
                active[tried], trial[tried], found[tried] = i, at, table[at]
                tried += _ONE
        left = _NOTHING
        for a in range(tried):
            i, at = active[a], np.uint64(trial[a])
            wanted = symbols[i * depth + level]
            if found[a] != wanted:
                if found[a] == _EMPTY:
                    continue
                restaurant = np.int64(place[i])
                first, room = np.int64(table[restaurant + FIRST]), np.int64(table[restaurant + ROOM]) >> BUCKET_BITS
                other = find(table, first, room, WIDTH, wanted)
                if other == NONE or table[other] == _EMPTY:
                    continue
                at = np.uint64(other)
            place[i], levels[i] = at, level + _ONE
            active[left] = i
            left += _ONE
        if left == _NOTHING:
            break
        if dish != NONE:
            _go_on(view, dish, left, questions)


@borrowing
def _go_on(view, dish, count, questions):
    """Find the probability of the dish where the active questions have come to.

    What a restaurant does not serve, none below it serves either: from there on only the back-off factors matter.
    """
    table, active, trial, found = view.restaurants, questions.active, questions.trial, questions.found
    probability = questions.probability
    wanted, only = np.uint64(dish), np.uint32(EMPTY - 1 - dish)
    for a in range(count):
        i = active[a]
        place = np.uint64(questions.place[i])
        listed = table[place + _LIST]
        found[a] = _EMPTY
        if listed < _ONLY and probability[i] >= 0.0:
            at = np.uint64(listed) + _PAIR * first_try(wanted, np.uint64(table[place + _LENGTH]))
            trial[a], found[a] = at, view.servings[at]
    for a in range(count):
        i = active[a]
        place = np.uint64(questions.place[i])
        above = probability[i]
        share = -1.0
        if above >= 0.0:
            if found[a] == wanted:
                share = np.float64(view.serving_value[np.uint64(trial[a]) + _VALUE])
            elif found[a] != _EMPTY:
                share = share_of(view, np.int64(place), dish)
            elif table[place + _LIST] == only:
                share = np.float64(view.value[place + _SHARE])
        probability[i] = share if share >= 0.0 else -abs(above) * view.value[place + _BACK_OFF]


@borrowing
def _conclude(view, dish, i, cache):
    """Enter the answer to a question."""
    questions = cache.questions
    expert, place, slot = questions.expert[i], np.int64(questions.place[i]), questions.fingerprint[i] & _LOW
    cache.fingerprint[slot] = questions.fingerprint[i]
    tier = np.int64(expert) * (view.columns.shape[1] + 1) + np.int64(questions.level[i])
    cache.known_entry[slot, 2] = tier << BUCKET_BITS | np.int64(bucket_of_restaurant(view, place))
    if dish != NONE:
        cache.known[slot] = abs(questions.probability[i])
        return
    listed = view.restaurants[place + LIST]
    cache.known[slot] = view.restaurants[place + LENGTH] if listed < _ONLY else view.value[place + EXCESS]
    cache.known_entry[slot, 0], cache.known_entry[slot, 1] = view.restaurants[place + ROW], listed
