"""The registered architecture of rerankers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.candidates import Candidates
from ..annotation.documents import ROOT_LABEL
from ..compat.spacy import nonproj
from ..compiled import NONE
from ..head_outward.scoring import candidate_log_probabilities
from ..settings import taking
from ..text.unknown_words import UnknownWordRule
from .head_outward import HeadOutward
from .head_outward_model import HeadOutwardModel
from .ranking import Ranking
from .settings import EstimatorSettings

#: The attribute of a thinc Model that holds a `Ranking`, beside that of the head-outward model.
RANKING = "ranking"


@registry.architectures("spacy-hpyp.Reranker.v1")
@taking(EstimatorSettings)
def Reranker(
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    case: Sequence[Sequence[str]] = (),
    children: Sequence[Sequence[str]] = (),
    distance: Sequence[Sequence[str]] = (),
    label: Sequence[Sequence[str]] = (),
    **settings: Any,
) -> Model:
    """A head-outward model that says how probable given trees are, and the weights of what else is known of them (Sangati, Zuidema &
    Bod 2009).

    The arguments are those of `spacy-hpyp.HeadOutwardModel.v1`; lists may read what a chart does not know.
    RETURNS (Model): What a `parse_reranker` has.
    RAISES (ValueError): If a context element is not known, or a setting is not what it may be.
    """
    model = HeadOutward(tag, word, unknown_words, case, children, distance, label, **settings)
    model.attrs[RANKING] = Ranking()
    return model


def tree_features(model: HeadOutwardModel, doc: Doc, candidates: Candidates) -> np.ndarray:
    """What a head-outward model says of candidates.

    doc (Doc), candidates (Candidates): A sentence of it. Trees that are not projective are made so. Tags that the model does not have
        are unknown ones; decorated labels that it does not have are taken for those without decoration.
    RETURNS (float64[k, 2]): See `candidate_log_probabilities`.
    """
    sentences = candidates.sentences(doc)
    tags = {name: number for number, name in enumerate(model.tags)}
    labels = {name: number for number, name in enumerate(model.labels)}

    def number_of(label: str) -> int:
        return labels.get(label, labels.get(label.split(nonproj.DELIMITER)[0], NONE))

    return candidate_log_probabilities(
        model.frozen,
        model.encoder.encode_words(sentences[0].words),
        np.array([[tags.get(tag, len(tags)) for tag in each.tags] for each in sentences], dtype=np.int32),
        np.array([each.heads for each in sentences], dtype=np.int32),
        np.array(
            [[NONE if label == ROOT_LABEL else number_of(label) for label in each.labels] for each in sentences],
            dtype=np.int32,
        ),
    )
