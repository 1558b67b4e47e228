"""Readers of treebanks: CoNLL-U with paragraphs, multiword tokens and words, and `.spacy` files."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..annotation.encoding import SPACE_TAG
from ..annotation.sentences import ROOT_LABEL, SPACE_LABEL
from ..annotation.syntactic_words import Analysis, has_multiword_tokens, write_back, write_words
from ..storage import blaming
from ..treebanks.conllu import EMPTY, UNKNOWN_SPACES, Block, read_blocks

#: The file name endings of treebanks.
CONLLU, SPACY = ".conllu", ".spacy"
_PARAGRAPH = "\n\n"


@contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Name the `.spacy` file in errors of reading it.

    RAISES (ValueError): If it is damaged, or its name ends otherwise.
    """
    if Path(path).is_file() and Path(path).suffix.lower() != SPACY:
        raise ValueError(f"The name of '{path}' ends with neither {CONLLU} nor {SPACY}: rename it.")
    with blaming(f"'{path}' is not a .spacy file, or it is damaged"):
        yield


def spacy_files(path: Path) -> list[Path]:
    """Return a `.spacy` file, or those of a directory in order."""
    return sorted(path.rglob(f"*{SPACY}")) if path.is_dir() else [path]


def read_treebank(path: Path, vocab: Vocab, *, n_sents: int = 10) -> Iterator[Doc]:
    """Yield the annotated documents of a treebank, without empty ones.

    path (Path): A file, or a directory of files that end with .conllu or .spacy.
    n_sents (int): Sentences per document, before the first document that a CoNLL-U file names.
    RAISES (ValueError): If a file is damaged or not in its format, or the directory has none.
    RAISES (FileNotFoundError): If there is nothing at the path.
    """
    files = [path]
    if path.is_dir():
        files = [*sorted(path.rglob(f"*{CONLLU}")), *spacy_files(path)]
    if not files:
        raise ValueError(f"There is no {CONLLU} or {SPACY} file in the directory '{path}'.")
    for file in files:
        if file.suffix.lower() == CONLLU:
            yield from _conllu_documents(file, vocab, n_sents)
            continue
        with reading(file):
            yield from filter(len, DocBin().from_disk(file).get_docs(vocab))


def _conllu_documents(file: Path, vocab: Vocab, n_sents: int) -> Iterator[Doc]:
    def places() -> Iterator[tuple[int, int, Block]]:
        document, paragraph, is_named = 0, 0, False
        for count, block in enumerate(read_blocks(file)):
            is_named = is_named or block.begins("newdoc")
            document += block.begins("newdoc") or (not is_named and count % n_sents == 0)
            paragraph += block.begins("newdoc", "newpar")
            yield document, paragraph, block

    for _, placed in groupby(places(), key=lambda each: each[0]):
        yield document_of([each[1:] for each in placed], vocab)


def document_of(placed: Iterable[tuple[int, Block]], vocab: Vocab) -> Doc:
    """Make a Doc of the sentences of a document, each with the number of its paragraph."""
    texts: list[str] = []
    spaces: list[bool] = []
    is_written = True
    # The forms of each token's words, and the annotation of all words.
    forms: list[list[str]] = []
    columns: dict[str, list] = {
        name: [] for name in ("words", "tags", "pos", "morphs", "lemmas", "heads", "deps")
    }

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
            add(
                _PARAGRAPH,
                False,
                [(_PARAGRAPH, SPACE_TAG, "SPACE", "", _PARAGRAPH, last, SPACE_LABEL)],
            )
        for _, block in paragraph:
            is_written = is_written and UNKNOWN_SPACES not in block.comments
            first = len(columns["words"])
            for text, space, rows in block.complete().tokens():
                add(text, space, [_annotation(row, first) for row in rows])
    spaces[-1] = False
    layout = {"words": texts, "spaces": spaces if is_written else None}
    doc = Doc(vocab, **layout)
    for i, own in enumerate(forms):
        write_words(doc, i, [Analysis(form) for form in own])
    if not has_multiword_tokens(doc):
        return Doc(vocab, **{**columns, **layout})
    write_back(Doc(vocab, **columns), doc)
    return doc


def _annotation(row: list[str], first: int) -> tuple[object, ...]:
    """Return form, tags, features, lemma, head among all words, and label of a word."""
    form, lemma = row[1], row[2]
    _, _, _, upos, xpos, feats, head, deprel = ("" if cell == EMPTY else cell for cell in row[:8])
    lemma = "" if lemma == EMPTY and form != EMPTY else lemma
    is_root = head == "0"
    # A root without a label would begin no sentence.
    label = (ROOT_LABEL if deprel else EMPTY) if is_root else row[7]
    return (
        form,
        xpos or upos,
        upos,
        feats,
        lemma,
        first + int(row[0] if is_root else head) - 1,
        label,
    )
