"""The trainable spaCy component `parse_reranker`."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from ..annotation.arrays import offsets_of
from ..annotation.candidates import Candidates, write_candidates
from ..annotation.sentences import GoldDocument, RawSentence, is_counted, problem_of
from ..combining.log_linear import shares
from ..combining.reranker import FEATURES, RANKING, Ranking, as_groups, learn_weights, tree_features
from ..compiled import NONE
from .alignment import annotated_document, unannotated
from .base import Getter, LabelData, components_before
from .corpus import mark_sentence
from .head_outward_parser import HeadOutwardComponent
from .settings import RerankerSettings

# Weights are learned from this many sentences: the last ones, and at most a fifth of all.
_HELD_OUT = 500
# An easy-first parser's own held-out sentences are used if there are this many.
_LEAST_HELD_OUT = 30
_OWN, _SOURCE, _TREE, _LABELS = range(len(FEATURES))


@dataclass(frozen=True)
class Reranked:
    """The candidates of a sentence, ranked."""

    candidates: Candidates  # The source's best one first
    features: np.ndarray  # float64[k, FEATURES]: see `spacy_hpyp.combining.reranker`
    probability: np.ndarray  # float64[k]: the probability that each is the best
    chosen: int  # The number of the chosen one, from 0
    head_probability: np.ndarray  # float64[n]: of its arcs, summed over all candidates


class ParseReranker(HeadOutwardComponent):
    """Chooses among the k best trees of a parser before it, by a generative model (Sangati, Zuidema
    & Bod 2009).

    It reads what that parser reads, and sets `token.head`, `token.dep_`, `token._.head_prob`, and
    `token.tag_` where the trees come with tags of their own.

    The generative model is a head-outward model of the treebank's trees. After each sweep, the
    weights of the features are learned from held-out sentences: an `hpyp_parser` is asked as if it
    had not been trained on them, an `easy_first_parser` knows which it has not learned from. The
    components before it must stay as they are in training. The loss is the negative log-likelihood
    for each token, in nats.

    `source` is a component of its pipeline with a method `candidates`.

    Its model is made by `spacy-hpyp.Reranker.v1`.
    """

    factory = "parse_reranker"
    settings_type = RerankerSettings
    keeps_pipeline = True

    @property
    def ranking(self) -> Ranking:
        """The weights, and the sentences that they are learned from."""
        return self.model.attrs[RANKING]

    @property
    def weights(self) -> dict[str, float]:
        """The weights of the features by name, see `spacy_hpyp.combining.reranker.FEATURES`."""
        return dict(zip(FEATURES, self.ranking.weights.tolist()))

    @property
    def source_name(self) -> str:
        """The name of the parser whose trees are reranked.

        RAISES (ValueError): If there is none.
        """
        sources = [
            name for name, pipe in components_before(self, self.nlp) if hasattr(pipe, "candidates")
        ]
        if not self.source and not sources:
            raise ValueError(
                f"The component '{self.name}' reranks the trees of a parser, but there is none "
                f"before it in {self.nlp.component_names}. Add one, or name it in 'source'."
            )
        return self.source or sources[-1]

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        # Held-out gold sentences, each as a document of its own and with its annotation.
        self._held: dict[bytes, tuple[Doc, RawSentence]] = {}
        self._parsed: list[tuple[Doc, RawSentence, Candidates]] = []

    def initialize(
        self, get_examples: Getter, *, nlp: Language | None = None, labels: LabelData | None = None
    ) -> None:
        """Hold sentences out, collect the alphabets of the others, and forget everything.

        labels (dict | None): Tags and labels, as `label_data`; by default those of the examples.
        RAISES (ValueError): If there is no source, no sentence has tags and a tree, or none has
            only the given labels. RAISES (KeyError): If the pipeline lacks the component `source`.
        """
        self.nlp = nlp or self.nlp
        examples = self._examples(get_examples(), "initialize")
        documents = list(super()._documents(examples))
        keys = self._hold_out([raw.key for document in documents for raw in document])
        corpus = self._read_corpus(_without(documents, keys))
        self._begin(corpus, corpus.label_data() if labels is None else labels, examples, nlp=nlp)
        self.model.attrs[RANKING] = Ranking(held_out=keys)

    def _hold_out(self, keys: Sequence[bytes]) -> set[bytes]:
        """Choose the sentences that weights are learned from."""
        kept_out = getattr(self.nlp.get_pipe(self.source_name), "held_out", set()) & set(keys)
        if len(kept_out) >= _LEAST_HELD_OUT:
            return kept_out
        distinct = list(dict.fromkeys(keys))
        return set(distinct[len(distinct) - min(_HELD_OUT, len(distinct) // 5) :])

    def _documents(self, examples: Iterable[Example]) -> Iterator[GoldDocument]:
        return _without(super()._documents(examples), self.ranking.held_out)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        for example in examples if self.ranking.held_out else ():
            doc, sentences = annotated_document(example, self.tokens)
            for raw in sentences:
                if raw.key in self.ranking.held_out:
                    span = doc[int(raw.place[0]) : int(raw.place[-1]) + 1]
                    self._held.setdefault(raw.key, (span.as_doc(), raw))
        return super()._learn_from(examples, drop, losses)

    def _end_pass(self) -> None:
        """Learn weights from the held-out sentences."""
        if len(self._parsed) < len(self._held):
            self._parsed = self._parse_held_out()
        features, right = [], []
        for doc, raw, candidates in self._parsed:
            if len(candidates.token) == len(raw.rows):
                features.append(self._features(doc, candidates))
                heads, labelled, _ = agreement(candidates, raw)
                right.append((heads + labelled).astype(np.float64))
        if not features:
            return
        offsets = offsets_of([*map(len, features)])
        weights = learn_weights(np.concatenate(features), np.concatenate(right), offsets)
        self.model.attrs[RANKING] = replace(self.ranking, weights=weights)
        util.logger.info("%s: weights of %d sentences: %s", self.name, len(features), self.weights)

    def _parse_held_out(self) -> list[tuple[Doc, RawSentence, Candidates]]:
        """Return held-out sentences with their candidates, parsed as if none had been seen."""
        found = [self._held[key] for key in sorted(self._held)]
        found = [(doc, raw) for doc, raw in found if problem_of(raw.rows) is None]
        docs: Iterable[Doc] = [mark_sentence(unannotated(doc)) for doc, _ in found]
        pipes = dict(components_before(self, self.nlp))
        for name, pipe in pipes.items():
            if hasattr(pipe, "held_out_copy"):
                pipe = pipes[name] = pipe.held_out_copy([[raw for _, raw in found]])
            if name not in self.nlp.disabled:
                docs = pipe.pipe(docs) if hasattr(pipe, "pipe") else map(pipe, docs)
        parsed = []
        for doc, (_, raw) in zip(docs, found):
            candidates = pipes[self.source_name].candidates(doc, self.k)
            if len(candidates) == 1:
                parsed.append((doc, raw, candidates[0]))
        return parsed

    # Prediction

    def predict(self, docs: Iterable[Doc], *, k: int | None = None) -> list[list[Reranked]]:
        """Choose among the trees of the source, without changing the document.

        docs (Iterable[Doc]): Parsed by the source.
        k (int | None): How many trees of a sentence, instead of the setting.
        RETURNS (list[list[Reranked]]): Of each sentence of each document.
        RAISES (ValueError): If the component has not been trained, or no parser is before it.
        RAISES (KeyError): If the pipeline lacks the component `source`.
        """
        self._check_trained()
        source = self.nlp.get_pipe(self.source_name)
        # One after the other: the source has threads of its own.
        found = [(doc, source.candidates(doc, self.k if k is None else k)) for doc in docs]
        # Build it here, because threads only read it.
        assert self.head_outward.frozen is not None
        with ThreadPoolExecutor(self.threads) as executor:
            ranked = [executor.map(partial(self._rank, doc), trees) for doc, trees in found]
            return [list(sentences) for sentences in ranked]

    def _features(self, doc: Doc, candidates: Candidates) -> np.ndarray:
        features = np.zeros((len(candidates), len(FEATURES)))
        features[0, _OWN] = 1.0
        features[:, _SOURCE] = candidates.score
        features[:, _TREE : _LABELS + 1] = tree_features(self.head_outward, doc, candidates)
        return features

    def _rank(self, doc: Doc, candidates: Candidates) -> Reranked:
        features = self._features(doc, candidates)
        groups = as_groups(features, np.array([0, len(candidates)]))
        probability = shares(groups, self.ranking.weights, or_none=False)
        marginal = _marginals(candidates.heads, probability)
        chosen = int(np.argmax(probability))
        if self.decoding == "mbr":
            # The most probable of equally good trees.
            chosen = int(np.lexsort((-probability, -np.round(marginal.sum(axis=1), 9)))[0])
        return Reranked(
            candidates, features, probability, chosen, np.minimum(marginal[chosen], 1.0)
        )

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[Reranked]]) -> None:
        """Write the chosen trees into the documents that `predict` was given."""
        for doc, found in zip(docs, scores):
            if not found:
                continue
            chosen = [(each.candidates, each.chosen) for each in found]
            with_tags = any(
                candidates.tags[i] != [doc[place].tag_ for place in candidates.token.tolist()]
                for candidates, i in chosen
            )
            probability = np.concatenate([each.head_probability for each in found])
            write_candidates(doc, chosen, probability, with_tags=with_tags)


def agreement(candidates: Candidates, gold: RawSentence) -> tuple[np.ndarray, np.ndarray, int]:
    """Count right heads of candidates for the words of a gold sentence, without punctuation.

    RETURNS (tuple[int64[k], int64[k], int]): Right heads, right heads with right labels, and words.
    """
    n = len(gold.rows)
    heads = np.where(gold.rows[:, 3] == 0, NONE, np.arange(n) + gold.rows[:, 3])
    labels = gold.strings(2)
    counted = is_counted(labels)
    right = (candidates.heads == heads) & counted
    # Labels are compared as spaCy's scorer compares them.
    lower = np.array([[label.lower() for label in tree] for tree in candidates.labels])
    labelled = right & (lower == np.array([label.lower() for label in labels]))
    return right.sum(axis=1), labelled.sum(axis=1), int(counted.sum())


def _marginals(heads: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return the probabilities of arcs, summed over all candidates (float64[k, n])."""
    n = heads.shape[1]
    _, arc = np.unique(heads.astype(np.int64) * n + np.arange(n), return_inverse=True)
    arc = arc.reshape(heads.shape)
    return np.bincount(arc.ravel(), np.repeat(probability, n))[arc]


def _without(documents: Iterable[GoldDocument], held_out: set[bytes]) -> Iterator[GoldDocument]:
    """Leave out held-out sentences."""
    return ([raw for raw in document if raw.key not in held_out] for document in documents)
