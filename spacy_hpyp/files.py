"""Files that are replaced as a whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path, mode: str = "wb", **settings: Any) -> Iterator[Any]:
    """A file to write that takes the place of the one at a path when it is complete, and is dropped after an error.

    path (Path): Where the old or the new content stands at every moment.
    mode (str), settings: As of `open`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open(mode, **settings) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at every moment either the old or the new content stands under its name."""
    with replacing(path) as file:
        file.write(data)
