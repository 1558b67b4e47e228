"""`--ray`: a Ray cluster does the work of a command, file by file."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import spacy
from spacy.util import get_package_path, is_package
from wasabi import msg

from ..about import __version__
from ..distributed.run import Task, Write, connected, find_shards, run_shards
from .app import Bar

# The largest number of problems to show.
_SHOWN = 10


def distribute(
    load: Callable[..., Write],
    model: str,
    settings: dict[str, Any],
    texts: Iterable[Path],
    output: Path | None,
    *,
    reads: Sequence[str],
    ending: str,
    address: str,
    workers: int | None,
) -> None:
    """Have workers write the output of each text, and show how far they are.

    load (Callable): A function of a module; it gets the pipeline's name or path and the settings.
    reads (Sequence[str]), ending (str): The endings of input files in folders, and of output.
    RAISES (ValueError | ImportError | ConnectionError): If a text, the folder, the pipeline, Ray or
        its cluster is missing, the folder has another run, or a shard fails.
    """
    if output is None:
        raise ValueError("--ray writes to a folder: name it with --output.")
    path = Path(model).absolute()
    if not path.exists() and not is_package(model):
        raise ValueError(f"'{model}' is neither a path nor an installed package.")
    # Nodes may have a package at different paths.
    load = partial(load, str(path) if path.exists() else model, **settings)
    shards = find_shards(texts, reads)
    task = Task(load, output.absolute(), ending)
    run = {
        "command": load.func.__module__,
        **settings,
        "model": checksum(path if path.exists() else get_package_path(model)),
        "inputs": sha256(repr(shards).encode()).hexdigest(),
        "version": __version__,
        "spacy": spacy.__version__,
    }
    task.begin(run)
    done = task.done()
    left = [shard for shard in shards if shard.number not in done]
    with connected(address) as ray:
        ended = run_shards(ray, task, left, workers) if left else ()
        bar = Bar(ended, total=len(shards), initial=len(shards) - len(left), unit=" shards")
        problems = dict.fromkeys(filter(None, bar))
    if missing := {shard.number for shard in shards} - task.done():
        reasons = "\n".join([*problems][:_SHOWN]) or "their workers died"
        raise ValueError(
            f"{len(missing)} of {len(shards)} shards are missing; repeat the command to retry "
            f"them.\n{reasons}"
        )
    msg.good(f"Saved {len(left):,} shards to {output}")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files but .pyc."""
    if path.is_file():
        return sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc")
    parts = [f"{file.relative_to(path).as_posix()} {checksum(file)}" for file in files]
    return sha256("\n".join(parts).encode()).hexdigest()
