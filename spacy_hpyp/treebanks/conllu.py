"""Sentences in CoNLL-U, as far as dependency parsing needs them: words, tags, heads and labels."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..storage.files import replacing
from .lines import numbered_lines

#: What stands in a column without a value.
EMPTY = "_"
# Comments that stay true when words are changed or left out.
_KEPT = ("newdoc", "newpar", "sent_id")
_COLUMNS = 10
_HEAD, _LABEL = 6, 7
_MISSING = -1


class Word(NamedTuple):
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
class Sentence:
    """Words, and comments without their number signs."""

    words: list[Word]
    comments: tuple[str, ...] = ()


@dataclass
class Block:
    """The lines of a sentence.

    line (int): The number of the first one.
    comments (list[str]): Without their number signs.
    rows (list[list[str]]): The columns of words, multiword tokens and empty nodes.
    words (list[Word]): The words.
    """

    line: int
    comments: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)

    @property
    def problem(self) -> str | None:
        """What keeps its heads from being a tree with one root, if anything does."""
        return _not_a_tree([word.head for word in self.words])

    def text(self) -> str:
        """The rows, with the columns of heads and labels empty where there is no tree: only the first word is a root then, as a
        sentence has to begin somewhere.
        """
        rows = self.rows
        if self.problem is not None:
            rows = [
                [*row[:_HEAD], *(("0", "root") if row[0] == "1" else ("1", "")), *row[_LABEL + 1 :]] for row in rows
            ]
        return "\n".join("\t".join(row) for row in rows)


def read_blocks(path: Path) -> Iterator[Block]:
    """The sentences of a CoNLL-U file as their lines, with trees or without.

    path (Path): A file in UTF-8.
    RAISES (ValueError): If it has no sentences, or a line is not one of CoNLL-U, with the line.
    """
    block: Block | None = None
    found = False
    # At the end there is an empty line, or that is put up with.
    for number, line in (*numbered_lines(path), (0, "")):
        if line.strip():
            block = Block(number) if block is None else block
            try:
                _read_line(block, line)
            except ValueError as error:
                raise ValueError(f"'{path}', line {number}: {error}") from error
        elif block is not None:
            heads = [word.head for word in block.words]
            if not heads:
                raise ValueError(f"'{path}', line {block.line}: the sentence that begins here has no words.")
            if max(heads) > len(heads):
                raise ValueError(
                    f"'{path}', line {block.line}: the head {max(heads)} is none of the {len(heads)} words in the sentence that begins "
                    "here."
                )
            yield block
            block, found = None, True
    if not found:
        raise ValueError(f"'{path}' has no sentences in CoNLL-U.")


def read_conllu(path: Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file. Ranges of multiword tokens, empty nodes, and comments on the text are left out.

    path (Path): A file in UTF-8.
    RAISES (ValueError): If it has no sentences, a line is not one of CoNLL-U, or a sentence is not a tree with one root, with the
        line.
    """
    sentences = []
    for block in read_blocks(path):
        if block.problem is not None:
            raise ValueError(f"'{path}', line {block.line}: {block.problem} in the sentence that begins here.")
        kept = (comment for comment in block.comments if comment.startswith(_KEPT))
        sentences.append(Sentence(block.words, tuple(kept)))
    return sentences


def write_conllu(path: Path, sentences: Iterable[Sentence]) -> None:
    """Write sentences to a file in CoNLL-U, which takes its place when it is complete.

    path (Path): The file.
    sentences (Iterable[Sentence]): The sentences.
    RAISES (OSError): If it cannot be written.
    """
    with replacing(path, "w", encoding="utf8", newline="\n") as file:
        for sentence in sentences:
            file.writelines(f"# {comment}\n" for comment in sentence.comments)
            for i, word in enumerate(sentence.words, start=1):
                columns = (str(i), word.form, EMPTY, word.upos, word.xpos, EMPTY, str(word.head), word.deprel)
                file.write("\t".join((*columns, EMPTY, EMPTY)) + "\n")
            file.write("\n")


def _read_line(block: Block, line: str) -> None:
    """RAISES (ValueError): If the line does not go on with the sentence."""
    if line.startswith("#"):
        if block.rows:
            raise ValueError("a comment stands among the words of a sentence. Is an empty line missing before it?")
        block.comments.append(line[1:].strip())
        return
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise ValueError(f"a word has {_COLUMNS} columns with a tab between them, but here are {len(columns)}.")
    block.rows.append(columns)
    index, form, _, upos, xpos, _, head, deprel, _, _ = columns
    if "-" in index or "." in index:
        return
    number = len(block.words) + 1
    if index != str(number):
        raise ValueError(f"this should be word {number} of its sentence, but its number is '{index}'.")
    if head != EMPTY and not (head.isascii() and head.isdigit()):
        raise ValueError(f"the head of '{form}' should be a number, but it is '{head}'.")
    block.words.append(Word(form, upos, xpos, _MISSING if head == EMPTY else int(head), deprel))


def _not_a_tree(heads: Sequence[int]) -> str | None:
    """What keeps heads, numbered from 1, from being a tree with one root."""
    if _MISSING in heads:
        return "a head is missing"
    if heads.count(0) != 1:
        return f"there are {heads.count(0)} roots"
    # From which word each was first reached on a way up; the root's head ends all ways.
    reached = [0] * (len(heads) + 1)
    reached[0] = _MISSING
    for first in range(1, len(heads) + 1):
        word = first
        while not reached[word]:
            reached[word] = first
            word = heads[word - 1]
        if reached[word] == first:
            return "a word is above itself"
    return None
