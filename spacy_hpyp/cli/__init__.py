"""Commands under `python -m spacy hpyp`, by what they are for."""

from importlib import import_module
from inspect import signature

import typer

from .app import OfPapers, hpyp
from .options import with_groups

__all__ = ["hpyp"]

_EVERY_DAY, _TRAINING, _PAPERS = "Every day", "For training", "For the papers"
# The common ones first; a module's name stands before that of a command that is called otherwise.
_COMMANDS = {
    _EVERY_DAY: "parse surprisal reading evaluate udeval report explore rank parts.cross-validate parts.learning-curve perplexity generate",
    _TRAINING: "check convert.split convert trainings.guides combine classes learn-text ngram "
    "package.compact package package.release info.warm info.cache info",
}

of_papers = typer.Typer(
    help="Fill the tables of the papers, and do what only they need.", no_args_is_help=True, cls=OfPapers
)


def _add(group: typer.Typer, place: str, name: str = "", *, panel: str | None = None) -> None:
    """Add a command to a group, perhaps under a heading.

    place (str): Its module, and behind a point its function, if that is not called as the module is.
    name (str): What it is called, if not as its function is.
    """
    module, _, own = place.partition(".")
    function = getattr(
        import_module(f".{module}".replace("-", "_"), __package__), (own or module).replace("-", "_")
    )
    # What reads the context reads from it the settings of a config that are overridden.
    reads_others = "ctx" in signature(function).parameters
    others = {"allow_extra_args": True, "ignore_unknown_options": True} if reads_others else {}
    group.command(name or own or module, rich_help_panel=panel, context_settings=others)(
        with_groups(function)
    )


for panel, places in _COMMANDS.items():
    for place in places.split():
        _add(hpyp, place, panel=panel)
for place in "tables convert_papers.convert-ptb convert_papers.convert-lm papers.head-outward papers.states papers.rerank".split():
    _add(of_papers, place)
hpyp.add_typer(of_papers, name="papers", rich_help_panel=_PAPERS)
