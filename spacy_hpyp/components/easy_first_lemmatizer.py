"""The trainable spaCy component `easy_first_lemmatizer`."""

from collections.abc import Iterable, Sequence

import numpy as np
from spacy.pipeline.lemmatizer import lemmatizer_score
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.words import Words, read_written, write_attribute
from ..text.lemmas import LemmaRules
from .factories import register
from .settings import AttributeSettings
from .word_classifier import NOTHING, AttributeComponent


class EasyFirstLemmatizer(AttributeComponent):
    """Finds lemmas, the easiest word of a sentence first. It sets `token.lemma_`.

    A lemma is made of its word by an edit tree (`spacy_hpyp.text.lemmas`). A word may have the lemmas that it
    had in training, and, if it was rare there, those that the trees of words with its ending give. Of tags,
    parts of speech and features it reads those that the words have: it stands after what writes them, and
    learns from gold ones.

    Its model is made by `spacy-hpyp.EasyFirstLemmatizer.v1`.
    """

    factory = "easy_first_lemmatizer"
    settings_type = AttributeSettings
    #: As spaCy's: there is one for each way of making a lemma, which model cards need not have.
    hide_labels = True
    default_scorer = staticmethod(lemmatizer_score)

    def _reset_training(self) -> None:
        super()._reset_training()
        self._rules = _rules(self.classifier.outcomes)

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str], missing: str) -> None:
        # Of several names of a rule the first stands for it.
        before, self._rules = self._rules, _rules(outcomes)
        try:
            super()._initialize(examples, self._rules.names, missing)
        except BaseException:
            self._rules = before
            raise

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write lemmas into the documents that `predict` was given; where a rule is not for a word, the word
        is its own lemma, as white space is.
        """
        docs, (words, outcomes) = list(docs), scores
        if not self._writes or not len(outcomes):
            return
        rules = len(self._rules.names)
        different, place = np.unique(words.place * rules + outcomes, return_inverse=True)
        pairs = [(words.forms[each // rules], each % rules) for each in different.tolist()]
        lemmas = [self._rules.apply(rule, form) or form for form, rule in pairs]
        names = {lemma: number for number, lemma in enumerate(dict.fromkeys(lemmas))}
        number = np.array([names[lemma] for lemma in lemmas])[place]
        write_attribute(docs, words.layout, "lemma", list(names), number)

    def _gold_outcomes(self, doc: Doc, words: Words) -> tuple[list[str], np.ndarray]:
        lemmas, lemma = read_written([doc], words.layout, "lemma")
        pairs, place = np.unique(words.place * max(1, len(lemmas)) + lemma, return_inverse=True)
        found = ((words.forms[pair // len(lemmas)], lemmas[pair % len(lemmas)]) for pair in pairs.tolist())
        return [self._rules.name(form, lemma) if lemma else "" for form, lemma in found], place


def _rules(names: Iterable[str]) -> LemmaRules:
    return LemmaRules(name for name in names if name != NOTHING)


make_easy_first_lemmatizer = register(EasyFirstLemmatizer, assigns=["token.lemma"], scores={"lemma_acc": 1.0})
