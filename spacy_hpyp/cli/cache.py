"""`hpyp cache`: what pipelines keep for the next process that loads them."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from wasabi import msg

from ..storage.cache import cache_folder, cache_limit, empty_cache, kept_files
from .options import option

MB, GB = 1e6, 1e9


def cache(
    empty: Annotated[bool, option("Remove it all", "--empty")] = False,
) -> None:
    """Show what loaded pipelines keep for the next process, or remove it.

    What hpyp_parser predicts by is many times as large as its model, which it is made of when a pipeline is loaded for the first time. It
    is kept in the directory that SPACY_HPYP_CACHE names, or where the platform has such files; SPACY_HPYP_CACHE_GB is how many
    gigabytes it may take, and what has not been used for the longest time is removed.
    """
    if empty:
        msg.good(f"Removed {empty_cache() / GB:.3f} GB from {cache_folder()}")
        return
    files = kept_files()
    if files:
        rows = [
            (datetime.fromtimestamp(each.used).strftime("%Y-%m-%d %H:%M"), f"{each.size / GB:.3f}", each.path.stem)
            for each in files
        ]
        msg.table(rows, header=("last used", "GB", "model"), divider=True, aligns=("l", "r", "l"))
    msg.info(kept_views())


def kept_views() -> str:
    """How much is kept, how much may be, and where."""
    total = sum(each.size for each in kept_files())
    return f"{total / GB:.3f} of {cache_limit() / GB:.1f} GB in {cache_folder()}"


def size_of(paths: Iterable[Path]) -> int:
    """How many bytes there are in some files; folders among them count nothing."""
    return sum(path.stat().st_size for path in paths if path.is_file())
