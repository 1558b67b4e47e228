"""spaCy's pipelines.

Checked with spaCy 3.8.2 on Python 3.10, and 3.8.18 on 3.10 to 3.13.
"""

# The pseudo-projective transformation of spaCy's own parser (Nivre & Nilsson 2005): `projectivize`, `deprojectivize`, `is_decorated`
# and `DELIMITER`. It has no other name.
from spacy.pipeline._parser_internals import nonproj

__all__ = ["nonproj"]
