"""What commands write: to stdout, or to a file in the format that its name says."""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import typer

from ..storage.files import replacing
from .app import note


def check_ending(path: Path, *endings: str) -> None:
    """See that the name of a file to write says none but some formats.

    RAISES (ValueError): If it says another one.
    """
    if path.suffix.lower() not in ("", *endings):
        raise ValueError(f"The name of the file to write should end with {' or '.join(endings)}, but it is '{path}'.")


@contextmanager
def writing(path: Path | None) -> Iterator[TextIO]:
    """Write text to a file, which takes its place when it is complete, or to stdout.

    Of what is interrupted, the lines that are there are kept in a file beside it, whose name has "partial" in it.

    path (Path | None): The file; None for stdout.
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


def is_shown(path: Path | None) -> bool:
    """Whether what is written comes to the screen, where a progress bar would be in its way."""
    return path is None and sys.stdout.isatty()


def json_line(value: Any) -> str:
    """A value as a line of JSON, with the letters of every language as they are."""
    return json.dumps(value, ensure_ascii=False) + "\n"
