"""Tables of stimuli: CSV or TSV with a header and the columns `item`, perhaps `condition`, and `text` or
`regions`.

In `regions`, the regions of a text are separated by `|`. Other columns are carried through to the table of
surprisals; a column with a name of that table gets `input_` before its name.

Tables of words, as corpora of reading times are, have one word a row, and a column that says which text it
belongs to.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from .surprisal import PARTS, ROWS, TableRow, TextPassage, carried

#: Endings of the names of tables.
SUFFIXES = (".csv", ".tsv")
SEPARATOR = "|"
_TEXTS = ("text", "regions")
# Columns of a table of surprisals.
_TAKEN = {
    *"file sentence words tokens start end tag known class log_prob surprisal".split(),
    *(*ROWS, *PARTS),
    *(f"{kind}_{name}" for kind in ("entropy", "reduction") for name in ("next", "analyses")),
}


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return path.suffix.lower() in SUFFIXES


def read_stimuli(path: Path, context: str | None = None) -> list[TextPassage]:
    """Read the passages of a table of stimuli.

    path (Path): A file in UTF-8, perhaps with a byte order mark. A `.tsv` file has tabs between its columns;
        a `.csv` file commas, semicolons or tabs, whichever its header has.
    context (str | None): The column of what is read before the text.
    RAISES (ValueError): If it is no such table. The message says in which line.
    """
    found = []
    for name, row in _rows_of(path):
        if "item" not in row:
            raise ValueError(
                f"The table '{path}' has no column 'item', but there are: {', '.join(row)}. A table of "
                f"stimuli has the columns item, perhaps condition, and text or regions. Of a table with one "
                f"word a row, name the column of its texts: --text-by."
            )
        found.append(stimulus({"file": str(path)}, row, name, context))
    return found


def read_word_table(path: Path, text_by: str, word: str) -> list[TextPassage]:
    """Read the texts of a table with one word a row, see `texts_of_words`."""
    return texts_of_words(_rows_of(path), text_by, word, {"file": str(path)})


def read_counts(path: Path) -> dict[str, int]:
    """Read how often words were seen from a table with the columns `word` and `count`.

    RAISES (ValueError): If there is no such column, or a count is no whole number.
    """
    found: Counter[str] = Counter()
    for name, row in _rows_of(path):
        try:
            found[_cell(name, row, "word").strip()] += int(_cell(name, row, "count"))
        except ValueError as error:
            raise ValueError(f"{name} has no word with a count: {error}") from error
    return found


def _rows_of(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table that are not empty, each with its name in errors."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not text in UTF-8 ({error}).") from error
    head = text.lstrip().split("\n", 1)[0]
    delimiter = "\t" if path.suffix.lower() == ".tsv" else max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    try:
        for fields in reader:
            name = f"line {reader.line_num} of '{path}'"
            if not any(field.strip() for field in fields):
                continue
            if not header:
                header = [field.strip() for field in fields]
                if len(set(header)) < len(header) or "" in header:
                    raise ValueError(f"The header in {name} has a column twice or without a name.")
                continue
            if len(fields) != len(header):
                raise ValueError(
                    f"{name} has {len(fields)} fields, but the header has {len(header)}. A field that has "
                    f"the "
                    f"separator in it must be quoted."
                )
            yield name, dict(zip(header, fields))
    except csv.Error as error:
        raise ValueError(
            f"Line {reader.line_num} of '{path}' cannot be read: {error}. A field that begins with a "
            f"quotation mark ends with one, and those in it are doubled."
        ) from error


def texts_of_words(
    rows: Iterable[tuple[str, Mapping[str, Any]]], text_by: str, word: str, columns: Mapping[str, Any]
) -> list[TextPassage]:
    """Join the words of rows to texts, with a space between two. Each word is a region.

    rows (Iterable[tuple[str, Mapping[str, Any]]]): The name of each row in errors, and its columns.
    text_by (str): The column that says which text a word belongs to.
    word (str): The column of the words. A row may have none.
    columns (Mapping[str, Any]): Columns of all texts.
    RAISES (ValueError): If a column is not there or a word is no string, the rows of a text do not stand
        together, or a text has no words.
    """
    found: list[TextPassage] = []
    seen: set[str] = set()
    for text, group in groupby(rows, key=lambda row: str(_cell(*row, text_by)).strip()):
        members = list(group)
        first = f"the text '{text}', which begins with {members[0][0]}"
        if text in seen:
            raise ValueError(f"The rows of {first}, do not stand together: sort the table.")
        seen.add(text)
        words, ends, table = "", [], []
        for name, row in members:
            content = _string(name, row, word)
            if "\n" in row[word]:
                # Words that begin and end direct speech would take all between them along.
                raise ValueError(
                    f"The word of {name} has a line end in it. Where quotation marks belong to words, quote "
                    f"these and double the marks."
                )
            if content:
                words += f" {content}" if words else content
                ends.append(len(words))
            table.append(TableRow(len(ends) if content else 0, dict(row), name))
        if not words:
            raise ValueError(f"There are no words in {first}.")
        found.append(TextPassage(words, dict(columns), first, ends=tuple(ends), rows=tuple(table)))
    return found


def stimulus(
    columns: Mapping[str, Any], row: Mapping[str, Any], name: str, context: str | None = None
) -> TextPassage:
    """Make a passage of a row of a table.

    columns (Mapping[str, Any]): Columns that are to come first.
    row (Mapping[str, Any]): The row, with the text as `text` or its regions as `regions`: a string with `|`,
        or a list of strings.
    name (str): The name of the row in errors.
    context (str | None): The column of what is read before the text.
    RAISES (ValueError): If the text or a region is empty or no string.
    """
    texts = [key for key in row if key in _TEXTS]
    if len(texts) != 1:
        raise ValueError(
            f"There should be either a 'text' or 'regions' in {name}, but it has {', '.join(row)}."
        )
    (kind,) = texts
    others = {key: value for key, value in row.items() if key not in (kind, context)}
    columns, content = {**columns, **carried(others, _TAKEN, name)}, row[kind]
    if kind == "text":
        text = _string(name, row, kind)
        if not text:
            raise ValueError(f"The text of {name} is empty.")
        passage = TextPassage(text, columns, name)
    else:
        if isinstance(content, Sequence) and not isinstance(content, str):
            # Only a string can say that a word and its clitic belong together.
            content = SEPARATOR.join(f" {_string(name, {kind: part}, kind)} " for part in content)
        content = _string(name, {kind: content}, kind, keep=True)
        passage = _passage(content.split(SEPARATOR), columns, name)
    if context is None:
        return passage
    # Places are counted from the beginning of the passage.
    before = _string(name, row, context)
    length = len(before) + bool(before)
    ends = tuple(length + end for end in passage.ends)
    text = f"{before} {passage.text}".strip()
    return passage._replace(text=text, offset=-length, ends=ends, context=length)


def _passage(parts: Sequence[str], columns: dict[str, Any], name: str) -> TextPassage:
    """Join regions to a passage. Where white space stands beside the border of two, there is a space between
    them.
    """
    text, ends = "", []
    for number, part in enumerate(parts, 1):
        words = " ".join(part.split())
        if not words:
            raise ValueError(f"Region {number} of {name} is empty: join it with the one before or after.")
        if text and (part[:1].isspace() or parts[number - 2][-1:].isspace()):
            text += " "
        text += words
        ends.append(len(text))
    return TextPassage(text, columns, name, ends=tuple(ends))


def _string(name: str, row: Mapping[str, Any], column: str, *, keep: bool = False) -> str:
    """Return a cell with single spaces, or as it is."""
    content = _cell(name, row, column)
    if not isinstance(content, str):
        # Pandas reads empty cells and "NA" as numbers.
        raise ValueError(
            f"The {column} of {name} should be a string, but it is {content!r}. With pandas.read_csv, give "
            f"keep_default_na=False."
        )
    return content if keep else " ".join(content.split())


def _cell(name: str, row: Mapping[str, Any], column: str) -> Any:
    if column not in row:
        raise ValueError(f"There is no column '{column}' in {name}, but there are: {', '.join(row)}.")
    return row[column]
