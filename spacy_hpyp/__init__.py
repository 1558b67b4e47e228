"""The generative parser for spaCy: tags, trees and probabilities by hierarchical Pitman-Yor
processes.
"""

from importlib import import_module
from typing import Any

from .about import __version__
from .annotation.extensions import register_extensions
from .memory import collecting_rarely

register_extensions()

# Imported lazily: spaCy imports the package in every process, and importing Numba is slow.
_PLACES = {
    "Alternative": "annotation.candidates",
    "HPYPParser": "pipeline.hpyp_parser",
    "Increment": "language_model.increments",
    "Marginals": "annotation.candidates",
    "NGramModel": "language_model.ngram",
    "PartialParse": "language_model.increments",
    "surprisal": "pipeline.surprisal",
}
__all__ = ["__version__", *_PLACES]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Python would search all of spaCy repeatedly for cycles among long-lived objects.
    with collecting_rarely():
        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
