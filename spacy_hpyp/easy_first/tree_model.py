"""The model of an easy-first parser and its registered architecture."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.arrays import Guides, block_starts, no_guides
from ..annotation.confidence import log_odds
from ..annotation.encoding import Layout, Words, read_attribute, read_words
from ..annotation.guides import block_guides
from ..annotation.sentences import Encoder
from ..compiled import NONE
from ..settings import Settings, Whole, setting, taking
from ..stored import ClassedModel, Message, model_holding
from ..text.elements import FormRows, class_symbols, reads_classes, string_number, without_classes
from ..text.folding import fold
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import path_of
from . import arcs, labels
from .arcs import Scorer, new_scorer, reads_guides, with_weights, without_guides
from .learning import Learning, Lessons, learn_parsing
from .parsing import SCALE, EasyFirstTrees, SentencesToParse, parse, parse_beam
from .perceptron import PLACES, Perceptron


@dataclass(frozen=True)
class TreeModelSettings(Settings):
    """All settings of `spacy-hpyp.EasyFirstParser.v1`."""

    min_count: int = setting(2, Whole(0))
    max_tags: int = setting(0, Whole(0))
    arc_places: int = setting(2**22, PLACES)
    label_places: int = setting(2**18, PLACES)


#: The attribute of a thinc Model that holds a `TreeModel`.
TREE_MODEL = "tree_model"
# Confidence features are clipped: probabilities at _CERTAIN, margins at _EASIEST times `SCALE`.
_CERTAIN = 1e-4
_EASIEST = 10.0
#: The weights of the features of confidence before learning.
UNLEARNED = np.array([0.0, 0.5, 0.5, 0.5, 0.0, 0.0])
_SUFFIX = 3


@dataclass
class ParserProgress:
    """The progress of training. The keys of sentences are `RawSentence.key`.

    sentences, visited (int): The usable sentences with copies, and those visited in this pass.
    passes, steps (int): The number of passes, and of batches.
    counts (dict[str, int]): The frequency of words that occur twice or more in distinct sentences.
    tags (dict[bytes, int32[*]]): The jack-knifed tags of sentences, `NONE` where unknown.
    held_out (dict[bytes, Lessons]): The sentences held out to learn confidence.
    """

    sentences: int = 0
    visited: int = 0
    passes: int = 0
    steps: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    tags: dict[bytes, np.ndarray] = field(default_factory=dict)
    held_out: dict[bytes, Lessons] = field(default_factory=dict)

    def to_message(self) -> Message:
        """Return the progress; in `held_out`, zeros replace `rarity`, which confidence ignores."""
        held_out = {
            key: [*lesson._replace(rarity=np.zeros_like(lesson.rarity))]
            for key, lesson in sorted(self.held_out.items())
        }
        return {**vars(self), "held_out": held_out}

    @classmethod
    def from_message(cls, message: Message) -> "ParserProgress":
        """Read what `to_message` wrote."""
        held_out = {key: Lessons(*arrays) for key, arrays in message["held_out"].items()}
        return cls(**{**message, "held_out": held_out})


class TreeModel(ClassedModel):
    """A model that scores the actions of easy-first parsing and the labels of arcs.

    templates (Sequence[Sequence[Sequence[str]]]): Those of actions and those of labels, see
        `spacy_hpyp.easy_first.arcs` and `labels`.
    places (Sequence[int]): The sizes of their tables of weights, powers of two.
    RAISES (ValueError): If a template is invalid, see `check_templates`.
    """

    def __init__(
        self,
        templates: Sequence[Sequence[Sequence[str]]],
        vocabulary_settings: VocabularySettings,
        *,
        places: Sequence[int],
    ) -> None:
        self.templates = [[*map(list, lists)] for lists in templates]
        self.places = list(places)
        self.vocabulary_settings = vocabulary_settings
        # Check all templates, with those that read word classes.
        self._read_with(is_classed=True)
        super().__init__()

    def _read_with(self, *, is_classed: bool) -> bool:
        lists = self.templates if is_classed else [*map(without_classes, self.templates)]
        names = {name for templates in lists for template in templates for name in template}
        known = arcs.ELEMENTS, labels.ELEMENTS
        self._scorers = [*map(new_scorer, lists, known, ("arcs", "labels"))]
        #: Whether features read guides.
        self.is_guided = reads_guides(names)
        return is_classed and reads_classes(names)

    def _forget(self) -> None:
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.vocabulary: Vocabulary | None = None
        self.confidence: np.ndarray | None = None
        self.progress = ParserProgress()

    def initialize(
        self,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        data: tuple[bytes | None, bytes | None] = (None, None),
    ) -> None:
        """Set the alphabets, and the data of the perceptrons of arcs and labels, if trained."""
        self._forget()
        self.vocabulary = vocabulary
        self.tags, self.labels = vocabulary.tags, list(labels)
        self.arcs = Perceptron(self.places[0], 2, data[0])
        outcomes = max(1, len(self.labels))
        self.arc_labels = Perceptron(self.places[1], outcomes, data[1], sparse=True)
        self._forms = FormRows(4 + len(arcs.CLASS_SYMBOLS))

    @property
    def is_initialized(self) -> bool:
        """Whether the model has its alphabets."""
        return self.vocabulary is not None

    @property
    def encoder(self) -> Encoder:
        """The encoder of words, tags and labels."""
        return Encoder(self.vocabulary, self.labels)

    # Words

    def _row(self, form: str) -> list[int]:
        """Return the symbols of a form: word, lower, suffix, usual, and classes."""
        form, vocabulary = fold(form), self.vocabulary
        lower = form.lower()
        number = vocabulary.number(form)
        usual = vocabulary.candidate_tags[vocabulary.tag_offsets[number]]
        path = path_of(self.classes or {}, form) if self.is_classed else ""
        lower_symbols = [string_number(part) >> 1 for part in (lower, lower[-_SUFFIX:])]
        return [number + 1, *lower_symbols, int(usual) + 1, *class_symbols(path)]

    def encode(
        self,
        forms: Sequence[str],
        place: np.ndarray,
        tags: np.ndarray,
        offsets: np.ndarray,
        guides: Guides | None,
    ) -> SentencesToParse:
        """Encode words for the parser.

        forms (Sequence[str]), place (int64[words]): Unique forms, and each word's index there.
        tags (int32[words]): The tags of the words, `NONE` where unknown.
        offsets (int64[sentences + 1]): The start of each sentence.
        guides (Guides | None): The guides of the words; required if features read them.
        """
        word, lower, suffix, usual, *classes = self._forms.of(forms, self._row)[place].T
        columns = [word, tags + 1, lower, suffix, usual]
        if guides is not None:
            sides = _sides(guides, offsets)
            columns += [sides, guides.head_labels[:, 0] + 2, guides.tags[:, 0] + 2]
        elif self.is_classed:
            columns += [np.zeros_like(word)] * len(arcs.GUIDE_SYMBOLS)
        symbols = np.column_stack(columns + classes if self.is_classed else columns)
        return SentencesToParse(symbols.astype(np.int32), *guide_rows(guides, offsets), offsets)

    def read_docs(
        self, docs: Sequence[Doc], *, reader: str = "model"
    ) -> tuple[SentencesToParse, Words]:
        """Encode words of Docs with tags. RAISES (ValueError): If a guide to read is missing."""
        words = read_words(docs)
        names, tag = read_attribute(docs, words.layout, "tag")
        numbers = self.encoder.tags
        tags = np.array([numbers.get(name, NONE) for name in names], dtype=np.int32)[tag]
        guides = self.guides(docs, words.layout, reader=reader)
        return self.encode(words.forms, words.place, tags, words.layout.offsets, guides), words

    def guides(
        self, docs: Sequence[Doc], layout: Layout, *, reader: str = "model"
    ) -> Guides | None:
        """Return the guides, if features read any. RAISES (ValueError): If a Doc has none."""
        if not self.is_guided:
            return None
        encoder = self.encoder
        return block_guides(docs, layout, encoder.labels, encoder.tags, reader=reader)

    # Training and prediction

    def _predicting(self) -> Iterator[Scorer]:
        """Return the scorers with averaged weights."""
        averages = self.arcs.averages(), self.arc_labels.averages()
        return map(with_weights, self._scorers, averages)

    def parse(self, sentences: SentencesToParse, *, width: int, threads: int = 1) -> EasyFirstTrees:
        """Parse sentences with the averaged weights, see `spacy_hpyp.easy_first.parsing.parse`."""
        return parse(*self._predicting(), sentences, width=width, threads=threads)

    def k_best(
        self, sentences: SentencesToParse, i: int, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the trees and scores of a sentence's final beam, see `parse_beam`."""
        return parse_beam(*self._predicting(), sentences, i, width)

    def learn(
        self, lessons: Lessons, learning: Learning, rng: np.random.Generator, threads: int = 1
    ) -> np.ndarray:
        """Learn, see `learn_parsing`. RAISES (ValueError): If the model is compact."""
        weights = [each.begin_learning() for each in (self.arcs, self.arc_labels)]
        scorers = map(with_weights, self._scorers, [each.weights for each in weights])
        return learn_parsing(*zip(weights, scorers), lessons, learning, rng, threads)

    # Storage

    def compact(self) -> None:
        """Drop what only training needs. Rounding may change trees with nearly equal scores."""
        self.arcs.compact()
        self.arc_labels.compact()
        self.progress = ParserProgress()

    def _fixed(self) -> Message:
        return {"templates": self.templates, "places": self.places}

    def _write(self) -> Message:
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "labels": self.labels,
            **self._classed(),
            "arcs": self.arcs.to_bytes(),
            "arc_labels": self.arc_labels.to_bytes(),
            "confidence": self.confidence,
            "progress": self.progress.to_message(),
        }

    def _read(self, message: Message) -> None:
        vocabulary = Vocabulary.from_dict(message["vocabulary"], self.vocabulary_settings.rule)
        self._read_classed(message)
        perceptrons = message["arcs"], message["arc_labels"]
        self.initialize(vocabulary, message["labels"], perceptrons)
        self.confidence = message["confidence"]
        self.progress = ParserProgress.from_message(message["progress"])


def _sides(guides: Guides, offsets: np.ndarray) -> np.ndarray:
    """Return the side and the binned probability of the guide's head of each word, as symbols."""
    position = np.arange(len(guides.heads)) - block_starts(offsets)
    head, probability = guides.heads[:, 0], guides.head_probability[:, 0]
    side = np.where(head == NONE, 0, np.where(head < position, 1, 2))
    symbol = 1 + 4 * side + np.digitize(probability, [0.5, 0.8, 0.95])
    return np.where(probability > 0.0, symbol, arcs.NULL)


def guide_rows(
    guides: Guides | None, offsets: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the heads, probabilities, labels and expected children of `SentenceToParse`."""
    if guides is None:
        # No word has a head to choose from.
        guides = Guides(*(column[:, :0].copy() for column in no_guides(int(offsets[-1]))))
    # Heads with probability 0 are padding, which must not match a head or ROOT.
    heads = np.where(guides.head_probability <= 0.0, -2, guides.heads).astype(np.int32)
    rank, word = np.nonzero(heads.T >= 0)
    head, start = heads[word, rank], block_starts(offsets)[word]
    expected = np.zeros((len(heads), 2), dtype=np.float32)
    side = (word - start > head).astype(np.int64)
    np.add.at(expected, (start + head, side), guides.head_probability[word, rank])
    return heads, guides.head_probability, guides.head_labels, expected


def confidence_features(trees: EasyFirstTrees, offsets: np.ndarray, *, guided: bool) -> np.ndarray:
    """Return the features of arc confidence, with margins in units of `SCALE`.

    offsets (int64[sentences + 1]): The start of each sentence.
    RETURNS (float64[words, 6]): 1; the margin of the arc; the log-odds (nats) of its share, and of
        the guide's probability (0 unless `guided`); log(1 + length in words); whether it is a root.
    """
    is_root = trees.heads == NONE
    position = np.arange(len(trees.heads)) - block_starts(offsets)
    length = np.where(is_root, 0, np.abs(trees.heads - position))
    margin = np.clip(np.nan_to_num(trees.margin, posinf=np.inf) / SCALE, -_EASIEST, _EASIEST)
    share = log_odds(trees.share, _CERTAIN)
    guide = log_odds(trees.guide, _CERTAIN) if guided else np.zeros(len(share))
    return np.column_stack([np.ones(len(share)), margin, share, guide, np.log1p(length), is_root])


@registry.architectures("spacy-hpyp.EasyFirstParser.v1")
@taking(TreeModelSettings)
def EasyFirstParser(
    arcs: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]],
    unknown_words: UnknownWordRule,
    guided: bool = False,
    **settings: Any,
) -> Model[list[Doc], EasyFirstTrees]:
    """Make an easy-first parser (Ma et al. 2013).

    arcs, labels (Sequence[Sequence[str]]): Lists of elements for actions and for labels, see
        `spacy_hpyp.easy_first.arcs` and `spacy_hpyp.easy_first.labels`.
    unknown_words (UnknownWordRule): Maps rare words to classes.
    guided (bool): Whether to use the templates with guides.
    **settings: See `TreeModelSettings`.
    RETURNS (Model): Maps Docs with tags to their trees, by greedy search.
    RAISES (ValueError): If a template (see `check_templates`) or a setting is invalid.
    """
    checked = TreeModelSettings(**settings)
    vocabulary = VocabularySettings(unknown_words, checked.min_count, max_tags=checked.max_tags)
    if not guided:
        arcs, labels = without_guides(arcs), without_guides(labels)
    places = checked.arc_places, checked.label_places
    model = TreeModel((arcs, labels), vocabulary, places=places)
    return model_holding(model, "easy_first_parser", TREE_MODEL, _parse)


def _parse(model: TreeModel, docs: list[Doc]) -> EasyFirstTrees:
    return model.parse(model.read_docs(docs)[0], width=1)
