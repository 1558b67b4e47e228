"""The registered architecture of models with latent states."""

from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.uncased import read_uncased
from ..settings import taking
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .latent_states import LatentStates
from .settings import StateModelSettings
from .stored import model_holding

#: The attribute of a thinc Model that holds a `LatentStates`.
LATENT_STATES = "latent_states"
# How the states of Docs are found that come without a component and its settings.
_SWEEPS_OF_DOCS = 2


@registry.architectures("spacy-hpyp.LatentStates.v1")
@taking(StateModelSettings)
def LatentStatesModel(unknown_words: UnknownWordRule, **settings: Any) -> Model[list[Doc], list[np.ndarray]]:
    """A model of words with latent states (Wallach, Sutton & McCallum 2008) as a thinc model.

    Its attribute `latent_states` holds words and their seating; it has no parameters.

    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    **settings: See `spacy_hpyp.models.settings`.
    RETURNS (Model): Takes Docs with trees and gives the states of their words.
    RAISES (ValueError): If a setting is not what it may be.
    """
    found = StateModelSettings(**settings)
    vocabulary = VocabularySettings(unknown_words, found.min_count, found.min_class_count)
    model = LatentStates(found.kind, found.states, found.back_off, vocabulary)
    return model_holding(model, "latent_states", LATENT_STATES, _find)


def _find(model: LatentStates, docs: list[Doc]) -> list[np.ndarray]:
    return [model.find_states(read_uncased(doc), _SWEEPS_OF_DOCS, np.random.default_rng(0))[0] for doc in docs]
