"""What the easy-first tagger and senter have in common: each word gets an outcome."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from spacy import util
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.words import Words
from ..easy_first.decisions import Search
from ..models.decider import Decider, Lesson
from ..models.decider_storage import decider_from_bytes
from ..models.easy_first import DECIDER
from ..training.outcomes import Corpus, Encoded, GoldWords
from .base import TrainableComponent, reading_parts
from .settings import DecisionSettings


class DecidingComponent(TrainableComponent):
    """A component that decides words, the easiest first.

    A subclass defines, besides what `TrainableComponent` asks for, `_outcomes` (the names of the outcomes of some examples),
    `_gold_words` (what is learned from an example), `_content` (what that depends on) and `set_annotations`.

    vocab (Vocab): The shared vocabulary.
    model (Model): A thinc Model that holds a `Decider`.
    name (str): The name of the component instance.
    scorer (Callable | None): What `score` calls.
    settings (dict[str, Any]): Those of `DecisionSettings` that are not to have their defaults.
    """

    settings_type = DecisionSettings
    attribute = DECIDER

    def __init__(
        self, vocab: Vocab, model: Model, name: str, scorer: Callable | None, settings: dict[str, Any]
    ) -> None:
        super().__init__(vocab, model, name, scorer, settings)
        self._reset_training()

    # What a subclass defines

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> list[GoldWords]:
        """What is learned from an example.

        outcomes (dict[str, int]): Their numbers.
        """
        raise NotImplementedError

    def _content(self, example: Example) -> bytes:
        """All that `_gold_words` depends on."""
        raise NotImplementedError

    # Settings

    @property
    def decider(self) -> Decider:
        """The model itself."""
        return self.model.attrs[DECIDER]

    @property
    def is_trained(self) -> bool:
        """Whether the model knows words and outcomes."""
        return self.decider.is_initialized

    @property
    def search(self) -> Search:
        """How outcomes are searched for."""
        return Search(self.settings.beam, self.settings.window)

    # Training

    def _reset_training(self) -> None:
        self._encoded: dict[bytes, Encoded | None] = {}
        self._loss = (0, 0)

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str], missing: str) -> None:
        """Collect the vocabulary and forget what was learned before.

        missing (str): What no example has if there is nothing to learn.
        RAISES (ValueError): If there is nothing to learn.
        """
        model = self.decider.untrained()
        numbers = {outcome: number for number, outcome in enumerate(outcomes)}
        found = [words for example in examples for words in self._gold_words(example, numbers)]
        if not any(np.any(words.gold >= 0) for words in found):
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has {missing}. Is the right "
                "file in the corpus?"
            )
        model.initialize(Corpus(found).vocabulary(model, outcomes))
        model.training.size = len(found)
        self._use(model)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from some examples, sequence by sequence (Algorithm 2 of Ma et al. 2013).

        examples (Iterable[Example]): What is learned are the reference documents, on the tokens that `tokens` says.
        drop (float): Not used.
        sgd (Optimizer | Literal[False] | None): Not used: the perceptron's updates have no gradient.
        losses (dict[str, float] | None): Gets, under the component's name, the number of updates for each sequence, in all
            calls since the name was last missing.
        RETURNS (dict[str, float]): The losses.
        RAISES (ValueError): If the component has not been initialized.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0, 0)
            losses[self.name] = 0.0
        examples = self._examples(examples, "update")
        self._check_trained()
        outcomes = {outcome: number for number, outcome in enumerate(self.decider.outcomes)}
        found = [self._encode(example, outcomes) for example in examples]
        parts = [encoded for encoded in found if encoded is not None]
        if parts:
            batch = Encoded.join(parts)
            lesson = self.guard.change(lambda: self._learn(batch))
            self._loss = (self._loss[0] + lesson.early + lesson.full, self._loss[1] + lesson.sequences)
            losses[self.name] = self._loss[0] / self._loss[1]
        return losses

    def _encode(self, example: Example, outcomes: dict[str, int]) -> Encoded | None:
        """An example as the model reads it, from memory if one of the same content has been read; None without words."""
        key = hashlib.blake2b(self._content(example), digest_size=16).digest()
        if key not in self._encoded:
            words = self._gold_words(example, outcomes)
            self._encoded[key] = Corpus(words).encode(self.decider) if words else None
        return self._encoded[key]

    def _learn(self, batch: Encoded) -> Lesson:
        lesson = self.decider.learn(batch.sequences, batch.gold, self.search, margin=self.margin)
        training = self.decider.training
        training.visited += lesson.sequences
        training.early += lesson.early
        training.full += lesson.full
        if training.visited >= training.size:
            util.logger.debug(
                "%s: %d early and %d full updates in %d sequences",
                self.name,
                training.early,
                training.full,
                training.visited,
            )
            training.visited = training.early = training.full = 0
        return lesson

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray]:
        """Decide the words of documents without changing them.

        docs (Iterable[Doc]): The documents.
        RETURNS (tuple[Words, int32[words]]): Their words, and the outcome of each.
        RAISES (ValueError): If the component has not been trained, or its features read guides and a document has none.
        """
        self._check_trained()
        sequences, words = self.decider.read_docs(list(docs), reader=self.name)
        return words, self.model.predict((sequences, self.search, self.threads))

    # Storage

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> Decider:
        with reading_parts():
            stored = attributes[DECIDER]
        return decider_from_bytes(self.decider, stored)

    def _replace_model(self, loaded: Decider) -> None:
        self.model.attrs[DECIDER] = loaded
        self._reset_training()
