"""Seatings that nobody changes for a while, in files: what is made of them meanwhile takes as much memory
again.
"""

import os
from contextlib import suppress
from tempfile import TemporaryFile
from typing import Any
from weakref import finalize

import numpy as np

from ..storage.cache import cache_folder
from .franchise import N_CELLS, N_RESTAURANTS, N_SERVINGS, Franchise, unindexed

_ROWS = {"restaurants": N_RESTAURANTS, "servings": N_SERVINGS, "cells": N_CELLS}


class Aside:
    """A copy of a franchise in a file without a name, in the directory of the cache; in memory where none can
    be written.
    """

    def __init__(self, franchise: Franchise) -> None:
        rest = unindexed(franchise)._asdict().items()
        self._rest = {name: each.copy() for name, each in rest if name not in _ROWS}
        tables = {name: getattr(franchise, name)[: franchise.used[number]] for name, number in _ROWS.items()}
        tables |= {name: getattr(franchise, name) for name in ("restaurant_index", "serving_index")}
        self._shapes = {name: (getattr(franchise, name).shape, len(table)) for name, table in tables.items()}
        self._copies: dict[str, np.ndarray] = {}
        try:
            self._read_at = os.preadv
            cache_folder().mkdir(parents=True, exist_ok=True)
            self._file = TemporaryFile(dir=cache_folder())
            finalize(self, self._file.close)
            for table in tables.values():
                self._file.write(table)
            self._file.flush()
        except (OSError, AttributeError):
            # Nor has Windows what several can read a file by.
            self._copies = {name: table.copy() for name, table in tables.items()}
            # What was written before the disk was full.
            with suppress(OSError, AttributeError):
                self._file.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return Aside, (self.read(),)

    def read(self, *, indexed: bool = True) -> Franchise:
        """The franchise as it was, with as much room.

        indexed (bool): Whether anything is to be found in it; else it has nothing but the rows, see
            `unindexed`.
        """
        found, begin = {name: each.copy() for name, each in self._rest.items()}, 0
        for name, (shape, used) in self._shapes.items():
            if name in _ROWS or indexed:
                found[name] = np.empty(shape, dtype=np.int32)
                rows = found[name][:used]
                if self._copies:
                    rows[:] = self._copies[name]
                else:
                    self._read(memoryview(rows.reshape(-1).view(np.uint8)), begin)
                begin += rows.nbytes
        return Franchise(**found)

    def _read(self, memory: memoryview, begin: int) -> None:
        while len(memory):
            # Threads, and processes that were forked, share the position of a file.
            count = self._read_at(self._file.fileno(), [memory], begin)
            if not count:
                raise EOFError("a seating that was set aside has been cut off")
            memory, begin = memory[count:], begin + count
