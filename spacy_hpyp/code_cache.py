"""The directory of compiled code on disk."""

import atexit
import shutil
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import numba

_PACKAGE = Path(__file__).parent


@cache
def cache_directory() -> str | None:
    """Return the directory of compiled code; None, with a warning, if none is usable.

    Numba compiles a function again if its own file changes, but not if that of a function that it
    calls does. So the name has Numba's version and a hash of the folders with compiled code.
    """
    sources = {file: file.read_bytes() for file in sorted(_PACKAGE.rglob("*.py"))}
    folders = {file.parent for file, source in sources.items() if b"\n@jit" in source}
    stamp = sha256(b"".join(source for file, source in sources.items() if file.parent in folders))
    name = f"spacy_hpyp-numba-{numba.__version__}-{stamp.hexdigest()[:16]}"
    configured, usual = numba.config.CACHE_DIR, (_PACKAGE / "__pycache__", Path.home() / ".cache")
    places = [place / name for place in ([Path(configured)] if configured else usual)]
    for place in places:
        with suppress(OSError):
            place.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place).close()
            return str(place)
    # Numba does not read directories without write access, so this process works on a copy.
    if filled := [place for place in places if any(place.rglob("*.nbi"))]:
        with suppress(OSError):
            copied = tempfile.mkdtemp(prefix="spacy_hpyp-")
            atexit.register(shutil.rmtree, copied, ignore_errors=True)
            shutil.copytree(filled[0], copied, dirs_exist_ok=True)
            # Copies of read-only directories are read-only, too.
            for path in (Path(copied), *Path(copied).rglob("*")):
                path.chmod(0o700)
            return copied
    lack = "a copy needs a temporary directory" if filled else "has no code of this version"
    warnings.warn(
        f"Each process compiles for a minute: {places[0].parent} is read-only and {lack}. "
        "Set NUMBA_CACHE_DIR elsewhere, or run `spacy hpyp precompile` with write access.",
        stacklevel=2,
    )
    return None
