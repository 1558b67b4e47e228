"""Trainings of pipelines, as 'spacy train' does them, guides for them, and what is kept of those that have
ended.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stdout
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import srsly
from spacy.cli.train import train
from wasabi import msg

from ..components.alignment import example_of_words
from ..storage.files import replace_file
from .app import load_parser, save_docs
from .options import DocsFile, Generative, Threads, argument, option
from .progress import Bar
from .raw_text import read_training

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
) -> None:
    """Write the corpus that a parser was trained on with what it believes about it, for components that read
    guides to learn from.

    A part of the sentences is taken out of the model, parsed by what is left of it, and put back, until all
    have been parsed by a parser that has not seen them. The documents have the gold annotation on the tokens
    and words that the parser has learned, and the guides, which are about words, in `doc._.guide`.
    """
    nlp, parser = load_parser(model, threads=threads)
    examples = read_training(corpus, nlp, nlp.config)
    words = sum(len(example_of_words(example).predicted) for example in examples)
    if not words:
        raise ValueError(f"There is nothing to annotate in '{corpus}'.")
    with Bar(total=words, desc="Annotating", unit=" words") as bar:
        docs, learned = parser.leave_out(examples, folds=folds, progress=bar.update)
    save_docs(output, docs)
    msg.good(
        f"Annotated {words:,} words, with {learned:,} sentences left out when they were parsed; saved "
        f"{output}"
    )
