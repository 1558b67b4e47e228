"""What the easy-first tagger, senter, morphologizer and lemmatizer share: each word gets an outcome."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from spacy import util
from spacy.attrs import DEP, HEAD, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.arrays import joined
from ..annotation.documents import content_key
from ..annotation.words import Words, read_words
from ..compiled import NONE
from ..easy_first.classification import EARLY, FULL, EasyFirstSearch
from ..models.easy_first import CLASSIFIER
from ..models.word_classifier import WordClassifier
from ..training.outcomes import Corpus, Encoded, GoldWords
from ..training.treebank import Seen
from .base import TrainableComponent

_CONTENT = [ORTH, SPACY, SENT_START, HEAD, DEP, TAG, POS, MORPH, LEMMA]


class WordClassifyingComponent(TrainableComponent):
    """A component that classifies words, the easiest first, and learns sequence by sequence (Algorithm 2 of Ma
    et al. 2013). The loss is the number of updates for each sequence.

    A subclass also defines `_gold_words`: what is learned from an example, by the numbers of outcomes.
    """

    attribute = CLASSIFIER

    @property
    def classifier(self) -> WordClassifier:
        """The model itself."""
        return self.learned

    @property
    def search(self) -> EasyFirstSearch:
        """The search for outcomes."""
        return EasyFirstSearch(self.settings.beam)

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: Seen[Encoded] = Seen()

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str], missing: str) -> None:
        """Collect the vocabulary and forget what was learned."""
        model = self._new_model()
        numbers = {outcome: number for number, outcome in enumerate(outcomes)}
        found = [words for example in examples for words in self._gold_words(example, numbers)]
        if not any(np.any(words.gold >= 0) for words in found):
            raise self._nothing_to_learn(missing)
        Corpus(found).teach_words(model, outcomes)
        model.training.size = len(found)
        self._use(model)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        keys = map(self._key, examples)
        found = [self._seen.take(key, partial(self._encode, example)) for key, example in zip(keys, examples)]
        parts = [encoded for encoded in found if encoded is not None]
        if parts:
            batch = joined(parts)
            self._count_loss(losses, self._learn(batch), len(batch.sequences.offsets) - 1)
        return False

    def _key(self, example: Example) -> bytes:
        """Identify an example by its content."""
        reference = example.reference
        content = example.predicted.to_array([ORTH, SPACY]).tobytes() + reference.to_array(_CONTENT).tobytes()
        guide = guide_content(reference) if self.classifier.is_guided else b""
        return content_key(content + guide + getattr(self.settings, "tokens", "").encode())

    def _encode(self, example: Example) -> Encoded | str:
        numbers = {outcome: number for number, outcome in enumerate(self.classifier.outcomes)}
        words = self._gold_words(example, numbers)
        return Corpus(words).encode(self.classifier) if words else "without words"

    def _learn(self, batch: Encoded) -> int:
        """Learn from some sequences. Returns the number of updates."""
        learned = self.classifier.learn(batch.sequences, batch.gold, self.search)
        early, full = learned[EARLY].item(), learned[FULL].item()
        training = self.classifier.training
        training.visited += len(batch.sequences.offsets) - 1
        training.early += early
        training.full += full
        if training.visited >= training.size:
            numbers = training.early, training.full, training.visited
            util.logger.debug("%s: %d early and %d full updates in %d sequences", self.name, *numbers)
            training.visited = training.early = training.full = 0
        return early + full

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray]:
        """Classify the words of documents without changing them.

        RETURNS (tuple[Words, int32[words]]): Their words, and the outcome of each.
        RAISES (ValueError): If the component has not been trained, or reads guides that are missing.
        """
        self._check_trained()
        sequences, words = self.classifier.read_docs(list(docs), reader=self.name)
        return words, self.classifier.decide(sequences, self.search, self.threads)


class LabellingComponent(WordClassifyingComponent):
    """A classifier whose outcomes are the labels of the treebank.

    A subclass also defines `_names`: the gold outcomes of the words of a document, "" where unknown.
    """

    #: What training examples must have: without given labels, and with them.
    needed: ClassVar[tuple[str, str]] = ("a word", "a word with one of the labels")

    @property
    def labels(self) -> tuple[str, ...]:
        """The outcomes."""
        return tuple(self.classifier.outcomes)

    @property
    def label_data(self) -> list[str]:
        """The outcomes, as `spacy init labels` writes them and `initialize` takes them."""
        return list(self.classifier.outcomes)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Collect the words and outcomes of the training data, and forget what was learned before.

        labels (Sequence[str] | None): The outcomes; by default those of the examples.
        RAISES (ValueError): If there is nothing to learn.
        """
        examples = self._initial_examples(get_examples)
        names = (
            {name for example in examples for name in self._names(example.reference)} if not labels else ()
        )
        self._initialize(examples, list(labels or sorted({*names} - {""})), self.needed[bool(labels)])


#: The outcome of words that have nothing in training data where none has anything.
NOTHING = "_"


class AttributeComponent(LabellingComponent):
    """A component that finds an attribute besides the tag. It learns the words of the reference documents as
    they are. Where they have nothing at all, the only outcome is `NOTHING`, and nothing is written.

    A subclass defines `_gold_outcomes`: the different gold outcomes of the words of a document, "" where
    unknown, and which of them each word has (int64[words]).
    """

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str], missing: str) -> None:
        if not outcomes:
            util.logger.warning("%s: the training examples have nothing to learn from", self.name)
        super()._initialize(examples, outcomes or [NOTHING], missing)

    def _names(self, doc: Doc) -> list[str]:
        return self._gold_outcomes(doc, read_words([doc]))[0]

    @property
    def _writes(self) -> bool:
        return self.classifier.outcomes != [NOTHING]

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> list[GoldWords]:
        doc = example.reference
        words = read_words([doc])
        if len(words.place) == 0:
            return []
        names, place = self._gold_outcomes(doc, words)
        gold = np.array([outcomes.get(name, outcomes.get(NOTHING, NONE)) for name in names], dtype=np.int32)
        symbols = self.classifier.symbols([doc], words, reader=self.name)
        key, gold, offsets = self._key(example), gold[place], words.layout.offsets.tolist()
        return [
            GoldWords(
                key=key,
                forms=[words.forms[number] for number in words.place[start:end].tolist()],
                gold=gold[start:end],
                given=np.full(end - start, NONE, dtype=np.int32),
                more={name: column[start:end] for name, column in symbols.items()},
            )
            for start, end in zip(offsets, offsets[1:])
        ]


def guide_content(doc: Doc) -> bytes:
    """What the guide of a document says of its words, if it has one."""
    if doc._.guide is None:
        return b""
    parts = ("heads", "head_probs", "head_labels", "tags", "tag_probs")
    names = repr((doc._.guide["label_names"], doc._.guide["tag_names"])).encode()
    return names + b"".join(np.asarray(doc._.guide[part]).tobytes() for part in parts)
