"""Commands under `python -m spacy hpyp`."""

from inspect import signature

from . import (
    classes,
    combine,
    compact,
    convert,
    cross_validate,
    evaluate,
    explore,
    guides,
    language_models,
    parse,
    precompile,
    rank,
    report,
    surprisal,
    udeval,
)
from .app import hpyp

__all__ = ["hpyp"]

_COMMANDS = [
    parse.parse,
    surprisal.surprisal,
    surprisal.reading,
    evaluate.evaluate,
    udeval.udeval,
    report.report,
    explore.explore,
    rank.rank,
    cross_validate.cross_validate,
    language_models.perplexity,
    language_models.generate,
    convert.split,
    convert.convert,
    guides.guides,
    combine.combine,
    classes.classes,
    language_models.self_train,
    language_models.ngram,
    compact.compact,
    precompile.precompile,
]


for _function in _COMMANDS:
    # A command with a context reads settings of a config from it.
    _free = {"allow_extra_args": True, "ignore_unknown_options": True}
    _settings = _free if "ctx" in signature(_function).parameters else {}
    hpyp.command(_function.__name__.replace("_", "-"), context_settings=_settings)(_function)
