"""What follows from model files and takes time to make, kept for the next process: a directory of the user's,
with an upper size.

`SPACY_HPYP_CACHE` names the directory, otherwise it is where the platform's conventions have such files;
`SPACY_HPYP_CACHE_GB` is its upper size. Whatever is there may be removed at any time: a process that has
mapped a file goes on with it.

A file is checked as a whole before it is used, and a note beside it says that of this very file, so that it
is not read as a whole again. A note holds only for the version that has written it, and where nobody but this
user can have written the note or the file: who else could write there would have compiled code read beyond
the end of arrays. A note is for one inode, size and time of the last change; it is not written for a file
that was changed a moment ago, as two changes could have the same time. A file is complete when it gets its
name, and a note that is not complete is none. What nobody sees any more is a disk that garbles a file later,
or the user setting back the time of one that he has edited: `hpyp cache --empty` has all made again.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IWGRP, S_IWOTH
from typing import NamedTuple

from ..about import __version__
from ..compat.numba import user_cache_dir
from .files import MappedFile, locked, remove_left, replace_file

_USUAL_GB = 8.0
_SUFFIX, _NOTE = ".bin", ".checked"
# Nanoseconds after which a change is seen to have another time, on any file system.
_TICK = 2 * 10**9


class CacheFile(NamedTuple):
    """A file of the cache, with its size in bytes and when it was last asked for, in seconds since the epoch."""

    path: Path
    size: int
    used: float


def cache_folder() -> Path:
    """The directory of the cache, which need not be there yet."""
    return Path(os.environ.get("SPACY_HPYP_CACHE") or user_cache_dir("spacy-hpyp"))


def cache_limit() -> int:
    """How many bytes all files may have together.

    RAISES (OSError): If the environment variable is no size: no file is to blame for that.
    """
    given = os.environ.get("SPACY_HPYP_CACHE_GB") or _USUAL_GB
    try:
        limit = float(given)
        if not 0 <= limit < 1e9:
            raise ValueError
    except ValueError:
        raise OSError(f"SPACY_HPYP_CACHE_GB must be a number of gigabytes, but it is {given!r}") from None
    return int(limit * 1e9)


def kept_files() -> list[CacheFile]:
    """The files of the cache, those first that were not asked for for the longest time."""
    found = []
    for path in cache_folder().glob(f"*{_SUFFIX}"):
        # Others may remove it now.
        with suppress(OSError):
            state = path.stat()
            found.append(CacheFile(path, state.st_size, state.st_atime))
    return sorted(found, key=lambda kept: kept.used)


def cached_file(key: str) -> Path:
    """The file of the cache for a key, to be read if it is there. It has been asked for now."""
    path = cache_folder() / f"{key}{_SUFFIX}"
    with suppress(OSError):
        # When it was written says whether a mapped file has changed, and stays.
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))
    return path


@contextmanager
def in_cache(key: str) -> Iterator[Path]:
    """The file of the cache for a key, to be written if it is not there by now: only one process writes at a
    time.

    What has not been asked for for the longest time is removed then, until the files have the size that they
    may have.

    RAISES (OSError): If nothing can be written there, or the environment does not say how large it may be.
    """
    folder, limit = cache_folder(), cache_limit()
    folder.mkdir(parents=True, exist_ok=True)
    # Where files cannot be locked, some may be made twice.
    with locked(folder / "lock"):
        remove_left(folder)
        path = cached_file(key)
        yield path
        files = kept_files()
        total = sum(kept.size for kept in files)
        for kept in files:
            if total > limit and kept.path != path:
                total -= _remove(kept)


def was_checked(mapped: MappedFile) -> bool:
    """Whether a file is one of the cache that has been checked before, as it was when it was opened."""
    note = mapped.path.with_suffix(_NOTE)
    try:
        states = [mapped.state, note.stat(), note.parent.stat()]
        return _is_own(mapped.path) and all(map(_is_safe, states)) and note.read_bytes() == _note_of(mapped)
    except OSError:
        return False


def note_checked(mapped: MappedFile) -> None:
    """Note that a file has been checked, if it is one of the cache and may be trusted from now on."""
    # Where it cannot be noted it is checked again.
    with suppress(OSError):
        if (
            _is_own(mapped.path)
            and _is_safe(mapped.state)
            and time.time_ns() - mapped.state.st_mtime_ns > _TICK
        ):
            replace_file(mapped.path.with_suffix(_NOTE), _note_of(mapped))


def _is_own(path: Path) -> bool:
    return path.parent == cache_folder().absolute()


def _is_safe(state: os.stat_result) -> bool:
    """Whether nobody but this user can have written something, where the platform tells."""
    return hasattr(os, "geteuid") and state.st_uid == os.geteuid() and not state.st_mode & (S_IWGRP | S_IWOTH)


def _note_of(mapped: MappedFile) -> bytes:
    state = mapped.state
    return repr((__version__, state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns)).encode()


def empty_cache() -> int:
    """Remove all files of the cache. Returns how many bytes there were."""
    return sum(map(_remove, kept_files()))


def _remove(kept: CacheFile) -> int:
    # Where the platform does not remove what somebody has mapped, it stays.
    with suppress(OSError):
        kept.path.unlink()
        kept.path.with_suffix(_NOTE).unlink(missing_ok=True)
        return kept.size
    return 0
