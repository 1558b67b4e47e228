"""The trainable spaCy component `easy_first_tagger`."""

from collections.abc import Iterable

import numpy as np
from spacy.pipeline.tagger import tagger_score
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.words import Words, read_words, write_tags
from ..compiled import NONE
from ..training.outcomes import GoldWords, jackknife
from .alignment import sentences_of
from .factories import register
from .settings import ClassifyingSettings
from .word_classifier import LabellingComponent


class EasyFirstTagger(LabellingComponent):
    """A tagger that begins with the easiest word of a sentence (Ma et al. 2012, 2013). It sets `token.tag_`.

    If its templates read guides (`guide.tag`), it stands after an `hpyp_parser` with guides = true, and is
    trained on documents that 'python -m spacy hpyp guides' has written, on their tokens.

    Its model is made by `spacy-hpyp.EasyFirstTagger.v1`.
    """

    factory = "easy_first_tagger"
    settings_type = ClassifyingSettings
    default_scorer = staticmethod(tagger_score)
    needed = ("a token with a tag", "a token with one of the tags")

    def _names(self, doc: Doc) -> list[str]:
        return [token.tag_ for token in doc]

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write the tags that `predict` has found."""
        words, outcomes = scores
        write_tags(list(docs), words.layout, outcomes, self.classifier.outcomes)

    def jackknife(
        self, examples: Iterable[Example], *, folds: int = 10, epochs: int = 5, tokens: str | None = None
    ) -> dict[bytes, list[str]]:
        """Tag training sentences by taggers like this one that have been trained on the other sentences.

        The component must be initialized, but need not be trained, and stays as it is.

        folds (int): The number of parts, at least 2.
        epochs (int): How often each tagger sees the other parts.
        tokens (str | None): Replaces the setting `tokens`.
        RETURNS (dict[bytes, list[str]]): The tags of each sentence by its key (`RawSentence.key`).
        """
        self._check_trained()
        tags = self.classifier.outcomes
        numbers = {tag: number for number, tag in enumerate(tags)}
        sequences = [
            words
            for example in self._examples(examples, "jackknife")
            for words in self._read(example, numbers, tokens or self.tokens)
        ]
        found = jackknife(
            self.classifier, sequences, self.search, folds=folds, epochs=epochs, threads=self.threads
        )
        return {words.key: [tags[outcome] for outcome in outcomes.tolist()] for words, outcomes in found}

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> list[GoldWords]:
        return self._read(example, outcomes, self.tokens)

    def _read(self, example: Example, outcomes: dict[str, int], tokens: str) -> list[GoldWords]:
        # A guide is about the tokens of the document that it stands in.
        sentences, symbols = list(sentences_of(example, "gold" if self.classifier.is_guided else tokens)), {}
        if self.classifier.is_guided:
            reference = example.reference
            symbols = self.classifier.symbols([reference], read_words([reference]), reader=self.name)
        bounds = np.cumsum([0, *(len(sentence.rows) for sentence in sentences)]).tolist()
        return [
            GoldWords(
                key=sentence.key,
                forms=sentence.strings(0),
                gold=np.array([outcomes.get(tag, NONE) for tag in sentence.strings(1)], dtype=np.int32),
                given=np.full(end - start, NONE, dtype=np.int32),
                more={name: column[start:end] for name, column in symbols.items()},
            )
            for sentence, start, end in zip(sentences, bounds, bounds[1:])
        ]


make_easy_first_tagger = register(EasyFirstTagger, assigns=["token.tag"], scores={"tag_acc": 1.0})
