"""Whole documents of files: of treebanks, which say where documents begin, of `.spacy` files, and of text."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vocab import Vocab

from ..annotation.documents import unannotated
from ..annotation.syntactic_words import words_as_tokens
from ..components.conllu_corpus import create_conllu_corpus
from ..components.documents import SPACY
from ..components.documents import read_documents as read_treebank
from .options import MOST
from .raw_text import is_conllu, lines_of


def read_documents(path: Path, vocab: Vocab, *, document_words: int) -> Iterator[Doc]:
    """The documents of a file, as Docs with sentence boundaries whose tokens are words.

    * A treebank, in CoNLL-U or as a `.spacy` file: with their trees, see `components.documents.read_documents`. CoNLL-U that does not say
      where documents begin is one.
    * Text in UTF-8, one sentence a line, whose words are separated by spaces: an empty line ends a document, and so does the
      end of a sentence with which it has as many words as were asked for.

    path (Path): The file.
    vocab (Vocab): Of the Docs.
    document_words (int): How many words a document of a text has.
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
    """The documents of a treebank, with what is to be found of them.

    path (Path): A file, or a directory of files that end with .conllu or .spacy.
    tokens (str): Whose tokens the documents to be parsed have, "tokenizer" or "gold".
    RAISES (ValueError): If it is damaged, or no such file.
    """
    return list(create_conllu_corpus(path, tokens=tokens)(nlp))


def read_training(path: Path, nlp: Language, config: dict[str, Any]) -> list[Example]:
    """The same of what is learned from, with the tokens that a config reads its training data with.

    config (dict[str, Any]): That of a pipeline.
    """
    return read_corpus(path, nlp, tokens=config.get("corpora", {}).get("train", {}).get("tokens", "tokenizer"))


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

    RAISES (ValueError): If the pipeline finds no trees.
    """
    for doc in nlp.pipe(_unparsed(doc, nlp.vocab) for doc in docs):
        if not doc.has_annotation("DEP") and len(doc):
            raise ValueError(f"The pipeline finds no trees: it has no parser. Its components are {nlp.pipe_names}.")
        yield doc


def _unparsed(doc: Doc, vocab: Vocab) -> Doc:
    starts = [token.is_sent_start for token in doc] if doc.has_annotation("SENT_START") else None
    found = unannotated(doc, vocab, sent_starts=starts)
    for token, own in zip(found, doc):
        # Parsers have nothing to say of lemmas.
        token.lemma_ = own.lemma_
    return found
