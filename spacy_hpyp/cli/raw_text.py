"""Stream sentences and documents of text, CoNLL-U and `.spacy` files, told apart by name."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import spacy
import typer
from spacy.language import Language

from ..annotation.syntactic_words import to_word_doc
from ..language_model.tables import is_table
from ..pipeline.corpus import SPACY, mark_sentence, read_treebank, spans_of
from ..storage import blaming
from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import read_blocks

#: The path that stands for stdin.
STDIN = Path("-")


def is_conllu(path: Path) -> bool:
    """Return whether a file is CoNLL-U, by its name."""
    return path.suffix.lower() == ".conllu"


def existing(paths: list[Path] | None) -> list[Path] | None:
    """Return the paths. RAISES (typer.BadParameter): If one is neither a file nor stdin."""
    for path in paths or ():
        if path != STDIN and not path.is_file():
            problem = "is not a regular file" if path.exists() else "does not exist"
            problem = "is a directory" if path.is_dir() else problem
            raise typer.BadParameter(f"'{path}' {problem}.")
    return paths


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the offset in characters and the text of each line of a file in UTF-8, or of stdin.

    RAISES (ValueError): If it is not UTF-8.
    """
    end = 0
    with (
        nullcontext(typer.get_binary_stream("stdin")) if path == STDIN else path.open("rb") as file
    ):
        for number, data in enumerate(file, 1):
            with blaming(f"'{path}' is not text in UTF-8 (line {number})"):
                line = data.decode()
            yield end, line
            end += len(line)


def locate_paragraphs(path: Path, *, per_line: bool = False) -> Iterator[tuple[int, str]]:
    """Yield the offset in characters and the text of each paragraph, or line, of a text file; see
    `paragraphs_of`.

    RAISES (ValueError): At once if it is a table or CoNLL-U by its name; later if it is not UTF-8.
    """
    if is_table(path) or is_conllu(path):
        raise ValueError(f"'{path}' is a table or CoNLL-U by its name. Give a file of text.")
    return paragraphs_of(lines_of(path), per_line=per_line)


def read_sentences(path: str | Path, nlp: Language | None = None) -> Iterator[list[str]]:
    """Yield the words of each sentence of a treebank, or of text with one sentence a line, without
    white space and empty sentences. The tokenizer of `nlp`, or white space, splits lines of text.

    RAISES (ValueError): If the file does not exist, or is not what its name says.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"There is no file '{path}'.")
    if is_conllu(path):
        return ([word.form for word in block.words] for block in read_blocks(path))
    if path.is_dir() or path.suffix == SPACY:
        docs = read_treebank(path, spacy.blank("xx").vocab)
    else:
        lines = (line for _, line in locate_paragraphs(path, per_line=True))
        if nlp is None:
            return filter(None, map(str.split, lines))
        docs = map(mark_sentence, map(nlp.make_doc, lines))
    sentences = (span for doc in docs for span in spans_of(to_word_doc(doc)))
    return filter(None, ([word.text for word in span if not word.is_space] for span in sentences))
