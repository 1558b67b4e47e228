"""How the numerical core is compiled: one decorator that says it once."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba import njit

# Numba recompiles a function when its own file changes, but not when a function that it calls does, in another file: after
# an update it would go on with the old one. So the stamp of every function is the content of all files that have some.
_FILES = [file.read_bytes() for file in sorted(Path(__file__).parent.rglob("*.py"))]
_STAMP = sha256(b"".join(file for file in _FILES if b"@compiled" in file)).hexdigest()


def compiled(function: Callable) -> Any:
    """Compile a function with Numba: cached on disk, without the GIL, with the error model of NumPy."""
    dispatcher = njit(cache=True, nogil=True, error_model="numpy")(function)
    cache_file = getattr(dispatcher._cache, "_cache_file", None)
    if cache_file is not None:
        cache_file._source_stamp = _STAMP
    return dispatcher
