"""Models that count: conditional distributions over the alphabets of a treebank, their seating, and
their weights as the parameters of a thinc Model.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from thinc.api import Model

from ..annotation.arrays import Sentences, chunks
from ..annotation.sentences import Encoder
from ..memory import giving_back
from ..storage import dump, load
from ..stored import ClassedModel, Message
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import ClassedRule, Classes, path_in, path_of
from .franchise import N_SERVINGS, OPEN, Franchise, dish_counts, reserve
from .gibbs import gibbs_sweep, remove_sentences
from .hyperparameters import resample
from .pool import Conditional, Pool, Weights
from .storage import compact, pack, unpack
from .table import FrozenTable
from .training_state import Progress

#: The names of the parts of `Weights` among the parameters of a thinc Model.
PARAMETERS = ("standing", "gate")
#: Learning rate of gate weights relative to bucket weights: many gate symbols are rare.
GATE_LEARNING_RATE = 0.3
# The weight of the initial weights, in tokens of training data.
_WEIGHT_PRIOR = 30.0
#: The number of words whose events get space at once.
CHUNK = 2048
_UNTRAINED = "The model has not been trained: it knows no words, tags or labels."
NOT_SEATED = (
    "A training sentence cannot be removed from the model: it is not seated there as it should be. "
    "The model file and the training data do not belong together. Train from the beginning."
)


class CountModel(ClassedModel):
    """A distribution over sentences, learned by seating customers.

    A subclass defines the distributions, their events in sentences (`generated`), and how they
    predict (`predicting`). With word classes, rare words of the treebank are known by them.

    contexts (Any): The context lists of each distribution, as attributes.
    vocabulary_settings (VocabularySettings): The settings of its vocabulary.
    one_table, own_tables (bool): How customers sit, see `Franchise`.
    resampled (bool): Whether discounts and strengths are sampled.
    tags, labels (list[str]): The alphabets, empty before training.
    weights (dict[str, Weights]): The weights of the pools, read from the parameters of its thinc
        Model if it has one.
    progress (Progress): The progress of training.
    draws (int64[2]): The number of proposed latent derivations that differ from those before, and
        of those that were accepted.
    """

    #: Return the distributions by name, given the context lists, and whether these read classes.
    define: ClassVar[Callable[..., dict[str, Conditional]]]
    #: Return the elements of contexts with the class of each word, given the paths to the classes.
    with_classes: ClassVar[Callable[[np.ndarray, Sequence[str]], np.ndarray]]
    #: The number of symbols of gates besides the tags.
    other_symbols: ClassVar[int]

    def __init__(
        self,
        contexts: Any,
        vocabulary_settings: VocabularySettings,
        *,
        one_table: bool = False,
        own_tables: bool = False,
        resampled: bool = True,
    ) -> None:
        self.contexts, self.vocabulary_settings = contexts, vocabulary_settings
        self.one_table, self.own_tables, self.resampled = one_table, own_tables, resampled
        # Check all lists now, including those that need word classes.
        self.define(contexts, is_classed=True)
        super().__init__()

    def __copy__(self) -> Any:
        """Return a shallow copy, with the same tables."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the tables, which follow from the seating, and are many times as large."""
        return {**self.__dict__, "_tables": None, "_frozen": None}

    # Defined by subclasses

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """The number of outcomes of each distribution."""

    @abstractmethod
    def _new_franchise(self, name: str) -> Franchise:
        """Return an empty seating of a distribution."""

    @abstractmethod
    def generated(self, name: str, sentences: Sentences, derivations: Any) -> Any:
        """Return the argument of `gibbs.read_events` for one of the distributions.

        derivations (Any): The derivations of the sentences, if they have any.
        RAISES (ValueError): If the model reads word classes and has none.
        """

    @abstractmethod
    def predicting(self, pools: Mapping[str, Pool]) -> Any:
        """Return the model that predicts by frozen pools; errors as of `generated`."""

    # Alphabets

    def _forget(self) -> None:
        self.tags: list[str] = []
        self.labels: list[str] = []
        self._vocabulary: Vocabulary | None = None
        self._seat({})
        self.progress = Progress()
        self.weights = self.initial_weights()

    def initialize(
        self, labels: Sequence[str], vocabulary: Vocabulary, packed: dict[str, bytes] | None = None
    ) -> None:
        """Set the alphabets and forget everything that was learned.

        labels (Sequence[str]), vocabulary (Vocabulary): The labels of arcs; the words and tags.
        packed (dict[str, bytes] | None): A seating to begin with, see `pack`.
        """
        self._forget()
        self.tags, self.labels, self._vocabulary = list(vocabulary.tags), list(labels), vocabulary
        self.weights = self.initial_weights()
        self._seat(packed or {name: self._new_franchise(name) for name in self.conditionals})
        self._know_classes()

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self._vocabulary is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words. RAISES (ValueError): If the model is untrained."""
        if self._vocabulary is None:
            raise ValueError(_UNTRAINED)
        return self._vocabulary

    @property
    def encoder(self) -> Encoder:
        """The encoder of sentences. RAISES (ValueError): If the model is untrained."""
        return Encoder(self.vocabulary, self.labels)

    @property
    def weights(self) -> dict[str, Weights]:
        """The weights of the pools, by distribution."""
        if self._model is None:
            return self._weights
        return weights_from(self, self._model.get_param)

    @weights.setter
    def weights(self, weights: dict[str, Weights]) -> None:
        self._weights, self._model = weights, None

    def initial_weights(self) -> dict[str, Weights]:
        """Return the weights before learning, by distribution."""
        # Gates read tags.
        symbols = len(self.tags) + self.other_symbols
        return {name: each.initial_weights(symbols) for name, each in self.conditionals.items()}

    # Classes of words

    def _read_with(self, *, is_classed: bool) -> bool:
        self.conditionals = self.define(self.contexts, is_classed=is_classed)
        return is_classed

    @property
    def _known_classes(self) -> Classes | None:
        """The classes of words as the vocabulary has them."""
        return self.classes

    @property
    def own_settings(self) -> VocabularySettings:
        """The settings of the vocabulary, with the word classes if there are any."""
        settings, classes = self.vocabulary_settings, self._known_classes
        return replace(settings, rule=ClassedRule(settings.rule, classes)) if classes else settings

    def _know_classes(self) -> None:
        if not self._classes or not self.is_initialized:
            return
        rule = self.own_settings.rule
        assert isinstance(rule, ClassedRule)
        self._vocabulary = Vocabulary.from_dict(self.vocabulary.to_dict(), rule)
        known = [path_of(rule.classes, word) for word in self.vocabulary.words]
        paths = [*known, *map(path_in, self.vocabulary.classes)]
        self.conditionals = {
            name: replace(each, elements=self.with_classes(each.elements, paths))
            for name, each in self.define(self.contexts, is_classed=True).items()
        }
        # Tables do not depend on classes.
        self._frozen = None

    # Seating

    def _seat(self, seated: dict[str, Any]) -> None:
        """Begin with the seating (Franchise), or what `pack` made of it, of each distribution; the
        latter is unpacked when it is needed.
        """
        self._seated = seated
        self.draws = np.zeros(2, dtype=np.int64)
        self._drop_frozen()

    @property
    def franchises(self) -> dict[str, Franchise]:
        """The seating of each distribution. RAISES (ValueError): If there is none."""
        if not self._seated or any(isinstance(own, bytes) for own in self._seated.values()):
            self._seated = dict(self._of_each(self._seating))
        return self._seated

    def _of_each(self, make: Callable[[str], Any]) -> Iterator[tuple[str, Any]]:
        """Make something of each distribution, two at a time to save memory."""
        with ThreadPoolExecutor(2) as executor:
            yield from zip(self.conditionals, executor.map(make, self.conditionals))

    def _seating(self, name: str) -> Franchise:
        """Return the seating of a distribution, unpacked only for now if it is stored."""
        if not self._seated:
            raise ValueError(_UNTRAINED)
        seated = self._seated[name]
        if isinstance(seated, bytes):
            return unpack(load(seated), self._new_franchise(name))
        return seated

    def pack(self) -> dict[str, bytes]:
        """Return the serialized seating of each distribution. Errors as of `franchises`."""
        if not self._seated:
            raise ValueError(_UNTRAINED)
        return {
            name: seated if isinstance(seated, bytes) else dump(pack(seated))
            for name, seated in self._seated.items()
        }

    def word_counts(self) -> np.ndarray:
        """Count how often each word or class is seated, if words are generated (int64[words])."""
        return dish_counts(self._seating("word"))

    # Prediction

    @property
    def frozen(self) -> Any:
        """The model that predicts, see `predicting`; new weights make new pools, not new tables.
        RAISES (ValueError): If it is untrained, or reads word classes and has none; see `freeze`.
        """
        if self._tables is None:
            self._tables = dict(
                self._of_each(lambda name: self.conditionals[name].table(self._seating(name)))
            )
        weights = self.weights
        if self._frozen is None or not all(
            all(map(np.array_equal, own, weights[name])) for name, own in self._frozen[0].items()
        ):
            weights = {name: Weights(*map(np.copy, own)) for name, own in weights.items()}
            pools = {
                name: self.conditionals[name].pool(table, weights[name])
                for name, table in self._tables.items()
            }
            self._frozen = weights, self.predicting(pools)
        return self._frozen[1]

    def _drop_frozen(self) -> None:
        self._tables: Mapping[str, FrozenTable] | None = None
        self._frozen: tuple[dict[str, Weights], Any] | None = None

    # Learning

    def pool(self, name: str, weights: Weights, gradient: Weights, tokens: int) -> Pool:
        """Return a distribution that is going to learn, with room for the events of some tokens.
        Errors as of `franchises` and `franchise.reserve`.
        """
        self._drop_frozen()
        conditional, franchises = self.conditionals[name], self.franchises
        franchises[name] = reserve(franchises[name], conditional.events_of_word * int(tokens))
        return conditional.pool(franchises[name], weights, gradient)

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions, unless they are fixed, and
        drop empty restaurants if they are many.

        RAISES (ValueError): If it is untrained; and see `hyperparameters.resample`.
        """
        self._drop_frozen()
        for name, franchise in self.franchises.items():
            self.franchises[name] = franchise = compact(franchise)
            if self.resampled:
                resample(franchise, rng)

    @giving_back
    def gibbs_step(
        self,
        sentences: Sentences,
        derivations: Any,
        seated: np.ndarray,
        rng: np.random.Generator,
        threads: int = 1,
        distributions: Sequence[str] | None = None,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """Take a Gibbs step for each event of some sentences; unseated sentences are added.

        derivations (Any): See `generated`.
        seated (bool[sentences]): Which of them are seated.
        threads (int): How many threads share the distributions; the result does not depend on it.
        distributions (Sequence[str] | None): The distributions that learn, if not all of them.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats,
            see `gibbs.gibbs_step`, and its gradient (0 for distributions that do not learn).
        RAISES (ValueError): If a sentence that should be seated is not; see also `generated`.
        """
        weights, gradient = self._learnable()
        names = [*self.conditionals] if distributions is None else distributions

        def sweep(name: str, generator: np.random.Generator) -> float:
            total = 0.0
            for some, chunk in chunks(sentences, CHUNK):
                tokens = chunk.offsets[-1] - chunk.offsets[0]
                pool = self.pool(name, weights[name], gradient[name], tokens)
                generated = self.generated(name, chunk, derivations)
                log_probability, visited = gibbs_sweep(pool, generated, seated[some], generator)
                if visited < len(seated[some]):
                    raise ValueError(NOT_SEATED)
                total += log_probability
            return total

        with ThreadPoolExecutor(threads) as executor:
            totals = list(executor.map(sweep, names, rng.spawn(len(names))))
        return dict(zip(names, totals)), gradient

    def _learnable(self) -> tuple[dict[str, Weights], dict[str, Weights]]:
        """Unpack the seating. Returns the weights by distribution, and zeros for the gradient."""
        # Build the franchises before threads share them.
        _ = self.franchises
        weights = self.weights
        return weights, no_gradient(weights)

    def _tables_without(
        self, sentences: Sentences, derivations: Any, rng: np.random.Generator
    ) -> dict[str, FrozenTable]:
        """Return the tables as if some sentences had not been seated, by distribution."""
        weights, gradient = self._learnable()
        generators = dict(zip(self.conditionals, rng.spawn(len(self.conditionals))))

        def table_without(name: str) -> FrozenTable:
            conditional = self.conditionals[name]
            # An unseated sentence founds restaurants before that is noticed. Customers who leave
            # need no more cells than there are tables.
            events = conditional.events_of_word * int(np.diff(sentences.offsets).max(initial=0))
            own = Franchise(*map(np.copy, self.franchises[name]))
            own = reserve(own, events, int(own.servings[: own.used[N_SERVINGS], OPEN].sum()))
            pool = conditional.pool(own, weights[name], gradient[name])
            generated = self.generated(name, sentences, derivations)
            if not remove_sentences(pool, generated, generators[name]):
                raise ValueError(NOT_SEATED)
            return conditional.table(own)

        # One after the other: a copy of a seating is several times as large as the table.
        return {name: table_without(name) for name in self.conditionals}

    # Storage

    def put_into(self, model: Model, attribute: str) -> None:
        """Become an attribute of a thinc Model, whose parameters become the weights."""
        super().put_into(model, attribute)
        for name, own in self.weights.items():
            for part, value in zip(PARAMETERS, (own.bucket, own.gate / GATE_LEARNING_RATE)):
                model.set_param(f"{name}_{part}", value.astype(np.float32))
                # Drop the gradient of another model's weights.
                if model.has_grad(f"{name}_{part}"):
                    model.set_grad(f"{name}_{part}", np.zeros(value.shape, dtype=np.float32))
        self._model = model

    def _fixed(self) -> Message:
        lists = vars(self.contexts).items()
        return {"contexts": {name: [*map(list, experts)] for name, experts in lists}}

    def _write(self) -> Message:
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "labels": self.labels,
            "distributions": self.pack(),
            **self._classed(),
            "progress": self.progress.to_message(),
        }

    def _read(self, message: Message) -> None:
        """Read all but the weights of pools; the seating is unpacked later."""
        self._read_classed(message)
        vocabulary = Vocabulary.from_dict(message["vocabulary"], self.vocabulary_settings.rule)
        self.initialize(message["labels"], vocabulary, message["distributions"])
        self.progress = Progress.from_message(message["progress"])


def no_gradient(weights: Mapping[str, Weights]) -> dict[str, Weights]:
    """Return zeros in the shape of some weights."""
    return {name: Weights(*(np.zeros_like(part) for part in weights[name])) for name in weights}


# Weights as the parameters of a thinc Model


def weights_from(pooled: CountModel, parameter: Callable[[str], Any]) -> dict[str, Weights]:
    """Return the weights by distribution, given a function from parameter names to values."""
    found = {}
    for name in pooled.conditionals:
        bucket, gate = (np.asarray(parameter(f"{name}_{part}"), np.float64) for part in PARAMETERS)
        found[name] = Weights(bucket, GATE_LEARNING_RATE * gate)
    return found


def add_gradients(
    model: Model, attribute: str, gradient: Mapping[str, Weights], tokens: int
) -> None:
    """Add the gradient of the loss to those of the parameters: the negative log-likelihood for each
    token, and a Gaussian prior around the initial weights.

    gradient (Mapping[str, Weights]): The gradient of the log-likelihood (nats) of a batch.
    tokens (int): The number of tokens of the batch.
    """
    pooled: CountModel = model.attrs[attribute]
    strength, weights = _WEIGHT_PRIOR / max(pooled.progress.tokens, 1), pooled.weights
    for name, initial in pooled.initial_weights().items():
        if pooled.conditionals[name].is_plain:
            continue
        bucket, gate = (
            strength * (ours - prior) - likelihood / tokens
            for ours, prior, likelihood in zip(weights[name], initial, gradient[name])
        )
        model.inc_grad(f"{name}_standing", bucket.astype(np.float32))
        model.inc_grad(f"{name}_gate", (GATE_LEARNING_RATE * gate).astype(np.float32))
