"""What `nlp.add_pipe` names, and what spaCy's configs name besides: readers, batchers, scorers."""

from .attribute_rules import create_attribute_rules

__all__ = ["create_attribute_rules"]
