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
    model: Model = Model("latent_states", _find)
    model.attrs[LATENT_STATES] = LatentStates(found.kind, found.states, found.back_off, vocabulary)
    return model


def _find(model: Model, docs: list[Doc], is_train: bool) -> tuple[list[np.ndarray], Any]:
    """Find states. There is nothing to propagate back: the model learns by Gibbs sampling."""
    own: LatentStates = model.attrs[LATENT_STATES]
    found = (own.find_states(read_uncased(doc), _SWEEPS_OF_DOCS, np.random.default_rng(0))[0] for doc in docs)
    return list(found), lambda gradient: gradient
