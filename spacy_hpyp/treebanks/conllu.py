"""Sentences in CoNLL-U, as far as dependency parsing needs them: words, tags, heads and labels."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..storage.files import replacing
from .lines import numbered_lines

#: What stands in a column without a value.
EMPTY = "_"
# Comments that stay true when words are changed or left out.
_KEPT = ("newdoc", "newpar", "sent_id")
_COLUMNS = 10


class Word(NamedTuple):
    """A word of a sentence.

    form (str): As it is written.
    upos, xpos (str): The universal tag and the treebank's own, "_" if there is none.
    head (int): The number of its head, from 1; 0 is that of the root.
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


def read_conllu(path: Path) -> list[Sentence]:
    """The sentences of a CoNLL-U file. Ranges of multiword tokens, empty nodes, and comments on the text are left out.

    path (Path): A file in UTF-8.
    RAISES (ValueError): If it has no sentences, a line is not one of CoNLL-U, or a sentence is not a tree with one root, with the
        line.
    """
    sentences: list[Sentence] = []
    words: list[Word] = []
    comments: list[str] = []
    start = 1

    def finish() -> None:
        if words:
            if problem := _not_a_tree([word.head for word in words]):
                raise ValueError(f"'{path}', line {start}: {problem} in the sentence that begins here.")
            sentences.append(Sentence(words.copy(), tuple(comments)))
            words.clear()
            comments.clear()

    for number, line in numbered_lines(path):
        if not line.strip():
            finish()
        elif line.startswith("#"):
            comment = line[1:].strip()
            if comment.startswith(_KEPT):
                comments.append(comment)
        else:
            start = start if words else number
            try:
                word = _read_word(line, len(words) + 1)
            except ValueError as error:
                raise ValueError(f"'{path}', line {number}: {error}") from error
            if word is not None:
                words.append(word)
    finish()
    if not sentences:
        raise ValueError(f"'{path}' has no sentences in CoNLL-U.")
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


def _read_word(line: str, number: int) -> Word | None:
    """The word of a line, which should have a certain number; None for a multiword token and an empty node."""
    columns = line.split("\t")
    if len(columns) != _COLUMNS:
        raise ValueError(f"a word has {_COLUMNS} columns with a tab between them, but here are {len(columns)}.")
    index, form, _, upos, xpos, _, head, deprel, _, _ = columns
    if "-" in index or "." in index:
        return None
    if index != str(number):
        raise ValueError(f"this should be word {number} of its sentence, but its number is '{index}'.")
    if not (head.isascii() and head.isdigit()):
        raise ValueError(f"the head of '{form}' should be a number, but it is '{head}'.")
    return Word(form, upos, xpos, int(head), deprel)


def _not_a_tree(heads: Sequence[int]) -> str | None:
    """What keeps heads, numbered from 1, from being a tree with one root."""
    if heads.count(0) != 1:
        return f"there should be one root, and not {heads.count(0)},"
    if max(heads) > len(heads):
        return f"the head {max(heads)} is none of the {len(heads)} words"
    # From which word each was first reached on a way up; the root's head ends all ways.
    reached = [0] * (len(heads) + 1)
    reached[0] = -1
    for first in range(1, len(heads) + 1):
        word = first
        while not reached[word]:
            reached[word] = first
            word = heads[word - 1]
        if reached[word] == first:
            return f"word {word} is above itself"
    return None
