"""`hpyp surprisal`: the surprisal of each token, word or region of texts and tables of stimuli, as
a table.
"""

import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import spacy
import srsly

from ..about import __version__
from ..distributed.run import Write
from ..language_model.align import Alignment
from ..language_model.increments import ENTROPIES
from ..language_model.ngram import NGramModel
from ..language_model.stimuli import Columns, read_counts, read_passages
from ..language_model.surprisal import PARTS, REGION, TOKEN, WORD, Frequencies, Row, TextPassage
from ..language_model.tables import is_table
from ..pipeline.surprisal import NGramReader, ParserReader, Reader, read_rows
from ..storage import replace_file
from .app import (
    AnyModel,
    Bar,
    RayAddress,
    Threads,
    Workers,
    argument,
    checksum,
    is_shown,
    load_parser,
    load_pipeline,
    note,
    option,
    writing,
)
from .distribute import distribute
from .ngram import is_ngram_model, refuse
from .raw_text import STDIN, check_text, existing, locate_paragraphs, read_sentences

# More words before than any regression has.
_LAGS = 100
# Characters that are read at once: few enough to show progress.
_BATCH = 2000


def surprisal(
    model: AnyModel,
    texts: Annotated[
        list[Path], argument("Texts, '-' for stdin, or tables of stimuli (.csv, .tsv)")
    ],
    *,
    output: Annotated[
        Path | None,
        option("File for the table (.csv, .tsv, .txt); with --ray a folder", "--output -o"),
    ] = None,
    words: Annotated[
        bool, option("One row a word between white space: sums over its tokens", "--words -w")
    ] = False,
    regions: Annotated[
        bool, option("One row a region of a table of stimuli", "--regions -r")
    ] = False,
    context: Annotated[
        str | None, option("Stimuli: column with the context read before the text")
    ] = None,
    text_by: Annotated[
        str | None, option("One word a row: column with the text of each word")
    ] = None,
    word: Annotated[str, option("One word a row: column with the words")] = "word",
    reader_by: Annotated[str | None, option("One word a row: column with the readers")] = None,
    frequencies: Annotated[
        Path | None, option("Text, or a table of words and counts, for frequencies", exists=True)
    ] = None,
    lags: Annotated[int, option("Columns of so many words before, too", least=0, most=_LAGS)] = 0,
    align: Annotated[
        Path | None,
        option("Table of another model (.csv, .tsv), whose values get a column", exists=True),
    ] = None,
    value: Annotated[
        str, option("Of --align: the column of values; --word is that of words")
    ] = "surprisal",
    no_punctuation: Annotated[
        bool,
        option("Punctuation has no rows, and is no part of words and regions", "--no-punctuation"),
    ] = False,
    entropy: Annotated[
        bool,
        option("Columns of entropies over next words and analyses, and reductions", "--entropy -e"),
    ] = False,
    per_line: Annotated[
        bool, option("Read each line, or text of --text-by, as one sentence", "--per-line -l")
    ] = False,
    running: Annotated[
        bool, option("Let the parser split texts of a table into sentences")
    ] = False,
    segment_with: Annotated[
        str | None, option("N-gram models: pipeline used to split text into sentences")
    ] = None,
    particles: Annotated[
        int | None,
        option("Particles; by default the pipeline's, but 5,000 at least", "--particles -K"),
    ] = None,
    threads: Threads = None,
    ray: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Write a table of surprisals in bits, one row a token, with a header.

    A table of stimuli has the columns item, perhaps condition, and text or regions, which are
    separated by '|'; other columns are carried through, and each row is one sentence. Of a text,
    paragraphs are separated by empty lines and parsed one by one; the parser finds their sentences.
    The columns start and end count characters of the file or of the stimulus.

    A table with one word a row, as those of reading times, is given back with columns added: name
    the column of its texts (--text-by), whose words are put together to running text, and that of
    its words (--word).

    With --ray each text gets a table of its own, and the same command goes on after an
    interruption.
    """
    by = REGION if regions else WORD if words else TOKEN
    if ray is not None:
        if regions or text_by or align or context or lags or running or threads or STDIN in texts:
            raise ValueError(
                "With --ray texts are files of text, and of the options there are --words, --no-punctuation, "
                "--entropy, --per-line, --particles and --segment-with."
            )
        settings = {"by": by, "punctuation": not no_punctuation, "entropy": entropy}
        settings |= {"per_line": per_line, "particles": particles, "segment_with": segment_with}
        place = {"ending": "tsv", "address": ray, "workers": workers}
        return distribute(_load_writer, model, settings, texts, output, **place)
    existing(texts)
    tables = is_table(texts[0])
    if text_by is None:
        of_words = "a table with one word a row: name the column of its texts with --text-by"
        refuse(of_words, reader_by=reader_by, frequencies=frequencies, lags=lags or None)
    if not tables:
        refuse("tables", text_by=text_by, context=context, regions=regions, running=running)
    passages = _passages(texts, Columns(context, text_by, word, reader_by), per_line=per_line)
    running = running if tables and text_by is None else not per_line
    if is_ngram_model(model):
        refuse("a parser, but here is an n-gram model", particles=particles, threads=threads)
    else:
        refuse("an n-gram model, but here is a parser", segment_with=segment_with)
    alignment = None if align is None else Alignment(align, word, value)
    reader = _reader(model, particles, threads, segment_with)
    settings = {"by": by, "punctuation": not no_punctuation, "entropy": entropy, "running": running}
    to_rows = partial(read_rows, reader, **settings, alignment=alignment)
    if text_by is not None:
        to_rows = partial(to_rows, frequencies=_frequencies(frequencies, reader), lags=lags)
    dialect = "excel" if output is not None and output.suffix.lower() == ".csv" else "excel-tab"
    header = _header(isinstance(reader, ParserReader), by, entropy=entropy)
    with (
        writing(output, "surprisals") as file,
        Bar(passages, desc="Reading", unit=" texts", disable=is_shown(output)) as bar,
    ):
        _write_table(file, _rows(reader, bar, to_rows), dialect=dialect, header=header)
    if output is not None:
        provenance = _provenance(reader, model, texts)
        replace_file(
            output.with_name(f"{output.name}.json"), srsly.json_dumps(provenance, indent=2).encode()
        )
    if per_line:
        reader.coverage.joined.clear()
    aligned = [] if alignment is None else [alignment.message()]
    for message, is_warning in [*reader.coverage.messages(), *aligned]:
        note(f"Warning: {message}" if is_warning else message)


def _reader(
    model: str, particles: int | None, threads: int | None, segment_with: str | None
) -> Reader:
    if is_ngram_model(model):
        segmenter = None if segment_with is None else load_pipeline(segment_with)
        return NGramReader(NGramModel.from_disk(model), segmenter)
    nlp, _ = load_parser(model, threads=threads)
    return ParserReader(nlp, particles=particles)


def _provenance(reader: Reader, model: str, texts: Sequence[Path]) -> dict[str, Any]:
    """Return what a table was made by, and from."""
    settings, meta, path = {}, {}, Path(model)
    if isinstance(reader, ParserReader):
        settings = {"particles": reader.search.particles, "seed": reader.parser.seed}
        meta, path = reader.nlp.meta, Path(reader.nlp.path)
    return {
        "command": ["python", "-m", "spacy", *sys.argv[1:]],
        "versions": {
            "spacy-hpyp": __version__,
            "spacy": spacy.__version__,
            "numpy": np.__version__,
        },
        "model": {
            "path": model,
            **{name: meta[name] for name in ("lang", "name", "version", "sources") if name in meta},
            "sha256": checksum(path),
            **settings,
        },
        "texts": {str(text): None if text == STDIN else checksum(text) for text in texts},
    }


def _load_writer(
    model: str,
    *,
    by: str,
    punctuation: bool,
    entropy: bool,
    per_line: bool,
    particles: int | None,
    segment_with: str | None,
) -> Write:
    """Load a model in a worker, and return the function that writes the table of a text."""
    reader = _reader(model, particles, 1, segment_with)
    settings = {"by": by, "punctuation": punctuation, "entropy": entropy}
    to_rows = partial(read_rows, reader, running=not per_line, **settings)
    header = _header(isinstance(reader, ParserReader), by, entropy=entropy)

    def write(path: Path, name: str, file: TextIO) -> None:
        rows = _rows(reader, _prose(path, per_line=per_line), to_rows)
        _write_table(file, rows, dialect="excel-tab", header=header)

    return write


def _rows(
    reader: Reader,
    passages: Iterable[TextPassage],
    read: Callable[[Iterable[TextPassage]], Iterator[Row]],
) -> Iterator[Row]:
    """Yield the rows of passages, whose strings the pipeline forgets: nobody else has it."""
    passages = iter(passages)
    while batch := list(islice(passages, 1)):
        while sum(len(passage.text) for passage in batch) < _BATCH and (
            one := next(passages, None)
        ):
            batch.append(one)
        with reader.nlp.memory_zone():
            rows = list(read(batch))
        yield from rows


def _frequencies(path: Path | None, reader: Reader) -> Frequencies:
    """Return the frequencies of words in a file, or else in the training data of a model."""
    if path is None:
        return reader.frequencies()
    with path.open("rb") as file:
        is_subtlex = b"freqcount" in file.readline().lower()
    if is_table(path) or is_subtlex:
        return Frequencies(read_counts(path))
    with Bar(read_sentences(path, reader.nlp), desc="Counting", unit=" sentences") as sentences:
        return Frequencies(Counter(chain.from_iterable(sentences)))


def _passages(texts: Sequence[Path], columns: Columns, *, per_line: bool) -> Iterable[TextPassage]:
    """Return the passages of files. Tables are read, and checked, at once."""
    if not all(map(is_table, texts)):
        if any(map(is_table, texts)):
            raise ValueError(
                "Tables and other texts have different columns: give them in two commands."
            )
        for path in texts:
            check_text(path)
        return chain.from_iterable(_prose(path, per_line=per_line) for path in texts)
    if columns.text_by is None:
        refuse("texts: a row of a table is one sentence without it", per_line=per_line)
    found = [read_passages(path, columns) for path in texts]
    if len({tuple(_columns(table[0])) for table in found if table}) > 1:
        raise ValueError("These tables have different columns: give them in several commands.")
    return [*chain.from_iterable(found)]


def _columns(passage: TextPassage) -> list[str]:
    """Return the columns of the table that a passage is from."""
    if passage.rows:
        return [*passage.rows[0].columns]
    return [*passage.columns, "regions" if passage.ends else "text"]


def _prose(path: Path, *, per_line: bool) -> Iterator[TextPassage]:
    for number, (offset, text) in enumerate(locate_paragraphs(path, per_line=per_line), 1):
        columns = {"file": str(path), "paragraph": number}
        yield TextPassage(text, columns, f"paragraph {number} of '{path}'", offset)


def _header(is_parser: bool, by: str, *, entropy: bool) -> list[str]:
    """Return the columns of the table of a text, by a parser or by an n-gram model."""
    sums = ["surprisal", *(PARTS if is_parser else ()), "log_prob"]
    names = (ENTROPIES if is_parser else ENTROPIES[:1]) if entropy else []
    tag = ["tag"] if by == TOKEN and is_parser else []
    own = ["word", "token"] if by == TOKEN else ["word", "tokens"]
    entropies = [f"{kind}_{name}" for kind in ("entropy", "reduction") for name in names]
    place = ["file", "paragraph", "sentence", *own, "start", "end", "text"]
    return [*place, *tag, *sums, "known", "class", *entropies]


def _write_table(file: TextIO, rows: Iterable[Row], *, dialect: str, header: Sequence[str]) -> None:
    """Write rows, all of which have the same columns, as a table.

    dialect (str): One of the module csv.
    header (Sequence[str]): The columns if there is no row.
    """
    writer = csv.writer(file, dialect=dialect, lineterminator="\n")
    rows = iter(rows)
    first = next(rows, None)
    writer.writerow(first or header)
    writer.writerows(map(_formatted, row.values()) for row in chain([first] if first else [], rows))


def _formatted(value: Any) -> Any:
    if isinstance(value, bool):
        # R reads TRUE and FALSE as logical values, and so does pandas.
        return str(value).upper()
    return f"{value:.6f}" if isinstance(value, float) else value
