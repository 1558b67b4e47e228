"""The folder that shards are written to: what is there is complete, and says what it was made of."""

import json
import os
import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..storage.files import replacing
from .inputs import Shard, locate

# Of how many shards the files stand in one folder.
_TOGETHER = 1000
_RUN, _DONE, _ERRORS = "_run.json", "_done", "_errors"


class Folder:
    """A folder, by its path or URI, on a file system that all workers write to. Names that begin with "_" are
    passed over by what reads Parquet.

    `_run.json` says what the run is, `part=N/S.ending` is the output of shard S, `_done/N/S.json` says that
    it is complete and what it was made of, `_errors/N/S.jsonl` which of its documents failed.
    """

    def __init__(self, path: str, ending: str) -> None:
        self.path = path if "://" in path else os.path.abspath(path)
        self._ending = ending

    def begin(self, run: dict[str, Any]) -> None:
        """Say what is to be made here, from what it follows, or see that it is what was begun.

        RAISES (ValueError): If something else was begun here.
        RAISES (OSError): If nothing can be written.
        """
        if (begun := self.run()) is None:
            self._write(_RUN, json.dumps(run, indent=2, sort_keys=True).encode())
        elif others := sorted(name for name in run.keys() | begun.keys() if run.get(name) != begun.get(name)):
            told = "; ".join(f"{name} was {begun.get(name)}, and is {run.get(name)}" for name in others)
            raise ValueError(
                f"In '{self.path}' another run was begun: {told}. Give the same, or another folder."
            )

    def run(self) -> dict[str, Any] | None:
        """What was begun here, None if nothing was."""
        try:
            return _read(*locate(f"{self.path}/{_RUN}"))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def done(self) -> dict[int, dict[str, Any]]:
        """What was noted of the shards that are complete, by their numbers."""
        from pyarrow.fs import FileSelector

        system, path = locate(f"{self.path}/{_DONE}")
        found = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        paths = sorted(file.path for file in found if file.path.endswith(".json"))
        with ThreadPoolExecutor(16) as pool:
            return dict(
                zip((int(Path(path).stem) for path in paths), pool.map(partial(_read, system), paths))
            )

    def writing(self, shard: Shard) -> AbstractContextManager[Any]:
        """The output of a shard, as a binary file that is there when it is complete, and dropped after an
        error.
        """
        return self._writing(self._name(shard, "", self._ending))

    def read(self, shard: Shard) -> bytes:
        """The output of a shard that is done."""
        system, path = locate(f"{self.path}/{self._name(shard, '', self._ending)}")
        with system.open_input_file(path) as file:
            return file.read()

    def finish(self, shard: Shard, record: dict[str, Any], errors: list[dict[str, Any]]) -> None:
        """Note that the output of a shard is there, what is to be known of it whenever it is made, and which
        of its documents failed.
        """
        if errors:
            lines = (json.dumps(error, ensure_ascii=False) + "\n" for error in errors)
            self._write(self._name(shard, _ERRORS, "jsonl"), "".join(lines).encode())
        self._write(self._name(shard, _DONE, "json"), json.dumps(record, sort_keys=True).encode())

    def _name(self, shard: Shard, below: str, ending: str) -> str:
        together = f"{shard.number // _TOGETHER:05d}"
        return f"{below or 'part'}{'/' if below else '='}{together}/{shard.number:08d}.{ending}"

    def _write(self, name: str, data: bytes) -> None:
        with self._writing(name) as file:
            file.write(data)

    @contextmanager
    def _writing(self, name: str) -> Iterator[Any]:
        if "://" not in self.path:
            path = Path(self.path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                yield file
            return
        system, path = locate(f"{self.path}/{name}")
        system.create_dir(os.path.dirname(path), recursive=True)
        temporary = f"{path}.{secrets.token_hex(8)}.tmp"
        try:
            with system.open_output_stream(temporary) as file:
                yield file
        except BaseException:
            with suppress(OSError):
                system.delete_file(temporary)
            raise
        system.move(temporary, path)


def _read(system: Any, path: str) -> dict[str, Any]:
    with system.open_input_file(path) as file:
        return json.loads(file.read())
