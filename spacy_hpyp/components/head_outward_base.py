"""What the components have in common that learn a head-outward model from trees."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from spacy.training import Example

from ..annotation.documents import GoldDocument
from ..models.head_outward import HEAD_OUTWARD
from ..models.head_outward_model import HeadOutwardModel
from ..pools.pool import Weights
from ..training.treebank import GoldCorpus, Treebank
from ..training.trees import visit
from .alignment import gold_documents
from .parsers import GibbsParser


class HeadOutwardComponent(GibbsParser):
    """A component whose thinc Model holds a head-outward model."""

    attribute = HEAD_OUTWARD

    @property
    def head_outward(self) -> HeadOutwardModel:
        """The probability model itself."""
        return self.model.attrs[HEAD_OUTWARD]

    def _reset_training(self) -> None:
        super()._reset_training()
        self._treebank = Treebank(self.head_outward, self._read)

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

    def _treebank_of(self, corpus: GoldCorpus, labels: dict[str, list[str]]) -> Treebank:
        """The sentences of a corpus, and a new model of them. The component stays as it is.

        labels (dict[str, list[str]]): See `initialize`.
        RAISES (ValueError): If nothing can be learned.
        """
        model = self.head_outward.untrained()
        vocabulary = corpus.vocabulary(labels["tags"], model.vocabulary_settings, uncased=True)
        model.initialize(labels["labels"], vocabulary)
        treebank = Treebank(model, self._read)
        treebank.begin(corpus)
        if not treebank.usable:
            raise self._nothing_fits(treebank.skipped)
        return treebank
