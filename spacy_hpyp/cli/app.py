"""Loading and output, which the commands share."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

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


def load_pipeline(
    model: str | Path, *, threads: int | None = None, overrides: dict[str, Any] | None = None
) -> Language:
    """Load a pipeline, perhaps with other `threads` in each component of this package, and other
    settings of its config, by their names with dots.

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
    """Import modules of an extra, and return the last. RAISES (ImportError): If one is missing."""
    try:
        return [import_module(name) for name in modules][-1]
    except ImportError as error:
        raise ImportError(
            f"The command needs {modules[0]}, which is in the extra '{extra}': "
            f"pip install 'spacy-hpyp[{extra}]'"
        ) from error


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
