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
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


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
    """A unit that is parsed at once and fails by itself: a paragraph, a line, or a sentence of CoNLL-U.

    place (int): Where it begins in the file, in bytes; of Parquet its row in the group.
    problem (str): The reason why it cannot be read, if it cannot.
    """

    place: int
    text: str
    problem: str = ""


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
    from pyarrow.fs import FileSelector, FileType

    found: dict[str, int] = {}
    for given in paths:
        system, path = locate(given)
        # The scheme and host of a URI.
        prefix = given[: given.index(path)] if "://" in given else ""
        info = system.get_file_info(path)
        files = [info]
        if info.type != FileType.File:
            below = system.get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
            files = [file for file in below if file.is_file and _endings(file.path)[0] in _KINDS]
        if not files:
            endings = "(.txt, .jsonl, .conllu, .parquet, perhaps with .gz or .zst)"
            raise ValueError(f"There is no file of text {endings} at '{given}'.")
        found |= {prefix + file.path: file.size for file in sorted(files, key=lambda file: file.path)}
    return list(found.items())


def cut(files: Iterable[tuple[str, int]], size: int, *, is_conllu: bool = False) -> list[Shard]:
    """Cut files, given by paths and sizes, into shards of about a size in bytes; tables into their row groups.

    is_conllu (bool): Whether all are CoNLL-U, whatever their names are.
    """
    from pyarrow.parquet import read_metadata

    shards: list[Shard] = []
    names: dict[str, int] = {}
    for path, total in files:
        ending, compressed = _endings(path)
        kind = CONLLU if is_conllu else _KINDS.get(ending, TEXT)
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
    if shard.kind == TABLE:
        from pyarrow.parquet import ParquetFile

        system, path = locate(shard.path)
        with system.open_input_file(path) as file:
            texts = ParquetFile(file).read_row_group(shard.start, columns=[field]).column(field)
        for row, text in enumerate(texts.to_pylist()):
            yield from _parts(row, text, per_line=per_line)
    elif shard.kind == RECORDS:
        for place, line in _lines_of(shard, by_line=True):
            if line.strip():
                try:
                    text = json.loads(line)[field]
                except (ValueError, TypeError, KeyError) as error:
                    yield Document(place, "", f"there is no field '{field}' ({type(error).__name__})")
                else:
                    yield from _parts(place, text, per_line=per_line)
    elif shard.kind == CONLLU:
        for block in blocks_of(_lines_of(shard)):
            yield _checked(block[0][0], "".join(line for _, line in block))
    else:
        lines = _lines_of(shard, by_line=per_line)
        for place, text in paragraphs_of(lines, per_line=per_line, size=_bytes):
            yield _checked(place, text)


def _parts(place: int, text: Any, *, per_line: bool) -> Iterator[Document]:
    """Yield the paragraphs or lines of a record."""
    if not isinstance(text, str):
        yield Document(place, "", "the text is no string")
        return
    for _, part in paragraphs_of(enumerate(io.StringIO(text, newline="")), per_line=per_line):
        yield Document(place, part)


def _checked(place: int, text: str) -> Document:
    return Document(place, "", "it is not text in UTF-8") if _NOT_UTF8.search(text) else Document(place, text)


def _bytes(text: str) -> int:
    return len(text.encode("utf8", "surrogateescape"))


def _endings(path: str) -> tuple[str, str]:
    """Return the ending of a name that says the format, and the one that says the compression."""
    stem, last = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1], last) if last in _COMPRESSED else (last, "")


def _lines_of(shard: Shard, *, by_line: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the lines of a shard with their places in bytes. Bytes that are no UTF-8 become surrogates."""
    system, path = locate(shard.path)
    if _endings(path)[1]:
        with system.open_input_stream(path, compression="detect") as stream:
            yield from _decoded(io.BufferedReader(stream), 0)
        return
    with system.open_input_file(path) as file:
        start, end = (_border(file, place, by_line=by_line) for place in (shard.start, shard.end))
        file.seek(start)
        data = file.read(max(end - start, 0))
    yield from _decoded(io.BytesIO(data), start)


def _border(file: BinaryIO, place: int, *, by_line: bool) -> int:
    """Return the first place from one on where a document begins."""
    file.seek(0, os.SEEK_END)
    if place <= 0 or place >= file.tell():
        return min(place, file.tell())
    file.seek(place)
    window = file.read(_LOOK)
    found = (not by_line and _EMPTY_LINE.search(window)) or (
        (by_line or len(window) == _LOOK) and _LINE_END.search(window)
    )
    # Without a line end in it, the window belongs to the shard before.
    return place + found.end() if found else _border(file, place + len(window), by_line=by_line)


def _decoded(file: BinaryIO, place: int) -> Iterator[tuple[int, str]]:
    for line in file:
        yield place, line.decode("utf8", "surrogateescape")
        place += len(line)
