"""The generative parser for spaCy: tags, trees and probabilities by hierarchical Pitman-Yor processes."""

from .about import __version__
from .memory import collecting_rarely

# Python would look through all of spaCy again and again, for cycles among what stays.
with collecting_rarely():
    from .annotation.alternatives import Alternative, Marginals
    from .components.hpyp_parser import HPYPParser
    from .components.surprisal import surprisal
    from .language_model.increments import Increment, PartialParse
    from .language_model.ngram import NGramModel

__all__ = [
    "Alternative",
    "HPYPParser",
    "Increment",
    "Marginals",
    "NGramModel",
    "PartialParse",
    "__version__",
    "surprisal",
]
