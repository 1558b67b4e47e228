"""Commands under `python -m spacy hpyp`."""

from .app import hpyp
from .evaluate import evaluate
from .ngram import ngram_cli
from .perplexity import perplexity

__all__ = ["evaluate", "hpyp", "ngram_cli", "perplexity"]
