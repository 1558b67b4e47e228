"""The trainable spaCy component `parse_reranker`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from spacy import util
from spacy.language import Language
from spacy.pipeline.dep_parser import DependencyParser
from spacy.tokens import Doc
from spacy.training import Corpus, Example

from ..annotation.arrays import offsets_of
from ..annotation.candidates import Candidates, candidates_of, parsed_candidates, write_candidates
from ..annotation.documents import GoldDocument, RawSentence, problem_of, unannotated
from ..annotation.extensions import mark_uncalibrated
from ..compiled import NONE
from ..models.head_outward import HEAD_OUTWARD, HeadOutwardModel
from ..models.parameters import set_pooled
from ..models.reranker import (
    FEATURES,
    RANKING,
    Lists,
    Ranking,
    learn_weights,
    mean_log_likelihood,
    probabilities,
    right_of_chosen,
    tree_features,
)
from ..storage.checksum import blaming
from ..training.confidence import is_counted
from .alignment import annotated_document
from .base import MISSING
from .documents import reading
from .factories import TREE_SCORES, TREES, register
from .head_outward_parser import HeadOutwardComponent
from .neighbours import NeighbouringComponent, Place
from .settings import RerankerSettings

# Fewer sentences than this that another parser has not learned from are too few to learn weights from.
_LEAST_HELD_OUT = 30
_OWN, _SOURCE, _TREE, _LABELS, _GENERATIVE = range(len(FEATURES))


@dataclass(frozen=True)
class Reranked:
    """The candidates of a sentence, and what is known of them.

    candidates (Candidates): The one that the document has comes first.
    features (float64[k, FEATURES]): See `spacy_hpyp.models.reranker`.
    probability (float64[k]): How probable it is that each is the best.
    chosen (int): Which was chosen.
    head_probability (float64[n]): How probable it is that its arcs are right: the sum over all candidates
        that have them.
    exact (bool[k]): Whether what the generative parser says of each is a sum and not an estimate, see
        `TreeLogProbs`; true if none is asked.
    """

    candidates: Candidates
    features: np.ndarray
    probability: np.ndarray
    chosen: int
    head_probability: np.ndarray
    exact: np.ndarray


class ParseReranker(NeighbouringComponent, HeadOutwardComponent):
    """Chooses among the trees of a parser before it, by what that says of them and what a generative model
    says (Sangati, Zuidema & Bod 2009).

    It reads what the parser reads, and sets `token.head`, `token.dep_`, `token._.head_prob`, and `token.tag_`
    where the trees come with tags of their own.

    The generative model is a head-outward model that learns from the trees of the treebank. The weights of
    what it says, and of what the source says, are learned from sentences that it has not seen, and that the
    source should not have seen either: an `hpyp_parser` takes them out of its model for that, an
    `easy_first_parser` knows which it has kept out. Where the source is another one that was trained on the
    same data, call `learn_weights` with other ones.

    The source and the generative parser are looked for in the pipeline that the component stands in, wherever
    it was made.

    When every sentence of the corpus has been visited, the weights are learned before they are used or saved
    the next time, see `ranking`; the log says what each is worth. The loss is the negative log-likelihood for
    each token, in nats.

    Its model is made by `spacy-hpyp.Reranker.v1`.
    """

    factory = "parse_reranker"
    settings_type = RerankerSettings

    @property
    def ranking(self) -> Ranking:
        """The weights, for the generative model as it is.

        After a sweep, whoever needs them first has them learned, which parses the held-out sentences: who
        predicts, saves, or reads them here. Where that is interrupted everything stays as it was, and the
        next one has them learned.
        """
        self._catch_up()
        return self._learned

    def _catch_up(self) -> None:
        if self._held and self._learned.sweeps != self.head_outward.progress.sweeps:
            self._learn([self._held[key] for key in sorted(self._held)])

    @property
    def _learned(self) -> Ranking:
        return self.model.attrs[RANKING]

    @property
    def weights(self) -> dict[str, float]:
        """The weights of what is known of a tree, by its names; see `ranking` and
        `spacy_hpyp.models.reranker.FEATURES`.
        """
        return dict(zip(FEATURES, self.ranking.weights.tolist()))

    @property
    def source_name(self) -> str:
        """The name of the parser among whose trees it chooses, in the pipeline that it was put into last.

        RAISES (ValueError): If there is none.
        """
        return self._source_in(self.place())[0]

    def _source_in(self, place: Place) -> tuple[str, Any]:
        if self.source:
            return self.source, place.named(self.source, "source")
        before = place.before(disabled=True)
        for name, component in reversed(before):
            if hasattr(component, "candidates") or isinstance(component, DependencyParser):
                return name, component
        raise ValueError(
            f"The component '{self.name}' chooses among the trees of a parser, but there is none before it "
            f"in the pipeline: "
            f"{[name for name, _ in before]}. Put one there, or name it: 'source'."
        )

    def _generative_in(self, place: Place) -> Any:
        return place.named(self.generative, "generative") if self.generative else None

    # Training

    def _reset_training(self) -> None:
        super()._reset_training()
        self._held: dict[bytes, tuple[Doc, RawSentence]] = {}

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
        labels: dict[str, list[str]] | None = None,
        held_out: str | Path | None = None,
    ) -> None:
        """Hold sentences out, collect the vocabulary, the tags and the labels of the others, and forget what
        was learned before.

        held_out (str | Path | None): A .spacy file, or a directory of them, with sentences that the source
            was not trained on, to learn weights from, instead of the last ones of the examples. If there are
            more than `held_out`, of so many of them.
        RAISES (ValueError): If no sentence has tags and a tree, or none has only such as `labels` say.
        """
        documents = list(super()._documents(self._initial_examples(get_examples)))
        held: dict[bytes, tuple[Doc, RawSentence]] = {}
        if held_out is None:
            keys = self._hold_out([raw.key for document in documents for raw in document])
        else:
            with reading(held_out):
                held = dict(_sentences(Corpus(held_out)(self.place().nlp), self.tokens))
            keys = set(held)
            # As many as are asked for, from all over the file.
            places = np.linspace(
                0, len(held), num=min(self.held_out, len(held)), endpoint=False, dtype=np.int64
            )
            known = list(held.items())
            held = dict(known[place] for place in places.tolist())
        corpus = self._read_corpus(_without(documents, keys))
        treebank = self._treebank_of(corpus, corpus.label_data() if labels is None else labels)
        self._use((treebank.model, Ranking(held_out=keys)))
        self._held = held
        self._treebank = treebank
        self._warn_of_skipped(treebank.skipped, treebank.size)

    def _hold_out(self, keys: Sequence[bytes]) -> set[bytes]:
        """What identifies the sentences that weights are learned from."""
        if not self.held_out:
            return set()
        _, source = self._source_in(self.place())
        kept_out = getattr(source, "held_out", None)
        if isinstance(kept_out, set):
            found = kept_out & set(keys)
            if len(found) >= _LEAST_HELD_OUT:
                return found
        distinct = list(dict.fromkeys(keys))
        # Of a small treebank most has to be learned from.
        return set(distinct[len(distinct) - min(self.held_out, len(distinct) // 5) :])

    def _documents(self, examples: Iterable[Example]) -> Iterator[GoldDocument]:
        return _without(super()._documents(examples), self._learned.held_out)

    def _learn_from(self, examples: list[Example], drop: float, losses: dict[str, float]) -> bool:
        for key, sentence in _sentences(examples, self.tokens, self._learned.held_out):
            self._held.setdefault(key, sentence)
        return super()._learn_from(examples, drop, losses)

    def learn_weights(self, examples: Iterable[Example]) -> dict[str, float]:
        """Learn the weights of what is known of trees from some sentences, each by itself. The generative
        model stays as it is.

        examples (Iterable[Example]): Gold documents that neither the source nor the generative model has
            learned from.
        RETURNS (dict[str, float]): The weights, by the names of the features.
        RAISES (ValueError): If the component has not been trained, or none of the sentences has a tree to
            learn from.
        """
        self._check_trained()
        self._learn(
            [sentence for _, sentence in _sentences(self._examples(examples, "learn_weights"), self.tokens)]
        )
        return self.weights

    def _learn(self, sentences: Sequence[tuple[Doc, RawSentence]]) -> None:
        found = [(doc, raw) for doc, raw in sentences if problem_of(raw.rows) is None]
        # The source, what it reads the tags and guides of, and the generative parser, wherever it stands.
        place = self.place([doc for doc, _ in found])
        components = {**dict(place.before()), self.generative: self._generative_in(place)}
        gold = [[raw for _, raw in found]]
        left_out = {name: each.without(gold) for name, each in components.items() if hasattr(each, "without")}
        lists = self.lists(found, replace(place, others=left_out))
        if lists is None:
            raise ValueError(
                f"The component '{self.name}' cannot learn weights: of {len(sentences)} sentences none has a "
                f"complete gold tree, and "
                "one tree from the parser."
            )
        used = np.ones(len(FEATURES), dtype=bool)
        used[_GENERATIVE] = bool(self.generative)
        weights = learn_weights(lists, used)
        count, before = len(lists.offsets) - 1, mean_log_likelihood(lists, weights)
        right = right_of_chosen(lists, weights)
        for i in np.flatnonzero(used):
            others = used.copy()
            others[i] = False
            without_it = learn_weights(lists, others)
            util.logger.info(
                "%s: weight of '%s' %.3f; without it %.4f nats and %.2f right heads and labels fewer for "
                "each of %d sentences",
                *(self.name, FEATURES[i], weights[i], before - mean_log_likelihood(lists, without_it)),
                *((right - right_of_chosen(lists, without_it)) / count, count),
            )
        # At once, so that nothing is changed before all is done.
        self.model.attrs[RANKING] = replace(
            self._learned, weights=weights, sweeps=self.head_outward.progress.sweeps
        )

    def lists(self, sentences: Sequence[tuple[Doc, RawSentence]], place: Place | None = None) -> Lists | None:
        """What is known of the trees of gold sentences, each by itself, as the pipeline before the component
        parses them.

        sentences (Sequence[tuple[Doc, RawSentence]]): Their tokens, and their gold annotation.
        place (Place | None): Where the component stands, if that is to be another place than its own.
        RETURNS (Lists | None): Of all that the parser takes for one sentence. What is right of a tree are its
            heads, and its heads with their labels; without punctuation.
        """
        docs = [unannotated(doc, sent_starts=[token.i == 0 for token in doc]) for doc, _ in sentences]
        place = self.place(docs) if place is None else place
        for _, component in place.before():
            docs = (
                list(component.pipe(docs)) if hasattr(component, "pipe") else [component(doc) for doc in docs]
            )
        features, right = [], []
        for (_, raw), found in zip(sentences, self._rerank(docs, self.k, place)):
            if len(found) == 1 and len(found[0].candidates.token) == len(raw.rows):
                features.append(found[0].features)
                heads, labelled, _ = agreement(found[0].candidates, raw)
                right.append((heads + labelled).astype(np.float64))
        if not features:
            return None
        return Lists(np.concatenate(features), np.concatenate(right), offsets_of([*map(len, features)]))

    # Prediction

    def predict(self, docs: Iterable[Doc], *, k: int | None = None) -> list[list[Reranked]]:
        """Choose trees of documents, among those of the source and the one that the document has, without
        changing them.

        docs (Iterable[Doc]): Parsed by the source.
        k (int | None): How many trees of a sentence, instead of the setting.
        RETURNS (list[list[Reranked]]): Of each sentence of each document.
        RAISES (ValueError): If the component has not been trained, or there is no such source.
        """
        self._check_trained()
        self._catch_up()
        docs = list(docs)
        return self._rerank(docs, self.k if k is None else k, self.place(docs))

    def _rerank(self, docs: Sequence[Doc], k: int, place: Place) -> list[list[Reranked]]:
        name, source = self._source_in(place)
        generative = self._generative_in(place)
        # One after the other: the source has threads of its own, and spaCy's parser is Python.
        candidates = [self._candidates(source, name, doc, k) for doc in docs]
        work = [(doc, each) for doc, found in zip(docs, candidates) for each in found]
        # Made here: threads only read it.
        frozen, weights = self.head_outward.frozen, self._learned.weights
        assert frozen is not None
        with ThreadPoolExecutor(self.threads) as executor:
            done = iter(list(executor.map(lambda each: self._rank(*each, generative, weights), work)))
        return [[next(done) for _ in found] for found in candidates]

    def _candidates(self, source: Any, name: str, doc: Doc, k: int) -> list[Candidates]:
        own = parsed_candidates(doc, name)
        if own and not doc.has_annotation("DEP"):
            raise ValueError(
                f"The component '{self.name}' chooses among the trees of '{name}', but it was given a Doc "
                f"that has not been parsed. "
                f"If '{name}' is disabled, enable it, or disable '{self.name}', too."
            )
        if k == 1:
            return own
        found = candidates_of(source, doc, k, source=name)
        # A parser that is not told where sentences begin may find other ones.
        if len(found) != len(own) or any(not np.array_equal(a.token, b.token) for a, b in zip(found, own)):
            raise ValueError(
                f"The component '{self.name}' chooses among the trees of '{name}', but the document has "
                f"other sentences than that. "
                "It has to come after it, and nothing between them that changes trees."
            )
        # The best one may not be what the parser has chosen.
        return [each.chosen_first(mine).first(k) for each, mine in zip(found, own)]

    def _rank(self, doc: Doc, candidates: Candidates, generative: Any, weights: np.ndarray) -> Reranked:
        features = np.zeros((len(candidates), len(FEATURES)))
        features[0, _OWN] = 1.0
        exact = np.ones(len(candidates), dtype=bool)
        features[:, _SOURCE] = candidates.score
        features[:, _TREE : _LABELS + 1] = tree_features(self.head_outward, doc, candidates)
        if generative is not None:
            found, exact = generative.candidate_log_probs(doc, candidates)
            known = np.isfinite(found)
            # What it cannot derive is the least probable.
            features[:, _GENERATIVE] = np.where(known, found, found[known].min() if known.any() else 0.0)
        probability = probabilities(features, weights, np.array([0, len(candidates)]))
        marginal = _marginals(candidates.heads, probability)
        chosen = int(np.argmax(probability))
        if self.decoding == "mbr":
            # Of trees that are equally good the most probable.
            chosen = int(np.lexsort((-probability, -np.round(marginal.sum(axis=1), 9)))[0])
        return Reranked(candidates, features, probability, chosen, np.minimum(marginal[chosen], 1.0), exact)

    def set_annotations(self, docs: Iterable[Doc], scores: list[list[Reranked]]) -> None:
        """Write the chosen trees into the documents that `predict` was given, by what it returned."""
        for doc, found in zip(docs, scores):
            if not found:
                continue
            chosen = [(each.candidates, each.chosen) for each in found]
            with_tags = any(candidates.tags[i] != candidates.tags[0] for candidates, i in chosen)
            sure = np.concatenate([each.head_probability for each in found])
            write_candidates(doc, chosen, sure, with_tags=with_tags)
            if not self.model.attrs[RANKING].is_learned:
                mark_uncalibrated([doc], self.name)

    # Storage

    def _write_model(self) -> bytes:
        # What is loaded does not have the held-out sentences any more.
        self._catch_up()
        return super()._write_model()

    def _load_model(
        self, attributes: dict[str, Any], parameters: dict[str, Any], origin: str
    ) -> tuple[HeadOutwardModel, Ranking]:
        with blaming(MISSING):
            ranking = attributes[RANKING]
        return super()._load_model(attributes, parameters, origin), self._learned.from_bytes(ranking)

    def _replace_model(self, loaded: tuple[HeadOutwardModel, Ranking]) -> None:
        model, ranking = loaded
        set_pooled(self.model, HEAD_OUTWARD, model)
        self.model.attrs[RANKING] = replace(ranking, sweeps=model.progress.sweeps)
        self._reset_training()


def agreement(candidates: Candidates, gold: RawSentence) -> tuple[np.ndarray, np.ndarray, int]:
    """What is right of candidates; punctuation is left out.

    candidates (Candidates): Of n words.
    gold (RawSentence): The same words with their gold tree.
    RETURNS (tuple[int64[k], int64[k], int]): How many heads of each are right, how many with their labels,
        and how many words there are.
    """
    n = len(gold.rows)
    heads = np.where(gold.rows[:, 3] == 0, NONE, np.arange(n) + gold.rows[:, 3])
    labels = gold.strings(2)
    counted = is_counted(labels)
    right = (candidates.heads == heads) & counted
    # Labels are compared as spaCy's scorer compares them.
    lower = np.array([[label.lower() for label in own] for own in candidates.labels])
    labelled = right & (lower == np.array([label.lower() for label in labels]))
    return right.sum(axis=1), labelled.sum(axis=1), int(counted.sum())


def _marginals(heads: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """How probable the arcs of candidates are, each the sum over all that have it (float64[k, n])."""
    _, arc = np.unique(
        heads.astype(np.int64) * heads.shape[1] + np.arange(heads.shape[1]), return_inverse=True
    )
    arc = arc.reshape(heads.shape)
    return np.bincount(arc.ravel(), np.repeat(probability, heads.shape[1]))[arc]


def _without(documents: Iterable[GoldDocument], held_out: set[bytes]) -> Iterator[GoldDocument]:
    """Documents without the sentences that are held out."""
    return ([raw for raw in document if raw.key not in held_out] for document in documents)


def _sentences(
    examples: Iterable[Example], tokens: str, keys: set[bytes] | None = None
) -> Iterator[tuple[bytes, tuple[Doc, RawSentence]]]:
    """Gold sentences, all or some, as documents of their own, by what identifies them."""
    for example in examples:
        if keys is not None and not len(keys):
            return
        doc, sentences, places = annotated_document(example, tokens)
        for raw, place in zip(sentences, places):
            if (keys is None or raw.key in keys) and len(place):
                yield raw.key, (doc[int(place[0]) : int(place[-1]) + 1].as_doc(), raw)


make_parse_reranker = register(
    ParseReranker, assigns=TREES, requires=["token.tag", "token.head", "token.dep"], scores=TREE_SCORES
)
