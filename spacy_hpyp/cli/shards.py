"""`--ray`: a Ray cluster does the work of a command, shard by shard."""

import os
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import blake2b
from pathlib import Path

import spacy
from spacy.util import get_package_path, is_package
from wasabi import msg

from ..about import __version__
from ..distributed.inputs import find_shards
from ..distributed.run import Folder, Task, connected, run_shards
from .app import Bar

# The most problems that are shown.
_SHOWN = 10


def place_of(model: str) -> str:
    """Return where workers find a pipeline: its package, or its absolute path."""
    return os.path.abspath(model) if Path(model).exists() else model


def distribute(
    command: str,
    task: Task,
    texts: Iterable[Path],
    output: Path | None,
    address: str,
    workers: int | None,
) -> None:
    """Have workers do a task to texts, and show how far they are.

    output (Path | None): A folder.
    address (str), workers (int | None): See the options of `hpyp parse`.
    RAISES (ValueError): If something is not there, or fails.
    """
    if output is None:
        raise ValueError("With --ray the output goes to a folder: name it with --output.")
    shards = find_shards(texts)
    inputs = blake2b(repr(shards).encode(), digest_size=16).hexdigest()
    run = {"command": command, **asdict(task), "model": _digest(task.model), "inputs": inputs}
    run |= {"version": __version__, "spacy": spacy.__version__}
    folder = Folder(output, task.ending)
    folder.begin(run)
    done = folder.done()
    left = [shard for shard in shards if shard.number not in done]
    counts, problems = {"words": 0, "documents": 0, "errors": 0}, []
    with connected(address) as ray, Bar(total=len(shards), unit=" shards") as bar:
        bar.update(len(done))
        for row in run_shards(ray, task, folder, run, left, workers) if left else ():
            counts = {name: counts[name] + row[name] for name in counts}
            problems += [row["problem"]] if row["problem"] else []
            bar.set_postfix(words=counts["words"], failed=counts["errors"], refresh=False)
            bar.update()
    told = f"{counts['words']:,} words in {counts['documents']:,} documents, {counts['errors']:,} of which failed"
    if missing := {shard.number for shard in shards} - folder.done():
        reasons = "\n".join(list(dict.fromkeys(problems))[:_SHOWN]) or "their workers died"
        raise ValueError(
            f"{len(missing)} of {len(shards)} shards are missing; the same command tries them "
            f"again.\n{reasons}"
        )
    msg.good(f"Saved {len(left):,} shards to {output}: {told}")


def _digest(model: str) -> str:
    """Return a digest of the files of a pipeline."""
    folder = (
        Path(model)
        if Path(model).exists()
        else get_package_path(model)
        if is_package(model)
        else None
    )
    if folder is None:
        raise ValueError(
            f"There is no pipeline '{model}': neither a directory nor an installed package."
        )
    found = blake2b(digest_size=16)
    for file in sorted(folder.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            found.update(f"{file.relative_to(folder)} {file.stat().st_size}\n".encode())
            found.update(file.read_bytes())
    return found.hexdigest()
