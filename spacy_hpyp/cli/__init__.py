"""Commands under `python -m spacy hpyp`, by what they are for."""

from collections.abc import Callable
from inspect import signature

import typer

from . import (
    cache,
    check,
    classes,
    combine,
    combined,
    compact,
    convert,
    convert_lm,
    convert_ptb,
    cross_validate,
    evaluate,
    explore,
    generate,
    guides,
    head_outward,
    info,
    learn_text,
    learning_curve,
    ngram,
    package,
    parse,
    perplexity,
    rank,
    reading,
    report,
    rerank,
    select_contexts,
    split,
    states,
    surprisal,
    tables,
    treebanks,
    udeval,
    warm,
)
from .app import OfPapers, OfVoters, hpyp
from .options import with_groups

__all__ = ["hpyp"]

_EVERY_DAY, _TRAINING, _PAPERS = "Every day", "For training", "For the papers"

voters = typer.Typer(
    help="Let parsers vote with the one that you have, or say how sure its arcs are; 'combine PIPELINE TREEBANK' is short for 'combine pipeline'.",
    no_args_is_help=True,
    cls=OfVoters,
)
papers = typer.Typer(
    help="Fill the tables of the papers, and do what only they need.", no_args_is_help=True, cls=OfPapers
)


def _add(group: typer.Typer, commands: dict[str, Callable], panel: str | None = None, *, hidden: bool = False) -> None:
    """Add commands to a group, the common ones first, under a heading or hidden."""
    for name, function in commands.items():
        # What reads the context reads from it the settings of a config that are overridden.
        others = (
            {"allow_extra_args": True, "ignore_unknown_options": True}
            if "ctx" in signature(function).parameters
            else {}
        )
        group.command(name, rich_help_panel=panel, context_settings=others, hidden=hidden)(with_groups(function))


_add(
    hpyp,
    {
        "parse": parse.parse,
        "surprisal": surprisal.surprisal,
        "reading": reading.reading,
        "evaluate": evaluate.evaluate,
        "udeval": udeval.udeval,
        "report": report.report,
        "explore": explore.explore,
        "rank": rank.rank,
        "cross-validate": cross_validate.cross_validate,
        "learning-curve": learning_curve.learning_curve,
        "perplexity": perplexity.perplexity,
        "generate": generate.generate,
    },
    _EVERY_DAY,
)
_add(
    hpyp,
    {
        "check": check.check,
        "split": split.split,
        "convert": convert.convert,
        "guides": guides.guides,
        "classes": classes.classes,
        "learn-text": learn_text.learn_text,
        "ngram": ngram.ngram,
        "select-contexts": select_contexts.select_contexts,
        "treebanks": treebanks.treebanks,
        "compact": compact.compact,
        "package": package.package,
        "release": package.release,
        "warm": warm.warm,
        "cache": cache.cache,
        "info": info.info,
    },
    _TRAINING,
)
_add(voters, {"pipeline": combined.combine, "hold-out": combine.hold_out, "keep": combine.keep_parses})
hpyp.add_typer(voters, name="combine", rich_help_panel=_TRAINING)
_add(
    papers,
    {
        "tables": tables.tables,
        "convert-ptb": convert_ptb.convert_ptb,
        "convert-lm": convert_lm.convert_lm,
        "head-outward": head_outward.head_outward,
        "states": states.states,
        "rerank": rerank.rerank,
    },
)
hpyp.add_typer(papers, name="papers", rich_help_panel=_PAPERS)
_add(hpyp, {"errors": evaluate.former_errors, "calibrate": evaluate.former_calibrate}, hidden=True)
