"""Registered functions that a config is made of: the model and the rules for unknown words."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from spacy.util import registry
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from .inference.beam import Search
from .inference.particle_filter import Blocks, Parses
from .model import DISTRIBUTIONS, ContextLists, JointModel
from .text.unknown_words import UnknownWordRule, english_unknown_words, universal_unknown_words, unknown_words
from .text.vocabulary import VocabularySettings

registry.misc.register("spacy-hpyp.UnknownWords.v1", func=unknown_words)
registry.misc.register("spacy-hpyp.EnglishUnknownWords.v1", func=english_unknown_words)
registry.misc.register("spacy-hpyp.UniversalUnknownWords.v1", func=universal_unknown_words)

JOINT_MODEL = "joint_model"
WEIGHTS = {name: f"{name}_weights" for name in DISTRIBUTIONS}


@registry.architectures("spacy-hpyp.HPYPModel.v1")
def HPYPModel(
    transition: Sequence[Sequence[str]],
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    label: Sequence[Sequence[str]] = (),
    seating: Literal["sampled", "kneser-ney"] = "sampled",
    min_count: int = 2,
    min_class_count: int = 5,
    open_class_below: int = 50,
) -> Model[tuple[Blocks, Search, int], Parses]:
    """The joint model of transitions, tags and words (Buys & Blunsom 2015) as a thinc model.

    Its attribute `joint_model` holds alphabets and seating, its parameters are the pools' weights.

    transition, tag, word (Sequence[Sequence[str]]): The context elements of each distribution, a list of names for each
        expert of its pool, most important first. An empty list of experts for words makes the model unlexicalised.
    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    label (Sequence[Sequence[str]]): Context lists of the label given the direction of an arc. Without any, the label is
        part of the transition, as in the paper.
    seating (str): "sampled" for Gibbs sampling, or "kneser-ney" for one table at most for each dish of a restaurant.
    min_count (int): Words seen less often in training are known by their class only.
    min_class_count (int): Classes of unknown words seen less often in training give way to more general ones.
    open_class_below (int): Words seen less often in training may have any open-class tag, and not only those that they
        were seen with.
    RETURNS (Model): Takes blocks of words, how to search, and the number of threads; gives their parses.
    RAISES (ValueError): If a context element is not known.
    """
    contexts = ContextLists(transition=transition, label=label, tag=tag, word=word)
    settings = VocabularySettings(unknown_words, min_count, min_class_count, open_class_below)
    joint = JointModel(contexts, settings, one_table=seating == "kneser-ney")
    return Model(
        "hpyp",
        forward,
        attrs={JOINT_MODEL: joint},
        params={parameter: joint.weights[name] for name, parameter in WEIGHTS.items()},
    )


def forward(model: Model, request: tuple[Blocks, Search, int], is_train: bool) -> tuple[Parses, Any]:
    """Decode. There is nothing to propagate back: the model learns by Gibbs sampling."""
    blocks, search, threads = request
    return joint_model(model).decode(blocks, search, threads), lambda gradient: gradient


def joint_model(model: Model) -> JointModel:
    """The joint model inside a thinc model, with the thinc model's parameters as its weights."""
    joint: JointModel = model.attrs[JOINT_MODEL]
    joint.set_weights(
        {name: np.asarray(model.get_param(parameter), dtype=np.float64) for name, parameter in WEIGHTS.items()}
    )
    return joint


@serialize_attr.register(JointModel)
def _serialize(_: JointModel, value: JointModel, name: str, model: Model) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(JointModel)
def _deserialize(default: JointModel, value: bytes, name: str, model: Model) -> JointModel:
    return default.from_bytes(value)
