"""Files of text; each is a shard."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import paragraphs_of as blocks_of

_CONLLU = ".conllu"
_ENDINGS = (".txt", _CONLLU)


class Shard(NamedTuple):
    """A file to work on.

    number (int): Its place among all shards.
    path (str): Its absolute path.
    name (str): The prefix of names of its sentences.
    is_conllu (bool): Whether it is CoNLL-U; else it is text.
    size (int): In bytes.
    """

    number: int
    path: str
    name: str
    is_conllu: bool
    size: int


class Document(NamedTuple):
    """A unit that fails by itself: a paragraph, a line, or a sentence of CoNLL-U.

    place (int): The number of characters before it in the file.
    text (str): Bytes that are no UTF-8 are surrogates.
    """

    place: int
    text: str


def find_shards(paths: Iterable[Path]) -> list[Shard]:
    """Find the files to work on.

    paths (Iterable[Path]): Files, and folders, of which the files are taken that are text or
        CoNLL-U by their names.
    RAISES (ValueError): If there is no such file at one of them.
    """
    found: dict[Path, None] = {}
    for path in map(Path.absolute, paths):
        below = sorted(file for file in path.rglob("*") if file.suffix.lower() in _ENDINGS)
        files = [path] if path.is_file() else below
        if not files:
            raise ValueError(f"There is no file of text ({', '.join(_ENDINGS)}) at '{path}'.")
        found |= dict.fromkeys(files)
    shards: list[Shard] = []
    seen = Counter[str]()
    for number, path in enumerate(found):
        name = "_".join(path.stem.split())
        seen[name] += 1
        name = name if seen[name] == 1 else f"{name}.{seen[name]}"
        is_conllu = path.suffix.lower() == _CONLLU
        shards.append(Shard(number, str(path), name, is_conllu, path.stat().st_size))
    return shards


def documents_of(shard: Shard, *, per_line: bool) -> Iterator[Document]:
    """Read the documents of a shard.

    per_line (bool): Whether each line of text is a document; else each paragraph.
    """
    if shard.is_conllu:
        for block in blocks_of(_lines_of(shard)):
            yield Document(block[0][0], "".join(line for _, line in block))
    else:
        yield from (
            Document(*found) for found in paragraphs_of(_lines_of(shard), per_line=per_line)
        )


def _lines_of(shard: Shard) -> Iterator[tuple[int, str]]:
    """Yield the lines of a shard with their places."""
    place = 0
    with open(shard.path, encoding="utf8", errors="surrogateescape", newline="\n") as file:
        for line in file:
            yield place, line
            place += len(line)
