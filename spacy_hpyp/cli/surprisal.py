"""`hpyp surprisal`: the surprisal of each token or word of text files, as a table."""

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TextIO

import typer
from spacy.language import Language
from spacy.util import minibatch
from tqdm import tqdm
from wasabi import msg

from ..language_model.surprisal import TokenRow, WordRow, sum_words, token_rows
from ..storage.files import prepare_folder, replacing
from .app import hpyp, load_parser
from .raw_text import locate_paragraphs

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
) -> None:
    """Write a table of surprisals in bits, one row a token, tab-separated, with a header.

    Paragraphs are separated by empty lines and parsed one by one; the parser finds their sentences. The columns start and end
    count characters of the file; sentences, words and tokens are numbered in each paragraph. A field that contains a
    quotation mark is quoted, as read.delim of R and pandas.read_csv expect.
    """
    nlp, _ = load_parser(model, particles=particles, threads=threads)
    rows = chain.from_iterable(read_surprisals(nlp, path, per_line=per_line) for path in texts)
    if output is None:
        write_table(typer.get_text_stream("stdout", encoding="utf8"), rows, words=words)
        return
    prepare_folder(output.parent)
    # A bar only where somebody looks on.
    bar = tqdm(rows, unit=" tokens", leave=False, disable=None)
    with bar, replacing(output, "w", encoding="utf8", newline="") as file:
        write_table(file, bar, words=words)
    msg.good(f"Saved surprisals to {output}")


def read_surprisals(nlp: Language, path: str | Path, *, per_line: bool = False) -> Iterator[TokenRow]:
    """Parse a text file and give the surprisal of each token. The file is not held in memory. White space has no row.

    nlp (Language): A pipeline with an hpyp_parser.
    path (str | Path): Text in UTF-8. Paragraphs are parsed one by one: nothing before a paragraph is context of its words.
    per_line (bool): Whether every line is a paragraph that is one sentence; else an empty line ends a paragraph, and the
        pipeline finds the sentences.
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
            for (offset, _), doc in zip(paragraphs, nlp.pipe(docs)):
                number += 1
                rows.extend(token_rows(doc, str(path), number, offset))
            del docs, doc
        yield from rows


def write_table(file: TextIO, tokens: Iterator[TokenRow], *, words: bool = False) -> None:
    """Write a table of tokens, or of words between white space, tab-separated.

    file (TextIO): Where to.
    tokens (Iterator[TokenRow]): The tokens.
    words (bool): Whether to sum over words.
    """
    writer = csv.writer(file, dialect="excel-tab", lineterminator="\n")
    writer.writerow((WordRow if words else TokenRow)._fields)
    writer.writerows(_formatted(row) for row in (sum_words(tokens) if words else tokens))


def _formatted(row: Sequence[str | int | float]) -> list[str | int]:
    return [f"{value:.6f}" if isinstance(value, float) else value for value in row]
