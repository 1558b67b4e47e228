"""Readers of treebanks, as CoNLL-U (paragraphs, multiword tokens, words) and `.spacy` files, and
a batcher that divides a corpus into parts.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby, islice, repeat
from operator import itemgetter
from pathlib import Path

import numpy as np
from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..annotation.encoding import SPACE_TAG
from ..annotation.sentences import ROOT_LABEL, SPACE_LABEL
from ..annotation.syntactic_words import (
    Analysis,
    has_multiword_tokens,
    to_word_doc,
    write_back,
    write_words,
)
from ..settings import check, whole
from ..storage import blaming
from ..treebanks.conllu import EMPTY, UNKNOWN_SPACES, Block, read_blocks
from .alignment import unannotated, with_words
from .settings import TOKENS

#: The file name endings of treebanks.
CONLLU, SPACY = ".conllu", ".spacy"
_PARAGRAPH = "\n\n"
_COLUMNS = ("words", "tags", "pos", "morphs", "lemmas", "heads", "deps")


def read_treebank(path: Path, vocab: Vocab, *, n_sents: int = 10) -> Iterator[Doc]:
    """Yield the annotated documents of a treebank, without empty ones.

    path (Path): A file, or a directory of files that end with .conllu or .spacy.
    n_sents (int): Sentences per document, before the first document that a CoNLL-U file names.
    RAISES (ValueError): If a file is damaged or not in its format, or the directory has none.
    RAISES (FileNotFoundError): If there is nothing at the path.
    """
    files = [path]
    if path.is_dir():
        files = [file for end in (CONLLU, SPACY) for file in sorted(path.rglob(f"*{end}"))]
    if not files:
        raise ValueError(f"There is no {CONLLU} or {SPACY} file in the directory '{path}'.")
    for file in files:
        ending = file.suffix.lower()
        if ending == CONLLU:
            for _, placed in groupby(_placed_blocks(file, n_sents), key=itemgetter(0)):
                yield _document([each[1:] for each in placed], vocab)
            continue
        if file.is_file() and ending != SPACY:
            raise ValueError(
                f"The name of '{file}' ends with neither {CONLLU} nor {SPACY}: rename it."
            )
        with blaming(f"'{file}' is not a .spacy file, or it is damaged"):
            yield from filter(len, DocBin().from_disk(file).get_docs(vocab))


def _placed_blocks(file: Path, n_sents: int) -> Iterator[tuple[int, int, Block]]:
    """Yield the sentences of a file with the numbers of their documents and paragraphs."""
    document, paragraph, is_named = 0, 0, False
    for count, block in enumerate(read_blocks(file)):
        is_named = is_named or block.begins("newdoc")
        document += block.begins("newdoc") or (not is_named and count % n_sents == 0)
        paragraph += block.begins("newdoc", "newpar")
        yield document, paragraph, block


def _document(placed: Iterable[tuple[int, Block]], vocab: Vocab) -> Doc:
    """Make a Doc of the sentences of a document, each with the number of its paragraph."""
    # The text of each token, whether a space follows, and the annotation of its words.
    tokens: list[tuple[str, bool, list[tuple]]] = []
    count, is_written = 0, True
    for _, paragraph in groupby(placed, key=itemgetter(0)):
        if tokens:
            space = (_PARAGRAPH, SPACE_TAG, "SPACE", "", _PARAGRAPH, count - 1, SPACE_LABEL)
            tokens.append((_PARAGRAPH, False, [space]))
            count += 1
        for _, block in paragraph:
            is_written = is_written and UNKNOWN_SPACES not in block.comments
            for text, is_spaced, rows in block.complete().tokens():
                tokens.append((text, is_spaced, [_annotation(row, count) for row in rows]))
            count += block.size
    texts, spaces, words = map(list, zip(*tokens))
    # No space precedes an empty line or the end.
    pairs = zip(spaces, [*texts[1:], _PARAGRAPH])
    spaces = [is_spaced and after != _PARAGRAPH for is_spaced, after in pairs]
    layout = {"words": texts, "spaces": spaces if is_written else None}
    doc = Doc(vocab, **layout)
    for i, of_token in enumerate(words):
        write_words(doc, i, [Analysis(form) for form, *_ in of_token])
    columns = dict(zip(_COLUMNS, map(list, zip(*chain.from_iterable(words)))))
    if not has_multiword_tokens(doc):
        return Doc(vocab, **{**columns, **layout})
    write_back(Doc(vocab, **columns), doc)
    return doc


def _annotation(row: list[str], first: int) -> tuple[str, str, str, str, str, int, str]:
    """Return the values of `_COLUMNS` of a word, given the number of words before its sentence."""
    form, lemma = row[1], row[2]
    _, _, _, upos, xpos, feats, head, deprel = ("" if cell == EMPTY else cell for cell in row[:8])
    lemma = "" if lemma == EMPTY and form != EMPTY else lemma
    is_root = head == "0"
    # A root without a label would begin no sentence.
    label = (ROOT_LABEL if deprel else EMPTY) if is_root else row[7]
    place = first + int(row[0] if is_root else head) - 1
    return form, xpos or upos, upos, feats, lemma, place, label


def _reader(path: str | Path | None, limit: int) -> Callable[[Vocab], Iterator[Doc]]:
    """Check the arguments of a reader, and return what reads its documents.

    RAISES (ValueError): If there is no path, or the limit is invalid.
    """
    if path is None:
        raise ValueError(Errors.E913)
    limit = whole("limit", limit, least=0)
    return lambda vocab: islice(read_treebank(Path(path), vocab), limit or None)


def mark_sentence(doc: Doc) -> Doc:
    """Mark a document as one sentence, and return it."""
    for i, token in enumerate(doc):
        token.is_sent_start = i == 0
    return doc


def spans_of(doc: Doc) -> list[Span]:
    """Return the sentences of a document; without boundaries it is one, as for spaCy's reader."""
    return list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]


@registry.readers("spacy-hpyp.GoldCorpus.v1")
def create_gold_corpus(
    path: str | Path | None, gold_tags: bool = False, limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read a treebank one gold sentence at a time, with gold words as tokens, and cache it.

    Each sentence is a document marked as one sentence, so that a parser finds no boundaries inside
    it.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    gold_tags (bool): Whether the document to be parsed has gold tags, for `predict_tags = false`.
    limit (int): The number of documents to read, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If `path` is None or `limit` is invalid. When it is read, see
        `read_treebank`.
    """
    documents = _reader(path, limit)
    # The corpus is read again at each evaluation.
    found: list[Doc] = []

    def sentences(vocab: Vocab) -> Iterator[Doc]:
        for words in map(to_word_doc, documents(vocab)):
            for sentence in spans_of(words):
                # An empty line between paragraphs belongs to no sentence.
                end = max(
                    (token.i + 1 for token in sentence if not token.is_space), default=sentence.end
                )
                yield words[sentence.start : end].as_doc()

    def read(nlp: Language) -> Iterator[Example]:
        if not found or found[0].vocab is not nlp.vocab:
            found[:] = sentences(nlp.vocab)
        for gold in found:
            example = Example(mark_sentence(unannotated(gold)), gold)
            if gold_tags:
                for token, own in zip(example.predicted, gold):
                    token.tag_ = own.tag_
            yield example

    return read


@registry.batchers("spacy-hpyp.batch_by_parts.v1")
def create_parts_batcher(parts: int) -> Callable[[Iterable[Example]], Iterator[list[Example]]]:
    """Create a batcher that divides each sweep over a corpus into batches of about as many words.

    The first sweep has one batch more, unless all others would be empty. spaCy evaluates after
    steps 0, n, 2 n, ...: with `eval_frequency` = n = `parts`, after every sweep. Batches are empty
    where examples are too few.

    parts (int): The number of batches in a sweep, at least 1.
    RAISES (ValueError): If there are fewer.
    """
    counts = chain([whole("parts", parts) + 1], repeat(parts))

    def batches(examples: Iterable[Example]) -> Iterator[list[Example]]:
        examples = list(examples)
        batches: list[list[Example]] = [[] for _ in range(next(counts))]
        ends = np.cumsum([len(example.reference) for example in examples])
        for example, end in zip(examples, ends):
            begin = end - len(example.reference)
            batches[min(begin * len(batches) // max(1, ends[-1]), len(batches) - 1)].append(example)
        if not any(batches[1:]):
            # An evaluation needs the loss of an example since the previous one.
            del batches[parts:]
        return iter(batches)

    return batches


@registry.readers("spacy-hpyp.ConlluCorpus.v1")
def create_conllu_corpus(
    path: str | Path | None, tokens: str = "tokenizer", limit: int = 0
) -> Callable[[Language], Iterator[Example]]:
    """Read CoNLL-U (with an empty line between paragraphs) or `.spacy` files, document by document.

    path (str | Path | None): A file, or a directory of files that end with .conllu or .spacy.
    tokens (str): Tokens of the documents to be parsed: "tokenizer" or "gold". Documents with
        unknown white space always have gold ones.
    limit (int): The number of documents to read, 0 for all.
    RETURNS (Callable): Yields the examples for a pipeline.
    RAISES (ValueError): If `path` is None, or a setting is not valid. When it is read, see
        `read_treebank`.
    """
    documents = _reader(path, limit)
    check("tokens", tokens, TOKENS)

    def read(nlp: Language) -> Iterator[Example]:
        for reference in documents(nlp.vocab):
            own = tokens == "gold" or reference.has_unknown_spaces
            yield Example(with_words(reference) if own else nlp.make_doc(reference.text), reference)

    return read
