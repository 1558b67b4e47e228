"""spaCy's pipelines.

Checked with spaCy 3.8.2 on Python 3.10, and 3.8.18 on 3.10 to 3.13.
"""

# The pseudo-projective transformation of spaCy's own parser (Nivre & Nilsson 2005): `projectivize`, `deprojectivize`, `is_decorated`
# and `DELIMITER`. It has no other name.
from spacy.pipeline._parser_internals import nonproj

__all__ = ["attribute_key", "nonproj"]


def attribute_key(name: str, offset: int) -> tuple[str, str, int, None]:
    """The key that a Doc's user data have for an attribute of a token. spaCy tells of a token by where it begins.

    name (str): The extension attribute.
    offset (int): `token.idx`.
    """
    return "._.", name, offset, None
