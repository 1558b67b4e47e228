"""Settings: each is declared once, with its type, its default and its possible values.

A group of settings is a frozen dataclass derived from `Settings`, each of whose fields is made by
`setting`. They are checked when the object is made. `taking` makes them arguments of a function.
docs/settings.md says what they mean.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from inspect import Parameter, signature
from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np

#: More particles would fill the memory without finding more.
HIGHEST_PARTICLES = 10_000_000
# The largest integer of compiled code.
_HIGHEST = 2**63 - 1


@dataclass(frozen=True)
class Possible:
    """The possible values of a setting: a description, and a test."""

    description: str
    test: Callable[[Any], bool]

    def __str__(self) -> str:
        return self.description

    def __contains__(self, value: object) -> bool:
        return self.test(value)


def _between(description: str, kind: type, least: float, highest: float) -> Possible:
    def test(value: Any) -> bool:
        is_number = isinstance(value, kind) and not isinstance(value, bool)
        return is_number and least <= value <= highest and value < inf

    return Possible(description, test)


def Whole(least: int = 1, highest: float = _HIGHEST) -> Possible:
    """Whole numbers, NumPy's too, in a range; the ends belong to it."""
    limit = "" if highest >= _HIGHEST else f" and at most {highest:,}"
    return _between(f"a whole number of at least {least:,}{limit}", Integral, least, highest)


def Number(least: float, highest: float = inf) -> Possible:
    """Finite numbers in a range; the ends belong to it."""
    description = f"a number from {least:g} to {highest:g}"
    if highest == inf:
        description = f"a finite number of at least {least:g}"
    return _between(description, Real, least, highest)


def OneOf(known: tuple[str | None, ...]) -> Possible:
    """Some strings; None is null in a config."""
    *others, last = ("null" if name is None else f'"{name}"' for name in known)
    return Possible(f"{', '.join(others)} or {last}", lambda value: value in known)


#: NumPy's seeds may have any size. An empty name means none.
SEED = Whole(0, inf)
TRUTH = Possible("true or false", lambda value: isinstance(value, bool | np.bool_))
NAME = Possible("a name", lambda value: isinstance(value, str))


def check(name: str, value: Any, possible: Possible) -> None:
    """Raise a ValueError if a setting is not one of its possible values."""
    if value not in possible:
        raise ValueError(f"'{name}' must be {possible}, not {value!r}.")


def whole(name: str, value: int, *, least: int = 1, highest: float = _HIGHEST) -> int:
    """Return the value of a setting that has to be a whole number in a range.

    RAISES (ValueError): If it is not.
    """
    check(name, value, Whole(least, highest))
    return int(value)


def setting(default: Any, possible: Possible) -> Any:
    """Declare a setting, as a field of a dataclass derived from `Settings`."""
    return field(default=default, metadata={"possible": possible})


@dataclass(frozen=True)
class Settings:
    """Settings that belong together.

    RAISES (ValueError): If one of them is not one of its possible values.
    """

    def __post_init__(self) -> None:
        for declared in fields(self):
            value, default = getattr(self, declared.name), declared.default
            check(declared.name, value, declared.metadata["possible"])
            # Compiled code and files take neither NumPy's numbers nor integers for other types.
            if default is not None:
                object.__setattr__(self, declared.name, type(default)(value))


def taking(group: type[Settings]) -> Callable[[Callable], Callable]:
    """Add settings to the signature of a function with `**settings`, which spaCy reads."""

    def decorate(function: Any) -> Any:
        *named, _ = signature(function).parameters.values()
        # Without a type: some versions of spaCy would silently make a 1 of 1.5 where an integer is
        # required.
        settings = [
            Parameter(declared.name, Parameter.KEYWORD_ONLY, default=declared.default)
            for declared in fields(group)
        ]
        function.__signature__ = signature(function).replace(parameters=[*named, *settings])
        return function

    return decorate
