"""Models that count: conditional distributions over the alphabets of a treebank, what they have seen, and how far their training is."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from thinc.api import Model

from ..annotation.documents import Encoder
from ..hpyp.franchise import Franchise
from ..pools.conditional import Conditional
from ..pools.pool import Weights
from ..storage.schema import Field, Message, part
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import ClassedRule, Classes, path_in, path_of
from .classed import ClassedModel
from .guard import Guard
from .messages import labels_from_message, vocabulary_from_message, vocabulary_to_message
from .parameters import Parameters
from .progress import Progress
from .seating import Packed, Seating
from .settings import PoolSettings


class CountModel(Seating, ClassedModel):
    """A distribution over sentences and what they are made of, learned by seating customers.

    A subclass says what a `Seating` has to know, and `_conditionals`, `_with_classes`, `sizes`, `_new_franchise`, `_is_derivation` and how
    training stands in messages. With classes of words it knows those by them that its treebank has seldom or not at all, but raw text has.

    conditionals (dict[str, Conditional]): The distributions, by their names.
    vocabulary_settings (VocabularySettings): How its vocabulary is made.
    pools (PoolSettings): How the weights of pools begin and how they are learned.
    one_table, own_tables (bool): How its customers sit, see `Franchise`.
    resampled (bool): Whether discounts and strengths are sampled.

    tags, labels (list[str]): The alphabets, empty until `initialize` has been called or the model has been read from a file.
    progress (Progress): How far training is.
    guard (Guard): Lets one thread at a time read the seating and what else is learned, or change it.
    weights (Mapping[str, Weights]): The weights of the pools. Inside a thinc Model they are its parameters.
    """

    learned = "distributions"
    #: How training stands in messages; and what its derivations are called there.
    training: ClassVar[Field]
    drawn: ClassVar[str]
    #: How many symbols of gates there are besides the tags.
    other_symbols: ClassVar[int]

    def __init__(
        self,
        vocabulary_settings: VocabularySettings,
        pools: PoolSettings,
        *,
        one_table: bool = False,
        own_tables: bool = False,
        resampled: bool = True,
    ) -> None:
        self.vocabulary_settings = vocabulary_settings
        self.pools = pools
        self.one_table, self.own_tables, self.resampled = one_table, own_tables, resampled
        self.guard = Guard()
        self.use_classes(None)

    # What a subclass defines

    @abstractmethod
    def _conditionals(self, *, is_classed: bool) -> dict[str, Conditional]:
        """The distributions, with the lists that read classes of words or without them."""

    @abstractmethod
    def _with_classes(self, elements: np.ndarray, paths: Sequence[str]) -> np.ndarray:
        """Elements as they are read with the path to the class of each word and each class of unknown words."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How many outcomes each distribution has."""

    @abstractmethod
    def _new_franchise(self, name: str) -> Franchise:
        """An empty seating of a distribution."""

    @abstractmethod
    def _is_derivation(self, path: np.ndarray) -> bool:
        """Whether an array is a derivation as `Progress` has them."""

    # Alphabets

    def _forget(self) -> None:
        self.tags: list[str] = []
        self.labels: list[str] = []
        self._vocabulary: Vocabulary | None = None
        self._seat(None)
        self.progress = Progress()
        self.weights: Mapping[str, Weights] = self.first_weights()

    def initialize(
        self, labels: Sequence[str], vocabulary: Vocabulary, distributions: dict[str, Any] | None = None
    ) -> None:
        """Fix the alphabets and forget everything that was seated.

        distributions (dict[str, Any] | None): A seating as it was stored, to begin with; it is checked when it is needed.
        """
        self._forget()
        self.tags, self.labels, self._vocabulary = list(vocabulary.tags), list(labels), vocabulary
        self.weights = self.first_weights()
        seated: dict[str, Franchise] | Packed = (
            {name: self._new_franchise(name) for name in self.conditionals}
            if distributions is None
            else Packed(distributions, self.conditionals, self.sizes, self.one_table, self.own_tables)
        )
        self._seat(seated)
        self._know_classes()

    # Classes of words

    def _read_with(self, *, is_classed: bool) -> bool:
        self.conditionals = self._conditionals(is_classed=is_classed)
        return is_classed

    @property
    def _known_classes(self) -> Classes | None:
        """The classes of words as the vocabulary has them."""
        return self.classes

    @property
    def own_settings(self) -> VocabularySettings:
        """How its vocabulary is made: with the classes, if it has any."""
        settings, classes = self.vocabulary_settings, self._known_classes
        return replace(settings, rule=ClassedRule(settings.rule, classes)) if classes else settings

    def _know_classes(self) -> None:
        if not self._classes or not self.is_initialized:
            return
        rule = self.own_settings.rule
        assert isinstance(rule, ClassedRule)
        self._vocabulary = self.vocabulary.with_rule(rule)
        known = [path_of(rule.classes, word) for word in self.vocabulary.words]
        self._paths = [*known, *map(path_in, self.vocabulary.classes)]
        self.conditionals = {
            name: replace(each, elements=self.reading(each.elements))
            for name, each in self._conditionals(is_classed=True).items()
        }
        # Views are of the seating alone, and may be mapped already.
        self._frozen = None

    def reading(self, elements: np.ndarray) -> np.ndarray:
        """Elements as they are read with the classes that it has."""
        return self._with_classes(elements, self._paths) if self._classes else elements

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self._seated is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        if self._vocabulary is None:
            raise ValueError("The model has not been trained: it knows no words, tags or labels.")
        return self._vocabulary

    @property
    def encoder(self) -> Encoder:
        """What its numbers stand for."""
        return Encoder(self.vocabulary, self.labels)

    def first_weights(self) -> dict[str, Weights]:
        """Weights before any are learned, by distribution."""
        # Gates read tags.
        symbols = len(self.tags) + self.other_symbols
        return {name: each.first_weights(symbols, self.pools.first_weight) for name, each in self.conditionals.items()}

    # Prediction

    @property
    def frozen(self) -> Any:
        """The model as it predicts now."""
        return self.freeze(self.weights)

    def freeze(self, weights: Mapping[str, Weights]) -> Any:
        """The model as it predicts with some weights, made when it is first asked for."""
        return self.guard.read(lambda: self._freeze(weights))

    # Storage

    def _join(self, model: Model, attribute: str) -> None:
        self.weights = Parameters(model, attribute)
        if self.is_initialized:
            self.check()

    def _write(self) -> Message:
        if not self.is_initialized:
            return {}
        return {
            **vocabulary_to_message(self.vocabulary),
            "labels": self.labels,
            "distributions": self.pack(),
            **self._classed(),
            **self.training.write(self.progress.values()),
        }

    def _read(self, message: Message) -> None:
        """The weights of pools are not part of the message: they are those of `first_weights`. The seating is not read yet."""
        self._read_classed(message)
        labels = labels_from_message(message)
        vocabulary = vocabulary_from_message(message, self.vocabulary_settings.rule)
        distributions = part(message, "distributions", dict)
        self.initialize(labels, vocabulary, {name: part(distributions, name, dict) for name in self.conditionals})
        values = self.training.read(message, {})
        self.progress = Progress.of_values(values, self._is_derivation, self.drawn)
