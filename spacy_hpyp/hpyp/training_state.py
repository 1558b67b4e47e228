"""How far the training of a count model is: what is seated, what was drawn for it, and what is left
of the sweep.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Sweep:
    """A sweep that is not complete.

    copies (Counter[bytes]): How often each sentence of the treebank occurs, as far as is known, by
        what identifies its content. It is seated no more often than that.
    visited (int): How many sentences have been visited.
    """

    copies: Counter[bytes] = field(default_factory=Counter)
    visited: int = 0

    def count(self, visited: int) -> bool:
        """Count sentences as visited. Returns whether the sweep is complete with them, and another
        begins.
        """
        self.visited += visited
        if self.visited < self.copies.total():
            return False
        self.visited = 0
        return True


@dataclass
class Progress:
    """What has been learned from, as far as training needs it to go on.

    seated (dict[bytes, int]): How many copies of each sentence are seated, by what identifies it.
    derivations (dict[bytes, list[int32[*]]]): The derivations that have been drawn for seated
        sentences, see the model.
    sweep (Sweep): How far the present sweep is.
    tokens (int): How many tokens are seated.
    steps, sweeps (int): How many updates and how many sweeps there have been.
    """

    seated: dict[bytes, int] = field(default_factory=dict)
    derivations: dict[bytes, list[np.ndarray]] = field(default_factory=dict)
    sweep: Sweep = field(default_factory=Sweep)
    tokens: int = 0
    steps: int = 0
    sweeps: int = 0

    def take_drawn(
        self, keys: Iterable[bytes], places: Iterable[Sequence[np.ndarray]], drawn: str
    ) -> list[bool]:
        """Take out what has been drawn for some seated sentences, and write it over what the
        treebank says of them.

        Of the copies of a sentence each has its turn, whatever batches they are in: first those
        that nothing was drawn for, then those that wait the longest.

        places (Iterable[Sequence[int32[*]]]): Of each, the parts of arrays that its derivation is
            in, one after the other.
        drawn (str): What a derivation is called.
        RETURNS (list[bool]): For which of them something has been drawn; the others are still as
            the treebank says.
        RAISES (ValueError): If a derivation has another length.
        """
        found: list[bool] = []
        taken: Counter[bytes] = Counter()
        for key, parts in zip(keys, places, strict=True):
            paths = self.derivations.get(key, [])
            found.append(bool(paths) and self.seated[key] - taken[key] <= len(paths))
            taken[key] += 1
            if found[-1]:
                path, ends = paths.pop(0), np.cumsum([len(part) for part in parts])
                if len(path) != ends[-1]:
                    raise ValueError(
                        f"The model has the {drawn} of another sentence in place of a training sentence's."
                    )
                for part, own in zip(parts, np.split(path, ends[:-1])):
                    part[:] = own
        return found

    def keep_drawn(self, key: bytes, parts: Sequence[np.ndarray]) -> None:
        """Keep the derivation of a sentence, until `take_drawn` takes it out of there."""
        self.derivations.setdefault(key, []).append(np.concatenate(parts))

    def to_message(self) -> dict[str, Any]:
        """Return what is saved of it. After the first sweep no copies are missing."""
        sweep = self.sweep
        missing = {
            key: count for key, count in sweep.copies.items() if count != self.seated.get(key, 0)
        }
        return {
            **vars(self),
            "seated": {key: self.seated[key] for key in sorted(self.seated)},
            "derivations": {key: self.derivations[key] for key in sorted(self.derivations)},
            "sweep": {"visited": sweep.visited, "missing": missing},
        }

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> "Progress":
        """Read what `to_message` wrote."""
        sweep = message["sweep"]
        return cls(
            **{
                **message,
                "sweep": Sweep(Counter(message["seated"] | sweep["missing"]), sweep["visited"]),
            }
        )
