"""The trainable spaCy component `head_outward_states`."""

from collections.abc import Callable, Iterable
from math import log
from typing import Any, Literal

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer
from wasabi import table

from ..annotation.extensions import register_extensions, write_states
from ..annotation.uncased import UncasedWords, read_uncased, uncased_key
from ..models.latent_states import LatentStates, StateWord
from ..models.latent_states_storage import latent_states_from_bytes
from ..models.state_architecture import LATENT_STATES
from ..settings import attributes, taking
from .base import TrainableComponent, reading_parts
from .factories import default_config, register_for_english
from .settings import StateSettings

register_extensions()

_DEFAULTS = default_config(StateSettings, "head_outward_states")
_SCORE = "words_log_prob"


@Language.factory(
    "head_outward_states",
    assigns=["token._.state"],
    default_config=_DEFAULTS,
    default_score_weights={_SCORE: 1.0},
)
@taking(StateSettings)
def make_head_outward_states(nlp: Language, name: str, model: Model, **settings: Any) -> "HeadOutwardStates":
    """Make a finder of latent states; see `HeadOutwardStates`."""
    return HeadOutwardStates(nlp.vocab, model, name, **settings)


register_for_english("head_outward_states", _DEFAULTS, make_head_outward_states)


@attributes(StateSettings)
class HeadOutwardStates(TrainableComponent):
    """Finds the latent states of words, which make words predictable from their parents or from their documents (Wallach, Sutton &
    McCallum 2008), and writes them as `token._.state`.

    It learns from the trees of the reference documents on their own tokens, and reads the trees of documents that a parser
    before it has parsed. A document is a Doc. Documents of the same content are learned from once.

    vocab (Vocab): The shared vocabulary.
    model (Model): Made by `spacy-hpyp.LatentStates.v1`.
    name (str): The name of the component instance.
    **settings: See `spacy_hpyp.components.settings`.
    RAISES (ValueError): If a setting is not what it may be.
    """

    factory = "head_outward_states"
    settings_type = StateSettings
    attribute = LATENT_STATES

    @taking(StateSettings)
    def __init__(self, vocab: Vocab, model: Model, name: str = "head_outward_states", **settings: Any) -> None:
        super().__init__(vocab, model, name, None, settings)
        self._reset_training()

    @property
    def latent_states(self) -> LatentStates:
        """The model itself."""
        return self.model.attrs[LATENT_STATES]

    @property
    def is_trained(self) -> bool:
        """Whether the model knows words."""
        return self.latent_states.is_initialized

    @property
    def labels(self) -> tuple[str, ...]:
        """There are none: states have numbers."""
        return ()

    @property
    def label_data(self) -> None:
        """There is none."""

    def _check_settings(self, settings: StateSettings) -> None:
        if settings.trees == "sampled" and not self.latent_states.reads_parents:
            raise ValueError(
                f"'trees' must be \"given\": a model of the kind '{self.latent_states.kind}' has no trees."
            )

    # Training

    def _reset_training(self) -> None:
        self._read: dict[bytes, UncasedWords] = {}
        self._loss = (0.0, 0)

    def initialize(self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None) -> None:
        """Collect the words of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples; the reference documents are parsed, if the model reads parents.
        nlp (Language | None): The pipeline.
        RAISES (ValueError): If there is nothing to learn.
        """
        validate_get_examples(get_examples, "HeadOutwardStates.initialize")
        model = self.latent_states.untrained()
        documents = {uncased_key(doc): doc for doc in (example.reference for example in get_examples())}
        read = {key: read_uncased(doc) for key, doc in documents.items()}
        usable = [model.usable(words) for words in read.values()]
        size = sum(len(words.forms) for words in usable)
        if size == 0:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has a sentence"
                f"{' with a complete tree' if model.reads_parents else ''}. Is the right file in the corpus?"
            )
        model.initialize(model.collect(usable))
        model.training.size = size
        self._use(model)
        skipped = sum(len(words.forms) for words in read.values()) - size
        if skipped:
            util.logger.info("%s: %d words are in sentences without complete trees and left out", self.name, skipped)

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One Gibbs step for each word of some documents; documents that are not seated yet are added.

        When as many words have been visited as the corpus has, the strengths of the priors are sampled, and the top words of
        the states are logged.

        examples (Iterable[Example]): What is learned are the reference documents.
        drop (float): Not used: a Bayesian model has no dropout.
        sgd (Optimizer | Literal[False] | None): Not used: Gibbs sampling has no gradient.
        losses (dict[str, float] | None): Gets, under the component's name, the bits a word of all calls since the name was
            last missing: each word predicted from all others that are seated.
        RETURNS (dict[str, float]): The losses.
        RAISES (ValueError): If the component has not been initialized.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0.0, 0)
            losses[self.name] = 0.0
        examples = self._examples(examples, "update")
        self._check_trained()
        model = self.latent_states
        documents = {uncased_key(example.reference): example.reference for example in examples}
        for key, doc in documents.items():
            if key not in self._read:
                self._read[key] = model.usable(read_uncased(doc))
        texts = [(key, self._read[key]) for key in documents]
        model.guard.change(lambda: self._visit(texts, losses))
        return losses

    def _visit(self, texts: list[tuple[bytes, UncasedWords]], losses: dict[str, float]) -> None:
        """A step for some documents, see `update`."""
        model = self.latent_states
        rng = np.random.default_rng([self.seed, model.training.steps])
        probability = model.visit(texts, rng, draw_trees=self.settings.trees == "sampled")
        self._loss = (self._loss[0] - float(np.log2(probability).sum()), self._loss[1] + len(probability))
        losses[self.name] = self._loss[0] / max(1, self._loss[1])
        if model.training.visited >= model.training.size:
            if self.settings.trees == "sampled":
                util.logger.debug("%s: %d of %d new trees accepted", self.name, *model.training.draws[::-1])
            model.end_sweep(rng)
            if self.settings.shown_words:
                util.logger.debug("%s: %s", self.name, state_table(model.top_words(self.settings.shown_words)))

    def get_loss(self, examples: Iterable[Example], scores: Any) -> tuple[float, None]:
        """The bits a word of documents.

        examples (Iterable[Example]): Not needed: what the model predicts is the text itself.
        scores (list[tuple]): What `predict` returned for the examples.
        RETURNS (tuple[float, None]): The loss. There is no gradient: the model learns by Gibbs sampling.
        """
        self._examples(examples, "get_loss")
        return -_mean([log_probability for _, _, log_probability in scores]) / log(2.0), None

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Find the states of documents without changing them. The same document always gets the same states.

        docs (Iterable[Doc]): The documents, with trees if the model reads parents.
        RETURNS (list[tuple[int64[n], int64[n], float64[n]]]): Of each, the positions of its words among the tokens, their states,
            and the log-probability of each word given the others, in nats.
        RAISES (ValueError): If the component has not been trained, or a document has no tree.
        """
        self._check_trained()
        found = []
        for doc in docs:
            words = read_uncased(doc)
            if self.latent_states.reads_parents and not words.is_attached.all():
                raise ValueError(
                    f"The component '{self.name}' reads the heads of words, but a document has words without. Let a parser "
                    "come before it in the pipeline."
                )
            rng = np.random.default_rng(self.settings.seed)
            states, log_probability = self.latent_states.find_states(words, self.settings.sweeps, rng)
            found.append((words.token, states, log_probability))
        return found

    def set_annotations(self, docs: Iterable[Doc], scores: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> None:
        """Write states into documents.

        docs (Iterable[Doc]): The documents that `predict` was given.
        scores (list[tuple]): What it returned.
        """
        for doc, (token, states, _) in zip(docs, scores):
            write_states(doc, token, states)

    def top_words(self, count: int) -> list[list[StateWord]]:
        """What is typical of each state, see `LatentStates.top_words`.

        count (int): How many words of each state.
        RETURNS (list[list[StateWord]]): Of each state.
        RAISES (ValueError): If the component has not been trained.
        """
        self._check_trained()
        return self.latent_states.top_words(count)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        """The mean log-probability of a word of the predicted documents given the others of its document, in nats.

        examples (Iterable[Example]): Predicted and reference documents.
        RETURNS (dict[str, float]): Under "words_log_prob".
        """
        scores = self.predict([example.predicted for example in self._examples(examples, "score")])
        return {_SCORE: _mean([log_probability for _, _, log_probability in scores])}

    # Storage

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> LatentStates:
        with reading_parts():
            stored = attributes[LATENT_STATES]
        return latent_states_from_bytes(self.latent_states, stored)

    def _replace_model(self, loaded: LatentStates) -> None:
        self.model.attrs[LATENT_STATES] = loaded
        self._reset_training()


def state_table(states: list[list[StateWord]]) -> str:
    """The top words of states as a table, a row for each state."""
    return table([(number, " ".join(word for word, _ in words)) for number, words in enumerate(states)])


def _mean(parts: list[np.ndarray]) -> float:
    values = np.concatenate([np.empty(0), *parts])
    return float(values.mean()) if len(values) else 0.0
