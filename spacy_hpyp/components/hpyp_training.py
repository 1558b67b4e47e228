"""How the component `hpyp_parser` learns, and how what it has learned is stored."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from pathlib import Path

import numpy as np
from spacy import util
from spacy.training import Example
from thinc.api import Model, Optimizer

from ..annotation.arrays import Parses
from ..annotation.documents import Layout
from ..models.architectures import JOINT_MODEL, thinc_model
from ..models.joint_model import JointModel
from ..models.parameters import set_pooled, weights_from
from ..models.view_storage import read_views, write_views
from ..pools.pool import Weights
from ..storage.cache import cached_file, in_cache
from ..storage.checksum import identity, identity_of_file
from ..training.confidence import learn_confidence
from ..training.contrast import LEAST_TOKENS, learn_contrasts
from ..training.derivations import JointTreebank, SentenceBatch, initialize, visit
from ..training.treebank import GoldCorpus
from .alignment import gold_documents
from .parsers import GibbsParser
from .word_classes import begin_with_classes

# Where the views stand if they stand beside the model.
_VIEWS = "view.bin"
# While something is latent, hyperparameters are resampled after so many sweeps (B&B section 5.1).
_LATENT_INTERVAL = 5


class HPYPTraining(GibbsParser):
    """A component whose thinc Model holds a joint model of transitions, tags and words."""

    attribute = JOINT_MODEL

    @property
    def joint(self) -> JointModel:
        """The probability model itself."""
        return self.learned

    @property
    def _known_labels(self) -> set[str]:
        return {*self.labels, *self.joint.tags}

    def _initialized(self) -> JointModel:
        self._check_trained()
        return self.joint

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._warned_of_new = self._contrast_is_due = False

    def _new_treebank(self, model: JointModel) -> JointTreebank:
        return JointTreebank(model)

    def _initialize_model(self, model: JointModel, corpus: GoldCorpus, labels: dict[str, list[str]]) -> None:
        initialize(begin_with_classes(model, self.vocab), corpus, labels, seed=self.seed)
        if model.vocabulary.rare:
            rare = len(model.vocabulary.rare)
            util.logger.info("%s: %d words that are rare are known by the tags that they had", self.name, rare)

    def _warn_of_new(self) -> None:
        model, new = self._initialized(), self._treebank.new
        if self._warned_of_new or not new.sentences:
            return
        lost = new.lost(model.vocabulary, model.vocabulary_settings.min_count)
        if not lost and not new.skipped:
            return
        self._warned_of_new = True
        problems = [
            *([f"takes {lost} of their {new.words.total()} tokens for unknown words"] if lost else []),
            *([f"skips {new.skipped} of them for their tags or labels"] if new.skipped else []),
        ]
        warnings.warn(
            f"The component '{self.name}' is trained on {new.sentences} sentences that it was not initialized with, but its "
            f"words, tags and labels do not grow. It {' and '.join(problems)}, which it would not if it was trained on all of "
            "the data from the start. Do that: give all of the data to a new component, in a config by 'factory = "
            "\"hpyp_parser\"' instead of 'source', in Python by 'nlp.initialize'.",
            stacklevel=3,
        )

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        batch = self._treebank.batch(gold_documents(examples, self.tokens))
        # What is new is known when everything has been seen once.
        if batch.met:
            self._warn_of_new()
        if not batch or not self._step(batch, losses):
            return False
        self._warn_of_skipped(self._treebank.skipped, self._treebank.size)
        # Where weights are to be contrasted, confidence is learned after that.
        return not self._contrast_is_due

    def _visit(
        self, batch: SentenceBatch, rng: np.random.Generator
    ) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
        model, latent = self.joint, self.latent if self._is_latent else "nothing"
        found = visit(model, batch, rng, latent=latent, particles=self.latent_particles, threads=self.threads)
        # What is learned from sentences that the model has not seen before is not what it will need to know.
        are_learned = all(batch.seated) and not self._has_contrasted
        return *found, sum(rows.shape[1] for rows in batch.rows), are_learned

    @property
    def _is_latent(self) -> bool:
        return self.latent != "nothing" and self.joint.progress.sweeps > self.latent_after

    def _end_sweep(self, rng: np.random.Generator) -> None:
        model, progress, is_latent = self.joint, self.joint.progress, self._is_latent
        if not is_latent or progress.sweeps % _LATENT_INTERVAL == 0:
            model.resample(rng)
        progress.sweeps += 1
        if is_latent:
            util.logger.debug("%s: %d of %d new derivations accepted", self.name, *model.draws[::-1])
            model.draws[:] = 0
        # An interrupt may have come before weights were contrasted at the end of an earlier sweep.
        progress.awaits_contrast |= self._is_to_contrast and progress.sweeps == self.contrast
        self._contrast_is_due = progress.awaits_contrast and self._is_to_contrast

    @property
    def _has_contrasted(self) -> bool:
        """Whether the weights of pools have learned from what the beam gets wrong."""
        return self._is_to_contrast and self.contrast <= self.joint.progress.sweeps

    @property
    def _is_to_contrast(self) -> bool:
        """Whether they are to, in a treebank that is as large as all that is seated."""
        return self.contrast > 0 and self.joint.progress.tokens >= LEAST_TOKENS

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights of pools by the gradients that `update` has kept.

        After the sweep that `contrast` says, they learn from what the beam gets wrong besides.

        sgd (Optimizer): Its averages of the weights begin anew then.
        """
        # Without gradients, too, an optimizer goes on in the direction that it has.
        if self._contrast_is_due or not self._has_contrasted:
            super().finish_update(sgd)
        if self._contrast_is_due:
            self._learn_contrasts(sgd)
            self._contrast_is_due = False
            self._end_pass()

    def _learn_contrasts(self, sgd: Optimizer) -> None:
        """Let the weights of pools learn from what the beam gets wrong, and their averages begin anew."""
        model, averages = self._initialized(), sgd.averages or {}
        # Sentences with latent derivations are not seated as the static oracle derives them.
        if model.progress.derivations or not model.has_pools:
            model.progress.awaits_contrast = False
            return
        parameters = {
            name: averages.get((self.model.id, name), self.model.get_param(name)) for name in self.model.param_names
        }
        learned, likelihood = learn_contrasts(
            model,
            self._treebank.usable,
            weights_from(model, parameters),
            self.search,
            np.random.default_rng([self.seed, model.progress.steps, 5]),
            threads=self.threads,
            given_tags=self.tags == "given",
        )

        def use() -> None:
            model.progress.awaits_contrast = False
            model.weights = learned
            set_pooled(self.model, JOINT_MODEL, model)
            for name in self.model.param_names:
                if (self.model.id, name) in averages:
                    averages[self.model.id, name] = self.model.get_param(name).copy()

        model.guard.change(use)
        util.logger.debug("%s: right derivations have a log-likelihood of %.3f given the words", self.name, likelihood)

    def _end_pass(self) -> None:
        model = self._initialized()
        # Sentences with latent derivations are not seated as the static oracle derives them.
        if self.search.marginals and not model.progress.derivations:
            rng, given = np.random.default_rng([self.seed, model.progress.steps, 1]), self.tags == "given"
            learn_confidence(model, self.search, rng, threads=self.threads, given_tags=given)
        model.progress.sweep.passages = []

    def _loss_of(self, examples: list[Example], scores: tuple[Layout, Parses]) -> float:
        values = scores[1].log_probability
        return -float(values.mean()) if len(values) else 0.0

    # Storage

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the component to a directory, as other components are. Views that stand there of another model are removed."""
        model, views = Path(path, "model"), Path(path, _VIEWS)
        before = identity_of_file(model) if model.exists() and views.exists() else None
        super().to_disk(path, exclude=exclude)
        if before is not None and before != identity_of_file(model):
            with suppress(PermissionError):
                views.unlink(missing_ok=True)

    def save_views(self) -> Path:
        """Write the frozen views of the model beside the file that it was loaded from, where all who load that find them.

        RETURNS (Path): The file.
        RAISES (ValueError): If the model was not loaded from a file, or is another one by now.
        RAISES (OSError): If it cannot be written.
        """
        model = self._identity_in_file()
        if self._source is None or model is None:
            raise ValueError(
                f"The component '{self.name}' has a model that stands in no file. Save the pipeline, and load it."
            )
        path = self._source.with_name(_VIEWS)
        write_views(path, self.joint.views, model)
        return path

    def _complete_model(self, loaded: JointModel, data: bytes, source: Path | None) -> None:
        """Find or make what the model predicts by, its frozen views.

        Who only predicts maps them from a file, beside the model or in the cache of the user, and never reads the seating that they
        follow from.
        """
        if not loaded.is_initialized:
            return
        if source is None:
            loaded.check()
            return
        model = identity(data)
        # What is there needs no lock, and no directory that can be written to.
        if any(self._map_views(loaded, file, model) for file in (source.with_name(_VIEWS), cached_file(model))):
            return
        try:
            with in_cache(model) as path:
                if not self._map_views(loaded, path, model):
                    # Only the copy reads its seating.
                    loaded.use_views(copy(loaded).views)
                    write_views(path, loaded.views, model)
                    self._map_views(loaded, path, model)
        except OSError as error:
            if not loaded.has_views:
                loaded.use_views(copy(loaded).views)
            warnings.warn(
                f"The component '{self.name}' cannot keep what it predicts by: {error}. It is made again each time that the pipeline is "
                "loaded, and takes memory in each process. Let SPACY_HPYP_CACHE name a directory that can be written to.",
                stacklevel=2,
            )

    def _map_views(self, loaded: JointModel, file: Path, model: str) -> bool:
        """Let a model predict by the views of a file. Returns whether there are any that it can predict by."""
        try:
            found = read_views(file, loaded.conditionals, loaded.sizes, loaded.pack(), model)
        except (ValueError, OSError) as error:
            warnings.warn(
                f"The component '{self.name}' cannot use {file}: {error}. What stands there is made again from the model.",
                stacklevel=2,
            )
            return False
        if found is not None:
            loaded.use_views(*found)
        return found is not None

    def _untrained_model(self) -> Model:
        return thinc_model(self.joint.untrained())
