"""The trainable spaCy component `head_outward_states`."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.uncased_words import UncasedWords, read_uncased, uncased_key
from ..annotation.user_data import forget, write_entries
from ..head_outward.latent_states import LATENT_STATES, LatentStates
from ..training.treebank import Seen
from .base import Getter, TrainableComponent
from .settings import StateSettings

# Gibbs sweeps over a new document whose states depend on it; the second half counts.
_SWEEPS = 50


class HeadOutwardStates(TrainableComponent):
    """Finds the latent states of words (Wallach, Sutton & McCallum 2008), and writes them as
    `token._.latent_state`.

    It learns from the trees of the reference documents on their own tokens, and reads the trees of
    documents that a parser before it has parsed. Documents of the same content are learned from
    once. After each pass over the corpus the strengths of the priors are sampled. The loss is the
    leave-one-out bits a word.

    Its model is made by `spacy-hpyp.LatentStates.v1`.
    """

    factory = "head_outward_states"
    settings_type = StateSettings
    attribute = LATENT_STATES

    @property
    def latent_states(self) -> LatentStates:
        """The model itself."""
        return self.learned

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: Seen[UncasedWords] = Seen()

    def initialize(self, get_examples: Getter, *, nlp: Language | None = None) -> None:
        """Collect the words of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples; the reference documents are parsed, if the model
            reads parents.
        RAISES (ValueError): If there is nothing to learn.
        """
        examples = self._examples(get_examples(), "initialize")
        model = self._new_model()
        documents = {uncased_key(doc): doc for doc in (example.reference for example in examples)}
        read = {key: read_uncased(doc) for key, doc in documents.items()}
        usable = [model.usable(words) for words in read.values()]
        size = sum(len(words.forms) for words in usable)
        if size == 0:
            raise self._nothing_to_learn(
                f"a sentence{' with a complete tree' if model.reads_parents else ''}"
            )
        model.initialize(model.collect(usable))
        model.training.size = size
        self._use(model)
        skipped = sum(len(words.forms) for words in read.values()) - size
        if skipped:
            util.logger.info("%s: %d words are not in complete trees", self.name, skipped)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        documents = {uncased_key(example.reference): example.reference for example in examples}
        model = self.latent_states
        texts = [
            (key, self._seen.take(key, lambda doc=doc: model.usable(read_uncased(doc))))
            for key, doc in documents.items()
        ]
        rng = np.random.default_rng([self.seed, model.training.steps])
        probability = model.visit(texts, rng)
        self._count_loss(losses, -float(np.log2(probability).sum()), len(probability))
        if model.training.visited >= model.training.size:
            model.end_sweep(rng)
        return False

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Find the states of documents without changing them. Equal documents get equal states.

        docs (Iterable[Doc]): With trees, if the model reads parents.
        RETURNS (list[tuple[int64[n], int64[n], float64[n]]]): The positions of the words of each
            among the tokens, their states, and the log-probability of each word given the others,
            in nats.
        RAISES (ValueError): If the component has not been trained, or a document has no tree.
        """
        self._check_trained()
        found = []
        for doc in docs:
            words = read_uncased(doc)
            if self.latent_states.reads_parents and not words.is_attached.all():
                raise ValueError(
                    f"The component '{self.name}' reads heads, but a document lacks some. "
                    "Put a parser before it in the pipeline."
                )
            rng = np.random.default_rng(self.settings.seed)
            states, log_probability = self.latent_states.find_states(words, _SWEEPS, rng)
            found.append((words.token, states, log_probability))
        return found

    def set_annotations(
        self, docs: Iterable[Doc], scores: list[tuple[np.ndarray, np.ndarray, np.ndarray]]
    ) -> None:
        """Write states into the documents that `predict` was given, by what it returned."""
        for doc, (token, states, _) in zip(docs, scores):
            forget(doc, ("latent_state",))
            write_entries(doc, "latent_state", states.tolist(), token)

    def score(self, examples: Iterable[Example], **kwargs: Any) -> dict[str, float]:
        """Return the mean log-probability in nats of a predicted word given the others of its Doc.

        RETURNS (dict[str, float]): Under "words_log_prob".
        """
        scores = self.predict([example.predicted for example in self._examples(examples, "score")])
        values = np.concatenate([np.empty(0), *(log_probability for *_, log_probability in scores)])
        return {"words_log_prob": float(values.mean()) if len(values) else 0.0}
