"""The easy-first model of word outcomes and its registered architectures."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.encoding import Words, read_attribute, read_spaces, read_words
from ..annotation.guides import block_guides, names_in_guides
from ..compiled import NONE
from ..settings import Settings, Whole, setting, taking
from ..stored import ClassedModel, Message, model_holding
from ..text.candidates import WordOutcomes
from ..text.elements import FormRows, class_symbols, reads_classes, without_classes
from ..text.folding import fold
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import path_of
from . import classification
from . import words as tasks
from .arcs import CLASS_SYMBOLS, without_guides
from .classification import EasyFirstSearch, Sequences
from .perceptron import PLACES, Perceptron


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """All settings of the easy-first tagger, senter, morphologizer and lemmatizer models."""

    min_count: int = setting(2, Whole(0))
    places: int = setting(2**22, PLACES)


#: The attribute of a thinc Model that holds a `WordClassifier`.
CLASSIFIER = "decider"
# The margin between the gold outcome and the others.
_MARGIN = 5.0


class WordClassifier(ClassedModel):
    """A model that classifies words, the easiest first.

    places (int): The size of its table of weights, a power of two.
    vocabulary (Vocabulary | None): The words; its tags are the outcomes. None before training.
    RAISES (ValueError): If a template is invalid, see `compile_reading`.
    """

    def __init__(
        self,
        task: tasks.ClassificationTask,
        templates: Sequence[Sequence[str]],
        vocabulary_settings: VocabularySettings,
        *,
        places: int,
    ) -> None:
        self.task = task
        self.templates = [list(template) for template in templates]
        self.vocabulary_settings = vocabulary_settings
        self.places = places
        # Check all templates, with those that read word classes.
        self._read_with(is_classed=True)
        super().__init__()

    def _forget(self) -> None:
        self.vocabulary: Vocabulary | None = None

    def _read_with(self, *, is_classed: bool) -> bool:
        templates = self.templates if is_classed else without_classes(self.templates)
        self.attributes, self._reading = tasks.compile_reading(templates, self.task)
        return is_classed and reads_classes(self.attributes)

    @property
    def is_initialized(self) -> bool:
        """Whether the model has a vocabulary and outcomes."""
        return self.vocabulary is not None

    @property
    def is_guided(self) -> bool:
        """Whether features read guides."""
        return not set(tasks.GUIDE_ATTRIBUTES).isdisjoint(self.attributes)

    @property
    def outcomes(self) -> list[str]:
        """The names of the outcomes."""
        return [] if self.vocabulary is None else self.vocabulary.tags

    def initialize(
        self,
        vocabulary: Vocabulary,
        candidates: WordOutcomes | None = None,
        data: bytes | None = None,
    ) -> None:
        """Set the vocabulary, the outcomes of words, and the data of the perceptron, if trained."""
        self.vocabulary, self.candidates = vocabulary, candidates
        self._possible = tasks.possible_outcomes(vocabulary, self.task, candidates)
        self.perceptron = Perceptron(self.places, 1, data)
        self._rows = FormRows(1 + len(self.attributes))

    # Words

    def read_docs(self, docs: Sequence[Doc], *, reader: str = "model") -> tuple[Sequences, Words]:
        """Encode words, one sequence per sentence (senter: per Doc). Raises as `symbols` does."""
        words = read_words(docs)
        # `is` fails for a model from another process.
        if self.task == tasks.STARTS:
            given, offsets = words.starts, words.layout.docs
        else:
            given, offsets = np.full(len(words.place), NONE, dtype=np.int32), words.layout.offsets
        more = self.symbols(docs, words, reader=reader)
        symbols, kind = self.encode(words.forms, words.place, more)
        return Sequences(symbols, kind, given, offsets.astype(np.int64)), words

    def symbols(self, docs: Sequence[Doc], words: Words, *, reader: str) -> dict[str, np.ndarray]:
        """Return the attributes of words that do not depend on the form (int32[words] each).
        RAISES (ValueError): If templates read guides, and a Doc has none of its own.
        """
        attributes = set(self.attributes)
        symbols = {"space": read_spaces(docs, words.layout)} if "space" in attributes else {}
        for name in sorted(attributes & set(tasks.WRITTEN_ATTRIBUTES)):
            names, place = read_attribute(docs, words.layout, name.removeprefix("written."))
            numbers = [*tasks.name_symbols(names).values()]
            symbols[name] = np.array(numbers, dtype=np.int32)[place]
        if self.is_guided:
            tags = tasks.name_symbols(names_in_guides(docs, "tag_names"))
            labels = tasks.name_symbols(names_in_guides(docs, "label_names"))
            if self.task == tasks.TAGS:
                tags = {outcome: number for number, outcome in enumerate(self.outcomes)}
            guides = block_guides(docs, words.layout, labels, tags, reader=reader)
            symbols |= tasks.guide_symbols(guides, words.layout.offsets)
        return symbols

    def encode(
        self, forms: Sequence[str], place: np.ndarray, more: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return `symbols` and `kind` of `Sequences`.

        forms (Sequence[str]), place (int64[words]): Unique forms, and each word's index there.
        more (Mapping[str, int32[words]]): Attributes of words that do not depend on the form.
        """
        table = self._rows.of(forms, self._row)
        symbols, kinds = np.ascontiguousarray(table[:, 1:])[place], table[:, 0]
        for column, attribute in enumerate(self.attributes):
            if attribute in more:
                symbols[:, column] = more[attribute]
        return symbols, kinds[place]

    def _row(self, form: str) -> list[int]:
        """Return the kind of a word, and its attributes."""
        vocabulary, form = self.vocabulary, fold(form)
        kind = number = vocabulary.number(form)
        if self.candidates is not None:
            kind = self.candidates.kind(form)
        elif self.task.possible == tasks.ALL:
            kind = 0
        symbols = {
            **tasks.spelling(form),
            "word": number,
            "usual": int(vocabulary.candidate_tags[vocabulary.tag_offsets[number]]),
            "lower.known": self._lower_known(form, number),
        }
        if self.is_classed:
            symbols |= zip(CLASS_SYMBOLS, class_symbols(path_of(self.classes or {}, form)))
        return [kind, *(symbols.get(attribute, 0) for attribute in self.attributes)]

    def _lower_known(self, form: str, number: int) -> int:
        if form == form.lower():
            return 0
        known = self.vocabulary.number(form.lower())
        if known >= len(self.vocabulary.words):
            return 1
        # Frequent words have low numbers.
        return 2 if number < known else 3

    # Training and prediction

    def learn(self, sequences: Sequences, gold: np.ndarray, search: EasyFirstSearch) -> np.ndarray:
        """Learn and return `counts` (`learn_outcomes`). RAISES (ValueError): If it is compact."""
        weights, counts = self.perceptron.begin_learning(), np.zeros(2, dtype=np.int64)
        board = classification.new_board(self._reading, self._possible, weights.weights, search)
        classification.learn_outcomes(board, weights, sequences, gold, _MARGIN, counts)
        return counts

    def decide(self, sequences: Sequences, search: EasyFirstSearch, threads: int = 1) -> np.ndarray:
        """Return the outcomes of sequences (int32[words]), the same for any number of threads."""
        outcomes = np.full(len(sequences.kind), NONE, dtype=np.int32)
        weights = self.perceptron.averages().weights

        def decide_part(begin: int, end: int) -> None:
            board = classification.new_board(self._reading, self._possible, weights, search)
            classification.decide(board, sequences, begin, end, outcomes)

        ends = np.searchsorted(sequences.offsets, np.linspace(0, len(outcomes), threads + 1))
        ends[-1] = len(sequences.offsets) - 1
        with ThreadPoolExecutor(threads) as executor:
            list(executor.map(decide_part, ends, ends[1:]))
        return outcomes

    def leads(self, sequences: Sequences, outcomes: np.ndarray) -> np.ndarray:
        """Return the score of outcome 1 minus that of outcome 0 for each word (float64[words])."""
        leads, weights = np.empty(len(outcomes)), self.perceptron.averages()
        classification.find_leads(self._reading, weights.weights, sequences, outcomes, leads)
        return leads * weights.step

    # Storage

    def compact(self) -> None:
        """Drop what only training needs. Rounding may change outcomes with nearly equal scores."""
        self.perceptron.compact()

    def _fixed(self) -> Message:
        return {"outcome": self.task.outcome, "templates": self.templates, "places": self.places}

    def _write(self) -> Message:
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "candidates": self.candidates and self.candidates.to_dict(),
            **self._classed(),
            "perceptron": self.perceptron.to_bytes(),
        }

    def _read(self, message: Message) -> None:
        vocabulary = Vocabulary.from_dict(message["vocabulary"], self.vocabulary_settings.rule)
        candidates = message["candidates"] and WordOutcomes(**message["candidates"])
        self._read_classed(message)
        self.initialize(vocabulary, candidates, message["perceptron"])


def _architecture(
    name: str, task: tasks.ClassificationTask
) -> Callable[..., Model[list[Doc], np.ndarray]]:
    """Register the architecture of a word classifier."""

    def make(
        templates: Sequence[Sequence[str]],
        unknown_words: UnknownWordRule,
        guided: bool = False,
        **settings: Any,
    ) -> Model[list[Doc], np.ndarray]:
        """Make an easy-first word classifier (Ma et al. 2012, 2013).

        templates (Sequence[Sequence[str]]): Lists of elements, see `spacy_hpyp.easy_first.words`.
        unknown_words (UnknownWordRule): Maps rare words to classes.
        guided (bool): Whether to use the templates with guides.
        **settings: See `ClassifierSettings`.
        RETURNS (Model): Maps Docs to the outcome of each word (int32[words]), by greedy search.
        RAISES (ValueError): If a template (see `compile_reading`) or a setting is invalid.
        """
        checked = ClassifierSettings(**settings)
        vocabulary = VocabularySettings(
            unknown_words, checked.min_count, open_class_below=task.open_class_below
        )
        templates = templates if guided else without_guides(templates)
        model = WordClassifier(task, templates, vocabulary, places=checked.places)
        return model_holding(model, f"easy_first_{task.outcome}", CLASSIFIER, _decide)

    make.__name__ = make.__qualname__ = name
    return registry.architectures(f"spacy-hpyp.{name}.v1")(taking(ClassifierSettings)(make))


EasyFirstTagger = _architecture("EasyFirstTagger", tasks.TAGS)
EasyFirstSenter = _architecture("EasyFirstSenter", tasks.STARTS)
EasyFirstMorphologizer = _architecture("EasyFirstMorphologizer", tasks.MORPHOLOGY)
EasyFirstLemmatizer = _architecture("EasyFirstLemmatizer", tasks.LEMMAS)


def _decide(classifier: WordClassifier, docs: list[Doc]) -> np.ndarray:
    return classifier.decide(classifier.read_docs(docs)[0], EasyFirstSearch())
