"""Sentences in CoNLL-U (https://universaldependencies.org/format.html)."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..storage import replace_file

#: The names of columns.
COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: A column without a value.
EMPTY = "_"
#: A comment on a sentence with unknown spaces: its tokens and its end are uninformative.
UNKNOWN_SPACES = "spaces = unknown"
# A treebank with this many words without letters and digits, but without SpaceAfter=No, does not
# record spaces, unless comments give texts with spaces everywhere.
_LEAST_PUNCTUATION = 10
_PUNCTUATION = re.compile(r"[0-9]+\t[^\w\t]+\t")
# Comments that begin documents and paragraphs, and the number of sentences of a document in a
# treebank with too few of them.
_MARKS, _SENTENCES = ("newdoc", "newpar"), 10
_HEAD, _LABEL = COLUMNS.index("head"), COLUMNS.index("deprel")
_MISSING = -1
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY_NODE = re.compile(r"[0-9]+\.[0-9]+")


class ConlluWord(NamedTuple):
    """A word of a sentence, with the number of its head from 1, 0 for the root and -1 for none."""

    form: str
    upos: str
    xpos: str
    head: int
    deprel: str


@dataclass
class Block:
    """The lines of a sentence; rows are `COLUMNS` of words, multiword tokens and empty nodes."""

    line: int  # The number of the first one in its file
    comments: list[str] = field(default_factory=list)  # Without their number signs
    rows: list[list[str]] = field(default_factory=list)
    size: int = 0  # The number of words

    @property
    def words(self) -> list[ConlluWord]:
        """The words. RAISES (ValueError): If a head is no number, see `read_blocks`."""
        return [
            ConlluWord(form, upos, xpos, _MISSING if head == EMPTY else int(head), deprel)
            for index, form, _, upos, xpos, _, head, deprel, *_ in self.rows
            if index.isdigit()
        ]

    @property
    def problem(self) -> str | None:
        """The reason why it has no complete tree with one root, or None. All labels may be missing.
        Heads must be those of `read_blocks`.
        """
        words = self.words
        heads = [word.head for word in words]
        if _MISSING in heads:
            return "a head is missing"
        if heads.count(0) != 1:
            return f"there are {heads.count(0)} roots"
        if 0 < sum(word.deprel == EMPTY for word in words) < len(words):
            return "a label is missing"
        # Each step doubles the distance up to an ancestor; in the end it is the root's head, 0.
        above = np.array([0, *heads])
        for _ in range(len(heads).bit_length()):
            above = above[above]
        return "the arcs form a cycle" if above.any() else None

    def tokens(self) -> list[tuple[str, bool, list[list[str]]]]:
        """Return the text of each token, whether a space follows it, and the rows of its words."""
        tokens: list[tuple[str, bool, list[list[str]]]] = []
        end = 0
        for row in self.rows:
            is_word, is_range = row[0].isdigit(), "-" in row[0]
            if is_range or (is_word and int(row[0]) > end):
                tokens.append((row[1], "SpaceAfter=No" not in row[9].split("|"), []))
                end = int(row[0].split("-")[-1])
            if is_word:
                tokens[-1][2].append(row)
        return tokens

    def text(self) -> str:
        """Return the text of the sentence, with the space behind it, if any."""
        return "".join(text + " " * space for text, space, _ in self.tokens())

    def begins(self, *names: str) -> bool:
        """Return whether a "newdoc" or "newpar" begins with the sentence, as a comment says."""
        return any(comment.split()[:1] == [name] for comment in self.comments for name in names)

    def complete(self) -> "Block":
        """Return a sentence with one root: without a tree, the first word is the root, and the
        others hang on it without labels. A word that is alone has no label, so that it is no tree.
        """
        if self.problem is None:
            return self
        arcs = {"1": ("0", "root" if self.size > 1 else EMPTY)}
        rows = [
            [*row[:_HEAD], *arcs.get(row[0], ("1", "")), *row[_LABEL + 1 :]] for row in self.rows
        ]
        return replace(self, rows=rows)

    def lines(self) -> str:
        """Return the sentence as it is written, with an empty line behind it."""
        comments = [f"# {comment}" for comment in self.comments]
        return "\n".join([*comments, *map("\t".join, self.rows), "", ""])


def block_of(words: Iterable[ConlluWord], comments: Iterable[str] = ()) -> Block:
    """Make a sentence of words."""
    rows = [
        [str(i), form, EMPTY, upos, xpos, EMPTY, str(head), deprel, EMPTY, EMPTY]
        for i, (form, upos, xpos, head, deprel) in enumerate(words, start=1)
    ]
    return Block(0, [*comments], rows, len(rows))


def select(blocks: Iterable[Block], wanted: Callable[[Block], bool]) -> list[Block]:
    """Return the wanted sentences. The first one of a document or paragraph begins it."""
    chosen, marks = [], {}
    for block in blocks:
        begins = {name: c for c in block.comments for name in _MARKS if c.split()[:1] == [name]}
        marks |= begins
        if wanted(block):
            missing = [comment for name, comment in marks.items() if name not in begins]
            chosen.append(replace(block, comments=[*missing, *block.comments]))
            marks = {}
    return chosen


def documents_of(blocks: Sequence[Block], least: int) -> list[list[Block]]:
    """Return the documents of a treebank, or if there are fewer than `least`, runs of at most ten
    sentences.
    """
    begins = [i for i, block in enumerate(blocks) if i == 0 or block.begins("newdoc")]
    if len(begins) < least:
        begins = list(range(0, len(blocks), max(1, min(_SENTENCES, len(blocks) // least))))
    return [list(blocks[i:j]) for i, j in zip(begins, [*begins[1:], len(blocks)])]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file in UTF-8 with their numbers from 1. Only a line feed ends a line.

    RAISES (ValueError): If it is not UTF-8.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"'{path}', line {line}: this is not text in UTF-8 ({error.reason}). Convert it."
        ) from error
    yield from enumerate((line.removesuffix("\r") for line in text.split("\n")), start=1)


def read_blocks(path: Path) -> Iterator[Block]:
    """Yield the sentences of a CoNLL-U file in UTF-8, with trees or without.

    Where the file does not say how tokens are written, each sentence gets the comment
    `UNKNOWN_SPACES`.

    RAISES (ValueError): If it has no sentences, or is not CoNLL-U in UTF-8.
    """
    lines = [line for _, line in numbered_lines(path)]
    is_unknown = (
        not any("SpaceAfter=No" in line for line in lines)
        and sum(_PUNCTUATION.match(line) is not None for line in lines) >= _LEAST_PUNCTUATION
        and not any(map(_has_spaces, blocks_of(lines, str(path))))
    )
    block: Block | None = None
    for block in blocks_of(lines, str(path)):
        if is_unknown and UNKNOWN_SPACES not in block.comments:
            block.comments.insert(0, UNKNOWN_SPACES)
        heads = {EMPTY, *map(str, range(block.size + 1))}
        for row in block.rows:
            if row[0].isdigit() and row[_HEAD] not in heads:
                raise ValueError(
                    f"'{path}', line {block.line}: the head '{row[_HEAD]}' is none of the "
                    f"{block.size} words."
                )
        yield block
    if block is None:
        raise ValueError(f"'{path}' has no sentences in CoNLL-U.")


def _has_spaces(block: Block) -> bool:
    """Return whether a comment gives text that has punctuation, and spaces around all tokens."""
    text = f"text = {block.text().strip()}"
    return text in block.comments and any(map(_PUNCTUATION.match, map("\t".join, block.rows)))


def blocks_of(lines: Iterable[str], name: str) -> Iterator[Block]:
    """Yield the sentences of CoNLL-U. Word numbers and column counts are checked, heads not.

    lines (Iterable[str]): The lines of a file, perhaps with a byte order mark.
    name (str): The name of the file, for errors.
    RAISES (ValueError): If a line is not one of CoNLL-U, or a sentence is incomplete.
    """
    for is_empty, group in groupby(enumerate(lines, 1), lambda line: not line[1].strip()):
        if is_empty:
            continue
        block, end = Block(0), 0
        for number, line in group:
            block.line = block.line or number
            try:
                end = _read_line(block, line.removeprefix("\ufeff").rstrip("\r\n"), end)
            except ValueError as error:
                raise ValueError(f"'{name}', line {number}: {error}") from error
        if not block.size or end > block.size:
            problem = "ends within a multiword token" if block.size else "has no words"
            where = f"'{name}', line {block.line}"
            raise ValueError(f"{where}: the sentence that begins here {problem}.")
        yield block


def _read_line(block: Block, line: str, end: int) -> int:
    """Add a line to a sentence. Take and return the last word of its last multiword token."""
    if line.startswith("#"):
        if block.rows:
            raise ValueError("a comment stands among words: is an empty line missing before it?")
        block.comments.append(line[1:].strip())
        return end
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(
            f"a word has {len(COLUMNS)} columns with tabs between them, not {len(columns)}."
        )
    index, following = columns[0], block.size + 1
    if found := _RANGE.fullmatch(index):
        first, last = int(found[1]), int(found[2])
        if not end < first == following < last:
            raise ValueError(
                f"the multiword token {index} must stand before its words, and share none of them."
            )
        end = last
    elif index == str(following):
        block.size = following
    elif not _EMPTY_NODE.fullmatch(index) or index.split(".")[0] != str(block.size):
        raise ValueError(f"the number of this word should be {following}, but it is '{index}'.")
    block.rows.append(columns)
    return end


def write_blocks(path: Path, blocks: Iterable[Block]) -> None:
    """Write sentences to a file in CoNLL-U."""
    replace_file(path, "".join(map(Block.lines, blocks)).encode())
