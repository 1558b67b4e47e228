"""The trainable spaCy component `easy_first_parser`."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline.dep_parser import make_parser_scorer
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.alternatives import ScoredParse, best_combinations
from ..annotation.arrays import Guides
from ..annotation.calibration import PUNCTUATION
from ..annotation.candidates import Candidates, trees_of
from ..annotation.confidence import learn as learn_confidence
from ..annotation.confidence import logistic
from ..annotation.documents import (
    UNLABELLED,
    GoldSentence,
    RawSentence,
    layout_of,
    read_gold,
    write_trees,
    written_labels,
)
from ..annotation.extensions import register_extensions
from ..annotation.words import Words
from ..compiled import NONE
from ..easy_first.learning import EARLY, FULL, LABELS, Learning, Lessons, Report, join
from ..easy_first.parsing import Sentences, Trees
from ..models.easy_first import TREE_MODEL
from ..models.tree_model import UNLEARNED, TreeModel, confidence_features
from ..models.tree_storage import tree_model_from_bytes
from ..settings import attributes, taking, whole
from ..text.vocabulary import Vocabulary
from ..training.leave_out import deal_out
from ..training.treebank import GoldCorpus
from .alignment import gold_documents
from .base import TrainableComponent, listed, reading_parts
from .factories import default_config, register_for_english
from .settings import EasyFirstParserSettings

register_extensions()

# Confidence is learned from about so many sentences that nothing else is learned from, and from no more than one in so many.
_HELD_OUT = 250
_LEAST_PARTS = 30
# In a treebank of fewer sentences those would be too few: it is learned from all of them, as so many other parsers find them, each of
# which has passed so often over what the others have not.
_CROSS_FITTED_BELOW = 1000
_FOLDS = 5
_FOLD_PASSES = 5


_DEFAULTS = default_config(EasyFirstParserSettings, "easy_first_parser")


@Language.factory(
    "easy_first_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents", "token._.head_prob"],
    requires=["token.tag"],
    default_config=_DEFAULTS,
    default_score_weights={
        "dep_uas": 0.5,
        "dep_las": 0.5,
        "dep_las_per_type": None,
        "sents_p": None,
        "sents_r": None,
        "sents_f": 0.0,
    },
)
@taking(EasyFirstParserSettings)
def make_easy_first_parser(
    nlp: Language, name: str, model: Model, *, scorer: Callable | None, **settings: Any
) -> "EasyFirstParser":
    """Make an easy-first parser; see `EasyFirstParser`."""
    return EasyFirstParser(nlp.vocab, model, name, scorer=scorer, **settings)


register_for_english("easy_first_parser", _DEFAULTS, make_easy_first_parser)


@attributes(EasyFirstParserSettings)
class EasyFirstParser(TrainableComponent):
    """An easy-first parser with beam search (Ma, Zhu, Xiao & Yang 2013).

    It reads `token.tag_` and sentence boundaries, and `doc._.guide` if its templates do, and sets `token.head`, `token.dep_`
    and `token._.head_prob`.

    Every setting is an attribute; how it is saved and overridden, `TrainableComponent` says.

    vocab (Vocab): The shared vocabulary.
    model (Model): Made by `spacy-hpyp.EasyFirstParser.v1`.
    name (str): The name of the component instance.
    scorer (Callable | None): What `score` calls.
    **settings: See `spacy_hpyp.components.settings`.
    RAISES (ValueError): If a setting is not what it may be.
    """

    factory = "easy_first_parser"
    settings_type = EasyFirstParserSettings
    attribute = TREE_MODEL

    @taking(EasyFirstParserSettings)
    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "easy_first_parser",
        *,
        scorer: Callable | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, make_parser_scorer() if scorer is None else scorer, settings)
        self._reset_training()

    @property
    def parser(self) -> TreeModel:
        """What has been learned."""
        return self.model.attrs[TREE_MODEL]

    @property
    def is_trained(self) -> bool:
        """Whether there are tags, labels and words to parse with."""
        return self.parser.is_initialized

    @property
    def labels(self) -> tuple[str, ...]:
        """What `token.dep_` may be: the labels of arcs, those of roots ("ROOT") and of white space ("dep")."""
        return written_labels(self.parser.labels) if self.is_trained else ()

    @property
    def _label_names(self) -> list[str]:
        # Where no arc has been seen in training there is no label, but trees have arcs all the same.
        return self.parser.labels or [UNLABELLED]

    @property
    def label_data(self) -> dict[str, list[str]]:
        """Tags and labels of the model, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.parser.tags), "labels": list(self.parser.labels)}

    def _check_settings(self, settings: EasyFirstParserSettings) -> None:
        if settings.folds == 1:
            raise ValueError(
                "'folds' must be 0 or at least 2, not 1: each part of the training data is tagged by what the others teach."
            )

    # Training

    def _reset_training(self) -> None:
        self._lessons: dict[bytes, Lessons | None] = {}
        self._updates = np.zeros(3, dtype=np.int64)
        self._loss = (0, 0)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, list[str]] | None = None,
    ) -> None:
        """Collect the vocabulary, the tags and the labels of the training data, and forget what was learned before.

        The tags of the training sentences are jack-knifed here, by the tagger that stands before the component.

        get_examples (Callable): Returns examples with gold annotation, and with guides if the templates read them.
        nlp (Language | None): The pipeline.
        labels (dict | None): Tags and labels, as `label_data`; without them, those of the examples.
        RAISES (ValueError): If no sentence has tags and a tree, or none has only such as `labels` say, or there are no guides.
        """
        validate_get_examples(get_examples, "EasyFirstParser.initialize")
        examples = list(get_examples())
        corpus = GoldCorpus.read(gold_documents(examples, self._tokens))
        if not corpus.sentences:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: none of the training examples has a sentence with "
                f"a tag for every token and a complete tree{listed(corpus.skipped)}. Is the right file in the corpus?"
            )
        before = self.parser
        self._use(before.untrained())
        try:
            self._begin(corpus, examples, nlp, corpus.label_data() if labels is None else labels)
        except BaseException:
            self._use(before)
            raise
        if corpus.skipped:
            warnings.warn(
                f"The component '{self.name}' skips {corpus.skipped.total()} training sentences{listed(corpus.skipped)}.",
                stacklevel=2,
            )

    def _begin(
        self, corpus: GoldCorpus, examples: Sequence[Example], nlp: Language | None, known: dict[str, list[str]]
    ) -> None:
        """Give the untrained model what it needs to learn from a corpus.

        examples (Sequence[Example]): What the corpus was read from.
        known (dict[str, list[str]]): Tags and labels, as `label_data`.
        """
        parser = self.parser
        numbers = {tag: number for number, tag in enumerate(known["tags"])}
        words = (
            (sentence.words, [numbers[tag] for tag in sentence.tags])
            for key, sentence in corpus.sentences.items()
            if numbers.keys() >= set(sentence.tags)
            for _ in range(corpus.copies[key])
        )
        parser.initialize(Vocabulary.collect(words, known["tags"], parser.vocabulary_settings), known["labels"])
        progress = parser.progress
        counts = Counter(word for sentence in corpus.sentences.values() for word in sentence.words)
        progress.counts = {word: count for word, count in counts.items() if count > 1}
        for key, tags in self._jackknife(examples, nlp).items():
            progress.tags[key] = np.array([numbers.get(tag, NONE) for tag in tags], dtype=np.int32)
        self._read(examples)
        progress.sentences = sum(corpus.copies[key] for key, each in self._lessons.items() if each is not None)
        if not progress.sentences:
            raise ValueError(
                f"The component '{self.name}' cannot be initialized: nothing can be learned with the given tags and labels. "
                "Make them of the same data with 'python -m spacy init labels'."
            )
        for key, lesson in self._lessons.items():
            self._hold_out(key, lesson)
        if self._is_cross_fitted:
            self._cross_fit([key for key, lesson in self._lessons.items() if lesson is not None])

    @property
    def _tokens(self) -> str:
        # A guide is for the tokens of the document that it was written into.
        return "gold" if self.parser.is_guided else self.tokens

    def _jackknife(self, examples: Sequence[Example], nlp: Language | None) -> dict[bytes, Sequence[str]]:
        """Tags of the training sentences by taggers that have not seen them."""
        if self.folds == 0 or nlp is None:
            return {}
        taggers = []
        for name, component in nlp.pipeline:
            if component is self:
                break
            if hasattr(component, "jackknife"):
                taggers.append((name, component))
        if not taggers:
            warnings.warn(
                f"The component '{self.name}' learns from gold tags: there is no component before it whose tags can be jack-knifed. "
                "Put an 'easy_first_tagger' before it, or set folds = 0.",
                stacklevel=4,
            )
            return {}
        name, tagger = taggers[-1]
        util.logger.info("%s: tags of the training part by %d taggers like '%s'", self.name, self.folds, name)
        return tagger.jackknife(examples, folds=self.folds, tokens=self._tokens)

    def _read(self, examples: Iterable[Example]) -> list[bytes]:
        """Remember what can be learned from examples. Returns what identifies their sentences that can be learned from."""
        keys = []
        examples = list(examples)
        for example, document in zip(examples, gold_documents(examples, self._tokens)):
            found = [raw.key for raw in document.sentences]
            if not self._lessons.keys() >= set(found):
                self._remember(example, document.sentences)
            keys.extend(key for key in found if self._lessons[key] is not None)
        return keys

    def _remember(self, example: Example, sentences: Sequence[RawSentence]) -> None:
        guides = self._guides_of(example) if self.parser.is_guided else None
        start = 0
        for raw in sentences:
            end = start + len(raw.rows)
            if raw.key not in self._lessons:
                gold = read_gold(raw, example.reference.vocab)
                own = None if guides is None else Guides(*(part[start:end] for part in guides))
                self._lessons[raw.key] = None if isinstance(gold, str) else self._encode(gold, raw.key, own)
                if self.parser.progress.sentences:
                    self._hold_out(raw.key, self._lessons[raw.key])
            start = end

    def _guides_of(self, example: Example) -> Guides:
        """The guides of the words of an example's reference."""
        doc = example.reference
        places = [
            np.array([token.i for token in sent if not token.is_space], dtype=np.int64) for sent in _sentences(doc)
        ]
        layout = layout_of([[place for place in places if len(place)]])
        return self.parser.guides([doc], layout, reader=self.name)

    def _encode(self, gold: GoldSentence, key: bytes, guides: Guides | None) -> Lessons | None:
        parser, progress = self.parser, self.parser.progress
        labels = {label: number for number, label in enumerate(parser.labels)}
        tags = {tag: number for number, tag in enumerate(parser.tags)}
        arcs = [NONE if head == NONE else labels.get(label, -2) for label, head in zip(gold.labels, gold.heads)]
        if -2 in arcs or not tags.keys() >= set(gold.tags):
            return None
        n = len(gold.words)
        given = progress.tags.get(key)
        if given is None:
            given = np.array([tags[tag] for tag in gold.tags], dtype=np.int32)
        elif len(given) != n:
            raise ValueError(f"The component '{self.name}' has the tags of another sentence for a training sentence.")
        count = np.array([progress.counts.get(word, 1) for word in gold.words])
        *words, offsets = parser.encode(gold.words, np.arange(n), given, np.array([0, n]), guides)
        return Lessons(
            *words,
            np.array(gold.heads, dtype=np.int32),
            np.array(arcs, dtype=np.int32),
            (self.word_dropout / (self.word_dropout + count)).astype(np.float32),
            offsets,
        )

    @property
    def _is_cross_fitted(self) -> bool:
        """Whether the treebank is too small for a part of it to be held out."""
        progress = self.parser.progress
        return progress.sentences < _CROSS_FITTED_BELOW and not progress.held_out

    def _is_held_out(self, key: bytes) -> bool:
        if self._is_cross_fitted:
            return False
        every = max(_LEAST_PARTS, self.parser.progress.sentences // _HELD_OUT)
        return int.from_bytes(key[:4], "big") % every == 0

    @property
    def held_out(self) -> set[bytes]:
        """What identifies the training sentences that only confidence is learned from; see `RawSentence.key`."""
        return set(self.parser.progress.held_out)

    def _hold_out(self, key: bytes, lesson: Lessons | None) -> None:
        """Keep a sentence to learn confidence from, if it is one of those."""
        if lesson is not None and self._is_held_out(key):
            self.parser.progress.held_out[key] = lesson

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from some sentences, one after the other.

        One sentence in thirty, or fewer where there are many, is not learned from: confidence in arcs is, after each pass.

        examples (Iterable[Example]): What is learned are the reference documents, on the tokens that `tokens` says.
        drop (float): The part of the templates that is left out at random for each sentence.
        sgd (Optimizer | Literal[False] | None): Not used: perceptrons learn by their own updates.
        losses (dict[str, float] | None): Gets, under the component's name, the number of updates for each sentence since the name
            was last missing.
        RETURNS (dict[str, float]): The losses.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0, 0)
            losses[self.name] = 0.0
        found = self._examples(examples, "update")
        self._check_trained()
        keys = self._read(found)
        if self.guard.change(lambda: self._learn(keys, drop, losses)):
            self._learn_confidence()
        return losses

    def _learn(self, keys: list[bytes], drop: float, losses: dict[str, float]) -> bool:
        """A step for some sentences, see `update`. Returns whether a pass over all of them is complete with it."""
        learned = [key for key in keys if not self._is_held_out(key)]
        progress = self.parser.progress
        if learned:
            rng = np.random.default_rng([self.seed, progress.steps])
            report = self._teach(self.parser, learned, progress.passes, drop, rng)
            self._updates += report.counts
            updates = int(report.counts[EARLY] + report.counts[FULL])
            self._loss = (self._loss[0] + updates, self._loss[1] + len(learned))
            losses[self.name] = self._loss[0] / self._loss[1]
        progress.steps += 1
        progress.visited += len(keys)
        is_passed = bool(keys) and progress.visited >= progress.sentences
        if is_passed:
            progress.visited = 0
            progress.passes += 1
            util.logger.info(
                "%s: pass %d, %d early and %d full updates, %d wrong labels",
                *(self.name, progress.passes, self._updates[EARLY], self._updates[FULL], self._updates[LABELS]),
            )
            self._updates[:] = 0
        return is_passed

    def _teach(
        self, parser: TreeModel, keys: Sequence[bytes], passes: int, drop: float, rng: np.random.Generator
    ) -> Report:
        """Have a parser that has made so many passes learn from sentences."""
        early = self.learning == "early"
        learning = Learning(self.beam, self.merge, early, self.margin, self.label_margin, passes > 0, drop)
        return parser.learn(join([self._lessons[key] for key in keys]), learning, rng)

    def _learn_confidence(self) -> None:
        """Learn how sure to be of arcs from the sentences that nothing else is learned from."""
        held_out = self.parser.progress.held_out
        if held_out:
            observed, right = self._observe(self.parser, join([held_out[key] for key in sorted(held_out)]))
            self.parser.confidence = learn_confidence(observed, right, UNLEARNED)

    def _cross_fit(self, keys: list[bytes]) -> None:
        """Learn how sure to be of arcs from all sentences, each of which a parser finds that has learned from others."""
        fold_of = deal_out(keys, _FOLDS)
        found = []
        for fold in range(_FOLDS):
            own, others = ([key for key in keys if (fold_of[key] == fold) == is_own] for is_own in (True, False))
            if not own or not others:
                continue
            parser, rng = self.parser.untrained(), np.random.default_rng([self.seed, fold, 6])
            parser.initialize(self.parser.vocabulary, self.parser.labels)
            for passes in range(_FOLD_PASSES):
                self._teach(parser, [others[i] for i in rng.permutation(len(others))], passes, 0.0, rng)
            found.append(self._observe(parser, join([self._lessons[key] for key in own])))
        if found:
            self.parser.confidence = learn_confidence(*map(np.concatenate, zip(*found)), UNLEARNED)

    def _observe(self, parser: TreeModel, lessons: Lessons) -> tuple[np.ndarray, np.ndarray]:
        """What confidence is learned from: the arcs that a parser finds, as `confidence_features`, and which of them are right."""
        sentences = Sentences(*lessons[:5], lessons.offsets)
        trees = parser.parse(sentences, width=self.beam, merge=self.merge, threads=self.threads)
        observed = confidence_features(trees, sentences.offsets, guided=parser.is_guided)
        names = [*parser.labels, ""]
        counted = np.array([names[label].lower() not in PUNCTUATION for label in lessons.gold_labels])
        return observed[counted], (trees.heads == lessons.gold_heads)[counted]

    def get_loss(self, examples: Iterable[Example], scores: tuple[Words, Trees, np.ndarray]) -> tuple[float, None]:
        """The part of the words whose head is wrong. There is no gradient: perceptrons learn by their own updates.

        examples (Iterable[Example]): Predicted and reference documents.
        scores (tuple): What `predict` returned for the predicted ones.
        """
        found = self._examples(examples, "get_loss")
        docs = [example.predicted.copy() for example in found]
        self.set_annotations(docs, scores)
        wrong = total = 0
        for doc, example in zip(docs, found):
            heads, _ = Example(doc, example.reference).get_aligned_parse(projectivize=False)
            pairs = [(token.head.i, head) for token, head in zip(doc, heads) if head is not None and not token.is_space]
            wrong += sum(mine != head for mine, head in pairs)
            total += len(pairs)
        return wrong / max(total, 1), None

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, Trees, np.ndarray]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): With tags and sentence boundaries; what has no boundaries is one sentence.
        RETURNS (tuple): The words, their trees, and how probable it is that each arc is right (float64[words], not a number where
            nothing has been learned of that).
        RAISES (ValueError): If the component has not been trained, or should read guides that are not there.
        """
        self._check_trained()
        sentences, words = self.parser.read_docs(list(docs), reader=self.name)
        trees = self.parser.parse(sentences, width=self.beam, merge=self.merge, threads=self.threads)
        weights = self.parser.confidence
        if weights is None:
            return words, trees, np.full(len(trees.heads), np.nan)
        observed = confidence_features(trees, sentences.offsets, guided=self.parser.is_guided)
        return words, trees, logistic(observed @ weights)

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, Trees, np.ndarray]) -> None:
        """Write trees into documents.

        docs (Iterable[Doc]): The documents that were parsed.
        scores (tuple): What `predict` returned for them.
        """
        words, trees, sure = scores
        write_trees(list(docs), words.layout, trees.heads, trees.labels, self._label_names, sure)

    def k_best(self, doc: Doc, k: int) -> list[ScoredParse]:
        """The best parses of a document, without changing it.

        They are searched for by a beam of at least k states, of which the equal ones are merged. If the component has fewer, or does
        not merge them, the first may be a better parse than that of `predict`.

        doc (Doc): With tags and sentence boundaries.
        k (int): How many, at least 1; fewer are returned if the final beams have no more.
        RETURNS (list[ScoredParse]): Copies of the document with the scores of their trees, the best first: sums of the weights of the
            actions, of all sentences.
        RAISES (ValueError): If k is not a whole number of at least 1.
        """
        k = whole("k", k, least=1)
        self._check_trained()
        sentences, words = self.parser.read_docs([doc], reader=self.name)
        beams = [self.parser.k_best(sentences, i, max(self.beam, k)) for i in range(len(sentences.offsets) - 1)]
        found = []
        for score, chosen in best_combinations([scores[:k].tolist() for _, _, scores in beams], k):
            copy = doc.copy()
            heads = _of_all([beam[0][i] for beam, i in zip(beams, chosen)])
            labels = _of_all([beam[1][i] for beam, i in zip(beams, chosen)])
            write_trees([copy], words.layout, heads, labels, self._label_names, np.full(len(heads), np.nan))
            found.append(ScoredParse(copy, score))
        return found

    def candidates(self, doc: Doc, k: int) -> list[Candidates]:
        """The best trees of each sentence of a document, without changing it, see `k_best`.

        doc (Doc): With tags and sentence boundaries.
        k (int): How many, at least 1; there are fewer if a final beam has no more.
        RETURNS (list[Candidates]): Of each sentence, with the sums of the weights of the actions.
        RAISES (ValueError): If k is not a whole number of at least 1.
        """
        k = whole("k", k, least=1)
        self._check_trained()
        sentences, words = self.parser.read_docs([doc], reader=self.name)
        found = []
        for i, (start, end) in enumerate(zip(sentences.offsets, sentences.offsets[1:])):
            beam = [part[:k] for part in self.parser.k_best(sentences, i, max(self.beam, k))]
            found.append(trees_of(doc, words.layout.token[start:end], *beam, self._label_names, self.name))
        return found

    # Storage

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> TreeModel:
        with reading_parts():
            stored = attributes[TREE_MODEL]
        return tree_model_from_bytes(self.parser, stored)

    def _replace_model(self, loaded: TreeModel) -> None:
        self.model.attrs[TREE_MODEL] = loaded
        self._reset_training()


def _sentences(doc: Doc) -> list[Any]:
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


def _of_all(rows: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.empty(0, dtype=np.int32), *rows])
