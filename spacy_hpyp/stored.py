"""Models held by attributes of thinc Models, and saved with all that they have learned."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, TypeVar

from spacy.tokens import Doc
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from .storage import dump, load
from .text.word_classes import Classes

Message = dict[str, Any]
_Stored = TypeVar("_Stored", bound="StoredModel")


class StoredModel(ABC):
    """A model that an attribute of a thinc Model holds.

    A subclass defines `_forget`, `_write` and `_read`, and calls `_forget` when its settings are
    known.
    """

    def __init__(self) -> None:
        self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """Forget everything but the settings."""

    @property
    def is_initialized(self) -> bool:
        """Whether there is something to store."""
        return True

    @abstractmethod
    def _write(self) -> Message:
        """Return the learned parts of a message."""

    @abstractmethod
    def _read(self, message: Message) -> None:
        """Read what `_write` wrote."""

    def _fixed(self) -> Message:
        """Return settings that cannot change after training, by name, as srsly reads them."""
        return {}

    def untrained(self: _Stored) -> _Stored:
        """Return an untrained model with the same settings."""
        other = copy(self)
        other._forget()
        return other

    def to_bytes(self) -> bytes:
        """Serialize all that training needs to go on, but for parameters of the thinc Model."""
        learned = self._write() if self.is_initialized else {}
        return dump({"fixed": self._fixed(), "learned": learned})

    def from_bytes(self: _Stored, data: bytes) -> _Stored:
        """Read what `to_bytes` wrote; the bytes are trusted.

        RETURNS (StoredModel): A new model with the settings of this one, which stays as it is.
        RAISES (ValueError): If the bytes belong to a model with other settings.
        """
        message = load(data)
        for name, value in self._fixed().items():
            if message["fixed"].get(name) != value:
                raise ValueError(
                    f"its setting '{name}' differs from the config and cannot change after training"
                )
        loaded = self.untrained()
        if message["learned"]:
            loaded._read(message["learned"])
        return loaded

    def compact(self) -> None:  # noqa: B027
        """Forget what only further training needs, where that is most of the model."""

    def put_into(self, model: Model, attribute: str) -> None:
        """Become an attribute of a thinc Model."""
        model.attrs[attribute] = self


def model_holding(
    learned: StoredModel, name: str, attribute: str, predict: Callable[[Any, list[Doc]], Any]
) -> Model[list[Doc], Any]:
    """Return a thinc Model whose attribute holds a model.

    predict (Callable): Maps the model and Docs to predictions, without a component's settings.
    """
    model = Model(name, partial(_forward, attribute, predict))
    learned.put_into(model, attribute)
    return model


def _forward(
    attribute: str, predict: Callable, model: Model, docs: list[Doc], is_train: bool
) -> tuple[Any, Callable]:
    """Predict. There is nothing to propagate back: these models learn in other ways."""
    return predict(model.attrs[attribute], docs), lambda gradient: gradient


@serialize_attr.register(StoredModel)
def _serialize(_: StoredModel, value: StoredModel, name: str, model: Model) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(StoredModel)
def _deserialize(default: StoredModel, value: bytes, name: str, model: Model) -> StoredModel:
    loaded = default.from_bytes(value)
    loaded.put_into(model, name)
    return loaded


class ClassedModel(StoredModel):
    """A model that reads word classes (`text.word_classes`) if it was initialized with some.

    A subclass defines `_read_with`, and keeps `_classed` in its messages.

    is_classed (bool): Whether it reads classes.
    """

    is_classed = False
    _classes: Classes | None = None
    _learned_with: list[int] | None = None

    @abstractmethod
    def _read_with(self, *, is_classed: bool) -> bool:
        """Use the lists with or without their classes. Returns whether they need classes."""

    def _know_classes(self) -> None:
        """Adapt to other classes than before; not every model has to."""

    def __init__(self) -> None:
        self.use_classes(None)

    def use_classes(self, classes: Classes | None) -> None:
        """Forget everything, to learn with or without word classes."""
        self._classes, self._learned_with = classes, _size_of(classes)
        self.is_classed = self._read_with(is_classed=classes is not None)
        self._forget()

    @property
    def classes(self) -> Classes | None:
        """The classes, None without any or before the vocabulary is loaded.

        RAISES (ValueError): If set to others than it has learned with.
        """
        return self._classes

    @classes.setter
    def classes(self, classes: Classes) -> None:
        if self._learned_with is not None and self._learned_with != _size_of(classes):
            raise ValueError(
                f"The components learned with other classes of words ({self._learned_with[0]:,} "
                f"words, not {len(classes):,}). Read the file that they were trained with."
            )
        self._classes = classes
        self._know_classes()

    def check_classes(self, called: str = "model") -> None:
        """Raise a ValueError, with `called` as its name, if it reads classes and has none."""
        if self.is_classed and self._classes is None:
            raise ValueError(
                f"The {called} reads classes of words, but the pipeline has none. Read them in "
                "[initialize.before_init], or use the vocabulary of the pipeline it was trained in."
            )

    def _classed(self) -> Message:
        """Return a part of a message; the vocabulary of the pipeline has the classes themselves."""
        return {"classes": self._learned_with if self.is_classed else None}

    def _read_classed(self, message: Message) -> None:
        """Read what `_classed` wrote."""
        self._classes, self._learned_with = None, message["classes"]
        self.is_classed = self._read_with(is_classed=self._learned_with is not None)


def _size_of(classes: Classes | None) -> list[int] | None:
    """Return the number of words and their total count, by which classes are recognised."""
    if classes is None:
        return None
    return [len(classes), sum(count for _, _, count in classes.values())]
