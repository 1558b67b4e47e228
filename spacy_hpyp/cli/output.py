"""What commands write: to stdout, or to a file in the format that its name says."""

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import srsly
import typer
from wasabi import msg

from ..settings import whole
from ..storage.files import replace_file, replacing
from .app import note

#: What spaCy calls the scores of trees and tags, by their names in tables.
SCORES = {"UAS": "dep_uas", "LAS": "dep_las", "TAG": "tag_acc"}


@contextmanager
def writing(path: Path | None, what: str) -> Iterator[TextIO]:
    """Write text to a file, which takes its place when it is complete and is said to have what it has, or to
    stdout.

    Of what is interrupted, the lines that are there are kept in a file beside it, whose name has "partial" in
    it.
    """
    if path is None:
        yield typer.get_text_stream("stdout", encoding="utf8")
        return
    with replacing(path, "w", encoding="utf8", newline="") as file:
        try:
            yield file
        except KeyboardInterrupt:
            file.flush()
            partial = path.with_suffix(f".partial{path.suffix}")
            shutil.copyfile(file.name, partial)
            note(f"Interrupted: what is done is kept in '{partial}'")
            raise
    msg.good(f"Saved {what} to {path}")


def is_shown(path: Path | None) -> bool:
    """Whether what is written comes to the screen, where a progress bar would be in its way."""
    return path is None and sys.stdout.isatty()


def json_line(value: Any) -> str:
    """A value as a line of JSON, with the letters of every language as they are."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def save_json(path: Path | None, value: Any, what: str) -> None:
    """Write a value to a file, if there is to be one, and say what it is."""
    if path is not None:
        replace_file(path, srsly.json_dumps(value, indent=2).encode())
        msg.good(f"Saved {what} to {path}")


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    left: int = 1,
    **settings: Any,
) -> None:
    """Print a table whose first columns, so many from the left, are words, and the others figures; settings
    are others of wasabi's tables.
    """
    aligns = ["l"] * left + ["r"] * (len(header) - left)
    msg.table(list(rows), header=header, divider=True, aligns=aligns, title=title, **settings)


def percent(value: float | None) -> str:
    """A proportion as it is shown."""
    return "-" if value is None else f"{100 * value:.2f}"


def read_numbers(name: str, text: str, highest: int) -> list[int]:
    """Whole numbers from 1 with commas between them, as a setting of a name has them.

    RAISES (ValueError): If they are none, or out of their range.
    """
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ValueError(f"'{name}' must be whole numbers with commas, as 1,10,100, not '{text}'.") from error
    return [whole(name, number, highest=highest) for number in numbers]
