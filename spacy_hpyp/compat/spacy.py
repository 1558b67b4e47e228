"""spaCy's pipelines.

Checked with spaCy 3.8.2 on Python 3.10, and 3.8.18 on 3.10 to 3.13.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

# The edit trees of spaCy's own trainable lemmatizer.
from spacy.pipeline._edit_tree_internals.edit_trees import EditTrees

# The pseudo-projective transformation of spaCy's own parser (Nivre & Nilsson 2005): `projectivize`,
# `deprojectivize`, `is_decorated` and `DELIMITER`. It has no other name.
from spacy.pipeline._parser_internals import nonproj
from spacy.tokens import Doc

__all__ = [
    "EditTrees",
    "attribute_key",
    "attribute_keys",
    "beam_parses",
    "nonproj",
]


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """The key that a Doc's user data have for an extension attribute of a token. spaCy tells of a token by
    where it begins, `token.idx`.
    """
    return "._.", name, offset, None


def attribute_keys(name: str, offsets: Iterable[int]) -> Iterator[tuple[str, str, int, None]]:
    """The keys of an attribute of some tokens, see `attribute_key`."""
    return zip(repeat("._."), repeat(name), offsets, repeat(None))


def beam_parses(
    parser: Any, docs: Sequence[Doc], width: int
) -> list[list[tuple[float, list[tuple[int, int, str]]]]]:
    """What is in the final beams of spaCy's parser. Its methods for that are public, but its reference does
    not describe them.

    parser (DependencyParser): Trained, with a beam or without.
    docs (Sequence[Doc]): They are not changed.
    width (int): How many states a beam holds.
    RETURNS (list): Of each document, the probability among those in the beam, and the arcs as heads, children
        and labels, of each derivation that has an arc. Labels may be decorated (Nivre & Nilsson 2005).
    """
    if not docs:
        return []
    return [parser.moves.get_beam_parses(beam) for beam in parser.beam_parse(docs, beam_width=width)]
