"""Training data read from CoNLL-U as it is: documents and paragraphs, tokens, and the words under them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..annotation.documents import ROOT_LABEL, SPACE_LABEL, SPACE_TAG, unannotated
from ..annotation.syntactic_words import (
    Analysis,
    has_multiword_tokens,
    multiword_tokens,
    write_back,
    write_words,
)
from ..settings import OneOf, check, whole
from ..treebanks.conllu import EMPTY, Block, read_blocks

_TOKENS = OneOf(("tokenizer", "gold"))
_PARAGRAPH = "\n\n"


@registry.readers("spacy-hpyp.ConlluCorpus.v1")
def create_conllu_corpus(
    path: str | Path | None, tokens: str = "tokenizer", n_sents: int = 10, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read CoNLL-U files: an example for each document, in which an empty line stands between paragraphs.

    path (str | Path | None): A file, or a directory of files that end with .conllu.
    tokens (str): Whose tokens, and words under them, the documents to be parsed have: "tokenizer", the pipeline's, or "gold".
    n_sents (int): How many sentences are a document in a file that does not say where documents and paragraphs begin.
    limit (int): Read only so many documents, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If there is no path, as in a config whose paths have not been filled in, or a setting is not what it may be.
        When it is read, if a line is not one of CoNLL-U, with the line.
    """
    if path is None:
        raise ValueError(Errors.E913)
    check("tokens", tokens, _TOKENS)
    whole("n_sents", n_sents)
    whole("limit", limit, least=0)

    def read(nlp: Language) -> Iterator[Example]:
        for count, reference in enumerate(read_documents(Path(path), nlp.vocab, n_sents=n_sents)):
            if limit and count >= limit:
                return
            yield Example(nlp.make_doc(reference.text) if tokens == "tokenizer" else with_words(reference), reference)

    return read


def with_words(doc: Doc) -> Doc:
    """A new Doc with the tokens of another and the words under them, and no annotation."""
    new = unannotated(doc)
    for token, words in multiword_tokens(doc):
        write_words(new, token.i, [Analysis(word.form) for word in words])
    return new


def read_documents(path: Path, vocab: Vocab, *, n_sents: int = 10) -> Iterator[Doc]:
    """The annotated documents of CoNLL-U files.

    path (Path): A file, or a directory of files that end with .conllu.
    vocab (Vocab): Of the Docs.
    n_sents (int): As for `create_conllu_corpus`.
    RAISES (ValueError): If a line is not one of CoNLL-U, with the line.
    """
    for file in sorted(path.rglob("*.conllu")) if path.is_dir() else [path]:
        document, paragraph, count, marked = 0, 0, 0, False
        placed = []
        for block in read_blocks(file):
            starts = [name for name in ("newdoc", "newpar") if any(c.split(" ")[0] == name for c in block.comments)]
            marked = marked or bool(starts)
            document += "newdoc" in starts or (not marked and count % n_sents == 0)
            paragraph += bool(starts)
            count += 1
            placed.append((document, paragraph, block))
            if len({each[0] for each in placed}) > 1:
                yield _document([each[1:] for each in placed[:-1]], vocab)
                placed = placed[-1:]
        if placed:
            yield _document([each[1:] for each in placed], vocab)


def _document(placed: Iterable[tuple[int, Block]], vocab: Vocab) -> Doc:
    """A Doc of the sentences of a document, each with the number of its paragraph."""
    texts: list[str] = []
    spaces: list[bool] = []
    # Of each token the forms of its words, and of all words what is known of them.
    forms: list[list[str]] = []
    columns: dict[str, list] = {name: [] for name in ("words", "tags", "pos", "morphs", "lemmas", "heads", "deps")}

    def add(text: str, space: bool, rows: Sequence[Sequence[object]]) -> None:
        texts.append(text)
        spaces.append(space)
        forms.append([str(row[0]) for row in rows])
        for row in rows:
            for column, value in zip(columns.values(), row):
                column.append(value)

    for _, paragraph in groupby(placed, key=lambda each: each[0]):
        if texts:
            spaces[-1] = False
            last = len(columns["words"]) - 1
            add(_PARAGRAPH, False, [(_PARAGRAPH, SPACE_TAG, "SPACE", "", _PARAGRAPH, last, SPACE_LABEL)])
        for _, block in paragraph:
            first = len(columns["words"])
            for text, space, rows in _tokens(block):
                add(text, space, [_annotation(row, block, first) for row in rows])
    spaces[-1] = False
    doc = Doc(vocab, words=texts, spaces=spaces)
    for i, own in enumerate(forms):
        write_words(doc, i, [Analysis(form) for form in own])
    if not has_multiword_tokens(doc):
        return Doc(vocab, **{**columns, "words": texts, "spaces": spaces})
    write_back(Doc(vocab, **columns), doc)
    return doc


def _tokens(block: Block) -> Iterator[tuple[str, bool, list[list[str]]]]:
    """The tokens of a sentence: their texts, whether a space stands behind each, and the rows of their words."""
    found: list[tuple[str, bool, list[list[str]]]] = []
    end = 0
    for row in block.rows:
        index = row[0]
        space = "SpaceAfter=No" not in row[9].split("|")
        if "-" in index:
            end = int(index.split("-")[1])
            found.append((row[1], space, []))
        elif index.isdigit() and int(index) <= end:
            found[-1][2].append(row)
        elif index.isdigit():
            found.append((row[1], space, [row]))
    return iter(found)


def _annotation(row: list[str], block: Block, first: int) -> tuple[object, ...]:
    """A word, its tags, features, lemma, the place of its head among all words, and label. In a sentence without a tree all words hang on
    the first one, without labels.
    """
    form, lemma = row[1], row[2]
    _, _, _, upos, xpos, feats, head, deprel = ("" if cell == EMPTY else cell for cell in row[:8])
    lemma = "" if lemma == EMPTY and form != EMPTY else lemma
    known = form, xpos or upos, upos, feats, lemma
    if block.problem is not None:
        return *known, first, ""
    root = head == "0"
    return *known, first + int(row[0] if root else head) - 1, ROOT_LABEL if root else deprel
