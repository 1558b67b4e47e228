"""Sentences in CoNLL-U, as far as dependency parsing needs them: words, tags, heads and labels."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..storage.files import replacing

#: The columns of a line, by name.
COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
#: What stands in a column without a value.
EMPTY = "_"
#: A comment of the first sentence of a document: how it is written is not known, so that nothing is learned
#: of tokens and sentence ends.
UNKNOWN_SPACES = "spaces = unknown"
# Comments that stay true when words are changed or left out.
_KEPT = ("newdoc", "newpar", "sent_id", UNKNOWN_SPACES)
_HEAD, _LABEL = COLUMNS.index("head"), COLUMNS.index("deprel")
_MISSING = -1
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_EMPTY_NODE = re.compile(r"([0-9]+)\.[0-9]+")
_BYTE_ORDER_MARK = "\ufeff"


class ConlluWord(NamedTuple):
    """A word of a sentence.

    form (str): As it is written.
    upos, xpos (str): The universal tag and the treebank's own, "_" if there is none.
    head (int): The number of its head, from 1; 0 is that of the root, and -1 is none.
    deprel (str): The label of the arc from its head.
    """

    form: str
    upos: str
    xpos: str
    head: int
    deprel: str


@dataclass(frozen=True)
class ConlluSentence:
    """Words, and comments without their number signs."""

    words: list[ConlluWord]
    comments: tuple[str, ...] = ()


@dataclass
class Block:
    """The lines of a sentence: comments, and after them rows of words, multiword tokens and empty nodes.

    line (int): The number of the first one.
    comments (list[str]): Without their number signs.
    rows (list[list[str]]): Columns, see `COLUMNS`.
    size (int): How many words there are.
    span (tuple[int, int]): The first and the last word of the last multiword token.
    """

    line: int
    comments: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    size: int = 0
    span: tuple[int, int] = (0, 0)

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
        """What keeps its heads from being a tree with one root, if anything does."""
        heads = [word.head for word in self.words]
        if _MISSING in heads:
            return "a head is missing"
        if heads.count(0) != 1:
            return f"there are {heads.count(0)} roots"
        # What is above each word, further up with each step: in the end the root's head, 0.
        above = np.array([0, *heads])
        for _ in range(len(heads).bit_length()):
            above = above[above]
        return "a word is above itself" if above.any() else None

    def tokens(self) -> list[tuple[str, bool, list[list[str]]]]:
        """The tokens: their texts, whether a space stands behind each, and the rows of their words."""
        found: list[tuple[str, bool, list[list[str]]]] = []
        end = 0
        for row in self.rows:
            index = row[0]
            space = "SpaceAfter=No" not in row[9].split("|")
            if "-" in index:
                end = int(index.split("-")[1])
                found.append((row[1], space, []))
            elif index.isdigit() and int(index) <= end:
                found[-1][2].append(row)
            elif index.isdigit():
                found.append((row[1], space, [row]))
        return found

    def begins(self, *what: str) -> bool:
        """Whether something begins with the sentence, as a comment says: "newdoc", a document, or "newpar", a
        paragraph.
        """
        return any(comment.split()[:1] == [each] for comment in self.comments for each in what)

    def text(self) -> str:
        """The rows, with the columns of heads and labels empty where there is no tree: only the first word is
        a root then, as a sentence has to begin somewhere.
        """
        rows = self.rows
        if self.problem is not None:
            rows = [
                [*row[:_HEAD], *(("0", "root") if row[0] == "1" else ("1", "")), *row[_LABEL + 1 :]]
                for row in rows
            ]
        return "\n".join("\t".join(row) for row in rows)

    def lines(self) -> str:
        """The sentence as it is written, with the empty line behind it."""
        comments = [f"# {comment}" for comment in self.comments]
        return "\n".join([*comments, *map("\t".join, self.rows), "", ""])

    def wrong(self, row: int, name: str, problem: str) -> ValueError:
        """The error that something is wrong with a row, by its index, in the file of a name."""
        return ValueError(f"'{name}', line {self.line + len(self.comments) + row}: {problem}")


def blocks_of(lines: Iterable[str], name: str) -> Iterator[Block]:
    """The sentences of CoNLL-U as their lines, one after the other. What stands in columns besides numbers is
    not looked at.

    lines (Iterable[str]): Of a file; a byte order mark, line ends, and empty lines with white space in them
        are put up with.
    name (str): Of the file, for errors.
    RAISES (ValueError): If something is not CoNLL-U, with the line.
    """
    numbered = (
        (i, text.removeprefix(_BYTE_ORDER_MARK) if i == 1 else text) for i, text in enumerate(lines, 1)
    )
    for own in paragraphs_of(numbered):
        block = Block(own[0][0])
        for number, text in own:
            try:
                _read_line(block, text.rstrip("\r\n"))
            except ValueError as error:
                raise ValueError(f"'{name}', line {number}: {error}") from error
        if block.span[1] > block.size:
            first, last = block.span
            raise ValueError(
                f"'{name}', line {number + 1}: the sentence ends before the multiword token {first}-{last} "
                f"does."
            )
        if not block.size:
            raise ValueError(f"'{name}', line {block.line}: the sentence that begins here has no words.")
        yield block


def paragraphs_of(lines: Iterable[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """Lines with their places, between empty ones, where white space is nothing."""
    for is_empty, own in groupby(lines, lambda each: not each[1].strip()):
        if not is_empty:
            yield [*own]


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file in UTF-8, perhaps with a byte order mark, with their numbers, from 1, and without
    their ends.

    Only a line feed ends a line, perhaps with a carriage return before it: other characters that Unicode
    calls line ends may be parts of words.

    RAISES (ValueError): If it is not UTF-8, with the line.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"'{path}', line {line}: this is not text in UTF-8 ({error.reason}).") from error
    yield from enumerate((line.removesuffix("\r") for line in text.split("\n")), start=1)


def read_blocks(path: Path) -> Iterator[Block]:
    """The sentences of a CoNLL-U file in UTF-8 as their lines, with trees or without.

    RAISES (ValueError): If it has no sentences, or a line is not one of CoNLL-U, with the line.
    """
    block: Block | None = None
    for block in blocks_of((line for _, line in numbered_lines(path)), str(path)):
        for i, row in enumerate(block.rows):
            head = row[_HEAD]
            if row[0].isdigit() and head != EMPTY and not (head.isascii() and head.isdigit()):
                raise block.wrong(
                    i, str(path), f"the head of '{row[1]}' should be a number, but it is '{head}'."
                )
        highest = max(word.head for word in block.words)
        if highest > block.size:
            raise ValueError(
                f"'{path}', line {block.line}: the head {highest} is none of the {block.size} words of this "
                f"sentence."
            )
        yield block
    if block is None:
        raise ValueError(f"'{path}' has no sentences in CoNLL-U.")


def read_conllu(path: Path) -> list[ConlluSentence]:
    """The sentences of a CoNLL-U file in UTF-8. Ranges of multiword tokens, empty nodes, and comments on the
    text are left out.

    RAISES (ValueError): If it has no sentences, a line is not one of CoNLL-U, or a sentence is not a tree
        with one root, with the line.
    """
    sentences = []
    for block in read_blocks(path):
        if block.problem is not None:
            raise ValueError(
                f"'{path}', line {block.line}: {block.problem} in the sentence that begins here."
            )
        kept = (comment for comment in block.comments if comment.startswith(_KEPT))
        sentences.append(ConlluSentence(block.words, tuple(kept)))
    return sentences


def write_conllu(path: Path, sentences: Iterable[ConlluSentence]) -> None:
    """Write sentences to a file in CoNLL-U, which takes its place when it is complete.

    RAISES (OSError): If it cannot be written.
    """
    with replacing(path, "w", encoding="utf8", newline="\n") as file:
        for sentence in sentences:
            rows = [
                [
                    str(i),
                    word.form,
                    EMPTY,
                    word.upos,
                    word.xpos,
                    EMPTY,
                    str(word.head),
                    word.deprel,
                    EMPTY,
                    EMPTY,
                ]
                for i, word in enumerate(sentence.words, start=1)
            ]
            file.write(Block(0, [*sentence.comments], rows).lines())


def _read_line(block: Block, line: str) -> None:
    if line.startswith("#"):
        if block.rows:
            raise ValueError(
                "a comment stands among the words of a sentence. Is an empty line missing before it?"
            )
        block.comments.append(line[1:].strip())
        return
    columns = line.split("\t")
    if len(columns) != len(COLUMNS):
        raise ValueError(
            f"a word has {len(COLUMNS)} columns with a tab between them, but here are {len(columns)}."
        )
    index, following = columns[0], block.size + 1
    if found := _RANGE.fullmatch(index):
        first, last = int(found[1]), int(found[2])
        if not block.span[1] < first == following < last:
            raise ValueError(f"the multiword token {index} does not stand before its words, or shares them.")
        block.span = first, last
    elif found := _EMPTY_NODE.fullmatch(index):
        if int(found[1]) != block.size:
            raise ValueError(f"the empty node {index} does not stand behind the word {found[1]}.")
    elif index == str(following):
        block.size = following
    else:
        raise ValueError(f"the number of this word should be {following}, but it is '{index}'.")
    block.rows.append(columns)
