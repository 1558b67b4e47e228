"""Files that are replaced as a whole."""

import os
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at every moment either the old or the new content stands under its name."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
