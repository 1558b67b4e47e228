"""The easy-first model of word outcomes and its registered architectures."""

from collections.abc import Callable, Sequence
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
from ..models.messages import (
    Message,
    candidates_from_message,
    candidates_to_message,
    vocabulary_from_message,
    vocabulary_to_message,
)
from ..models.stored import ClassedModel, model_holding
from ..settings import Settings, Whole, setting, taking
from ..text.candidates import WordOutcomes
from ..text.elements import reads_classes, without_classes
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import path_of
from .arcs import without_guides
from .classification import (
    EasyFirstSearch,
    Possible,
    Sequences,
    decide,
    find_leads,
    learn_outcomes,
    new_board,
)
from .perceptron import (
    PLACES,
    Perceptron,
    Rounded,
    StoredPerceptron,
    Unpacked,
    averages_alone,
    averages_in,
    check_can_learn,
    new_perceptron,
    perceptron_to_message,
)
from .words import (
    GUIDE_ATTRIBUTES,
    LEMMAS,
    MORPHOLOGY,
    STARTS,
    TAGS,
    WRITTEN_ATTRIBUTES,
    ClassificationTask,
    Lexicon,
    compile_reading,
    guide_symbols,
    name_symbols,
    possible_outcomes,
)


@dataclass(frozen=True)
class ClassifierSettings(Settings):
    """All settings of the easy-first tagger, senter, morphologizer and lemmatizer models."""

    min_count: int = setting(2, Whole(0))
    places: int = setting(2**22, PLACES)


#: The attribute of a thinc Model that holds a `WordClassifier`.
CLASSIFIER = "decider"
# Rarer words may have any open-class tag.
_OPEN_CLASS_BELOW = 50
# The margin between the gold outcome and the others.
_MARGIN = 5.0


class WordClassifier(ClassedModel):
    """A model that classifies words, the easiest first.

    places (int): The size of its table of weights, a power of two.
    outcomes (list[str]): The outcomes.
    lexicon (Lexicon | None), perceptron (Perceptron | None): The symbols of words, and the weights;
        None before training.
    RAISES (ValueError): If a template names an unknown element.
    """

    perceptron = Unpacked()
    learned = "perceptron"

    def __init__(
        self,
        task: ClassificationTask,
        templates: Sequence[Sequence[str]],
        vocabulary_settings: VocabularySettings,
        *,
        places: int,
    ) -> None:
        self.task = task
        self.templates = [list(template) for template in templates]
        self.vocabulary_settings = vocabulary_settings
        self.places = places
        compile_reading(self.templates, task)
        super().__init__()

    def _forget(self) -> None:
        self.outcomes: list[str] = []
        self.lexicon: Lexicon | None = None
        self.candidates: WordOutcomes | None = None
        self._possible: Possible | None = None
        self.perceptron = None
        self._weights: Rounded | None = None

    def _read_with(self, *, is_classed: bool) -> bool:
        templates = self.templates if is_classed else without_classes(self.templates)
        self.attributes, self._reading = compile_reading(templates, self.task)
        return is_classed and reads_classes(self.attributes)

    def _path_of(self, form: str) -> str:
        return path_of(self.classes or {}, form)

    @property
    def is_initialized(self) -> bool:
        """Whether the model has a vocabulary and outcomes."""
        return self.lexicon is not None

    @property
    def is_guided(self) -> bool:
        """Whether features read guides."""
        return bool(set(GUIDE_ATTRIBUTES) & set(self.attributes))

    @property
    def vocabulary(self) -> Vocabulary:
        """The words; its tags are the outcomes."""
        return self.lexicon.vocabulary

    def initialize(
        self,
        vocabulary: Vocabulary,
        candidates: WordOutcomes | None = None,
        perceptron: Perceptron | None = None,
    ) -> None:
        """Set the vocabulary, the outcomes and the perceptron, by default an untrained one."""
        self.outcomes, self.candidates = vocabulary.tags, candidates
        paths = self._path_of if self.is_classed else None
        self.lexicon = Lexicon(vocabulary, self.attributes, self.task, candidates, paths)
        self._possible = possible_outcomes(vocabulary, self.task, candidates)
        self.perceptron = new_perceptron(self.places, 1) if perceptron is None else perceptron
        self._weights = None

    def read_docs(self, docs: Sequence[Doc], *, reader: str = "model") -> tuple[Sequences, Words]:
        """Encode the words of Docs, one sequence per sentence; for the senter, per Doc."""
        words = read_words(docs)
        more = self.symbols(docs, words, reader=reader)
        # `is` fails for a model from another process.
        if self.task == STARTS:
            given, offsets = words.starts, words.layout.docs
        else:
            given, offsets = np.full(len(words.place), NONE, dtype=np.int32), words.layout.offsets
        symbols, kind = self.lexicon.read(words.forms, words.place, more)
        return Sequences(symbols, kind, given, offsets.astype(np.int64)), words

    def symbols(self, docs: Sequence[Doc], words: Words, *, reader: str) -> dict[str, np.ndarray]:
        """Return the attributes of words that do not depend on the form (int32[words] each)."""
        attributes = set(self.attributes)
        symbols = {"space": read_spaces(docs, words.layout)} if "space" in attributes else {}
        for name in sorted(attributes & set(WRITTEN_ATTRIBUTES)):
            names, place = read_attribute(docs, words.layout, name.removeprefix("written."))
            symbols[name] = np.array(list(name_symbols(names).values()), dtype=np.int32)[place]
        if self.is_guided:
            tags = name_symbols(names_in_guides(docs, "tag_names"))
            labels = name_symbols(names_in_guides(docs, "label_names"))
            if self.task == TAGS:
                tags = {outcome: number for number, outcome in enumerate(self.outcomes)}
            guides = block_guides(docs, words.layout, labels, tags, reader=reader)
            symbols |= guide_symbols(guides, words.layout.offsets)
        return symbols

    def learn(self, sequences: Sequences, gold: np.ndarray, search: EasyFirstSearch) -> np.ndarray:
        """Learn from sequences. Return the numbers of early and of full updates."""
        check_can_learn(self.perceptron)
        counts = np.zeros(2, dtype=np.int64)
        self._weights = None
        board = new_board(self._reading, self._possible, search)
        learn_outcomes(
            self._reading,
            self.perceptron,
            sequences,
            self._possible,
            gold,
            search,
            _MARGIN,
            counts,
            board,
        )
        return counts

    def compact(self) -> None:
        """Remove the data for further training. Rounding may change outcomes with nearly equal
        scores.
        """
        self.perceptron, self._weights = averages_alone(self.perceptron), None

    def decide(self, sequences: Sequences, search: EasyFirstSearch, threads: int = 1) -> np.ndarray:
        """Return the outcomes of sequences (int32[words]), the same for any number of threads."""
        outcomes = np.full(len(sequences.kind), NONE, dtype=np.int32)
        weights = self._average().multiples

        def decide_some(begin: int, end: int) -> None:
            board = new_board(self._reading, self._possible, search)
            decide(
                self._reading,
                weights,
                sequences,
                self._possible,
                begin,
                end,
                search,
                board,
                outcomes,
            )

        ends = np.searchsorted(
            sequences.offsets, np.linspace(0, len(outcomes), threads + 1)
        ).tolist()
        ends[-1] = len(sequences.offsets) - 1
        parts = [(begin, end) for begin, end in zip(ends, ends[1:]) if begin < end]
        if len(parts) == 1:
            decide_some(*parts[0])
        elif parts:
            with ThreadPoolExecutor(len(parts)) as executor:
                list(executor.map(decide_some, *zip(*parts)))
        return outcomes

    def leads(self, sequences: Sequences, outcomes: np.ndarray) -> np.ndarray:
        """Return the score of outcome 1 minus that of outcome 0 for each word (float64[words])."""
        leads, weights = np.empty(len(outcomes)), self._average()
        find_leads(self._reading, weights.multiples, sequences, outcomes, leads)
        return leads * weights.step

    def _average(self) -> Rounded:
        if self._weights is None:
            self._weights = averages_in(self.stored_perceptron)
        return self._weights

    # Storage

    def _fixed(self) -> dict[str, tuple[Any, str]]:
        fixed = {"outcome": self.task.outcome, "templates": self.templates, "places": self.places}
        problem = "setting differs from the config, and cannot change after training"
        return {name: (value, f"its '{name}' {problem}") for name, value in fixed.items()}

    def _write(self) -> Message:
        if not self.is_initialized:
            return {}
        return {
            **vocabulary_to_message(self.vocabulary),
            **candidates_to_message(self.candidates),
            **self._classed(),
            "perceptron": perceptron_to_message(self.stored_perceptron),
        }

    def _read(self, message: Message) -> None:
        vocabulary = vocabulary_from_message(message, self.vocabulary_settings.rule)
        self._read_classed(message)
        candidates = candidates_from_message(message)
        perceptron = StoredPerceptron(message["perceptron"], self.places, 1)
        self.initialize(vocabulary, candidates, perceptron)


def _architecture(
    name: str, task: ClassificationTask
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
        RAISES (ValueError): If an element is unknown or a setting is invalid.
        """
        checked = ClassifierSettings(**settings)
        vocabulary = VocabularySettings(
            unknown_words,
            checked.min_count,
            open_class_below=_OPEN_CLASS_BELOW if task == TAGS else 0,
        )
        templates = templates if guided else without_guides(templates)
        model = WordClassifier(task, templates, vocabulary, places=checked.places)
        return model_holding(model, f"easy_first_{task.outcome}", CLASSIFIER, _decide)

    make.__name__ = make.__qualname__ = name
    return registry.architectures(f"spacy-hpyp.{name}.v1")(taking(ClassifierSettings)(make))


EasyFirstTagger = _architecture("EasyFirstTagger", TAGS)
EasyFirstSenter = _architecture("EasyFirstSenter", STARTS)
EasyFirstMorphologizer = _architecture("EasyFirstMorphologizer", MORPHOLOGY)
EasyFirstLemmatizer = _architecture("EasyFirstLemmatizer", LEMMAS)


def _decide(classifier: WordClassifier, docs: list[Doc]) -> np.ndarray:
    return classifier.decide(classifier.read_docs(docs)[0], EasyFirstSearch())
