"""Sentences of text files and `.spacy` files, read a little at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import minibatch

# How many texts are read between two moments at which spaCy may forget their strings.
_BATCH = 256
# The longest text, in characters, that a pipeline gets at once.
_LONGEST = 20_000


def read_sentences(path: str | Path, nlp: Language | None = None, *, per_line: bool = True) -> Iterator[list[str]]:
    """The words of each sentence of a file. White space is no word, and sentences without words are left out.

    * A `.spacy` file, or a directory of them: gold tokens and sentences; a document without sentence boundaries is one
      sentence.
    * Text, one sentence a line: split into words at white space, or by the tokenizer of a pipeline if there is one.
    * Running text: a pipeline finds words and sentences. An empty line ends a paragraph, and no sentence goes beyond it; other
      line ends are white space. A paragraph of more than 20,000 characters is cut at white space.

    Text is UTF-8. It is not held in memory, nor are the strings that a pipeline makes of it.

    path (str | Path): The file.
    nlp (Language | None): The pipeline.
    per_line (bool): Whether a line of text is a sentence; else the text is running text, and a pipeline is needed.
    RETURNS (Iterator[list[str]]): The words of each sentence.
    RAISES (ValueError): If there is no such file, it is not what its name says, or nothing finds the sentences.
    """
    path = Path(path)
    if not path.exists():
        raise ValueError(f"There is no file '{path}'.")
    if path.is_dir() or path.suffix == ".spacy":
        return _gold_sentences(path)
    if per_line:
        return _lines(path) if nlp is None else _tokenized_lines(path, nlp)
    if nlp is None:
        raise ValueError(f"The sentences of the running text '{path}' can only be found by a pipeline.")
    return _running_text(path, nlp)


def read_paragraphs(path: str | Path, nlp: Language | None = None) -> Iterator[list[str]]:
    """The words of each paragraph of running text, see `read_sentences`. White space is no word.

    path (str | Path): The file.
    nlp (Language | None): Its tokenizer finds the words; without one they are separated by white space.
    RAISES (ValueError): If it is not text in UTF-8.
    """
    path = Path(path)
    with path.open(encoding="utf8") as file:
        for texts in minibatch(_paragraphs(_decoded(file, path)), _BATCH):
            if nlp is None:
                found = [text.split() for text in texts]
            else:
                with nlp.memory_zone():
                    found = [[t.text for t in nlp.make_doc(text) if not t.is_space] for text in texts]
            yield from filter(None, found)


def _gold_sentences(path: Path) -> Iterator[list[str]]:
    files = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"There is no .spacy file in the directory '{path}'.")
    # What is white space, a vocabulary knows from its language; that of no language in particular is good for all.
    vocab = spacy.blank("xx").vocab
    for file in files:
        try:
            content = DocBin().from_disk(file)
        except ValueError as error:
            raise ValueError(f"'{file}' is not a .spacy file, or it is damaged: {error}") from error
        for doc in content.get_docs(vocab):
            yield from _sentences(doc)


def _lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf8") as file:
        for line in _decoded(file, path):
            if words := line.split():
                yield words


def _tokenized_lines(path: Path, nlp: Language) -> Iterator[list[str]]:
    with path.open(encoding="utf8") as file:
        for lines in minibatch(_decoded(file, path), _BATCH):
            with nlp.memory_zone():
                found = [[t.text for t in nlp.make_doc(line) if not t.is_space] for line in lines]
            yield from filter(None, found)


def _running_text(path: Path, nlp: Language) -> Iterator[list[str]]:
    with path.open(encoding="utf8") as file:
        for texts in minibatch(_paragraphs(_decoded(file, path)), _BATCH):
            with nlp.memory_zone():
                docs = list(nlp.pipe(texts))
                if not all(doc.has_annotation("SENT_START") for doc in docs):
                    raise ValueError(
                        f"The pipeline does not find the sentences of '{path}': it has neither a parser nor another "
                        "component that sets sentence boundaries."
                    )
                found = [sentence for doc in docs for sentence in _sentences(doc)]
                del docs
            yield from found


def _sentences(doc: Doc) -> Iterator[list[str]]:
    spans = doc.sents if doc.has_annotation("SENT_START") else [doc[:]]
    for span in spans:
        if words := [token.text for token in span if not token.is_space]:
            yield words


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    text = ""
    for line in lines:
        if line.isspace():
            if text:
                yield text
            text = ""
            continue
        text += line
        while len(text) > _LONGEST:
            cut = 1 + max(text.rfind(space, 0, _LONGEST) for space in " \n\t")
            cut = cut or _LONGEST
            yield text[:cut]
            text = text[cut:]
    if text.strip():
        yield text


def _decoded(file: Iterable[str], path: Path) -> Iterator[str]:
    try:
        yield from file
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not text in UTF-8 ({error}).") from error
