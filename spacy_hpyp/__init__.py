"""The generative parser for spaCy: tags, trees and probabilities by hierarchical Pitman-Yor processes."""

from .about import __version__
from .component import HPYPParser

__all__ = ["HPYPParser", "__version__"]
