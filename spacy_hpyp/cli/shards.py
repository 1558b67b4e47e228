"""What commands have in common that `--ray` gives to workers: reading shards, writing them, and what is said
of a run.
"""

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from io import StringIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from typing import Any, ClassVar

import spacy
from spacy.tokens import DocBin
from spacy.util import get_package_path, is_package
from wasabi import msg

from ..about import __version__
from ..distributed.cluster import Summary, connected, run_shards
from ..distributed.folder import Folder
from ..distributed.inputs import CONLLU, RECORDS, TABLE, Document, Shard, cut, find_files, lines_of, rows_of
from ..distributed.work import Process
from ..storage.checksum import identity, identity_of_file
from ..treebanks.conllu import paragraphs_of
from .app import pipeline_at
from .options import Cluster
from .progress import Bar
from .raw_text import NO_TEXT, check_text, locate_paragraphs

# After so many rows a group of a table is written.
_ROWS = 100_000


@dataclass(frozen=True)
class ShardTask(ABC):
    """What a command has workers do, see `spacy_hpyp.distributed.work.Task`: its settings.

    model (str): Where the pipeline is; "" if there is none.
    made_of (str): What identifies it, see `identity_of_model`.
    per_line (bool): Whether lines of text are sentences.
    field (str): Of records and tables, what the texts are in.
    output_format (str): How the names of files end: "parquet", "conllu" or "spacy".
    files (Any): What refers to the contents of the pipeline's files in Ray's object store, for nodes that do
        not see it; see `send`.
    """

    model: str
    made_of: str
    per_line: bool
    field: str
    output_format: str
    files: Any = field(default=None, kw_only=True)

    #: The columns of tables, and whether the command takes CoNLL-U.
    columns: ClassVar[Sequence[str]] = ()
    reads_conllu: ClassVar[bool] = True

    @abstractmethod
    def process(self) -> Process:
        """What is done to some documents, with the pipeline loaded."""

    def start(self) -> Process:
        """Get ready. RAISES (ValueError): If the pipeline is not there, or is another one than that of the
        command.
        """
        if self.files is not None and not Path(self.model).exists():
            return replace(self, model=_received(self.files, self.made_of), files=None).start()
        if self.model:
            see_same("pipeline", self.model, self.made_of)
        return self.process()

    def documents(self, shard: Shard) -> Iterator[Document]:
        """The paragraphs, lines or sentences of a shard. RAISES (ValueError): If it is not what its name
        says.
        """
        if shard.kind == TABLE:
            for row, text in rows_of(shard, self.field):
                yield from (Document(row, part) for part in self._parts(text or "", shard))
            return
        lines = lines_of(shard, per_line=self.per_line)
        if shard.kind == RECORDS:
            found = self._of_records(lines, shard)
        elif shard.kind == CONLLU:
            found = (Document(own[0][0], "".join(line for _, line in own)) for own in paragraphs_of(lines))
        else:
            first = next(lines, (0, ""))
            plain = (line for _, line in chain([first], lines))
            texts = locate_paragraphs(shard.path, per_line=self.per_line, file=plain, size=_bytes)
            found = (Document(first[0] + place, text) for place, text in texts)
        for document in found:
            damaged = NO_TEXT.search(document.text)
            yield Document(document.place, "", "it is not text in UTF-8") if damaged else document

    def _of_records(self, lines: Iterable[tuple[int, str]], shard: Shard) -> Iterator[Document]:
        for at, line in lines:
            if not line.strip():
                continue
            try:
                parts = self._parts(json.loads(line)[self.field], shard)
            except (ValueError, TypeError, KeyError, AttributeError):
                yield Document(at, "", f"it is no record with a '{self.field}' that is a string")
            else:
                yield from (Document(at, part) for part in parts)

    def _parts(self, text: str, shard: Shard) -> list[str]:
        lines = StringIO(text, newline="")
        return [part for _, part in locate_paragraphs(shard.path, per_line=self.per_line, file=lines)]

    def write(self, file: Any, found: Iterable[list[Any]]) -> None:
        """Write a shard."""
        if self.output_format == "parquet":
            _write_table(file, found, self.columns)
        elif self.output_format == "conllu":
            for some in found:
                file.write("".join(some).encode())
        else:
            file.write(_merged(list(chain.from_iterable(found))))


def _bytes(text: str) -> int:
    return len(text.encode("utf8", "surrogateescape"))


def send(task: ShardTask) -> ShardTask:
    """Put the pipeline of a task, which is a folder, where all workers have it."""
    import ray

    data = {name: path.read_bytes() for name, path in _files_of(Path(task.model)).items()}
    return replace(task, files=ray.put(data))


def _received(files: Any, made_of: str) -> str:
    """The folder of a pipeline from Ray's object store, which is written once a node."""
    import ray

    folder = Path(gettempdir(), f"hpyp-{made_of}")
    if not folder.exists():
        with TemporaryDirectory(dir=folder.parent) as begun:
            for name, data in ray.get(files).items():
                path = Path(begun, "model", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            # Another worker may have been faster.
            with suppress(OSError):
                Path(begun, "model").rename(folder)
    return str(folder)


def _merged(found: list[DocBin]) -> bytes:
    docs = DocBin(store_user_data=True)
    for each in found:
        docs.merge(each)
    return docs.to_bytes()


def _write_table(file: Any, found: Iterable[list[dict[str, Any]]], columns: Sequence[str]) -> None:
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    types = (
        {"known": pyarrow.bool_()}
        | dict.fromkeys(_WHOLE, pyarrow.int64())
        | dict.fromkeys(_STRINGS, pyarrow.string())
    )
    schema = pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in columns])
    rows: list[dict[str, Any]] = []
    with ParquetWriter(file, schema, compression="zstd") as table:
        for some in chain(found, [None]):
            rows += some or []
            if some is None or len(rows) > _ROWS:
                table.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
                rows = []


_WHOLE = ("paragraph", "sentence", "word", "token", "tokens", "start", "end", "head")
_STRINGS = ("file", "text", "tag", "class", "lemma", "upos", "feats", "deprel")


def made_with(model: str | None) -> tuple[str, str]:
    """Where workers find a pipeline, which is its name if it is a package or else its absolute path, and what
    identifies it; of none both are "".

    RAISES (ValueError): If it is neither a directory nor an installed package.
    """
    if model is None:
        return "", ""
    found = pipeline_at(model)
    if not Path(found).exists() and not is_package(model):
        raise ValueError(f"There is no pipeline '{model}': neither a directory nor an installed package.")
    where = os.path.abspath(found) if Path(found).exists() else model
    return where, identity_of_model(where)


def identity_of_model(model: str, what: str = "pipeline") -> str:
    """What identifies a pipeline, or what else is in a file or folder. RAISES (ValueError): If it is not
    there.
    """
    path = Path(model) if Path(model).exists() else get_package_path(model) if is_package(model) else None
    if path is None:
        raise ValueError(
            f"There is no {what} '{model}' on a worker: put it, or install it, where all of them see it."
        )
    files = {".": path} if path.is_file() else _files_of(path)
    return identity("".join(f"{name} {identity_of_file(file)}\n" for name, file in files.items()).encode())


def see_same(what: str, path: str, made_of: str) -> None:
    """See that something is for a worker what it is for the command. RAISES (ValueError): If it is not, or
    not there.
    """
    if identity_of_model(path, what) != made_of:
        raise ValueError(f"The {what} '{path}' is another one on a worker than for the command.")


def _files_of(folder: Path) -> dict[str, Path]:
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return {str(file.relative_to(folder)): file for file in files}


def shards_of(
    task: ShardTask, texts: Iterable[Any], cluster: Cluster, *, is_conllu: bool = False
) -> list[Shard]:
    """What texts, of which there are paths and URIs, are cut into, to have a task done.

    is_conllu (bool): Whether all texts are CoNLL-U, whatever their names are.
    RAISES (ValueError): If there is no such text.
    """
    files = find_files(map(str, texts))
    for path, _ in files:
        if path.endswith(".spacy"):
            raise ValueError(f"'{path}' is no text: with --ray, .spacy files are not read.")
        if not (task.reads_conllu and (is_conllu or path.endswith(".conllu"))):
            check_text(Path(path))
    return cut(files, cluster.shard_size * 1000, column=task.field, is_conllu=is_conllu)


def distribute(
    command: str,
    task: ShardTask,
    shards: Sequence[Shard],
    output: Any,
    cluster: Cluster,
    *,
    named: str = "--output",
) -> Folder:
    """Have workers of a cluster do something to shards, and say how far they are. Returns the folder of the
    output.

    output (Path | str | None): That folder, or its URI.
    named (str): What the option for it is called.
    RAISES (ValueError): If there is no cluster, too much fails, or the folder has something else.
    """
    if output is None:
        raise ValueError(f"With --ray output goes to a folder: name it with {named}.")
    folder = Folder(str(output), task.output_format)
    settings = {name: value for name, value in asdict(task).items() if name not in ("model", "files")}
    inputs = identity(
        "".join(f"{path} {kind} {start} {end}\n" for _, path, _, kind, start, end in shards).encode()
    )
    read = f"{len({shard.path for shard in shards})} files in {len(shards)} shards {inputs}"
    run = {"command": command, **settings, "inputs": read, "version": __version__, "spacy": spacy.__version__}
    folder.begin(run)
    begun = monotonic()
    with connected(cluster.ray or "auto"), Bar(total=len(shards), unit=" shards") as bar:
        before = None

        def show(summary: Summary) -> None:
            nonlocal before
            if before is None:
                before = summary.words
                bar.initial = summary.done
            words = (summary.words - before) / (monotonic() - begun)
            bar.set_postfix_str(
                f"{summary.words:,} words, {words:,.0f} words/s, {summary.errors} errors", refresh=False
            )
            bar.n = summary.done + len(summary.failed)
            bar.refresh()

        limits = {"workers": cluster.workers, "max_errors": cluster.max_errors}
        # A cluster may have nodes that do not see the pipeline.
        is_away = not (cluster.ray or "").startswith("local") and Path(task.model).is_dir()
        sent = send(task) if task.model and is_away else task
        summary = run_shards(sent, folder, run, shards, **limits, progress=show)
    seconds = monotonic() - begun
    rate = (summary.words - (before or 0)) / seconds
    told = f"{summary.words:,} words in {summary.documents:,} documents, {summary.errors:,} of which failed; {rate:,.0f} words/s"
    if summary.failed:
        lines = [
            f"{shard.path} from {shard.start:,} to {shard.end:,}: {why}"
            for shard, why in summary.failed.items()
        ]
        raise ValueError(
            f"{len(summary.failed)} of {len(shards)} shards are left, which the same command tries again:\n"
            + "\n".join(lines)
            + f"\nThe others are in '{output}': {told}"
        )
    msg.good(f"Saved {summary.done:,} shards to {output}: {told}")
    return folder
