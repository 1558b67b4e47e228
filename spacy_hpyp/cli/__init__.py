"""Commands under `python -m spacy hpyp`."""

from .app import hpyp
from .evaluate import evaluate
from .generate import generate_cli
from .learn import learn_cli
from .ngram import ngram_cli
from .perplexity import perplexity

__all__ = ["evaluate", "generate_cli", "hpyp", "learn_cli", "ngram_cli", "perplexity"]
