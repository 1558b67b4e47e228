"""Cache of the recent answers of the experts of a pool.

The derivations of a beam differ in little, so experts meet the same contexts again and again. Answers are
kept under 64-bit fingerprints of expert, context and dish, in a table that fits the cache of a processor.

A view does not fit it: steps towards the deepest restaurant of a context wait for memory. So all experts
without an answer go down level by level, and at each level all places are fetched before any is read.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, fetch, maker
from .view import (
    BUCKET_BITS,
    BUCKETS,
    EMPTY,
    LIST,
    SINGLE,
    SYMBOL_SHIFT,
    VALUE,
    WIDTH,
    below,
    bucket_of_restaurant,
    first_child,
    first_try,
    is_in_chain,
    number_of,
    room_of,
    share_or_less,
    value_at,
)

# More would find a little more, but displace more of the views.
_SLOTS = 1024
# How many logs a processor fetches at once.
_LINE = np.uint64(32)

# An index that is known not to be negative takes fewer instructions.
_ONE, _LIST, _VALUE, _WIDTH = (np.uint64(each) for each in (1, LIST, VALUE, WIDTH))
_SHIFT, _ONLY = np.uint32(SYMBOL_SHIFT), np.uint32(SINGLE)
_SPREAD, _TOP, _LOW = np.uint64(0x9E3779B97F4A7C15), np.uint64(1) << np.uint64(63), np.uint64(_SLOTS - 1)
_EMPTY, _NOTHING = np.uint32(EMPTY), np.uint64(0)


@by_reference
class Questions(NamedTuple):
    """Contexts under one expert each that are looked up. Workspace of `recall_all`.

    expert (uint32[*]): The expert.
    symbols (uint32[* * depth]): The symbols that it reads, level by level.
    fingerprint (uint64[*]): The fingerprint of the question.
    place, level, list, row (uint32[*]): The current restaurant, its depth, its LIST and, where experts are
        multiplied, its row.
    probability (float64[*]): That of the dish; negative where the restaurant does not serve it.
    active (uint32[*]): The questions that go on.
    trial (uint32[*]): The place to look at next.
    reached (uint32[*]): The questions at a restaurant whose dishes are to be looked at.
    """

    expert: np.ndarray
    symbols: np.ndarray
    fingerprint: np.ndarray
    place: np.ndarray
    level: np.ndarray
    list: np.ndarray
    row: np.ndarray
    probability: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    reached: np.ndarray


@by_reference
class ExpertCache(NamedTuple):
    """Table of recent answers, and the answers to the current question.

    fingerprint (uint64[slots]): Fingerprints of the answers; 0 for none.
    known (float64[slots]), known_entry (uint32[slots, 3]): The answers.
    weight (float64[experts]): The weight of the expert in the deepest restaurant of the context.
    weight_at (uint32[experts]): The place of that in `pool.Weights.bucket`, flattened.
    probability (float64[experts]): For experts that are mixed, p(dish | context). For others the excess of
        the restaurant's single dish over its row, or the number of listed dishes.
    row, list (uint32[experts]): For experts that are multiplied, the restaurant's row and list, see `View`.
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
    """Return an empty table for the experts of a view."""
    experts, depth = view.columns.shape
    of, answer = np.empty((11, experts), dtype=np.uint32), np.empty((3, experts))
    symbols, fingerprint = np.empty(experts * depth, dtype=np.uint32), np.empty(experts, dtype=np.uint64)
    questions = Questions(
        of[0], symbols, fingerprint, of[1], of[2], of[9], of[10], answer[0], of[3], of[4], of[5]
    )
    slots, known = np.zeros(_SLOTS, dtype=np.uint64), np.empty(_SLOTS)
    entries = np.empty((_SLOTS, 3), dtype=np.uint32)
    return ExpertCache(slots, known, entries, answer[1], of[6], answer[2], of[7], of[8], questions)


@borrowing
def recall_all(view, weights, row, dish, cache):
    """Find the answers of all experts in a context.

    weights (float64[tiers, BUCKETS]): By tier and bucket, see `pool.Weights`.
    row (int32[elements]): The context row.
    dish (int): The dish whose probability is wanted; `NONE` where experts are multiplied.
    """
    questions = cache.questions
    missing = 0
    for expert in range(len(view.columns)):
        fingerprint = _ask(view, row, dish, expert, questions, missing)
        slot = fingerprint & _LOW
        if cache.fingerprint[slot] == fingerprint:
            _answer(view, weights, cache, expert, slot, dish)
        else:
            missing += 1
    if missing > 0:
        _go_down(view, dish, missing, cache)
        for i in range(missing):
            # Two of them may share a slot.
            _conclude(view, dish, i, cache)
            _answer(view, weights, cache, questions.expert[i], questions.fingerprint[i] & _LOW, dish)


@borrowing
def _ask(view, row, dish, expert, questions, i):
    """Enter a question. Returns its fingerprint, which is never 0."""
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
def _answer(view, weights, cache, expert, slot, dish):
    at = cache.known_entry[slot, 2]
    cache.weight_at[expert], cache.probability[expert] = at, cache.known[slot]
    cache.weight[expert] = weights[at >> BUCKET_BITS, at & (BUCKETS - 1)]
    cache.row[expert], cache.list[expert] = cache.known_entry[slot, 0], cache.known_entry[slot, 1]
    if dish == NONE:
        begin = np.uint64(cache.row[expert]) * np.uint64(view.row.shape[1])
        for place in range(begin, begin + np.uint64(view.row.shape[1]), _LINE):
            fetch(view.row, place)
        if cache.list[expert] < _ONLY:
            fetch(view.servings, cache.list[expert])


@borrowing
def _go_down(view, dish, count, cache):
    """Find the deepest restaurants of the first questions, and the probability of the dish there."""
    questions, table, depth = cache.questions, view.restaurants, np.uint64(view.columns.shape[1])
    symbols, place, active, trial = questions.symbols, questions.place, questions.active, questions.trial
    reached, levels = questions.reached, questions.level
    for i in range(count):
        expert = questions.expert[i]
        active[i], levels[i] = i, 0
        place[i] = expert * _WIDTH
        questions.list[i], questions.row[i] = table[place[i] + _LIST], table[place[i] + _VALUE]
        reached[i], questions.probability[i] = i, 1.0 / view.alphabet[0]
    if dish != NONE:
        _go_on(view, dish, count, questions)
    left, served = np.uint64(count), _NOTHING
    for level in range(depth):
        tried = _NOTHING
        for a in range(left):
            i = active[a]
            restaurant = np.uint64(place[i])
            room = room_of(np.uint64(table[restaurant]))
            # Where there is a child, the expert reads a symbol.
            if room != _NOTHING:
                at = first_try(np.uint64(symbols[i * depth + level]), room)
                at = at * _WIDTH + np.uint64(first_child(view, np.int64(restaurant)))
                active[tried], trial[tried] = i, at
                tried += _ONE
                fetch(table, at)
        _go_on(view, dish, served, questions)
        left = served = _NOTHING
        for a in range(tried):
            i, at = active[a], np.uint64(trial[a])
            wanted = symbols[i * depth + level]
            if table[at] >> _SHIFT != number_of(view.large, wanted):
                if table[at] == _EMPTY:
                    continue
                other = below(view, np.int64(place[i]), wanted)
                if other == NONE:
                    continue
                at = np.uint64(other)
            place[i], levels[i] = at, level + _ONE
            active[left] = i
            left += _ONE
            if dish != NONE:
                reached[served] = i
                served += _ONE
            if is_in_chain(np.int64(at)):
                continue
            listed = questions.list[i] = table[at + _LIST]
            if dish == NONE and listed == _EMPTY:
                questions.row[i] = table[at + _VALUE]
            elif dish != NONE and listed < _ONLY and questions.probability[i] >= 0.0:
                fetch(view.servings, np.uint64(listed))
        if left == _NOTHING:
            break
    _go_on(view, dish, served, questions)


@borrowing
def _go_on(view, dish, count, questions):
    """Find the probability of the dish at the restaurants of the first questions of `reached`."""
    probability = questions.probability
    for a in range(count):
        i = questions.reached[a]
        place, listed = np.int64(questions.place[i]), np.int64(questions.list[i])
        probability[i] = share_or_less(view, place, listed, dish, probability[i])


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
    listed, at = questions.list[i], value_at(place)
    cache.known[slot] = view.restaurants[at] if listed < _ONLY else view.value[at]
    cache.known_entry[slot, 0], cache.known_entry[slot, 1] = questions.row[i], listed
