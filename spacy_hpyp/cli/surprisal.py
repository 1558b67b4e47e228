"""`hpyp surprisal` and `hpyp reading`: tables of surprisals, and their gain for reading times."""

import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TextIO

import numpy as np
import spacy

from ..about import __version__
from ..distributed.run import Write
from ..language_model import tables
from ..language_model.reading_times import BASELINE, predict_times
from ..language_model.surprisal import REGION, TOKEN, WORD, Coverage, Frequencies
from ..language_model.tables import Passage
from ..memory import batches
from ..pipeline.surprisal import ParserReader, Reader, read_rows
from .app import Bar, is_shown, note, percent, print_table, require_extra, save_json, writing
from .distribute import checksum, distribute
from .language_models import load_reader
from .options import AnyModel, Json, RayAddress, Threads, Workers, argument, option
from .raw_text import STDIN, existing, locate_paragraphs, read_sentences

# The approximate number of characters to read at once: few enough to show progress.
_BATCH = 2000
# The largest width of a column of a printed table.
_WIDTH = 120


def surprisal(
    model: AnyModel,
    texts: Annotated[list[Path], argument("Texts, '-' for stdin, or a table (.csv, .tsv)")],
    *,
    output: Annotated[Path | None, option("Table, or folder with --ray", "--output -o")] = None,
    words: Annotated[bool, option("Write a row for each word", "--words -w")] = False,
    regions: Annotated[bool, option("Write a row for each region", "--regions -r")] = False,
    context: Annotated[str | None, option("Stimuli: column of the preceding text")] = None,
    text_by: Annotated[str | None, option("Words: column of text names")] = None,
    word: Annotated[str, option("Words: column of words")] = "word",
    reader_by: Annotated[str | None, option("Words: column of reader names")] = None,
    frequencies: Annotated[
        Path | None, option("Words: text to count, or table of counts", exists=True)
    ] = None,
    lags: Annotated[int, option("Words: add the columns of n preceding words", min=0, max=100)] = 0,
    align: Annotated[
        Path | None, option("Table of another model's values to add", exists=True)
    ] = None,
    value: Annotated[str, option("Column of values in the --align table")] = "surprisal",
    no_punctuation: Annotated[bool, option("Leave punctuation out", "--no-punctuation")] = False,
    entropy: Annotated[bool, option("Add entropies and structure", "--entropy -e")] = False,
    per_line: Annotated[bool, option("Read each line as one sentence", "--per-line -l")] = False,
    running: Annotated[bool, option("Stimuli: find sentences in each text")] = False,
    segment_with: Annotated[str | None, option("N-gram models: pipeline to find sentences")] = None,
    particles: Annotated[
        int | None, option("Particles (default: at least 5,000)", "--particles -K")
    ] = None,
    threads: Threads = None,
    ray: RayAddress = None,
    workers: Workers = None,
) -> None:
    """Write a table of surprisals in bits, one row per token.

    Text: empty lines separate paragraphs. The parser finds their sentences.

    Stimuli: a table with the columns item, condition (optional), and text or regions, separated by
    '|'. Each row is one sentence.

    Words: a table with one word per row, such as reading times. The output has additional columns.
    Name the columns of its texts (--text-by) and of its words (--word).

    With --ray, each text becomes one table. Repeat an interrupted command to resume.
    """
    by = REGION if regions else WORD if words else TOKEN
    settings: dict[str, Any] = {"by": by, "punctuation": not no_punctuation, "entropy": entropy}
    if ray is not None:
        words_only = reader_by or frequencies or align or lags or word != "word"
        if regions or text_by or words_only or context or running or threads or STDIN in texts:
            raise ValueError(
                "--ray reads files of text, and takes --words, --no-punctuation, --entropy, "
                "--per-line, --particles and --segment-with."
            )
        settings |= {"per_line": per_line, "particles": particles, "segment_with": segment_with}
        place = {"reads": [".txt"], "ending": "tsv", "address": ray, "workers": workers}
        return distribute(_load_writer, model, settings, texts, output, **place)
    existing(texts)
    is_table = tables.is_table(texts[0])
    if len(texts) > 1 and any(map(tables.is_table, texts)):
        raise ValueError("Give one table at a time, without texts.")
    if not is_table and (regions or context or text_by or running):
        raise ValueError("--regions, --context, --text-by and --running are for tables.")
    if is_table and text_by is None and per_line:
        raise ValueError("--per-line is for texts. Each row of stimuli is one sentence.")
    if text_by is None and (reader_by or frequencies or lags):
        raise ValueError(
            "--reader-by, --frequencies and --lags need --text-by, the column of texts."
        )
    if is_table:
        columns = {"context": context, "text_by": text_by, "word": word, "reader_by": reader_by}
        passages: Iterable[Passage] = tables.read_passages(texts[0], **columns)
    else:
        passages = chain.from_iterable([_prose(path, per_line=per_line) for path in texts])
    alignment = None if align is None else tables.Alignment(align, word, value)
    reader = load_reader(model, particles, threads, segment_with)
    settings |= {
        "running": running if is_table and text_by is None else not per_line,
        "frequencies": None if text_by is None else _frequencies(frequencies, reader),
        "lags": lags,
        "alignment": alignment,
    }
    dialect = "excel" if output is not None and output.suffix.lower() == ".csv" else "excel-tab"
    with (
        writing(output, "surprisals") as file,
        Bar(passages, desc="Reading", unit=" texts", disable=is_shown(output)) as bar,
    ):
        _write(file, reader, bar, dialect, **settings)
    if output is not None:
        about = _provenance(reader, model, texts)
        save_json(output.with_name(f"{output.name}.json"), about, "its provenance")
    if per_line:
        reader.coverage.joined.clear()
    aligned = [] if alignment is None else [alignment.message()]
    for message, is_warning in [*reader.coverage.messages(), *aligned]:
        note(f"Warning: {message}" if is_warning else message)


def _prose(path: Path, *, per_line: bool) -> Iterator[Passage]:
    """Check a file of text by its name at once, and yield its paragraphs."""
    return (
        Passage(text, {"file": str(path), "paragraph": i}, f"paragraph {i} of '{path}'", offset)
        for i, (offset, text) in enumerate(locate_paragraphs(path, per_line=per_line), 1)
    )


def _frequencies(path: Path | None, reader: Reader) -> Frequencies:
    """Return the frequencies of words in a file, or in the training data of a model."""
    if path is None:
        return reader.frequencies()
    with path.open("rb") as file:
        is_subtlex = b"freqcount" in file.readline().lower()
    if tables.is_table(path) or is_subtlex:
        return Frequencies(tables.read_counts(path))
    with Bar(read_sentences(path, reader.nlp), desc="Counting", unit=" sentences") as sentences:
        counts = Counter(chain.from_iterable(sentences))
    if not counts:
        raise ValueError(f"There are no words in '{path}'.")
    return Frequencies(counts)


def _write(
    file: TextIO,
    reader: Reader,
    passages: Iterable[Passage],
    dialect: str = "excel-tab",
    **settings: Any,
) -> None:
    """Write the table of passages. The pipeline forgets their strings."""

    def formatted(value: Any) -> Any:
        if isinstance(value, bool):
            # R and pandas read TRUE and FALSE as logical values.
            return str(value).upper()
        return f"{value:.6f}" if isinstance(value, float) else value

    writer, header = csv.writer(file, dialect, lineterminator="\n"), None
    passage = Passage("", {"file": "", "paragraph": 1}, "")
    for batch in batches(passages, _BATCH, lambda passage: len(passage.text)):
        passage = batch[-1]
        with reader.nlp.memory_zone():
            for row in read_rows(reader, batch, **settings):
                header = header or writer.writerow(row)
                writer.writerow(map(formatted, row.values()))
    if header is None:
        # A text without words gets the columns of one with a word, which does not count.
        coverage, alignment = reader.coverage, settings.get("alignment")
        reader.coverage = Coverage()
        word = passage._replace(text="a", ends=(1,) * bool(passage.ends), context=0)
        settings |= {"running": False, "alignment": None}
        row = next(read_rows(reader, [word], **settings))
        writer.writerow([*row] if alignment is None else [*row, alignment.column])
        reader.coverage = coverage


def _provenance(reader: Reader, model: str, texts: Sequence[Path]) -> dict[str, Any]:
    """Return what a table was made by, and from."""
    about: dict[str, Any] = {"path": model}
    path = Path(model)
    if isinstance(reader, ParserReader):
        meta, path = reader.nlp.meta, Path(reader.nlp.path)
        names = ("lang", "name", "version", "sources")
        about |= {name: meta[name] for name in names if name in meta}
        about |= {"particles": reader.search.particles, "seed": reader.parser.seed}
    packages = {"spacy-hpyp": __version__, "spacy": spacy.__version__, "numpy": np.__version__}
    return {
        "command": ["python", "-m", "spacy", *sys.argv[1:]],
        "versions": packages,
        "model": about | {"sha256": checksum(path)},
        "texts": {str(text): None if text == STDIN else checksum(text) for text in texts},
    }


def _load_writer(
    model: str, *, per_line: bool, particles: int | None, segment_with: str | None, **settings: Any
) -> Write:
    """Load a model in a worker, and return the function that writes the table of a text."""
    threads = None if Path(model).is_file() else 1
    reader = load_reader(model, particles, threads, segment_with)
    settings["running"] = not per_line
    return lambda path, _, file: _write(file, reader, _prose(path, per_line=per_line), **settings)


def reading(
    table: Annotated[Path, argument("Table of 'hpyp surprisal --text-by'", exists=True)],
    *,
    time: Annotated[str, option("Column of reading times")],
    text_by: Annotated[str, option("Column of text names")],
    predict: Annotated[
        list[str] | None, option("Predictors: columns a,b or a formula (repeatable)")
    ] = None,
    baseline: Annotated[str, option("Control predictors: columns a,b or a formula")] = BASELINE,
    reader_by: Annotated[
        str | None, option("Column of reader names: effects from a mixed model")
    ] = None,
    output: Json = None,
) -> None:
    """Test whether surprisals predict reading times better than a baseline.

    Least-squares regressions with and without surprisals predict the times of each text from the
    other texts. Gain is the difference in log-likelihood, in nats, with a standard error over
    blocks of 100 words. Effects are per unit of the predictor; their 95 % confidence intervals
    allow for correlated neighbouring words (Newey & West). With --reader-by, a mixed model gives
    both. A predictor includes its lagged columns (--lags). Rows without a time or value are left
    out.
    """
    pandas = require_extra("reading", "statsmodels", "pandas")
    text, delimiter = tables.decode_table(table)
    decimal = "," if delimiter == ";" and re.search(r";-?\d+,\d", text) else "."
    frame = pandas.read_csv(io.StringIO(text), sep=delimiter, decimal=decimal, low_memory=False)
    if frame.empty:
        raise ValueError(f"There are no rows in '{table}'.")
    columns = {"time": time, "text_by": text_by, "reader_by": reader_by}
    predictors = predict or ["surprisal"]
    figures = predict_times(frame, **columns, predictors=predictors, baseline=baseline)

    def shown(gain: dict[str, float]) -> str:
        return f"{gain['value']:.1f} ± {gain['error']:.1f}"

    rows, effects = [], []
    counts = (figures["words"], figures["left_out"])
    for name, one in figures["predictors"].items():
        by_text = " ".join(f"{gain:.1f}" for gain in one["texts"].values())
        rows.append((name, *counts, shown(one["gain"]), percent(one["explained"]), by_text))
        for effect in one["effects"]:
            interval = f"{effect['low']:.2f} … {effect['high']:.2f}"
            value, standardized = f"{effect['value']:.2f}", f"{effect['standardized']:.2f}"
            effects.append((name, effect["column"], value, interval, standardized))
    header = ("predictors", "words", "left out", "gain", "variance %", "by text")
    print_table(header, rows, "Gain in log-likelihood (nats)", max_col=_WIDTH)
    if figures["differences"]:
        header = ("predictors", "minus", "difference")
        pairs = [(one["predictors"], one["less"], shown(one)) for one in figures["differences"]]
        print_table(header, pairs, "Differences in gain (nats)", left=2, max_col=_WIDTH)
    header = ("predictors", "column", "effect", "95 %", "per standard deviation")
    print_table(header, effects, f"Effects ({time} per unit)", left=2, max_col=_WIDTH)
    save_json(output, figures, "the figures")
