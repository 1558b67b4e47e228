"""Commands under `python -m spacy hpyp`."""

from collections.abc import Callable
from inspect import signature

import typer

from . import (
    check,
    classes,
    combine,
    compact,
    convert,
    convert_papers,
    cross_validate,
    evaluate,
    explore,
    generate,
    learn_text,
    ngram,
    parse,
    perplexity,
    rank,
    reading,
    report,
    surprisal,
    trainings,
    udeval,
    warm,
)
from .app import hpyp
from .options import with_groups

__all__ = ["hpyp"]

_COMMANDS = [
    parse.parse,
    surprisal.surprisal,
    reading.reading,
    evaluate.evaluate,
    udeval.udeval,
    report.report,
    explore.explore,
    rank.rank,
    cross_validate.cross_validate,
    perplexity.perplexity,
    generate.generate,
    check.check,
    convert.split,
    convert.convert,
    trainings.guides,
    combine.combine,
    classes.classes,
    learn_text.learn_text,
    ngram.ngram,
    compact.compact,
    warm.warm,
]


def _add(group: typer.Typer, function: Callable, name: str = "") -> None:
    """Add a command, named after its function by default."""
    name = name or function.__name__.replace("_", "-")
    # A command with a context reads settings of a config from it.
    free = {"allow_extra_args": True, "ignore_unknown_options": True}
    settings = free if "ctx" in signature(function).parameters else {}
    group.command(name, context_settings=settings)(with_groups(function))


for _function in _COMMANDS:
    _add(hpyp, _function)
_papers = typer.Typer(name="papers", help="Convert the treebank of the papers.", no_args_is_help=True)
_add(_papers, convert_papers.convert_ptb)
hpyp.add_typer(_papers)
