"""How far the training of a model is."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from ..annotation.confidence import Passage


@dataclass
class Sweep:
    """A sweep that is not complete.

    copies (Counter[bytes]): How often each sentence of the treebank occurs, as far as is known, by what identifies its content.
        It is seated no more often than that.
    visited (int): How many sentences have been visited.
    passages (list[Passage]): Those of them that confidence is to be learned from.
    """

    copies: Counter[bytes] = field(default_factory=Counter)
    visited: int = 0
    passages: list[Passage] = field(default_factory=list)

    def count(self, visited: int) -> bool:
        """Count sentences as visited. Returns whether the sweep is complete with them, and another begins."""
        self.visited += visited
        if self.visited < self.copies.total():
            return False
        self.visited = 0
        return True


@dataclass
class Progress:
    """What has been learned from, as far as training needs it to go on.

    seated (dict[bytes, int]): How many copies of each sentence are seated, by what identifies it.
    derivations (dict[bytes, list[int32[3n]]]): The derivations that have been drawn for seated sentences: actions and tags.
    sweep (Sweep): How far the present sweep is.
    tokens (int): How many tokens are seated.
    steps, sweeps (int): How many updates and how many sweeps there have been.
    awaits_contrast (bool): Whether weights are to be contrasted when the next sweep is complete, if they have not been by then.
    """

    seated: dict[bytes, int] = field(default_factory=dict)
    derivations: dict[bytes, list[np.ndarray]] = field(default_factory=dict)
    sweep: Sweep = field(default_factory=Sweep)
    tokens: int = 0
    steps: int = 0
    sweeps: int = 0
    awaits_contrast: bool = False
