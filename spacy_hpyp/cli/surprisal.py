"""`hpyp surprisal`: the surprisal of each token, word or region of texts and tables of stimuli, as a table."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import typer
from spacy.tokens import Doc

from ..components.surprisal import NGramReader, ParserReader, Reader, batches_of, read_rows
from ..distributed.inputs import Document, Shard
from ..distributed.run import Process, Task
from ..language_model.increments import ENTROPIES, Increment
from ..language_model.ngram import NGramModel
from ..language_model.stimuli import check_prose, is_table, read_counts, read_stimuli, read_word_table
from ..language_model.surprisal import PARTS, REGION, TOKEN, WORD, Frequencies, Row, TextPassage
from .app import load_parser, load_pipeline, prepare_output
from .ngram import is_ngram_model, refuse
from .options import (
    AnyModel,
    Cluster,
    Threads,
    argument,
    option,
    place,
    refuse_uris,
)
from .output import is_shown, json_line, writing
from .progress import Bar
from .raw_text import STDIN, check_text, existing, locate_paragraphs, open_file, read_sentences
from .shards import distribute, place_of

# What a spreadsheet takes for the beginning of a formula, and what is a number nevertheless.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]\d+(\.\d+)?")
# More words before than any regression has.
_LAGS = 100
# Columns of a table that has no rows; a table of stimuli always has some.
_OF_TEXT = ["file", "paragraph", "sentence"]


def surprisal(
    model: AnyModel,
    texts: Annotated[
        list[Path], argument("Texts, '-' for stdin, or tables of stimuli (.csv, .tsv)", parser=place)
    ],
    *,
    output: Annotated[
        Path | None, option("File for the table (.csv, .tsv, .txt); with --ray a folder", "-o", parser=place)
    ] = None,
    words: Annotated[bool, option("One row a word between white space: sums over its tokens", "-w")] = False,
    regions: Annotated[bool, option("One row a region of a table of stimuli", "-r")] = False,
    context: Annotated[
        str | None, option("Of a table of stimuli: the column of what is read before the text")
    ] = None,
    text_by: Annotated[str | None, option("Of a table with one word a row: the column of its texts")] = None,
    word: Annotated[str | None, option("The column of its words, instead of 'word'")] = None,
    frequencies: Annotated[
        Path | None, option("Where frequencies are from: text, or a table of words and counts", exists=True)
    ] = None,
    lags: Annotated[int, option("Columns of so many words before, too", least=0, most=_LAGS)] = 0,
    no_punctuation: Annotated[
        bool, option("Punctuation has no rows, and is no part of words and regions")
    ] = False,
    entropy: Annotated[
        bool, option("Columns of entropies over next words and analyses, and reductions", "-e")
    ] = False,
    parses: Annotated[int | None, option("Write so many parses after each word, as JSONL", least=1)] = None,
    escape: Annotated[
        bool, option("Write an apostrophe before what a spreadsheet takes for formulas, as =A1")
    ] = False,
    per_line: Annotated[
        bool, option("Each line of text, or text of --text-by, is a sentence by itself", "-l")
    ] = False,
    running: Annotated[
        bool, option("A text in a table may have several sentences, which the parser finds")
    ] = False,
    segment_with: Annotated[
        str | None, option("Of an n-gram model: pipeline that finds the sentences of text")
    ] = None,
    particles: Annotated[
        int | None, option("Particles; by default the pipeline's, but 5,000 at least", "-K")
    ] = None,
    threads: Threads = None,
    cluster: Cluster = Cluster(),
) -> None:
    """Write a table of surprisals in bits, one row a token, with a header.

    A table of stimuli has the columns item, perhaps condition, and text or regions, which are separated by
    '|'; other columns are carried through, and each row is one sentence. Of a text, paragraphs are separated
    by empty lines and parsed one by one; the parser finds their sentences. The columns start and end count
    characters of the file or of the stimulus.

    A table with one word a row, as those of reading times, is given back with columns added: name the column
    of its texts (--text-by), whose words are put together to running text, and that of its words (--word).

    With --ray a paragraph is known by where it begins in its file, in bytes, and the columns start and end
    count its characters. The same command goes on where it was interrupted.
    """
    if cluster.ray is not None:
        unfit = [
            regions,
            context,
            text_by,
            word,
            frequencies,
            lags,
            parses,
            escape,
            running,
            threads,
        ]
        if any(value not in (None, False, 0) for value in unfit) or STDIN in texts:
            raise ValueError(
                "With --ray texts are files of text, and of the options there are --words, --no-punctuation, "
                "--entropy, --per-line, "
                "--particles and --segment-with."
            )
        by = WORD if words else TOKEN
        own = (by, not no_punctuation, entropy, particles, segment_with)
        task = SurprisalTask(place_of(model), per_line, cluster.field, "parquet", *own)
        distribute("surprisal", task, texts, output, cluster)
        return
    refuse_uris(output, *texts)
    existing(texts)
    prepare_output(output, texts, *((".csv", ".tsv", ".txt") if parses is None else (".jsonl",)))
    if words and regions:
        raise ValueError("Rows stand for words or for regions: give either --words or --regions.")
    of_words = "a table with one word a row: name the column of its texts with --text-by"
    if text_by is None:
        refuse(of_words, word=word, frequencies=frequencies, lags=lags or None)
    tables = [is_table(path) for path in texts]
    if text_by is not None or not all(tables):
        refuse("tables of stimuli", context=context)
    if text_by is not None and (words or regions or running):
        raise ValueError(
            "With --text-by, rows are those of the table: give no --words, --regions or --running."
        )
    if parses is not None:
        of_table = {"words": words, "regions": regions, "text_by": text_by, "no_punctuation": no_punctuation}
        of_table |= {"entropy": entropy, "escape": escape}
        refuse("a table, but --parses writes no table: a line has one token", **of_table)
    # What is wrong with a text is known before a model is loaded, and with every text before anything is
    # written.
    if not all(tables):
        refuse("tables: the name of one ends with .csv or .tsv", text_by=text_by)
    take = partial(_read, per_line=per_line, context=context)
    if text_by is not None:
        take = partial(read_word_table, text_by=text_by, word=word or "word")
    found = [take(path) for path in texts]
    if any(tables) and not all(tables):
        raise ValueError(
            "Tables of stimuli and other texts have different columns: give them in two commands."
        )
    if any(tables) and text_by is None:
        refuse("texts: a row of a table is one sentence without it", per_line=per_line)
    if not any(tables):
        refuse("tables: the sentences of a text are found without it", running=running)
    if all(tables):
        _check_columns(found, regions=regions)
    elif regions:
        raise ValueError(f"There are no regions in '{texts[0]}': only a table of stimuli has some.")
    passages = chain.from_iterable(found)
    running = running if any(tables) and text_by is None else not per_line
    if is_ngram_model(model):
        own = {"particles": particles, "threads": threads, "parses": parses}
        refuse("a parser, but here is an n-gram model", **own)
    else:
        refuse("an n-gram model, but here is a parser", segment_with=segment_with)
    reader = _reader(model, particles, threads, segment_with)
    if parses is not None:
        assert isinstance(reader, ParserReader)
        with writing(output, "parses") as file, Bar(unit=" words", disable=is_shown(output)) as bar:
            for batch in batches_of(passages):
                for passage, (doc, spans, steps) in zip(
                    batch, reader.increments(batch, parses, running=running)
                ):
                    for one in steps:
                        if spans[one.token, 0] >= passage.context:
                            file.write(json_line(_line(passage, doc, spans, one)))
                            bar.update()
    else:
        by = WORD if words else REGION if regions else TOKEN
        to_rows = partial(
            read_rows, reader, by=by, punctuation=not no_punctuation, entropy=entropy, running=running
        )
        if text_by is not None:
            to_rows = partial(to_rows, frequencies=_frequencies(frequencies, reader), lags=lags)
        dialect = "excel" if output is not None and output.suffix.lower() == ".csv" else "excel-tab"
        header = _header(isinstance(reader, ParserReader), by, entropy=entropy)
        rows = _rows(reader, passages, to_rows)
        unit = " regions" if regions else " words"
        with writing(output, "surprisals") as file, Bar(rows, unit=unit, disable=is_shown(output)) as bar:
            write_table(file, bar, dialect=dialect, header=header, escape=escape)


def _reader(
    model: str,
    particles: int | None,
    threads: int | None,
    segment_with: str | None,
) -> Reader:
    if is_ngram_model(model):
        segmenter = None if segment_with is None else load_pipeline(segment_with)
        return NGramReader(NGramModel.from_disk(model), segmenter)
    nlp, _ = load_parser(model, threads=threads)
    return ParserReader(nlp, particles=particles)


@dataclass(frozen=True)
class SurprisalTask(Task):
    """What `hpyp surprisal --ray` has workers do.

    by (str): What a row stands for.
    punctuation, entropy, particles, segment_with: As the options.
    """

    by: str
    punctuation: bool
    entropy: bool
    particles: int | None
    segment_with: str | None

    @property
    def columns(self) -> list[str]:  # type: ignore[override]
        """The columns of the table."""
        return _header(not is_ngram_model(self.model), self.by, entropy=self.entropy)

    def process(self) -> Process:
        """What reads documents."""
        reader = _reader(self.model, self.particles, 1, self.segment_with)

        def read(shard: Shard, documents: Sequence[Document]) -> tuple[list[Row], int]:
            passages = (
                TextPassage(
                    text, {"file": shard.path, "paragraph": at}, f"what begins at {at} of '{shard.path}'"
                )
                for at, text, _ in documents
            )
            settings = {"by": self.by, "punctuation": self.punctuation, "entropy": self.entropy}
            rows = list(
                _rows(reader, passages, partial(read_rows, reader, running=not self.per_line, **settings))
            )
            return rows, sum(row.get("tokens", 1) for row in rows)

        return read


def _rows(
    reader: Reader, passages: Iterable[TextPassage], read: Callable[[Iterable[TextPassage]], Iterator[Row]]
) -> Iterator[Row]:
    """The rows of passages, whose strings the pipeline forgets: nobody else has it."""
    for batch in batches_of(passages):
        with reader.nlp.memory_zone():
            rows = list(read(batch))
        yield from rows


def _frequencies(path: Path | None, reader: Reader) -> Frequencies:
    """How frequent words are in a file, or else in what a model has learned from."""
    if path is None:
        return reader.frequencies()
    if is_table(path):
        return Frequencies(read_counts(path))
    return Frequencies(Counter(chain.from_iterable(read_sentences(path, reader.nlp))))


def _read(path: Path, *, per_line: bool, context: str | None) -> Iterable[TextPassage]:
    """The passages of a file. Text is not held in memory, but for that of stdin."""
    if is_table(path):
        return read_stimuli(path, context)
    check_text(path)
    data = typer.get_binary_stream("stdin").read() if path == STDIN else None
    with open_file(path, "rb") if data is None else BytesIO(data) as lines:
        check_prose(lines, path)
    file = None if data is None else TextIOWrapper(BytesIO(data), encoding="utf8", newline="")
    found = locate_paragraphs(path, per_line=per_line, file=file)
    return (
        TextPassage(text, {"file": str(path), "paragraph": number}, f"paragraph {number} of '{path}'", offset)
        for number, (offset, text) in enumerate(found, 1)
    )


def _check_columns(tables: Sequence[Iterable[TextPassage]], *, regions: bool) -> None:
    first = None
    for passage in (next(iter(table)) for table in tables):
        if regions and not passage.ends:
            raise ValueError(
                f"There are no regions in '{passage.columns['file']}': a column 'regions' has them."
            )
        columns = [*passage.columns, *["regions"][: bool(passage.ends)]]
        columns = [*passage.rows[0].columns] if passage.rows else columns
        if first is not None and columns != first[0]:
            raise ValueError(
                f"'{passage.columns['file']}' has other columns than '{first[1]}': {', '.join(columns[1:])}, "
                f"not "
                f"{', '.join(first[0][1:])}. Give them in two commands."
            )
        first = first or (columns, passage.columns["file"])


def _header(is_parser: bool, by: str, *, entropy: bool) -> list[str]:
    """The columns of a table without rows, of a parser or of an n-gram model."""
    sums = ["surprisal", *(PARTS if is_parser else ()), "log_prob"]
    names = (ENTROPIES if is_parser else ENTROPIES[:1]) if entropy else []
    tag = ["tag"] if by == TOKEN and is_parser else []
    own = ["word", "token"] if by == TOKEN else ["word", "tokens"]
    entropies = [f"{kind}_{name}" for kind in ("entropy", "reduction") for name in names]
    return [*_OF_TEXT, *own, "start", "end", "text", *tag, *sums, "known", "class", *entropies]


def write_table(
    file: TextIO,
    rows: Iterable[Row],
    *,
    dialect: str = "excel-tab",
    header: Iterable[str] = (),
    escape: bool = False,
) -> None:
    """Write rows, all of which have the same columns, as a table in a dialect of the module csv.

    header (Iterable[str]): The columns if there is no row.
    escape (bool): Whether strings that a spreadsheet takes for formulas begin with an apostrophe.
    """
    writer = csv.writer(file, dialect=dialect, lineterminator="\n")
    columns: list[str] = []
    for row in rows:
        if not columns:
            columns = list(row)
            writer.writerow(map(_escaped, columns) if escape else columns)
        cells = map(_formatted, row.values())
        writer.writerow(map(_escaped, cells) if escape else cells)
    if not columns:
        writer.writerow(header)


def _formatted(value: Any) -> Any:
    # R reads TRUE and FALSE as logical values, and so does pandas.
    return (
        str(value).upper()
        if isinstance(value, bool)
        else f"{value:.6f}"
        if isinstance(value, float)
        else value
    )


def _escaped(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(_FORMULAS) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value


def _line(passage: TextPassage, doc: Doc, spans: np.ndarray, found: Increment) -> dict[str, Any]:
    start, end = spans[found.token].tolist()
    place = {token: i for i, token in enumerate(found.words)}
    return {
        **passage.columns,
        "token": len(found.words),
        "start": passage.offset + start,
        "end": passage.offset + end,
        "text": doc[found.token].text,
        "entropy_next": round(found.entropy_next, 6),
        "entropy_analyses": round(found.entropy_analyses, 6),
        "words": [doc[i].text for i in found.words],
        "next_words": [[word, round(probability, 6)] for word, probability in found.next_words],
        "parses": [
            {
                "probability": round(parse.probability, 6),
                "log_prob": round(parse.log_prob, 6),
                "tags": parse.tags,
                "heads": [None if head is None else place[head] + 1 for head in parse.heads],
                "deps": parse.deps,
                "stack": [place[i] + 1 for i in parse.stack],
            }
            for parse in found.parses
        ],
    }
