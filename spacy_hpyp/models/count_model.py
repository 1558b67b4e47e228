"""Models that count: conditional distributions over the alphabets of a treebank, what they have seated, and how far their training is.

All models that count seat, visit, resample and freeze by what is here. A transition system and a chart say what there is to be seated, and
how a derivation is drawn; they seat nothing themselves.
"""

import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from thinc.api import Model

from ..annotation.arrays import Sentences
from ..annotation.confidence import Passage
from ..annotation.documents import Encoder
from ..hpyp.franchise import Franchise, dish_counts, reserve
from ..hpyp.hyperparameters import resample
from ..hpyp.storage import pack, unpack
from ..inference.gibbs import remove_sentences, visit_sentences
from ..pools.conditional import Conditional
from ..pools.pool import FrozenPool, SeatedPool, Weights
from ..pools.view import View
from ..storage.files import MappedFile
from ..storage.schema import Field, Keyed, Message, Ragged, part
from ..text.vocabulary import Vocabulary, VocabularySettings
from ..text.word_classes import ClassedRule, Classes, path_in, path_of
from .messages import labels_from_message, vocabulary_from_message, vocabulary_to_message
from .parameters import Parameters, no_gradient
from .settings import PoolSettings
from .stored import ClassedModel

_CHUNK = 2048
_UNPACKING = Lock()
_UNTRAINED = "The model has not been trained: it knows no words, tags or labels."
_NOT_SEATED = (
    "A training sentence cannot be removed from the model because it is not seated there as it should be. The model file and "
    "the training data do not belong together; train from the beginning."
)


@dataclass
class Sweep:
    """A sweep that is not complete.

    copies (Counter[bytes]): How often each sentence of the treebank occurs, as far as is known, by what identifies its content.
        It is seated no more often than that.
    visited (int): How many sentences have been visited.
    passages (list[Passage]): Those of them that confidence is to be learned from.
    """

    copies: Counter[bytes] = field(default_factory=Counter)
    visited: int = 0
    passages: list[Passage] = field(default_factory=list)

    def count(self, visited: int) -> bool:
        """Count sentences as visited. Returns whether the sweep is complete with them, and another begins."""
        self.visited += visited
        if self.visited < self.copies.total():
            return False
        self.visited = 0
        return True


@dataclass
class Progress:
    """What has been learned from, as far as training needs it to go on.

    seated (dict[bytes, int]): How many copies of each sentence are seated, by what identifies it.
    derivations (dict[bytes, list[int32[*]]]): The derivations that have been drawn for seated sentences, see the model.
    sweep (Sweep): How far the present sweep is.
    tokens (int): How many tokens are seated.
    steps, sweeps (int): How many updates and how many sweeps there have been.
    awaits_contrast (bool): Whether weights are to be contrasted when the next sweep is complete, if they have not been by then.
    """

    seated: dict[bytes, int] = field(default_factory=dict)
    derivations: dict[bytes, list[np.ndarray]] = field(default_factory=dict)
    sweep: Sweep = field(default_factory=Sweep)
    tokens: int = 0
    steps: int = 0
    sweeps: int = 0
    awaits_contrast: bool = False

    def take_drawn(self, keys: Iterable[bytes], lengths: Iterable[int], drawn: str) -> list[np.ndarray | None]:
        """Take out what has been drawn for some seated sentences; None for those that are still as the treebank says.

        Of the copies of a sentence each has its turn, whatever batches they are in: first those that nothing was drawn for, then those
        that wait the longest.

        lengths (Iterable[int]): How long a derivation of each would be.
        drawn (str): What a derivation is called.
        RAISES (ValueError): If one has another length.
        """
        found: list[np.ndarray | None] = []
        taken: Counter[bytes] = Counter()
        for key, length in zip(keys, lengths, strict=True):
            paths = self.derivations.get(key, [])
            found.append(paths.pop(0) if paths and self.seated[key] - taken[key] <= len(paths) else None)
            taken[key] += 1
            if found[-1] is not None and len(found[-1]) != length:
                raise ValueError(f"The model has the {drawn} of another sentence in place of a training sentence's.")
        return found

    def values(self) -> dict[str, Any]:
        """What the fields of a schema write: all but numbers is in the form in which it is stored."""
        sweep, drawn = self.sweep, [(key, path) for key in sorted(self.derivations) for path in self.derivations[key]]
        rows = [sentence for passage in sweep.passages for sentence in passage.rows]
        return {
            **vars(self),
            "derivations": Keyed([key for key, _ in drawn], Ragged.of([path for _, path in drawn])),
            "sweep": {
                "visited": sweep.visited,
                # After the first sweep there are none.
                "missing": {key: count for key, count in sweep.copies.items() if count != self.seated.get(key, 0)},
                "passages": {
                    "sizes": np.array([len(passage.rows) for passage in sweep.passages], dtype=np.int64),
                    "rows": Keyed([key for passage in sweep.passages for key in passage.keys], Ragged.of(rows)),
                },
            },
        }

    @classmethod
    def of_values(cls, values: dict[str, Any], is_derivation: Callable[[np.ndarray], bool], drawn: str) -> "Progress":
        """Read what `values` gives, and check that it belongs together.

        is_derivation (Callable): Whether an array is a derivation.
        drawn (str): What a derivation is called.
        RAISES (ValueError): If it does not.
        """
        seated, (keys, paths) = values["seated"], values["derivations"]
        # In files of earlier versions what is seated is all that there is, and a sweep is to begin.
        sweep = values["sweep"] or {"visited": 0, "missing": {}}
        if any(count < seated.get(key, 0) for key, count in sweep["missing"].items()):
            raise ValueError("it has seated a sentence more often than the treebank has it")
        derivations: dict[bytes, list[np.ndarray]] = {}
        for key, path in zip(keys, paths.parts(), strict=True):
            if not is_derivation(path):
                raise ValueError(f"the {drawn} of a sentence is damaged")
            derivations.setdefault(key, []).append(path)
        if any(len(own) > seated.get(key, 0) for key, own in derivations.items()):
            raise ValueError(f"it has {drawn}s of sentences that are not seated")
        return cls(
            seated,
            derivations,
            Sweep(Counter(seated | sweep["missing"]), sweep["visited"], _passages(**sweep.get("passages", {}))),
            **{name: values[name] for name in ("tokens", "steps", "sweeps")},
        )


def _passages(sizes: np.ndarray | None = None, rows: Keyed | None = None) -> list[Passage]:
    """RAISES (ValueError): If there are other sentences in them than there should be."""
    if sizes is None or rows is None:
        return []
    if np.any(sizes < 1) or sizes.sum() != len(rows.keys):
        raise ValueError("the passages of its sweep are damaged")
    sentences, ends = rows.arrays.parts(), np.cumsum(sizes).tolist()
    return [Passage(rows.keys[end - n : end], sentences[end - n : end]) for n, end in zip(sizes.tolist(), ends)]


class CountModel(ClassedModel):
    """A distribution over sentences and what they are made of, learned by seating customers.

    A subclass says what its sentences are generated by (`generated`, `draw`, `predicting`), what it is a distribution of, and how training
    stands in messages. With classes of words it knows those by them that its treebank has seldom or not at all, but raw text has. What
    learns asks for a `pool` or for `resample`, and both drop the frozen views.

    conditionals (dict[str, Conditional]): The distributions, by their names.
    vocabulary_settings (VocabularySettings): How its vocabulary is made.
    pools (PoolSettings): How the weights of pools begin and how they are learned.
    one_table, own_tables (bool): How its customers sit, see `Franchise`.
    resampled (bool): Whether discounts and strengths are sampled.

    tags, labels (list[str]): The alphabets, empty until `initialize` has been called or the model has been read from a file.
    progress (Progress): How far training is.
    guard (Guard): Lets one thread at a time read the seating and what else is learned, or change it.
    weights (Mapping[str, Weights]): The weights of the pools. Inside a thinc Model they are its parameters.
    draws (int64[2]): How many latent derivations were proposed that differ from those before, and how many of them were
        accepted.
    """

    learned = "distributions"
    #: How training stands in messages; and what its derivations are called there.
    training: ClassVar[Field]
    drawn: ClassVar[str]
    #: How many symbols of gates there are besides the tags.
    other_symbols: ClassVar[int]

    def __init__(
        self,
        vocabulary_settings: VocabularySettings,
        pools: PoolSettings,
        *,
        one_table: bool = False,
        own_tables: bool = False,
        resampled: bool = True,
    ) -> None:
        self.vocabulary_settings = vocabulary_settings
        self.pools = pools
        self.one_table, self.own_tables, self.resampled = one_table, own_tables, resampled
        super().__init__()

    def __copy__(self) -> Any:
        """A model of its own that predicts by the same views."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to other processes. Views follow from the seating, and take many times as much memory."""
        return {**self.__dict__, "_views": None, "_mapped": None, "_frozen": None}

    # What a subclass defines

    @abstractmethod
    def _conditionals(self, *, is_classed: bool) -> dict[str, Conditional]:
        """The distributions, with the lists that read classes of words or without them."""

    @abstractmethod
    def _with_classes(self, elements: np.ndarray, paths: Sequence[str]) -> np.ndarray:
        """Elements as they are read with the path to the class of each word and each class of unknown words."""

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """How many outcomes each distribution has."""

    @abstractmethod
    def _new_franchise(self, name: str) -> Franchise:
        """An empty seating of a distribution."""

    @abstractmethod
    def _is_derivation(self, path: np.ndarray) -> bool:
        """Whether an array is a derivation as `Progress` has them."""

    @abstractmethod
    def generated(self, name: str, sentences: Sentences, derivations: Any) -> Any:
        """What one of the distributions has generated in some sentences, for `inference.gibbs.read_events`.

        derivations (Any): How they are derived, if there is more to that than the sentences say.
        """

    @abstractmethod
    def draw(
        self,
        pools: Mapping[str, SeatedPool],
        sentences: Sentences,
        derivations: Any,
        seated: np.ndarray,
        rng: np.random.Generator,
        totals: np.ndarray,
        **how: Any,
    ) -> int:
        """One step for the derivation of each of some sentences, see `visit_latent`.

        totals (float64[distributions]): Each one's log-probability of its events is added; and to `draws` what was drawn.
        RETURNS (int): How many sentences were visited: fewer than there are if the next one was not seated as it should be.
        """

    @abstractmethod
    def predicting(self, pools: Mapping[str, FrozenPool]) -> Any:
        """What predicts by pools as they are."""

    # Alphabets

    def _forget(self) -> None:
        self.tags: list[str] = []
        self.labels: list[str] = []
        self._vocabulary: Vocabulary | None = None
        self._seat(None, None)
        self.progress = Progress()
        self.weights: Mapping[str, Weights] = self.first_weights()

    def initialize(
        self, labels: Sequence[str], vocabulary: Vocabulary, distributions: dict[str, Any] | None = None
    ) -> None:
        """Fix the alphabets and forget everything that was seated.

        distributions (dict[str, Any] | None): A seating as it was stored, to begin with; it is checked when it is needed.
        """
        self._forget()
        self.tags, self.labels, self._vocabulary = list(vocabulary.tags), list(labels), vocabulary
        self.weights = self.first_weights()
        is_new = distributions is None
        self._seat({name: self._new_franchise(name) for name in self.conditionals} if is_new else None, distributions)
        self._know_classes()

    # Classes of words

    def _read_with(self, *, is_classed: bool) -> bool:
        self.conditionals = self._conditionals(is_classed=is_classed)
        return is_classed

    @property
    def _known_classes(self) -> Classes | None:
        """The classes of words as the vocabulary has them."""
        return self.classes

    @property
    def own_settings(self) -> VocabularySettings:
        """How its vocabulary is made: with the classes, if it has any."""
        settings, classes = self.vocabulary_settings, self._known_classes
        return replace(settings, rule=ClassedRule(settings.rule, classes)) if classes else settings

    def _know_classes(self) -> None:
        if not self._classes or not self.is_initialized:
            return
        rule = self.own_settings.rule
        assert isinstance(rule, ClassedRule)
        self._vocabulary = self.vocabulary.with_rule(rule)
        known = [path_of(rule.classes, word) for word in self.vocabulary.words]
        self._paths = [*known, *map(path_in, self.vocabulary.classes)]
        self.conditionals = {
            name: replace(each, elements=self.reading(each.elements))
            for name, each in self._conditionals(is_classed=True).items()
        }
        # Views are of the seating alone, and may be mapped already.
        self._frozen = None

    def reading(self, elements: np.ndarray) -> np.ndarray:
        """Elements as they are read with the classes that it has."""
        return self._with_classes(elements, self._paths) if self._classes else elements

    @property
    def is_initialized(self) -> bool:
        """Whether the model knows its words, tags and labels."""
        return self._vocabulary is not None

    @property
    def vocabulary(self) -> Vocabulary:
        """The words."""
        if self._vocabulary is None:
            raise ValueError(_UNTRAINED)
        return self._vocabulary

    @property
    def encoder(self) -> Encoder:
        """What its numbers stand for."""
        return Encoder(self.vocabulary, self.labels)

    def first_weights(self) -> dict[str, Weights]:
        """Weights before any are learned, by distribution."""
        # Gates read tags.
        symbols = len(self.tags) + self.other_symbols
        return {name: each.first_weights(symbols, self.pools.first_weight) for name, each in self.conditionals.items()}

    # Seating

    def _seat(self, seated: dict[str, Franchise] | None, packed: dict[str, Any] | None) -> None:
        """Begin with the seating of each distribution, or as it was stored: most of those who load a model only predict, by views."""
        self._seated, self._packed = seated, packed
        self.draws = np.zeros(2, dtype=np.int64)
        self._drop_frozen()

    @property
    def franchises(self) -> dict[str, Franchise]:
        """The seating of each distribution.

        RAISES (ValueError): If there is none; or if it has not been needed so far, and what was stored is damaged.
        """
        # The distributions learn in threads of their own, which may all be the first to ask.
        with _UNPACKING:
            if self._seated is None:
                if self._packed is None:
                    raise ValueError(_UNTRAINED)
                self._seated, self._packed = self._unpack(self._packed), None
            return self._seated

    def _unpack(self, packed: dict[str, Any]) -> dict[str, Franchise]:
        sizes, how = self.sizes, {"one_table": self.one_table, "own_tables": self.own_tables}

        def read(name: str) -> Franchise:
            try:
                return unpack(packed[name], self.conditionals[name].columns, sizes[name], **how)
            except ValueError as error:
                raise ValueError(f"its {name} distribution is damaged: {error}") from error

        with ThreadPoolExecutor() as executor:
            return dict(zip(self.conditionals, executor.map(read, self.conditionals)))

    def check(self) -> None:
        """See that what was stored is a seating.

        RAISES (ValueError): If it is damaged.
        """
        _ = self.franchises

    def pack(self) -> dict[str, Any]:
        """The seating as dictionaries that srsly can write, by distribution."""
        return self._packed or {name: pack(franchise) for name, franchise in self.franchises.items()}

    def word_counts(self) -> np.ndarray:
        """How often each word is seated, if words are generated (int64[words])."""
        return dish_counts(self.franchises["word"])

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
                made = executor.map(lambda name: self.conditionals[name].view(self.franchises[name]), self.conditionals)
                self._views = dict(zip(self.conditionals, made))
        return self._views

    @property
    def has_views(self) -> bool:
        """Whether there are frozen views already."""
        return self._views is not None

    def use_views(self, views: Mapping[str, View], mapped: MappedFile | None = None) -> None:
        """Predict by views that were made of this seating before, by distribution, and may be mapped from a file."""
        self._drop_frozen()
        self._views, self._mapped = views, mapped

    @property
    def frozen(self) -> Any:
        """The model as it predicts now."""
        return self.freeze(self.weights)

    def freeze(self, weights: Mapping[str, Weights]) -> Any:
        """The model as it predicts with some weights, see `predicting`, made when it is first asked for."""
        return self.guard.read(lambda: self._freeze(weights))

    def _freeze(self, weights: Mapping[str, Weights]) -> Any:
        now, views = {name: weights[name] for name in self.conditionals}, self.views
        if self._frozen is None or not _equal(self._frozen[0], now):
            now = {name: Weights(*(part.copy() for part in own)) for name, own in now.items()}
            pools = {name: self.conditionals[name].frozen(view, now[name]) for name, view in views.items()}
            self._frozen = now, self.predicting(pools)
        return self._frozen[1]

    # Learning

    def _drop_frozen(self) -> None:
        self._views: Mapping[str, View] | None = None
        self._mapped: MappedFile | None = None
        self._frozen: tuple[dict[str, Weights], Any] | None = None

    def pool(self, name: str, weights: Mapping[str, Weights], gradient: Mapping[str, Weights]) -> SeatedPool:
        """A distribution to be learned from now.

        name (str): Its name.
        weights, gradient (Mapping[str, Weights]): By distribution, see `SeatedPool`.
        """
        self._drop_frozen()
        return self.conditionals[name].seated(self.franchises[name], weights[name], gradient[name])

    def reserve(self, tokens: int, distributions: Sequence[str] | None = None) -> None:
        """Make room for the events of some tokens, before they are seated, in all distributions or some."""
        for name in self.conditionals if distributions is None else distributions:
            events = self.conditionals[name].events_of_word * int(tokens)
            self.franchises[name] = reserve(self.franchises[name], events)

    def resample(self, rng: np.random.Generator) -> None:
        """Slice-sample the discounts and strengths of all distributions, unless they are fixed.

        RAISES (ValueError): If there is nothing to be sampled from, see `hpyp.hyperparameters.resample`.
        """
        if not self.resampled:
            return
        self._drop_frozen()
        for name, franchise in self.franchises.items():
            try:
                resample(franchise, rng)
            except ValueError as error:
                raise ValueError(f"The {name} distribution cannot learn any more. {error}") from error

    def visit(
        self,
        sentences: Sentences,
        derivations: Any,
        seated: np.ndarray,
        rng: np.random.Generator,
        threads: int = 1,
        distributions: Sequence[str] | None = None,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One Gibbs step for each customer of some sentences; a sentence that is not seated is added.

        sentences (Sentences): The sentences.
        derivations (Any): How they are derived.
        seated (bool[sentences]): Which of them are seated.
        rng (numpy.random.Generator): The source of randomness.
        threads (int): How many threads share the distributions; the result does not depend on it.
        distributions (Sequence[str] | None): Which distributions learn, if not all of them.
        RETURNS (tuple): By distribution, the sum of the log-probabilities of its events in nats, and the gradient of it with
            respect to the weights. An event is predicted from all other sentences and the events before it; but where there
            are no weights to learn and the seating is sampled, it is predicted from everything else.
        RAISES (ValueError): If a sentence that should be seated is not.
        """
        weights = dict(self.weights)
        gradient = no_gradient(weights)
        names = [*self.conditionals] if distributions is None else distributions

        def visit_one(name: str, generator: np.random.Generator) -> float:
            total = 0.0
            for some, chunk in _chunks(sentences):
                self.reserve(chunk.offsets[-1] - chunk.offsets[0], [name])
                pool = self.pool(name, weights, gradient)
                generated = self.generated(name, chunk, derivations)
                log_probability, visited = visit_sentences(pool, generated, seated[some], generator)
                if visited < len(seated[some]):
                    raise ValueError(_NOT_SEATED)
                total += log_probability
            return total

        with ThreadPoolExecutor(threads) as executor:
            totals = list(executor.map(visit_one, names, rng.spawn(len(names))))
        return dict(zip(names, totals)), gradient

    def visit_latent(
        self,
        sentences: Sentences,
        derivations: Any,
        seated: np.ndarray,
        rng: np.random.Generator,
        **how: Any,
    ) -> tuple[dict[str, float], dict[str, Weights]]:
        """One step for the derivation of each of some sentences, and for its customers.

        sentences (Sentences), seated (bool[sentences]), rng (numpy.random.Generator): As for `visit`.
        derivations (Any): How they are derived; overwritten with the new derivations.
        **how: What `draw` is told besides.
        RETURNS (tuple), RAISES (ValueError): As `visit`.
        """
        weights = dict(self.weights)
        gradient = no_gradient(weights)
        totals = np.zeros(len(self.conditionals))
        for some, chunk in _chunks(sentences):
            # For each sentence there is what is proposed, besides what it has.
            self.reserve(2 * (chunk.offsets[-1] - chunk.offsets[0]))
            pools = {name: self.pool(name, weights, gradient) for name in self.conditionals}
            visited = self.draw(pools, chunk, derivations, seated[some], rng, totals, **how)
            if visited < len(seated[some]):
                raise ValueError(_NOT_SEATED)
        return dict(zip(self.conditionals, totals.tolist())), gradient

    def _views_without(
        self, sentences: Sentences, derivations: Any, rng: np.random.Generator, threads: int
    ) -> dict[str, View]:
        """What there would be to predict by if some sentences were not seated, by distribution, without changing what is; see `visit`."""
        weights = dict(self.weights)
        gradient = no_gradient(weights)

        def view(name: str, generator: np.random.Generator) -> View:
            conditional = self.conditionals[name]
            franchise = Franchise(*(part.copy() for part in self.franchises[name]))
            for _, chunk in _chunks(sentences):
                franchise = reserve(franchise, conditional.events_of_word * int(chunk.offsets[-1] - chunk.offsets[0]))
                pool = conditional.seated(franchise, weights[name], gradient[name])
                if not remove_sentences(pool, self.generated(name, chunk, derivations), generator):
                    raise ValueError(_NOT_SEATED)
            return conditional.view(franchise)

        # What a view is made with takes more memory than the view: only two at a time.
        with ThreadPoolExecutor(min(threads, 2)) as executor:
            views = list(executor.map(view, self.conditionals, rng.spawn(len(self.conditionals))))
        return dict(zip(self.conditionals, views))

    # Storage

    def _join(self, model: Model, attribute: str) -> None:
        self.weights = Parameters(model, attribute)
        if self.is_initialized:
            self.check()

    def _write(self) -> Message:
        if not self.is_initialized:
            return {}
        return {
            **vocabulary_to_message(self.vocabulary),
            "labels": self.labels,
            "distributions": self.pack(),
            **self._classed(),
            **self.training.write(self.progress.values()),
        }

    def _read(self, message: Message) -> None:
        """The weights of pools are not part of the message: they are those of `first_weights`. The seating is not read yet."""
        self._read_classed(message)
        labels = labels_from_message(message)
        vocabulary = vocabulary_from_message(message, self.vocabulary_settings.rule)
        distributions = part(message, "distributions", dict)
        self.initialize(labels, vocabulary, {name: part(distributions, name, dict) for name in self.conditionals})
        values = self.training.read(message, {})
        self.progress = Progress.of_values(values, self._is_derivation, self.drawn)


def _equal(some: Mapping[str, Weights], others: Mapping[str, Weights]) -> bool:
    return all(np.array_equal(a, b) for name in some for a, b in zip(some[name], others[name]))


def _chunks(sentences: Sentences) -> Iterator[tuple[slice, Sentences]]:
    """A sentence at least, and otherwise no more than a chunk, so that little room is reserved in vain."""
    start, offsets = 0, sentences.offsets
    while start < len(offsets) - 1:
        end = max(start + 1, int(np.searchsorted(offsets, offsets[start] + _CHUNK)) - 1)
        yield slice(start, end), sentences._replace(offsets=offsets[start : end + 1])
        start = end
