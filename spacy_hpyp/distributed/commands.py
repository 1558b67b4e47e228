"""Commands that run beside one another: here, or somewhere on a Ray cluster, whose nodes share the folders
that they name.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# How often it is looked whether a command has ended, in seconds.
_PAUSE = 0.2


Process = subprocess.Popen
#: Begins a command: the line, a file for its log, and one for what it prints, if that is its output; `name`
#: is what it is called.
Launch = Callable[..., Process]


def here(
    line: Sequence[str], log: Path, output: Path | None = None, *, name: str, **where: Any
) -> subprocess.Popen:
    """Begin a command on this machine, see `Launch`; `where` are other settings of `subprocess.Popen`."""
    with log.open("wb") as errors, open(output or os.devnull, "wb") as file:
        streams = {"stdin": subprocess.DEVNULL, "stdout": file if output else errors, "stderr": errors}
        return subprocess.Popen(line, **streams, **where)


@contextmanager
def running() -> Iterator[dict[str, Process]]:
    """Processes by their names; those that are still there at the end are ended."""
    processes: dict[str, Process] = {}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.terminate()
        for process in processes.values():
            process.wait()


def ended(processes: dict[str, Process]) -> list[tuple[str, int]]:
    """Wait until some processes have ended, and take them out: their names, and what they have ended with."""
    while True:
        found = [(name, code) for name, process in processes.items() if (code := process.poll()) is not None]
        for name, _ in found:
            del processes[name]
        if found or not processes:
            return found
        time.sleep(_PAUSE)
