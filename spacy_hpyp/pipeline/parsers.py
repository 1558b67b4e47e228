"""Base classes of components that learn trees, and of those that learn by Gibbs sampling."""

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Optimizer

from ..annotation.candidates import Alternative, best_combinations, write_candidates
from ..annotation.encoding import raw_sentences
from ..annotation.sentences import UNLABELLED, GoldDocument, GoldSentence, read_gold, written_labels
from ..annotation.syntactic_words import to_word_doc, write_back
from ..annotation.user_data import forget
from ..hpyp.count_model import add_gradients
from ..training.treebank import GoldCorpus, Treebank
from .alignment import gold_sentences
from .base import Getter, LabelData, TrainableComponent


class ParserWithCandidates:
    """A parser that knows several parses of a sentence.

    A subclass defines `candidates`: the k best trees of each sentence of a document, with scores.
    """

    alternative: ClassVar[type] = Alternative
    finds_tags: ClassVar[bool] = False

    def k_best(self, doc: Doc, k: int) -> list[Any]:
        """Return the best parses of a document, without changing it, the best first: combinations
        of the candidates of its sentences.

        doc (Doc): As `predict` takes it. Sentence boundaries that are set are kept: in a parsed
            document, all of them.
        k (int): How many, at least 1; there may be fewer.
        RETURNS (list[Alternative | ScoredParse]): Copies of the document with the sums of the
            scores: log-probabilities in nats where the parser has probabilities.
        RAISES (ValueError): As `candidates` does: untrained, or `k` out of range.
        """
        candidates, parses = self.candidates(doc, k), []
        for score, chosen in best_combinations([each.score[:k].tolist() for each in candidates], k):
            copy = doc.copy()
            words = to_word_doc(copy)
            if self.finds_tags:
                forget(words)
            write_candidates(words, list(zip(candidates, chosen)), with_tags=self.finds_tags)
            write_back(words, copy)
            parses.append(self.alternative(copy, score))
        return parses


class Parser(TrainableComponent):
    """A component that learns from sentences with complete trees. Its settings have `tokens` and
    `seed`.

    A subclass defines `_begin`, which starts a new model, given a corpus, `label_data`, examples
    and the pipeline. On an error the component must stay unchanged.
    """

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of `token.dep_`. `label_data` also has the labels of arcs that were lifted."""
        return written_labels(self.learned.labels) if self.is_trained else ()

    @property
    def label_data(self) -> LabelData:
        """Tags and labels, as `spacy init labels` writes them and `initialize` takes them."""
        return {"tags": list(self.learned.tags), "labels": list(self.learned.labels)}

    @property
    def _label_names(self) -> list[str]:
        # If training has no arcs, there are no labels, but trees still have arcs.
        return [*self.learned.labels, UNLABELLED]

    @property
    def _max_tags(self) -> int:
        return self.learned.vocabulary_settings.max_tags

    @property
    def _tokens(self) -> str:
        """The tokens to learn, see `alignment.gold_sentences`."""
        return self.settings.tokens

    def _reset_training(self) -> None:
        super()._reset_training()
        self._has_warned = False

    def _rng(self, *purpose: int) -> np.random.Generator:
        """Return a generator for the current step and purpose."""
        return np.random.default_rng([self.settings.seed, self.learned.progress.steps, *purpose])

    def initialize(
        self, get_examples: Getter, *, nlp: Language | None = None, labels: LabelData | None = None
    ) -> None:
        """Collect vocabulary, tags and labels of the training data, and forget previous training.

        labels (dict | None): Tags and labels, as `label_data`; by default those of the examples.
        RAISES (ValueError): If no sentence can be learned from.
        """
        examples = self._examples(get_examples(), "initialize")
        corpus = self._read_corpus(gold_sentences(each, self._tokens) for each in examples)
        self._begin(corpus, corpus.label_data() if labels is None else labels, examples, nlp=nlp)

    def _read_corpus(self, documents: Iterable[GoldDocument]) -> GoldCorpus:
        """Return what can be learned from documents."""
        corpus = GoldCorpus(documents, self._max_tags)
        if not corpus.usable:
            raise self._nothing_to_learn(
                f"a sentence with a tag for each token and a complete tree{_listed(corpus.skipped)}"
            )
        return corpus

    def _nothing_fits(self, skipped: Counter[str]) -> ValueError:
        return ValueError(
            f"The component '{self.name}' cannot be initialized: no sentence has only the given "
            f"tags and labels{_listed(skipped)}. Make them with 'spacy init labels' on this data."
        )

    def _warn_of_skipped(self, skipped: Counter[str], size: int) -> None:
        """Warn once of skipped sentences, of `size` in all."""
        if skipped and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"The component '{self.name}' skips {skipped.total()} of {size} training "
                f"sentences{_listed(skipped)}.",
                stacklevel=2,
            )


class GibbsParser(Parser):
    """A parser that learns by Gibbs sampling. The weights of its pools are the parameters of the
    thinc Model.

    The loss is the negative log-likelihood for each token, in nats. Sentences are recognised by
    their content. After each sweep over the corpus, hyperparameters are resampled.

    A subclass defines `treebank_type`, the training sentences of a model; `_initialize_model`,
    which gives a model its alphabets by a corpus and `label_data`; and `_visit`, a Gibbs step for a
    batch of sentences, which returns their log-probabilities, the gradient by distribution, the
    number of tokens, and whether weights are to be learned.
    """

    treebank_type: ClassVar[type[Any]] = Treebank

    def _reset_training(self) -> None:
        super()._reset_training()
        self._treebank = self.treebank_type(self.learned)

    def _begin(
        self,
        corpus: GoldCorpus,
        labels: LabelData,
        examples: Sequence[Example],
        nlp: Language | None,
    ) -> None:
        model = self._new_model()
        self._initialize_model(model, corpus, labels)
        treebank = self.treebank_type(model)
        treebank.begin(corpus)
        if not treebank.usable:
            raise self._nothing_fits(treebank.skipped)
        self._use(model)
        self._treebank = treebank
        self._warn_of_skipped(treebank.skipped, treebank.size)

    def _end_sweep(self, rng: np.random.Generator) -> None:
        """Begin another sweep."""
        self.learned.resample(rng)
        self.learned.progress.sweeps += 1

    def _step(self, batch: Any, losses: dict[str, float]) -> bool:
        """Learn from a batch of at least one sentence. Returns whether that completes a sweep."""
        progress, rng = self.learned.progress, self._rng()
        progress.steps += 1
        log_probabilities, gradient, tokens, are_learned = self._visit(batch, rng)
        if gradient and are_learned:
            add_gradients(self.model, self.attribute, gradient, tokens)
        self._count_loss(losses, -sum(log_probabilities.values()), tokens)
        swept = progress.is_complete(len(batch))
        if swept:
            self._end_sweep(rng)
        return swept

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the weights of pools if there are gradients: an optimizer moves them without."""
        model = self.model
        if any(model.has_grad(name) and model.get_grad(name).any() for name in model.param_names):
            super().finish_update(sgd)

    def _encoded(self, doc: Doc) -> list[tuple[GoldSentence, np.ndarray]]:
        """Return the sentences of an annotated document, and their rows for the model."""
        self._check_trained()
        found = []
        for number, raw in enumerate(raw_sentences(to_word_doc(doc)), 1):
            sentence = rows = read_gold(raw)
            if isinstance(sentence, GoldSentence):
                rows = self.learned.encoder.encode(sentence)
            if isinstance(rows, str):
                raise ValueError(f"Component '{self.name}': sentence {number} is {rows}.")
            found.append((sentence, rows))
        return found


def _listed(problems: Counter[str]) -> str:
    """List the reasons for skipped sentences, in brackets."""
    listed = ", ".join(f"{count} {problem}" for problem, count in problems.most_common())
    return f" ({listed})" if listed else ""
