"""The registered architecture of head-outward models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.words import Words, read_words, read_written
from ..head_outward.distributions import HeadOutwardContexts
from ..head_outward.parsing import HeadOutwardTrees, parse
from ..settings import taking
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .head_outward_model import HeadOutwardModel
from .parameters import set_pooled
from .settings import EstimatorSettings

#: The attribute of a thinc Model that holds a `HeadOutwardModel`.
HEAD_OUTWARD = "head_outward"
# Sentences of Docs that come without a component and its settings are cut into parts of so many words.
_LONGEST_OF_DOCS = 150


@registry.architectures("spacy-hpyp.HeadOutwardModel.v1")
@taking(EstimatorSettings)
def HeadOutward(
    tag: Sequence[Sequence[str]],
    word: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    case: Sequence[Sequence[str]] = (),
    children: Sequence[Sequence[str]] = (),
    distance: Sequence[Sequence[str]] = (),
    label: Sequence[Sequence[str]] = (),
    **settings: Any,
) -> Model[list[Doc], HeadOutwardTrees]:
    """The head-outward model of Eisner (1996) with the priors of Wallach, Sutton & McCallum (2008) as a thinc model.

    Its attribute `head_outward` holds alphabets and seating, its parameters are the weights of pools.

    tag, word, case, children, distance, label (Sequence[Sequence[str]]): The context elements of each distribution, a list of names
        for each expert of its pool, most important first; see `spacy_hpyp.head_outward.contexts`. What has no list is not generated.
    unknown_words (UnknownWordRule): Maps words that are too rare to classes.
    **settings: See `spacy_hpyp.models.settings`.
    RETURNS (Model): Takes Docs with tags and gives their trees.
    RAISES (ValueError): If a context element is not known, or a setting is not what it may be.
    """
    found = EstimatorSettings(**settings)
    contexts = HeadOutwardContexts(tag=tag, word=word, case=case, children=children, distance=distance, label=label)
    vocabulary = VocabularySettings(unknown_words, found.min_count, found.min_class_count)
    model = HeadOutwardModel(contexts, vocabulary, found)
    return set_pooled(Model("head_outward", _parse), HEAD_OUTWARD, model)


def _parse(model: Model, docs: list[Doc], is_train: bool) -> tuple[HeadOutwardTrees, Any]:
    """Parse. There is nothing to propagate back: the model learns by Gibbs sampling."""
    own: HeadOutwardModel = model.attrs[HEAD_OUTWARD]
    words, tags, offsets, _ = read_docs(own, docs, longest=_LONGEST_OF_DOCS)
    return parse(own.frozen, words, tags, offsets, consensus=False, threads=1), lambda gradient: gradient


def read_docs(
    model: HeadOutwardModel, docs: Sequence[Doc], *, longest: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Words]:
    """The words of Docs as what is parsed: a sentence goes from one boundary that is set to the next.

    docs (Sequence[Doc]): With tags; what is not known is taken for an unknown tag.
    longest (int): How many words are parsed together. Longer sentences are cut into parts.
    RETURNS (tuple): Cased words and tags (int32[words]), where each sentence or part of one begins (int64[parts + 1]), and the words
        with their layout.
    """
    words = read_words(docs)
    names, tag = read_written(docs, words.layout, "tag")
    numbers = {name: number for number, name in enumerate(model.tags)}
    tags = np.array([numbers.get(name, len(model.tags)) for name in names], dtype=np.int32)[tag]
    starts = [np.arange(start, end, longest) for start, end in zip(words.layout.offsets, words.layout.offsets[1:])]
    offsets = np.concatenate([*starts, words.layout.offsets[-1:]]).astype(np.int64)
    return model.encoder.encode_words(words.forms)[words.place], tags, offsets, words
