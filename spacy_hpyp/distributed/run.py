"""Work on files by the actors of Ray Data: each file becomes one file of the output folder.

`part=N/S.ending` is the output of file S; it is complete, as it is renamed in the end. `_run.json`
says what the run is made of. The folder alone says what is left, so that any driver can go on.
"""

import json
import logging
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from ..storage import replace_file, replacing

#: Endings of the files of text in a folder.
ENDINGS = (".txt", ".conllu")
# Repetitions of a shard whose worker died.
_REPEATED = 2
# Bytes of Ray's object store: tasks and results are small, paths and messages.
_OBJECTS = 100_000_000
# The largest number of blocks of shards that Ray Data tracks.
_BLOCKS = 10_000

#: Writes the output of a file, given its path, the prefix of its sentences' names and an open file.
Write = Callable[[Path, str, TextIO], None]


class Shard(NamedTuple):
    """A numbered file to work on, the prefix of its sentences' names, and its size in bytes."""

    number: int
    path: str
    name: str
    size: int


class Task(NamedTuple):
    """Work on an output folder; it is sent to workers, each of which loads the pipeline once.

    ending (str): The ending of the names of output files, without its dot.
    """

    load: Callable[[], Write]
    folder: Path
    ending: str

    def begin(self, run: dict[str, Any]) -> None:
        """Note what the run is made of, in JSON. RAISES (ValueError): If the folder has another."""
        path = self.folder / "_run.json"
        begun = json.loads(path.read_bytes()) if path.exists() else run
        for name, value in run.items():
            if begun.get(name) != value:
                raise ValueError(
                    f"'{self.folder}' has another run: {name} was {begun.get(name)}, and is "
                    f"{value}. Give another folder."
                )
        self.folder.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps(run, indent=2, sort_keys=True).encode())

    def done(self) -> set[int]:
        """Return the numbers of the shards that are complete."""
        return {int(file.stem) for file in self.folder.glob(f"part=*/*.{self.ending}")}

    def work_on(self, shard: Shard, write: Write) -> None:
        """Make the output of a shard."""
        folder = self.folder / f"part={shard.number // 1000:05d}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{shard.number:08d}.{self.ending}"
        with replacing(path, "w", encoding="utf8", newline="") as file:
            write(Path(shard.path), shard.name, file)


def find_shards(paths: Iterable[Path], endings: Sequence[str] = ENDINGS) -> list[Shard]:
    """Find the files to work on, each of them once: any files, and those below folders that have
    one of the endings. RAISES (ValueError): If there is none at one of the paths.
    """
    found: dict[Path, None] = {}
    for path in map(Path.absolute, paths):
        below = (file for file in path.rglob("*") if file.suffix.lower() in endings)
        files = [path] if path.is_file() else sorted(filter(Path.is_file, below))
        if not files:
            raise ValueError(f"There is no file of text ({', '.join(endings)}) at '{path}'.")
        found |= dict.fromkeys(files)
    return [
        Shard(number, str(path), name, path.stat().st_size)
        for number, (path, name) in enumerate(zip(found, unique_names(found)))
    ]


def unique_names(paths: Iterable[Path]) -> list[str]:
    """Return a name without white space for each file; those of one name are numbered."""
    seen, names = Counter[str](), dict[str, None]()
    for path in paths:
        name = unique = "_".join(path.stem.split())
        while unique in names:
            seen[name] += 1
            unique = f"{name}.{seen[name] + 1}"
        names[unique] = None
    return list(names)


class Worker:
    """An actor of Ray Data with the pipeline loaded."""

    def __init__(self, task: Task) -> None:
        self._task = task
        # An exception would end the whole run. A message ends only the shard.
        self._problem = ""
        try:
            if not (task.folder / "_run.json").exists():
                raise ValueError(f"All nodes have to share the folder '{task.folder}'.")
            self._write = task.load()
        except Exception as error:
            self._problem = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        """Work on the only shard of a batch. RETURNS: The problem, or "", as `problem`."""
        shard = Shard(**{name: column.tolist()[0] for name, column in batch.items()})
        problem = self._problem
        if not problem:
            try:
                self._task.work_on(shard, self._write)
            except Exception as error:
                problem = f"{shard.path}: {error}"
        return {"problem": [problem]}


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a Ray cluster, unless connected already, and yield the module.

    address (str): "local" starts one on this machine; "auto" is the one that runs on it; others as
        of `ray.init`.
    RAISES (ImportError | ConnectionError): If Ray is not installed, or there is no such cluster.
    """
    try:
        import ray.data
    except ImportError as error:
        raise ImportError("--ray needs the extra 'ray': pip install 'spacy-hpyp[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {}
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        settings = {"object_store_memory": _OBJECTS, "include_dashboard": False}
    ray.init(address, **settings, log_to_driver=False, logging_level="error")
    try:
        yield ray
    finally:
        ray.shutdown()


def run_shards(ray: Any, task: Task, shards: Sequence[Shard], workers: int | None) -> Iterator[str]:
    """Have workers make the output of shards, at least one. Yield the problem, or "", of each shard
    that has ended.

    A worker that dies is replaced, and its shard repeated up to twice; a shard that still kills its
    worker yields nothing.

    ray (module): Ray, which is connected.
    workers (int | None): The largest number of workers; by default, the cores of the cluster.
    """
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    # A shard that kills its workers does not end the run.
    context.max_errored_blocks = -1
    size = min(workers or max(int(ray.cluster_resources().get("CPU", 1)), 1), len(shards))
    items = [shard._asdict() for shard in shards]
    blocks = min(len(shards), _BLOCKS)
    with warnings.catch_warnings():
        # Arguments of actors have other names from Ray 2.64 on.
        warnings.simplefilter("ignore")
        found = ray.data.from_items(items, override_num_blocks=blocks).map_batches(
            Worker,
            batch_size=1,
            batch_format="numpy",
            fn_constructor_args=(task,),
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            max_task_retries=_REPEATED,
        )
        for row in found.iter_rows():
            yield row["problem"]
