"""What the components have in common that learn a head-outward model from trees."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from spacy.training import Example

from ..annotation.documents import GoldDocument
from ..models.head_outward import HEAD_OUTWARD, HeadOutwardModel
from ..pools.pool import Weights
from ..training.treebank import GoldCorpus, Treebank
from ..training.trees import visit
from .alignment import gold_documents
from .parsers import GibbsParser
from .word_classes import begin_with_classes


class HeadOutwardComponent(GibbsParser):
    """A component whose thinc Model holds a head-outward model."""

    attribute = HEAD_OUTWARD

    @property
    def head_outward(self) -> HeadOutwardModel:
        """The probability model itself."""
        return self.learned

    def _new_treebank(self, model: HeadOutwardModel) -> Treebank:
        return Treebank(model, self._read)

    def _initialize_model(self, model: HeadOutwardModel, corpus: GoldCorpus, labels: dict[str, list[str]]) -> None:
        model = begin_with_classes(model, self.vocab)
        vocabulary = corpus.vocabulary(labels["tags"], model.own_settings, uncased=True)
        model.initialize(labels["labels"], vocabulary)

    def _documents(self, examples: Iterable[Example]) -> Iterator[GoldDocument]:
        """What is learned from examples."""
        return gold_documents(examples, self._tokens)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        batch = self._treebank.rows(self._documents(examples))
        return bool(batch) and self._step(batch, losses)

    def _visit(
        self, batch: list[tuple[bytes, np.ndarray]], rng: np.random.Generator
    ) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
        return visit(self.head_outward, batch, rng, threads=self.settings.threads, **self._drawn())

    def _drawn(self) -> dict[str, Any]:
        """Which trees are drawn now, as `training.trees.visit` takes it."""
        return {}
