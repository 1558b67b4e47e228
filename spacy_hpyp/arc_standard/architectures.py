"""The registered architecture of the joint model, and its settings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.arrays import Parses
from ..annotation.encoding import encode_docs
from ..settings import TRUTH, OneOf, Settings, Whole, setting, taking
from ..stored import model_holding
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .decoding import decode
from .distributions import ContextLists
from .model import JointModel
from .search import Search


@dataclass(frozen=True)
class ModelSettings(Settings):
    """All settings of `spacy-hpyp.HPYPModel.v1`."""

    seating: str = setting("sampled", OneOf(("sampled", "kneser-ney")))
    labelled: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))
    min_class_count: int = setting(5, Whole(0))
    open_class_below: int = setting(50, Whole(0))
    spelling: bool = setting(False, TRUTH)
    max_tags: int = setting(0, Whole(0))


JOINT_MODEL = "joint_model"

# Search settings for Docs parsed without a component.
_SEARCH_OF_DOCS = Search(particles=100, stack_penalty=0.5)


@registry.architectures("spacy-hpyp.HPYPModel.v1")
@taking(ModelSettings)
def HPYPModel(
    transition: Sequence[Sequence[str]],
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    label: Sequence[Sequence[str]] = (),
    **settings: Any,
) -> Model[list[Doc], Parses]:
    """The joint model of transitions, tags and words (Buys & Blunsom 2015) as a thinc model.

    Its attribute `joint_model` holds alphabets and seating; its parameters are the pools' weights.

    transition, tag, word (Sequence[Sequence[str]]): The context elements of each distribution, a
        list of names for each expert of its pool, most important first. An empty list of experts
        for words makes the model unlexicalised.
    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    label (Sequence[Sequence[str]]): Context lists of the label given the direction of an arc.
        Without any, the label is part of the transition, as in the paper.
    **settings: See `ModelSettings`.
    RETURNS (Model): Maps Docs to their parses, by a search of its own.
    RAISES (ValueError): If context lists (see `conditionals`) or a setting are invalid.
    """
    found = ModelSettings(**settings)
    contexts = ContextLists(transition=transition, label=label, tag=tag, word=word)
    vocabulary = VocabularySettings(
        unknown_words,
        found.min_count,
        found.min_class_count,
        found.open_class_below,
        observed=bool(label),
        max_tags=found.max_tags,
    )
    joint = JointModel(
        contexts,
        vocabulary,
        one_table=found.seating == "kneser-ney",
        labelled=found.labelled,
        spelled=found.spelling,
    )
    return thinc_model(joint)


def thinc_model(joint: JointModel) -> Model:
    """Return a thinc Model that holds a joint model as its attribute."""
    return model_holding(joint, "hpyp", JOINT_MODEL, _parse)


def _parse(joint: JointModel, docs: list[Doc]) -> Parses:
    blocks, _ = encode_docs(docs, joint.encoder, given_tags=not joint.is_lexicalised)
    return decode(joint.frozen, blocks, _SEARCH_OF_DOCS)
