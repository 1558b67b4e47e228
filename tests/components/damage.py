"""Damaged models, and disks that fail: what the tests of all components ask of them."""

import errno
from collections.abc import Callable
from typing import Any

import srsly
from spacy.language import Language

from spacy_hpyp.storage.checksum import unpack_message


class Victim:
    """A pipeline into which damaged models are loaded. After each of them it is what it was.

    nlp (Language): The pipeline, which nobody else has.
    component (Any): The component.
    see (Callable[[], Any]): Says what the pipeline makes of a text.
    work (Callable[[], None]): Asserts that the pipeline does its work with a model that is not refused; may
        train it.
    """

    def __init__(
        self, nlp: Language, component: Any, see: Callable[[], Any], work: Callable[[], None]
    ) -> None:
        self.nlp = nlp
        self.component = component
        self.see = see
        self.work = work
        self.good = component.to_bytes(exclude=["vocab"])
        self.expected = see()

    def load(self, model: Any) -> None:
        """Read a model."""
        self.component.from_bytes(srsly.msgpack_dumps({"model": model}))

    def restore(self) -> None:
        """Read the model that it had first, with its settings."""
        self.component.from_bytes(self.good)

    def refuses(self, model: Any) -> bool:
        """Whether a model is refused, leaving the component as it was; if not, it has to work."""
        refusal = None
        try:
            self.load(model)
        except ValueError as error:
            refusal = str(error)
        if refusal is None:
            self.work()
            self.restore()
            return False
        assert f"model of the component '{self.component.name}' cannot be read" in refusal
        assert self.see() == self.expected
        assert self.component.to_bytes(exclude=["vocab"]) == self.good
        return True


def edited(model_file: bytes, name: str, edit: Callable[[Any], Any]) -> bytes:
    """A model file, without a checksum, in which the attribute of a name was edited as a dictionary.

    edit (Callable[[Any], Any]): Changes what it is given, or returns what is to take its place.
    """
    outer = unpack_message(model_file)
    inner = unpack_message(outer["attrs"][0][name])
    changed = edit(inner)
    outer["attrs"][0][name] = srsly.msgpack_dumps(inner if changed is None else changed)
    return srsly.msgpack_dumps(outer)


def files_below(path):
    """The files of a folder and what is in them."""
    return {file.relative_to(path): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def no_space(*_: Any, **__: Any) -> None:
    """What writing does where the disk is full."""
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*_: Any, **__: Any) -> None:
    """What happens to it when somebody interrupts."""
    raise KeyboardInterrupt
