"""Text, JSON and tables that commands write, to stdout or to a file."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import srsly
import typer
from wasabi import msg

from ..storage import replace_file, replacing

#: The names of spaCy's scores, by their names in tables.
SCORES = {"UAS": "dep_uas", "LAS": "dep_las", "TAG": "tag_acc"}


@contextmanager
def writing(path: Path | None, what: str) -> Iterator[TextIO]:
    """Write text to stdout, or to a file that appears when it is complete."""
    if path is None:
        yield typer.get_text_stream("stdout", encoding="utf8")
        return
    with replacing(path, "w", encoding="utf8", newline="") as file:
        yield file
    msg.good(f"Saved {what} to {path}")


def is_shown(path: Path | None) -> bool | None:
    """Return whether output on the screen would be disturbed by a progress bar; else None, as tqdm
    takes it.
    """
    return (path is None and sys.stdout.isatty()) or None


def json_line(value: Any) -> str:
    """Return a value as a line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def save_json(path: Path | None, value: Any, what: str) -> None:
    """Write a value to a file, if there is to be one."""
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
    """Print a table of figures whose first `left` columns are words; settings are those of
    wasabi.
    """
    aligns = ["l"] * left + ["r"] * (len(header) - left)
    msg.table(list(rows), header=header, divider=True, aligns=aligns, title=title, **settings)


def percent(value: float | None) -> str:
    """Return a proportion in percent."""
    return "-" if value is None else f"{100 * value:.2f}"
