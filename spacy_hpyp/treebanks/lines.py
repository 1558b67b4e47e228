"""Lines of a file, with an error that says where it is not text."""

from collections.abc import Iterator
from pathlib import Path


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8, perhaps with a byte order mark, without their ends.

    Only a line feed ends a line, perhaps with a carriage return before it: other characters that Unicode calls line ends may be
    parts of words.

    path (Path): The file.
    RETURNS (Iterator[tuple[int, str]]): Numbers, from 1, and lines.
    RAISES (ValueError): If it is not UTF-8, with the line.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"'{path}', line {line}: this is not text in UTF-8 ({error.reason}).") from error
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line.removesuffix("\r")
