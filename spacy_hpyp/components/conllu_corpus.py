"""Training data read from CoNLL-U as it is: documents and paragraphs, tokens, and the words under them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

from spacy.errors import Errors
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from spacy.vocab import Vocab

from ..annotation.documents import ROOT_LABEL, SPACE_LABEL, SPACE_TAG, unannotated
from ..annotation.syntactic_words import Analysis, highest_word, multiword_tokens, write_head_word, write_words
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
        write_words(new, token.i, [Analysis(word.form, head_word=min(i, 0)) for i, word in enumerate(words)])
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
    starts: list[bool] = []
    # Of each token its words and the places of their heads among all words; of white space none.
    words: list[list[tuple[Analysis, int]]] = []
    place: list[tuple[int, int]] = []
    for _, paragraph in groupby(placed, key=lambda each: each[0]):
        if texts:
            spaces[-1] = False
            texts.append(_PARAGRAPH)
            spaces.append(False)
            starts.append(False)
            words.append([])
        for _, block in paragraph:
            first = len(place)
            for number, (text, space, rows) in enumerate(_tokens(block)):
                place.extend((len(texts), i) for i in range(len(rows)))
                texts.append(text)
                spaces.append(space)
                starts.append(number == 0)
                words.append([_analysis(row, block, first) for row in rows])
    spaces[-1] = False
    doc = Doc(vocab, words=texts, spaces=spaces)
    return _annotate(doc, words, place, starts)


def _tokens(block: Block) -> Iterator[tuple[str, bool, list[list[str]]]]:
    """The tokens of a sentence: their texts, whether a space stands behind each, and the rows of their words."""
    end = 0
    found: list[tuple[str, bool, list[list[str]]]] = []
    for row in block.rows:
        index = row[0]
        if "." in index:
            continue
        if "-" in index:
            end = int(index.split("-")[1])
            found.append((row[1], "SpaceAfter=No" not in row[9].split("|"), []))
        elif int(index) <= end:
            found[-1][2].append(row)
        else:
            found.append((row[1], "SpaceAfter=No" not in row[9].split("|"), [row]))
    return iter(found)


def _analysis(row: list[str], block: Block, first: int) -> tuple[Analysis, int]:
    """A word, and the place of its head among all words; -1 if it is the root, -2 where the sentence has no tree."""
    _, form, lemma, upos, xpos, feats, head, deprel = ("" if cell == EMPTY else cell for cell in row[:8])
    form = row[1]
    lemma = row[2] if row[2] != EMPTY or form == EMPTY else ""
    analysis = Analysis(form, lemma, xpos or upos, upos, feats, deprel)
    if block.problem is not None:
        return analysis._replace(dep=""), -2
    number = int(head)
    return analysis._replace(dep=deprel if number else ROOT_LABEL), first + number - 1 if number else -1


def _annotate(
    doc: Doc, words: list[list[tuple[Analysis, int]]], place: list[tuple[int, int]], starts: list[bool]
) -> Doc:
    """Write words into a Doc and, into its tokens, what is true of the highest word of each.

    words (list[list[tuple[Analysis, int]]]): Of each token, see `_analysis`; none for white space.
    place (list[tuple[int, int]]): Of each word its token, and which word of it it is.
    starts (list[bool]): Which tokens begin a sentence.
    """
    columns: dict[str, list] = {name: [] for name in ("tags", "pos", "morphs", "lemmas", "heads", "deps")}
    begin = 0
    for token, own in enumerate(words):
        begin = token if starts[token] else begin
        if not own:
            row = (SPACE_TAG, "SPACE", "", doc[token].text, max(token - 1, 0), SPACE_LABEL)
        else:
            analyses = [_placed(each, head, token, i, place) for i, (each, head) in enumerate(own)]
            write_words(doc, token, analyses)
            highest = analyses[highest_word(doc[token])]
            # In a sentence without a tree, all hang on the first token, without labels.
            head = token + highest.head_token if highest.dep else begin
            row = (highest.tag, highest.pos, highest.morph, highest.lemma, head, highest.dep)
        for column, value in zip(columns.values(), row):
            column.append(value)
    annotated = Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        user_data=doc.user_data,
        **columns,
    )
    for token, own in enumerate(words):
        if len(own) == 1 and own[0][1] >= 0:
            head_token, head_word = place[own[0][1]]
            if len(words[head_token]) > 1:
                write_head_word(annotated, token, head_word)
    return annotated


def _placed(analysis: Analysis, head: int, token: int, number: int, place: list[tuple[int, int]]) -> Analysis:
    """A word whose head is known by its place among all words as one whose head is known by its token."""
    if head < 0:
        return analysis._replace(head_word=number if head == -1 else min(number, 0))
    head_token, head_word = place[head]
    return analysis._replace(head_token=head_token - token, head_word=head_word)
