"""What a conditional distribution is: its name, what it reads, how its experts work together, what its
outcomes are.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..hpyp.franchise import Franchise
from .making import make_view, view_of_experts
from .pool import FrozenPool, SeatedPool, Weights
from .view import BUCKETS, View

# What the weights of multiplied experts add up to at first, half way down; each is at most 1 there.
_FIRST_WEIGHT = 1.5
_ALL_POSSIBLE = np.empty((0, 0), dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Conditional:
    """A conditional distribution, without what it has seen.

    name (str): What it is a distribution of.
    experts (tuple[tuple[str, ...], ...]): The context list of each expert, most important element first; none
        if the outcome is not generated.
    elements (int32[elements, 4]): What a context row holds; opaque here.
    columns (int32[experts, depth]): What each expert reads of it, see `Franchise`.
    gates (int32[gates]): The entries of a context row whose symbols add to the weights of the experts.
    mixed (bool): Whether its experts are mixed; else they are multiplied.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context; empty where all do.
    events_of_word (int): How many outcomes a word of a sentence has at most.
    """

    name: str
    experts: tuple[tuple[str, ...], ...]
    elements: np.ndarray
    columns: np.ndarray
    gates: np.ndarray
    mixed: bool
    possible: np.ndarray = field(default_factory=_ALL_POSSIBLE.copy)
    events_of_word: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether its probabilities are those of its only expert, or it has none: then there are no weights."""
        return len(self.experts) < (2 if len(self.possible) == 0 else 1)

    def first_weights(self, symbols: int) -> Weights:
        """Weights before any are learned: all experts are worth the same, and deeper restaurants more.

        symbols (int): How many symbols a gate may have.
        """
        experts, depth = self.columns.shape
        level = np.tile(np.arange(depth + 1), experts) / max(depth, 1)
        weights = level if self.mixed else min(1.0, _FIRST_WEIGHT / max(experts, 1)) * (0.5 + level)
        if self.is_plain:
            weights = np.empty(0)
        return Weights(
            bucket=np.repeat(weights[:, None], BUCKETS, axis=1),
            gate=np.zeros((len(self.gates), symbols, experts)),
        )

    def seated(self, franchise: Franchise, weights: Weights, gradient: Weights) -> SeatedPool:
        """The pool while it learns.

        franchise (Franchise): Its seating.
        weights, gradient (Weights): See `SeatedPool`.
        """
        experts = len(self.columns)
        return SeatedPool(
            franchise=franchise,
            weights=weights,
            gradient=gradient,
            gates=self.gates,
            possible=self.possible,
            elements=self.elements,
            scratch=np.empty((4, experts) if self.mixed else (experts + 1, int(franchise.alphabet[0]))),
            mixed=self.mixed,
        )

    def view(self, franchise: Franchise) -> View:
        """The frozen view of a seating; it does not depend on weights."""
        return make_view(franchise, multiplied=not self.is_plain and not self.mixed)

    def view_of(self, experts: Iterable[Franchise], alphabet: int) -> View:
        """The frozen view of a seating that comes expert by expert, see `view_of_experts`."""
        return view_of_experts(
            experts, self.columns, alphabet, multiplied=not self.is_plain and not self.mixed
        )

    def frozen(self, view: View, weights: Weights) -> FrozenPool:
        """The pool while it predicts.

        view (View): Of its seating.
        """
        return FrozenPool(view, weights, self.gates, self.possible, self.elements, self.mixed)
