"""The training sentences of a joint model, and the steps that visit them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from ..annotation.sentences import GoldDocument, join
from ..arc_standard.distributions import static_derivations
from ..arc_standard.model import JointModel
from ..hpyp.pool import Weights
from .treebank import Treebank


class BatchSentence(NamedTuple):
    """A sentence to be visited."""

    key: bytes
    rows: np.ndarray  # int32[4, *]: words, tags, heads and labels
    is_seated: bool


class JointTreebank(Treebank):
    """The sentences that a joint model is trained on."""

    encoding: ClassVar = {"learned": True}

    def batch(self, documents: Iterable[GoldDocument]) -> list[BatchSentence]:
        """Return the sentences of documents for `visit`, which seats those not yet seated."""
        batch, progress, added = [], self.model.progress, Counter[bytes]()
        for key, rows in self.rows(documents):
            is_seated = progress.seated.get(key, 0) + added[key] >= max(1, progress.copies[key])
            added[key] += not is_seated
            batch.append(BatchSentence(key, rows, is_seated))
        return batch


def visit(
    model: JointModel,
    batch: Sequence[BatchSentence],
    rng: np.random.Generator,
    *,
    latent: str | None = None,
    particles: int = 1,
    threads: int = 1,
) -> tuple[dict[str, float], dict[str, Weights]]:
    """Take a Gibbs step for each sentence of a batch, and for its derivation if that is latent; add
    those that are not seated. A sentence has the derivation of the static oracle until another one
    has been drawn.

    latent (str, optional): None; "derivations", given trees and tags; or "parses", given words.
    particles, threads (int): `particles` is read if `latent` is set, `threads` if it is not.
    RETURNS (tuple): See `CountModel.gibbs_step`.
    RAISES (ValueError): If the model has not seated the sentences as it says.
    """
    keys, rows, are_seated = zip(*batch)
    sentences, seated = join(rows), np.array(are_seated)
    derivations = static_derivations(sentences)
    inner = sentences.offsets[1:-1]
    places = [*zip(np.split(derivations.actions, 2 * inner), np.split(derivations.tags, inner))]
    progress, visited = model.progress, np.flatnonzero(seated)
    taken = progress.take_drawn([keys[i] for i in visited], [places[i] for i in visited])
    if latent is None:
        found = model.gibbs_step(sentences, derivations, seated, rng, threads)
        visited = visited[taken]
    else:
        given_trees = latent == "derivations"
        found = model.latent_step(
            sentences, derivations, seated, rng, given_trees=given_trees, particles=particles
        )
    for key, _, was_seated in batch:
        if not was_seated:
            progress.seated[key] = progress.seated.get(key, 0) + 1
            progress.copies[key] = max(progress.copies[key], progress.seated[key])
    progress.tokens += int(np.diff(sentences.offsets)[~seated].sum())
    for i in visited:
        progress.keep_drawn(keys[i], places[i])
    return found
