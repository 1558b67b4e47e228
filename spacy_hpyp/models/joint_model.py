"""The joint model of transitions, tags and words: three pools, what they are about, and what they have seen."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..annotation.arrays import Blocks, Parses, Posterior, Sentences, Share
from ..annotation.confidence import UNLEARNED
from ..arc_standard.configuration import DIRECTIONS, FIRST_SYMBOL, POSSIBLE, action_count, class_of
from ..arc_standard.contexts import compile_contexts
from ..arc_standard.decoder import decode_all
from ..arc_standard.decoding import decode, mixture, posteriors
from ..arc_standard.derivations import sample_derivation, tree_log_probability
from ..arc_standard.latent import visit_latent
from ..arc_standard.likelihood import new_queries
from ..arc_standard.proposals import Parser, usual_probabilities
from ..arc_standard.sampling import Distributions
from ..hpyp.franchise import Franchise, new_franchise, reserve
from ..hpyp.hyperparameters import resample
from ..inference.division import Search
from ..inference.gibbs import (
    Derivations,
    put_back_sentences,
    remove_sentences,
    static_derivations,
    visit_sentences,
)
from ..pools.pool import STANDINGS, FrozenPool, SeatedPool, Weights, freeze_pool
from ..pools.view import best_by_class
from ..text.vocabulary import Vocabulary, VocabularySettings

_CHUNK = 2048
_HIGHEST_WEIGHT = 100.0
# How many configurations the exact sum over a tree's derivations may keep, and how many probabilities it remembers.
_AFFORDABLE, _REMEMBERED = 10_000, 8192
DISTRIBUTIONS = ("transition", "label", "tag", "word")
_NOT_SEATED = (
    "A training sentence cannot be removed from the model because it is not seated there as it should be. The model file and "
    "the training data do not belong together; train from the beginning."
)


@dataclass(frozen=True)
class ContextLists:
    """The context elements of each distribution: a list of experts, each a list of names, most important first.

    transition, tag, word (Sequence[Sequence[str]]): B&B Table 1 has one list for each. Without a list for words, words
        are not generated: the model is unlexicalised and has to be given the tags.
    label (Sequence[Sequence[str]]): With lists for labels, a transition is a direction, and an arc has a label besides.
        Without any, the label is a part of the transition, as in the paper.
    """

    transition: Sequence[Sequence[str]]
    label: Sequence[Sequence[str]]
    tag: Sequence[Sequence[str]]
    word: Sequence[Sequence[str]]


class JointModel:
    """A distribution over sentences with their tags, trees and derivations.

    contexts (ContextLists): What each distribution is conditioned on.
    vocabulary_settings (VocabularySettings): How its vocabulary is made.
    one_table (bool): Whether dishes have one table in each restaurant at most, see `Franchise`.
    labelled (bool): Whether it tells the labels of arcs apart; else all arcs have the same one.

    Until `initialize` has been called, or the model has been read from a file, it has no alphabets (`is_initialized` is False).
    confidence (float64[4]): How the posterior probabilities of arcs are to be taken, see `spacy_hpyp.annotation.confidence`.
    franchises (dict[str, Franchise]): The seating of each distribution, by its name; empty until then.
    draws (int64[2]): How many latent derivations were proposed that differ from those before, and how many of them were
        accepted; `visit_latent` counts on.
    """

    def __init__(
        self,
        contexts: ContextLists,
        vocabulary_settings: VocabularySettings,
        *,
        one_table: bool = False,
        labelled: bool = True,
    ) -> None:
        self.contexts = contexts
        self.vocabulary_settings = vocabulary_settings
        self._compiled = {
            name: compile_contexts(getattr(contexts, name), name, self._gates(name)) for name in DISTRIBUTIONS
        }
        for name in ("transition", "tag"):
            if not getattr(contexts, name):
                raise ValueError(f"'{name}' needs at least one context list, even if that is an empty one: [[]].")
        self.one_table = one_table
        self.labelled = labelled
        self.tags: list[str] = []
        self.weights = {name: self.first_weights(name) for name in DISTRIBUTIONS}
        self.labels: list[str] = []
        self.vocabulary: Vocabulary | None = None
        self.seated: dict[bytes, int] = {}
        self.derivations: dict[bytes, list[np.ndarray]] = {}
        self.tokens = 0
        self.steps = 0
        self.sweeps = 0
        self.confidence = UNLEARNED
        self.franchises: dict[str, Franchise] = {}
        self.draws = np.zeros(2, dtype=np.int64)
        self._parser: Parser | None = None

    def untrained(self) -> "JointModel":
        """A model with the same settings that knows nothing yet."""
        return JointModel(self.contexts, self.vocabulary_settings, one_table=self.one_table, labelled=self.labelled)

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self.vocabulary is not None

    @property
    def is_lexicalised(self) -> bool:
        """Whether the model generates words."""
        return len(self.contexts.word) > 0

    @property
    def is_factored(self) -> bool:
        """Whether a transition is a direction and a label."""
        return len(self.contexts.label) > 0

    def possible(self, name: str) -> np.ndarray:
        """Which outcomes of a distribution exist in which kind of context (bool[kinds, alphabet]); empty where all do."""
        if name == "transition" and self.is_factored:
            return POSSIBLE
        return np.empty((0, 0), dtype=np.bool_)

    def _is_plain(self, name: str) -> bool:
        return len(getattr(self.contexts, name)) < (1 if name == "transition" and self.is_factored else 2)

    def _gates(self, name: str) -> tuple[str, ...]:
        if self._is_plain(name):
            return ()
        return ("next.tag", "s1.tag") if name == "word" else ("s1.tag", "s2.tag")

    def first_weights(self, name: str) -> Weights:
        """Weights before any are learned: all experts of a pool are worth the same, and deeper restaurants more.

        name (str): The name of the distribution.
        """
        _, columns, gates = self._compiled[name]
        experts, depth = columns.shape
        level = np.tile(np.arange(depth + 1), experts) / max(depth, 1)
        weights = level if name == "word" else min(1.0, 1.5 / max(experts, 1)) * (0.5 + level)
        if self._is_plain(name):
            weights = np.empty(0)
        return Weights(
            standing=np.repeat(weights[:, None], STANDINGS, axis=1),
            gate=np.zeros((len(gates), FIRST_SYMBOL + len(self.tags), experts)),
        )

    def initialize(self, labels: Sequence[str], vocabulary: Vocabulary) -> None:
        """Fix the alphabets and forget everything that was seated."""
        self.tags, self.labels, self.vocabulary = list(vocabulary.tags), list(labels), vocabulary
        self.weights = {name: self.first_weights(name) for name in DISTRIBUTIONS}
        self.seated = {}
        self.derivations = {}
        self.tokens = 0
        self.steps = 0
        self.sweeps = 0
        self.confidence = UNLEARNED
        self._parser = None
        self.franchises = {
            name: new_franchise(self.columns(name), size, one_table=self.one_table)
            for name, size in self.alphabets().items()
        }

    def set_weights(self, weights: dict[str, Weights]) -> None:
        """Use other weights for the experts of the pools.

        weights (dict[str, Weights]): By the name of the distribution.
        RAISES (ValueError): If they are not of the right shape, or one is beyond all reason.
        """
        self.check_weights(weights)
        for name, ours in self.weights.items():
            if not all(np.array_equal(a, b) for a, b in zip(ours, weights[name])):
                self.weights[name] = Weights(*(part.copy() for part in weights[name]))
                self._parser = None

    def check_weights(self, weights: dict[str, Weights]) -> None:
        """Raise a ValueError if weights do not fit the pools, see `set_weights`."""
        for name, ours in self.weights.items():
            for part, theirs in zip(ours, weights[name]):
                if theirs.shape != part.shape:
                    raise ValueError(f"the weights of the {name} distribution do not fit its context lists")
                if not np.all(np.abs(theirs) <= _HIGHEST_WEIGHT):
                    raise ValueError(f"a weight of the {name} distribution is not between ±{_HIGHEST_WEIGHT:.0f}")

    def columns(self, name: str) -> np.ndarray:
        """What each expert of a distribution reads, see `Franchise`."""
        return self._compiled[name][1]

    def alphabets(self) -> dict[str, int]:
        """The number of outcomes of each distribution of an initialised model."""
        assert self.vocabulary is not None
        return {
            "transition": DIRECTIONS if self.is_factored else action_count(len(self.labels)),
            "label": max(1, len(self.labels)),
            "tag": max(1, len(self.tags)),
            "word": len(self.vocabulary),
        }

    # Learning

    def visit(
        self,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        rng: np.random.Generator,
        threads: int = 1,
        distributions: Sequence[str] = DISTRIBUTIONS,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One Gibbs step for each customer of some sentences; a sentence that is not seated is added.

        sentences (Sentences): The sentences; of them only the words are read.
        derivations (Derivations): How they are derived.
        seated (bool[sentences]): Which of them are seated.
        rng (numpy.random.Generator): The source of randomness.
        threads (int): How many threads share the distributions; the result does not depend on it.
        distributions (Sequence[str]): Which distributions learn.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats, and the gradient of it with
            respect to the weights. An event is predicted from all other sentences and the events before it; but where there
            are no weights to learn and the seating is sampled, it is predicted from everything else.
        RAISES (ValueError): If a sentence that should be seated is not.
        """
        self._parser = None
        gradient = self._no_gradient()

        def visit_one(name: str, generator: np.random.Generator) -> float:
            return self._visit_distribution(name, sentences, derivations, seated, gradient[name], generator)

        generators = rng.spawn(len(distributions))
        with ThreadPoolExecutor(threads) as pool:
            totals = list(pool.map(visit_one, distributions, generators))
        self.tokens += int(np.diff(sentences.offsets)[~seated].sum())
        return dict(zip(distributions, totals)), gradient

    def visit_latent(
        self,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        rng: np.random.Generator,
        *,
        given_trees: bool,
        particles: int,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One step for the derivation of each of some sentences, see `inference.latent`, and for its customers.

        A sentence that is not seated is added as it is derived.

        sentences (Sentences), seated (bool[sentences]), rng (numpy.random.Generator): As for `visit`.
        derivations (Derivations): How they are derived; overwritten with the new derivations.
        given_trees (bool): Whether tags and trees are given; else only the words are.
        particles (int): How many particles there are.
        RETURNS (tuple), RAISES (ValueError): As `visit`.
        """
        self._parser = None
        assert self.vocabulary is not None
        gradient = self._no_gradient()
        totals = np.zeros(len(DISTRIBUTIONS))
        for start, end in self._chunks(sentences.offsets):
            # A derivation that is not accepted has been seated too.
            self._reserve(2 * (sentences.offsets[end] - sentences.offsets[start]), DISTRIBUTIONS)
            model = Distributions(
                *(self._seated_pool(name, gradient[name]) for name in DISTRIBUTIONS),
                self.vocabulary.tag_offsets,
                self.vocabulary.candidate_tags,
            )
            part = sentences._replace(offsets=sentences.offsets[start : end + 1])
            visited = visit_latent(
                model, part, derivations, seated[start:end], given_trees, particles, rng, totals, self.draws
            )
            if visited < end - start:
                raise ValueError(_NOT_SEATED)
        self.tokens += int(np.diff(sentences.offsets)[~seated].sum())
        return dict(zip(DISTRIBUTIONS, totals.tolist())), gradient

    @contextmanager
    def without(self, sentences: Sentences, rng: np.random.Generator, threads: int = 1) -> Iterator[None]:
        """Take sentences out of the seating, derived as the static oracle derives them, and put them back in the end.

        sentences (Sentences), rng (numpy.random.Generator), threads (int): As for `visit`.
        RAISES (ValueError): If one is not seated.
        """
        derivations, gradient = self.static_derivations(sentences), self._no_gradient()

        def arguments(name: str) -> tuple:
            pool = self._seated_pool(name, gradient[name])
            number = DISTRIBUTIONS.index(name)
            return pool, number, self.is_factored, sentences.words, sentences.offsets, derivations

        def remove(name: str, generator: np.random.Generator) -> np.ndarray:
            moved = np.empty((2 * len(sentences.words), len(self.columns(name)), 2), dtype=np.int32)
            if remove_sentences(*arguments(name), moved, generator) < len(sentences.offsets) - 1:
                raise ValueError(_NOT_SEATED)
            return moved

        def put_back(name: str, moved: np.ndarray) -> None:
            put_back_sentences(*arguments(name), moved)

        self._parser = None
        self._reserve(len(sentences.words), DISTRIBUTIONS)
        with ThreadPoolExecutor(threads) as pool:
            moved = list(pool.map(remove, DISTRIBUTIONS, rng.spawn(len(DISTRIBUTIONS))))
            self.tokens -= len(sentences.words)
            try:
                yield
            finally:
                self._parser = None
                list(pool.map(put_back, DISTRIBUTIONS, moved))
                self.tokens += len(sentences.words)

    def _no_gradient(self) -> dict[str, Weights]:
        return {name: Weights(*(np.zeros_like(part) for part in weights)) for name, weights in self.weights.items()}

    def _chunks(self, offsets: np.ndarray) -> Iterator[tuple[int, int]]:
        """A sentence at least, and otherwise no more than a chunk, so that little room is reserved in vain."""
        start = 0
        while start < len(offsets) - 1:
            end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _CHUNK)) - 1)
            yield start, end
            start = end

    def _reserve(self, tokens: int, distributions: Sequence[str]) -> None:
        for name in distributions:
            events_of_word = 2 if name == "transition" else 1
            self.franchises[name] = reserve(self.franchises[name], events_of_word * int(tokens))

    def _seated_pool(self, name: str, gradient: Weights) -> SeatedPool:
        return SeatedPool(
            franchise=self.franchises[name],
            weights=self.weights[name],
            gradient=gradient,
            gates=self._compiled[name][2],
            possible=self.possible(name),
            elements=self._compiled[name][0],
            scratch=self._scratch(name, self.alphabets()[name]),
        )

    def _visit_distribution(
        self,
        name: str,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        gradient: Weights,
        rng: np.random.Generator,
    ) -> float:
        total = 0.0
        for start, end in self._chunks(sentences.offsets):
            offsets = sentences.offsets[start : end + 1]
            self._reserve(offsets[-1] - offsets[0], [name])
            log_probability, visited = visit_sentences(
                self._seated_pool(name, gradient),
                DISTRIBUTIONS.index(name),
                self.is_factored,
                sentences.words,
                offsets,
                derivations,
                seated[start:end],
                rng,
            )
            if visited < end - start:
                raise ValueError(_NOT_SEATED)
            total += log_probability
        return total

    def _scratch(self, name: str, alphabet: int) -> np.ndarray:
        experts = len(self.columns(name))
        return np.empty((4, experts) if name == "word" else (experts + 1, alphabet))

    def static_derivations(self, sentences: Sentences) -> Derivations:
        """The derivations of the static oracle.

        RAISES (ValueError): If a sentence is no projective tree.
        """
        actions = np.empty(2 * len(sentences.words), dtype=np.int32)
        if static_derivations(sentences, actions) < len(sentences.offsets) - 1:
            raise ValueError("A training sentence is not a projective tree with one root.")
        return Derivations(actions, sentences.tags.copy())

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions."""
        self._parser = None
        for franchise in self.franchises.values():
            resample(franchise, rng)

    # Prediction

    @property
    def parser(self) -> Parser:
        """The frozen view of the present seating, made when it is first needed."""
        if self._parser is None:
            assert self.vocabulary is not None
            with ThreadPoolExecutor() as executor:
                pools = list(executor.map(self._frozen_pool, DISTRIBUTIONS))
            if self._is_plain("transition"):
                actions = self.alphabets()["transition"]
                kind = np.array([class_of(action) for action in range(actions)], dtype=np.int32)
                best = best_by_class(pools[0].frozen, kind, 4, 1)
            else:
                best = np.empty((0, 4, 1), dtype=np.int32), np.empty((0, 4, 1))
            self._parser = Parser(
                transition=pools[0],
                label=pools[1],
                tag=pools[2],
                word=pools[3],
                best_action=best[0],
                best_probability=best[1],
                tag_offsets=self.vocabulary.tag_offsets,
                candidate_tags=self.vocabulary.candidate_tags,
                usual=usual_probabilities(pools[3], self.vocabulary.tag_offsets, self.vocabulary.candidate_tags),
            )
        return self._parser

    def _frozen_pool(self, name: str) -> FrozenPool:
        elements, _, gates = self._compiled[name]
        franchise, weights = self.franchises[name], self.weights[name]
        return freeze_pool(franchise, weights, gates, self.possible(name), elements, mixed=name == "word")

    @property
    def distributions(self) -> Distributions:
        """What sentences are generated from, frozen; see `parser`."""
        parser, vocabulary = self.parser, self.vocabulary
        assert vocabulary is not None
        return Distributions(
            parser.transition, parser.label, parser.tag, parser.word, vocabulary.tag_offsets, vocabulary.candidate_tags
        )

    def decode(self, blocks: Blocks, search: Search, threads: int = 1) -> Parses:
        """Parse blocks of words, see `inference.decoding.decode`."""
        return decode(self.parser, blocks, search, threads)

    def mixture(self, blocks: Blocks, search: Search, threads: int = 1) -> list[Share]:
        """All parses of all words that are left in the end, see `inference.decoding.mixture`."""
        return mixture(self.parser, blocks, search, threads)

    def posteriors(self, blocks: Blocks, search: Search, threads: int = 1) -> tuple[Blocks, list[Posterior]]:
        """All parses of each sentence of some blocks that are left in the end, see `inference.decoding.posteriors`."""
        return posteriors(self.parser, blocks, search, threads)

    def decode_all(self, blocks: Blocks, block: int, search: Search) -> Posterior:
        """All parses of one block that Algorithm 1 ends with.

        blocks (Blocks): What to parse.
        block (int): Which of them.
        search (Search): K, at least 1, and what the selection step expects.
        RETURNS (Posterior): The parses and their probabilities.
        """
        return decode_all(self.parser, blocks, block, search)

    def tree_log_probabilities(self, sentences: Sentences, *, particles: int = 1000, seed: int = 0) -> np.ndarray:
        """The log-probability of each sentence with its tags and its tree, in nats, summed over the tree's derivations.

        The sum is exact where dynamic programming can afford it, and estimated by a particle filter elsewhere (for very
        few sentences, those whose words have very many dependents on both sides).

        sentences (Sentences): Projective trees.
        particles (int): How many particles an estimate is made with.
        seed (int): Fixes the estimates.
        RETURNS (float64[sentences]): The log-probabilities.
        """
        queries = new_queries(self.parser, _REMEMBERED)
        rng = np.random.default_rng(seed)
        found = np.empty(len(sentences.offsets) - 1)
        for i, (start, end) in enumerate(zip(sentences.offsets[:-1], sentences.offsets[1:])):
            rows = [part[start:end] for part in sentences[:4]]
            found[i], affordable = tree_log_probability(self.parser, *rows, _AFFORDABLE, queries)
            if not affordable:
                none, actions = np.empty(0, dtype=np.int32), np.empty(2 * (end - start), dtype=np.int32)
                found[i] = sample_derivation(self.parser, *rows, particles, none, rng, queries, actions)
        return found
