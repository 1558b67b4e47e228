"""The sub-app of spaCy's command line that the commands belong to, and what several of them need."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import NoReturn

import spacy
import typer
from spacy.cli._util import app
from spacy.language import Language
from wasabi import msg

from ..component import HPYPParser

HELP = "Commands of the generative parser, the component hpyp_parser."

#: What is raised when a file, a pipeline or a language is not there or is damaged, or a setting is out of its range.
UNREADABLE = (ValueError, OSError, ImportError)

hpyp = typer.Typer(name="hpyp", help=HELP, no_args_is_help=True)
app.add_typer(hpyp)


@hpyp.callback()
def main() -> None:
    """Commands of the generative parser, the component hpyp_parser."""


def fail(problem: object) -> NoReturn:
    """End the program with a message, on stderr: what stdout has may be read by another program."""
    with redirect_stdout(sys.stderr):
        msg.fail(str(problem))
    raise typer.Exit(1)


def load_parser(
    model: str | Path, *, particles: int | None = None, threads: int | None = None
) -> tuple[Language, HPYPParser]:
    """Load a pipeline that has one hpyp_parser.

    model (str | Path): Name or path of the pipeline.
    particles, threads (int | None): Instead of the pipeline's settings.
    RETURNS (tuple[Language, HPYPParser]): The pipeline and its parser; ends the program with a message if it has none.
    """
    nlp = spacy.load(model)
    parsers = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser)]
    if len(parsers) != 1:
        msg.fail(f"The pipeline should have one hpyp_parser, but it has {len(parsers)}: {nlp.pipe_names}", exits=1)
    parser = parsers[0]
    parser.particles = parser.particles if particles is None else particles
    parser.threads = parser.threads if threads is None else threads
    return nlp, parser
