"""spaCy's command line: how commands are added to it, and how the commands that read a config read it.

spaCy has an entry point for commands, `spacy_cli`, but says nothing of what they are. Its own are functions
of `app`.

Checked with spaCy 3.8.2 and Typer 0.29.1 on Python 3.10, and spaCy 3.8.18 and Typer 0.29.2 on 3.10 to 3.13;
Click 8.5.1.
"""

from typing import Any

# What spaCy reads options with. Typer has a copy of its own, which reports only errors of its own.
from click import ClickException
from spacy.cli._util import app, show_validation_error
from spacy.cli._util import parse_config_overrides as _parse_config_overrides

__all__ = ["app", "parse_config_overrides", "show_validation_error"]


def parse_config_overrides(arguments: list[str]) -> dict[str, Any]:
    """Read what is left of the command line as 'spacy train' does, --nlp.lang fr.

    RETURNS (dict[str, Any]): Settings of the config, by their names with dots.
    RAISES (ValueError): If there is something that is none.
    """
    try:
        return _parse_config_overrides(arguments)
    except ClickException as error:
        raise ValueError(error.format_message()) from error
