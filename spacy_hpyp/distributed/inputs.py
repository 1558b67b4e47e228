"""Texts on any file system that pyarrow reads, and the shards that they are cut into without being read."""

import io
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import paragraphs_of as blocks_of

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TEXT, RECORDS, CONLLU, TABLE = "text", "jsonl", "conllu", "parquet"
_KINDS = {".txt": TEXT, ".jsonl": RECORDS, ".conllu": CONLLU, ".parquet": TABLE}
_COMPRESSED = (".gz", ".zst")
# Bytes searched for the end of a paragraph before the end of a line will do.
_LOOK = 1 << 18
_EMPTY_LINE, _LINE_END = re.compile(rb"\n[ \t\r]*\n"), re.compile(rb"\n")


class Shard(NamedTuple):
    """A part of a file.

    number (int): Its place among all shards.
    path (str): The file, an absolute path or a URI.
    name (str): The prefix of names of sentences of the file.
    kind (str): "text", "jsonl", "conllu" or "parquet".
    start, end (int): About where it begins and ends, in bytes; of Parquet the number of its row group and the
        next one. A compressed file is one shard.
    """

    number: int
    path: str
    name: str
    kind: str
    start: int
    end: int


class Document(NamedTuple):
    """A unit that fails by itself: a paragraph, a line, or a sentence of CoNLL-U.

    place (int): Where it begins in the file, in bytes; of Parquet its row in the group.
    text (str | None): None if a record has none. Bytes that are no UTF-8 are surrogates.
    """

    place: int
    text: str | None


def locate(path: str) -> "tuple[FileSystem, str]":
    """Return the file system of a path or URI, and its path there."""
    from pyarrow import fs

    return fs.FileSystem.from_uri(path if "://" in path else os.path.abspath(path))


def find_files(paths: Iterable[str]) -> list[tuple[str, int]]:
    """Find files and their sizes in bytes.

    paths (Iterable[str]): Paths or URIs of files, and of folders, of which the files are taken that are text,
        records, CoNLL-U or Parquet by their names.
    RAISES (ValueError): If there is no such file at one of them.
    """
    from pyarrow.fs import FileSelector

    found: dict[str, int] = {}
    for given in paths:
        system, path = locate(given)
        # The scheme and host of a URI.
        prefix = given[: given.index(path)] if "://" in given else ""
        files = [system.get_file_info(path)]
        if not files[0].is_file:
            below = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
            files = [file for file in below if file.is_file and _endings(file.path)[0] in _KINDS]
        if not files:
            raise ValueError(f"There is no file of text ({', '.join(_KINDS)}) at '{given}'.")
        found |= {prefix + file.path: file.size for file in sorted(files, key=lambda file: file.path)}
    return list(found.items())


def cut(files: Iterable[tuple[str, int]], size: int) -> list[Shard]:
    """Cut files, given by paths and sizes, into shards of about a size in bytes; tables into their row groups."""
    from pyarrow.parquet import read_metadata

    shards: list[Shard] = []
    names: dict[str, int] = {}
    for path, total in files:
        ending, compressed = _endings(path)
        kind = _KINDS.get(ending, TEXT)
        stem = "_".join(os.path.basename(path).removesuffix(compressed).removesuffix(ending).split())
        names[stem] = names.get(stem, 0) + 1
        name = stem if names[stem] == 1 else f"{stem}.{names[stem]}"
        step = total if compressed else size
        if kind == TABLE:
            system, place = locate(path)
            total, step = read_metadata(place, filesystem=system).num_row_groups, 1
        for start in range(0, total, step):
            shards.append(Shard(len(shards), path, name, kind, start, min(start + step, total)))
    return shards


def documents_of(shard: Shard, *, per_line: bool, field: str) -> Iterator[Document]:
    """Read the documents of a shard.

    A shard begins with the first document that begins in it. Where a text has no empty line for a quarter of
    a megabyte, a document ends with a line.

    per_line (bool): Whether each line of text is a document; else each paragraph.
    field (str): The field of records, or column of tables, that holds the text.
    """
    if shard.kind == CONLLU:
        for block in blocks_of(_lines_of(shard)):
            yield Document(block[0][0], "".join(line for _, line in block))
    elif shard.kind == TEXT:
        lines = _lines_of(shard, by_line=per_line)
        yield from (Document(*one) for one in paragraphs_of(lines, per_line=per_line, size=_bytes))
    else:
        for place, text in _rows_of(shard, field) if shard.kind == TABLE else _records_of(shard, field):
            if isinstance(text, str):
                lines = enumerate(io.StringIO(text, newline=""))
                yield from (Document(place, part) for _, part in paragraphs_of(lines, per_line=per_line))
            else:
                yield Document(place, None)


def _rows_of(shard: Shard, column: str) -> Iterator[tuple[int, Any]]:
    from pyarrow.parquet import ParquetFile

    system, path = locate(shard.path)
    with system.open_input_file(path) as file:
        table = ParquetFile(file).read_row_group(shard.start, columns=[column])
    yield from enumerate(table.column(column).to_pylist())


def _records_of(shard: Shard, field: str) -> Iterator[tuple[int, Any]]:
    for place, line in _lines_of(shard, by_line=True):
        if line.strip():
            try:
                text = json.loads(line)[field]
            except (ValueError, TypeError, KeyError):
                text = None
            yield place, text


def _bytes(text: str) -> int:
    return len(text.encode("utf8", "surrogateescape"))


def _endings(path: str) -> tuple[str, str]:
    """Return the ending of a name that says the format, and the one that says the compression."""
    stem, last = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1], last) if last in _COMPRESSED else (last, "")


def _lines_of(shard: Shard, *, by_line: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a shard with their places in bytes."""
    system, path = locate(shard.path)
    place = 0
    with system.open_input_file(path) as file:
        if _endings(path)[1]:
            lines: BinaryIO = io.BufferedReader(system.open_input_stream(path, compression="detect"))
        else:
            place, end = (_border(file, at, by_line=by_line) for at in (shard.start, shard.end))
            file.seek(place)
            lines = io.BytesIO(file.read(max(end - place, 0)))
        for line in lines:
            yield place, line.decode("utf8", "surrogateescape")
            place += len(line)


def _border(file: BinaryIO, place: int, *, by_line: bool) -> int:
    """Return the first place from one on where a document begins."""
    size = file.seek(0, os.SEEK_END)
    if place <= 0 or place >= size:
        return min(place, size)
    file.seek(place)
    window = file.read(_LOOK)
    found = None if by_line else _EMPTY_LINE.search(window)
    if found is None and (by_line or len(window) == _LOOK):
        found = _LINE_END.search(window)
    # Without a line end in it, the window belongs to the shard before.
    return place + found.end() if found else _border(file, place + len(window), by_line=by_line)
