"""What the components have in common that learn a head-outward model from trees."""

from ..models.head_outward import HEAD_OUTWARD
from ..models.head_outward_model import HeadOutwardModel
from ..training.treebank import GoldCorpus, Treebank
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
