"""Files that are replaced as a whole."""

import errno
import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where no file can be removed that somebody has open.
    fcntl = None

#: No room on the disk, or for the user, or for one file: such errors do not say what was written.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path, mode: str = "wb", **settings: Any) -> Iterator[Any]:
    """A file to write that takes the place of the one at a path when it is complete, and is dropped
    after an error.

    Until then it stands in the same directory, under a name that nobody can guess. What a process
    that was killed has left there of the path is removed by the next one that writes to it.

    path (Path): Where the old or the new content stands at every moment.
    mode (str), settings: As of `open`.
    RAISES (OSError): If the file cannot be written; it names the path, and the old file is still
    there then.
    """
    # A part of the name tells whose it is, whatever the length of the path's own.
    prefix = f".{hashlib.sha256(os.fsencode(path.name)).hexdigest()[:12]}."
    remove_left(path.parent, prefix)
    try:
        temporary, file = _create(path.parent, prefix, mode.replace("w", "x"), settings)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:
                # While it is locked.
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in _FULL and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    _synchronise(path.parent)


def _create(folder: Path, prefix: str, mode: str, settings: dict[str, Any]) -> tuple[Path, IO]:
    """A new file with a name of its own, which is locked as long as it is open."""
    while True:
        path = folder / f"{prefix}{secrets.token_hex(8)}.tmp"
        # Exclusive creation follows no link and, unlike `tempfile`, gives the usual permissions.
        file = path.open(mode, **settings)
        with suppress(OSError):
            if fcntl is not None:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX)
        # Before it was locked, somebody could take it for one that was left.
        if path.exists():
            return path, file
        file.close()


def remove_left(folder: Path, prefix: str = ".") -> None:
    """Remove what processes that were killed have left in a directory while they were `replacing`
    files.

    prefix (str): Of which path, see there; without one, of all.
    """
    for path in folder.glob(f"{prefix}*.tmp"):
        # Links, and what others have locked or do not let be removed, stay.
        with suppress(OSError):
            if fcntl is None:
                path.unlink()
                continue
            descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that at every moment either the old or the new content stands under its
    name.
    """
    with replacing(path) as file:
        file.write(data)


def prepare_folder(folder: Path) -> None:
    """Make a directory that is to be written to after a long time, where it is not there yet, and
    try whether that is possible.

    RAISES (OSError): If it is not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder)) from error


def _synchronise(folder: Path) -> None:
    """Write the names in a directory to the disk, where the platform can.

    Where it cannot, the old content may stand under its name again after a power failure: that is
    complete, too.
    """
    if os.name == "nt":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
