"""The head-outward model and its registered architecture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.arrays import Sentences
from ..annotation.encoding import Words, read_attribute, read_words
from ..annotation.sentences import Encoder, GoldSentence
from ..compiled import NONE
from ..hpyp.count_model import CountModel
from ..hpyp.franchise import Franchise, new_franchise
from ..hpyp.pool import Pool
from ..settings import TRUTH, Number, OneOf, Settings, Whole, setting, taking
from ..stored import Message, model_holding
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import VocabularySettings
from ..text.word_classes import Classes, uncased_classes
from .contexts import (
    CASES,
    DISTANCES,
    DISTRIBUTIONS,
    GeneratedInTrees,
    HeadOutwardContexts,
    HeadOutwardDistributions,
    conditionals,
    make_distributions,
    unchartable,
    with_classes,
)
from .parsing import HeadOutwardTrees, parse


@dataclass(frozen=True)
class EstimatorSettings(Settings):
    """All settings of `spacy-hpyp.HeadOutwardModel.v1`."""

    prior: str = setting("pitman-yor", OneOf(("eisner", "dirichlet", "pitman-yor")))
    counts: str = setting("sampled", OneOf(("sampled", "minimal")))
    hyperparameters: str = setting("sampled", OneOf(("sampled", "fixed")))
    discount: float = setting(0.5, Number(0.001, 0.999))
    uniform_roots: bool = setting(True, TRUTH)
    min_count: int = setting(2, Whole(0))


#: The attribute of a thinc Model that holds a `HeadOutwardModel`.
HEAD_OUTWARD = "head_outward"
#: Longer sentences are parsed in parts: time and memory grow with the third power of the length.
LONGEST = 150
# Eisner's smoothing constants (1996): the strength of the next coarser context, and of the uniform
# distribution.
_FINER, _COARSEST = 3.0, 0.5
_LOWER, _UPPER, _CAPITALISED, _MIXED = range(CASES)


class CasedEncoder(Encoder):
    """An encoder with cased words: the number of the uncased form times `CASES`, plus the case."""

    def encode(self, sentence: GoldSentence) -> np.ndarray | str:
        """Return int32[4, tokens] (cased words, tags, heads, labels), or why this is impossible."""
        rows = super().encode(replace(sentence, words=[word.lower() for word in sentence.words]))
        if not isinstance(rows, str):
            rows[0] = rows[0] * CASES + [case_of(word) for word in sentence.words]
        return rows

    def encode_words(self, forms: Sequence[str]) -> np.ndarray:
        """Return the cased words of forms (int32[words])."""
        numbers = self.vocabulary.numbers([form.lower() for form in forms])
        return np.array(numbers, dtype=np.int32) * CASES + np.array(
            [case_of(form) for form in forms], dtype=np.int32
        )


def case_of(word: str) -> int:
    """Return the case of a word: lower (or none), upper, first letter upper, or mixed."""
    if word == word.lower():
        return _LOWER
    if word == word.upper():
        # A single capital letter counts as capitalised.
        return _UPPER if sum(letter.isalpha() for letter in word) > 1 else _CAPITALISED
    return _CAPITALISED if word[:1].isupper() and word[1:] == word[1:].lower() else _MIXED


class HeadOutwardModel(CountModel):
    """A distribution over sentences with their tags and trees (Eisner 1996; Wallach et al. 2008).

    vocabulary_settings (VocabularySettings): The settings of its vocabulary of uncased words.
    progress (Progress): The progress of training.
    unchartable (str | None): The reason why the chart cannot be used, if there is one.
    RAISES (ValueError): If a context list is invalid, or `tag` has none.
    """

    define, with_classes = staticmethod(conditionals), staticmethod(with_classes)
    other_symbols = 3  # Unknown tag, ROOT, NULL

    def __init__(
        self,
        contexts: HeadOutwardContexts,
        vocabulary_settings: VocabularySettings,
        settings: EstimatorSettings,
    ) -> None:
        self.settings = settings
        own_tables = settings.prior == "eisner"
        self.unchartable = unchartable(conditionals(contexts))
        super().__init__(
            contexts,
            vocabulary_settings,
            one_table=not own_tables and settings.counts == "minimal",
            own_tables=own_tables,
            resampled=settings.hyperparameters != "fixed" and not own_tables,
        )

    @property
    def _known_classes(self) -> Classes | None:
        return uncased_classes(self.classes) if self.classes else None

    @property
    def sizes(self) -> dict[str, int]:
        """See `CountModel`. Unknown tags are one more tag; STOP is the last outcome of `tag`."""
        words, labels = max(1, len(self.vocabulary)), max(1, len(self.labels))
        sizes = len(self.tags) + 2, words, CASES, 2, DISTANCES, labels
        return dict(zip(DISTRIBUTIONS, sizes))

    @property
    def symbols(self) -> np.ndarray:
        """The numbers of symbols of tags, words and cases (int32[3]), with ROOT and NULL."""
        return np.array([len(self.tags) + 1, len(self.vocabulary), CASES], dtype=np.int32) + 2

    @property
    def encoder(self) -> CasedEncoder:
        """See `CountModel`."""
        return CasedEncoder(self.vocabulary, self.labels)

    def _new_franchise(self, name: str) -> Franchise:
        conditional = self.conditionals[name]
        franchise = new_franchise(
            conditional.columns,
            self.sizes[name],
            self.settings.discount if self.settings.prior == "pitman-yor" else 0.0,
            _FINER,
            one_table=self.one_table,
            own_tables=self.own_tables,
        )
        experts, depth = conditional.columns.shape
        level = np.tile(np.arange(depth + 1), experts)
        lengths = np.repeat(np.sum(conditional.columns != NONE, axis=1), depth + 1)
        # With `uniform_roots`, back-off skips the distribution without context.
        passed = (level == 0) & (lengths > 0) & self.settings.uniform_roots
        coarsest = np.where(lengths > 0, int(self.settings.uniform_roots), 0)
        franchise.strength[level == coarsest] = _COARSEST
        franchise.discount[passed], franchise.strength[passed] = 1.0, 0.0
        return franchise

    # Trees have no further derivations

    def generated(self, name: str, sentences: Sentences, derivations: None) -> GeneratedInTrees:
        """See `CountModel`; words are cased."""
        self.check_classes()
        return GeneratedInTrees(DISTRIBUTIONS.index(name), *sentences, self.symbols)

    def predicting(self, pools: Mapping[str, Pool]) -> HeadOutwardDistributions:
        """See `CountModel`."""
        self.check_classes()
        return make_distributions(self.conditionals, pools, self.symbols)

    # Storage

    def _fixed(self) -> Message:
        names = ("prior", "counts", "uniform_roots")
        estimators = {name: getattr(self.settings, name) for name in names}
        return {**super()._fixed(), "estimators": estimators}


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
    """Make the head-outward model of Eisner (1996) with the priors of Wallach et al. (2008).

    tag, word, case, children, distance, label (Sequence[Sequence[str]]): The context lists of each
        distribution's experts, most important element first; see
        `spacy_hpyp.head_outward.contexts`. `tag` needs one; others without generate nothing.
    unknown_words (UnknownWordRule): Maps rare words to classes.
    **settings: See `EstimatorSettings`.
    RETURNS (Model): Maps Docs with tags to their trees. Its parameters are the weights of pools.
    RAISES (ValueError): If a context list or a setting is invalid.
    """
    checked = EstimatorSettings(**settings)
    contexts = HeadOutwardContexts(tag, word, case, children, distance, label)
    vocabulary = VocabularySettings(unknown_words, checked.min_count)
    model = HeadOutwardModel(contexts, vocabulary, checked)
    return model_holding(model, "head_outward", HEAD_OUTWARD, _parse)


def _parse(model: HeadOutwardModel, docs: list[Doc]) -> HeadOutwardTrees:
    words, tags, offsets, _ = read_docs(model, docs)
    return parse(model.frozen, words, tags, offsets, consensus=False, threads=1)


def read_docs(
    model: HeadOutwardModel, docs: Sequence[Doc]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Words]:
    """Encode the sentences of Docs for the parser, in parts of at most `LONGEST` words.

    docs (Sequence[Doc]): Docs with tags; unknown and missing tags share one number.
    RETURNS (tuple): Cased words and tags (int32[words]), the start of each part (int64[parts + 1]),
        and the words with their layout.
    RAISES (ValueError): If the model has not been trained.
    """
    words = read_words(docs)
    names, tag = read_attribute(docs, words.layout, "tag")
    encoder = model.encoder
    numbers = [encoder.tags.get(name, len(model.tags)) for name in names]
    tags = np.array(numbers, dtype=np.int32)[tag]
    bounds = words.layout.offsets
    starts = [np.arange(start, end, LONGEST) for start, end in zip(bounds, bounds[1:])]
    offsets = np.concatenate([*starts, bounds[-1:]]).astype(np.int64)
    return encoder.encode_words(words.forms)[words.place], tags, offsets, words
