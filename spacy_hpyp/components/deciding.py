"""What the easy-first tagger and senter have in common: each word gets an outcome."""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from spacy import util
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.documents import content_key
from ..annotation.words import Words
from ..easy_first.decisions import Search
from ..models.decider import Decider, Lesson
from ..models.easy_first import DECIDER
from ..training.outcomes import Corpus, Encoded, GoldWords
from ..training.treebank import Seen
from .base import TrainableComponent


class DecidingComponent(TrainableComponent):
    """A component that decides words, the easiest first, and learns sequence by sequence (Algorithm 2 of Ma et al. 2013).

    The loss is the number of updates for each sequence. What is learned are the reference documents, on the tokens that `tokens` says.

    A subclass defines, besides what `TrainableComponent` asks for, `_gold_words` (what is learned from an example) and `_content` (what that
    depends on).
    """

    attribute = DECIDER

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
    def search(self) -> Search:
        """How outcomes are searched for."""
        return Search(self.settings.beam, self.settings.window)

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: Seen[Encoded] = Seen()

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str], missing: str) -> None:
        """Collect the vocabulary and forget what was learned before.

        missing (str): What no example has if there is nothing to learn.
        RAISES (ValueError): If there is nothing to learn.
        """
        model = self.decider.untrained()
        numbers = {outcome: number for number, outcome in enumerate(outcomes)}
        found = [words for example in examples for words in self._gold_words(example, numbers)]
        if not any(np.any(words.gold >= 0) for words in found):
            raise self._nothing_to_learn(missing)
        model.initialize(Corpus(found).vocabulary(model, outcomes))
        model.training.size = len(found)
        self._use(model)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        keys = [content_key(self._content(example)) for example in examples]
        found = [self._seen.take(key, partial(self._encode, example)) for key, example in zip(keys, examples)]
        parts = [encoded for encoded in found if encoded is not None]
        if parts:
            batch = Encoded.join(parts)
            lesson = self.guard.change(lambda: self._learn(batch))
            self._count_loss(losses, lesson.early + lesson.full, lesson.sequences)
        return False

    def _encode(self, example: Example) -> Encoded | str:
        """An example as the model reads it."""
        words = self._gold_words(example, {outcome: number for number, outcome in enumerate(self.decider.outcomes)})
        return Corpus(words).encode(self.decider) if words else "without words"

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
