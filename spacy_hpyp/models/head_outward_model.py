"""The head-outward model: what it is about, what it has seen, and how far its training is."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..annotation.arrays import Sentences
from ..annotation.documents import Encoder, GoldSentence
from ..compiled import NONE
from ..head_outward.contexts import CASES, DISTRIBUTIONS, Alphabets, check_sizes
from ..head_outward.distributions import ContextLists, Distributions, conditionals, make_distributions, unchartable
from ..head_outward.events import Generated
from ..head_outward.latent import visit_latent
from ..hpyp.franchise import Franchise, new_franchise, reserve
from ..hpyp.hyperparameters import resample
from ..inference.gibbs import visit_sentences
from ..pools.pool import Weights
from ..text.vocabulary import Vocabulary, VocabularySettings
from .guard import Guard
from .parameters import no_gradient
from .progress import Progress
from .settings import EstimatorSettings

# Eisner's constants (1996): what a context's counts are smoothed with by the next coarser context, and the last one by a uniform
# distribution.
_FINER, _COARSEST = 3.0, 0.5
_CHUNK = 2048
_LOWER, _UPPER, _CAPITALISED, _MIXED = range(CASES)


class CasedEncoder(Encoder):
    """Sentences as numbers: a word is the number of its uncased form times `CASES`, and its case."""

    def encode(self, sentence: GoldSentence) -> np.ndarray | str:
        """A sentence as int32[4, tokens]: cased words, tags, heads and labels; or what keeps it from being used.

        The labels of arcs are read if all words but the root have a head.
        """
        lower = GoldSentence([word.lower() for word in sentence.words], sentence.tags, sentence.heads, sentence.labels)
        rows = super().encode(lower)
        if not isinstance(rows, str):
            rows[0] = rows[0] * CASES + [case_of(word) for word in sentence.words]
        return rows

    def encode_words(self, forms: Sequence[str]) -> np.ndarray:
        """Words as cased words (int32[words])."""
        numbers = self.vocabulary.numbers([form.lower() for form in forms])
        return np.array(numbers, dtype=np.int32) * CASES + np.array([case_of(form) for form in forms], dtype=np.int32)


def case_of(word: str) -> int:
    """The case of a word: lower (which includes what has none), upper, first letter upper, or mixed."""
    if word == word.lower():
        return _LOWER
    if word == word.upper():
        # A single letter, too, is capitalised rather than written in capitals.
        return _UPPER if sum(letter.isalpha() for letter in word) > 1 else _CAPITALISED
    return _CAPITALISED if word[:1].isupper() and word[1:] == word[1:].lower() else _MIXED


class HeadOutwardModel:
    """A distribution over sentences with their tags and trees (Eisner 1996; Wallach, Sutton & McCallum 2008).

    contexts (ContextLists): What each distribution is conditioned on.
    vocabulary_settings (VocabularySettings): How its vocabulary is made.
    settings (EstimatorSettings): How probabilities are estimated from counts.

    conditionals (dict[str, Conditional]): The distributions, by their names.
    tags, labels (list[str]): The alphabets, empty until `initialize` has been called or the model has been read from a file.
    franchises (dict[str, Franchise]): What has been seen.
    progress (Progress): How far training is. The derivations in it are trees that have been drawn: heads and labels.
    draws (int64[2]): How many other trees were proposed, and how many of them accepted.
    weights (Mapping[str, Weights]): The weights of the pools. Inside a thinc Model they are its parameters.
    guard (Guard): Lets one thread at a time read what is learned, or change it.
    """

    def __init__(
        self, contexts: ContextLists, vocabulary_settings: VocabularySettings, settings: EstimatorSettings
    ) -> None:
        self.contexts = contexts
        self.vocabulary_settings = vocabulary_settings
        self.settings = settings
        self.conditionals = conditionals(contexts)
        self.unchartable = unchartable(self.conditionals)
        self.tags: list[str] = []
        self.labels: list[str] = []
        self.alphabets = Alphabets(1, 1, 1)
        self.franchises: dict[str, Franchise] = {}
        self.weights: Mapping[str, Weights] = self.first_weights()
        self.progress = Progress()
        self.draws = np.zeros(2, dtype=np.int64)
        self.guard = Guard()
        self._vocabulary: Vocabulary | None = None
        self._frozen: tuple[dict[str, Weights], Distributions] | None = None

    def untrained(self) -> "HeadOutwardModel":
        """A model with the same settings that knows nothing yet."""
        return HeadOutwardModel(self.contexts, self.vocabulary_settings, self.settings)

    @property
    def pools(self) -> EstimatorSettings:
        """How the weights of pools begin and how they are learned."""
        return self.settings

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self._vocabulary is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """The uncased words."""
        if self._vocabulary is None:
            raise ValueError("The model has not been trained: it knows no words, tags or labels.")
        return self._vocabulary

    @property
    def encoder(self) -> CasedEncoder:
        """What its numbers stand for."""
        return CasedEncoder(self.vocabulary, self.labels)

    def initialize(self, labels: Sequence[str], vocabulary: Vocabulary) -> None:
        """Fix the alphabets and forget everything that was seated.

        RAISES (ValueError): If joined context elements have too many values.
        """
        self.tags, self.labels, self._vocabulary = list(vocabulary.tags), list(labels), vocabulary
        self.alphabets = Alphabets(len(self.tags) + 1, len(vocabulary), len(self.labels))
        for name, conditional in self.conditionals.items():
            check_sizes(conditional.elements, self.alphabets, name)
        self.weights = self.first_weights()
        self.progress = Progress()
        self.franchises = {name: self._new_franchise(name) for name in DISTRIBUTIONS}
        self._frozen = None

    @property
    def one_table(self) -> bool:
        """See `Franchise`."""
        return not self.own_tables and self.settings.counts == "minimal"

    @property
    def own_tables(self) -> bool:
        """See `Franchise`."""
        return self.settings.prior == "eisner"

    def _new_franchise(self, name: str) -> Franchise:
        conditional = self.conditionals[name]
        franchise = new_franchise(
            conditional.columns,
            self.alphabets.of(name),
            self.settings.discount if self.settings.prior == "pitman-yor" else 0.0,
            _FINER,
            one_table=self.one_table,
            own_tables=self.own_tables,
        )
        experts, depth = conditional.columns.shape
        level = np.tile(np.arange(depth + 1), experts)
        lengths = np.repeat(np.sum(conditional.columns != NONE, axis=1), depth + 1)
        # The distribution without any context is left out, where there is another one.
        passed = (level == 0) & (lengths > 0) & self.settings.uniform_roots
        coarsest = np.where(lengths > 0, int(self.settings.uniform_roots), 0)
        franchise.strength[level == coarsest] = _COARSEST
        franchise.discount[passed], franchise.strength[passed] = 1.0, 0.0
        return franchise

    def first_weights(self) -> dict[str, Weights]:
        """Weights before any are learned, by distribution."""
        # Gates read tags.
        symbols = int(self.alphabets.symbols[0])
        return {
            name: each.first_weights(symbols, self.settings.first_weight) for name, each in self.conditionals.items()
        }

    # Prediction

    @property
    def frozen(self) -> Distributions:
        """The model as it predicts now, made when it is first asked for."""
        return self.guard.read(self._freeze)

    def _freeze(self) -> Distributions:
        now = {name: self.weights[name] for name in DISTRIBUTIONS}
        if self._frozen is None or not _equal(self._frozen[0], now):
            now = {name: Weights(*(part.copy() for part in own)) for name, own in now.items()}
            pools = {
                name: self.conditionals[name].frozen(self.conditionals[name].view(self.franchises[name]), now[name])
                for name in DISTRIBUTIONS
            }
            self._frozen = now, make_distributions(self.conditionals, pools, self.alphabets)
        return self._frozen[1]

    # Learning

    def _pools(
        self, weights: Mapping[str, Weights], gradient: Mapping[str, Weights], names: Sequence[str] = DISTRIBUTIONS
    ) -> dict[str, object]:
        self._frozen = None
        return {
            name: self.conditionals[name].seated(self.franchises[name], weights[name], gradient[name]) for name in names
        }

    def _reserve(self, name: str, tokens: int) -> None:
        events = self.conditionals[name].events_of_word * int(tokens)
        self.franchises[name] = reserve(self.franchises[name], events)

    def visit(
        self, sentences: Sentences, seated: np.ndarray, rng: np.random.Generator, threads: int = 1
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One Gibbs step for each customer of some sentences with their trees; a sentence that is not seated is added.

        sentences (Sentences): With cased words.
        seated (bool[sentences]): Which of them are seated.
        rng (numpy.random.Generator): The source of randomness.
        threads (int): How many threads share the distributions; the result does not depend on it.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats, and the gradient of it with
            respect to the weights; see `inference.gibbs.visit_seated`.
        RAISES (ValueError): If a sentence that should be seated is not.
        """
        weights = dict(self.weights)
        gradient = no_gradient(weights)

        def visit_one(name: str, generator: np.random.Generator) -> float:
            total = 0.0
            for start, end in _chunks(sentences.offsets):
                offsets = sentences.offsets[start : end + 1]
                self._reserve(name, offsets[-1] - offsets[0])
                part = Generated(DISTRIBUTIONS.index(name), *sentences[:4], offsets, self.alphabets.symbols)
                pool = self._pools(weights, gradient, [name])[name]
                log_probability, visited = visit_sentences(pool, part, seated[start:end], generator)
                if visited < end - start:
                    raise ValueError(_NOT_SEATED)
                total += log_probability
            return total

        with ThreadPoolExecutor(threads) as executor:
            totals = list(executor.map(visit_one, DISTRIBUTIONS, rng.spawn(len(DISTRIBUTIONS))))
        return dict(zip(DISTRIBUTIONS, totals)), gradient

    def visit_latent(
        self, sentences: Sentences, seated: np.ndarray, rng: np.random.Generator
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One step for the tree of each of some sentences, see `head_outward.latent`, and for its customers.

        sentences (Sentences): Their heads and labels are overwritten.
        seated, rng: As for `visit`.
        RETURNS (tuple), RAISES (ValueError): As `visit`.
        """
        weights = dict(self.weights)
        gradient = no_gradient(weights)
        totals = np.zeros(len(DISTRIBUTIONS))
        for start, end in _chunks(sentences.offsets):
            for name in DISTRIBUTIONS:
                # For each sentence there is what is proposed, besides what it has.
                self._reserve(name, 2 * (sentences.offsets[end] - sentences.offsets[start]))
            model = make_distributions(self.conditionals, self._pools(weights, gradient), self.alphabets)
            part = sentences._replace(offsets=sentences.offsets[start : end + 1])
            if visit_latent(model, part, seated[start:end], rng, totals, self.draws) < end - start:
                raise ValueError(_NOT_SEATED)
        return dict(zip(DISTRIBUTIONS, totals.tolist())), gradient

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions that have sampled ones.

        RAISES (ValueError): If there is nothing to be sampled from, see `hpyp.hyperparameters.resample`.
        """
        if self.settings.hyperparameters == "fixed" or self.own_tables:
            return
        self._frozen = None
        for name, franchise in self.franchises.items():
            try:
                resample(franchise, rng)
            except ValueError as error:
                raise ValueError(f"The {name} distribution cannot learn any more. {error}") from error


_NOT_SEATED = (
    "A training sentence cannot be removed from the model because it is not seated there as it should be. The model file and "
    "the training data do not belong together; train from the beginning."
)


def _equal(some: Mapping[str, Weights], others: Mapping[str, Weights]) -> bool:
    return all(np.array_equal(a, b) for name in DISTRIBUTIONS for a, b in zip(some[name], others[name]))


def _chunks(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """A sentence at least, and otherwise no more than a chunk, so that little room is reserved in vain."""
    start = 0
    while start < len(offsets) - 1:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _CHUNK)) - 1)
        yield start, end
        start = end
