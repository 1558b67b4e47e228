"""The progress of training a count model."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Progress:
    """The state of training that is needed to resume it.

    Sentences are recognised by their content, with keys of bytes.
    """

    seated: dict[bytes, int] = field(default_factory=dict)  # How many copies of each are seated
    # How often each sentence of the treebank occurs, as far as is known; no more are seated.
    copies: Counter[bytes] = field(default_factory=Counter)
    # int32[*] each: the latent derivations of seated sentences.
    derivations: dict[bytes, list[np.ndarray]] = field(default_factory=dict)
    visited: int = 0  # The number of sentences visited in the current sweep
    tokens: int = 0  # The number of seated tokens
    steps: int = 0  # The number of updates
    sweeps: int = 0  # The number of complete sweeps

    def is_complete(self, visited: int) -> bool:
        """Count sentences as visited. Returns whether that completes a sweep."""
        self.visited += visited
        if self.visited < self.copies.total():
            return False
        self.visited = 0
        return True

    def take_drawn(
        self, keys: Iterable[bytes], places: Iterable[Sequence[np.ndarray]]
    ) -> list[bool]:
        """Take out the latent derivations of seated sentences, and write them into arrays.

        Copies of a sentence take turns, whatever batches they are in: first those without a latent
        derivation, then those that wait longest.

        places (Iterable[Sequence[int32[*]]]): For each sentence, arrays that join to a derivation.
        RETURNS (list[bool]): Which of them have a latent derivation; other arrays stay.
        """
        found: list[bool] = []
        taken: Counter[bytes] = Counter()
        for key, parts in zip(keys, places):
            paths = self.derivations.get(key, [])
            found.append(bool(paths) and self.seated[key] - taken[key] <= len(paths))
            taken[key] += 1
            if found[-1]:
                ends = np.cumsum([len(part) for part in parts])
                for part, own in zip(parts, np.split(paths.pop(0), ends[:-1])):
                    part[:] = own
        return found

    def keep_drawn(self, key: bytes, parts: Sequence[np.ndarray]) -> None:
        """Keep the derivation of a sentence until `take_drawn` takes it."""
        self.derivations.setdefault(key, []).append(np.concatenate(parts))

    def to_message(self) -> dict[str, Any]:
        """Return a part of a message, which does not depend on the order of sentences."""
        found = {**vars(self)}
        for name in ("seated", "copies", "derivations"):
            found[name] = dict(sorted(found[name].items()))
        return found

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Progress":
        """Read what `to_message` wrote."""
        return cls(**{**message, "copies": Counter(message["copies"])})
