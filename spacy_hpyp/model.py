"""The joint model of transitions, tags and words: three pools, what they are about, and what they have seen."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import srsly

from .hpyp.franchise import Franchise, new_franchise, reserve
from .hpyp.hyperparameters import resample
from .hpyp.pool import STANDINGS, SeatedPool, Weights, freeze_pool
from .hpyp.storage import pack, pack_integers, unpack, unpack_integers
from .hpyp.view import best_by_class
from .inference.beam import Search
from .inference.gibbs import TRANSITION, Sentences, visit_sentences
from .inference.particle_filter import LABELS, Blocks, Parser, Parses, decode_blocks, usual_probabilities
from .text.vocabulary import Vocabulary, VocabularySettings
from .transitions.configuration import DIRECTIONS, FIRST_SYMBOL, POSSIBLE, action_count, class_of
from .transitions.contexts import compile_contexts

FORMAT = 1
_CHUNK = 2048
_HIGHEST_WEIGHT = 100.0
DISTRIBUTIONS = ("transition", "label", "tag", "word")


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

    Until `initialize` or `from_bytes` has been called, the model has no alphabets (`is_initialized` is False).
    """

    def __init__(
        self, contexts: ContextLists, vocabulary_settings: VocabularySettings, *, one_table: bool = False
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
        self.tags: list[str] = []
        self.weights = {name: self.first_weights(name) for name in DISTRIBUTIONS}
        self.labels: list[str] = []
        self.vocabulary: Vocabulary | None = None
        self.seated: dict[bytes, int] = {}
        self.tokens = 0
        self.steps = 0
        self._franchises: dict[str, Franchise] = {}
        self._parser: Parser | None = None

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
        self.tokens = 0
        self.steps = 0
        self._parser = None
        self._franchises = {
            name: new_franchise(self._compiled[name][1], size, one_table=self.one_table)
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
        self, sentences: Sentences, seated: np.ndarray, rng: np.random.Generator, threads: int = 1
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One Gibbs step for each of some sentences: remove it if it is seated, and add it.

        sentences (Sentences): Projective trees.
        seated (bool[sentences]): Which of them are seated.
        rng (numpy.random.Generator): The source of randomness.
        threads (int): How many threads share the distributions; the result does not depend on it.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats, each predicted from
            everything but its sentence, and the gradient of it with respect to the weights.
        RAISES (ValueError): If a sentence that should be seated is not.
        """
        self._parser = None
        gradient = {name: Weights(*(np.zeros_like(part) for part in weights)) for name, weights in self.weights.items()}

        def visit_one(number: int, generator: np.random.Generator) -> float:
            return self._visit_distribution(number, sentences, seated, gradient[DISTRIBUTIONS[number]], generator)

        generators = rng.spawn(len(DISTRIBUTIONS))
        with ThreadPoolExecutor(threads) as pool:
            totals = list(pool.map(visit_one, range(len(DISTRIBUTIONS)), generators))
        self.tokens += int(np.diff(sentences.offsets)[~seated].sum())
        return dict(zip(DISTRIBUTIONS, totals)), gradient

    def _visit_distribution(
        self, number: int, sentences: Sentences, seated: np.ndarray, gradient: Weights, rng: np.random.Generator
    ) -> float:
        name = DISTRIBUTIONS[number]
        size = self.alphabets()[name]
        events_of_word = 2 if number == TRANSITION else 1
        total = 0.0
        start = 0
        while start < len(seated):
            # A sentence at least, and otherwise no more than a chunk, so that little room is reserved in vain.
            end = max(start + 1, int(np.searchsorted(sentences.offsets, sentences.offsets[start] + _CHUNK)) - 1)
            tokens = int(sentences.offsets[end] - sentences.offsets[start])
            self._franchises[name] = reserve(self._franchises[name], events_of_word * tokens)
            pool = SeatedPool(
                franchise=self._franchises[name],
                weights=self.weights[name],
                gradient=gradient,
                gates=self._compiled[name][2],
                possible=self.possible(name),
                elements=self._compiled[name][0],
                scratch=self._scratch(name, size),
            )
            part = sentences._replace(offsets=sentences.offsets[start : end + 1])
            log_probability, visited = visit_sentences(pool, number, self.is_factored, part, seated[start:end], rng)
            if visited < end - start:
                raise ValueError(
                    "A training sentence cannot be removed from the model because it is not seated there as it should "
                    "be. The model file and the training data do not belong together; train from the beginning."
                )
            total += log_probability
            start = end
        return total

    def _scratch(self, name: str, alphabet: int) -> np.ndarray:
        experts = len(self._compiled[name][1])
        return np.empty((2, experts) if name == "word" else (experts + 1, alphabet))

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions."""
        self._parser = None
        for franchise in self._franchises.values():
            resample(franchise, rng)

    # Prediction

    @property
    def parser(self) -> Parser:
        """The frozen view of the present seating, made when it is first needed."""
        if self._parser is None:
            assert self.vocabulary is not None
            pools = [
                freeze_pool(
                    self._franchises[name],
                    self.weights[name],
                    self._compiled[name][2],
                    self.possible(name),
                    self._compiled[name][0],
                    mixed=name == "word",
                )
                for name in DISTRIBUTIONS
            ]
            if self._is_plain("transition"):
                actions = self.alphabets()["transition"]
                kind = np.array([class_of(action) for action in range(actions)], dtype=np.int32)
                best = best_by_class(pools[0].frozen, kind, 4, LABELS)
            else:
                best = np.empty((0, 4, LABELS), dtype=np.int32), np.empty((0, 4, LABELS))
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

    def decode(self, blocks: Blocks, search: Search, threads: int = 1) -> Parses:
        """Parse blocks of words by Algorithm 1.

        blocks (Blocks): What to parse.
        search (Search): K, at least 1, and what the selection step expects.
        threads (int): How many threads share the blocks; the result does not depend on it.
        RETURNS (Parses): The best trees and the log-probabilities in nats.
        """
        tokens = len(blocks.tags)
        parses = Parses(
            heads=np.full(tokens, -1, dtype=np.int32),
            labels=np.full(tokens, -1, dtype=np.int32),
            tags=np.zeros(tokens, dtype=np.int32),
            log_probability=np.zeros(tokens),
        )
        parser = self.parser
        # The longest first, dealt out in turn: the threads finish at about the same time.
        order = np.argsort(-np.diff(blocks.offsets), kind="stable")
        hands = [order[thread::threads] for thread in range(min(threads, len(order)))]
        if len(hands) == 1:
            decode_blocks(parser, blocks, hands[0], search, parses)
        elif len(hands) > 1:
            with ThreadPoolExecutor(len(hands)) as pool:
                list(pool.map(lambda hand: decode_blocks(parser, blocks, hand, search, parses), hands))
        return parses

    # Storage

    def to_bytes(self) -> bytes:
        """The whole model: alphabets, vocabulary, seating, and which sentences are seated."""
        msg: dict[str, Any] = {
            "format": FORMAT,
            "contexts": {name: [list(expert) for expert in getattr(self.contexts, name)] for name in DISTRIBUTIONS},
            "steps": self.steps,
            "tokens": self.tokens,
        }
        if self.vocabulary is not None:
            keys = sorted(self.seated)
            msg |= {
                "tags": self.tags,
                "labels": self.labels,
                "words": self.vocabulary.words,
                "classes": self.vocabulary.classes,
                "tag_counts": pack_integers(np.diff(self.vocabulary.tag_offsets)),
                "candidate_tags": pack_integers(self.vocabulary.candidate_tags),
                "distributions": {name: pack(franchise) for name, franchise in self._franchises.items()},
                "seated": b"".join(keys),
                "copies": pack_integers(np.array([self.seated[key] for key in keys], dtype=np.int64)),
            }
        return srsly.msgpack_dumps(msg)

    def from_bytes(self, data: bytes) -> "JointModel":
        """Read what `to_bytes` wrote. The weights of pools are not part of it: they are those of `first_weights`.

        RETURNS (JointModel): A new model with the same settings.
        RAISES (ValueError): If the bytes are damaged or belong to a model with other context lists.
        """
        try:
            msg = srsly.msgpack_loads(data)
        except Exception as error:
            raise ValueError(f"it cannot be unpacked ({error})") from error
        if not isinstance(msg, dict) or msg.get("format") != FORMAT:
            raise ValueError("it is not a model of this version of spacy-hpyp")
        ours = {name: [list(expert) for expert in getattr(self.contexts, name)] for name in DISTRIBUTIONS}
        if msg.get("contexts") != ours:
            raise ValueError(
                "its context lists are not those of the config: a trained model cannot change what it is conditioned on"
            )
        loaded = JointModel(self.contexts, self.vocabulary_settings, one_table=self.one_table)
        try:
            if "distributions" in msg:
                loaded._read(msg)
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f"a part is missing or of the wrong kind ({error})") from error
        return loaded

    def _read(self, msg: dict[str, Any]) -> None:
        """Read the parts of a trained model."""
        tags, labels, words, classes = (_strings(msg[name]) for name in ("tags", "labels", "words", "classes"))
        if any(label.count("||") > 1 for label in labels):
            raise ValueError("a label is decorated twice")
        candidates, counts = unpack_integers(msg["candidate_tags"]), unpack_integers(msg["tag_counts"])
        if len(counts) != len(words) + len(classes) or np.any(counts < 1) or counts.sum() != len(candidates):
            raise ValueError("the candidate tags do not fit the vocabulary")
        if len(counts) == 0 or int(candidates.max(initial=0)) >= len(tags):
            raise ValueError("a candidate tag does not exist")
        offsets = np.concatenate([[0], np.cumsum(counts)])
        self.tags, self.labels = tags, labels
        self.vocabulary = Vocabulary(
            words, classes, tags, offsets, candidates.astype(np.int32), self.vocabulary_settings.rule
        )
        self.weights = {name: self.first_weights(name) for name in DISTRIBUTIONS}
        for name, size in self.alphabets().items():
            try:
                columns, packed = self._compiled[name][1], msg["distributions"][name]
                self._franchises[name] = unpack(packed, columns, size, one_table=self.one_table)
            except ValueError as error:
                raise ValueError(f"its {name} distribution is damaged: {error}") from error
        copies = unpack_integers(msg["copies"]).tolist()
        keys = msg["seated"]
        width = len(keys) // max(1, len(copies))
        if width * len(copies) != len(keys):
            raise ValueError("the list of seated sentences is damaged")
        self.seated = {keys[width * i : width * (i + 1)]: copies[i] for i in range(len(copies))}
        self.steps, self.tokens = (_count(msg[name]) for name in ("steps", "tokens"))


def _count(value: Any) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("a count is damaged")
    return value


def _strings(values: Any) -> list[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError("a list of names is damaged")
    if len(set(values)) < len(values):
        raise ValueError("a name is listed twice")
    if "" in values:
        raise ValueError("a name is empty")
    return values
