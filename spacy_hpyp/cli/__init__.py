"""Commands under `python -m spacy hpyp`."""

from .app import hpyp
from .evaluate import evaluate
from .select import select_cli

__all__ = ["evaluate", "hpyp", "select_cli"]
