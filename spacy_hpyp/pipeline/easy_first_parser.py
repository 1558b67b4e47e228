"""The trainable spaCy component `easy_first_parser`."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.arrays import Guides, joined
from ..annotation.candidates import Candidates, ScoredParse, trees_of
from ..annotation.confidence import logistic
from ..annotation.encoding import Words, read_words, write_trees
from ..annotation.sentences import RawSentence, read_gold
from ..annotation.syntactic_words import to_word_doc
from ..compiled import NONE
from ..easy_first.learning import EARLY, FULL, Learning, Lessons
from ..easy_first.parsing import EasyFirstTrees
from ..easy_first.tree_model import TREE_MODEL, TreeModel, confidence_features
from ..memory import giving_back
from ..settings import whole
from ..training.confidence import is_cross_fitted, is_held_out, learn_from_all, learn_from_held_out
from ..training.treebank import GoldCorpus, Seen
from .alignment import gold_sentences
from .base import LabelData, components_before
from .parsers import Parser, ParserWithCandidates
from .settings import EasyFirstParserSettings

# In training, a word seen n times is treated as unknown with the probability x / (x + n).
_WORD_DROPOUT = 0.5


class EasyFirstParser(ParserWithCandidates, Parser):
    """An easy-first parser with beam search (Ma, Zhu, Xiao & Yang 2013).

    It reads `token.tag_` and sentence boundaries, and `doc._.guide` if its templates do. It sets
    `token.head`, `token.dep_` and `token._.head_prob`.

    `initialize` jack-knifes the tags of the training sentences by the tagger before the component.
    `drop` is the fraction of templates that each sentence leaves out at random. At most one
    sentence in thirty is held out, to learn confidence in arcs from it after each pass; in a small
    treebank `initialize` learns it by cross-fitting. The loss is the number of updates a sentence.

    Its model is made by `spacy-hpyp.EasyFirstParser.v1`.
    """

    factory = "easy_first_parser"
    settings_type = EasyFirstParserSettings
    attribute = TREE_MODEL
    alternative = ScoredParse

    @property
    def parser(self) -> TreeModel:
        """The learned state."""
        return self.learned

    def _check_settings(self, settings: EasyFirstParserSettings) -> None:
        if settings.folds == 1:
            raise ValueError("'folds' must be 0 or at least 2, not 1.")

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._seen: Seen[Lessons] = Seen()

    @giving_back
    def _begin(
        self,
        corpus: GoldCorpus,
        labels: LabelData,
        examples: Sequence[Example],
        nlp: Language | None,
    ) -> None:
        before = self.parser
        self._use(self._new_model())
        parser = self.parser
        try:
            vocabulary = corpus.vocabulary(labels["tags"], parser.vocabulary_settings)
            parser.initialize(vocabulary, labels["labels"])
            progress = parser.progress
            counts = Counter(word for sentence in corpus.usable.values() for word in sentence.words)
            progress.counts = {word: count for word, count in counts.items() if count > 1}
            numbers = parser.encoder.tags
            for key, tags in self._jackknife(examples, nlp).items():
                found = [numbers.get(tag, NONE) for tag in tags]
                progress.tags[key] = np.array(found, dtype=np.int32)
            self._remember(examples)
            lessons = self._seen.usable
            progress.sentences = sum(corpus.copies[key] for key in lessons)
            if not progress.sentences:
                raise self._nothing_fits(self._seen.skipped)
            self._hold_out(lessons)
            if is_cross_fitted(progress):
                learn_from_all(
                    parser, lessons, self._learning, seed=self.seed, threads=self.threads
                )
        except BaseException:
            self._use(before)
            raise
        self._warn_of_skipped(corpus.skipped, corpus.copies.total())

    @property
    def _tokens(self) -> str:
        # A guide belongs to the tokens of its document.
        return "gold" if self.parser.is_guided else self.tokens

    def _jackknife(
        self, examples: Sequence[Example], nlp: Language | None
    ) -> dict[bytes, Sequence[str]]:
        """Tag the training sentences by taggers that have not seen them."""
        if self.folds == 0 or nlp is None:
            return {}
        before = components_before(self, nlp)
        taggers = [each for each in before if hasattr(each[1], "jackknife")]
        if not taggers:
            warnings.warn(
                f"The component '{self.name}' learns from gold tags: there is no "
                "'easy_first_tagger' before it. Add one, or set folds = 0.",
                stacklevel=3,
            )
            return {}
        name, tagger = taggers[-1]
        util.logger.info(
            "%s: tags of the training part by %d taggers like '%s'", self.name, self.folds, name
        )
        return tagger.jackknife(examples, folds=self.folds, tokens=self._tokens)

    def _remember(self, examples: Iterable[Example]) -> list[bytes]:
        """Make lessons of examples. Returns the keys of their usable sentences."""
        keys = []
        for example in examples:
            document = gold_sentences(example, self._tokens)
            found = [raw.key for raw in document]
            new = set(found) - self._seen.made.keys()
            guides, start = None, 0
            if new and self.parser.is_guided:
                docs = [example.reference]
                guides = self.parser.guides(docs, read_words(docs).layout, reader=self.name)
            for key, raw in zip(found, document):
                end = start + len(raw.rows)
                own = None if guides is None else Guides(*(part[start:end] for part in guides))
                if self._seen.take(key, partial(self._lesson, key, raw, own)) is not None:
                    keys.append(key)
                start = end
            if self.parser.progress.sentences:
                self._hold_out(key for key in found if key in new)
        return keys

    def _lesson(self, key: bytes, raw: RawSentence, guides: Guides | None) -> Lessons | str:
        """Return the lesson of a sentence, or the reason why it cannot be used."""
        parser, progress = self.parser, self.parser.progress
        gold = read_gold(raw)
        if isinstance(gold, str):
            return gold
        rows = parser.encoder.encode(gold)
        if isinstance(rows, str):
            return "with tags or labels that the model does not have"
        (_, tags, heads, labels), n = rows, len(gold.words)
        given = progress.tags.get(key, tags)
        count = np.array([progress.counts.get(word, 1) for word in gold.words])
        *words, offsets = parser.encode(gold.words, np.arange(n), given, np.array([0, n]), guides)
        dropout = (_WORD_DROPOUT / (_WORD_DROPOUT + count)).astype(np.float32)
        return Lessons(*words, heads, labels, dropout, offsets)

    @property
    def held_out(self) -> set[bytes]:
        """The keys (`RawSentence.key`) of sentences that only confidence is learned from."""
        return set(self.parser.progress.held_out)

    def _hold_out(self, keys: Iterable[bytes]) -> None:
        """Hold out some of these sentences."""
        progress, lessons = self.parser.progress, self._seen.made
        chosen = {key: lessons[key] for key in keys if is_held_out(progress, key)}
        progress.held_out.update(
            {key: lesson for key, lesson in chosen.items() if not isinstance(lesson, str)}
        )

    @property
    def _learning(self) -> Learning:
        return Learning(self.beam, early=self.learning == "early")

    def _end_pass(self) -> None:
        learn_from_held_out(self.parser, self._learning, threads=self.threads)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        keys = self._remember(examples)
        parser, progress = self.parser, self.parser.progress
        learned = [self._seen.made[key] for key in keys if not is_held_out(progress, key)]
        if learned:
            learning = self._learning._replace(explore=progress.passes > 0, dropout=drop)
            counts = parser.learn(joined(learned), learning, self._rng(), self.threads)
            self._count_loss(losses, int(counts[EARLY] + counts[FULL]), len(learned))
        progress.steps += 1
        progress.visited += len(keys)
        is_passed = bool(keys) and progress.visited >= progress.sentences
        if is_passed:
            progress.visited = 0
            progress.passes += 1
        return is_passed

    # Prediction

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, EasyFirstTrees, np.ndarray]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): With tags and sentence boundaries.
        RETURNS (tuple): The words, their trees, and the probability of each arc (float64[words],
            NaN where confidence has not been learned).
        RAISES (ValueError): If the component has not been trained, or a guide is missing.
        """
        self._check_trained()
        sentences, words = self.parser.read_docs(list(docs), reader=self.name)
        trees = self.parser.parse(sentences, width=self.beam, threads=self.threads)
        weights = self.parser.confidence
        if weights is None:
            return words, trees, np.full(len(trees.heads), np.nan)
        observed = confidence_features(trees, sentences.offsets, guided=self.parser.is_guided)
        return words, trees, logistic(observed, weights)

    def set_annotations(
        self, docs: Iterable[Doc], scores: tuple[Words, EasyFirstTrees, np.ndarray]
    ) -> None:
        """Write trees into the documents that `predict` was given, by what it returned."""
        words, trees, sure = scores
        write_trees(list(docs), words.layout, trees.heads, trees.labels, self._label_names, sure)

    def candidates(self, doc: Doc, k: int) -> list[Candidates]:
        """Return at most `k` trees of each sentence, with the summed weights of their actions.
        RAISES (ValueError): As `predict`, or if `k` is less than 1.
        """
        k = whole("k", k, least=1)
        self._check_trained()
        doc = to_word_doc(doc)
        sentences, words = self.parser.read_docs([doc], reader=self.name)
        found = []
        for i, (start, end) in enumerate(zip(sentences.offsets, sentences.offsets[1:])):
            beam = [part[:k] for part in self.parser.k_best(sentences, i, max(self.beam, k))]
            found.append(trees_of(doc, words.layout.token[start:end], *beam, self._label_names))
        return found
