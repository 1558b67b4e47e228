"""Commands under `python -m spacy hpyp`."""

from .app import hpyp
from .evaluate import evaluate

__all__ = ["evaluate", "hpyp"]
