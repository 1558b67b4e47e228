"""The sections of the Wall Street Journal part of the Penn Treebank, and the parts that they are divided into by custom."""

import re
from collections.abc import Iterable
from pathlib import Path

#: The standard division for parsing.
PARSING = {"wsj-train": range(2, 22), "wsj-dev": range(22, 23), "wsj-test": range(23, 24)}
#: That for language modelling (Buys and Blunsom 2015, section 5.4). The vocabulary is that of the first part.
LANGUAGE_MODELLING = {"wsj-lm-train": range(21), "wsj-lm-dev": range(21, 23), "wsj-lm-test": range(23, 25)}

_LAST = 24
# As wsj_0203: the section, and the number of the file.
_FILE = re.compile(r"wsj[-_]?(\d\d)\d\d(?!\d)")
# As 02, wsj02 or section-02; with another number beside it that may be a range, or a date.
_SECTION = re.compile(r"(?<![a-z0-9])(?:wsj|section|sec|s)?(\d+)(?![a-z0-9])")
# What files with brackets are called; the first of these that a directory has.
_SUFFIXES = (".mrg", ".prd", ".ptb", ".parse", ".tree", ".trees")


def section_of(path: Path) -> int | None:
    """The section that a file belongs to by its name, or that of its folder: 2 of wsj_0203.mrg, wsj-02.txt and 02/203.mrg.

    path (Path): The file.
    RETURNS (int | None): None if that cannot be told.
    """
    name = path.name.lower()
    numbers = _FILE.findall(name) or _SECTION.findall(name)
    if len(numbers) != 1 or len(numbers[0]) != 2:
        numbers = [path.parent.name]
    number = numbers[0]
    return int(number) if re.fullmatch(r"[0-9]{2}", number) and int(number) <= _LAST else None


def bracketed_files(path: Path) -> list[Path]:
    """The files with brackets of a directory, in the order of their names; a file by itself.

    path (Path): The directory, or the file.
    RAISES (ValueError): If there are none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file())
    for suffix in _SUFFIXES:
        if found := [file for file in files if file.suffix.lower() == suffix]:
            return found
    raise ValueError(f"The directory '{path}' has no files with brackets: none ends with {', '.join(_SUFFIXES)}.")


def listed(sections: Iterable[int]) -> str:
    """Sections for people: 00, 01."""
    return ", ".join(f"{section:02}" for section in sections)
