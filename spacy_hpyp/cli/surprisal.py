"""`hpyp surprisal`: the surprisal of each token or word of text files, as a table."""

import csv
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TextIO

import numpy as np
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import minibatch
from tqdm import tqdm
from wasabi import msg

from ..annotation.documents import encode_docs
from ..annotation.written import values_of
from ..components.hpyp_parser import HPYPParser
from ..language_model.interpolation import Interpolation
from ..language_model.surprisal import MIXED, TokenRow, WordRow, sum_words, token_rows
from ..storage.files import prepare_folder, replacing
from .app import hpyp, load_parser
from .interpolation import INTERPOLATE, WEIGHTS_FROM, load_interpolation
from .raw_text import locate_paragraphs, read_sentences

# How many paragraphs are parsed together.
_BATCH = 256


@hpyp.command("surprisal")
def surprisal_cli(
    model: str = typer.Argument(..., help="Name or path of a trained pipeline with an hpyp_parser"),
    texts: list[Path] = typer.Argument(..., help="Text files in UTF-8", exists=True, dir_okay=False),
    output: Path | None = typer.Option(None, "--output", "-o", help="TSV file, instead of stdout", dir_okay=False),
    words: bool = typer.Option(False, "--words", "-w", help="One row a word between white space: sums over its tokens"),
    per_line: bool = typer.Option(False, "--per-line", "-l", help="Each line is one sentence, without context"),
    particles: int | None = typer.Option(
        None, "--particles", "-K", help="Particles, instead of the pipeline's setting"
    ),
    threads: int | None = typer.Option(None, "--threads", "-t", help="Threads, instead of the pipeline's setting"),
    interpolate: Path | None = typer.Option(None, "--interpolate", "-i", help=INTERPOLATE, dir_okay=False, exists=True),
    weights_from: Path | None = typer.Option(None, "--weights-from", help=WEIGHTS_FROM, exists=True),
) -> None:
    """Write a table of surprisals in bits, one row a token, tab-separated, with a header.

    Paragraphs are separated by empty lines and parsed one by one; the parser finds their sentences. The columns start and end
    count characters of the file; sentences, words and tokens are numbered in each paragraph. A field that contains a
    quotation mark is quoted, as read.delim of R and pandas.read_csv expect. With --interpolate there are two more columns:
    surprisal_ngram, and surprisal_mixed of the n-gram model and the parser together; the others are the parser's own.

    Where the parser spells rare words out, their letters are a part of all surprisals but the syntactic ones. Search looks at no word
    before it is read, whatever the setting 'outlook' of the pipeline is.
    """
    nlp, parser = load_parser(model, particles=particles, threads=threads)
    # Reading is incremental: words to come must have no say in which derivations there are.
    parser.outlook = 0.0
    if interpolate is None and weights_from is not None:
        raise ValueError("--weights-from is a setting of a mixture, but there is no --interpolate.")
    mixture = None
    if interpolate is not None:
        search = parser.search._replace(consensus=False, guides=False)
        mixture = load_interpolation(parser, interpolate, weights_from, partial(read_sentences, nlp=nlp), search=search)
    rows = chain.from_iterable(read_surprisals(nlp, path, per_line=per_line, mixture=mixture) for path in texts)
    mixed = mixture is not None
    if output is None:
        write_table(typer.get_text_stream("stdout", encoding="utf8"), rows, words=words, mixed=mixed)
        return
    prepare_folder(output.parent)
    # A bar only where somebody looks on.
    bar = tqdm(rows, unit=" tokens", leave=False, disable=None)
    with bar, replacing(output, "w", encoding="utf8", newline="") as file:
        write_table(file, bar, words=words, mixed=mixed)
    msg.good(f"Saved surprisals to {output}")


def read_surprisals(
    nlp: Language, path: str | Path, *, per_line: bool = False, mixture: Interpolation | None = None
) -> Iterator[TokenRow]:
    """Parse a text file and give the surprisal of each token. The file is not held in memory. White space has no row.

    nlp (Language): A pipeline with an hpyp_parser, whose setting `outlook` should be 0: else its search has looked at the words to come.
    path (str | Path): Text in UTF-8. Paragraphs are parsed one by one: nothing before a paragraph is context of its words.
    per_line (bool): Whether every line is a paragraph that is one sentence; else an empty line ends a paragraph, and the
        pipeline finds the sentences.
    mixture (Interpolation | None): Of the pipeline's parser and an n-gram model.
    RETURNS (Iterator[TokenRow]): The tokens.
    RAISES (ValueError): If the file is not text in UTF-8, or the pipeline cannot parse it.
    """
    number = 0
    for paragraphs in minibatch(locate_paragraphs(path, per_line=per_line), _BATCH):
        rows: list[TokenRow] = []
        with nlp.memory_zone():
            docs = [nlp.make_doc(text) for _, text in paragraphs]
            if per_line:
                for doc in docs:
                    for token in doc:
                        token.is_sent_start = token.i == 0
            parsed = ((doc, None) for doc in nlp.pipe(docs)) if mixture is None else _parse_and_mix(nlp, docs, mixture)
            for (offset, _), (doc, mixed) in zip(paragraphs, parsed):
                number += 1
                rows.extend(token_rows(doc, str(path), number, offset, mixed))
            del docs, doc, parsed
        yield from rows


def _parse_and_mix(nlp: Language, docs: list[Doc], mixture: Interpolation) -> Iterator[tuple[Doc, np.ndarray]]:
    """Parse documents, and find what `MIXED` has for their tokens."""
    parser = next(pipe for _, pipe in nlp.pipeline if isinstance(pipe, HPYPParser))
    before = nlp.pipe_names[: nlp.pipe_names.index(parser.name)]
    with nlp.select_pipes(enable=before):
        docs = list(nlp.pipe(docs))
    # Which boundaries the parser is given, and where it has to find them, nobody knows afterwards.
    blocks, layout = encode_docs(docs, mixture.model.encoder, given_tags=False)
    with nlp.select_pipes(disable=before):
        docs = list(nlp.pipe(docs))
    places = [layout.token[start:end] for start, end in zip(layout.docs, layout.docs[1:])]
    parts = [
        np.array([values_of(doc, name) for name in ("surprisal_lexical", "surprisal_syntactic")], dtype=np.float64)
        for doc in docs
    ]
    own = np.concatenate([part[:, place].sum(axis=0) for part, place in zip(parts, places)])
    letters = mixture.model.spell_docs(docs, layout, blocks.words)
    found = np.stack(mixture.surprisals(blocks, own, letters), axis=1)
    for doc, place, values in zip(docs, places, np.split(found, layout.docs[1:-1])):
        mixed = np.zeros((len(doc), len(MIXED)))
        mixed[place] = values
        yield doc, mixed


def write_table(file: TextIO, tokens: Iterator[TokenRow], *, words: bool = False, mixed: bool = False) -> None:
    """Write a table of tokens, or of words between white space, tab-separated.

    file (TextIO): Where to.
    tokens (Iterator[TokenRow]): The tokens.
    words (bool): Whether to sum over words.
    mixed (bool): Whether the tokens have the columns of a mixture.
    """
    writer = csv.writer(file, dialect="excel-tab", lineterminator="\n")
    fields = (WordRow if words else TokenRow)._fields
    columns = len(fields) if mixed else len(fields) - len(MIXED)
    writer.writerow(fields[:columns])
    writer.writerows(_formatted(row[:columns]) for row in (sum_words(tokens) if words else tokens))


def _formatted(row: Sequence[str | int | float]) -> list[str | int]:
    return [f"{value:.6f}" if isinstance(value, float) else value for value in row]
