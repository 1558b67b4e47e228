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


class RemoteProcess:
    """A command on a node of a cluster, with methods of `subprocess.Popen`.

    log (Path): Gets stderr, and stdout where that has no file of its own.
    output (Path | None): That file.
    name (str): What the dashboard calls it.
    cpus (int), memory (float): How many cores and how many GB it takes; of 0 GB nothing is said.
    folder (Path): Where it runs.
    """

    def __init__(
        self,
        line: Sequence[str],
        log: Path,
        output: Path | None = None,
        *,
        name: str,
        cpus: int = 1,
        memory: float = 0.0,
        folder: Path = Path(),
    ) -> None:
        import ray

        needs: dict[str, Any] = {"num_cpus": cpus} | ({"memory": int(1e9 * memory)} if memory else {})
        files = (str(log.absolute()), None if output is None else str(output.absolute()))
        # What has begun to write is not begun again beside itself.
        task = ray.remote(max_retries=0, **needs)(_run).options(name=name)
        self._task = task.remote([*line], str(folder.absolute()), *files, cpus)
        self._code: int | None = None

    def poll(self) -> int | None:
        """What it has ended with, None if it has not; -1 where its node is gone."""
        import ray

        if self._code is None and ray.wait([self._task], timeout=0)[0]:
            try:
                self._code = ray.get(self._task)
            except ray.exceptions.RayError:
                self._code = -1
        return self._code

    def terminate(self) -> None:
        """End it."""
        import ray

        ray.cancel(self._task)

    def wait(self) -> int:
        """Wait until it has ended."""
        while (code := self.poll()) is None:
            time.sleep(_PAUSE)
        return code


Process = subprocess.Popen | RemoteProcess
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


def _run(line: list[str], folder: str, log: str, output: str | None, cpus: int) -> int:
    where = {"cwd": folder, "env": {**os.environ, "OMP_NUM_THREADS": str(cpus)}}
    process = here(line, Path(log), None if output is None else Path(output), name="", **where)
    try:
        # Whoever cancels is heard between two looks.
        while process.poll() is None:
            time.sleep(_PAUSE)
    finally:
        process.terminate()
        process.wait()
    return process.returncode
