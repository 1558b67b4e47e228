"""Commands under `python -m spacy hpyp`."""

from .app import hpyp
from .calibrate import calibrate_cli
from .evaluate import evaluate
from .ngram import ngram_cli
from .perplexity import perplexity
from .surprisal import surprisal_cli

__all__ = ["calibrate_cli", "evaluate", "hpyp", "ngram_cli", "perplexity", "surprisal_cli"]
