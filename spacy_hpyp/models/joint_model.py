"""The joint model of transitions, tags and words: what it is about, what it has seen, and how far its training is."""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from spacy.tokens import Doc

from ..annotation.arrays import Sentences
from ..annotation.confidence import Confidence
from ..annotation.documents import Encoder, Layout, forms_of
from ..arc_standard.configuration import FIRST_SYMBOL
from ..arc_standard.distributions import (
    DISTRIBUTIONS,
    ContextLists,
    alphabet_sizes,
    conditionals,
    has_labels,
    root_tag_of,
)
from ..pools.pool import Weights
from ..text.vocabulary import Vocabulary, VocabularySettings
from .frozen import FrozenModel
from .guard import Guard
from .progress import Progress
from .seating import Packed, Seating
from .settings import PoolSettings
from .spelling import Spelling, spell, write_out

_USUAL = PoolSettings()


class JointModel:
    """A distribution over sentences with their tags, trees and derivations.

    contexts (ContextLists): What each distribution is conditioned on.
    vocabulary_settings (VocabularySettings): How its vocabulary is made.
    one_table (bool): Whether dishes have one table in each restaurant at most, see `Franchise`.
    labelled (bool): Whether it tells the labels of arcs apart; else all arcs have the same one.
    root_last (bool): Whether ROOT ends a sentence, as a tag, and does not precede it, see `root_tag_of`.
    spelled (bool): Whether rare words are spelled out, see `spacy_hpyp.models.spelling`.
    pools (PoolSettings): How the weights of pools begin and how they are learned.

    conditionals (dict[str, Conditional]): The distributions, by their names.
    tags, labels (list[str]): The alphabets, empty until `initialize` has been called or the model has been read from a file.
    seating (Seating): What it has seen; there is none until then.
    spelling (Spelling | None): How rare words are spelled, if they are. No derivation depends on it.
    progress (Progress): How far training is.
    guard (Guard): Lets one thread at a time read the seating and what else is learned, or change it.
    confidence (Confidence | None): How posterior probabilities are to be taken; None until it has been learned.
    weights (Mapping[str, Weights]): The weights of the pools. Inside a thinc Model they are its parameters.
    """

    def __init__(
        self,
        contexts: ContextLists,
        vocabulary_settings: VocabularySettings,
        *,
        one_table: bool = False,
        labelled: bool = True,
        root_last: bool = False,
        spelled: bool = False,
        pools: PoolSettings = _USUAL,
    ) -> None:
        self.contexts = contexts
        self.vocabulary_settings = vocabulary_settings
        self.one_table = one_table
        self.labelled = labelled
        self.root_last = root_last
        self.spelled = spelled
        self.pools = pools
        self.conditionals = conditionals(contexts, root_last=root_last)
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.weights: Mapping[str, Weights] = self.first_weights()
        self.progress = Progress()
        self.guard = Guard()
        self.confidence: Confidence | None = None
        self.spelling: Spelling | None = None
        self._seating: Seating | None = None

    def untrained(self) -> "JointModel":
        """A model with the same settings that knows nothing yet."""
        return JointModel(
            self.contexts,
            self.vocabulary_settings,
            one_table=self.one_table,
            labelled=self.labelled,
            root_last=self.root_last,
            spelled=self.spelled,
            pools=self.pools,
        )

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self._seating is not None

    @property
    def is_lexicalised(self) -> bool:
        """Whether the model generates words."""
        return len(self.conditionals["word"].experts) > 0

    @property
    def is_factored(self) -> bool:
        """Whether a transition is a direction and a label."""
        return has_labels(self.conditionals)

    @property
    def has_pools(self) -> bool:
        """Whether all that leads to a tree is predicted by pools of experts, in factored transitions."""
        return self.is_factored and not any(self.conditionals[name].is_plain for name in DISTRIBUTIONS)

    @property
    def seating(self) -> Seating:
        """What the model has seen."""
        if self._seating is None:
            raise ValueError("The model has not been trained: it knows no words, tags or labels.")
        return self._seating

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        return self.seating.vocabulary

    @property
    def encoder(self) -> Encoder:
        """What its numbers stand for."""
        return Encoder(self.vocabulary, self.labels, labelled=self.labelled)

    @property
    def frozen(self) -> FrozenModel:
        """The model as it predicts now."""
        return self.freeze(self.weights)

    def freeze(self, weights: Mapping[str, Weights]) -> FrozenModel:
        """The model as it predicts with some weights, see `Seating.freeze`."""
        return self.guard.read(lambda: self.seating.freeze(weights))

    def without(self, sentences: Sentences, rng: np.random.Generator, threads: int = 1) -> "JointModel":
        """The model as if it had not learned from some sentences, to predict with: it cannot learn. This one stays as it is.

        sentences, rng, threads, RAISES (ValueError): See `Seating.without`.
        """
        other = copy(self)
        other._predict_by(self.guard.read(lambda: self.seating.without(sentences, self.weights, rng, threads)))
        return other

    def _predict_by(self, seating: Seating) -> None:
        self.guard, self._seating = Guard(), seating

    def initialize(
        self, labels: Sequence[str], vocabulary: Vocabulary, distributions: dict[str, Any] | None = None
    ) -> None:
        """Fix the alphabets and forget everything that was seated.

        distributions (dict[str, Any] | None): A seating as it was stored, to begin with; it is checked when it is needed.
        """
        self.tags, self.labels = list(vocabulary.tags), list(labels)
        self.weights = self.first_weights()
        self.progress = Progress()
        self.confidence = None
        self.spelling = None
        sizes = self.alphabets(vocabulary)
        root_tag = root_tag_of(sizes["tag"], root_last=self.root_last)
        if distributions is not None:
            packed = Packed(distributions, self.conditionals, sizes, self.one_table)
            self._seating = Seating(self.conditionals, packed, vocabulary, root_tag)
            return
        franchises = {
            name: conditional.new_franchise(sizes[name], one_table=self.one_table)
            for name, conditional in self.conditionals.items()
        }
        self._seating = Seating(self.conditionals, franchises, vocabulary, root_tag)

    def spell(self, words: Sequence[str], numbers: np.ndarray) -> np.ndarray:
        """What words have in log-probability besides that of what the vocabulary knows them by, see `models.spelling.spell`."""
        return spell(self.spelling, len(self.vocabulary.words), words, self.vocabulary.outcomes[numbers])

    def spell_docs(self, docs: Sequence[Doc], layout: Layout, numbers: np.ndarray) -> np.ndarray:
        """`spell` of the words of Docs.

        layout (Layout): Where the words stand.
        numbers (int32[words]): Their numbers in the vocabulary.
        """
        found = np.zeros(len(numbers))
        if self.spelling is None:
            return found
        rare = np.flatnonzero(numbers >= len(self.vocabulary.words))
        found[rare] = self.spell(forms_of(docs, layout, rare), numbers[rare])
        return found

    def write_out(self, number: int, rng: np.random.Generator) -> str:
        """A word with a number, see `models.spelling.write_out`."""
        return write_out(self.vocabulary, self.spelling, number, rng)

    def alphabets(self, vocabulary: Vocabulary) -> dict[str, int]:
        """The number of outcomes of each distribution, given the words."""
        return alphabet_sizes(
            labels=len(self.labels),
            tags=len(self.tags),
            words=len(vocabulary),
            factored=self.is_factored,
            root_last=self.root_last,
        )

    def first_weights(self) -> dict[str, Weights]:
        """Weights before any are learned, by distribution."""
        symbols = FIRST_SYMBOL + len(self.tags)
        return {name: each.first_weights(symbols, self.pools.first_weight) for name, each in self.conditionals.items()}
