"""The generative parser for spaCy: tags, trees and probabilities by hierarchical Pitman-Yor processes."""

from .about import __version__
from .annotation.alternatives import Alternative, Marginals
from .components.hpyp_parser import HPYPParser

__all__ = ["Alternative", "HPYPParser", "Marginals", "__version__"]
