"""Sentences and documents of text files, of treebanks in CoNLL-U, and of `.spacy` files, read a little at a
time. A file is what its name says.
"""

import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any, TextIO

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import minibatch
from spacy.vocab import Vocab

from ..annotation.documents import unannotated
from ..annotation.syntactic_words import words_as_tokens
from ..components.conllu_corpus import create_conllu_corpus
from ..components.corpus import spans_of
from ..components.documents import SPACY, read_treebank
from ..language_model.stimuli import is_table
from ..treebanks.conllu import read_blocks
from .options import MOST

# How many texts are read between two moments at which spaCy may forget their strings.
_BATCH = 256
# The longest text, in characters, that a pipeline gets at once.
_LONGEST = 20_000
_BYTE_ORDER_MARK = "\ufeff"
#: What stands for bytes that are no UTF-8.
NO_TEXT = re.compile("[\udc80-\udcff]")
#: What stdin is called among files.
STDIN = Path("-")
# A word of CoNLL-U: its number, and nine columns more.
_WORD = re.compile(r"\d+([-.]\d+)?(\t[^\t]+){9}")


def is_conllu(path: Path) -> bool:
    """Whether a file is a treebank in CoNLL-U, by its name."""
    return path.suffix.lower() == ".conllu"


def existing(paths: list[Path] | None) -> list[Path] | None:
    """See that files are there, as an option does for those that are no stdin. RAISES (typer.BadParameter):
    If one is not.
    """
    for path in paths or ():
        if path != STDIN and not path.is_file():
            raise typer.BadParameter(
                f"File '{path}' {'is a directory' if path.is_dir() else 'does not exist'}."
            )
    return paths


def check_text(path: Path) -> None:
    """See that a file is text by its name, and neither a table nor CoNLL-U. RAISES (ValueError): If it is one
    of these.
    """
    if is_table(path):
        raise ValueError(
            f"'{path}' is a table by its name, which is for 'hpyp surprisal': text is needed here."
        )
    if is_conllu(path):
        raise ValueError(
            f"'{path}' is CoNLL-U by its name, but text is needed here. This writes its sentences, one a "
            f"line: "
            f"sed -n 's/^# text = //p' {path}"
        )


def opened(path: Path) -> TextIO:
    """A text file, or stdin, with its line ends as they are."""
    if path == STDIN:
        return TextIOWrapper(typer.get_binary_stream("stdin"), encoding="utf8", newline="")
    return open_file(path, "rt", encoding="utf8", newline="")


def open_file(path: Path, mode: str, **how: Any) -> Any:
    """Open a file as `open` does; what is compressed (.gz) is read as it comes."""
    return (gzip.open if path.suffix == ".gz" else open)(path, mode, **how)


def _records(path: Path) -> Iterator[tuple[int, str]]:
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                text = srsly.json_loads(line)["text"]
                lines = text.splitlines()
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise ValueError(
                    f"Line {number} of '{path}' is no record with a \"text\" that is a string."
                ) from error
            yield from ((number, own) for own in lines if own.strip())


def read_sentences(
    path: str | Path, nlp: Language | None = None, *, per_line: bool = True, forget: bool = True
) -> Iterator[list[str]]:
    """The words of each sentence of a file. White space is no word, and sentences without words are left out.

    * A `.spacy` file, or a directory of treebanks: gold words and sentences; a document without sentence
      boundaries is one sentence.
    * A treebank in CoNLL-U: its words and sentences.
    * Text, one sentence a line: split into words at white space, or by the tokenizer of a pipeline if there
      is one. In a `.jsonl` file it is the "text" of each record. What ends with `.gz` is compressed.
    * Running text: a pipeline finds words and sentences. An empty line ends a paragraph, and no sentence goes
      beyond it; other line ends are white space. A paragraph of more than 20,000 characters is cut at white
      space.

    Text is UTF-8, perhaps with a byte order mark. It is not held in memory, nor are the strings that a
    pipeline makes of it.

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
    if path.is_dir() or path.suffix == ".spacy":
        # What is white space a vocabulary knows from its language; that of no language in particular is good
        # for all.
        docs = read_treebank(path, spacy.blank("xx").vocab)
        return (words for doc in docs for words in _sentences(words_as_tokens(doc)))
    if is_conllu(path):
        return ([word.form for word in block.words] for block in read_blocks(path))
    if per_line:
        is_records = ".jsonl" in path.suffixes[-2:]
        return words_of(_records(path) if is_records else lines_of(path), nlp, forget=forget)
    if nlp is None:
        raise ValueError(f"The sentences of the running text '{path}' can only be found by a pipeline.")
    return segmented(locate_paragraphs(path), path, nlp)


def read_paragraphs(path: str | Path, nlp: Language | None = None) -> Iterator[list[str]]:
    """The words of each paragraph of running text, see `read_sentences`: those of a tokenizer, or else what
    white space separates.
    """
    return words_of(locate_paragraphs(path), nlp)


def locate_paragraphs(
    path: str | Path,
    *,
    per_line: bool = False,
    file: Iterable[str] | None = None,
    size: Callable[[str], int] = len,
) -> Iterator[tuple[int, str]]:
    """The paragraphs of a text file, each with how many characters of the file come before it.

    An empty line ends a paragraph. One of more than 20,000 characters is cut at white space. Line ends are
    left as they are. A byte order mark is a character of the file, but of no paragraph.

    per_line (bool): Whether every line that is not empty is a paragraph, however long.
    file (Iterable[str] | None): The lines, if the file is open already; the path is its name then.
    size (Callable[[str], int]): Counts of these what comes before a paragraph, if that is not to be their
        characters.
    RAISES (ValueError): If the file is not text in UTF-8, or is a table or CoNLL-U.
    """
    lines = lines_of(Path(path), file, size)
    yield from (
        ((offset, line) for offset, line in lines if line.strip()) if per_line else _paragraphs(lines, size)
    )


def lines_of(
    path: Path, file: Iterable[str] | None = None, size: Callable[[str], int] = len
) -> Iterator[tuple[int, str]]:
    """The lines of a text file as they are, and how many characters of the file come before each. A byte
    order mark is left out.

    file, size: As for `locate_paragraphs`.
    """
    if file is None:
        check_text(path)
    end = 0
    with opened(path) if file is None else nullcontext(file) as found:
        for line in decoded_lines(found, path):
            if _WORD.match(line):
                name = "What stdin has" if path == STDIN else f"'{path}'"
                raise ValueError(
                    f"{name} looks like CoNLL-U, and not like text: let its name end with .conllu, or add "
                    f"--conllu."
                )
            start, end = end, end + size(line)
            if start == 0 and line.startswith(_BYTE_ORDER_MARK):
                yield size(_BYTE_ORDER_MARK), line[1:]
            else:
                yield start, line


def words_of(
    texts: Iterable[tuple[int, str]], nlp: Language | None, *, forget: bool = True
) -> Iterator[list[str]]:
    """The words of each of some texts, with their places: those that a tokenizer finds, or what white space
    separates.
    """
    for batch in minibatch(texts, _BATCH):
        if nlp is None:
            found = [text.split() for _, text in batch]
        else:
            with nlp.memory_zone() if forget else nullcontext():
                found = [[t.text for t in nlp.make_doc(text) if not t.is_space] for _, text in batch]
        yield from filter(None, found)


def segmented(texts: Iterable[tuple[int, str]], path: str | Path, nlp: Language) -> Iterator[list[str]]:
    """The words of each sentence that a pipeline finds in texts, with their places in the file at a path."""
    for paragraphs in minibatch(texts, _BATCH):
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


def _paragraphs(lines: Iterable[tuple[int, str]], size: Callable[[str], int]) -> Iterator[tuple[int, str]]:
    text, start = "", 0
    for offset, line in lines:
        if not line.strip():
            if text:
                yield start, text
            text = ""
            continue
        if not text:
            start = offset
        text += line
        while len(text) > _LONGEST:
            cut = 1 + max(text.rfind(space, 0, _LONGEST) for space in " \n\t")
            cut = cut or _LONGEST
            yield start, text[:cut]
            start += size(text[:cut])
            text = text[cut:]
    if text.strip():
        yield start, text


def decoded_lines(file: Iterable[str], path: Path) -> Iterator[str]:
    """The lines of an open file, as they are; the path is its name, for errors. RAISES (ValueError): If it is
    not text in UTF-8.
    """
    try:
        yield from file
    except UnicodeDecodeError as error:
        if path == STDIN:
            raise ValueError(f"What stdin has is not text in UTF-8 ({error}).") from error
        with open_file(path, "rb") as lines:
            decoded = (
                (number, line.decode("utf8", "surrogateescape")) for number, line in enumerate(lines, 1)
            )
            number = next(number for number, line in decoded if NO_TEXT.search(line))
        raise ValueError(f"'{path}' is not text in UTF-8 (line {number}: {error}).") from error


def read_documents(path: Path, vocab: Vocab, *, document_words: int) -> Iterator[Doc]:
    """The documents of a file, as Docs with sentence boundaries whose tokens are words.

    * A treebank, in CoNLL-U or as a `.spacy` file: with their trees, see
      `components.documents.read_treebank`. CoNLL-U that does not say where documents begin is one.
    * Text in UTF-8, one sentence a line, whose words are separated by spaces: an empty line ends a document,
      and so does the end of a sentence with which it has as many words as were asked for.

    RAISES (ValueError): If the file is not what its name says.
    """
    if path.suffix == SPACY or is_conllu(path):
        yield from map(words_as_tokens, read_treebank(path, vocab, n_sents=MOST))
        return
    for sentences in _documents_of_text((line for _, line in lines_of(path)), document_words):
        words = [word for sentence in sentences for word in sentence]
        starts = [i == 0 for sentence in sentences for i in range(len(sentence))]
        yield Doc(vocab, words=words, sent_starts=starts)


def read_corpus(path: Path, nlp: Language, *, tokens: str = "tokenizer") -> list[Example]:
    """The documents of a treebank, with what is to be found of them; a file, or a directory of files that end
    with .conllu or .spacy.

    tokens (str): Whose tokens the documents to be parsed have, "tokenizer" or "gold".
    RAISES (ValueError): If it is damaged, or no such file.
    """
    return list(create_conllu_corpus(path, tokens=tokens)(nlp))


def read_training(path: Path, nlp: Language, config: dict[str, Any]) -> list[Example]:
    """The same of what is learned from, with the tokens that the config of a pipeline reads its training data
    with.
    """
    return read_corpus(
        path, nlp, tokens=config.get("corpora", {}).get("train", {}).get("tokens", "tokenizer")
    )


def _documents_of_text(lines: Iterable[str], document_words: int) -> Iterator[list[list[str]]]:
    for is_empty, group in groupby(map(str.split, lines), key=lambda words: not words):
        if is_empty:
            continue
        document: list[list[str]] = []
        for words in group:
            document.append(words)
            if sum(map(len, document)) >= document_words:
                yield document
                document = []
        if document:
            yield document


def parse_documents(docs: Iterable[Doc], nlp: Language) -> Iterator[Doc]:
    """The same documents with the trees of a pipeline, which is given their words and sentence boundaries.
    RAISES (ValueError): If it finds none.
    """
    for doc in nlp.pipe(_unparsed(doc, nlp.vocab) for doc in docs):
        if not doc.has_annotation("DEP") and len(doc):
            raise ValueError(
                f"The pipeline finds no trees: it has no parser. Its components are {nlp.pipe_names}."
            )
        yield doc


def _unparsed(doc: Doc, vocab: Vocab) -> Doc:
    starts = [token.is_sent_start for token in doc] if doc.has_annotation("SENT_START") else None
    found = unannotated(doc, vocab, sent_starts=starts)
    for token, own in zip(found, doc):
        # Parsers have nothing to say of lemmas.
        token.lemma_ = own.lemma_
    return found
