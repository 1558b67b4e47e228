"""Workers of a Ray cluster: they are hired, given shards and replaced where they die."""

import os
import re
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .folder import Folder
from .inputs import Shard
from .work import Task, TooManyFailuresError, work_on

# How many workers may die of a shard, or while they get ready.
_DEATHS = 3
# How long an address has to answer, in seconds.
_PATIENCE = 5.0
# How often it is looked whether there are nodes yet, in seconds.
_LOOK = 30.0
# Tasks and results are small: nothing but paths and counts goes through Ray.
_OBJECTS = 100_000_000
_LOCAL = re.compile(r"local(?:\[([1-9]\d*)\])?")


@dataclass
class Summary:
    """What has become of shards.

    done, words, documents, errors (int): How many shards are complete, and what there was in them.
    failed (dict[Shard, str]): Those that could not be read, or that killed three workers, and why.
    """

    done: int = 0
    words: int = 0
    documents: int = 0
    errors: int = 0
    failed: dict[Shard, str] = field(default_factory=dict)

    def add(self, record: dict[str, Any]) -> None:
        """Count a shard that is complete."""
        self.done += 1
        self.words, self.documents = self.words + record["words"], self.documents + record["documents"]
        self.errors += record["errors"]


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A Ray cluster.

    address (str): "local" or "local[N]" is one of this machine, with all or N of its cores, that ends with
        this; "auto" the one that runs on it; others as of `ray.init`. Where this process is connected
        already, that is taken.
    RAISES (ValueError): If there is none, or it has another version of Ray or of Python.
    RAISES (ImportError): If Ray is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("--ray needs the extra 'ray': pip install 'spacy-hpyp[ray]'") from error
    if ray.is_initialized():
        yield
        return
    settings: dict[str, Any] = {"address": address}
    if local := _LOCAL.fullmatch(address):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Where others have all cores the only node is slow to answer, but it is there.
        os.environ.setdefault("RAY_health_check_failure_threshold", "100")
        cores = int(local[1] or os.cpu_count() or 1)
        settings = {
            "address": "local",
            "num_cpus": cores,
            "object_store_memory": _OBJECTS,
            "include_dashboard": False,
        }
    elif address != "auto":
        _see(address)
    try:
        ray.init(**settings, log_to_driver=False, logging_level="warning")
    except ConnectionError as error:
        raise ValueError(
            f"There is no Ray cluster at '{address}'. 'ray start --head' starts one. ({error})"
        ) from error
    except RuntimeError as error:
        raise ValueError(f"The Ray cluster at '{address}' cannot be used: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _see(address: str) -> None:
    """See that somebody answers at an address: Ray itself tries for a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except (OSError, ValueError) as error:
        raise ValueError(
            f"There is no Ray cluster at '{address}' ({error}): give local, local[N], auto, HOST:PORT or "
            f"ray://HOST:PORT."
        ) from error


class Worker:
    """An actor that works on one shard after the other, with one core."""

    def __init__(self, task: Task, folder: Folder, run: dict[str, Any], max_errors: int) -> None:
        self._task, self._folder, self._run, self._max_errors = task, folder, run, max_errors

    def __repr__(self) -> str:
        # Ray asks for it even where there is nothing yet.
        return f"hpyp {getattr(self, '_run', {}).get('command', '')}"

    def start(self) -> None:
        """Get ready. RAISES (ValueError): If this node does not see what others see."""
        if self._folder.run() != self._run:
            raise ValueError(
                f"'{self._folder.path}' is another folder on the node {socket.gethostname()}: all nodes have "
                f"to share it."
            )
        self._process = self._task.start()

    def work(self, shard: Shard) -> dict[str, Any]:
        """Make the output of a shard."""
        try:
            return work_on(shard, self._task, self._process, self._folder, self._max_errors)
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror or error} (on the node {socket.gethostname()})", error.filename
            ) from error


def run_shards(
    task: Task,
    folder: Folder,
    run: dict[str, Any],
    shards: Sequence[Shard],
    *,
    workers: int | None = None,
    max_errors: int,
    progress: Callable[[Summary], None],
) -> Summary:
    """Have workers make the output of all shards of which there is none.

    A worker has one shard at a time. One that dies is replaced and its shard repeated; of a shard that has
    killed three workers, or that cannot be read, the summary says so, and the others are made.

    run (dict[str, Any]): What the output follows from, see `Folder.begin`; "command" is what workers are
        called.
    workers (int | None): How many there are; None is as many as the cluster has cores.
    max_errors (int): How many documents may fail.
    progress (Callable[[Summary], None]): Is told of each shard that is there.
    RAISES (TooManyFailuresError): If more do.
    RAISES (ValueError): If workers cannot get ready.
    RAISES (OSError): If one of them cannot write.
    """
    import ray
    from ray.exceptions import RayActorError, RayTaskError

    summary = Summary()
    done = folder.done()
    for record in done.values():
        summary.add(record)
    progress(summary)
    waiting = deque(shard for shard in shards if shard.number not in done)
    number = min(workers or max(int(ray.cluster_resources().get("CPU", 0)), 1), len(waiting))
    kind = ray.remote(num_cpus=1, max_restarts=0)(Worker)
    running: dict[Any, tuple[Any, Shard | None]] = {}
    deaths: Counter[Shard | None] = Counter()

    def hire() -> None:
        actor = kind.remote(task, folder, run, max_errors)
        running[actor.start.options(name="load").remote()] = actor, None

    for _ in range(number):
        hire()
    try:
        # Workers that the cluster has no room for may not be there yet.
        while waiting or any(shard is not None for _, shard in running.values()):
            found, _ = ray.wait(list(running), num_returns=1, timeout=_LOOK)
            if not found:
                if not any(node["Alive"] for node in ray.nodes()):
                    raise ValueError(
                        "All nodes of the cluster are gone. Run the same command again to go on."
                    )
                continue
            ended = found[0]
            actor, shard = running.pop(ended)
            try:
                record = ray.get(ended)
            except RayActorError as error:
                deaths[shard] += 1
                if "ModuleNotFoundError" in str(error):
                    raise ValueError(
                        f"Workers lack a package that the command has: {str(error).strip().splitlines()[-1]}"
                    ) from error
                if deaths[shard] < _DEATHS:
                    waiting.extend([] if shard is None else [shard])
                elif shard is None:
                    raise ValueError(
                        f"{_DEATHS} workers have died while they got ready: try fewer --workers. ({error})"
                    ) from error
                else:
                    summary.failed[shard] = f"it has killed {_DEATHS} workers"
                if waiting:
                    hire()
                continue
            except RayTaskError as error:
                if shard is None or isinstance(error.cause, TooManyFailuresError | OSError):
                    raise error.cause from None
                summary.failed[shard] = str(error.cause)
            else:
                if shard is None:
                    deaths[None] = 0
                else:
                    summary.add(record)
                    if summary.errors > max_errors:
                        raise TooManyFailuresError(f"{summary.errors} documents have failed")
            if shard is not None:
                progress(summary)
            if waiting:
                shard = waiting.popleft()
                # Ray counts tasks by their names, and forgets no name: with the place in it the driver would
                # grow with shards.
                running[actor.work.options(name=shard.name).remote(shard)] = actor, shard
            else:
                ray.kill(actor)
    finally:
        for actor, _ in running.values():
            ray.kill(actor)
    return summary
