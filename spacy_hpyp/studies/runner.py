"""Runs of a study: what is done already, what there is to do, and how long it takes."""

import hashlib
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from shlex import join
from typing import Any

import srsly
from weasel.cli.main import PROJECT_LOCK
from weasel.cli.run import get_lock_entry

from ..about import __version__
from ..distributed.commands import Launch, Process, ended, here, running
from ..storage.files import locked, replace_file
from .study import Run, Study

# What a command takes before it begins with its work, in seconds, however small the treebank is.
_START = 4.0
# How many of the last lines of a run that failed are shown.
_LAST_LINES = 15
# What stands for the program of commands that use nothing of this package.
_SPACY = f"spaCy {version('spacy')}"


def program_version(package: Path) -> str:
    """The version of the package, and a checksum of all sources in its directory but those that only show
    what others have found.
    """
    found = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.cfg")]):
        name = path.relative_to(package).as_posix()
        if not name.startswith("studies/") and name != "cli/tables.py":
            found.update(name.encode() + b"\0" + path.read_bytes())
    return f"{__version__}+{found.hexdigest()[:8]}"


class Runner:
    """Runs what a study needs. As spaCy's projects do, it notes in a lock file what each output was made of,
    so that nothing is run twice.

    version (str): Of the program, see `program_version`.
    share (float): How large the training part is beside that which the study's seconds are given for.
    any_version (bool): Whether outputs of other versions of the program are as good.
    program (Sequence[str]): What the arguments of runs are given to.
    launch (Launch): What begins a command, here or elsewhere.
    """

    def __init__(
        self,
        study: Study,
        version: str,
        *,
        share: float = 1.0,
        any_version: bool = False,
        program: Sequence[str] = (sys.executable, "-m", "spacy"),
        launch: Launch = here,
    ) -> None:
        self._study, self._version, self._share, self._any_version = study, version, share, any_version
        self._program, self._launch = [*program], launch
        self._lock = study.output / PROJECT_LOCK
        try:
            self._noted: dict[str, Any] = dict(srsly.read_yaml(self._lock)) if self._lock.exists() else {}
        except (ValueError, TypeError):
            self._noted = {}
        self._made: dict[str, bool] = {}

    def command(self, run: Run) -> str:
        """A run's command line as it is typed."""
        typed = join(["python", *self._program[1:], *run.arguments])
        return f"{typed} > {run.output}" if run.of.prints else typed

    def made(self, run: Run) -> Mapping[str, Any] | None:
        """What was noted when the output of a run was made: "script", which is its command and the version of
        the program, "seconds" and "ended"; None if there is no output that the run would make now of what is
        there.
        """
        noted = self._noted.get(run.name)
        if run.name not in self._made:
            needed = all(self.made(self._study.runs[name]) for name in run.needs)
            self._made[run.name] = needed and noted is not None and run.output.exists()
            if self._made[run.name]:
                now = self._entry(run)
                if self._any_version:
                    now["script"][1:] = noted["script"][1:]
                self._made[run.name] = all(noted.get(name) == value for name, value in now.items())
        return noted if self._made[run.name] else None

    def _entry(self, run: Run) -> dict[str, Any]:
        """What is noted: the command, the version, and checksums of what is read and of what is written."""
        deps = [*run.inputs, *(self._study.runs[name].output for name in run.needs)]
        version = _SPACY if run.of.foreign else self._version
        script = [self.command(run), version]
        command = {
            "name": run.name,
            "script": script,
            "deps": list(map(str, deps)),
            "outputs": [str(run.output)],
        }
        return get_lock_entry(Path(), command)

    def seconds(self, run: Run) -> float:
        """How long a run takes: as long as the last time, or as long as the study says on so large a
        treebank.
        """
        if run.name in self._noted:
            return self._noted[run.name]["seconds"]
        start = min(_START, run.line.seconds)
        return start + (run.line.seconds - start) * self._share

    def to_do(self, runs: Iterable[Run]) -> list[Run]:
        """Those of some runs that have to be run, each after those that it needs."""
        return [run for run in runs if not self.problem(run) and self.made(run) is None]

    def problem(self, run: Run) -> str | None:
        """Why a run cannot be run, if it cannot."""
        if run.missing:
            return f"'{run.missing[0]}' of [vars] is null"
        for path in run.inputs:
            # Whatever has a point in its name may be a file, but only what is in a directory that is there
            # must be one.
            if "/" in str(path) and not path.exists():
                return f"there is no '{path}'"
        problems = (self.problem(self._study.runs[name]) for name in run.needs)
        return next(filter(None, problems), None)

    def run(self, runs: Sequence[Run], *, jobs: int, report: Callable[[str], None]) -> dict[str, str]:
        """Run what has to be run. What does not need the output of one that fails is run all the same.

        runs (Sequence[Run]): Some of the study's, each after those that it needs.
        jobs (int): How many run at a time; those that measure speed run alone.
        RETURNS (dict[str, str]): The names of those that failed, and of those that could not be run without
            them, and why.
        RAISES (KeyboardInterrupt): After Ctrl-C, and when the process is told to terminate; what runs is
            ended before.
        """
        waiting = self.to_do(runs)
        begun: dict[str, tuple[Run, float]] = {}
        failures: dict[str, str] = {}
        # After Ctrl-C, or an error of our own: what is not complete is not noted, and is begun again.
        with _interrupted_when_terminated(), running() as processes:
            while waiting or processes:
                pending = {run.name for run in waiting} | processes.keys()
                for run in waiting[:]:
                    failed = [name for name in run.needs if name in failures]
                    if failed:
                        failures[run.name] = f"it needs '{failed[0]}'"
                    # What it reads may have been made again as it was.
                    if failed or (not pending & set(run.needs) and self.made(run) is not None):
                        waiting.remove(run)
                        pending.discard(run.name)
                while (
                    run := _next(waiting, pending, [begun[name][0] for name in processes], jobs)
                ) is not None:
                    left = wall_seconds(self, waiting, jobs)
                    report(
                        f"{run.name}, about {minutes(self.seconds(run))} of "
                        f"{minutes(left)}\n{self.command(run)}"
                    )
                    waiting.remove(run)
                    processes[run.name], begun[run.name] = self._start(run), (run, time.monotonic())
                for name, code in ended(processes):
                    run, start = begun[name]
                    if problem := self._end(run, code, time.monotonic() - start):
                        failures[name] = problem
                        report(f"{name} failed: {problem}")
        return failures

    def _start(self, run: Run) -> Process:
        if run.output.is_dir():
            shutil.rmtree(run.output)
        else:
            run.output.unlink(missing_ok=True)
        for path in (run.output, self._log_path(run)):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._note(run, None)
        if run.of.fills:
            run.output.mkdir()
        line = [*self._program, *run.arguments]
        return self._launch(line, self._log_path(run), run.output if run.of.prints else None, name=run.name)

    def _end(self, run: Run, code: int, seconds: float) -> str | None:
        """Note that a run has made its output, or say why it has not."""
        if code == 0 and run.output.exists():
            self._note(
                run, {**self._entry(run), "seconds": seconds, "ended": time.strftime("%Y-%m-%d %H:%M")}
            )
            return None
        log = self._log_path(run).read_text(encoding="utf8", errors="replace")
        # A progress bar overwrites its own line.
        lines = [line.rpartition("\r")[2] for line in log.splitlines() if line.strip()]
        last = "\n".join(lines[-_LAST_LINES:])
        why = f"it ended with {code}" if code else f"it has not written '{run.output}'"
        return f"{why}; the last lines of {self._log_path(run)}:\n{last}"

    def _note(self, run: Run, entry: dict[str, Any] | None) -> None:
        """Write to the lock file what an output was made of, or that there is none."""
        self._noted = {name: noted for name, noted in self._noted.items() if name != run.name}
        self._noted |= {} if entry is None else {run.name: entry}
        # What other runs read may be as it was now.
        self._made = {name: True for name, is_made in self._made.items() if is_made and name != run.name}
        replace_file(self._lock, srsly.yaml_dumps(self._noted).encode())

    def _log_path(self, run: Run) -> Path:
        return self._study.output / "logs" / f"{run.name}.log"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keep a second process from filling tables in the same directory, where each would remove what the other
    is reading.

    RAISES (ValueError): If another process does that now. One that has been killed is no hindrance.
    """
    with locked(folder / "running.lock", wait=False) as is_free:
        if not is_free:
            raise ValueError(
                f"Another process is filling tables in '{folder}'. Wait, or choose another --output."
            )
        yield


@contextmanager
def _interrupted_when_terminated() -> Iterator[None]:
    """What batch systems and `kill` send is the same as Ctrl-C; else what runs would go on, and write where
    the next one does.
    """

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _next(waiting: Sequence[Run], pending: set[str], running: Sequence[Run], jobs: int) -> Run | None:
    """The run that can begin now, if there is one. Those that have to be alone come when no other is ready."""
    if any(run.alone for run in running) or len(running) >= jobs:
        return None
    ready = [run for run in waiting if not pending & set(run.needs)]
    beside = [run for run in ready if not run.alone]
    if beside:
        return beside[0]
    return ready[0] if ready and not running else None


def wall_seconds(runner: Runner, runs: Sequence[Run], jobs: int) -> float:
    """About how long some runs take together, so many of them at a time."""
    alone = sum(runner.seconds(run) for run in runs if run.alone)
    others = [runner.seconds(run) for run in runs if not run.alone]
    return alone + max(sum(others) / jobs, max(others, default=0.0))


def minutes(seconds: float) -> str:
    """A time as it is shown."""
    whole = round(seconds / 60)
    if whole < 1:
        return f"{seconds:.0f} s"
    return f"{whole} min" if whole < 60 else f"{whole // 60} h {whole % 60:02d} min"


def machine() -> Mapping[str, str | int | None]:
    """What speed was measured on."""
    return {
        "processor": platform.processor() or platform.machine(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
