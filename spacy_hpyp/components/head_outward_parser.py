"""The trainable spaCy component `head_outward_parser`."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np
from spacy import util
from spacy.attrs import SENT_START
from spacy.language import Language
from spacy.pipeline.dep_parser import make_parser_scorer
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.alternatives import Alternative, best_combinations
from ..annotation.candidates import Candidates, trees_of
from ..annotation.documents import UNLABELLED, join, raw_sentences, read_gold, write_trees
from ..annotation.extensions import mark_uncalibrated, register_extensions, write_sentence_probabilities
from ..annotation.words import Words
from ..compiled import NONE
from ..head_outward.parsing import Trees, best_trees, head_marginals, parse
from ..head_outward.scoring import tree_log_probabilities
from ..models.head_outward import HEAD_OUTWARD, read_docs
from ..models.head_outward_model import HeadOutwardModel
from ..models.parameters import set_pooled
from ..settings import attributes, taking, whole
from ..training.trees import Sampler, TreeCorpus
from .alignment import gold_documents
from .base import listed
from .factories import default_config, register_for_english
from .head_outward_base import HeadOutwardComponent
from .settings import HeadOutwardSettings

register_extensions()

_DEFAULTS = default_config(HeadOutwardSettings, "head_outward_parser")


@Language.factory(
    "head_outward_parser",
    assigns=["token.dep", "token.head", "token.is_sent_start", "doc.sents", "token._.head_prob", "doc._.log_prob"],
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
@taking(HeadOutwardSettings)
def make_head_outward_parser(
    nlp: Language, name: str, model: Model, *, scorer: Callable | None, **settings: Any
) -> "HeadOutwardParser":
    """Make a head-outward parser; see `HeadOutwardParser`."""
    return HeadOutwardParser(nlp.vocab, model, name, scorer=scorer, **settings)


register_for_english("head_outward_parser", _DEFAULTS, make_head_outward_parser)


@attributes(HeadOutwardSettings)
class HeadOutwardParser(HeadOutwardComponent):
    """A generative parser that finds trees by dynamic programming (Eisner 1996; Wallach, Sutton & McCallum 2008).

    It reads `token.tag_` and sentence boundaries, and sets `token.head`, `token.dep_`, `token._.head_prob`, which is the exact
    probability of the arc given the sentence, and `_.log_prob` of sentences and documents: the log-probability of their words and tags
    summed over all projective trees, in nats.

    Every setting is an attribute; how it is saved and overridden, `TrainableComponent` says.

    vocab (Vocab): The shared vocabulary.
    model (Model): Made by `spacy-hpyp.HeadOutwardModel.v1`.
    name (str): The name of the component instance.
    scorer (Callable | None): What `score` calls.
    **settings: See `spacy_hpyp.components.settings`.
    RAISES (ValueError): If a setting is not what it may be.
    """

    factory = "head_outward_parser"
    settings_type = HeadOutwardSettings
    instead_of_score = " For the log-probability of its words, tags and trees, call 'tree_log_prob(doc)'."

    @taking(HeadOutwardSettings)
    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "head_outward_parser",
        *,
        scorer: Callable | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(vocab, model, name, make_parser_scorer() if scorer is None else scorer, settings)
        self._reset_training()

    @property
    def _label_names(self) -> list[str]:
        # Parts of sentences that were too long hang on each other; so do the words of a model that has seen no arc.
        return [*self.head_outward.labels, UNLABELLED]

    def _check_settings(self, settings: HeadOutwardSettings) -> None:
        problem = self.head_outward.unchartable
        if problem is not None and settings.latent != "nothing":
            raise ValueError(
                f'trees cannot be drawn where {problem}: set latent = "nothing", or take shorter context lists.'
            )

    # Training

    def _reset_training(self) -> None:
        self._sampler: Sampler | None = None
        self._loss = (0.0, 0)
        self._warned = False

    def _corpus(self) -> TreeCorpus:
        return TreeCorpus(self.latent, self.longest)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, list[str]] | None = None,
    ) -> None:
        """Collect the vocabulary, the tags and the labels of the training data, and forget what was learned before.

        get_examples (Callable): Returns examples with gold annotation; where trees are latent, some may have tags only.
        nlp (Language | None): The pipeline.
        labels (dict | None): Tags and labels, as `label_data`; without them, those of the examples.
        RAISES (ValueError): If no sentence has tags and a tree, or none has only such as `labels` say.
        """
        validate_get_examples(get_examples, "HeadOutwardParser.initialize")
        corpus = self._corpus()
        corpus.read(gold_documents(get_examples(), self.tokens))
        sampler = self._begin(corpus, labels)
        self._use(sampler.model)
        self._sampler = sampler
        self._warn_of_skipped()

    def _warn_of_skipped(self) -> None:
        skipped = self._sampler.corpus.skipped if self._sampler is not None else None
        if skipped and not self._warned:
            self._warned = True
            warnings.warn(
                f"The component '{self.name}' skips {skipped.total()} training sentences{listed(skipped)}.",
                stacklevel=3,
            )

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """One Gibbs step for each customer of some sentences; sentences that are not seated yet are added.

        When every sentence that the corpus is known to have has been visited, the hyperparameters are resampled. Latent trees are drawn
        by Metropolis-Hastings after `latent_after` sweeps; the log says how many were accepted.

        examples (Iterable[Example]): What is learned are the reference documents, on the tokens that `tokens` says.
        drop (float): Not used: a Bayesian model has no dropout.
        sgd (Optimizer | Literal[False] | None): Updates the weights of pools, by the gradient of the log-likelihood. Without one the
            gradient is kept for `finish_update`.
        losses (dict[str, float] | None): Gets, under the component's name, the negative log-likelihood for each token in nats, of all
            updates since the name was last missing.
        RETURNS (dict[str, float]): The losses.
        """
        losses = self._losses(losses)
        examples = self._examples(examples, "update")
        self._check_trained()
        model = self.head_outward
        if self._sampler is None:
            self._sampler = Sampler(model, self._corpus())
        # They may have been changed since then.
        self._sampler.corpus.latent, self._sampler.corpus.longest = self.latent, self.longest
        batch = self._sampler.rows(gold_documents(examples, self.tokens))
        if batch:
            drawn = self.latent if model.progress.sweeps >= self.latent_after else "nothing"
            if self._visit(self._sampler, batch, losses, drawn=drawn):
                if model.draws[0]:
                    util.logger.info("%s: %d of %d new trees accepted", self.name, *model.draws[::-1])
                    model.draws[:] = 0
                self._warn_of_skipped()
            if sgd:
                self.finish_update(sgd)
        return losses

    def get_loss(self, examples: Iterable[Example], scores: tuple[Words, np.ndarray, Trees]) -> tuple[float, None]:
        """The negative log-likelihood of parsed documents for each token, in nats, summed over all projective trees.

        examples (Iterable[Example]): Not needed: what the model predicts is the text itself.
        scores (tuple): What `predict` returned for the examples.
        RETURNS (tuple[float, None]): The loss. There is no gradient: the model learns by Gibbs sampling.
        """
        self._examples(examples, "get_loss")
        _, _, trees = scores
        return (-float(trees.log_probability.sum()) / len(trees.heads) if len(trees.heads) else 0.0), None

    # Prediction

    def _check_chart(self) -> None:
        self._check_trained()
        if self.head_outward.unchartable is not None:
            raise ValueError(
                f"The component '{self.name}' cannot look for trees: {self.head_outward.unchartable}, which dynamic programming "
                "does not know. Such a model says how probable trees are that are given to it (`tree_log_prob`)."
            )

    def predict(self, docs: Iterable[Doc]) -> tuple[Words, np.ndarray, Trees]:
        """Parse documents without changing them.

        docs (Iterable[Doc]): With tags and sentence boundaries; what has no boundaries is one sentence.
        RETURNS (tuple): The words; where each sentence, or part of one that is longer than `longest`, begins among them
            (int64[parts + 1]); and their trees.
        RAISES (ValueError): If the component has not been trained, or its model is none that can look for trees.
        """
        self._check_chart()
        model = self.head_outward
        words, tags, offsets, found = read_docs(model, list(docs), longest=self.longest)
        trees = parse(model.frozen, words, tags, offsets, consensus=self.decoding == "mbr", threads=self.threads)
        return found, offsets, trees

    def set_annotations(self, docs: Iterable[Doc], scores: tuple[Words, np.ndarray, Trees]) -> None:
        """Write trees into documents.

        docs (Iterable[Doc]): The documents that were parsed.
        scores (tuple): What `predict` returned for them.
        """
        docs, (words, offsets, trees) = list(docs), scores
        heads, labels = _one_tree_each(trees.heads, trees.labels, offsets, words.layout.offsets)
        write_trees(docs, words.layout, heads, labels, self._label_names, trees.head_probability)
        # What is exactly what the model says is not what can be relied on.
        mark_uncalibrated(docs, self.name)
        layout = words.layout
        of_sentence = np.add.reduceat(np.append(trees.log_probability, 0.0), np.searchsorted(offsets, layout.offsets))
        for doc, start, end in zip(docs, layout.docs, layout.docs[1:]):
            first, last = np.searchsorted(layout.offsets, (start, end))
            # A sentence may begin with white space, and there may be nothing else in it.
            starts = np.flatnonzero(doc.to_array(SENT_START).view(np.int64) == 1)
            owner = np.searchsorted(starts, layout.token[layout.offsets[first:last]], side="right") - 1
            values = np.zeros(len(starts))
            values[owner] = of_sentence[first:last]
            write_sentence_probabilities(doc, starts, values)

    def k_best(self, doc: Doc, k: int) -> list[Alternative]:
        """The most probable parses of a document, without changing it.

        doc (Doc): With tags and sentence boundaries.
        k (int): How many, at least 1; fewer are returned if there are no more.
        RETURNS (list[Alternative]): Copies of the document with the log-probabilities of their words, tags and trees without labels in
            nats, the best first.
        RAISES (ValueError): If k is not a whole number of at least 1.
        """
        k = whole("k", k, least=1, highest=1_000_000)
        self._check_chart()
        model = self.head_outward
        words, tags, offsets, found = read_docs(model, [doc], longest=self.longest)
        parts = [best_trees(model.frozen, words[a:b], tags[a:b], k) for a, b in zip(offsets, offsets[1:])]
        alternatives = []
        nothing = [np.empty(0, dtype=np.int32)]
        for log_prob, chosen in best_combinations([scores.tolist() for _, _, scores in parts], k):
            copy = doc.copy()
            heads = np.concatenate(nothing + [part[0][i] for part, i in zip(parts, chosen)])
            labels = np.concatenate(nothing + [part[1][i] for part, i in zip(parts, chosen)])
            heads, labels = _one_tree_each(heads, labels, offsets, found.layout.offsets)
            write_trees([copy], found.layout, heads, labels, self._label_names, np.full(len(heads), np.nan))
            alternatives.append(Alternative(copy, log_prob))
        return alternatives

    def candidates(self, doc: Doc, k: int) -> list[Candidates]:
        """The most probable trees of each sentence of a document, without changing it, see `k_best`.

        doc (Doc): With tags and sentence boundaries.
        k (int): How many, at least 1; there are fewer if there are no more.
        RETURNS (list[Candidates]): Of each sentence, with the log-probabilities of words, tags and trees without labels in nats.
        RAISES (ValueError): If k is not a whole number of at least 1.
        """
        k = whole("k", k, least=1, highest=1_000_000)
        self._check_chart()
        model = self.head_outward
        words, tags, offsets, found = read_docs(model, [doc], longest=self.longest)
        parts = [best_trees(model.frozen, words[a:b], tags[a:b], k) for a, b in zip(offsets, offsets[1:])]
        bounds = found.layout.offsets
        firsts = np.searchsorted(offsets, bounds)
        candidates = []
        for i, (start, end) in enumerate(zip(bounds, bounds[1:])):
            own, rows = parts[firsts[i] : firsts[i + 1]], []
            for score, chosen in best_combinations([scores.tolist() for _, _, scores in own], k):
                heads, labels = (np.concatenate([part[column][j] for part, j in zip(own, chosen)]) for column in (0, 1))
                within = offsets[firsts[i] : firsts[i + 1] + 1] - start
                rows.append((*_one_tree_each(heads, labels, within, np.array([0, end - start])), score))
            columns = (np.array(column) for column in zip(*rows))
            candidates.append(trees_of(doc, found.layout.token[start:end], *columns, self._label_names, self.name))
        return candidates

    def head_marginals(self, doc: Doc) -> np.ndarray:
        """How probable each head is, given the words and tags, without changing the document.

        doc (Doc): With tags and sentence boundaries.
        RETURNS (float64[tokens, tokens]): Of each token (row), the probability of each head (column), summed over all projective trees;
            on the diagonal, of being a root. The rows of white space are 0.
        """
        self._check_chart()
        words, tags, offsets, found = read_docs(self.head_outward, [doc], longest=self.longest)
        marginals = np.zeros((len(doc), len(doc)))
        for start, end in zip(offsets, offsets[1:]):
            token = found.layout.token[start:end]
            marginals[np.ix_(token, token)] = head_marginals(
                self.head_outward.frozen, words[start:end], tags[start:end]
            ).T
        return marginals

    def tree_log_prob(self, doc: Doc) -> float:
        """The log-probability of a document's words, tags and labelled trees, in nats.

        doc (Doc): With tags, heads, labels and sentence boundaries. Trees that are not projective are made so, with decorated labels
            (Nivre & Nilsson 2005).
        RAISES (ValueError): If a sentence has no complete tree, or a label that the model does not have.
        """
        self._check_trained()
        model, rows = self.head_outward, []
        for number, raw in enumerate(raw_sentences(doc)):
            sentence = read_gold(raw, doc.vocab)
            encoded = sentence if isinstance(sentence, str) else model.encoder.encode(sentence)
            if isinstance(encoded, str):
                raise ValueError(
                    f"The component '{self.name}' cannot say how probable the document is: its sentence {number + 1} is {encoded}."
                )
            rows.append(encoded)
        if not rows:
            return 0.0
        sentences = join(rows)
        return sum(
            float(tree_log_probabilities(model.frozen, *(part[a:b] for part in sentences[:4]), True).sum())
            for a, b in zip(sentences.offsets, sentences.offsets[1:])
        )

    # Storage

    def _replace_model(self, loaded: HeadOutwardModel) -> None:
        set_pooled(self.model, HEAD_OUTWARD, loaded)
        self._reset_training()


def _one_tree_each(
    heads: np.ndarray, labels: np.ndarray, parts: np.ndarray, sentences: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Trees of parts of sentences as trees of sentences: the roots of all parts but the first hang on that of the first.

    heads, labels (int32[words]): Positions in the part, `NONE` for a part's root.
    parts, sentences (int64[* + 1]): Where they begin.
    RETURNS (tuple[int32[words], int32[words]]): Positions in the sentence, and labels; the added arcs have the last label of all, -2.
    """
    if len(parts) == len(sentences):
        return heads, labels
    heads, labels = heads.copy(), labels.copy()
    sentence = np.searchsorted(sentences, parts[:-1], side="right") - 1
    for i, (start, end) in enumerate(zip(parts, parts[1:])):
        own = heads[start:end]
        root = int(start + np.flatnonzero(own == NONE)[0])
        first = int(sentences[sentence[i]])
        own[own != NONE] += start - first
        if start == first:
            main = root - first
        else:
            heads[root], labels[root] = main, -2
    return heads, labels
