"""Work on shards by the actors of Ray Data: each shard becomes one file of the output folder."""

import json
import logging
import os
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..storage import replace_file, replacing
from .inputs import Document, Shard, documents_of

# Documents that are processed at once.
_BATCH = 32
# Repetitions of a shard whose worker died.
_REPEATED = 2
# Tasks and results of Ray are small: paths and counts.
_OBJECTS = 100_000_000
# The most blocks of shards that Ray Data keeps track of.
_BLOCKS = 10_000
_LOCAL = re.compile(r"local(?:\[([1-9]\d*)\])?")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")

#: Makes the texts that are written of some documents of a shard, and counts their words.
Process = Callable[[Shard, Sequence[Document]], tuple[list[str], int]]


@dataclass(frozen=True)
class Task(ABC):
    """The settings of what is done to all shards; it is sent to workers.

    model (str): The path or package of the pipeline.
    per_line (bool): Whether each line of text is a document.
    ending (str): The ending of the names of output files.
    """

    model: str
    per_line: bool
    ending: str

    @property
    def header(self) -> str:
        """What each output file begins with."""
        return ""

    @abstractmethod
    def process(self) -> Process:
        """Load the pipeline, once in each worker."""


class Folder:
    """The output folder: a file that is there is complete.

    `_run.json` says what the run is made of, `part=N/S.ending` is the output of shard S, and
    `_errors/S.jsonl` lists its documents that failed.
    """

    def __init__(self, path: Path, ending: str) -> None:
        self.path, self.ending = path.absolute(), ending

    def begin(self, run: dict[str, Any]) -> None:
        """Note what the run is made of. RAISES (ValueError): If the folder has another run."""
        begun = self.run() or run
        if changed := [
            f"{name} was {begun.get(name)}, and is {run[name]}"
            for name in run
            if run[name] != begun.get(name)
        ]:
            raise ValueError(
                f"'{self.path}' has another run: {'; '.join(changed)}. Give another folder."
            )
        self.path.mkdir(parents=True, exist_ok=True)
        replace_file(self.path / "_run.json", json.dumps(run, indent=2, sort_keys=True).encode())

    def run(self) -> dict[str, Any] | None:
        """Return what the run in the folder is made of."""
        path = self.path / "_run.json"
        return json.loads(path.read_bytes()) if path.exists() else None

    def done(self) -> set[int]:
        """Return the numbers of the shards that are complete."""
        return {int(file.stem) for file in self.path.glob(f"part=*/*.{self.ending}")}

    def file(self, name: str) -> Path:
        """Return the path of a file, whose folder is made."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def work_on(shard: Shard, task: Task, process: Process, folder: Folder) -> dict[str, int]:
    """Make the output of a shard. Documents that fail are left out and noted.

    RETURNS (dict[str, int]): The numbers of documents, words and errors.
    """
    counts, errors = {"documents": 0, "words": 0}, []

    def attempt(documents: Sequence[Document]) -> Iterator[str]:
        try:
            if any(_NOT_UTF8.search(one.text) for one in documents):
                raise ValueError("it is not text in UTF-8")
            found, words = process(shard, documents)
        except Exception as error:
            if len(documents) > 1:
                for document in documents:
                    yield from attempt([document])
            else:
                message = f"{type(error).__name__}: {error}"
                errors.append({"file": shard.path, "place": documents[0].place, "message": message})
        else:
            counts["words"] += words
            yield "".join(found)

    def found() -> Iterator[str]:
        documents = documents_of(shard, per_line=task.per_line)
        while batch := list(islice(documents, _BATCH)):
            counts["documents"] += len(batch)
            yield from attempt(batch)

    name = f"{shard.number:08d}"
    with replacing(folder.file(f"part={shard.number // 1000:05d}/{name}.{task.ending}")) as file:
        file.writelines(text.encode() for text in chain([task.header], found()))
        if errors:
            notes = "".join(json.dumps(error) + "\n" for error in errors)
            replace_file(folder.file(f"_errors/{name}.jsonl"), notes.encode())
    return {**counts, "errors": len(errors)}


class Worker:
    """An actor of Ray Data with the pipeline loaded. Its rows tell problems."""

    def __init__(self, task: Task, folder: Folder, run: dict[str, Any]) -> None:
        self._task, self._folder, self._problem = task, folder, ""
        try:
            if folder.run() != run:
                raise ValueError(
                    f"'{folder.path}' is another folder on one of the nodes, which have to share it."
                )
            self._process = task.process()
        except Exception as error:
            self._problem = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        """Work on the shard of a batch."""
        shard = Shard(**{name: column.tolist()[0] for name, column in batch.items()})
        row = {"documents": 0, "words": 0, "errors": 0, "problem": self._problem}
        if not self._problem:
            try:
                row |= work_on(shard, self._task, self._process, self._folder)
            except Exception as error:
                row["problem"] = f"{shard.path}: {error}"
        return {name: [value] for name, value in row.items()}


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Connect to a Ray cluster.

    address (str): "local" or "local[N]" starts one on this machine, with all or N of its cores;
        "auto" is the one that runs on it; others as of `ray.init`.
    RAISES (ImportError | ConnectionError): If Ray is not installed, or there is no such cluster.
    """
    try:
        import ray.data
    except ImportError as error:
        raise ImportError("--ray needs the extra 'ray': pip install 'spacy-hpyp[ray]'") from error
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {"address": address}
    if local := _LOCAL.fullmatch(address):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        cores = int(local[1] or os.cpu_count() or 1)
        settings = {"address": "local", "num_cpus": cores, "object_store_memory": _OBJECTS}
        settings["include_dashboard"] = False
    ray.init(**settings, log_to_driver=False, logging_level="error")
    try:
        yield ray
    finally:
        ray.shutdown()


def run_shards(
    ray: Any,
    task: Task,
    folder: Folder,
    run: dict[str, Any],
    shards: Sequence[Shard],
    workers: int | None,
) -> Iterator[dict[str, Any]]:
    """Have workers make the output of shards. A worker that dies is replaced, and its shard
    repeated twice.

    ray (module): Ray, which is connected.
    run (dict[str, Any]): What the run is made of, see `Folder.begin`.
    workers (int | None): The number of workers; one for each core of the cluster by default.
    YIELDS (dict[str, Any]): For each shard that has ended the numbers of "documents", "words" and
        "errors", and the "problem", if there is one.
    """
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    # A shard that kills its workers does not end the run.
    context.max_errored_blocks = -1
    size = min(workers or max(int(ray.cluster_resources().get("CPU", 1)), 1), len(shards))
    items = [shard._asdict() for shard in shards]
    with warnings.catch_warnings():
        # Arguments of actors have other names from Ray 2.64 on.
        warnings.simplefilter("ignore")
        found = ray.data.from_items(
            items, override_num_blocks=min(len(items), _BLOCKS)
        ).map_batches(
            Worker,
            batch_size=1,
            batch_format="numpy",
            fn_constructor_args=(task, folder, run),
            compute=ray.data.ActorPoolStrategy(size=size, max_tasks_in_flight_per_actor=1),
            num_cpus=1,
            max_task_retries=_REPEATED,
        )
        yield from found.iter_rows()
