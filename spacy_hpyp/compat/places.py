"""Numba: its copy of appdirs."""

from pathlib import Path

from numba.misc.appdirs import user_cache_dir


def user_cache(application: str) -> Path:
    """Where the platform's conventions have what an application can make again."""
    return Path(user_cache_dir(application))
