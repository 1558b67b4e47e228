"""The parts of spaCy in use that its documentation leaves out."""

from typing import Any

from spacy.pipeline._edit_tree_internals.edit_trees import EditTrees
from spacy.pipeline._parser_internals import nonproj

__all__ = ["EditTrees", "nonproj", "parse_config_overrides"]


def parse_config_overrides(args: list[str]) -> dict[str, Any]:
    """Return config settings of a command (`--nlp.lang en`) or SPACY_CONFIG_OVERRIDES by name."""
    # spaCy's commands import those of this package.
    from spacy.cli import _util

    return _util.parse_config_overrides(args)
