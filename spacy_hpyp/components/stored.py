"""What the components of this package have in common that have settings and a model: how these are saved, read and sent to processes."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from typing import Any, ClassVar

from spacy import util
from spacy.pipeline.trainable_pipe import TrainablePipe
from thinc.api import Model

from ..models.guard import Guard, whole
from ..settings import Settings
from ..storage.checksum import DAMAGE, identity, identity_of_file, unpack_message, with_checksum
from ..storage.files import replace_file


class StoredComponent(TrainablePipe):
    """A component that can be saved and read: its settings, and its model, which is one object that a thinc Model holds.

    Every setting is an attribute that can be changed, and a change is saved with the component. On loading, what the config
    says wins if it is not what it was when the component was saved: so `spacy.load(path, config=...)` overrides a setting.
    `nlp.config` goes on to show what the component was made with.

    A subclass has `settings`, which it can `change`, those that it was made with, what has been `learned`, and its `guard`.
    """

    attribute: ClassVar[str]
    settings: Any
    learned: Any
    guard: Guard
    change: Callable[..., None]
    _given: Settings
    # Where the model was read from, if it was read from a file.
    _source: Path | None = None

    # What a subclass may define

    def _reset_training(self) -> None:
        """Forget what has come by in training: another model begins."""

    def _load_model(self, attributes: dict[str, Any], parameters: dict[str, Any]) -> Any:
        """Make a model of what was stored, and check all of it. The component stays as it is.

        attributes, parameters (dict[str, Any]): Those of the thinc Model, by name, as thinc stores them. They are what was written
            if there was a checksum, but files without one are read, too. `reading_parts` makes errors of what is missing.
        RETURNS (Any): What `_replace_model` takes.
        RAISES (ValueError): If something is damaged or belongs to another model. Other errors have other causes: the file is
            not blamed for them.
        """
        with reading_parts():
            stored = attributes[self.attribute]
        return self.learned.from_bytes(stored)

    def _complete_model(self, loaded: Any, data: bytes, source: Path | None) -> None:
        """Check what `_load_model` has left, or make or find what the model predicts by.

        loaded (Any): What `_load_model` made.
        data (bytes), source (Path | None): All that was stored, and the file that it was read from, if any.
        RAISES (ValueError): If something is damaged.
        """

    def _untrained_model(self) -> Model:
        """A new thinc Model with the settings of the component's own, that has learned nothing.

        RAISES (NotImplementedError): If there is none: such a component goes to other processes with all that it has learned.
        """
        raise NotImplementedError

    def _replace_model(self, loaded: Any) -> None:
        """Put what `_load_model` made in the place of what the component has, which cannot fail, and forget how far training was."""
        self.model.attrs[self.attribute] = loaded
        self._reset_training()

    def _use(self, model: Any, source: Path | None = None) -> None:
        """Put another model, perhaps one that was read from a file, in the place of the component's own, see `_replace_model`."""

        def replace_it() -> None:
            self._replace_model(model)
            # A process that is started elsewhere may have another directory.
            self._source = None if source is None else source.absolute()

        whole(replace_it)

    # Storage

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Serialize the component, with its settings and everything that training needs to go on.

        exclude (Sequence[str]): Names of parts to leave out: "vocab", "model", "cfg" (the settings).
        RETURNS (bytes): The component.
        """
        parts = {
            "cfg": self._settings_to_bytes,
            "model": self._write_model,
            "vocab": lambda: self.vocab.to_bytes(exclude=exclude),
        }
        return util.to_bytes(parts, exclude)

    def from_bytes(self, bytes_data: bytes, *, exclude: Sequence[str] = ()) -> "StoredComponent":
        """Load the component from bytes; on an error it stays as it was.

        RAISES (ValueError): If the bytes are damaged or belong to another model.
        """
        with self._reading():
            parts = {part: data for part, data in unpack_message(bytes_data).items() if part not in exclude}
            if "model" not in parts and "model" not in exclude:
                raise ValueError("there is no model in it")
            settings = self._read_settings(parts["cfg"]) if "cfg" in parts else {}
        loaded = [self._read_model(parts["model"])] if "model" in parts else []
        # Whatever else is damaged has failed by now.
        if "vocab" in parts:
            with self._reading():
                self.vocab.from_bytes(parts["vocab"], exclude=exclude)
        for model in loaded:
            self._use(model)
        self.change(**settings)
        return self

    @contextmanager
    def _reading(self, where: str = "") -> Iterator[None]:
        """What is damaged of what is read here is an error that names the component, and where it was read from."""
        try:
            yield
        except DAMAGE as error:
            raise ValueError(f"The component '{self.name}' cannot be read{where}: {error}.") from error

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the component to a directory.

        The model is one file, with a checksum, that takes the place of the previous one only when it is complete: a full disk
        or an interrupt leaves what was there before. So are its settings.
        """
        # Others may save to the same place.
        Path(path).mkdir(parents=True, exist_ok=True)
        parts = {
            "cfg": lambda file: replace_file(file, self._settings_to_bytes()),
            "model": lambda file: replace_file(file, self._write_model()),
            "vocab": lambda folder: self.vocab.to_disk(folder, exclude=exclude),
        }
        util.to_disk(path, parts, exclude)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> "StoredComponent":
        """Load the component from a directory; on an error it stays as it was.

        RAISES (ValueError): If the model file is damaged or belongs to another model.
        """
        settings: dict[str, Any] = {}
        loaded: list[Any] = []

        def read_settings(file: Path) -> None:
            # Pipelines of earlier versions have no such file.
            if file.exists():
                with self._reading(f" from {file}"):
                    settings.update(self._read_settings(file.read_bytes()))

        readers = {
            "cfg": read_settings,
            "model": lambda file: loaded.append(self._read_model(file.read_bytes(), file)),
            # Whatever else is damaged has failed by now.
            "vocab": lambda folder: self.vocab.from_disk(folder, exclude=exclude),
        }
        util.from_disk(path, readers, exclude)
        for model in loaded:
            self._use(model, Path(path, "model"))
        self.change(**settings)
        return self

    def __reduce__(self) -> Any:
        """Pickle the component, for a process that is being started here as a reference to the file that its model was read from.

        Such a process maps the same arrays as this one, and nothing is sent to it. A pickle that may go to another machine, or
        be read another day, has the whole model, and so has one of a model that is no longer what stands in the file.
        """
        if get_spawning_popen() is None or type(self)._untrained_model is StoredComponent._untrained_model:
            return super().__reduce__()
        found = self._identity_in_file()
        return super().__reduce__() if found is None else (_read_again, self._sent_as(found))

    def _identity_in_file(self) -> str | None:
        """What identifies the file that the model was read from, if the file still has this model."""
        if self._source is None:
            return None
        written = identity(self._write_model())
        try:
            found = identity_of_file(self._source)
            # An earlier version may have written the same model otherwise.
            same = found == written or identity(_read_again(*self._sent_as(found))._write_model()) == written
        except (OSError, ValueError):
            return None
        return found if same else None

    def _sent_as(self, found: str) -> tuple:
        """What `_read_again` makes the same component of, if what identifies the file is still this."""
        own = {
            name: getattr(self, name) for name in ("vocab", "name", "cfg", "scorer", "_given", "_settings", "_source")
        }
        if "error_handler" in self.__dict__:
            own["error_handler"] = self.error_handler
        return type(self), {**own, "model": self._untrained_model()}, found

    def _write_model(self) -> bytes:
        return with_checksum(self.guard.read(self.model.to_bytes))

    def _settings_to_bytes(self) -> bytes:
        # The standard library's: srsly does not write whole numbers of any size, as a seed may be.
        return json.dumps({"given": asdict(self._given), "set": asdict(self.settings)}).encode()

    def _read_settings(self, data: bytes) -> dict[str, Any]:
        """The saved settings that hold: those that the component has been given the same values for as then.

        An earlier version may not have had some of them.
        """
        try:
            saved = json.loads(data)
            given, found = saved["given"], saved["set"]
            if not given.keys() == found.keys() <= {declared.name for declared in fields(self.settings)}:
                raise ValueError("they are not those that the component has")
            self._changed(found)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"its settings are damaged ({error})") from error
        return {name: value for name, value in found.items() if given[name] == getattr(self._given, name)}

    def _read_model(self, data: bytes, source: Path | None = None) -> Any:
        """What `_use` takes, made of what was stored."""
        where = f" from {source}" if source else ""
        try:
            message = unpack_message(data)
            with reading_parts():
                (attributes,), (parameters,) = message["attrs"], message["params"]
            loaded = self._load_model(attributes, parameters)
            self._complete_model(loaded, data, source)
        # What is wrong with a file is a ValueError. Other errors have other causes, and the file is not to blame.
        except ValueError as error:
            raise ValueError(
                f"The model of the component '{self.name}' cannot be read{where}: {error}. "
                "The file is damaged, or belongs to another version or another config; train or install it again."
            ) from error
        return loaded


def _read_again(component: type[StoredComponent], own: dict[str, Any], expected: str) -> StoredComponent:
    """A component of another process, with these attributes and its model, read from the file that is identified so."""
    made = component.__new__(component)
    for name, value in own.items():
        setattr(made, name, value)
    made._reset_training()
    source = own["_source"]
    data = source.read_bytes()
    if identity(data) != expected:
        raise ValueError(
            f"The component '{made.name}' cannot be read again from {source} by another process: the file has changed since it was "
            "loaded. Load the pipeline again."
        )
    made._use(made._read_model(data, source), source)
    return made


@contextmanager
def reading_parts() -> Iterator[None]:
    """What is wrong with parts of a file that are taken out of it here, by name or by place, is an error that says so.

    Compiled code must not run inside: its errors can be of the same kinds and have other causes.

    RAISES (ValueError): If a part is missing or of the wrong kind.
    """
    try:
        yield
    except DAMAGE as error:
        raise ValueError(f"a part is missing or of the wrong kind ({error})") from error
