"""What the models of this package have in common: a thinc Model holds them, and they are saved with
all that they have learned.

Those that read classes of words read the ones that they have learned with, and no others.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any, ClassVar, TypeVar

from spacy.tokens import Doc
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from ..storage import dump, load
from ..text.word_classes import Classes
from .messages import Message

_Stored = TypeVar("_Stored", bound="StoredModel")


class StoredModel(ABC):
    """A model that an attribute of a thinc Model holds.

    A subclass says what it is called, defines `_forget`, `_write` and `_read`, and calls `_forget`
    when its settings are known.
    """

    #: What errors call it, with an article.
    called: ClassVar[str] = "a model"
    #: The format of its files.
    format: ClassVar[int] = 1
    #: The part of a message that there is if there is anything to be read; none if there always is.
    learned: ClassVar[str] = ""

    def __init__(self) -> None:
        self._forget()

    @abstractmethod
    def _forget(self) -> None:
        """Forget everything but the settings."""

    @abstractmethod
    def _write(self) -> Message:
        """The parts of a message, besides those of `_fixed`."""

    @abstractmethod
    def _read(self, message: Message) -> None:
        """Learn what `_write` wrote.

        RAISES (ValueError): If it is damaged. Other errors are not the file's.
        """

    def _fixed(self) -> dict[str, tuple[Any, str]]:
        """What a trained model cannot change, by the name of the part: what it is, as srsly reads
        it, and what is wrong with a file that has another one, which that may name: {}.
        """
        return {}

    def untrained(self: _Stored) -> _Stored:
        """A model with the same settings that knows nothing yet."""
        other = copy(self)
        other._forget()
        return other

    def to_bytes(self) -> bytes:
        """The whole model, with all that training needs to go on."""
        fixed = {name: value for name, (value, _) in self._fixed().items()}
        return dump({"format": self.format, **fixed, **self._write()})

    def from_bytes(self: _Stored, data: bytes) -> _Stored:
        """Read what `to_bytes` wrote.

        RETURNS (StoredModel): A new model with the settings of this one, which stays as it is.
        RAISES (ValueError): If the bytes belong to a model with other settings.
        """
        message = load(data)
        if message["format"] != self.format:
            raise ValueError(f"it is not {self.called} of this version of spacy-hpyp")
        for name, (value, problem) in self._fixed().items():
            if message.get(name) != value:
                raise ValueError(problem.format(repr(message.get(name))))
        loaded = self.untrained()
        if not self.learned or self.learned in message:
            loaded._read(message)
        return loaded

    def compact(self) -> None:  # noqa: B027
        """Forget what only further training needs, where that is most of the model."""

    def _join(self, model: Model, attribute: str) -> None:  # noqa: B027
        """Become what an attribute of a thinc Model holds; not every model has anything to do for
        that.
        """


def model_holding(
    learned: StoredModel, name: str, attribute: str, predict: Callable[[Any, list[Doc]], Any]
) -> Model[list[Doc], Any]:
    """A thinc Model that holds a model, of which its component asks more than a thinc Model gives.

    name (str), attribute (str): That of the thinc Model, and that of its attribute.
    predict (Callable): What the model says of Docs that come without a component and its settings,
        as `spacy debug model` gives them.
    """
    model = Model(name, partial(_forward, attribute, predict))
    model.attrs[attribute] = learned
    return model


def _forward(
    attribute: str, predict: Callable, model: Model, docs: list[Doc], is_train: bool
) -> tuple[Any, Callable]:
    """There is nothing to propagate back: all of these models have other ways to learn."""
    return predict(model.attrs[attribute], docs), lambda gradient: gradient


@serialize_attr.register(StoredModel)
def _serialize(_: StoredModel, value: StoredModel, name: str, model: Model) -> bytes:
    return value.to_bytes()


@deserialize_attr.register(StoredModel)
def _deserialize(default: StoredModel, value: bytes, name: str, model: Model) -> StoredModel:
    loaded = default.from_bytes(value)
    loaded._join(model, name)
    return loaded


class ClassedModel(StoredModel):
    """A model that reads classes of words (`text.word_classes`), if the pipeline has some when it
    is initialized, and then always.

    A subclass defines `_read_with`, calls `use_classes` when its settings are known, and keeps
    `_classed` in its messages.

    is_classed (bool): Whether it has learned with classes, or is going to.
    """

    is_classed = False
    _classes: Classes | None = None
    _learned_with: list[int] | None = None

    @abstractmethod
    def _read_with(self, *, is_classed: bool) -> bool:
        """Read all that its lists name, or all but classes. Returns whether it needs classes
        then.
        """

    def _know_classes(self) -> None:
        """Read other classes than before; not every model has anything to do for that."""

    def __init__(self) -> None:
        self.use_classes(None)

    def use_classes(self, classes: Classes | None) -> None:
        """Forget everything, to learn with classes of words, or without."""
        self._classes, self._learned_with = classes, _size_of(classes)
        self.is_classed = self._read_with(is_classed=classes is not None)
        self._forget()

    @property
    def classes(self) -> Classes | None:
        """The classes, if it has them already.

        RAISES (ValueError): If it is given others than it has learned with.
        """
        return self._classes

    @classes.setter
    def classes(self, classes: Classes) -> None:
        if self._learned_with is not None and self._learned_with != _size_of(classes):
            raise ValueError(
                f"The classes of words of the pipeline, of {len(classes):,} words, are not those that its "
                f"components have learned with, of "
                f"{self._learned_with[0]:,} words. Read the same file as when they were trained."
            )
        self._classes = classes
        self._know_classes()

    def check_classes(self, called: str = "model") -> None:
        """See that it has classes, if it has learned with some: compiled code would read them
        behind the end of what has none.

        RAISES (ValueError): If it has not.
        """
        if self.is_classed and self._classes is None:
            raise ValueError(
                f"The {called} reads classes of words, but the pipeline has none. They are in the vocabulary "
                f"of the pipeline that it was "
                "trained in: read them by [initialize.before_init], or take the vocabulary of that pipeline "
                "(exclude=[] when it is saved and loaded)."
            )

    def _classed(self) -> Message:
        """The parts of a message, none without classes. Which classes these are the vocabulary of
        the pipeline says, that may be another one by now.
        """
        return {"classed": True, "learned_with": self._learned_with} if self.is_classed else {}

    def _read_classed(self, message: Message) -> None:
        """Learn what `_classed` has written."""
        self._classes, is_classed = None, message.get("classed") is True
        self._learned_with = message["learned_with"] if is_classed else None
        self.is_classed = self._read_with(is_classed=is_classed)


def _size_of(classes: Classes | None) -> list[int] | None:
    """How many words classes have, and how often these have been counted: other classes of words
    have not both.
    """
    return (
        None if classes is None else [len(classes), sum(count for _, _, count in classes.values())]
    )
