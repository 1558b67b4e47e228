"""Files of text on any file system that pyarrow reads, and the shards that they are cut into without being
read.
"""

import io
import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

TEXT, RECORDS, CONLLU, TABLE = "text", "jsonl", "conllu", "parquet"
_KINDS = {".txt": TEXT, ".jsonl": RECORDS, ".conllu": CONLLU, ".parquet": TABLE}
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
# How far it is looked for the end of a paragraph, in bytes.
_LOOK = 1 << 18
_EMPTY_LINE = re.compile(rb"\n[ \t\r]*\n")
_LINE_END, _SPACE, _LETTER = re.compile(rb"\n"), re.compile(rb"[ \t]"), re.compile(rb"[^\x80-\xbf]")
_WILDCARD = re.compile(r"[*?\[]")


class Shard(NamedTuple):
    """A part of a file.

    number (int): Its place among all.
    path (str): The file, an absolute path or a URI.
    name (str): What sentences of the file are named after.
    kind (str): What the file is: "text", "jsonl", "conllu" or "parquet".
    start, end (int): About where it begins and ends: in bytes, or in rows of Parquet. What is compressed is
        one shard.
    """

    number: int
    path: str
    name: str
    kind: str
    start: int
    end: int


class Document(NamedTuple):
    """What is parsed at once and fails by itself: a paragraph, a line, a sentence of CoNLL-U; or what is
    wrong with it, if anything is.

    place (int): Where it begins in the file: in bytes, or in rows of Parquet.
    """

    place: int
    text: str
    problem: str = ""


def locate(path: str) -> "tuple[FileSystem, str]":
    """The file system of a path or URI, and what it is called there. RAISES (ValueError): If pyarrow knows no
    such file system.
    """
    from pyarrow import ArrowException, fs

    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    try:
        return fs.FileSystem.from_uri(path)
    except (ArrowException, OSError) as error:
        raise ValueError(f"'{path}' is on no file system that can be read: {error}") from error


def find_files(paths: Iterable[str]) -> list[tuple[str, int]]:
    """Files with their sizes in bytes.

    paths (Iterable[str]): Paths or URIs of files, folders, and patterns as `news/*.txt`. Of folders and
        patterns, those files are taken that are text, records, CoNLL-U or Parquet by their names.
    RAISES (ValueError): If there is nothing of the kind at one of them.
    """
    from pyarrow.fs import FileSelector, FileType

    found: dict[str, int] = {}
    for given in paths:
        wild = _WILDCARD.search(given)
        base = given if wild is None else given[: given.rfind("/", 0, wild.start()) + 1] or "."
        system, path = locate(base)
        # What a URI has before the path: the scheme, and perhaps a host.
        scheme = base[: base.index(path)] if "://" in base else ""
        info = system.get_file_info(path)
        if info.type == FileType.File:
            found[scheme + path] = info.size
            continue
        below = (
            [] if info.type == FileType.NotFound else system.get_file_info(FileSelector(path, recursive=True))
        )
        pattern = "*" if wild is None else os.path.join(path, given[len(base) if base != "." else 0 :])
        own = {
            scheme + file.path: file.size
            for file in sorted(below, key=lambda file: file.path)
            if file.type == FileType.File and fnmatch(file.path, pattern) and _endings(file.path)[0] in _KINDS
        }
        if not own:
            raise ValueError(
                f"There is no file of text (.txt, .jsonl, .conllu, .parquet, with .gz or .zst) at '{given}'."
            )
        found |= own
    return list(found.items())


def cut(files: Iterable[tuple[str, int]], size: int, *, column: str, is_conllu: bool = False) -> list[Shard]:
    """Cut files, of which there are paths and sizes, into shards of a size in bytes.

    column (str): Of Parquet, where the texts are.
    is_conllu (bool): Whether all are CoNLL-U, whatever their names are.
    RAISES (ValueError): If a table has no such column of strings.
    """
    shards: list[Shard] = []
    names: dict[str, int] = {}
    for path, total in files:
        ending, compressed = _endings(path)
        kind = CONLLU if is_conllu else _KINDS.get(ending, TEXT)
        stem = "_".join(os.path.basename(path).removesuffix(compressed).removesuffix(ending).split())
        names[stem] = names.get(stem, 0) + 1
        name = stem if names[stem] == 1 else f"{stem}.{names[stem]}"
        if kind == TABLE:
            ranges = list(_rows_of_table(path, size, column))
        else:
            ranges = [(i, min(i + size, total)) for i in range(0, total, total if compressed else size)]
        shards += [Shard(len(shards) + i, path, name, kind, *each) for i, each in enumerate(ranges)]
    return shards


def lines_of(shard: Shard, *, per_line: bool) -> Iterator[tuple[int, str]]:
    """The lines of a shard that is no table, and where they begin in the file, in bytes. What is no UTF-8 has
    surrogates in its place.

    A shard begins with the first paragraph that begins in it, and ends where the next one begins: a line
    where lines are texts (`per_line`) or records, a sentence of CoNLL-U. Where a text has no empty line for a
    quarter of a megabyte, any line will do, or any word.
    """
    system, path = locate(shard.path)
    if compression := _COMPRESSED.get(_endings(shard.path)[1]):
        with system.open_input_stream(path, compression=compression) as stream:
            yield from _decoded(io.BufferedReader(stream), 0)
        return
    by_line = shard.kind == RECORDS or (shard.kind == TEXT and per_line)
    with system.open_input_file(path) as file:
        start, end = (
            _border(file, at, by_line=by_line, anywhere=shard.kind == TEXT and not per_line)
            for at in (shard.start, shard.end)
        )
        file.seek(start)
        yield from _decoded(io.BytesIO(file.read(max(end - start, 0))), start)


def rows_of(shard: Shard, column: str) -> Iterator[tuple[int, str | None]]:
    """The texts of a shard of Parquet, with the numbers of their rows."""
    from pyarrow.parquet import ParquetFile

    system, path = locate(shard.path)
    with system.open_input_file(path) as file:
        table, first = ParquetFile(file), 0
        for group in range(table.num_row_groups):
            after = first + table.metadata.row_group(group).num_rows
            if first < shard.end and shard.start < after:
                texts = table.read_row_group(group, columns=[column]).column(column)
                start = max(shard.start, first)
                own = texts.slice(start - first, min(shard.end, after) - start)
                yield from enumerate((text.as_py() for text in own), start)
            first = after


def _endings(path: str) -> tuple[str, str]:
    """The ending of a name that says what is in the file, and the one that says how that is compressed."""
    stem, last = os.path.splitext(path.lower())
    return (os.path.splitext(stem)[1], last) if last in _COMPRESSED else (last, "")


def _rows_of_table(path: str, size: int, column: str) -> Iterator[tuple[int, int]]:
    """Ranges of rows within the groups of a table, of about as many bytes as a shard has."""
    from pyarrow import types
    from pyarrow.parquet import ParquetFile

    system, own = locate(path)
    with system.open_input_file(own) as file:
        table = ParquetFile(file)
        schema = table.schema_arrow
        place = schema.get_field_index(column)
        if place < 0 or not (
            types.is_string(schema.types[place]) or types.is_large_string(schema.types[place])
        ):
            raise ValueError(
                f"'{path}' has no column '{column}' of strings. Name it with --field; there are {', '.join(schema.names)}."
            )
        leaf = next(i for i in range(len(table.schema)) if table.schema.column(i).path == column)
        first = 0
        for number in range(table.num_row_groups):
            group = table.metadata.row_group(number)
            step = max(1, group.num_rows * size // max(group.column(leaf).total_uncompressed_size, size))
            yield from (
                (first + i, first + min(i + step, group.num_rows)) for i in range(0, group.num_rows, step)
            )
            first += group.num_rows


def _border(file: BinaryIO, at: int, *, by_line: bool, anywhere: bool) -> int:
    """The first place from one on where a shard may begin."""
    file.seek(0, os.SEEK_END)
    if at <= 0 or at >= file.tell():
        return min(max(at, 0), file.tell())
    look = _LOOK
    while True:
        file.seek(at)
        window = file.read(look)
        if found := (_LINE_END if by_line else _EMPTY_LINE).search(window):
            return at + found.end()
        if len(window) < look:
            return at + len(window)
        if anywhere and (found := _LINE_END.search(window) or _SPACE.search(window)):
            return at + found.end()
        if anywhere and (found := _LETTER.search(window)):
            return at + found.start()
        look *= 4


def _decoded(file: BinaryIO, place: int) -> Iterator[tuple[int, str]]:
    for line in file:
        yield place, line.decode("utf8", "surrogateescape")
        place += len(line)
