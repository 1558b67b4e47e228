"""The spaCy component `head_outward_parser`, and a base class for head-outward models."""

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from spacy.attrs import SENT_START
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.candidates import Candidates, best_combinations, trees_of
from ..annotation.encoding import Words, write_trees
from ..annotation.sentences import GoldDocument, join
from ..annotation.syntactic_words import to_word_doc
from ..annotation.user_data import mark_uncalibrated, write_sentence_probabilities
from ..compiled import NONE
from ..head_outward.model import HEAD_OUTWARD, HeadOutwardModel, read_docs
from ..head_outward.parsing import HeadOutwardTrees, best_trees, parse, tree_log_probabilities
from ..hpyp.pool import Weights
from ..settings import whole
from ..training.treebank import GoldCorpus
from .alignment import gold_sentences
from .base import LabelData
from .parsers import GibbsParser, ParserWithCandidates
from .settings import HeadOutwardSettings


class HeadOutwardComponent(GibbsParser):
    """A component whose thinc Model holds a head-outward model."""

    attribute = HEAD_OUTWARD

    @property
    def head_outward(self) -> HeadOutwardModel:
        """The probability model itself."""
        return self.learned

    def _initialize_model(
        self, model: HeadOutwardModel, corpus: GoldCorpus, labels: LabelData
    ) -> None:
        vocabulary = corpus.vocabulary(labels["tags"], model.own_settings, uncased=True)
        model.initialize(labels["labels"], vocabulary)

    def _documents(self, examples: Iterable[Example]) -> Iterator[GoldDocument]:
        """Yield the documents to learn from."""
        return (gold_sentences(each, self._tokens) for each in examples)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        batch = self._treebank.rows(self._documents(examples))
        return bool(batch) and self._step(batch, losses)

    def _visit(
        self, batch: list[tuple[bytes, np.ndarray]], rng: np.random.Generator
    ) -> tuple[dict[str, float], dict[str, Weights], int, bool]:
        progress, seated = self.head_outward.progress, []
        for key, count in Counter(key for key, _ in batch).items():
            progress.copies[key] = max(progress.copies[key], count)
        for key, rows in batch:
            present = progress.seated.get(key, 0)
            seated.append(present >= progress.copies[key])
            if not seated[-1]:
                progress.seated[key] = present + 1
                progress.tokens += rows.shape[1]
        sentences = join([rows for _, rows in batch])
        totals, gradient = self.head_outward.gibbs_step(
            sentences, None, np.array(seated), rng, self.settings.threads
        )
        return totals, gradient, int(sentences.offsets[-1]), all(seated)


class HeadOutwardParser(ParserWithCandidates, HeadOutwardComponent):
    """A generative parser that finds trees by dynamic programming (Eisner 1996; Wallach, Sutton &
    McCallum 2008).

    It reads `token.tag_` and sentence boundaries. It sets `token.head`, `token.dep_`,
    `token._.head_prob` (the exact probability of the arc given the sentence), and `_.log_prob` of
    sentences and documents (of their words and tags, summed over all projective trees, in nats).

    The loss is the negative log-likelihood for each token, in nats.

    Its model is made by `spacy-hpyp.HeadOutwardModel.v1`.
    """

    factory = "head_outward_parser"
    settings_type = HeadOutwardSettings

    # Prediction

    def _check_chart(self) -> None:
        self._check_trained()
        if self.head_outward.unchartable is not None:
            raise ValueError(
                f"The component '{self.name}' cannot search for trees: "
                f"{self.head_outward.unchartable}, which its chart does not allow. Change its "
                "context lists and train again, or score given trees with `tree_log_prob`."
            )

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray, HeadOutwardTrees]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): With tags and sentence boundaries.
        RETURNS (tuple): The words; the start of each sentence, or part of a long one, among them
            (int64[parts + 1]); and their trees.
        RAISES (ValueError): If the component has not been trained, or its model cannot search for
            trees.
        """
        self._check_chart()
        model, consensus = self.head_outward, self.decoding == "mbr"
        *encoded, words = read_docs(model, list(docs))
        trees = parse(model.frozen, *encoded, consensus=consensus, threads=self.threads)
        return words, encoded[-1], trees

    def set_annotations(
        self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray, HeadOutwardTrees]
    ) -> None:
        """Write trees into the documents that `predict` was given, by what it returned."""
        docs, (words, offsets, trees), layout = list(docs), scores, scores[0].layout
        heads, labels = _one_tree_each(trees.heads, trees.labels, offsets, layout.offsets)
        write_trees(docs, layout, heads, labels, self._label_names, trees.head_probability)
        # Exact under the model, but not calibrated.
        mark_uncalibrated(docs, self.name)
        parts = np.searchsorted(offsets, layout.offsets)
        of_sentence = np.add.reduceat(np.append(trees.log_probability, 0.0), parts)
        for doc, start, end in zip(docs, layout.docs, layout.docs[1:]):
            first, last = np.searchsorted(layout.offsets, (start, end))
            # A sentence may begin with white space, or have nothing else.
            starts = np.flatnonzero(doc.to_array(SENT_START).view(np.int64) == 1)
            words = layout.token[layout.offsets[first:last]]
            values = np.zeros(len(starts))
            values[np.searchsorted(starts, words, side="right") - 1] = of_sentence[first:last]
            write_sentence_probabilities(doc, starts, values)

    def candidates(self, doc: Doc, k: int) -> list[Candidates]:
        """Return the best trees of each sentence, with log-probabilities in nats of words, tags and
        unlabelled tree. RAISES (ValueError): As `predict` does, or if `k` is not 1 to 1,000.
        """
        k = whole("k", k, least=1, highest=1_000)
        self._check_chart()
        model, doc = self.head_outward, to_word_doc(doc)
        words, tags, offsets, found = read_docs(model, [doc])
        parts = [
            best_trees(model.frozen, words[a:b], tags[a:b], k) for a, b in zip(offsets, offsets[1:])
        ]
        bounds = found.layout.offsets
        firsts = np.searchsorted(offsets, bounds)
        candidates = []
        for first, last, start, end in zip(firsts, firsts[1:], bounds, bounds[1:]):
            of_sentence, rows = parts[first:last], []
            scores = [scores.tolist() for _, _, scores in of_sentence]
            for score, chosen in best_combinations(scores, k):
                heads, labels = (
                    np.concatenate([part[column][j] for part, j in zip(of_sentence, chosen)])
                    for column in (0, 1)
                )
                within = offsets[first : last + 1] - start
                whole_sentence = np.array([0, end - start])
                rows.append((*_one_tree_each(heads, labels, within, whole_sentence), score))
            columns, token = map(np.array, zip(*rows)), found.layout.token[start:end]
            candidates.append(trees_of(doc, token, *columns, self._label_names))
        return candidates

    def tree_log_prob(self, doc: Doc) -> float:
        """Return the log-probability of a document's words, tags and labelled trees, in nats.

        doc (Doc): With tags, heads, labels and sentence boundaries. Trees that are not projective
            are made so, with decorated labels (Nivre & Nilsson 2005).
        RAISES (ValueError): If a sentence lacks tags or a complete tree, or has an unknown tag or
            label, or the component has not been trained.
        """
        found = [rows for _, rows in self._encoded(doc)]
        if not found:
            return 0.0
        sentences, frozen = join(found), self.head_outward.frozen
        trees = (
            [part[a:b] for part in sentences[:4]]
            for a, b in zip(sentences.offsets, sentences.offsets[1:])
        )
        return sum(float(tree_log_probabilities(frozen, *tree, True).sum()) for tree in trees)


def _one_tree_each(
    heads: np.ndarray, labels: np.ndarray, parts: np.ndarray, sentences: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Join the trees of parts of sentences: later roots hang on the root of the first."""
    if len(parts) == len(sentences):
        return heads, labels
    heads, labels = heads.copy(), labels.copy()
    sentence = np.searchsorted(sentences, parts[:-1], side="right") - 1
    for start, end, first in zip(parts, parts[1:], sentences[sentence]):
        of_part = heads[start:end]
        root = int(start + np.flatnonzero(of_part == NONE)[0])
        of_part[of_part != NONE] += start - first
        if start == first:
            main = root - first
        else:
            heads[root], labels[root] = main, -2
    return heads, labels
