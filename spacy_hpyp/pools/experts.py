"""What the experts of a pool say in a context.

A view does not fit a processor's cache: nearly every step towards the deepest restaurant of a context waits for
the memory. So all experts go down level by level, and at each level all places are fetched before any is looked
at, with what they serve behind them: a processor fetches a dozen of them in the time of one. One after the other
they take a quarter more time of a parse (French Sequoia: 6,700 for 8,500 words per second).
"""

from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, fetch, maker
from .view import (
    BUCKETS,
    EMPTY,
    FIRST,
    LIST,
    SINGLE,
    SYMBOL_SHIFT,
    VALUE,
    WIDTH,
    below,
    bucket_of_restaurant,
    first_try,
    room_of,
    share_or_less,
)

# How many logs a processor fetches at once.
_LINE = np.uint64(32)

# An index that is known not to be negative takes fewer instructions.
_ONE, _FIRST, _LIST, _VALUE, _WIDTH = (np.uint64(each) for each in (1, FIRST, LIST, VALUE, WIDTH))
_SHIFT, _ONLY = np.uint32(SYMBOL_SHIFT), np.uint32(SINGLE)
_EMPTY, _NOTHING = np.uint32(EMPTY), np.uint64(0)


@by_reference
class Answers(NamedTuple):
    """What each expert says in a context.

    weight (float64[experts]): The weight that the expert has in the deepest restaurant of the context.
    weight_at (uint32[experts]): Where that stands in `pool.Weights.bucket`, flattened.
    probability (float64[experts]): Of experts that are mixed, p(dish | context), negative where the restaurant
        does not serve the dish. Of others what the restaurant's single dish has in excess of its row, or how
        many dishes it lists.
    row, list (uint32[experts]): Of experts that are multiplied, the restaurant's row; and its list, see `View`.
    place, level (uint32[experts]): The restaurant that the expert has come to, and how deep that is.
    active (uint32[experts]): The experts that go on.
    trial (uint32[experts]): Where to look next.
    reached (uint32[experts]): The experts that have come to a restaurant whose dishes are to be looked at.
    """

    weight: np.ndarray
    weight_at: np.ndarray
    probability: np.ndarray
    row: np.ndarray
    list: np.ndarray
    place: np.ndarray
    level: np.ndarray
    active: np.ndarray
    trial: np.ndarray
    reached: np.ndarray


@maker
def new_answers(view):
    """Room for the answers of the experts of a view."""
    experts = len(view.columns)
    of, floats = np.empty((8, experts), dtype=np.uint32), np.empty((2, experts))
    return Answers(floats[0], of[0], floats[1], of[1], of[2], of[3], of[4], of[5], of[6], of[7])


@borrowing
def ask_experts(view, weights, row, dish, answers):
    """Find what every expert says in a context.

    weights (float64[tiers, BUCKETS]): By tier and bucket, see `pool.Weights`.
    row (int32[elements]): The context row.
    dish (int): The dish whose probability is asked for; `NONE` where experts are multiplied.
    answers (Answers): Overwritten.
    """
    _go_down(view, row, dish, answers)
    depth = view.columns.shape[1]
    for expert in range(len(view.columns)):
        place = np.int64(answers.place[expert])
        tier = np.int64(expert) * (depth + 1) + np.int64(answers.level[expert])
        bucket = np.int64(bucket_of_restaurant(view, place))
        answers.weight_at[expert] = tier * BUCKETS + bucket
        answers.weight[expert] = weights[tier, bucket]
        if dish != NONE:
            answers.probability[expert] = abs(answers.probability[expert])
            continue
        begin = np.uint64(answers.row[expert]) * np.uint64(view.row.shape[1])
        for at in range(begin, begin + np.uint64(view.row.shape[1]), _LINE):
            fetch(view.row, at)
        if answers.list[expert] < _ONLY:
            fetch(view.servings, answers.list[expert])
            answers.probability[expert] = view.restaurants[place + VALUE]
        else:
            answers.probability[expert] = view.value[place + VALUE]


@borrowing
def _go_down(view, row, dish, answers):
    """Let all experts find the deepest restaurant of their context, and the probability of the dish there."""
    table, columns = view.restaurants, view.columns
    place, active, trial, reached = answers.place, answers.active, answers.trial, answers.reached
    left = np.uint64(len(columns))
    for expert in range(left):
        active[expert], reached[expert], answers.level[expert] = expert, expert, 0
        place[expert] = expert * _WIDTH
        answers.list[expert], answers.row[expert] = (
            table[place[expert] + _LIST],
            table[place[expert] + _VALUE],
        )
        answers.probability[expert] = 1.0 / view.alphabet[0]
    served = left if dish != NONE else _NOTHING
    for level in range(columns.shape[1]):
        tried = _NOTHING
        for a in range(left):
            expert = active[a]
            restaurant = np.uint64(place[expert])
            room = room_of(np.uint64(table[restaurant]))
            # Where there is a child, the expert reads a symbol.
            if room != _NOTHING:
                symbol = np.uint64(np.uint32(row[columns[expert, level]]))
                at = first_try(symbol, room) * _WIDTH + np.uint64(table[restaurant + _FIRST])
                active[tried], trial[tried] = expert, at
                tried += _ONE
                fetch(table, at)
        _look_up(view, dish, served, answers)
        left = served = _NOTHING
        for a in range(tried):
            expert, at = active[a], np.uint64(trial[a])
            wanted = np.uint32(row[columns[expert, level]])
            if table[at] >> _SHIFT != wanted:
                if table[at] == _EMPTY:
                    continue
                other = below(view, np.int64(place[expert]), wanted)
                if other == NONE:
                    continue
                at = np.uint64(other)
            place[expert], answers.level[expert] = at, level + 1
            active[left] = expert
            left += _ONE
            if dish != NONE:
                reached[served] = expert
                served += _ONE
            listed = answers.list[expert] = table[at + _LIST]
            if dish == NONE and listed == _EMPTY:
                answers.row[expert] = table[at + _VALUE]
            elif dish != NONE and listed < _ONLY and answers.probability[expert] >= 0.0:
                fetch(view.servings, np.uint64(listed))
        if left == _NOTHING:
            break
    _look_up(view, dish, served, answers)


@borrowing
def _look_up(view, dish, count, answers):
    """Find the probability of the dish where the first experts of `reached` have come to."""
    probability = answers.probability
    for a in range(count):
        expert = answers.reached[a]
        place, listed = np.int64(answers.place[expert]), np.int64(answers.list[expert])
        probability[expert] = share_or_less(view, place, listed, dish, probability[expert])
