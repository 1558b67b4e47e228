"""Which of several candidate trees of a sentence is the right one: a conditional log-linear model, and its
registered architecture.

The probability of a candidate is proportional to the exponential of a weighted sum of what several sources
say of it. Its log-likelihood is concave in the weights, and Newton's method finds them.
"""

from dataclasses import dataclass, field
from functools import wraps
from typing import Any, NamedTuple

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.candidates import Candidates
from ..annotation.documents import ROOT_LABEL
from ..compat.spacy import nonproj
from ..compiled import NONE
from ..head_outward.scoring import candidate_log_probabilities
from ..storage.schema import Message, number, part, sentence_keys
from .head_outward import HeadOutward, HeadOutwardModel
from .stored import StoredModel
from .votes import Groups, fit, log_likelihood, shares

#: The attribute of a thinc Model that holds a `Ranking`, beside that of the head-outward model.
RANKING = "ranking"
#: What is known of a candidate: whether it is the tree that the document has; the source's score; what the
#: generative model says of
#: words, tags and tree, and of the labels given these; and what an `hpyp_parser` says of all of it.
FEATURES = ("own", "source", "tree", "labels", "generative")
#: Before anything is learned: the generative model alone, as in Sangati, Zuidema & Bod (2009).
UNLEARNED = np.array([0.0, 0.0, 1.0, 1.0, 0.0])

# How sure weights are to be 0, in sentences.
_PRIOR = 1.0
_HIGHEST = 1000.0


class Lists(NamedTuple):
    """What is known of the candidates of some sentences.

    features (float64[candidates, FEATURES]): In the order of `FEATURES`.
    right (float64[candidates]): How much of each is right.
    offsets (int64[sentences + 1]): Where the candidates of each sentence begin.
    """

    features: np.ndarray
    right: np.ndarray
    offsets: np.ndarray


@dataclass
class Ranking(StoredModel):
    """What has been learned of ranking.

    weights (float64[FEATURES]): Of the features.
    held_out (set[bytes]): What identifies the sentences that they are learned from, and the generative model
        is not.
    sweeps (int): How many sweeps that had made when they were learned. It is not stored: what is saved has
        learned them.
    """

    weights: np.ndarray = field(default_factory=UNLEARNED.copy)
    held_out: set[bytes] = field(default_factory=set)
    sweeps: int = 0

    called = "a ranking"

    @property
    def is_learned(self) -> bool:
        """Whether the weights have been learned."""
        return not np.array_equal(self.weights, UNLEARNED)

    def _forget(self) -> None:
        self.weights, self.held_out, self.sweeps = UNLEARNED.copy(), set(), 0

    def _write(self) -> Message:
        held_out = {"held_out": b"".join(sorted(self.held_out)), "sentences": len(self.held_out)}
        return {"weights": self.weights.tolist(), **held_out}

    def _read(self, message: Message) -> None:
        count = number("sentences").read(message, {})
        self.held_out = set(sentence_keys(part(message, "held_out", bytes), count))
        values = part(message, "weights", list)
        if len(values) != len(FEATURES) or not all(
            isinstance(each, float) and abs(each) <= _HIGHEST for each in values
        ):
            raise ValueError("the weights of its features are damaged")
        self.weights = np.array(values)


def probabilities(features: np.ndarray, weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """How probable it is that each candidate is the right one of its sentence.

    features, offsets: See `Lists`; no sentence is without candidates.
    weights (float64[FEATURES]): Of the features.
    RETURNS (float64[candidates]): They add up to 1 in each sentence.
    """
    return shares(_groups(features, offsets), weights, or_none=False)


def learn_weights(lists: Lists, used: np.ndarray) -> np.ndarray:
    """Find the weights under which the best candidates are most probable, by penalised maximum likelihood.

    lists (Lists): At least one sentence. Of candidates that are equally right each is the right one by an
        equal share.
    used (bool[FEATURES]): Which features are used; the weights of the others are 0.
    RETURNS (float64[FEATURES]): The weights.
    """
    groups, found = _groups(lists.features[:, used], lists.offsets), np.zeros(len(used))
    start = np.zeros(int(used.sum()))
    found[used] = fit(groups, _target(lists), start, _PRIOR, or_none=False, highest=_HIGHEST, close=1e-8)
    return found


def mean_log_likelihood(lists: Lists, weights: np.ndarray) -> float:
    """The mean log-probability of the best candidate of a sentence, in nats."""
    groups = _groups(lists.features, lists.offsets)
    return log_likelihood(groups, _target(lists), weights, or_none=False) / (len(lists.offsets) - 1)


def right_of_chosen(lists: Lists, weights: np.ndarray) -> float:
    """How much is right of the most probable candidates, all together."""
    score = lists.features @ weights
    bounds = zip(lists.offsets, lists.offsets[1:])
    return float(sum(lists.right[a + int(np.argmax(score[a:b]))] for a, b in bounds))


def _groups(features: np.ndarray, offsets: np.ndarray) -> Groups:
    """Candidates as what is chosen from, for each sentence one."""
    sentence = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    return Groups(sentence, np.zeros(len(sentence), dtype=np.int32), features)


def _target(lists: Lists) -> np.ndarray:
    counts = np.diff(lists.offsets)
    best = lists.right == np.repeat(np.maximum.reduceat(lists.right, lists.offsets[:-1]), counts)
    return best / np.repeat(np.add.reduceat(best.astype(np.float64), lists.offsets[:-1]), counts)


@registry.architectures("spacy-hpyp.Reranker.v1")
@wraps(HeadOutward, assigned=(), updated=())
def Reranker(**lists: Any) -> Model:
    """A head-outward model that says how probable given trees are, and the weights of what else is known of
    them (Sangati, Zuidema & Bod 2009).

    The arguments are those of `spacy-hpyp.HeadOutwardModel.v1`; lists may read what a chart does not know.
    RETURNS (Model): What a `parse_reranker` has.
    RAISES (ValueError): If a context element is not known, or a setting is not what it may be.
    """
    model = HeadOutward(**lists)
    model.attrs[RANKING] = Ranking()
    return model


def tree_features(model: HeadOutwardModel, doc: Doc, candidates: Candidates) -> np.ndarray:
    """What a head-outward model says of candidates.

    doc (Doc), candidates (Candidates): A sentence of it. Trees that are not projective are made so. Tags that
        the model does not have are unknown ones; decorated labels that it does not have are taken for those
        without decoration.
    RETURNS (float64[k, 2]): See `candidate_log_probabilities`.
    """
    sentences = candidates.sentences(doc)
    encoder = model.encoder
    tags, labels = encoder.tags, encoder.labels

    def number_of(label: str) -> int:
        return labels.get(label, labels.get(label.split(nonproj.DELIMITER)[0], NONE))

    return candidate_log_probabilities(
        model.frozen,
        encoder.encode_words(sentences[0].words),
        np.array([[tags.get(tag, len(tags)) for tag in each.tags] for each in sentences], dtype=np.int32),
        np.array([each.heads for each in sentences], dtype=np.int32),
        np.array(
            [
                [NONE if label == ROOT_LABEL else number_of(label) for label in each.labels]
                for each in sentences
            ],
            dtype=np.int32,
        ),
    )
