"""The model of words with latent states and its registered architecture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from spacy.tokens import Doc
from spacy.util import registry
from thinc.api import Model

from ..annotation.uncased_words import UncasedWords, read_uncased
from ..compiled import NONE
from ..hpyp.hyperparameters import resample
from ..hpyp.storage import pack, unpack
from ..settings import OneOf, Settings, Whole, setting, taking
from ..stored import Message, StoredModel, model_holding
from ..text.unknown_words import UnknownWordRule
from ..text.vocabulary import Vocabulary, VocabularySettings
from .states import (
    DEPENDENCIES,
    KINDS,
    OF_PARENTS,
    Dependents,
    StateModel,
    believe_states,
    new_model,
    parse_sentences,
    sweep,
    word_counts,
)


@dataclass(frozen=True)
class StateModelSettings(Settings):
    """All settings of `spacy-hpyp.LatentStates.v1`."""

    kind: str = setting("semantic", OneOf(KINDS))
    states: int = setting(50, Whole(1, 10_000))
    min_count: int = setting(2, Whole(0))


#: The attribute of a thinc Model that holds a `LatentStates`.
LATENT_STATES = "latent_states"
# The sweeps of `Model.predict`, which has no component's settings.
_SWEEPS_OF_DOCS = 2


@dataclass
class StateTraining:
    """The progress of training."""

    documents: dict[bytes, int] = field(default_factory=dict)  # Numbers of seated documents, by key
    states: list[np.ndarray] = field(default_factory=list)  # int32[words] for each document
    size: int = 0  # The number of words of the training part
    visited: int = 0  # The number of words resampled since the strengths were
    steps: int = 0  # The number of calls of `LatentStates.visit`


class LatentStates(StoredModel):
    """A model of words with latent states (Wallach et al. 2008), see `head_outward.states`.

    kind (str), states (int): One of the `KINDS` of models, and the number of states.
    reads_parents (bool): Whether words depend on their parents.
    vocabulary (Vocabulary | None), seating (StateModel | None): The words, and the seating of words
        and states; None before `initialize`.
    RAISES (ValueError): If `states` is not 1 for the kind `DEPENDENCIES`.
    """

    def __init__(self, kind: str, states: int, vocabulary_settings: VocabularySettings) -> None:
        if kind == DEPENDENCIES and states != 1:
            raise ValueError(f"The kind '{kind}' has no states. Set 'states' to 1, not {states}.")
        self.kind, self.reads_parents = kind, kind in OF_PARENTS
        self.states = states
        self.vocabulary_settings = vocabulary_settings
        super().__init__()

    def _forget(self) -> None:
        self.training = StateTraining()
        self.vocabulary: Vocabulary | None = None
        self.seating: StateModel | None = None

    @property
    def is_initialized(self) -> bool:
        """Whether the model has a vocabulary."""
        return self.vocabulary is not None

    def initialize(self, vocabulary: Vocabulary, seating: StateModel | None = None) -> None:
        """Set the vocabulary and the seating, by default an empty one; forget previous training."""
        self.vocabulary = vocabulary
        self.seating = seating or new_model(self.kind, self.states, len(vocabulary))
        self.training = StateTraining()

    def collect(self, texts: Iterable[UncasedWords]) -> Vocabulary:
        """Return the vocabulary of texts by the model's settings."""
        untagged = ((words.forms, [0] * len(words.forms)) for words in texts)
        return Vocabulary.collect(untagged, ["_"], self.vocabulary_settings)

    def usable(self, words: UncasedWords) -> UncasedWords:
        """Return the words, without sentences with incomplete trees if the model reads parents."""
        return words.complete() if self.reads_parents else words

    def visit(
        self, texts: Sequence[tuple[bytes, UncasedWords]], rng: np.random.Generator
    ) -> np.ndarray:
        """Resample the state of every word of some documents; new documents are seated.

        texts (Sequence[tuple[bytes, UncasedWords]]): Unique keys and documents, see `usable`.
        RETURNS (float64[words]): The probability of each word given all other seated words.
        """
        training = self.training
        numbers = [training.documents.setdefault(key, len(training.documents)) for key, _ in texts]
        for number, (_, words) in zip(numbers, texts):
            if number == len(training.states):
                training.states.append(np.full(len(words.forms), NONE, dtype=np.int32))
        dependents = self.encode([words for _, words in texts], numbers)
        state = np.concatenate(
            [np.empty(0, dtype=np.int32), *(training.states[number] for number in numbers)]
        )
        probability = np.empty(len(state))
        self.seating = sweep(self.seating, dependents, state, rng, probability)
        ends = np.cumsum([len(words.forms) for _, words in texts])
        for number, states in zip(numbers, np.split(state, ends[:-1])):
            training.states[number] = states.copy()
        training.visited += len(state)
        training.steps += 1
        return probability

    def end_sweep(self, rng: np.random.Generator) -> None:
        """Sample the strengths of the priors, and count resampled words from 0 again."""
        resample(self.seating.states, rng)
        resample(self.seating.words, rng)
        self.training.visited = 0

    def encode(self, texts: Sequence[UncasedWords], numbers: Sequence[int]) -> Dependents:
        """Return documents as arrays, given the number of each."""
        sizes = [len(words.forms) for words in texts]
        starts = np.cumsum([0, *sizes])
        heads = np.concatenate([np.empty(0, dtype=np.int32), *(text.heads for text in texts)])
        words = [number for text in texts for number in self.vocabulary.numbers(text.forms)]
        ends = [text.offsets[1:] + start for text, start in zip(texts, starts)]
        return Dependents(
            word=np.array(words, dtype=np.int32),
            head=np.where(heads == NONE, NONE, heads + starts.repeat([*sizes, 0])).astype(np.int32),
            document=np.repeat(np.array(numbers, dtype=np.int32), sizes),
            offsets=np.concatenate([[0], *ends]).astype(np.int64),
        )

    def find_states(
        self, words: UncasedWords, sweeps: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the most probable state of each word of a document, with fixed counts.

        words (UncasedWords): The words, with parents if the model reads them.
        sweeps (int): Gibbs sweeps if states depend on the document, at least 2.
        RETURNS (tuple[int64[n], float64[n]]): The states, and the log-probability of each word in
            nats, see `believe_states`.
        """
        dependents = self.encode([words], [0])
        parent = np.where(
            dependents.head == NONE, self.seating.root, dependents.word[dependents.head]
        )
        belief, log_probability = np.empty((len(parent), self.states)), np.empty(len(parent))
        words = dependents.word, parent.astype(np.int32)
        believe_states(self.seating, *words, sweeps, rng, belief, log_probability)
        return np.argmax(belief, axis=1), log_probability

    def parse(self, text: UncasedWords) -> np.ndarray:
        """Return the heads of the best trees, as of a new document (int32[n]: positions in it)."""
        dependents = self.encode([text], [0])
        parse_sentences(self.seating, dependents.word, dependents.offsets, dependents.head)
        return dependents.head

    def top_words(self, count: int) -> list[list[tuple[str, float]]]:
        """Return at most `count` top words of each state with p(word | state).

        They are ordered by p(word | state) log(p(word | state) / p(word)).
        """
        counts = word_counts(self.seating).astype(np.float64)
        overall = counts.sum(axis=0) / max(1.0, counts.sum())
        top = []
        for row in counts:
            probability = row / max(1.0, row.sum())
            gain = np.full(len(row), -np.inf)
            used = np.flatnonzero(row)
            gain[used] = probability[used] * np.log(probability[used] / overall[used])
            best = np.argsort(-gain, kind="stable")[: min(count, len(used))].tolist()
            top.append([(self.vocabulary.name(i), float(probability[i])) for i in best])
        return top

    # Storage

    def _fixed(self) -> Message:
        return {"kind": self.kind, "states": self.states}

    def _write(self) -> Message:
        return {
            "vocabulary": self.vocabulary.to_dict(),
            "seating": [pack(self.seating.states), pack(self.seating.words)],
            "training": {**vars(self.training), "documents": [*self.training.documents]},
        }

    def _read(self, message: Message) -> None:
        vocabulary = Vocabulary.from_dict(message["vocabulary"], self.vocabulary_settings.rule)
        empty = new_model(self.kind, self.states, len(vocabulary))
        states, words = map(unpack, message["seating"], (empty.states, empty.words))
        self.initialize(vocabulary, empty._replace(states=states, words=words))
        training = message["training"]
        training["documents"] = {key: number for number, key in enumerate(training["documents"])}
        self.training = StateTraining(**training)


@registry.architectures("spacy-hpyp.LatentStates.v1")
@taking(StateModelSettings)
def LatentStatesModel(
    unknown_words: UnknownWordRule, **settings: Any
) -> Model[list[Doc], list[np.ndarray]]:
    """Make a model of words with latent states (Wallach et al. 2008).

    unknown_words (UnknownWordRule): Maps rare words to classes.
    **settings: See `StateModelSettings`.
    RETURNS (Model): Maps Docs with trees to the states of their words (int64[words] each).
    RAISES (ValueError): If a setting is invalid, or `states` does not suit the `kind`.
    """
    checked = StateModelSettings(**settings)
    vocabulary = VocabularySettings(unknown_words, checked.min_count)
    model = LatentStates(checked.kind, checked.states, vocabulary)
    return model_holding(model, "latent_states", LATENT_STATES, _find)


def _find(model: LatentStates, docs: list[Doc]) -> list[np.ndarray]:
    return [
        model.find_states(read_uncased(doc), _SWEEPS_OF_DOCS, np.random.default_rng(0))[0]
        for doc in docs
    ]
