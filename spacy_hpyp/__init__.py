"""The generative parser for spaCy: tags, trees and probabilities by hierarchical Pitman-Yor
processes.
"""

from .about import __version__
from .memory import collecting_rarely

# Python would look through all of spaCy again and again, for cycles among what stays.
with collecting_rarely():
    from .annotation.candidates import Alternative, Marginals
    from .language_model.increments import Increment, PartialParse
    from .language_model.ngram import NGramModel
    from .pipeline.hpyp_parser import HPYPParser
    from .pipeline.surprisal import surprisal

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
