"""The sub-app of spaCy's command line that the commands belong to, and what several of them need."""

import re
import sys
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from tokenize import TokenError
from typing import Any, NoReturn

import spacy
import typer
from spacy.language import Language
from spacy.pipeline import DependencyParser, Tagger
from spacy.tokens import Doc, DocBin
from typer.core import TyperGroup
from wasabi import msg

from ..about import __version__
from ..compat.cli import app
from ..components.base import TrainableComponent
from ..components.easy_first_parser import EasyFirstParser
from ..components.easy_first_tagger import EasyFirstTagger
from ..components.head_outward_parser import HeadOutwardParser
from ..components.hpyp_parser import HPYPParser
from ..components.parse_combiner import VotingComponent
from ..storage.checksum import DAMAGE
from ..storage.files import prepare_folder, replace_file
from .progress import telling_of_compilation

HELP = "Commands of the generative parser, the component hpyp_parser."
_DEBUG = "--debug"
_PARSERS = HPYPParser, EasyFirstParser, HeadOutwardParser, VotingComponent
_OTHERS = DependencyParser, Tagger, EasyFirstTagger


#: What commands are called now that had other names before.
FORMER = {
    "annotate": "guides",
    "calibrate": "evaluate --calibration",
    "convert-lm": "papers convert-lm",
    "convert-ptb": "papers convert-ptb",
    "errors": "evaluate --errors",
    "head-outward": "papers head-outward",
    "learn": "learn-text",
    "rerank": "papers rerank",
    "states": "papers states",
}


class Listed(TyperGroup):
    """Commands that are listed under the headings of what they are for, each with a whole sentence."""

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:
        """List the commands, in the order in which they were added."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, command in self.commands.items():
            sentence = " ".join((command.help or "").split("\n\n")[0].split())
            sections.setdefault(getattr(command, "rich_help_panel", None) or "Commands", []).append(
                (name, sentence)
            )
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


class Commands(Listed):
    """Commands that end with one message, and not with a traceback, where a file, a pipeline or a language is
    not there or is damaged, a place cannot be written to, or a setting is out of its range. With `--debug`
    the traceback comes before it.
    """

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Read the options of the group; who has seen a message adds `--debug` at the end of the line."""
        return super().parse_args(ctx, sorted(args, key=lambda each: each != _DEBUG))

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> tuple:
        """Find a command, by its name or by the one that it had before."""
        if (name := args[0]) in FORMER:
            _note_new_name(name, FORMER[name])
            args = [*FORMER[name].split(), *args[1:]]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: typer.Context) -> Any:
        """Run a command."""
        try:
            with telling_of_compilation(note):
                return super().invoke(ctx)
        except BrokenPipeError:
            # Who reads stdout has seen enough; typer ends without a word.
            raise
        except (OSError, ValueError, ImportError) as error:
            if ctx.params["debug"]:
                traceback.print_exc()
            if isinstance(error, OSError) and error.filename is not None:
                fail(f"{error.strerror}: '{error.filename2 or error.filename}'")
            fail(error)


class OfPapers(Listed):
    """The commands of the papers; what is no name of a command are arguments of `tables`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Read the options of the group, of which there are none but `--help`."""
        if args and args[0] not in self.commands and args[0] != "--help":
            _note_new_name("papers", "papers tables")
            args = ["tables", *args]
        return super().parse_args(ctx, args)


def _note_new_name(old: str, new: str) -> None:
    note(f"'hpyp {old}' is called 'hpyp {new}' now; the old name goes on working in this version.")


hpyp = typer.Typer(name="hpyp", help=HELP, no_args_is_help=True, cls=Commands)
app.add_typer(hpyp)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"spacy-hpyp {__version__}, spaCy {spacy.__version__}")
        raise typer.Exit()


@hpyp.callback()
def main(
    debug: bool = typer.Option(
        False, _DEBUG, envvar="HPYP_DEBUG", help="Show the traceback of an error, too"
    ),
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version"
    ),
) -> None:
    """Commands of the generative parser, the component hpyp_parser."""


def note(text: str) -> None:
    """Say something on stderr: what stdout has may be read by another program."""
    typer.echo(text, err=True)


def fail(problem: object) -> NoReturn:
    """End the program with a message, on stderr."""
    with redirect_stdout(sys.stderr):
        msg.fail(str(problem))
    raise typer.Exit(1)


def of_extra(module: str, otherwise: str) -> Any:
    """A module that an extra installs. RAISES (ImportError): If it is not there, with what to do."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(otherwise) from error


def pipeline_at(name: str | Path) -> str | Path:
    """Where the pipeline is that is meant by a name: of the directory that `spacy train` or `hpyp learn-text`
    writes, the best or the last one.
    """
    if not (Path(name) / "config.cfg").exists():
        for each in ("model-best", "model-last"):
            if (Path(name) / each / "config.cfg").exists():
                return Path(name) / each
    return name


def load_pipeline(name: str | Path) -> Language:
    """Load a pipeline by its name or path, or by that of the directory of a training.

    RAISES (OSError): If it is not there.
    RAISES (ValueError): If spaCy cannot make anything of one of its files.
    """
    name, given = pipeline_at(name), name
    if name != given:
        note(f"'{given}' is the directory of a training: '{name}' is taken")
    try:
        return spacy.load(name)
    except (*DAMAGE, EOFError, re.error, TokenError) as error:
        problem = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        raise ValueError(f"The pipeline '{name}' cannot be loaded. {problem}") from error


def prepared(
    model: str | Path, *, threads: int | None, others: bool = False, **settings: Any
) -> tuple[Language, list[Any]]:
    """Load a pipeline, and set what is to be another setting than its own. Returns it and its parsers of this
    package.

    threads (int | None): Of all components of this package that have several.
    others (bool): Whether spaCy's own parser, or a tagger by itself, will do.
    settings: Those of parsers, by their names; None leaves them as they are.
    RAISES (ValueError): If there is no parser, or one that has not been trained, or a setting is out of its
        range or of a component that is not there.
    """
    nlp = load_pipeline(model)
    pipes = [pipe for _, pipe in nlp.pipeline]
    found = [pipe for pipe in pipes if isinstance(pipe, _PARSERS)]
    if not found and not (others and any(isinstance(pipe, _OTHERS) for pipe in pipes)):
        wanted = "a parser or tagger" if others else "a parser of this package, such as hpyp_parser"
        raise ValueError(f"The pipeline '{model}' should have {wanted}, but it has {nlp.pipe_names}")
    for parser in found:
        if not parser.is_trained:
            raise ValueError(f"The {parser.factory} of the pipeline '{model}' has not been trained.")
    owners = {"decoding": (HPYPParser, HeadOutwardParser), "beam": (EasyFirstParser,)}
    for name, value in settings.items():
        if value is None:
            continue
        kinds = owners.get(name, (HPYPParser,))
        parsers = [parser for parser in found if isinstance(parser, kinds)]
        if not parsers:
            owner = " and ".join(kind.factory for kind in kinds)
            raise ValueError(f"'{name}' is a setting of {owner}, which the pipeline '{model}' does not have.")
        for parser in parsers:
            parser.change(**{name: value})
    set_threads(nlp, threads)
    return nlp, found


def set_threads(nlp: Language, threads: int | None) -> None:
    """Set how many threads the components of this package have, those that have several; None leaves them as
    they are.
    """
    for _, pipe in nlp.pipeline:
        if threads is not None and isinstance(pipe, TrainableComponent) and hasattr(pipe, "threads"):
            pipe.change(threads=threads)


def prepare_output(path: Path | None, texts: Iterable[Path], *endings: str) -> None:
    """See that a file can be written, if there is to be one, and is none of the texts that it is made from.

    endings (str): Of names that say which format it has; a name may say none.
    RAISES (ValueError): If it is one of them, or a folder, or its name says another format.
    RAISES (OSError): If its folder cannot be made.
    """
    if path is None:
        return
    if path.suffix.lower() not in ("", *endings):
        raise ValueError(
            f"The name of the file to write should end with {' or '.join(endings)}, but it is '{path}'."
        )
    if path.is_dir():
        raise ValueError(f"'{path}' is a folder, but one file is written.")
    if path.exists() and any(text.exists() and path.samefile(text) for text in texts):
        raise ValueError(
            f"'{path}' is read, and would be replaced by what is written. Give the output another name."
        )
    prepare_folder(path.parent)


def save_docs(path: Path, docs: Iterable[Doc]) -> None:
    """Write documents with their user data to a .spacy file."""
    replace_file(path, DocBin(docs=docs, store_user_data=True).to_bytes())


def load_parser(
    model: str | Path, *, particles: int | None = None, threads: int | None = None
) -> tuple[Language, HPYPParser]:
    """Load a pipeline that has one hpyp_parser, perhaps with other settings than its own. Returns both.

    RAISES (ValueError): If it has none, or several, or a parser that has not been trained, or a setting is
        out of its range.
    """
    nlp, found = prepared(model, threads=threads, particles=particles)
    parsers = [parser for parser in found if isinstance(parser, HPYPParser)]
    if len(parsers) != 1:
        raise ValueError(f"The pipeline '{model}' should have one hpyp_parser, but it has {nlp.pipe_names}")
    return nlp, parsers[0]
