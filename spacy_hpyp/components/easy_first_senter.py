"""The trainable spaCy component `easy_first_senter`."""

from collections.abc import Callable, Iterable

import numpy as np
from spacy.language import Language
from spacy.pipeline.senter import senter_score
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.words import BEGINS, GOES_ON, Words, read_spaces, read_words, write_starts
from ..compiled import NONE
from ..training.outcomes import GoldWords
from .factories import register
from .settings import SenterSettings
from .word_classifier import WordClassifyingComponent

#: The names of the outcomes.
_OUTCOMES = {GOES_ON: "goes on", BEGINS: "begins"}


class EasyFirstSenter(WordClassifyingComponent):
    """Finds where sentences begin, the easiest word of a document first.

    It sets `token.is_sent_start` of every token, and keeps boundaries that are set. White space belongs to the
    sentence before it.

    Its model is made by `spacy-hpyp.EasyFirstSenter.v1`.
    """

    factory = "easy_first_senter"
    settings_type = SenterSettings
    default_scorer = staticmethod(senter_score)

    def initialize(
        self, get_examples: Callable[[], Iterable[Example]], *, nlp: Language | None = None
    ) -> None:
        """Collect the words of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples with gold sentence boundaries.
        RAISES (ValueError): If no document has sentence boundaries.
        """
        outcomes = [_OUTCOMES[GOES_ON], _OUTCOMES[BEGINS]]
        self._initialize(self._initial_examples(get_examples), outcomes, "sentence boundaries")

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray]:
        """Classify the words of documents without changing them.

        RETURNS (tuple[Words, int32[words]]): Their words, and whether each begins a sentence; `NONE` where
            that is uncertain.
        RAISES (ValueError): If the component has not been trained.
        """
        self._check_trained()
        sequences, words = self.classifier.read_docs(list(docs), reader=self.name)
        outcomes = self.classifier.decide(sequences, self.search, self.threads)
        if self.certainty > 0.0:
            sure = np.abs(self.classifier.leads(sequences, outcomes)) >= self.certainty
            outcomes = np.where(sure | (sequences.given != NONE), outcomes, NONE)
        return words, outcomes

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write the sentence boundaries that `predict` has found."""
        write_starts(list(docs), *scores)

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> list[GoldWords]:
        if self.tokens == "gold":
            doc, starts = example.reference, [token.is_sent_start for token in example.reference]
        else:
            doc, starts = example.predicted, example.get_aligned_sent_starts()
        words = read_words([doc])
        if len(words.place) == 0 or not example.reference.has_annotation("SENT_START"):
            return []
        # A sentence that begins with white space is begun by the next word.
        begins = np.cumsum([start is True or start == 1 for start in starts])[words.layout.token]
        gold = np.where(np.diff(begins, prepend=0) > 0, BEGINS, GOES_ON).astype(np.int32)
        # A sentence that was taken out of a text does not say where sentences end in one.
        if example.reference.has_unknown_spaces and not gold[1:].any():
            return []
        given = np.full(len(gold), NONE, dtype=np.int32)
        gold[0] = given[0] = BEGINS
        forms = [words.forms[place] for place in words.place.tolist()]
        return [
            GoldWords(self._key(example), forms, gold, given, {"space": read_spaces([doc], words.layout)})
        ]


make_easy_first_senter = register(
    EasyFirstSenter,
    assigns=["token.is_sent_start", "doc.sents"],
    scores={"sents_f": 1.0, "sents_p": 0.0, "sents_r": 0.0},
)
