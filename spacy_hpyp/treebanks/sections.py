"""The sections of the Wall Street Journal part of the Penn Treebank, and the parts that they are divided into
by custom.
"""

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
# A folder of a section, as 02 or wsj02.
_FOLDER = re.compile(r"(?:wsj|section|sec|s)?[-_. ]?([0-9]{2})")
# What files with brackets are called; the first of these that a directory has.
_SUFFIXES = (".mrg", ".ptb", ".parse", ".tree", ".trees")
# The brackets of the treebank without tags.
_UNTAGGED = ".prd"


def section_of(path: Path) -> int | None:
    """The section that a file belongs to by its name, or that of its folder: 2 of wsj_0203.mrg, wsj-02.txt
    and 02/203.mrg. None if that cannot be told, or the two say different things, as 00/01.mrg.
    """
    said = set(_FILE.findall(path.name.lower()))
    if not said:
        said = _section_said(path)
        if folder := _FOLDER.fullmatch(path.parent.name.lower()):
            said.add(folder[1])
    if len(said) != 1:
        return None
    (number,) = said
    return int(number) if int(number) <= _LAST else None


def _section_said(path: Path) -> set[str]:
    """The section that the name of a file says that it has all of, if it does."""
    numbers = _SECTION.findall(path.name.lower())
    return set(numbers) if len(numbers) == 1 and len(numbers[0]) == 2 else set()


def check_once(files: Iterable[Path]) -> None:
    """See that nothing of the files of a section would be read twice.

    RAISES (ValueError): If two have the same name, or one has all of the section and others are parts of it.
    """
    seen: dict[str, Path] = {}
    for file in files:
        other = seen.setdefault(file.stem.lower(), file)
        if other is not file:
            raise ValueError(f"'{other}' and '{file}' have the same name and section: name one of them.")
    parts = [file for file in seen.values() if _FILE.search(file.name.lower())]
    wholes = [file for file in seen.values() if file not in parts and _section_said(file)]
    if parts and wholes:
        raise ValueError(
            f"'{wholes[0]}' has all of a section by its name, and '{parts[0]}' a part of it: name one of "
            f"them."
        )


def bracketed_files(path: Path) -> list[Path]:
    """The files with brackets of a directory, in the order of their names, but for hidden ones; a file by
    itself.

    RAISES (ValueError): If there are none.
    """
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith("."))
    for suffix in _SUFFIXES:
        if found := [file for file in files if file.suffix.lower() == suffix]:
            return found
    untagged = any(file.suffix.lower() == _UNTAGGED for file in files)
    raise ValueError(
        f"The directory '{path}' has no files with brackets: none ends with {', '.join(_SUFFIXES)}."
        + f" Those that end with {_UNTAGGED} have no tags." * untagged
    )


def listed(sections: Iterable[int]) -> str:
    """Sections for people: 00, 01."""
    return ", ".join(f"{section:02}" for section in sections)
