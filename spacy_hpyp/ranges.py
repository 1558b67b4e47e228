"""Ranges of settings."""

import numpy as np

#: More particles than this would fill the memory and find nothing more.
HIGHEST_PARTICLES = 10_000_000


def whole(setting: str, value: int, *, least: int = 1, highest: int | None = None) -> int:
    """A setting that has to be a whole number in a range.

    setting (str): Its name.
    value (int): What it is set to; NumPy's whole numbers are whole numbers, too.
    least, highest (int | None): The range.
    RETURNS (int): The value.
    RAISES (ValueError): If it is not in the range.
    """
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least or (highest is not None and value > highest):
        limit = "" if highest is None else f" and at most {highest}"
        raise ValueError(f"'{setting}' must be a whole number of at least {least}{limit}, not {value!r}.")
    return int(value)
