"""Trainable spaCy components that classify words, the easiest first: `easy_first_senter`,
`easy_first_tagger`, `easy_first_morphologizer` and `easy_first_lemmatizer`.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache, partial

import numpy as np
from spacy import util
from spacy.attrs import DEP, HEAD, LEMMA, MORPH, ORTH, POS, SENT_START, SPACY, TAG
from spacy.language import Language
from spacy.morphology import Morphology
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation import encoding
from ..annotation.arrays import joined, offsets_of
from ..annotation.encoding import BEGINS, GOES_ON, Words, read_attribute, read_words
from ..annotation.sentences import content_key
from ..compiled import NONE
from ..easy_first.classification import EasyFirstSearch, Sequences
from ..easy_first.word_model import CLASSIFIER, WordClassifier
from ..settings import whole
from ..text.lemmas import LemmaRules
from ..training.outcomes import Encoded, GoldWords, jackknife
from ..training.treebank import Seen
from .alignment import gold_sentences
from .base import Getter, TrainableComponent
from .settings import AttributeSettings, ClassifyingSettings, SenterSettings

_CONTENT = [ORTH, SPACY, SENT_START, HEAD, DEP, TAG, POS, MORPH, LEMMA]


class WordClassifyingComponent(TrainableComponent):
    """A component that classifies words, the easiest first, and learns sequence by sequence
    (Algorithm 2 of Ma et al. 2013). The loss is the number of updates for each sequence.

    A subclass defines `_gold_words`, the words to learn from an example, given the numbers of
    outcomes; None if there are none.
    """

    attribute = CLASSIFIER

    @property
    def classifier(self) -> WordClassifier:
        """The model itself."""
        return self.learned

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: Seen[Encoded] = Seen()

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str]) -> None:
        """Collect the vocabulary and forget what was learned."""
        model = self._new_model()
        numbers = _numbers(outcomes)
        parts = [self._gold_words(example, numbers) for example in examples]
        parts = [part for part in parts if part is not None]
        if not any(np.any(part.gold >= 0) for part in parts):
            raise self._nothing_to_learn("a word to learn from")
        GoldWords.join(parts).teach_words(model, outcomes)
        self._use(model)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        parts = [self._seen.take(self._key(each), partial(self._encode, each)) for each in examples]
        parts = [encoded for encoded in parts if encoded is not None]
        if parts:
            batch = joined(parts)
            search = EasyFirstSearch(self.beam)
            updates = self.classifier.learn(batch.sequences, batch.gold, search)
            self._count_loss(losses, int(updates.sum()), len(batch.sequences.offsets) - 1)
        return False

    def _key(self, example: Example) -> bytes:
        """Identify an example by its content."""
        reference = example.reference
        content = example.predicted.to_array([ORTH, SPACY]).tobytes()
        content += reference.to_array(_CONTENT).tobytes()
        guide = _guide_content(reference) if self.classifier.is_guided else b""
        return content_key(content + guide + getattr(self.settings, "tokens", "").encode())

    def _encode(self, example: Example) -> Encoded | str:
        words = self._gold_words(example, _numbers(self.classifier.outcomes))
        return "without words" if words is None else words.encode(self.classifier)

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray]:
        """Classify the words of documents without changing them.

        RETURNS (tuple[Words, int32[words]]): Their words, and the outcome of each; for a senter,
            `NONE` where it is uncertain.
        RAISES (ValueError): If the component has not been trained, or a guide is missing.
        """
        self._check_trained()
        sequences, words = self.classifier.read_docs(list(docs), reader=self.name)
        return words, self._decide(sequences)

    def _decide(self, sequences: Sequences) -> np.ndarray:
        return self.classifier.decide(sequences, EasyFirstSearch(self.beam), self.threads)


def _numbers(outcomes: Sequence[str]) -> dict[str, int]:
    return {outcome: number for number, outcome in enumerate(outcomes)}


class LabellingComponent(WordClassifyingComponent):
    """A classifier whose outcomes are the labels of the treebank.

    A subclass defines `_names`, the gold outcomes in a document, "" where unknown.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The outcomes."""
        return tuple(self.classifier.outcomes)

    @property
    def label_data(self) -> list[str]:
        """The outcomes, as `spacy init labels` writes them and `initialize` takes them."""
        return list(self.classifier.outcomes)

    def initialize(
        self, get_examples: Getter, *, nlp: Language | None = None, labels: list[str] | None = None
    ) -> None:
        """Collect the words and outcomes of the training data, and forget what was learned before.

        labels (Sequence[str] | None): The outcomes; by default those of the examples.
        RAISES (ValueError): If there is nothing to learn.
        """
        examples = self._examples(get_examples(), "initialize")
        if not labels:
            names = {name for example in examples for name in self._names(example.reference)}
            labels = sorted(names - {""})
        self._initialize(examples, labels)


#: The outcome of words if the training data have no annotation.
NOTHING = "_"


class AttributeComponent(LabellingComponent):
    """A component that finds an attribute besides the tag. It learns the words of the reference
    documents as they are. Where they have nothing at all, the only outcome is `NOTHING`, and
    nothing is written.

    A subclass defines `_gold_outcomes`: the distinct gold outcomes in a document, "" where unknown,
    and that of each word (int64[words]); and `_write`, which writes outcomes of words into Docs.
    """

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str]) -> None:
        if not outcomes:
            util.logger.warning("%s: the training examples have nothing to learn from", self.name)
        super()._initialize(examples, outcomes or [NOTHING])

    def _names(self, doc: Doc) -> list[str]:
        return self._gold_outcomes(doc, read_words([doc]))[0]

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write what `predict` has found."""
        if self.classifier.outcomes != [NOTHING]:
            self._write(list(docs), *scores)

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> GoldWords | None:
        doc = example.reference
        words = read_words([doc])
        if len(words.place) == 0:
            return None
        names, place = self._gold_outcomes(doc, words)
        nothing, offsets = outcomes.get(NOTHING, NONE), words.layout.offsets
        gold = np.array([outcomes.get(name, nothing) for name in names], dtype=np.int32)[place]
        more = self.classifier.symbols([doc], words, reader=self.name)
        keys, given = [self._key(example)] * (len(offsets) - 1), np.full_like(gold, NONE)
        return GoldWords(keys, words.forms, words.place, gold, given, more, offsets)


def _distinct_pairs(
    first: np.ndarray, second: np.ndarray
) -> tuple[list[tuple[int, int]], np.ndarray]:
    """Return the distinct pairs of numbers of words, and the pair of each word (int64[words])."""
    size = int(second.max(initial=0)) + 1
    distinct, place = np.unique(first * size + second, return_inverse=True)
    return [divmod(pair, size) for pair in distinct.tolist()], place


def _guide_content(doc: Doc) -> bytes:
    """Return the content of the guide of a document, if it has one."""
    if doc._.guide is None:
        return b""
    parts = ("heads", "head_probs", "head_labels", "tags", "tag_probs")
    names = repr((doc._.guide["label_names"], doc._.guide["tag_names"])).encode()
    return names + b"".join(np.asarray(doc._.guide[part]).tobytes() for part in parts)


class EasyFirstSenter(WordClassifyingComponent):
    """Finds where sentences begin, the easiest word of a document first.

    It sets `token.is_sent_start`, and keeps boundaries that are set. Decisions less certain than
    `certainty` stay unset. White space belongs to the sentence before it.

    Its model is made by `spacy-hpyp.EasyFirstSenter.v1`.
    """

    factory = "easy_first_senter"
    settings_type = SenterSettings

    def initialize(self, get_examples: Getter, *, nlp: Language | None = None) -> None:
        """Collect the words of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples with gold sentence boundaries.
        RAISES (ValueError): If no document has sentence boundaries.
        """
        # In the order of the numbers `GOES_ON` and `BEGINS`.
        outcomes = ["goes on", "begins"]
        self._initialize(self._examples(get_examples(), "initialize"), outcomes)

    def _decide(self, sequences: Sequences) -> np.ndarray:
        """Return whether each word begins a sentence, `NONE` where that is uncertain."""
        outcomes = super()._decide(sequences)
        if self.certainty > 0.0:
            sure = np.abs(self.classifier.leads(sequences, outcomes)) >= self.certainty
            outcomes = np.where(sure | (sequences.given != NONE), outcomes, NONE)
        return outcomes

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write the sentence boundaries that `predict` has found."""
        encoding.write_starts(list(docs), *scores)

    def _gold_words(self, example: Example, outcomes: dict[str, int]) -> GoldWords | None:
        if self.tokens == "gold":
            doc, starts = example.reference, [token.is_sent_start for token in example.reference]
        else:
            doc, starts = example.predicted, example.get_aligned_sent_starts()
        words = read_words([doc])
        if len(words.place) == 0 or not example.reference.has_annotation("SENT_START"):
            return None
        # The next word begins a sentence with leading white space.
        begins = np.cumsum([start is True or start == 1 for start in starts])[words.layout.token]
        gold = np.where(np.diff(begins, prepend=0) > 0, BEGINS, GOES_ON).astype(np.int32)
        # A sentence without its text says nothing about sentence ends.
        if example.reference.has_unknown_spaces and not gold[1:].any():
            return None
        given = np.full_like(gold, NONE)
        gold[0] = given[0] = BEGINS
        more = {"space": encoding.read_spaces([doc], words.layout)}
        keys, offsets = [self._key(example)], words.layout.docs
        return GoldWords(keys, words.forms, words.place, gold, given, more, offsets)


class EasyFirstTagger(LabellingComponent):
    """A tagger that begins with the easiest word of a sentence (Ma et al. 2012, 2013). It sets
    `token.tag_`.

    If its templates read guides (`guide.tag`), it stands after an `hpyp_parser` with guides = true,
    and is trained on documents that 'python -m spacy hpyp guides' has written, on their tokens.

    Its model is made by `spacy-hpyp.EasyFirstTagger.v1`.
    """

    factory = "easy_first_tagger"
    settings_type = ClassifyingSettings

    def _names(self, doc: Doc) -> list[str]:
        return [token.tag_ for token in doc]

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray]) -> None:
        """Write the tags that `predict` has found."""
        words, outcomes = scores
        encoding.write_tags(list(docs), words.layout, outcomes, self.classifier.outcomes)

    def jackknife(
        self,
        examples: Iterable[Example],
        *,
        folds: int = 10,
        epochs: int = 5,
        tokens: str | None = None,
    ) -> dict[bytes, list[str]]:
        """Tag training sentences by taggers like this one that have been trained on the other
        sentences.

        The component need not be trained, and stays as it is.

        folds (int): The number of parts, at least 2.
        epochs (int): How often each tagger sees the other parts.
        tokens (str | None): Replaces the setting `tokens`.
        RETURNS (dict[bytes, list[str]]): The tags of each sentence by its key (`RawSentence.key`).
        RAISES (ValueError): If the component has not been initialized.
        """
        self._check_trained()
        tags, examples = self.classifier.outcomes, self._examples(examples, "jackknife")
        parts = [self._gold_words(example, _numbers(tags), tokens) for example in examples]
        parts = [part for part in parts if part is not None]
        if not parts:
            return {}
        found = jackknife(
            self.classifier,
            GoldWords.join(parts),
            EasyFirstSearch(self.beam),
            folds=whole("folds", folds, least=2),
            epochs=epochs,
            threads=self.threads,
        )
        return {key: [tags[tag] for tag in outcomes.tolist()] for key, outcomes in found.items()}

    def _gold_words(
        self, example: Example, outcomes: dict[str, int], tokens: str | None = None
    ) -> GoldWords | None:
        more: dict[str, np.ndarray] = {}
        if self.classifier.is_guided:
            # A guide belongs to the tokens of its document.
            tokens, docs = "gold", [example.reference]
            more = self.classifier.symbols(docs, read_words(docs), reader=self.name)
        sentences = gold_sentences(example, tokens or self.tokens)
        if not sentences:
            return None
        number: dict[str, int] = {}
        forms = [form for sentence in sentences for form in sentence.strings(0)]
        place = np.array([number.setdefault(form, len(number)) for form in forms], dtype=np.int64)
        tags = [outcomes.get(tag, NONE) for sentence in sentences for tag in sentence.strings(1)]
        gold = np.array(tags, dtype=np.int32)
        keys = [sentence.key for sentence in sentences]
        offsets = offsets_of([len(sentence.rows) for sentence in sentences])
        return GoldWords(keys, list(number), place, gold, np.full_like(gold, NONE), more, offsets)


# The prefix of the part of speech in the name of an outcome, as in spaCy's morphologizer.
_POS = "POS="


class EasyFirstMorphologizer(AttributeComponent):
    """Finds universal parts of speech and features, the easiest word of a sentence first. It sets
    `token.pos_` and `token.morph`.

    Both are one outcome, whose weights are those of its part of speech, of its features and of it
    as a whole, so that what is learned of one holds for others. A word may be what it was in
    training, or, if it was rare there, what words with its ending were.

    If its templates read guides (`guide.tag`), it stands after an `hpyp_parser` with guides = true,
    and is trained on documents that 'python -m spacy hpyp guides' has written. Words under tokens
    are decided each by itself.

    Its model is made by `spacy-hpyp.EasyFirstMorphologizer.v1`.
    """

    factory = "easy_first_morphologizer"
    settings_type = AttributeSettings

    def _write(self, docs: Sequence[Doc], words: Words, outcomes: np.ndarray) -> None:
        distinct, place = np.unique(outcomes, return_inverse=True)
        parts = [_taken_apart(self.classifier.outcomes[i]) for i in distinct.tolist()]
        for i, attribute in enumerate(("pos", "morph")):
            values = [part[i] for part in parts]
            encoding.write_attribute(docs, words.layout, attribute, values, place)

    def _gold_outcomes(self, doc: Doc, words: Words) -> tuple[list[str], np.ndarray]:
        parts, part = read_attribute([doc], words.layout, "pos")
        morphs, morph = read_attribute([doc], words.layout, "morph")
        pairs, place = _distinct_pairs(part, morph)
        return [_put_together(parts[i], morphs[j]) for i, j in pairs], place


def _put_together(pos: str, features: str) -> str:
    own = [] if features in ("", Morphology.EMPTY_MORPH) else features.split(Morphology.FEATURE_SEP)
    return Morphology.FEATURE_SEP.join(sorted([*own, *([_POS + pos] if pos else [])]))


@lru_cache(1 << 12)
def _taken_apart(name: str) -> tuple[str, str]:
    """Return the part of speech, and the features."""
    parts = name.split(Morphology.FEATURE_SEP)
    pos = "".join(part.removeprefix(_POS) for part in parts if part.startswith(_POS))
    return pos, Morphology.FEATURE_SEP.join(part for part in parts if not part.startswith(_POS))


class EasyFirstLemmatizer(AttributeComponent):
    """Finds lemmas, the easiest word of a sentence first. It sets `token.lemma_`.

    A lemma is made of its word by an edit tree (`spacy_hpyp.text.lemmas`). A word may have the
    lemmas that it had in training, and, if it was rare there, those that the trees of words with
    its ending give. Of tags, parts of speech and features it reads those that the words have: it
    stands after what writes them, and learns from gold ones.

    Its model is made by `spacy-hpyp.EasyFirstLemmatizer.v1`.
    """

    factory = "easy_first_lemmatizer"
    settings_type = AttributeSettings
    #: As in spaCy: every edit tree is a label, and model cards need not list them.
    hide_labels = True

    def _reset_training(self) -> None:
        super()._reset_training()
        self._rules = _rules(self.classifier.outcomes)

    def _initialize(self, examples: Iterable[Example], outcomes: Sequence[str]) -> None:
        # The first of several names of a rule represents it.
        self._rules = _rules(outcomes)
        try:
            super()._initialize(examples, self._rules.names)
        finally:
            self._rules = _rules(self.classifier.outcomes)

    def _write(self, docs: Sequence[Doc], words: Words, outcomes: np.ndarray) -> None:
        # If a rule does not apply, the word is its own lemma.
        pairs, place = _distinct_pairs(words.place, outcomes)
        lemmas = [self._rules.apply(rule, words.forms[i]) or words.forms[i] for i, rule in pairs]
        encoding.write_attribute(docs, words.layout, "lemma", lemmas, place)

    def _gold_outcomes(self, doc: Doc, words: Words) -> tuple[list[str], np.ndarray]:
        lemmas, lemma = read_attribute([doc], words.layout, "lemma")
        pairs, place = _distinct_pairs(words.place, lemma)
        named = ((words.forms[i], lemmas[j]) for i, j in pairs)
        return [self._rules.name(form, lemma) if lemma else "" for form, lemma in named], place


def _rules(names: Iterable[str]) -> LemmaRules:
    return LemmaRules(name for name in names if name != NOTHING)
