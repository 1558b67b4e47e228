"""The seating of a model's distributions: what is learned, and the frozen view of it."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from ..annotation.arrays import Sentences
from ..arc_standard.distributions import DISTRIBUTIONS, Distributions, has_labels
from ..arc_standard.events import Derivations, Generated, static_derivations
from ..arc_standard.latent import visit_latent
from ..compiled import NONE
from ..hpyp.franchise import DISH, N_SERVINGS, RESTAURANT, SERVED, TIER, Franchise, reserve
from ..hpyp.hyperparameters import resample
from ..hpyp.storage import pack, unpack
from ..inference.gibbs import remove_sentences, visit_sentences
from ..pools.conditional import Conditional
from ..pools.pool import SeatedPool, Weights
from ..pools.view import View
from ..storage.files import MappedFile
from ..text.vocabulary import Vocabulary
from .frozen import FrozenModel
from .parameters import no_gradient

_CHUNK = 2048
_UNPACKING = Lock()
_NOT_SEATED = (
    "A training sentence cannot be removed from the model because it is not seated there as it should be. The model file and "
    "the training data do not belong together; train from the beginning."
)


@dataclass(frozen=True)
class Packed:
    """A seating as it is stored: most of those who load a model only predict, by views, and need it never.

    distributions (dict[str, Any]): What `hpyp.storage.pack` has made, by distribution.
    conditionals (Mapping[str, Conditional]), alphabets (Mapping[str, int]), one_table (bool): What it has to fit.
    """

    distributions: dict[str, Any]
    conditionals: Mapping[str, Conditional]
    alphabets: Mapping[str, int]
    one_table: bool

    def unpack(self) -> dict[str, Franchise]:
        """The seating, by distribution.

        RAISES (ValueError): If it is damaged.
        """

        def read(name: str) -> Franchise:
            try:
                return unpack(
                    self.distributions[name],
                    self.conditionals[name].columns,
                    self.alphabets[name],
                    one_table=self.one_table,
                )
            except ValueError as error:
                raise ValueError(f"its {name} distribution is damaged: {error}") from error

        with ThreadPoolExecutor() as executor:
            return dict(zip(DISTRIBUTIONS, executor.map(read, DISTRIBUTIONS)))


class Seating:
    """The customers of all distributions of a model.

    conditionals (Mapping[str, Conditional]): The distributions, by their names.
    seated (dict[str, Franchise] | Packed): The seating of each, or what makes it when it is needed.
    vocabulary (Vocabulary): The words, and the tags that each may have.
    root_tag (int): See `Distributions`.
    draws (int64[2]): How many latent derivations were proposed that differ from those before, and how many of them were
        accepted.

    What learns asks for a `pool` or for `resample`, and both drop the frozen views.
    """

    def __init__(
        self,
        conditionals: Mapping[str, Conditional],
        seated: "dict[str, Franchise] | Packed",
        vocabulary: Vocabulary,
        root_tag: int = NONE,
    ) -> None:
        self.conditionals = conditionals
        self.vocabulary = vocabulary
        self.root_tag = root_tag
        self.draws = np.zeros(2, dtype=np.int64)
        self._seated = seated
        self._views: Mapping[str, View] | None = None
        self._mapped: MappedFile | None = None
        self._frozen: tuple[dict[str, Weights], FrozenModel] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What makes a copy. Views follow from the seating, and take many times as much memory."""
        return {**self.__dict__, "_views": None, "_mapped": None, "_frozen": None}

    @property
    def franchises(self) -> dict[str, Franchise]:
        """The seating of each distribution.

        RAISES (ValueError): If it has not been needed so far, and what was stored is damaged.
        """
        # The distributions learn in threads of their own, which may all be the first to ask.
        with _UNPACKING:
            if isinstance(self._seated, Packed):
                self._seated = self._seated.unpack()
            return self._seated

    def check(self) -> None:
        """See that what was stored is a seating.

        RAISES (ValueError): If it is damaged.
        """
        _ = self.franchises

    def pack(self) -> dict[str, Any]:
        """The seating as dictionaries that srsly can write, by distribution."""
        if isinstance(self._seated, Packed):
            return self._seated.distributions
        return {name: pack(franchise) for name, franchise in self._seated.items()}

    def word_counts(self) -> np.ndarray:
        """How often each word is seated, if words are generated (int64[words])."""
        franchise = self.franchises["word"]
        servings = franchise.servings[: franchise.used[N_SERVINGS]]
        tier = franchise.restaurants[servings[:, RESTAURANT], TIER]
        # Each customer of an expert sits in one of its most specific restaurants.
        own = servings[tier == np.count_nonzero(franchise.columns[0] != NONE)]
        return np.bincount(own[:, DISH], own[:, SERVED], len(self.vocabulary)).astype(np.int64)

    # Prediction

    @property
    def views(self) -> Mapping[str, View]:
        """The frozen views of all distributions, made when they are first asked for, or read from a file (`use_views`)."""
        if self._mapped is not None and self._mapped.is_overwritten():
            warnings.warn(
                f"{self._mapped.path} was overwritten while a pipeline that was loaded from it is in use, which may end the process. "
                "What stood there is made again from the model. Load the pipeline again; to install another one, replace its directory.",
                stacklevel=2,
            )
            self._drop_frozen()
        if self._views is None:
            # What a view is made with takes more memory than the view: only two at a time.
            with ThreadPoolExecutor(2) as executor:
                made = executor.map(lambda name: self.conditionals[name].view(self.franchises[name]), DISTRIBUTIONS)
                self._views = dict(zip(DISTRIBUTIONS, made))
        return self._views

    def use_views(self, views: Mapping[str, View], mapped: MappedFile | None = None) -> None:
        """Predict by views that were made of this seating before, by distribution, and may be mapped from a file."""
        self._drop_frozen()
        self._views, self._mapped = views, mapped

    def freeze(self, weights: Mapping[str, Weights]) -> FrozenModel:
        """The model as it predicts now, made when it is first asked for.

        weights (Mapping[str, Weights]): The weights of the pools, by distribution.
        """
        now, views = {name: weights[name] for name in DISTRIBUTIONS}, self.views
        if self._frozen is None or not _equal(self._frozen[0], now):
            now = {name: Weights(*(part.copy() for part in own)) for name, own in now.items()}
            pools = [self.conditionals[name].frozen(view, now[name]) for name, view in views.items()]
            self._frozen = now, FrozenModel(pools, self.vocabulary, self.root_tag)
        return self._frozen[1]

    # Learning

    def _drop_frozen(self) -> None:
        self._views = self._mapped = self._frozen = None

    def pool(self, name: str, weights: Mapping[str, Weights], gradient: Mapping[str, Weights]) -> SeatedPool:
        """A distribution to be learned from now.

        name (str): Its name.
        weights, gradient (Mapping[str, Weights]): By distribution, see `SeatedPool`.
        """
        self._drop_frozen()
        return self.conditionals[name].seated(self.franchises[name], weights[name], gradient[name])

    def reserve(self, tokens: int, distributions: Sequence[str] = DISTRIBUTIONS) -> None:
        """Make room for the events of some tokens, before they are seated."""
        for name in distributions:
            events = self.conditionals[name].events_of_word * int(tokens)
            self.franchises[name] = reserve(self.franchises[name], events)

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions.

        RAISES (ValueError): If there is nothing to be sampled from, see `hpyp.hyperparameters.resample`.
        """
        self._drop_frozen()
        for name, franchise in self.franchises.items():
            try:
                resample(franchise, rng)
            except ValueError as error:
                raise ValueError(f"The {name} distribution cannot learn any more. {error}") from error

    def visit(
        self,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        weights: Mapping[str, Weights],
        rng: np.random.Generator,
        threads: int = 1,
        distributions: Sequence[str] = DISTRIBUTIONS,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One Gibbs step for each customer of some sentences; a sentence that is not seated is added.

        sentences (Sentences): The sentences; of them only the words are read.
        derivations (Derivations): How they are derived.
        seated (bool[sentences]): Which of them are seated.
        weights (Mapping[str, Weights]): The weights of the pools, by distribution.
        rng (numpy.random.Generator): The source of randomness.
        threads (int): How many threads share the distributions; the result does not depend on it.
        distributions (Sequence[str]): Which distributions learn.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats, and the gradient of it with
            respect to the weights. An event is predicted from all other sentences and the events before it; but where there
            are no weights to learn and the seating is sampled, it is predicted from everything else.
        RAISES (ValueError): If a sentence that should be seated is not.
        """
        weights, gradient = dict(weights), no_gradient(weights)

        def visit_one(name: str, generator: np.random.Generator) -> float:
            total = 0.0
            for start, end in _chunks(sentences.offsets):
                part = self._generated(name, sentences, derivations, start, end)
                self.reserve(part.offsets[-1] - part.offsets[0], [name])
                pool = self.pool(name, weights, gradient)
                log_probability, visited = visit_sentences(pool, part, seated[start:end], generator)
                if visited < end - start:
                    raise ValueError(_NOT_SEATED)
                total += log_probability
            return total

        with ThreadPoolExecutor(threads) as executor:
            totals = list(executor.map(visit_one, distributions, rng.spawn(len(distributions))))
        return dict(zip(distributions, totals)), gradient

    def visit_latent(
        self,
        sentences: Sentences,
        derivations: Derivations,
        seated: np.ndarray,
        weights: Mapping[str, Weights],
        rng: np.random.Generator,
        *,
        given_trees: bool,
        particles: int,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One step for the derivation of each of some sentences, see `arc_standard.latent`, and for its customers.

        A sentence that is not seated is added as it is derived.

        sentences (Sentences), seated (bool[sentences]), weights, rng (numpy.random.Generator): As for `visit`.
        derivations (Derivations): How they are derived; overwritten with the new derivations.
        given_trees (bool): Whether tags and trees are given; else only the words are.
        particles (int): How many particles there are.
        RETURNS (tuple), RAISES (ValueError): As `visit`.
        """
        weights, gradient = dict(weights), no_gradient(weights)
        totals = np.zeros(len(DISTRIBUTIONS))
        for start, end in _chunks(sentences.offsets):
            # For each sentence there is what is proposed, besides what it has.
            self.reserve(2 * (sentences.offsets[end] - sentences.offsets[start]))
            model = Distributions(
                *(self.pool(name, weights, gradient) for name in DISTRIBUTIONS),
                self.vocabulary.tag_offsets,
                self.vocabulary.candidate_tags,
                self.root_tag,
            )
            part = sentences._replace(offsets=sentences.offsets[start : end + 1])
            visited = visit_latent(
                model, part, derivations, seated[start:end], given_trees, particles, rng, totals, self.draws
            )
            if visited < end - start:
                raise ValueError(_NOT_SEATED)
        return dict(zip(DISTRIBUTIONS, totals.tolist())), gradient

    def without(
        self, sentences: Sentences, weights: Mapping[str, Weights], rng: np.random.Generator, threads: int = 1
    ) -> "Seating":
        """What there would be to predict by if some sentences were not seated, without changing what is.

        sentences (Sentences): As the static oracle derives them.
        weights, rng (numpy.random.Generator), threads (int): As for `visit`.
        RETURNS (Seating): It has views and nothing else.
        RAISES (ValueError): If one is not seated.
        """
        weights, gradient = dict(weights), no_gradient(weights)
        derivations = static_derivations(sentences)

        def view(name: str, generator: np.random.Generator) -> View:
            conditional, franchise = (
                self.conditionals[name],
                Franchise(*(part.copy() for part in self.franchises[name])),
            )
            for start, end in _chunks(sentences.offsets):
                part = self._generated(name, sentences, derivations, start, end)
                franchise = reserve(franchise, conditional.events_of_word * int(part.offsets[-1] - part.offsets[0]))
                pool = conditional.seated(franchise, weights[name], gradient[name])
                if not remove_sentences(pool, part, generator):
                    raise ValueError(_NOT_SEATED)
            return conditional.view(franchise)

        # What a view is made with takes more memory than the view: only two at a time.
        with ThreadPoolExecutor(min(threads, 2)) as executor:
            views = list(executor.map(view, DISTRIBUTIONS, rng.spawn(len(DISTRIBUTIONS))))
        seating = Seating(self.conditionals, {}, self.vocabulary, self.root_tag)
        seating.use_views(dict(zip(DISTRIBUTIONS, views)))
        return seating

    def _generated(self, name: str, sentences: Sentences, derivations: Derivations, start: int, end: int) -> Generated:
        return Generated(
            distribution=DISTRIBUTIONS.index(name),
            factored=has_labels(self.conditionals),
            words=sentences.words,
            derivations=derivations,
            offsets=sentences.offsets[start : end + 1],
            root_tag=self.root_tag,
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
