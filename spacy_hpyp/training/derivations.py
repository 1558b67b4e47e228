"""The training sentences of a joint model, and the steps that visit them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ..annotation.sentences import UNLABELLED, GoldDocument, GoldSentence, join
from ..arc_standard.distributions import static_derivations
from ..arc_standard.model import JointModel
from ..hpyp.pool import Weights
from ..hpyp.spelling import Spelling
from .treebank import GoldCorpus, Treebank


def initialize(
    model: JointModel, corpus: GoldCorpus, label_data: dict[str, list[str]], *, seed: int
) -> None:
    """Give a model its tags, labels, and the vocabulary of the sentences that have no other tags,
    and learn the spelling of rare words if that is wanted.
    """
    vocabulary = corpus.vocabulary(label_data["tags"], model.own_settings)
    model.initialize(label_data["labels"] if model.labelled else [UNLABELLED], vocabulary)
    if model.spelled and model.is_lexicalised:
        types = {
            word
            for sentence in corpus.with_tags(label_data["tags"]).values()
            for word in sentence.words
        }
        model.spelling = Spelling.learn(vocabulary, types, np.random.default_rng([seed, 0, 4]))


@dataclass
class SentenceBatch:
    """Sentences to be visited."""

    keys: list[bytes] = field(default_factory=list)
    rows: list[np.ndarray] = field(
        default_factory=list
    )  # int32[4, *]: words, tags, heads and labels
    seated: list[bool] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.keys)


class JointTreebank(Treebank):
    """The sentences that a joint model is trained on."""

    def _encode(self, sentence: GoldSentence | str) -> np.ndarray | str:
        return (
            sentence
            if isinstance(sentence, str)
            else self.model.encoder.encode(sentence, learned=True)
        )

    def batch(self, documents: Iterable[GoldDocument]) -> SentenceBatch:
        """Return the sentences of documents for `visit`, which seats those not yet seated."""
        batch = SentenceBatch()
        progress, added = self.model.progress, Counter[bytes]()
        for key, rows in self.rows(documents):
            is_seated = progress.seated.get(key, 0) + added[key] >= max(1, progress.copies[key])
            added[key] += not is_seated
            batch.seated.append(is_seated)
            batch.rows.append(rows)
            batch.keys.append(key)
        return batch


def visit(
    model: JointModel,
    batch: SentenceBatch,
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
    sentences = join(batch.rows)
    derivations = static_derivations(sentences)
    seated = np.array(batch.seated)
    bounds = zip(sentences.offsets, sentences.offsets[1:])
    places = [
        (derivations.actions[2 * start : 2 * end], derivations.tags[start:end])
        for start, end in bounds
    ]
    progress, visited = model.progress, np.flatnonzero(seated)
    taken = progress.take_drawn([batch.keys[i] for i in visited], [places[i] for i in visited])
    if latent is None:
        found = model.gibbs_step(sentences, derivations, seated, rng, threads)
        visited = visited[taken]
    else:
        given_trees = latent == "derivations"
        found = model.latent_step(
            sentences, derivations, seated, rng, given_trees=given_trees, particles=particles
        )
    for key, was_seated in zip(batch.keys, batch.seated):
        if not was_seated:
            progress.seated[key] = progress.seated.get(key, 0) + 1
            progress.copies[key] = max(progress.copies[key], progress.seated[key])
    progress.tokens += int(np.diff(sentences.offsets)[~seated].sum())
    for i in visited:
        progress.keep_drawn(batch.keys[i], places[i])
    return found
