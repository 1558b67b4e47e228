"""What follows from model files and takes time to make, kept for the next process: a directory of the user's, with an upper size.

`SPACY_HPYP_CACHE` names the directory, otherwise it is where the platform's conventions have such files; `SPACY_HPYP_CACHE_GB` is its upper
size. Whatever is there may be removed at any time: a process that has mapped a file goes on with it.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ..compat.numba import user_cache_dir
from .files import locked, remove_left

_USUAL_GB = 8.0
_SUFFIX = ".bin"


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
    """The file of the cache for a key, to be written if it is not there by now: only one process writes at a time.

    What has not been asked for for the longest time is removed then, until the files have the size that they may have.

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


def empty_cache() -> int:
    """Remove all files of the cache. Returns how many bytes there were."""
    return sum(map(_remove, kept_files()))


def _remove(kept: CacheFile) -> int:
    # Where the platform does not remove what somebody has mapped, it stays.
    with suppress(OSError):
        kept.path.unlink()
        return kept.size
    return 0
