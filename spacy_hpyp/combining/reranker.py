"""A conditional log-linear model that chooses among candidate trees (Sangati, Zuidema & Bod 2009).

The probability of a candidate is proportional to the exponential of a weighted sum of features. The
log-likelihood is concave in the weights; Newton's method maximises it.
"""

from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.candidates import Candidates
from ..annotation.sentences import ROOT_LABEL
from ..compiled import NONE
from ..head_outward.model import HeadOutward, HeadOutwardModel
from ..head_outward.parsing import candidate_log_probabilities
from ..spacy_internals import nonproj
from ..stored import Message, StoredModel
from .log_linear import Groups, fit

#: The attribute of a thinc Model that holds a `Ranking`, beside that of the head-outward model.
RANKING = "ranking"
#: Features of a candidate: whether it is the parser's best tree; the parser's score; and the
#: log-probabilities of words, tags and tree, and of labels, by the head-outward model.
FEATURES = ("own", "source", "tree", "labels")
#: The head-outward model alone, as in Sangati, Zuidema & Bod (2009).
UNLEARNED = np.array([0.0, 0.0, 1.0, 1.0])

# The inverse variance of the weights' prior.
_PRIOR = 1.0
_HIGHEST = 1000.0


@dataclass
class Ranking(StoredModel):
    """Learned weights.

    weights (float64[FEATURES]): Of the features.
    held_out (set[bytes]): Keys of the sentences that only the weights are learned from.
    """

    weights: np.ndarray = field(default_factory=UNLEARNED.copy)
    held_out: set[bytes] = field(default_factory=set)

    def _forget(self) -> None:
        self.weights, self.held_out = UNLEARNED.copy(), set()

    def _write(self) -> Message:
        return {"weights": self.weights.tolist(), "held_out": sorted(self.held_out)}

    def _read(self, message: Message) -> None:
        self.weights, self.held_out = np.array(message["weights"]), set(message["held_out"])


def learn_weights(features: np.ndarray, right: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Find the weights (float64[FEATURES]) under which the best candidates are most probable, by
    penalised maximum likelihood.

    features (float64[candidates, FEATURES]), right (float64[candidates]): Features, and how much of
        each candidate is right. Equally right ones share the first place.
    offsets (int64[sentences + 1]): Where the candidates of each sentence begin; none is without
        candidates.
    """
    counts = np.diff(offsets)
    best = right == np.repeat(np.maximum.reduceat(right, offsets[:-1]), counts)
    target = best / np.repeat(np.add.reduceat(best.astype(np.float64), offsets[:-1]), counts)
    groups = as_groups(features, offsets)
    return fit(groups, target, _PRIOR, or_none=False, highest=_HIGHEST, close=1e-8)


def as_groups(features: np.ndarray, offsets: np.ndarray) -> Groups:
    """Make the candidates of each sentence competing choices."""
    return Groups(np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)), features)


@registry.architectures("spacy-hpyp.Reranker.v1")
@wraps(HeadOutward, assigned=(), updated=())
def Reranker(**lists: Any) -> Model:
    """Build a head-outward model of given trees, and the weights of a `parse_reranker` (Sangati,
    Zuidema & Bod 2009).

    Arguments and errors are those of `spacy-hpyp.HeadOutwardModel.v1`; lists may read contexts that
    no chart knows.
    """
    model = HeadOutward(**lists)
    model.attrs[RANKING] = Ranking()
    return model


def tree_features(model: HeadOutwardModel, doc: Doc, candidates: Candidates) -> np.ndarray:
    """Return `candidate_log_probabilities` (float64[k, 2]) of candidates for a sentence of a Doc.

    Trees that are not projective are made so. All unknown tags count as one; unknown decorated
    labels count as those without decoration.
    """
    sentences, encoder = candidates.sentences(doc), model.encoder
    known = {**encoder.labels, ROOT_LABEL: NONE}

    def number_of(label: str) -> int:
        return known.get(label, known.get(label.split(nonproj.DELIMITER)[0], NONE))

    unknown = len(encoder.vocabulary.tags)
    tags = [[encoder.tags.get(tag, unknown) for tag in each.tags] for each in sentences]
    heads = [each.heads for each in sentences]
    labels = [[number_of(label) for label in each.labels] for each in sentences]
    trees = (np.array(rows, dtype=np.int32) for rows in (tags, heads, labels))
    words = encoder.encode_words(sentences[0].words)
    return candidate_log_probabilities(model.frozen, words, *trees)
