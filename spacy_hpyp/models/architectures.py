"""Registered functions that a config is made of: the model and the rules for unknown words."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from ..annotation.arrays import Blocks, Parses
from ..annotation.documents import Encoder, encode_docs
from ..inference.division import Search
from ..pools.pool import Weights
from ..text.unknown_words import RULES, UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .joint_model import DISTRIBUTIONS, ContextLists, JointModel
from .storage import model_from_bytes, model_to_bytes

for _name, _make_rule in RULES.items():
    registry.misc.register(_name, func=_make_rule)

JOINT_MODEL = "joint_model"

# The symbols of gates are many and some are rare: their weights are learned at a slower pace than the others.
_GATE_PACE = 0.3
# How Docs are parsed that come without a component and its settings.
_SEARCH_OF_DOCS = Search(particles=100, lookahead=0.5)
# How many tokens of the training data the weights that a pool begins with are worth.
_PRIOR = 30.0


@registry.architectures("spacy-hpyp.HPYPModel.v1")
def HPYPModel(
    transition: Sequence[Sequence[str]],
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    label: Sequence[Sequence[str]] = (),
    seating: Literal["sampled", "kneser-ney"] = "sampled",
    labelled: bool = True,
    min_count: int = 2,
    min_class_count: int = 5,
    open_class_below: int = 50,
) -> Model[tuple[Blocks, Search, int] | list[Doc], Parses]:
    """The joint model of transitions, tags and words (Buys & Blunsom 2015) as a thinc model.

    Its attribute `joint_model` holds alphabets and seating, its parameters are the pools' weights.

    transition, tag, word (Sequence[Sequence[str]]): The context elements of each distribution, a list of names for each
        expert of its pool, most important first. An empty list of experts for words makes the model unlexicalised.
    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    label (Sequence[Sequence[str]]): Context lists of the label given the direction of an arc. Without any, the label is
        part of the transition, as in the paper.
    seating (str): "sampled" for Gibbs sampling, or "kneser-ney" for one table at most for each dish of a restaurant.
    labelled (bool): Whether arcs have labels; else all have the same one, "dep".
    min_count (int): Words seen less often in training are known by their class only.
    min_class_count (int): Classes of unknown words seen less often in training give way to more general ones.
    open_class_below (int): Words seen less often in training may have any open-class tag, and not only those that they
        were seen with.
    RETURNS (Model): Takes blocks of words, how to search, and the number of threads; gives their parses. Takes Docs too, as
        `spacy debug model` gives them to every model, and parses them with a search of its own.
    RAISES (ValueError): If a context element is not known.
    """
    contexts = ContextLists(transition=transition, label=label, tag=tag, word=word)
    settings = VocabularySettings(unknown_words, min_count, min_class_count, open_class_below)
    joint = JointModel(contexts, settings, one_table=seating == "kneser-ney", labelled=labelled)
    return set_joint_model(Model("hpyp", forward), joint)


def forward(model: Model, request: tuple[Blocks, Search, int] | list[Doc], is_train: bool) -> tuple[Parses, Any]:
    """Decode. There is nothing to propagate back: the model learns by Gibbs sampling."""
    joint = joint_model(model)
    if isinstance(request, list):
        blocks, _ = encode_docs(request, Encoder(joint), given_tags=not joint.is_lexicalised)
        request = blocks, _SEARCH_OF_DOCS, 1
    blocks, search, threads = request
    return joint.decode(blocks, search, threads), lambda gradient: gradient


def joint_model(model: Model) -> JointModel:
    """The joint model inside a thinc model, with the thinc model's parameters as its weights."""
    joint: JointModel = model.attrs[JOINT_MODEL]
    joint.set_weights(weights_of({name: model.get_param(name) for name in model.param_names}))
    return joint


def set_joint_model(model: Model, joint: JointModel) -> Model:
    """Put a joint model and its weights into a thinc model. Returns the thinc model."""
    model.attrs[JOINT_MODEL] = joint
    for name, weights in joint.weights.items():
        model.set_param(f"{name}_standing", weights.standing.astype(np.float32))
        model.set_param(f"{name}_gate", (weights.gate / _GATE_PACE).astype(np.float32))
    return model


def weights_of(parameters: dict[str, Any]) -> dict[str, Weights]:
    """The weights of the pools, by distribution.

    parameters (dict[str, float32[*, *] or float32[*, *, *]]): The parameters of the thinc model, by name.
    """
    weights = {}
    for name in DISTRIBUTIONS:
        standing, gate = (np.asarray(parameters[f"{name}_{part}"], dtype=np.float64) for part in Weights._fields)
        weights[name] = Weights(standing, _GATE_PACE * gate)
    return weights


def add_gradients(model: Model, gradient: dict[str, Weights], tokens: int) -> None:
    """Add the gradient of the loss to those of the parameters: of the negative log-likelihood for each token, and of a
    Gaussian prior around the weights that the pools begin with.

    gradient (dict[str, Weights]): The gradient of the log-likelihood of a batch.
    tokens (int): The number of tokens in the batch.
    """
    joint: JointModel = model.attrs[JOINT_MODEL]
    for name, weights in joint.weights.items():
        if len(weights.standing) == 0:
            continue
        first = joint.first_weights(name)
        standing, gate = (
            _PRIOR / max(joint.tokens, 1) * (ours - prior) - likelihood / tokens
            for ours, prior, likelihood in zip(weights, first, gradient[name])
        )
        model.inc_grad(f"{name}_standing", standing.astype(np.float32))
        model.inc_grad(f"{name}_gate", (_GATE_PACE * gate).astype(np.float32))


@serialize_attr.register(JointModel)
def _serialize(_: JointModel, value: JointModel, name: str, model: Model) -> bytes:
    return model_to_bytes(value)


@deserialize_attr.register(JointModel)
def _deserialize(default: JointModel, value: bytes, name: str, model: Model) -> JointModel:
    return model_from_bytes(default, value)
