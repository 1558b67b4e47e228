"""What a parser predicts by, its frozen views, in files: beside the model or in the cache of the user."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..models.joint_model import JointModel
from ..models.view_storage import read_views, write_views
from ..storage.cache import cached_file, in_cache
from ..storage.checksum import identity, identity_of_file
from .parsers import GibbsParser

# Where the views stand if they stand beside the model.
_VIEWS = "view.bin"


class ViewedParser(GibbsParser):
    """A parser that predicts by views: they are mapped from a file, and who only predicts never reads the
    seating that they follow from.
    """

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Save the component to a directory, as other components are. Views that stand there of another model
        are removed.
        """
        model, views = Path(path, "model"), Path(path, _VIEWS)
        before = identity_of_file(model) if model.exists() and views.exists() else None
        super().to_disk(path, exclude=exclude)
        if before is not None and before != identity_of_file(model):
            with suppress(PermissionError):
                views.unlink(missing_ok=True)

    def save_views(self) -> Path:
        """Write the frozen views of the model beside the file that it was loaded from, where all who load
        that find them.

        RAISES (ValueError): If the model was not loaded from a file, or is another one by now.
        RAISES (OSError): If it cannot be written.
        """
        model = self._identity_in_file()
        if self._source is None or model is None:
            raise ValueError(
                f"The component '{self.name}' has a model that stands in no file. Save the pipeline, and "
                f"load it."
            )
        path = self._source.with_name(_VIEWS)
        write_views(path, self.learned.views.items(), model)
        return path

    def _complete_model(self, loaded: JointModel, data: bytes, source: Path | None) -> None:
        """Find or make what the model predicts by, its frozen views: beside the model, or in the cache of the
        user.
        """
        if not loaded.is_initialized:
            return
        if source is None:
            loaded.check()
            return
        model = identity(data)
        # What is there needs no lock, and no directory that can be written to.
        if any(
            self._map_views(loaded, file, model) for file in (source.with_name(_VIEWS), cached_file(model))
        ):
            return
        try:
            with in_cache(model) as path:
                if not self._map_views(loaded, path, model):
                    write_views(path, loaded.views_of_stored(), model)
                    self._map_views(loaded, path, model)
        except OSError as error:
            if not loaded.has_views:
                loaded.use_views(dict(loaded.views_of_stored()))
            warnings.warn(
                f"The component '{self.name}' cannot keep what it predicts by: {error}. It is made again "
                f"each time that the pipeline is "
                "loaded, and takes memory in each process. Let SPACY_HPYP_CACHE name a directory that can "
                "be written to.",
                stacklevel=2,
            )

    def _map_views(self, loaded: JointModel, file: Path, model: str) -> bool:
        """Let a model predict by the views of a file. Returns whether there are any that it can predict by."""
        try:
            found = read_views(file, loaded.conditionals, loaded.sizes, loaded.pack(), model)
        except (ValueError, OSError) as error:
            warnings.warn(
                f"The component '{self.name}' cannot use {file}: {error}. What stands there is made again "
                f"from the model.",
                stacklevel=2,
            )
            return False
        if found is not None:
            loaded.use_views(*found)
        return found is not None
