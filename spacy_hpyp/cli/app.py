"""Options, loading and output, which the commands share."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TextIO

import spacy
import srsly
import typer
from spacy.language import Language
from tqdm import tqdm
from wasabi import msg

from ..pipeline.base import TrainableComponent
from ..pipeline.hpyp_parser import HPYPParser
from ..storage import prepare_folder, replace_file, replacing

#: Names of spaCy's scores by their names in tables.
SCORES = {"UAS": "dep_uas", "LAS": "dep_las", "TAG": "tag_acc"}
#: A progress bar that disappears at the end, for a terminal.
Bar = partial(tqdm, leave=False, disable=None)
# Options


def option(meaning: str, names: str = "", **settings: Any) -> Any:
    """Declare an option, with settings of `typer.Option`.

    names (str): Its names with spaces between them, instead of the parameter's.
    """
    return typer.Option(*names.split(), help=meaning, **settings)


def argument(meaning: str, **settings: Any) -> Any:
    """Declare an argument, with settings of `typer.Argument`."""
    return typer.Argument(help=meaning, **settings)


def _prepare_parent(path: Path | None) -> Path | None:
    if path is not None:
        prepare_folder(path.parent)
    return path


#: Settings of options and arguments for files to read and files to write.
FILE = {"exists": True, "dir_okay": False}
NEW_FILE: dict[str, Any] = {"dir_okay": False, "callback": _prepare_parent}
AnyPipeline = Annotated[str, argument("Name or path of a trained pipeline")]
Generative = Annotated[str, argument("Name or path of a trained pipeline with an hpyp_parser")]
AnyModel = Annotated[
    str, argument("Trained pipeline with an hpyp_parser, or model of 'hpyp ngram'")
]
Data = Annotated[Path, argument("Evaluation data: .conllu or .spacy, or a directory", exists=True)]
Json = Annotated[Path | None, option("JSON file for the figures", "--output -o", **NEW_FILE)]
Threads = Annotated[
    int | None, option("Number of threads (default: the pipeline's setting)", "--threads -t")
]
PerLine = Annotated[bool, option("Read each line of a text as one sentence", "--per-line -l")]
Tokenized = Annotated[bool, option("Split text into words at white space")]
RayAddress = Annotated[str | None, option("Ray cluster: 'local', 'auto' or an address", "--ray")]
Workers = Annotated[
    int | None, option("With --ray: number of workers (default: one per core)", min=1)
]

# Loading


def load_pipeline(
    model: str | Path, *, threads: int | None = None, overrides: dict[str, Any] | None = None
) -> Language:
    """Load a pipeline, perhaps with other settings.

    threads (int | None): Instead of the setting of each component of this package.
    overrides (dict[str, Any] | None): Settings of its config, by their names with dots.
    RAISES (ValueError | OSError): If a setting is wrong, or there is no such pipeline.
    """
    nlp = spacy.load(model, config=overrides or {})
    for _, pipe in nlp.pipeline if threads is not None else ():
        if isinstance(pipe, TrainableComponent) and hasattr(pipe, "threads"):
            pipe.change(threads=threads)
    return nlp


def parsers_of(nlp: Language) -> list[HPYPParser]:
    """Return the generative parsers of a pipeline."""
    return [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]


def load_parser(model: str | Path, *, threads: int | None = None) -> tuple[Language, HPYPParser]:
    """Load a pipeline, and return it with its parser; see `load_pipeline`. RAISES (ValueError): If
    it does not have exactly one trained hpyp_parser.
    """
    nlp = load_pipeline(model, threads=threads)
    parsers = parsers_of(nlp)
    if len(parsers) != 1 or not parsers[0].is_trained:
        raise ValueError(
            f"'{model}' should have one trained hpyp_parser, but it has {nlp.pipe_names}."
        )
    return nlp, parsers[0]


def require_extra(extra: str, *modules: str) -> Any:
    """Import modules that an extra installs, and return the last one.

    RAISES (ImportError): If one is missing.
    """
    try:
        return [import_module(name) for name in modules][-1]
    except ImportError as error:
        raise ImportError(
            f"The command needs {modules[0]}, which is in the extra '{extra}': "
            f"pip install 'spacy-hpyp[{extra}]'"
        ) from error


# Output


def note(text: str) -> None:
    """Print a message to stderr, as another program may read stdout."""
    typer.echo(text, err=True)


@contextmanager
def writing(path: Path | None, what: str) -> Iterator[TextIO]:
    """Open stdout, or a file that appears when complete. RAISES (OSError): If it cannot be made."""
    if path is None:
        yield typer.get_text_stream("stdout", encoding="utf8")
        return
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    prepare_folder(path.parent)
    with replacing(path, "w", encoding="utf8", newline="") as file:
        yield file
    msg.good(f"Saved {what} to {path}")


def is_shown(path: Path | None) -> bool | None:
    """Return True if a progress bar would disturb output on the screen, else None, for tqdm."""
    return (path is None and sys.stdout.isatty()) or None


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and contents of a folder's files but .pyc."""
    if path.is_file():
        return sha256(path.read_bytes()).hexdigest()
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc")
    parts = [f"{file.relative_to(path).as_posix()} {checksum(file)}" for file in files]
    return sha256("\n".join(parts).encode()).hexdigest()


def json_line(value: Any) -> str:
    """Return a value as a line of JSON."""
    return json.dumps(value, ensure_ascii=False) + "\n"


def save_json(path: Path | None, value: Any, what: str) -> None:
    """Write a value to a file, if there is to be one."""
    if path is not None:
        replace_file(path, srsly.json_dumps(value, indent=2).encode())
        msg.good(f"Saved {what} to {path}")


def print_table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    title: str | None = None,
    *,
    left: int = 1,
    **settings: Any,
) -> None:
    """Print a table whose first `left` columns are words; settings are those of wasabi."""
    aligns = ["l"] * left + ["r"] * (len(header) - left)
    msg.table(list(rows), header=header, divider=True, aligns=aligns, title=title, **settings)


def percent(value: float | None) -> str:
    """Return a proportion in percent with two decimals, "-" for None."""
    return "-" if value is None else f"{100 * value:.2f}"
