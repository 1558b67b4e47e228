"""Trainings of pipelines, as 'spacy train' does them, guides for them, and what is kept of those that have
ended; workflows for many treebanks.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import srsly
import typer
from spacy.cli.train import train
from wasabi import msg

from ..annotation.arrays import Guides
from ..components.alignment import example_of_words
from ..distributed.cluster import connected
from ..distributed.commands import RemoteProcess, ended, running
from ..distributed.inputs import Document, Shard
from ..distributed.work import Process
from ..storage.arrays import load_arrays
from ..storage.files import prepare_folder, replace_file
from .app import load_parser, note, save_docs
from .options import DocsFile, Elsewhere, Generative, Threads, Workers, argument, option
from .progress import Bar
from .raw_text import read_training
from .shards import ShardTask, beside, distribute, identity_of_model, made_with, see_same
from .tables import separate

# What the generative parser of a guided pipeline has in common with it, by the beginnings of names.
_COMMON = ("nlp.", "system.", "paths.classes")
# What has the parser write what others read of it.
_GUIDES = "components.hpyp_parser.guides"


def train_pipeline(
    config: Path,
    folder: Path,
    train_path: Path,
    dev_path: Path,
    overrides: dict[str, Any],
    *,
    parser: Path | None = None,
) -> None:
    """Train a pipeline, with a generative parser to guide it if there is a config of one.

    folder (Path): Gets "model-best" and "model-last".
    overrides (dict[str, Any]): Settings that are others than in the config; the parser has those of
        `_COMMON`, too.
    parser (Path | None): The config of the parser. It is trained first, and annotates what the pipeline
        learns from as if it had not seen it.
    RAISES (ValueError): If the overrides say what is learned from.
    """
    own = {"paths.train": str(train_path), "paths.dev": str(dev_path)}
    if given := own.keys() & overrides.keys():
        raise ValueError(
            f"What is learned from follows from the arguments: there can be no --{min(given)} besides."
        )
    folder.mkdir(exist_ok=True)
    if parser is not None:
        common = {name: value for name, value in overrides.items() if name.startswith(_COMMON)}
        train_pipeline(parser, folder / "parser", train_path, dev_path, {**common, _GUIDES: True})
        found, guided = folder / "parser" / "model-best", folder / "train-guided.spacy"
        with redirect_stdout(sys.stderr):
            guides(str(found), train_path, guided)
        own |= {"paths.train": str(guided), "paths.parser": str(found)}
    # What spaCy says of a training belongs to its progress.
    with redirect_stdout(sys.stderr):
        train(config, folder, overrides={**overrides, **own})


def train_once(made: str, config: Path, folder: Path, *arguments: Any, **settings: Any) -> Path:
    """Train a pipeline, see `train_pipeline`, if that has not been done with what it is made of (see
    `made_of`). Returns the best model.
    """
    done = folder / "made_of"
    if done.exists() and done.read_text() == made:
        msg.info(f"'{folder}' has been trained before")
    else:
        msg.divider(f"Training {folder.name}")
        train_pipeline(config, folder, *arguments, **settings)
        replace_file(done, made.encode())
    return folder / "model-best"


def run_commands(
    lines: Mapping[str, Sequence[str]], output: Path, elsewhere: Elsewhere, *, name: str, inside: bool = False
) -> Iterator[str]:
    """Run commands on a Ray cluster, and name each that has made what it should.

    lines (Mapping[str, Sequence[str]]): What `python -m spacy` is given, by the names of their folders; each
        gets a log.
    name (str): What they are called in Ray's dashboard.
    inside (bool): Whether they run in their folders, and not here.
    RAISES (ValueError): In the end, if some have failed.
    """
    failed: dict[str, Path] = {}
    if not lines:
        return
    with connected(elsewhere.ray or "local"), running() as processes:
        needs: dict[str, Any] = {"cpus": elsewhere.cpus, "memory": elsewhere.memory}
        for each, line in lines.items():
            folder = output / each
            prepare_folder(folder)
            program = [sys.executable, "-m", "spacy", *line]
            where = folder if inside else Path()
            processes[each] = RemoteProcess(
                program, folder / "log.txt", name=f"{name} {each}", folder=where, **needs
            )
            note(f"{each}: {shlex.join(program[1:])}")
        while processes:
            for each, code in ended(processes):
                note(f"{each} has {'failed' if code else 'ended'}; {len(processes)} are left")
                if code:
                    failed[each] = output / each / "log.txt"
                else:
                    yield each
    if failed:
        logs = ", ".join(map(str, failed.values()))
        raise ValueError(
            f"{len(failed)} of {len(lines)} have failed: {', '.join(failed)}. The same command tries again. "
            f"See {logs}"
        )


class Figures:
    """Figures of trainings that have ended, in a file: a command that was interrupted goes on after the last
    of them.

    name (str): What tells the trainings apart.
    needed (Iterable[str]): What there is of each besides.
    RAISES (ValueError): If the file is another one.
    """

    def __init__(self, path: Path, name: str, needed: Iterable[str]) -> None:
        self._path, self._name, self.records = path, name, []
        if path.exists():
            try:
                records = json.loads(path.read_text(encoding="utf8"))
                self.records = [record for record in records if {"made_of", name, *needed} <= record.keys()]
            except (ValueError, AttributeError, TypeError) as error:
                raise ValueError(f"'{path}' has no figures of trainings ({error}): remove it.") from error

    def has(self, made_of: str) -> bool:
        """Whether there are the figures of a training, given what it was made of."""
        return any(record["made_of"] == made_of for record in self.records)

    def add(self, record: dict[str, Any]) -> None:
        """Keep the figures of a training, in the place of those of the same name."""
        self.records = [*(other for other in self.records if other[self._name] != record[self._name]), record]
        replace_file(self._path, srsly.json_dumps(self.records, indent=2).encode())


def files_of(overrides: Mapping[str, Any]) -> list[bytes]:
    """The contents of the files that overrides of a config name, as `paths.classes` does."""
    return [
        Path(value).read_bytes()
        for value in overrides.values()
        if isinstance(value, str) and Path(value).is_file()
    ]


def made_of(*parts: Any) -> str:
    """What identifies that from which something is made: contents of files, as bytes, and what can be written
    as JSON.
    """
    found = sha256()
    for part in parts:
        found.update(
            part if isinstance(part, bytes) else json.dumps(part, sort_keys=True, default=str).encode()
        )
    return found.hexdigest()


def guides(
    model: Generative,
    corpus: Annotated[
        Path, argument("What it was trained on: .conllu or .spacy, or a directory", exists=True)
    ],
    output: DocsFile,
    *,
    folds: Annotated[
        int, option("How many parts of the corpus are left out, one after the other", least=2)
    ] = 10,
    threads: Threads = None,
    cluster: Workers = Workers(),
) -> None:
    """Write the corpus that a parser was trained on with what it believes about it, for components that read
    guides to learn from.

    A part of the sentences is taken out of the model, parsed by what is left of it, and put back, until all
    have been parsed by a parser that has not seen them. The documents have the gold annotation on the tokens
    and words that the parser has learned, and the guides, which are about words, in `doc._.guide`.

    With --ray each part is a shard: workers annotate it, with one thread each, into a folder beside the
    output, which is the same.
    """
    if cluster.ray is not None and threads is not None:
        raise ValueError("With --ray there is no --threads: each worker has one.")
    nlp, parser = load_parser(model, threads=threads)
    examples = read_training(corpus, nlp, nlp.config)
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    guides = None
    if cluster.ray is not None:
        where = str(corpus.absolute())
        task = GuidesTask(*made_with(model), True, "", "guides", where, identity_of_model(where), folds)
        shards = [Shard(part, where, f"part {part + 1}", "part", part, folds) for part in range(folds)]
        folder = distribute("guides", task, shards, beside(output), cluster)
        guides = (Guides(**load_arrays(folder.read(shard))) for shard in shards)
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update, guides=guides)
    save_docs(output, docs)
    msg.good(
        f"Annotated {words:,} words, with {learned:,} sentences left out when they were parsed; saved "
        f"{output}"
    )


@dataclass(frozen=True)
class GuidesTask(ShardTask):
    """What `hpyp guides --ray` has workers do: annotate one of so many parts of a corpus by the parser that
    was trained on it, without the part.
    """

    corpus: str
    corpus_made_of: str
    folds: int

    def documents(self, shard: Shard) -> Iterator[Document]:
        """The part as one document, since it fails as a whole."""
        yield Document(shard.start, "")

    def process(self) -> Process:
        """What annotates parts."""
        see_same("corpus", self.corpus, self.corpus_made_of)
        nlp, parser = load_parser(self.model, threads=1)
        examples = read_training(Path(self.corpus), nlp, nlp.config)
        _, parts = parser.parts_to_leave_out(examples, folds=self.folds)

        def annotate(shard: Shard, documents: Sequence[Document]) -> tuple[list[Guides], int]:
            found = parts.annotate(shard.start)
            return [found], len(found.heads)

        return annotate


# What a project consists of that its workflows only read.
_SHARED = ("project.yml", "assets", "configs")


def treebanks(
    ctx: typer.Context,
    treebanks: Annotated[
        Path,
        argument("Lines with treebank, prefix, language: UD_French-Sequoia fr_sequoia-ud fr", exists=True),
    ],
    output: Annotated[Path, argument("Folder that gets one for each treebank", file_okay=False)],
    *,
    project: Annotated[Path, option("Folder of the project", exists=True, file_okay=False)] = Path(),
    workflow: Annotated[str, option("Which workflow or command of it")] = "all",
    elsewhere: Elsewhere = Elsewhere(ray="local"),
) -> None:
    """Run a workflow of the project for each of some treebanks on a Ray cluster.

    Each has a folder, with a log. What has been made is not made again: the same command goes on, and tries
    again what has failed. Variables of the project can be overridden for all, as in --vars.config paper.
    """
    names, settings = separate(ctx.args)
    if names:
        raise ValueError(f"'{names[0]}' is no setting of the project, as --vars.config paper.")
    rows = [line.split() for line in treebanks.read_text(encoding="utf8").splitlines() if line.strip()]
    if wrong := [" ".join(row) for row in rows if len(row) != 3] or [""] * (not rows):
        raise ValueError(
            f"A line of '{treebanks}' has a treebank, a prefix and a language, but there is '{wrong[0]}'."
        )
    lines = {}
    for treebank, prefix, lang in rows:
        folder = output / prefix
        prepare_folder(folder)
        for name in _SHARED:
            if (project / name).exists() and not (folder / name).exists():
                (folder / name).symlink_to((project / name).absolute())
        own = [f"--vars.treebank={treebank}", f"--vars.prefix={prefix}", f"--vars.lang={lang}", *settings]
        lines[prefix] = ["project", "run", workflow, ".", *own]
    for _ in run_commands(lines, output, elsewhere, name=workflow, inside=True):
        pass
    msg.good(f"{len(rows)} treebanks, in {output}")
