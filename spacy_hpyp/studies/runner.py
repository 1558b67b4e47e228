"""Runs of a study: what is done already, what there is to do, and how long it takes."""

import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from shlex import join

from ..about import __version__
from ..storage.files import replace_file
from .study import Run, Study

# What a command takes before it begins with its work, in seconds, however small the treebank is.
_START = 4.0
# How often it is looked whether a run has ended, in seconds, and how many of the last lines of one that failed are shown.
_PAUSE = 0.2
_LAST_LINES = 15
# What stands for the program of commands that use nothing of this package.
_SPACY = f"spaCy {version('spacy')}"


@dataclass(frozen=True)
class Stamp:
    """What stands beside an output.

    key (str): Of the command and everything that was read; see `Runner.key`.
    command (str): As it is typed.
    versions (list[str]): Of the program that made it, and of those that made what it was made of; mostly one.
    seconds (float): How long it took.
    ended (str): When.
    """

    key: str
    command: str
    versions: list[str]
    seconds: float
    ended: str


@dataclass(frozen=True)
class Failure:
    """A run that has not made its output.

    run (Run): Which.
    problem (str): Why.
    """

    run: Run
    problem: str


def program_version(package: Path) -> str:
    """The version of the package, and a checksum of all of its sources but those that only show what others have found.

    package (Path): Its directory.
    """
    found = hashlib.sha256()
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.cfg")]):
        name = path.relative_to(package).as_posix()
        if not name.startswith("studies/") and name != "cli/papers.py":
            found.update(name.encode() + b"\0" + path.read_bytes())
    return f"{__version__}+{found.hexdigest()[:8]}"


class Runner:
    """Runs what a study needs, and leaves a stamp beside each output, so that nothing is run twice.

    study (Study): The study.
    version (str): Of the program, see `program_version`.
    share (float): How large the training part is beside that which the study's seconds are given for.
    any_version (bool): Whether outputs of other versions of the program are as good.
    program (Sequence[str]): What the arguments of runs are given to.
    """

    def __init__(
        self,
        study: Study,
        version: str,
        *,
        share: float = 1.0,
        any_version: bool = False,
        program: Sequence[str] = (sys.executable, "-m", "spacy"),
    ) -> None:
        self._study, self._version, self._share, self._any_version = study, version, share, any_version
        self._program = [*program]
        self._keys: dict[str, str] = {}
        self._checksums: dict[Path, str] = {}

    def command(self, run: Run) -> str:
        """A run's command line as it is typed."""
        typed = join(["python", *self._program[1:], *run.arguments])
        return f"{typed} > {run.output}" if run.prints else typed

    def key(self, run: Run) -> str:
        """What is the same where a run of the same program would make the same output: its command, the files that it reads, and the
        keys of the runs whose outputs it reads.
        """
        if run.name not in self._keys:
            said = {
                "command": run.arguments,
                "inputs": {str(path): self._checksum(path) for path in run.inputs},
                "needs": {name: self.key(self._study.runs[name]) for name in run.needs},
            }
            self._keys[run.name] = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
        return self._keys[run.name]

    def stamp(self, run: Run) -> Stamp | None:
        """What was noted when the output of a run was made; None if there is no output that the run would make now."""
        noted = self._noted(run)
        if noted is None or not run.output.exists() or noted.key != self.key(run):
            return None
        return noted if self._any_version or noted.versions == self._versions(run) else None

    def seconds(self, run: Run) -> float:
        """How long a run takes: as long as the last time, or as long as the study says on so large a treebank."""
        noted = self._noted(run)
        if noted is not None:
            return noted.seconds
        start = min(_START, run.seconds)
        return start + (run.seconds - start) * self._share

    def to_do(self, runs: Iterable[Run]) -> list[Run]:
        """Those of some runs that have to be run, each after those that it needs."""
        return [run for run in runs if not self.problem(run) and self.stamp(run) is None]

    def problem(self, run: Run) -> str | None:
        """Why a run cannot be run, if it cannot."""
        if run.missing:
            return f"'{run.missing[0]}' of [vars] is null"
        for path in run.inputs:
            # Whatever has a point in its name may be a file, but only what is in a directory that is there must be one.
            if "/" in str(path) and not path.exists():
                return f"there is no '{path}'"
        for name in run.needs:
            if problem := self.problem(self._study.runs[name]):
                return problem
        return None

    def run(self, runs: Sequence[Run], *, jobs: int, report: Callable[[str], None]) -> list[Failure]:
        """Run what has to be run. What does not need the output of one that fails is run all the same.

        runs (Sequence[Run]): Some of the study's, each after those that it needs.
        jobs (int): How many run at a time; those that measure speed run alone.
        report (Callable[[str], None]): Is told of each that begins and ends.
        RETURNS (list[Failure]): Those that failed, and those that could not be run without them.
        RAISES (KeyboardInterrupt): After Ctrl-C, and when the process is told to terminate; what runs is ended before.
        """
        with _interrupted_when_terminated():
            return self._run(runs, jobs, report)

    def _run(self, runs: Sequence[Run], jobs: int, report: Callable[[str], None]) -> list[Failure]:
        waiting = self.to_do(runs)
        pending = {run.name for run in waiting}
        running: dict[str, tuple[Run, subprocess.Popen, float]] = {}
        failures: dict[str, Failure] = {}
        try:
            while waiting or running:
                for run in [run for run in waiting if any(name in failures for name in run.needs)]:
                    waiting.remove(run)
                    (name, *_) = [name for name in run.needs if name in failures]
                    failures[run.name] = Failure(run, f"it needs '{name}'")
                while (run := _next(waiting, pending, [run for run, _, _ in running.values()], jobs)) is not None:
                    waiting.remove(run)
                    left = wall_seconds(self, [run, *waiting], jobs)
                    report(f"{run.name}, about {minutes(self.seconds(run))} of {minutes(left)}\n{self.command(run)}")
                    running[run.name] = run, self._start(run), time.monotonic()
                for name, (run, process, start) in list(running.items()):
                    if process.poll() is not None:
                        del running[name]
                        if problem := self._end(run, process.returncode, time.monotonic() - start):
                            failures[name] = Failure(run, problem)
                            report(f"{name} failed: {problem}")
                        pending.discard(name)
                if running:
                    time.sleep(_PAUSE)
        finally:
            # After Ctrl-C, or an error of our own: what is not complete has no stamp, and is begun again.
            for _, process, _ in running.values():
                process.terminate()
            for _, process, _ in running.values():
                process.wait()
        return list(failures.values())

    def _start(self, run: Run) -> subprocess.Popen:
        for path in (run.output, self._stamp_path(run)):
            _remove(path)
        for path in (run.output, self._log_path(run), self._stamp_path(run)):
            path.parent.mkdir(parents=True, exist_ok=True)
        if run.fills:
            run.output.mkdir()
        line = [*self._program, *run.arguments]
        with self._log_path(run).open("wb") as log:
            if not run.prints:
                return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            with run.output.open("wb") as output:
                return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output, stderr=log)

    def _end(self, run: Run, code: int, seconds: float) -> str | None:
        """Note that a run has made its output, or say why it has not."""
        if code == 0 and run.output.exists():
            ended = time.strftime("%Y-%m-%d %H:%M")
            others = [self._noted(self._study.runs[name]) for name in run.needs]
            versions = {self._own_version(run), *(version for each in others if each for version in each.versions)}
            stamp = Stamp(self.key(run), self.command(run), sorted(versions), seconds, ended)
            replace_file(self._stamp_path(run), json.dumps(asdict(stamp), indent=2).encode())
            return None
        log = self._log_path(run).read_text(encoding="utf8", errors="replace")
        # A progress bar overwrites its own line.
        lines = [line.rpartition("\r")[2] for line in log.splitlines() if line.strip()]
        last = "\n".join(lines[-_LAST_LINES:])
        why = f"it ended with {code}" if code else f"it has not written '{run.output}'"
        return f"{why}; the last lines of {self._log_path(run)}:\n{last}"

    def _noted(self, run: Run) -> Stamp | None:
        try:
            return Stamp(**json.loads(self._stamp_path(run).read_text(encoding="utf8")))
        except (OSError, ValueError, TypeError):
            return None

    def _own_version(self, run: Run) -> str:
        return _SPACY if run.foreign else self._version

    def _versions(self, run: Run) -> list[str]:
        """Those of the programs that would make it now."""
        others = (self._versions(self._study.runs[name]) for name in run.needs)
        return sorted({self._own_version(run), *chain.from_iterable(others)})

    def _checksum(self, path: Path) -> str:
        if path not in self._checksums:
            found = hashlib.sha256()
            for file in _files(path):
                found.update(str(file.relative_to(path)).encode() + b"\0")
                with file.open("rb") as opened:
                    while block := opened.read(2**20):
                        found.update(block)
            self._checksums[path] = found.hexdigest()
        return self._checksums[path]

    def _stamp_path(self, run: Run) -> Path:
        return self._study.output / "stamps" / f"{run.name}.json"

    def _log_path(self, run: Run) -> Path:
        return self._study.output / "logs" / f"{run.name}.log"


@contextmanager
def only_one(folder: Path) -> Iterator[None]:
    """Keep a second process from filling tables in the same directory, where each would remove what the other is reading.

    folder (Path): The directory, which is there.
    RAISES (ValueError): If another process does that now. One that has been killed is no hindrance.
    """
    path = folder / "running.txt"
    try:
        other = int(path.read_text(encoding="utf8"))
    except (OSError, ValueError):
        other = None
    if other is not None and other != os.getpid() and _is_running(other):
        raise ValueError(
            f"Process {other} is filling tables in '{folder}'. Wait for it, or choose another directory with --output. If it is "
            f"something else, remove '{path}'."
        )
    replace_file(path, str(os.getpid()).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    # Windows takes the signal for another one, and nobody can be asked there.
    if sys.platform == "win32":
        return False
    try:
        os.kill(process, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


@contextmanager
def _interrupted_when_terminated() -> Iterator[None]:
    """What batch systems and `kill` send is the same as Ctrl-C; else what runs would go on, and write where the next one does."""

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


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        yield from sorted(file for file in path.rglob("*") if file.is_file())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


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
