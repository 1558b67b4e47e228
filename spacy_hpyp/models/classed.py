"""What the models have in common that read classes of words: those that they have learned with, and no others."""

from abc import abstractmethod

from ..storage.schema import Message, part
from ..text.word_classes import Classes
from .stored import StoredModel


class ClassedModel(StoredModel):
    """A model that reads classes of words (`text.word_classes`), if the pipeline has some when it is initialized, and then always.

    A subclass defines `_read_with`, calls `use_classes` when its settings are known, and keeps `_classed` in its messages.

    is_classed (bool): Whether it has learned with classes, or is going to.
    """

    is_classed = False
    _classes: Classes | None = None
    _learned_with: list[int] | None = None

    @abstractmethod
    def _read_with(self, *, is_classed: bool) -> bool:
        """Read all that its lists name, or all but classes. Returns whether it needs classes then."""

    def _know_classes(self) -> None:
        """Read other classes than before; not every model has anything to do for that."""

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
                f"The classes of words of the pipeline, of {len(classes):,} words, are not those that its components have learned with, of "
                f"{self._learned_with[0]:,} words. Read the same file as when they were trained."
            )
        self._classes = classes
        self._know_classes()

    def check_classes(self, called: str = "model") -> None:
        """See that it has classes, if it has learned with some: compiled code would read them behind the end of what has none.

        called (str): What errors call it.
        RAISES (ValueError): If it has not.
        """
        if self.is_classed and self._classes is None:
            raise ValueError(
                f"The {called} reads classes of words, but the pipeline has none. They are in the vocabulary of the pipeline that it was "
                "trained in: read them by [initialize.before_init], or take the vocabulary of that pipeline (exclude=[] when it is saved and loaded)."
            )

    def _classed(self) -> Message:
        """The parts of a message, none without classes. Which classes these are the vocabulary of the pipeline says, that may be another one by now."""
        return {"classed": True, "learned_with": self._learned_with} if self.is_classed else {}

    def _read_classed(self, message: Message) -> None:
        """Learn what `_classed` has written; files of earlier versions do not have all of it."""
        self._classes, given = None, message.get("learned_with")
        self._learned_with = None if given is None else part(message, "learned_with", list)
        self.is_classed = self._read_with(is_classed=message.get("classed") is True)


def _size_of(classes: Classes | None) -> list[int] | None:
    """How many words classes have, and how often these have been counted: other classes of words have not both."""
    return None if classes is None else [len(classes), sum(count for _, _, count in classes.values())]
