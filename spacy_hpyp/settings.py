"""Settings: each is written down once, with its type, its default, what it may be and what it means.

A group of settings is a frozen dataclass derived from `Settings`, each of whose fields is made by `setting`.
They are checked when the object is made, so that there is none with impossible values. `attributes` makes
them attributes of a component, and `taking` arguments of a function.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

#: More particles than this would fill the memory and find nothing more.
HIGHEST_PARTICLES = 10_000_000
# What has no limit of its own has that of the integers of the core.
_HIGHEST = 2**63 - 1

Decorated = TypeVar("Decorated")


@dataclass(frozen=True)
class Whole:
    """Whole numbers, NumPy's too, in a range; the ends belong to it."""

    least: int = 1
    highest: float = _HIGHEST

    def __str__(self) -> str:
        limit = "" if self.highest >= _HIGHEST else f" and at most {self.highest:,}"
        return f"a whole number of at least {self.least:,}{limit}"

    def __contains__(self, value: object) -> bool:
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        return is_whole and self.least <= int(value) <= self.highest


#: NumPy takes seeds of any size.
SEED = Whole(0, inf)


@dataclass(frozen=True)
class Number:
    """Finite numbers in a range; the ends belong to it."""

    least: float
    highest: float = inf

    def __str__(self) -> str:
        if self.highest == inf:
            return f"a finite number of at least {self.least:g}"
        return f"a number from {self.least:g} to {self.highest:g}"

    def __contains__(self, value: object) -> bool:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and self.least <= float(value) <= self.highest and float(value) < inf


@dataclass(frozen=True)
class OneOf:
    """Some strings."""

    known: tuple[str, ...]

    def __str__(self) -> str:
        *others, last = (f'"{name}"' for name in self.known)
        return f"{', '.join(others)} or {last}"

    def __contains__(self, value: object) -> bool:
        return isinstance(value, str) and value in self.known


@dataclass(frozen=True)
class Kind:
    """Whatever is of some types; "" is the name of none."""

    types: tuple[type, ...]
    called: str

    def __str__(self) -> str:
        return self.called

    def __contains__(self, value: object) -> bool:
        return isinstance(value, self.types)


TRUTH, NAME = Kind((bool, np.bool_), "true or false"), Kind((str,), "a name")
#: Lists, and sections of a config with names of their own.
LIST, SECTION = Kind((list,), "a list"), Kind((dict,), "a section")
Possible = Whole | Number | OneOf | Kind


def check(name: str, value: Any, possible: Possible) -> None:
    """Raise a ValueError if a setting is not what it may be."""
    if value not in possible:
        raise ValueError(f"'{name}' must be {possible}, not {value!r}.")


def whole(name: str, value: int, *, least: int = 1, highest: float = _HIGHEST) -> int:
    """The value of a setting that has to be a whole number in a range.

    RAISES (ValueError): If it is not.
    """
    check(name, value, Whole(least, highest))
    return int(value)


def setting(default: Any, possible: Possible, meaning: str) -> Any:
    """Declare a setting, as a field of a dataclass derived from `Settings`.

    default: What it is that is not told otherwise; `MISSING` where it has to be told.
    possible (Possible): What it may be.
    meaning (str): What it means, in a few words of Markdown; docs/settings.md has the same.
    """
    metadata = {"possible": possible, "meaning": meaning}
    if possible in (LIST, SECTION) and default is not MISSING:
        return field(default_factory=possible.types[0], metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """Settings that belong together.

    RAISES (ValueError): If one of them is not what it may be.
    """

    def __post_init__(self) -> None:
        for declared in fields(self):
            value, default = getattr(self, declared.name), declared.default
            if value is not None or default is not None:
                check(declared.name, value, declared.metadata["possible"])
            if isinstance(default, bool | int | float | str):
                # Numbers of NumPy, and whole ones where others may be, are made what compiled code and files
                # have.
                object.__setattr__(self, declared.name, type(default)(value))


def attributes(group: type[Settings]) -> Callable[[type[Decorated]], type[Decorated]]:
    """Make settings attributes of a class whose objects have `settings` and can `change` them."""

    def attribute(name: str, declared: Any) -> property:
        def change(component: Any, value: Any) -> None:
            component.change(**{name: value})

        meaning = f"{declared['meaning']}: {declared['possible']}."
        return property(lambda component: getattr(component.settings, name), change, doc=meaning)

    def decorate(component: type[Decorated]) -> type[Decorated]:
        for declared in fields(group):
            setattr(component, declared.name, attribute(declared.name, declared.metadata))
        return component

    return decorate


def taking(group: type[Settings]) -> Callable[[Callable], Callable]:
    """Say by the signature of a function that takes `**settings` which ones these are: spaCy reads there what
    a config may have.
    """

    def decorate(function: Callable) -> Callable:
        signature = inspect.signature(function)
        own = [
            each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        # Without a type: some versions of spaCy would make a 1 of 1.5 where a whole number has to be, and
        # nobody would see it.
        settings = [
            inspect.Parameter(declared.name, inspect.Parameter.KEYWORD_ONLY, default=declared.default)
            for declared in fields(group)
        ]
        function.__signature__ = signature.replace(parameters=[*own, *settings])  # type: ignore[attr-defined]
        return function

    return decorate
