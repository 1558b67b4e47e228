"""What the components have in common that learn a head-outward model from trees."""

from typing import Any

import numpy as np

from ..annotation.documents import written_labels
from ..models.head_outward import HEAD_OUTWARD
from ..models.head_outward_model import HeadOutwardModel
from ..models.head_outward_storage import head_outward_from_bytes
from ..models.parameters import add_gradients, check_weights, weights_from
from ..training.trees import Sampler, TreeCorpus
from .base import TrainableComponent, listed, reading_parts


class HeadOutwardComponent(TrainableComponent):
    """A component whose thinc Model holds a head-outward model, and that learns it by Gibbs sampling.

    Its settings have `seed` and `threads`. A subclass sets `_loss` to (0.0, 0) when training begins.
    """

    attribute = HEAD_OUTWARD
    _loss: tuple[float, int]

    @property
    def head_outward(self) -> HeadOutwardModel:
        """The probability model itself."""
        return self.model.attrs[HEAD_OUTWARD]

    @property
    def is_trained(self) -> bool:
        """Whether the model has its vocabulary and labels."""
        return self.head_outward.is_initialized

    @property
    def labels(self) -> tuple[str, ...]:
        """What the model has for `token.dep_`: the labels of arcs, those of roots ("ROOT") and of white space ("dep")."""
        return written_labels(self.head_outward.labels) if self.is_trained else ()

    @property
    def label_data(self) -> dict[str, list[str]]:
        """Tags and labels of the model, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.head_outward.tags), "labels": list(self.head_outward.labels)}

    def _begin(self, corpus: TreeCorpus, labels: dict[str, list[str]] | None) -> Sampler:
        """Make a new model of a corpus that has been read, which is in the sampler that is returned. The component stays as it is.

        labels (dict | None): See `initialize`.
        RAISES (ValueError): If nothing can be learned.
        """
        if not corpus.sentences:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has a sentence with "
                f"a tag for every token and a complete tree{listed(corpus.skipped)}. Is the right file in the corpus?"
            )
        model = self.head_outward.untrained()
        corpus.initialize(model, corpus.label_data() if labels is None else labels)
        sampler = Sampler(model, corpus)
        if not model.progress.sweep.copies:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: nothing can be learned with the given tags and "
                f"labels{listed(corpus.skipped)}. Make them of the same data with 'python -m spacy init labels'."
            )
        return sampler

    def _losses(self, losses: dict[str, float] | None) -> dict[str, float]:
        """The losses that `update` was given, with one of the component."""
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0.0, 0)
            losses[self.name] = 0.0
        return losses

    def _visit(
        self,
        sampler: Sampler,
        batch: list[tuple[bytes, np.ndarray]],
        losses: dict[str, float],
        *,
        drawn: str = "nothing",
    ) -> bool:
        """One Gibbs step for each customer of some sentences, see `Sampler.visit`; at the end of a sweep hyperparameters are resampled.

        RETURNS (bool): Whether that was the end of a sweep.
        """
        return self.guard.change(lambda: self._step(sampler, batch, losses, drawn))

    def _step(
        self, sampler: Sampler, batch: list[tuple[bytes, np.ndarray]], losses: dict[str, float], drawn: str
    ) -> bool:
        model = sampler.model
        rng = np.random.default_rng([self.seed, model.progress.steps])
        model.progress.steps += 1
        totals, gradient, tokens, seated = sampler.visit(batch, rng, drawn=drawn, threads=self.threads)
        # What is learned from sentences that the model has not seen before is not what it will need to know.
        if gradient and seated:
            add_gradients(self.model, HEAD_OUTWARD, gradient, tokens)
        self._loss = (self._loss[0] - sum(totals.values()), self._loss[1] + tokens)
        losses[self.name] = self._loss[0] / max(1, self._loss[1])
        if not model.progress.sweep.count(len(batch)):
            return False
        model.resample(rng)
        model.progress.sweeps += 1
        return True

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> Any:
        with reading_parts():
            stored, weights = attributes[HEAD_OUTWARD], weights_from(self.head_outward, parameters)
        loaded = head_outward_from_bytes(self.head_outward, stored)
        check_weights(loaded, weights)
        loaded.weights = weights
        return loaded
