"""Registered architectures of the easy-first components."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..easy_first.arcs import reads_guides
from ..easy_first.classification import EasyFirstSearch
from ..easy_first.parsing import EasyFirstTrees
from ..easy_first.words import LEMMAS, MORPHOLOGY, STARTS, TAGS, ClassificationTask
from ..settings import taking
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import VocabularySettings
from .settings import ClassifierSettings, TreeModelSettings
from .stored import model_holding
from .tree_model import TreeModel
from .word_classifier import WordClassifier

#: The attribute of a thinc Model that holds a `WordClassifier`.
CLASSIFIER = "decider"
#: The attribute of a thinc Model that holds a `TreeModel`.
TREE_MODEL = "tree_model"
# Rarer words may have any open-class tag.
_OPEN_CLASS_BELOW = 50


def _without_guides(templates: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    return [template for template in templates if not reads_guides(set(template))]


def _architecture(name: str, task: ClassificationTask) -> Callable[..., Model[list[Doc], np.ndarray]]:
    """Register the architecture of a model that classifies words."""

    def make(
        templates: Sequence[Sequence[str]],
        unknown_words: UnknownWordRule,
        guided: bool = False,
        **settings: Any,
    ) -> Model[list[Doc], np.ndarray]:
        """Make an easy-first word classifier (Ma et al. 2012, 2013).

        templates (Sequence[Sequence[str]]): The elements that each feature reads, see
            `spacy_hpyp.easy_first.words`.
        unknown_words (UnknownWordRule): Maps rare words to classes.
        guided (bool): Whether to use the templates that read guides.
        **settings: See `spacy_hpyp.models.settings`.
        RETURNS (Model): Maps Docs to the outcome of each word (int32[words]), by greedy search.
        RAISES (ValueError): If an element is unknown or a setting is invalid.
        """
        found = ClassifierSettings(**settings)
        vocabulary = VocabularySettings(
            unknown_words, found.min_count, open_class_below=_OPEN_CLASS_BELOW if task == TAGS else 0
        )
        templates = templates if guided else _without_guides(templates)
        model = WordClassifier(task, templates, vocabulary, places=found.places)
        return model_holding(model, f"easy_first_{task.outcome}", CLASSIFIER, _decide)

    make.__name__ = make.__qualname__ = name
    return registry.architectures(f"spacy-hpyp.{name}.v1")(taking(ClassifierSettings)(make))


EasyFirstTagger = _architecture("EasyFirstTagger", TAGS)
EasyFirstSenter = _architecture("EasyFirstSenter", STARTS)
EasyFirstMorphologizer = _architecture("EasyFirstMorphologizer", MORPHOLOGY)
EasyFirstLemmatizer = _architecture("EasyFirstLemmatizer", LEMMAS)


def _decide(classifier: WordClassifier, docs: list[Doc]) -> np.ndarray:
    return classifier.decide(classifier.read_docs(docs)[0], EasyFirstSearch())


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

    arcs, labels (Sequence[Sequence[str]]): The elements that the features of actions and of labels read, see
        `spacy_hpyp.easy_first.arcs` and `spacy_hpyp.easy_first.labels`.
    unknown_words (UnknownWordRule): Maps rare words to classes.
    guided (bool): Whether to use the templates that read guides.
    **settings: See `spacy_hpyp.models.settings`.
    RETURNS (Model): Maps Docs with tags to their trees, by greedy search.
    RAISES (ValueError): If an element is unknown or a setting is invalid.
    """
    found = TreeModelSettings(**settings)
    vocabulary = VocabularySettings(unknown_words, found.min_count)
    if not guided:
        arcs, labels = _without_guides(arcs), _without_guides(labels)
    model = TreeModel(arcs, labels, vocabulary, arc_places=found.arc_places, label_places=found.label_places)
    return model_holding(model, "easy_first_parser", TREE_MODEL, _parse)


def _parse(model: TreeModel, docs: list[Doc]) -> EasyFirstTrees:
    return model.parse(model.read_docs(docs)[0], width=1)
