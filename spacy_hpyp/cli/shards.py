"""What commands have in common that `--ray` gives to workers: reading shards, writing them, and what is said of a run."""

import json
import os
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from typing import Any, ClassVar

import spacy
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.util import get_package_path, is_package
from wasabi import msg

from ..about import __version__
from ..distributed.cluster import Summary, connected, merge_shards, run_shards
from ..distributed.folder import Folder
from ..distributed.inputs import CONLLU, RECORDS, TABLE, Document, Shard, cut, find_files, lines_of, rows_of
from ..distributed.work import Process, Writer
from ..language_model.scoring import Perplexity, perplexity_of
from ..storage.checksum import identity, identity_of_file
from ..text.word_classes import without_digits
from ..text.word_pairs import WordPairs, count_pairs, merge_pairs
from ..training.raw_training import ParsedText, join_parsed
from ..treebanks.conllu import blocks_of, paragraphs_of
from .app import load_pipeline, pipeline_at
from .options import Cluster
from .output import json_line
from .progress import Bar
from .raw_text import check_text, locate_paragraphs, segmented, words_of

# What stands for bytes that are no UTF-8.
_NO_TEXT = re.compile("[\udc80-\udcff]")
# After so many rows a group of a table is written.
_ROWS = 100_000


def place(text: str) -> Any:
    """A path, or a URI as it is."""
    return text if "://" in text else Path(text)


def refuse_uris(*paths: Path | str | None) -> None:
    """See that paths are none of URIs. RAISES (ValueError): If one is."""
    for path in paths:
        if isinstance(path, str):
            raise ValueError(f"'{path}' is a URI, which can be read and written with --ray.")


@dataclass(frozen=True)
class ShardTask(ABC):
    """What a command has workers do, see `spacy_hpyp.distributed.work.Task`: its settings.

    model (str): Where the pipeline is; "" if there is none.
    made_of (str): What identifies it, see `identity_of_model`.
    per_line (bool): Whether lines of text are sentences.
    field (str): Of records and tables, what the texts are in.
    output_format (str): One of `WRITERS`.
    """

    model: str
    made_of: str
    per_line: bool
    field: str
    output_format: str

    #: The columns of tables, and whether the command takes CoNLL-U.
    columns: ClassVar[Sequence[str]] = ()
    reads_conllu: ClassVar[bool] = False

    @abstractmethod
    def process(self) -> Process:
        """What is done to some documents, with the pipeline loaded."""

    def start(self) -> Process:
        """Get ready. RAISES (ValueError): If the pipeline is not there, or is another one than that of the command."""
        if self.model and identity_of_model(self.model) != self.made_of:
            raise ValueError(f"The pipeline '{self.model}' is another one on a worker than for the command.")
        return self.process()

    def documents(self, shard: Shard) -> Iterator[Document]:
        """The paragraphs, lines or sentences of a shard. RAISES (ValueError): If it is not what its name says."""
        if shard.kind == TABLE:
            for row, text in rows_of(shard, self.field):
                yield from (Document(row, part) for part in self._parts(text or "", shard))
            return
        lines = lines_of(shard, per_line=self.per_line)
        if shard.kind == RECORDS:
            found = self._of_records(lines, shard)
        else:
            blocks = paragraphs_of(lines) if shard.kind == CONLLU else ()
            found = (Document(own[0][0], "".join(line for _, line in own)) for own in blocks)
            found = found if shard.kind == CONLLU else _located(lines, shard, per_line=self.per_line)
        for document in found:
            damaged = _NO_TEXT.search(document.text)
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
        """The paragraphs, or lines, of a text."""
        lines = StringIO(text, newline="")
        return [part for _, part in locate_paragraphs(shard.path, per_line=self.per_line, file=lines)]

    def writer(self, file: Any) -> Writer:
        """What writes a shard."""
        return WRITERS[self.output_format](file, self.columns)


@dataclass(frozen=True)
class Sent:
    """A task whose pipeline workers take from Ray's object store where they do not see it, once a node.

    task (ShardTask): The task.
    files (Any): What refers to the contents of its files, by their names (dict[str, bytes]).
    """

    task: ShardTask
    files: Any

    def start(self) -> Process:
        """See `ShardTask.start`."""
        import ray

        if Path(self.task.model).exists():
            return self.task.start()
        folder = Path(gettempdir(), f"hpyp-{self.task.made_of}")
        if not folder.exists():
            with TemporaryDirectory(dir=folder.parent) as begun:
                for name, data in ray.get(self.files).items():
                    path = Path(begun, "model", name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                # Another worker may have been faster.
                with suppress(OSError):
                    Path(begun, "model").rename(folder)
        return replace(self.task, model=str(folder)).start()

    def documents(self, shard: Shard) -> Iterator[Document]:
        """See `ShardTask.documents`."""
        return self.task.documents(shard)

    def writer(self, file: Any) -> Writer:
        """See `ShardTask.writer`."""
        return self.task.writer(file)


def send(task: ShardTask) -> Sent:
    """Put the pipeline of a task, which is a folder, where all workers have it."""
    import ray

    return Sent(task, ray.put({name: path.read_bytes() for name, path in _files_of(Path(task.model)).items()}))


class Lines:
    """Strings, as they are."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        self._file = file

    def write(self, found: Iterable[str]) -> None:
        """Write some."""
        self._file.write("".join(found).encode())

    def close(self) -> None:
        """Nothing is left."""


class Sentences(Lines):
    """Words of sentences, a line of JSON each."""

    def write(self, found: Iterable[list[str]]) -> None:
        """Write some."""
        super().write(map(json_line, found))


class Sums:
    """What a model says of sentences, added up, as JSON."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        self._file, self._found = file, []

    def write(self, found: Iterable[Perplexity]) -> None:
        """Add some."""
        both = [*self._found, *found]
        self._found = [perplexity_of(both)] if both else []

    def close(self) -> None:
        """Write the sums, if there is anything."""
        self._file.write(json.dumps(self._found).encode())


class Pairs:
    """How often words stand side by side, see `text.word_pairs`."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        self._file, self._sentences = file, []

    def write(self, found: Iterable[list[str]]) -> None:
        """Keep the sentences to be counted."""
        self._sentences += found

    def close(self) -> None:
        """Write the counts."""
        self._file.write(count_pairs(self._sentences).to_bytes())


class Trees:
    """Parsed text, as arrays of NumPy."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        self._file, self._found = file, []

    def write(self, found: Iterable[ParsedText]) -> None:
        """Keep some."""
        self._found += found

    def close(self) -> None:
        """Write all."""
        self._file.write(join_parsed(self._found).to_bytes())


class Docs:
    """Documents, as a .spacy file."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        self._file, self._docs = file, DocBin(store_user_data=True)

    def write(self, found: DocBin) -> None:
        """Keep some."""
        self._docs.merge(found)

    def close(self) -> None:
        """Write all."""
        self._file.write(self._docs.to_bytes())


class Rows:
    """Rows of a table, as Parquet."""

    def __init__(self, file: Any, columns: Iterable[str]) -> None:
        import pyarrow
        from pyarrow.parquet import ParquetWriter

        types = (
            {"known": pyarrow.bool_()}
            | dict.fromkeys(_WHOLE, pyarrow.int64())
            | dict.fromkeys(_STRINGS, pyarrow.string())
        )
        self._schema = pyarrow.schema([(name, types.get(name, pyarrow.float64())) for name in columns])
        self._file, self._rows = ParquetWriter(file, self._schema, compression="zstd"), []

    def write(self, found: list[dict[str, Any]]) -> None:
        """Write some."""
        self._rows += found
        if len(self._rows) > _ROWS:
            self._flush()

    def close(self) -> None:
        """Write what is left, and how the table ends."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        import pyarrow

        self._file.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []


_WHOLE = ("paragraph", "sentence", "word", "token", "tokens", "start", "end", "head")
_STRINGS = ("file", "text", "tag", "class", "lemma", "upos", "feats", "deprel")
#: What writes output, by the ending of its files.
WRITERS: dict[str, Any] = {
    "conllu": Lines,
    "jsonl": Sentences,
    "json": Sums,
    "pairs": Pairs,
    "npz": Trees,
    "spacy": Docs,
    "parquet": Rows,
}


def words_in(
    shard: Shard, documents: Sequence[Document], nlp: Language | None, *, running: bool = False
) -> list[list[str]]:
    """The words of each of some documents, or if they are running text, of each sentence that a pipeline finds: those of CoNLL-U, those that a
    tokenizer finds, or what white space separates.
    """
    texts = ((at, text) for at, text, _ in documents)
    if shard.kind != CONLLU:
        return list(segmented(texts, shard.path, nlp) if running and nlp is not None else words_of(texts, nlp))
    blocks = [block for _, text, _ in documents for block in blocks_of(StringIO(text), shard.path)]
    return [[word.form for word in block.words] for block in blocks]


@dataclass(frozen=True)
class SentencesTask(ShardTask):
    """Finds sentences, as `read_sentences` does, to write their words or to count them.

    lang (str | None): The language of the tokenizer, if there is no pipeline; None where spaces are between words.
    digits (bool): Whether all digits are one.
    """

    lang: str | None
    digits: bool = False

    reads_conllu = True

    def process(self) -> Process:
        """What finds the sentences of documents."""
        nlp = load_pipeline(self.model) if self.model else None if self.lang is None else spacy.blank(self.lang)

        def find_sentences(shard: Shard, documents: Sequence[Document]) -> tuple[list[list[str]], int]:
            found = words_in(shard, documents, nlp, running=not self.per_line)
            if self.digits:
                found = [[*map(without_digits, words)] for words in found]
            return found, sum(map(len, found))

        return find_sentences


def sentences_by_workers(
    command: str,
    texts: Iterable[Any],
    output: Path,
    cluster: Cluster,
    *,
    model: str | None,
    lang: str | None,
    running: bool,
) -> Iterator[list[str]]:
    """The words of each sentence that workers find in texts, in the order of the texts, see `read_sentences`.

    command (str): What it is called.
    output (Path): What is made of them; they stand beside it.
    cluster (Cluster): The options of the command.
    model (str | None): The pipeline that finds words; in running text, sentences, too.
    lang (str | None): Instead, the language of the tokenizer; None where spaces are between words.
    running (bool): Whether a line of text is no sentence.
    """
    task = SentencesTask(*made_with(model), not running, cluster.field, "jsonl", lang)
    folder = output.with_name(f"{output.name}.sentences")
    distribute(command, task, shards_of(task, texts, cluster), folder, cluster)
    for path in sorted(folder.glob("part=*/*.jsonl")):
        with path.open(encoding="utf8") as file:
            yield from map(json.loads, file)


def pairs_by_workers(
    command: str,
    texts: Iterable[Any],
    output: Path,
    cluster: Cluster,
    model: str | None,
    lang: str | None,
    *,
    digits: bool,
) -> WordPairs:
    """Which words stand side by side in texts, counted and merged by workers. The arguments are those of `sentences_by_workers`.

    digits (bool): Whether all digits are one.
    """
    task = SentencesTask(*made_with(model), True, cluster.field, "pairs", lang, digits)
    shards = shards_of(task, texts, cluster)
    with connected(cluster.ray or "auto"):
        folder = distribute(command, task, shards, output.with_name(f"{output.name}.pairs"), cluster)
        return merge_shards(folder, shards, WordPairs.from_bytes, merge_pairs)


def _located(lines: Iterable[tuple[int, str]], shard: Shard, *, per_line: bool) -> Iterator[Document]:
    """Paragraphs, with their places in bytes; where they are cut out, they have places in characters."""
    begun: deque[tuple[int, int, str]] = deque()

    def texts() -> Iterator[str]:
        characters = 0
        for at, line in lines:
            begun.append((characters, at, line))
            characters += len(line)
            yield line

    for start, text in locate_paragraphs(shard.path, per_line=per_line, file=texts()):
        while len(begun) > 1 and begun[1][0] <= start:
            begun.popleft()
        first, at, line = begun[0]
        yield Document(at + len(line[: start - first].encode("utf8", "surrogateescape")), text)


def made_with(model: str | None) -> tuple[str, str]:
    """Where workers find a pipeline, which is its name if it is a package or else its absolute path, and what identifies it.

    model (str | None): Its name or path; of none both are "".
    RAISES (ValueError): If it is neither a directory nor an installed package.
    """
    if model is None:
        return "", ""
    found = pipeline_at(model)
    if not Path(found).exists() and not is_package(model):
        raise ValueError(f"There is no pipeline '{model}': neither a directory nor an installed package.")
    where = os.path.abspath(found) if Path(found).exists() else model
    return where, identity_of_model(where)


def identity_of_model(model: str) -> str:
    """What identifies a pipeline, or the model that is in a file.

    RAISES (ValueError): If it is not there.
    """
    path = Path(model) if Path(model).exists() else get_package_path(model) if is_package(model) else None
    if path is None:
        raise ValueError(
            f"There is no pipeline '{model}' on a worker: install it as a package on all nodes, or put it where they all see it."
        )
    files = {".": path} if path.is_file() else _files_of(path)
    return identity("".join(f"{name} {identity_of_file(file)}\n" for name, file in files.items()).encode())


def _files_of(folder: Path) -> dict[str, Path]:
    """The files of a pipeline, by their names in its folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.suffix != ".pyc")
    return {str(file.relative_to(folder)): file for file in files}


def shards_of(task: ShardTask, texts: Iterable[Any], cluster: Cluster, *, is_conllu: bool = False) -> list[Shard]:
    """What texts are cut into.

    task (ShardTask): What is to be done to them.
    texts (Iterable[Path | str]): Paths and URIs.
    cluster (Cluster): The options of the command.
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
    command: str, task: ShardTask, shards: Sequence[Shard], output: Any, cluster: Cluster, *, named: str = "--output"
) -> Folder:
    """Have workers of a cluster do something to shards, and say how far they are.

    command (str): What it is called.
    task (ShardTask): What is done.
    shards (Sequence[Shard]): To what.
    output (Path | str | None): The folder for the output, or its URI.
    cluster (Cluster): The options of the command, with an address.
    named (str): What the option for the folder is called.
    RETURNS (Folder): The folder.
    RAISES (ValueError): If there is no cluster, too much fails, or the folder has something else.
    """
    if output is None:
        raise ValueError(f"With --ray output goes to a folder: name it with {named}.")
    folder = Folder(str(output), task.output_format)
    settings = {name: value for name, value in asdict(task).items() if name != "model"}
    inputs = identity("".join(f"{path} {kind} {start} {end}\n" for _, path, _, kind, start, end in shards).encode())
    run = {
        "command": command,
        **settings,
        "inputs": f"{len({shard.path for shard in shards})} files {inputs}",
        "shard_size": cluster.shard_size,
        "version": __version__,
        "spacy": spacy.__version__,
    }
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
        lines = [f"{shard.path} from {shard.start:,} to {shard.end:,}: {why}" for shard, why in summary.failed.items()]
        raise ValueError(
            f"{len(summary.failed)} of {len(shards)} shards are left, which the same command tries again:\n"
            + "\n".join(lines)
            + f"\nThe others are in '{output}': {told}"
        )
    msg.good(f"Saved {summary.done:,} shards to {output}: {told}")
    return folder
