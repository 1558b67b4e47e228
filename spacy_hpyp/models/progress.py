"""How far the training of a model is."""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Progress:
    """What has been learned from, as far as training needs it to go on.

    seated (dict[bytes, int]): How many copies of each sentence are seated, by what identifies it.
    derivations (dict[bytes, list[int32[3n]]]): The derivations that have been drawn for seated sentences: actions and tags.
    tokens (int): How many tokens are seated.
    steps, sweeps (int): How many updates and how many sweeps there have been.
    """

    seated: dict[bytes, int] = field(default_factory=dict)
    derivations: dict[bytes, list[np.ndarray]] = field(default_factory=dict)
    tokens: int = 0
    steps: int = 0
    sweeps: int = 0
