"""Base classes of components: settings, training, scores and storage."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal

import srsly
from spacy import util
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.pipeline.trainable_pipe import TrainablePipe
from spacy.tokens import Doc
from spacy.training import Example, validate_examples
from spacy.vocab import Vocab
from thinc.api import Model, Optimizer

from ..annotation.syntactic_words import WordsInFlight
from ..interrupts import interrupts_deferred
from ..memory import collecting_rarely, giving_back
from ..settings import Settings
from ..storage import blaming, replace_file, with_checksum, without_checksum
from ..stored import ClassedModel, StoredModel
from ..text.word_classes import classes_in
from .alignment import example_of_words

#: Returns examples, as spaCy passes it to `initialize`.
Getter = Callable[[], Iterable[Example]]
#: Tags and labels, under "tags" and "labels".
LabelData = dict[str, list[str]]


def components_before(component: Any, nlp: Language | None) -> list[tuple[str, Any]]:
    """Return names and components before one in a pipeline, also disabled ones; all without it."""
    components = [] if nlp is None else nlp.components
    return list(takewhile(lambda each: each[1] is not component, components))


class StoredPipe(Pipe):
    """A component without a model, whose `state` is stored in one file.

    A subclass defines `file` (the name), `state` (for msgpack) and `_restore`; `exclude` is unused.
    """

    file: ClassVar[str]
    state: Any

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Serialize the component."""
        return srsly.msgpack_dumps(self.state)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "StoredPipe":
        """Load the component from bytes. RAISES (ValueError): If they are damaged."""
        with blaming(f"The component '{self.name}' cannot be read"):
            self._restore(srsly.msgpack_loads(data))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the component to a directory. Its file replaces an old one when it is complete."""
        Path(path).mkdir(parents=True, exist_ok=True)
        replace_file(Path(path) / self.file, self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "StoredPipe":
        """Load the component from a directory."""
        return self.from_bytes((Path(path) / self.file).read_bytes())


def _setting_as_attribute(name: str) -> property:
    return property(
        lambda component: getattr(component.settings, name),
        lambda component, value: component.change(**{name: value}),
    )


class TrainableComponent(TrainablePipe):
    """A component that learns from examples, and whose settings are attributes.

    A changed setting is saved with the component. On loading, the config wins where it has changed
    since, so that `spacy.load(path, config=...)` overrides a setting.

    A subclass is registered in `factories`. It defines `factory` (its name for spaCy),
    `settings_type` (the dataclass of its settings), `attribute` (the attribute of the thinc Model
    that holds the model), spaCy's `initialize`, `predict` and `set_annotations`, and `_learn_from`.
    `update` calls that with examples, `drop` and `losses`; it reports its loss to `_count_loss` and
    returns whether to call `_end_pass`.

    vocab (Vocab), model (Model): The pipeline's vocabulary, and a thinc Model of one layer.
    name (str): The name of the component, by default that of its factory.
    nlp (Language | None): Its pipeline, kept if the component looks for others in it.
    scorer (Callable | None): Called by `score`.
    **settings: Those of `settings_type`, see `spacy_hpyp.pipeline.settings`.
    RAISES (ValueError, TypeError): If a setting has no valid value; if there is no such setting.
    """

    factory: ClassVar[str]
    settings_type: ClassVar[type[Settings]]
    attribute: ClassVar[str]
    keeps_pipeline: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        for declared in fields(getattr(cls, "settings_type", Settings)):
            setattr(cls, declared.name, _setting_as_attribute(declared.name))

    def __init__(
        self,
        vocab: Vocab,
        model: Model,
        name: str = "",
        *,
        nlp: Language | None = None,
        scorer: Callable | None = None,
        **settings: Any,
    ) -> None:
        self.vocab = vocab
        self.model = model
        self.name = name or self.factory
        self.nlp = nlp if self.keeps_pipeline else None
        self.cfg: dict[str, Any] = {}
        self.scorer = scorer
        self.settings: Any = self.settings_type()
        self.change(**settings)
        self._given = self.settings
        self._reset_training()

    @property
    def learned(self) -> Any:
        """The model."""
        model = self.model.attrs[self.attribute]
        if isinstance(model, ClassedModel) and model.is_classed and model.classes is None:
            # Classes may be missing: a sourced component is added before the vocabulary is read.
            classes = classes_in(self.vocab)
            if classes is not None:
                model.classes = classes
        return model

    def _new_model(self) -> Any:
        """Return an untrained model with the same settings, and the pipeline's word classes."""
        model = self.learned.untrained()
        if isinstance(model, ClassedModel):
            model.use_classes(classes_in(self.vocab))
        return model

    def change(self, **settings: Any) -> None:
        """Change several settings, or none of them after an error.

        RAISES (ValueError): If a value is not valid, or the model does not allow it.
        RAISES (TypeError): If there is no such setting.
        """
        try:
            changed = replace(self.settings, **settings)
            self._check_settings(changed)
        except ValueError as error:
            raise ValueError(f"Settings of the component '{self.name}': {error}") from error
        self.settings = changed

    # Defined by subclasses

    def _check_settings(self, settings: Settings) -> None:
        """Check settings. RAISES (ValueError): If they contradict each other or the model."""

    @property
    def is_trained(self) -> bool:
        """Whether the component can predict."""
        return self.learned.is_initialized

    def _end_pass(self) -> None:
        """Learn what is learned once in a pass over the training data."""

    def _reset_training(self) -> None:
        """Forget the state of training, for a new model."""
        self._loss = (0.0, 0)

    # Prediction

    def __call__(self, doc: Doc, **options: Any) -> Doc:
        """Predict for a document, see `pipe`."""
        return next(self.pipe([doc], **options), doc)

    def pipe(
        self, stream: Iterable[Doc], *, batch_size: int = 128, **options: Any
    ) -> Iterator[Doc]:
        """Predict for the syntactic words of documents, `batch_size` documents at a time.

        stream (Iterable[Doc]): The documents; they are changed and yielded. After an error the
            component's error handler is called; if it does not raise, the batch is left out.
        **options: Further arguments of `predict`, as `component_cfg` of `nlp.pipe` has them.
        """
        for docs in util.minibatch(stream, size=batch_size):
            in_flight = list(map(WordsInFlight.of, docs))
            words = [each.words for each in in_flight]
            try:
                self.set_annotations(words, self.predict(words, **options))
                for each, doc in zip(in_flight, docs):
                    each.write_back(doc)
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)
            else:
                yield from docs

    # Training

    def update(
        self,
        examples: Iterable[Example],
        *,
        drop: float = 0.0,
        sgd: Optimizer | Literal[False] | None = None,
        losses: dict[str, float] | None = None,
    ) -> dict[str, float]:
        """Learn from examples.

        examples (Iterable[Example]): The reference documents have the gold annotation.
        drop (float): Dropout rate, for components that have dropout.
        sgd (Optimizer | Literal[False] | None): Updates parameters that have gradients. Without
            one, `finish_update` does it.
        losses (dict[str, float] | None): Gets, under the component's name, the mean loss of all
            updates since the name was last missing.
        RETURNS (dict[str, float]): The losses.
        RAISES (ValueError): If the component is not initialized, or word classes are missing.
        """
        losses = {} if losses is None else losses
        if self.name not in losses:
            self._loss = (0.0, 0)
            losses[self.name] = 0.0
        examples = self._examples(examples, "update")
        self._check_trained()
        with interrupts_deferred():
            is_passed = self._learn_from(examples, drop, losses)
            if sgd:
                self.finish_update(sgd)
            if is_passed:
                self._end_pass()
        return losses

    def _count_loss(self, losses: dict[str, float], loss: float, count: int) -> None:
        """Add the loss of an update, summed over `count` items, and enter the mean in `losses`."""
        self._loss = (self._loss[0] + loss, self._loss[1] + count)
        losses[self.name] = self._loss[0] / max(1, self._loss[1])

    def finish_update(self, sgd: Optimizer) -> None:
        """Update the parameters by the gradients that `update` has kept."""
        with interrupts_deferred():
            self.model.finish_update(sgd)

    def _check_trained(self) -> None:
        """RAISES (ValueError): If the component is untrained, or its word classes are missing."""
        if not self.is_trained:
            raise ValueError(
                f"The component '{self.name}' has not been trained. Load a trained pipeline, or "
                f"train one with 'spacy train' ('spacy init config --pipeline {self.factory}' "
                "writes a config) or with 'nlp.initialize' and 'nlp.update'."
            )
        if isinstance(self.learned, ClassedModel):
            self.learned.check_classes(f"component '{self.name}'")

    def _nothing_to_learn(self, what: str) -> ValueError:
        """Return the error that no training example has something, named by a noun phrase."""
        return ValueError(
            f"The component '{self.name}' cannot be initialized: no training example has {what}."
        )

    def _examples(self, examples: Iterable[Example], method: str) -> list[Example]:
        """Return the Examples of a method with syntactic words as tokens."""
        examples = list(examples)
        validate_examples(examples, f"{type(self).__name__}.{method}")
        tokens = getattr(self.settings, "tokens", "tokenizer")
        return [example_of_words(example, tokens) for example in examples]

    # Storage

    def _use(self, model: StoredModel) -> None:
        """Replace the model, and forget the state of training."""
        with interrupts_deferred():
            model.put_into(self.model, self.attribute)
            self._reset_training()

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Serialize the component, its settings and the state of training.

        exclude (Sequence[str]): Parts to leave out: "vocab", "model", "cfg" (the settings).
        """
        parts = {
            "cfg": self._settings_to_bytes,
            "model": lambda: with_checksum(self.model.to_bytes()),
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
        }
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Sequence[str] = ()) -> "TrainableComponent":
        """Load the component from bytes.

        RAISES (ValueError): If the model or settings are damaged, or the model is another one.
        """
        readers = {
            "model": self._read_model,
            "vocab": lambda data: self.vocab.from_bytes(data, exclude=exclude),
            "cfg": self._read_settings,
        }
        util.from_bytes(bytes_data, readers, exclude)
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the component to a directory. Each file replaces the old one when it is complete."""
        # Other components may save to the same place.
        Path(path).mkdir(parents=True, exist_ok=True)
        parts = {
            "cfg": lambda file: replace_file(file, self._settings_to_bytes()),
            "model": lambda file: replace_file(file, with_checksum(self.model.to_bytes())),
            "vocab": lambda folder: self.vocab.to_disk(folder, exclude=exclude),
        }
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "TrainableComponent":
        """Load the component from a directory.

        RAISES (ValueError): If the model or settings are damaged, or the model is another one.
        RAISES (FileNotFoundError): If there is no model.
        """
        readers = {
            "model": lambda file: self._read_model(file.read_bytes(), f" from {file}"),
            "vocab": lambda folder: self.vocab.from_disk(folder, exclude=exclude),
            # The settings may be missing.
            "cfg": lambda file: (
                file.exists() and self._read_settings(file.read_bytes(), f" from {file}")
            ),
        }
        util.from_disk(path, readers, exclude)
        return self

    def _settings_to_bytes(self) -> bytes:
        # The standard library's: srsly writes no arbitrarily large integers, such as seeds.
        return json.dumps({"given": asdict(self._given), "set": asdict(self.settings)}).encode()

    def _read_settings(self, data: bytes, where: str = "") -> None:
        """Take the saved settings, but for those whose config has changed since."""
        with blaming(f"The settings of the component '{self.name}' cannot be read{where}"):
            saved, given = json.loads(data), asdict(self._given)
            found = saved["set"].items()
            self.change(**{key: value for key, value in found if saved["given"][key] == given[key]})

    @giving_back
    @collecting_rarely()
    def _read_model(self, data: bytes, where: str = "") -> None:
        try:
            with interrupts_deferred():
                self.model.from_bytes(without_checksum(data))
                self._reset_training()
        except ValueError as error:
            raise ValueError(
                f"The model of the component '{self.name}' cannot be read{where}: {error}. "
                "It is damaged, or of another version or config; train or install it again."
            ) from error
