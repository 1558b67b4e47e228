"""Whether what is said to be a view is one: compiled code works on no other."""

import numpy as np

from ..compiled import borrowing, compiled
from .view import (
    DISH,
    DISH_SHIFT,
    EMPTY,
    FIRST,
    LARGE,
    LINK,
    LIST,
    PAIR,
    SHARE,
    SINGLE,
    SYMBOLS,
    VALUE,
    WIDTH,
    View,
    is_in_chain,
    room_of,
)


def is_sound(view: View, part: str, numbers: np.ndarray, begin: int, *, multiplied: bool) -> bool:
    """Whether compiled code can work on a piece of a view: no number leads outside of the arrays, and each is
    what it can be.

    part (str): Which array, "large", "chains", "restaurants", "servings" or "row".
    numbers (int64[*] | uint32[*] | int16[*]): The piece, flattened; of whole entries.
    begin (int): How many numbers come before it.
    multiplied (bool): See `make_view`.
    """
    roots, places = len(view.columns) * WIDTH, len(view.restaurants)
    if part == "large":
        return bool((np.diff(numbers) > 0).all()) and len(numbers) <= SYMBOLS - LARGE
    if part == "chains":
        return (
            len(numbers) == 1
            and numbers[0] % WIDTH == 0
            and roots <= numbers[0] <= places
            and places % LINK == 0
        )
    if part == "row":
        return True
    if part == "servings" and multiplied:
        return bool((numbers >> DISH_SHIFT < view.alphabet[0]).all())
    if part == "servings":
        return len(numbers) % PAIR == 0 and _are_sound_servings(
            numbers, numbers.view(np.float32), view.alphabet[0]
        )
    # Where chains begin says what the numbers of restaurants are.
    return is_sound(view, "chains", view.chains, 0, multiplied=multiplied) and _are_sound_restaurants(
        view, numbers, numbers.view(np.float32), begin, multiplied
    )


def restaurants_in(view: View, numbers: np.ndarray, begin: int) -> int:
    """How many restaurants, roots among them, there are in a piece of `View.restaurants`, see `is_sound`."""
    own = min(max(0, int(view.chains[0]) - begin), len(numbers))
    return np.count_nonzero(numbers[:own:WIDTH] != EMPTY) + (len(numbers) - own) // LINK


@compiled
def _are_sound_restaurants(view, numbers, value, begin, multiplied):
    at = 0
    while at < len(numbers):
        if begin + at >= view.chains[0]:
            key = numbers[at + LINK - 1]
            room, next_link = room_of(np.uint64(key)), begin + at + LINK
            if key == EMPTY or room > 1 or (room == 1 and next_link == len(view.restaurants)):
                return False
            if not _is_value(value[at], multiplied):
                return False
            at += LINK
            continue
        place, at = at, at + WIDTH
        key, first, listed = numbers[place], np.int64(numbers[place + FIRST]), np.int64(numbers[place + LIST])
        if key == EMPTY:
            if begin + place < len(view.columns) * WIDTH:
                return False
            continue
        room, only = np.int64(room_of(np.uint64(key))), SINGLE <= listed < EMPTY
        # All rows that are read come from a root, if from nowhere else.
        if multiplied and listed != EMPTY and begin + place < len(view.columns) * WIDTH:
            return False
        if is_in_chain(first):
            if room != 1 or not only or first < view.chains[0] or first >= len(view.restaurants):
                return False
        elif first % WIDTH > 0 or (room > 0 and first + room * WIDTH > view.chains[0]):
            return False
        if only:
            if EMPTY - 1 - listed >= view.alphabet[0]:
                return False
        elif listed < SINGLE:
            length = np.int64(numbers[place + VALUE])
            if not multiplied:
                if (
                    listed % PAIR > 0
                    or listed + PAIR > len(view.servings)
                    or view.servings[listed + DISH] != EMPTY
                ):
                    return False
                length = PAIR + PAIR * np.int64(view.servings[listed + SHARE])
            if length == (0 if multiplied else PAIR) or listed + length > len(view.servings):
                return False
        elif multiplied and numbers[place + VALUE] >= len(view.row):
            return False
        if (only or not multiplied) and not _is_value(value[place + VALUE], multiplied):
            return False
    return True


@borrowing
def _is_value(value, multiplied):
    return np.isfinite(value) if multiplied else -1.0 <= value <= 1.0


@compiled
def _are_sound_servings(numbers, value, alphabet):
    for place in range(0, len(numbers), PAIR):
        if numbers[place] == EMPTY:
            continue
        if numbers[place] >= alphabet or not 0.0 <= value[place + SHARE] <= 1.0:
            return False
    return True
