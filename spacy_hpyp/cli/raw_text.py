"""Sentences and documents of text files, of treebanks in CoNLL-U, and of `.spacy` files, read a little at a
time. The name of a file says what it is.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..annotation.syntactic_words import words_as_tokens
from ..components.corpus import create_conllu_corpus, spans_of
from ..components.documents import SPACY, read_treebank
from ..language_model.stimuli import is_table
from ..text.paragraphs import paragraphs_of
from ..treebanks.conllu import read_blocks

# Texts read between two moments at which spaCy may forget their strings.
_BATCH = 256
#: The path that stands for stdin.
STDIN = Path("-")


def is_conllu(path: Path) -> bool:
    """Return whether a file is a treebank in CoNLL-U, by its name."""
    return path.suffix.lower() == ".conllu"


def existing(paths: list[Path] | None) -> list[Path] | None:
    """Check that files are there, as the callback of an option; stdin always is."""
    for path in paths or ():
        if path != STDIN and not path.is_file():
            problem = "is a directory" if path.is_dir() else "does not exist"
            raise typer.BadParameter(f"File '{path}' {problem}.")
    return paths


def check_text(path: Path) -> None:
    """Check that a file is text by its name. RAISES (ValueError): If it is a table or CoNLL-U."""
    if is_table(path):
        raise ValueError(f"'{path}' is a table, which only 'hpyp surprisal' reads: text is needed here.")
    if is_conllu(path):
        raise ValueError(
            f"'{path}' is CoNLL-U, but text is needed here. This writes its sentences, one a line: "
            f"sed -n 's/^# text = //p' {path}"
        )


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file in UTF-8, or of stdin, with the number of characters before each. A file whose
    name ends with .gz is compressed.

    RAISES (ValueError): If it is not UTF-8.
    """
    end = 0
    with _opened(path) as file:
        for number, data in enumerate(file, 1):
            try:
                line = data.decode()
            except UnicodeDecodeError as error:
                name = "stdin" if path == STDIN else f"'{path}'"
                raise ValueError(f"{name} is not text in UTF-8 (line {number}: {error}).") from error
            yield end, line
            end += len(line)


def _opened(path: Path) -> Any:
    if path == STDIN:
        return nullcontext(typer.get_binary_stream("stdin"))
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")


def locate_paragraphs(
    path: str | Path, *, per_line: bool = False, file: Iterable[str] | None = None
) -> Iterator[tuple[int, str]]:
    """Yield the paragraphs of a text file, each with the number of characters before it, see `paragraphs_of`.

    per_line (bool): Whether every line that is not empty is a paragraph, however long.
    file (Iterable[str] | None): Its lines, if they have been read already; their places are not known then.
    RAISES (ValueError): If the file is not text in UTF-8, or is a table or CoNLL-U by its name.
    """
    if file is None:
        check_text(Path(path))
        return paragraphs_of(lines_of(Path(path)), per_line=per_line)
    return paragraphs_of(((1, line) for line in file), per_line=per_line)


def read_sentences(
    path: str | Path, nlp: Language | None = None, *, per_line: bool = True, forget: bool = True
) -> Iterator[list[str]]:
    """Yield the words of each sentence of a file. White space is no word, and sentences without words are left
    out.

    * A `.spacy` file, or a directory of treebanks: gold words and sentences; a document without sentence
      boundaries is one sentence.
    * A treebank in CoNLL-U: its words and sentences.
    * Text, one sentence a line: split into words at white space, or by the tokenizer of a pipeline if there
      is one. In a `.jsonl` file it is the "text" of each record. What ends with `.gz` is compressed.
    * Running text: a pipeline finds words and sentences, a paragraph at a time.

    Text is not held in memory, nor are the strings that a pipeline makes of it.

    per_line (bool): Whether a line of text is a sentence; else the text is running text, and a pipeline is
        needed.
    forget (bool): Whether the strings of such lines are forgotten. A tokenizer that knows them again is five
        times as fast.
    RAISES (ValueError): If there is no such file, it is not what its name says, or nothing finds the
        sentences.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"There is no file '{path}'.")
    if path.is_dir() or path.suffix == SPACY:
        docs = read_treebank(path, spacy.blank("xx").vocab)
        return (words for doc in docs for words in _sentences(words_as_tokens(doc)))
    if is_conllu(path):
        return ([word.form for word in block.words] for block in read_blocks(path))
    if per_line:
        texts = (text for _, text in locate_paragraphs(path, per_line=True))
        if ".jsonl" in path.suffixes[-2:]:
            texts = (line for text in texts for line in _record(text, path).splitlines())
        return _words_of(texts, nlp, forget=forget)
    if nlp is None:
        raise ValueError(f"The sentences of the running text '{path}' can only be found by a pipeline.")
    return _segmented(path, nlp)


def _record(line: str, path: Path) -> str:
    try:
        text = srsly.json_loads(line)["text"]
    except (ValueError, TypeError, KeyError):
        text = None
    if not isinstance(text, str):
        raise ValueError(f"A line of '{path}' is no record with a \"text\" that is a string: {line[:80]}")
    return text


def read_paragraphs(path: str | Path, nlp: Language | None = None) -> Iterator[list[str]]:
    """Yield the words of each paragraph of running text: those of a tokenizer, or else what white space
    separates.
    """
    return _words_of((text for _, text in locate_paragraphs(path)), nlp)


def _words_of(texts: Iterable[str], nlp: Language | None, *, forget: bool = True) -> Iterator[list[str]]:
    for batch in minibatch(texts, _BATCH):
        if nlp is None:
            found = [text.split() for text in batch]
        else:
            with nlp.memory_zone() if forget else nullcontext():
                found = [[t.text for t in nlp.make_doc(text) if not t.is_space] for text in batch]
        yield from filter(None, found)


def _segmented(path: Path, nlp: Language) -> Iterator[list[str]]:
    """Yield the words of each sentence that a pipeline finds in running text."""
    for paragraphs in minibatch(locate_paragraphs(path), _BATCH):
        with nlp.memory_zone():
            docs = list(nlp.pipe(text for _, text in paragraphs))
            if not all(doc.has_annotation("SENT_START") for doc in docs):
                raise ValueError(
                    f"The pipeline does not find the sentences of '{path}': nothing in it sets sentence "
                    f"boundaries."
                )
            found = [sentence for doc in docs for sentence in _sentences(doc)]
            del docs
        yield from found


def _sentences(doc: Doc) -> Iterator[list[str]]:
    for span in spans_of(doc):
        if words := [token.text for token in span if not token.is_space]:
            yield words


def read_documents(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yield the documents of a treebank with their trees, as Docs whose tokens are words, see
    `components.documents.read_treebank`. CoNLL-U that does not say where documents begin is one.
    """
    return map(words_as_tokens, read_treebank(path, vocab, n_sents=sys.maxsize))


def read_corpus(path: Path, nlp: Language, *, tokens: str = "tokenizer") -> list[Example]:
    """Read the documents of a treebank, with what is to be found of them; a file, or a directory of files that
    end with .conllu or .spacy.

    tokens (str): The tokens of the documents to be parsed, "tokenizer" or "gold".
    """
    return list(create_conllu_corpus(path, tokens=tokens)(nlp))


def read_training(path: Path, nlp: Language, config: dict[str, Any]) -> list[Example]:
    """Read training data, with the tokens that the config of a pipeline reads it with."""
    return read_corpus(
        path, nlp, tokens=config.get("corpora", {}).get("train", {}).get("tokens", "tokenizer")
    )
