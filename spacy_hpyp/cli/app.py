"""The group of commands in spaCy's command line, and functions that several commands share."""

import re
import sys
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from tokenize import TokenError
from typing import Any

import click
import spacy
import typer
from spacy.cli import app
from spacy.cli._util import parse_config_overrides
from spacy.language import Language
from spacy.pipeline import DependencyParser, Tagger
from spacy.tokens import Doc, DocBin
from typer.core import TyperGroup
from wasabi import msg

from ..pipeline.base import TrainableComponent
from ..pipeline.easy_first_parser import EasyFirstParser
from ..pipeline.head_outward_parser import HeadOutwardParser
from ..pipeline.hpyp_parser import HPYPParser
from ..pipeline.parse_combiner import ParseCombiner
from ..pipeline.word_classifiers import EasyFirstTagger
from ..storage import DAMAGE, prepare_folder, replace_file
from .progress import telling_of_compilation

_PARSERS = HPYPParser, EasyFirstParser, HeadOutwardParser, ParseCombiner
_OTHERS = DependencyParser, Tagger, EasyFirstTagger


class Commands(TyperGroup):
    """Commands that end with one message instead of a traceback. `--debug` prints the traceback,
    too.
    """

    def invoke(self, ctx: typer.Context) -> Any:
        """Run a command."""
        try:
            with telling_of_compilation(note):
                return super().invoke(ctx)
        except BrokenPipeError:
            # The reader of stdout has gone.
            raise
        except (OSError, ValueError, ImportError) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            problem = str(error)
            if isinstance(error, OSError) and error.filename is not None:
                problem = f"{error.strerror}: '{error.filename2 or error.filename}'"
            with redirect_stdout(sys.stderr):
                msg.fail(problem)
            raise typer.Exit(1) from error


hpyp = typer.Typer(name="hpyp", no_args_is_help=True, cls=Commands)
app.add_typer(hpyp)


@hpyp.callback()
def main(
    debug: bool = typer.Option(False, "--debug", help="Print the traceback of an error"),
) -> None:
    """Commands of the generative parser, the component hpyp_parser."""


def note(text: str) -> None:
    """Print a message to stderr, as another program may read stdout."""
    typer.echo(text, err=True)


def of_extra(module: str, advice: str) -> Any:
    """Import a module that an extra installs. RAISES (ImportError): If it is missing, with the
    advice.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(advice) from error


def overrides_of(ctx: typer.Context) -> dict[str, Any]:
    """Read settings of a config from the command line, as `spacy train` does: --nlp.lang fr."""
    try:
        return parse_config_overrides(ctx.args)
    except click.ClickException as error:
        raise ValueError(error.format_message()) from error


def load_pipeline(name: str | Path, overrides: dict[str, Any] | None = None) -> Language:
    """Load a pipeline by its name or path, with settings by their names with dots.

    RAISES (OSError | ValueError): If there is none, or spaCy cannot read one of its files.
    """
    try:
        return spacy.load(name, config=overrides or {})
    except (*DAMAGE, EOFError, re.error, TokenError) as error:
        problem = (
            str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        )
        raise ValueError(f"The pipeline '{name}' cannot be loaded. {problem}") from error


def prepared(
    model: str | Path,
    *,
    particles: int | None = None,
    threads: int | None = None,
    others: bool = False,
    overrides: dict[str, Any] | None = None,
) -> tuple[Language, list[Any]]:
    """Load a pipeline, perhaps with other settings, and return it and its parsers of this package.

    particles (int | None): Instead of the setting of each hpyp_parser.
    threads (int | None): Instead of the setting of each component.
    others (bool): Whether spaCy's own parser or a tagger alone will do.
    overrides (dict[str, Any] | None): Settings of its config, by their names with dots.
    RAISES (ValueError): If there is no trained parser, or a setting is wrong.
    """
    nlp = load_pipeline(model, overrides)
    pipes = [pipe for _, pipe in nlp.pipeline]
    parsers = [pipe for pipe in pipes if isinstance(pipe, _PARSERS)]
    if not parsers and not (others and any(isinstance(pipe, _OTHERS) for pipe in pipes)):
        wanted = "a parser or tagger" if others else "a parser of this package, such as hpyp_parser"
        raise ValueError(
            f"The pipeline '{model}' should have {wanted}, but it has {nlp.pipe_names}"
        )
    for parser in parsers:
        if not parser.is_trained:
            raise ValueError(
                f"The {parser.factory} of the pipeline '{model}' has not been trained."
            )
    if particles is not None:
        generative = [parser for parser in parsers if isinstance(parser, HPYPParser)]
        if not generative:
            raise ValueError(
                f"--particles needs an hpyp_parser, which the pipeline '{model}' does not have."
            )
        for parser in generative:
            parser.change(particles=particles)
    set_threads(nlp, threads)
    return nlp, parsers


def set_threads(nlp: Language, threads: int | None) -> None:
    """Set the threads of all components of this package; None leaves them as they are."""
    for _, pipe in nlp.pipeline:
        if (
            threads is not None
            and isinstance(pipe, TrainableComponent)
            and hasattr(pipe, "threads")
        ):
            pipe.change(threads=threads)


def prepare_output(path: Path | None, texts: Iterable[Path], *endings: str) -> None:
    """Check that a file, whose name has one of some endings, can be written and is not read.

    RAISES (OSError | ValueError): If it cannot.
    """
    if path is None:
        return
    if path.suffix.lower() not in ("", *endings):
        raise ValueError(
            f"The name of the output should end with {' or '.join(endings)}, not '{path}'."
        )
    if path.is_dir():
        raise ValueError(f"'{path}' is a folder, but one file is written.")
    if path.exists() and any(text.exists() and path.samefile(text) for text in texts):
        raise ValueError(f"'{path}' is also read. Give the output another name.")
    prepare_folder(path.parent)


def save_docs(path: Path, docs: Iterable[Doc]) -> None:
    """Write documents with their user data to a .spacy file."""
    replace_file(path, DocBin(docs=docs, store_user_data=True).to_bytes())


def load_parser(
    model: str | Path, *, particles: int | None = None, threads: int | None = None
) -> tuple[Language, HPYPParser]:
    """Load a pipeline with one hpyp_parser, and return both; see `prepared`."""
    nlp, parsers = prepared(model, threads=threads, particles=particles)
    generative = [parser for parser in parsers if isinstance(parser, HPYPParser)]
    if len(generative) != 1:
        raise ValueError(
            f"The pipeline '{model}' should have one hpyp_parser, but it has {nlp.pipe_names}"
        )
    return nlp, generative[0]
