"""Registered functions that a config is made of: the model and the rules for unknown words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from ..annotation.arrays import Blocks, Parses
from ..annotation.documents import encode_docs
from ..arc_standard.distributions import DISTRIBUTIONS, ContextLists
from ..inference.division import Search
from ..pools.pool import Weights
from ..settings import taking
from ..text.unknown_words import RULES, UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .joint_model import JointModel
from .settings import ModelSettings
from .storage import model_from_bytes, model_to_bytes

for _name, _make_rule in RULES.items():
    registry.misc.register(_name, func=_make_rule)

JOINT_MODEL = "joint_model"

# How Docs are parsed that come without a component and its settings.
_SEARCH_OF_DOCS = Search(particles=100, lookahead=0.5)


@registry.architectures("spacy-hpyp.HPYPModel.v1")
@taking(ModelSettings)
def HPYPModel(
    transition: Sequence[Sequence[str]],
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    label: Sequence[Sequence[str]] = (),
    gates: dict[str, list[str]] | None = None,
    **settings: Any,
) -> Model[tuple[Blocks, Search, int] | list[Doc], Parses]:
    """The joint model of transitions, tags and words (Buys & Blunsom 2015) as a thinc model.

    Its attribute `joint_model` holds alphabets and seating, its parameters are the pools' weights.

    transition, tag, word (Sequence[Sequence[str]]): The context elements of each distribution, a list of names for each
        expert of its pool, most important first. An empty list of experts for words makes the model unlexicalised.
    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    label (Sequence[Sequence[str]]): Context lists of the label given the direction of an arc. Without any, the label is
        part of the transition, as in the paper.
    gates (dict[str, list[str]] | None): By distribution, the elements whose symbols add to the weights of a pool's experts; where
        nothing is said, see `spacy_hpyp.arc_standard.distributions.GATES`.
    **settings: See `spacy_hpyp.models.settings`.
    RETURNS (Model): Takes blocks of words, how to search, and the number of threads; gives their parses. Takes Docs too, as
        `spacy debug model` gives them to every model, and parses them with a search of its own.
    RAISES (ValueError): If a context element is not known, or a setting is not what it may be.
    """
    found = ModelSettings(**settings)
    contexts = ContextLists(transition=transition, label=label, tag=tag, word=word, gates=gates or {})
    vocabulary = VocabularySettings(unknown_words, found.min_count, found.min_class_count, found.open_class_below)
    joint = JointModel(
        contexts, vocabulary, one_table=found.seating == "kneser-ney", labelled=found.labelled, pools=found
    )
    return set_joint_model(Model("hpyp", forward), joint)


def forward(model: Model, request: tuple[Blocks, Search, int] | list[Doc], is_train: bool) -> tuple[Parses, Any]:
    """Decode. There is nothing to propagate back: the model learns by Gibbs sampling."""
    joint: JointModel = model.attrs[JOINT_MODEL]
    if isinstance(request, list):
        blocks, _ = encode_docs(request, joint.encoder, given_tags=not joint.is_lexicalised)
        request = blocks, _SEARCH_OF_DOCS, 1
    blocks, search, threads = request
    return joint.seating.freeze(Parameters(model)).decode(blocks, search, threads), lambda gradient: gradient


class Parameters(Mapping[str, Weights]):
    """The weights of the pools, by distribution, as the parameters of a thinc model have them when they are asked for.

    model (Model): The thinc model.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getitem__(self, name: str) -> Weights:
        try:
            standing, gate = (self._model.get_param(f"{name}_{part}") for part in Weights._fields)
        except KeyError:
            raise KeyError(name) from None
        pace = self._model.attrs[JOINT_MODEL].pools.gate_pace
        return Weights(np.asarray(standing, dtype=np.float64), pace * np.asarray(gate, dtype=np.float64))

    def __iter__(self) -> Iterator[str]:
        return iter(DISTRIBUTIONS)

    def __len__(self) -> int:
        return len(DISTRIBUTIONS)


def set_joint_model(model: Model, joint: JointModel) -> Model:
    """Put a joint model into a thinc model, whose parameters become its weights. Returns the thinc model."""
    weights = {name: joint.weights[name] for name in DISTRIBUTIONS}
    model.attrs[JOINT_MODEL] = joint
    for name in DISTRIBUTIONS:
        model.set_param(f"{name}_standing", weights[name].standing.astype(np.float32))
        model.set_param(f"{name}_gate", (weights[name].gate / joint.pools.gate_pace).astype(np.float32))
    joint.weights = Parameters(model)
    return model


def weights_from(model: Model, parameters: dict[str, Any]) -> dict[str, Weights]:
    """The weights that parameters read from a file stand for.

    model (Model): The thinc model.
    parameters (dict[str, Any]): As thinc stores them, by name.
    RAISES (KeyError | TypeError | ValueError): If one is missing or of the wrong kind.
    """
    weights = {}
    for name in DISTRIBUTIONS:
        standing, gate = (np.asarray(parameters[f"{name}_{part}"], dtype=np.float64) for part in Weights._fields)
        weights[name] = Weights(standing, model.attrs[JOINT_MODEL].pools.gate_pace * gate)
    return weights


def add_gradients(model: Model, gradient: dict[str, Weights], tokens: int) -> None:
    """Add the gradient of the loss to those of the parameters: of the negative log-likelihood for each token, and of a
    Gaussian prior around the weights that the pools begin with.

    gradient (dict[str, Weights]): The gradient of the log-likelihood of a batch.
    tokens (int): The number of tokens in the batch.
    """
    joint: JointModel = model.attrs[JOINT_MODEL]
    seated = max(joint.progress.tokens, 1)
    for name, first in joint.first_weights().items():
        if joint.conditionals[name].is_plain:
            continue
        standing, gate = (
            joint.pools.weight_prior / seated * (ours - prior) - likelihood / tokens
            for ours, prior, likelihood in zip(Parameters(model)[name], first, gradient[name])
        )
        model.inc_grad(f"{name}_standing", standing.astype(np.float32))
        model.inc_grad(f"{name}_gate", (joint.pools.gate_pace * gate).astype(np.float32))


@serialize_attr.register(JointModel)
def _serialize(_: JointModel, value: JointModel, name: str, model: Model) -> bytes:
    return model_to_bytes(value)


@deserialize_attr.register(JointModel)
def _deserialize(default: JointModel, value: bytes, name: str, model: Model) -> JointModel:
    loaded = model_from_bytes(default, value)
    loaded.weights = Parameters(model)
    return loaded
