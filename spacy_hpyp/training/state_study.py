"""What latent states are good for: bits a word, and accuracy of trees, of models of all kinds (Wallach,
Sutton & McCallum 2008).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import log
from typing import Any

import numpy as np

from ..annotation.uncased import UncasedWords
from ..models.latent_states import LatentStates, StateWord


@dataclass(frozen=True)
class StateFigures:
    """What one model has reached.

    kind (str), states (int): Its settings.
    bits (float): Leave-one-out bits a word: what a word is predicted with by all others and the states of all
        others, in the mean over the samples of the second half of the sweeps.
    exact_bits (float): The same by the harmonic mean over these samples, which with many of them is what a
        word is predicted with by all others, whose states are summed out. The states of the others have been
        drawn with the word in sight; the harmonic mean makes up for it.
    accuracy (float | None): The part of the words of other documents whose heads are right in the most
        probable trees.
    accepted (float | None): The part of the new trees that were accepted where trees are sampled.
    top_words (list[list[StateWord]]): The top words of each state.
    """

    kind: str
    states: int
    bits: float
    exact_bits: float
    accuracy: float | None
    accepted: float | None
    top_words: list[list[StateWord]]

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON has them."""
        return {**asdict(self), "top_words": [[word._asdict() for word in words] for words in self.top_words]}


def study_states(
    model: LatentStates,
    texts: Sequence[tuple[bytes, UncasedWords]],
    dev: Sequence[UncasedWords] = (),
    *,
    sweeps: int,
    seed: int,
    top_words: int = 10,
    sample_trees: bool = False,
    progress: Callable[[float], None] = lambda bits: None,
) -> StateFigures:
    """Train a model on documents and see what it has reached.

    model (LatentStates): A model with a vocabulary, that has seen nothing.
    texts (Sequence[tuple[bytes, UncasedWords]]): Different documents with complete trees, and what identifies
        each.
    dev (Sequence[UncasedWords]): Other documents with complete trees.
    sweeps (int): Gibbs sweeps, at least 2.
    sample_trees (bool): Whether the trees of `texts` are only what sampling begins with.
    progress (Callable[[float], None]): Called after each sweep with its bits a word.
    """
    rng = np.random.default_rng(seed)
    words = sum(len(text.forms) for _, text in texts)
    logarithms, inverses = np.zeros(words), np.zeros(words)
    kept = sweeps // 2
    draws = np.zeros(2, dtype=np.int64)
    for number in range(sweeps):
        probability = model.visit(texts, rng, draw_trees=sample_trees)
        draws += model.training.draws
        model.end_sweep(rng)
        if number >= sweeps - kept:
            logarithms += np.log(probability)
            inverses += 1.0 / probability
        progress(-float(np.log2(probability).mean()))
    accuracy = None
    if model.reads_parents and dev:
        right = [model.parse(text) == text.heads for text in dev]
        accuracy = float(np.sum(np.concatenate(right)) / max(1, sum(map(len, right))))
    return StateFigures(
        kind=model.kind,
        states=model.states,
        bits=-float(logarithms.mean()) / kept / log(2.0),
        exact_bits=float(np.log2(inverses / kept).mean()),
        accuracy=accuracy,
        accepted=float(draws[1] / max(1, draws[0])) if sample_trees else None,
        top_words=model.top_words(top_words),
    )
