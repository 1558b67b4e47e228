"""Tables of CSV and TSV, as R, pandas and spreadsheets write them."""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Endings of the names of tables.
SUFFIXES = (".csv", ".tsv")
#: White space between words of a cell.
WHITE = " \t\r\n"
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ADVICE = (
    "In R, write the table with write.csv(x, file, row.names = FALSE, fileEncoding = 'UTF-8'); in pandas, "
    "with to_csv(file, index=False)."
)


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return path.suffix.lower() in SUFFIXES


def table_text(path: Path) -> tuple[str, str]:
    """Read the text of a table, and return it with the delimiter of its columns.

    path (Path): A file in UTF-8, or in UTF-16 with a byte order mark. The header decides between
        commas, semicolons and tabs. Quotation marks that R has escaped by a backslash are doubled
        instead.
    RAISES (ValueError): If it is in another encoding.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-16" if data.startswith(_MARKS) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not text in UTF-8 ({error}). {_ADVICE}") from error
    head = text.lstrip("\r\n").split("\n", 1)[0]
    delimiter = (
        "\t" if path.suffix.lower() == ".tsv" and "\t" in head else max(",;\t", key=head.count)
    )
    if '\\"' in text:
        try:
            deque(_reader(text, delimiter), maxlen=0)
        except csv.Error:
            text = text.replace('\\"', '""')
    return text, delimiter


def read_table(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows of a table that are not empty, each with its name in errors.

    Row names of R and the index of pandas, a first column without a name, are left out, and so are
    empty columns at the end.

    RAISES (ValueError): If it cannot be read. The message says in which line.
    """
    reader = _reader(*table_text(path))
    header: list[str] = []
    try:
        for fields in reader:
            name = f"line {reader.line_num} of '{path}'"
            if not any(field.strip() for field in fields):
                continue
            if not header:
                header = [field.strip() for field in fields]
                while not header[-1]:
                    header.pop()
                if len(set(header)) < len(header) or "" in header[1:]:
                    raise ValueError(
                        f"The header in {name} has a column twice or without a name. {_ADVICE}"
                    )
                continue
            if len(fields) < len(header) or any(fields[len(header) :]):
                raise ValueError(
                    f"{name} has {len(fields)} fields, but the header has {len(header)}. A field with the "
                    f"separator in it must be quoted. {_ADVICE}"
                )
            row = dict(zip(header, fields))
            row.pop("", None)
            yield name, row
    except csv.Error as error:
        raise ValueError(
            f"Line {reader.line_num} of '{path}' cannot be read: {error}. A field that begins with a "
            f"quotation mark ends with one, and those in it are doubled. {_ADVICE}"
        ) from error


def _reader(text: str, delimiter: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


def cell(name: str, row: Mapping[str, Any], column: str) -> Any:
    """Return the cell of a row, by its name in errors. RAISES (ValueError): If there is no such
    column.
    """
    if column not in row:
        raise ValueError(
            f"There is no column '{column}' in {name}, but there are: {', '.join(row)}."
        )
    return row[column]


def string_of(name: str, row: Mapping[str, Any], column: str) -> str:
    """Return a cell with single blanks. A no-break space stays. RAISES (ValueError): If it is no
    string.
    """
    content = cell(name, row, column)
    if not isinstance(content, str):
        # Pandas reads empty cells and "NA" as numbers.
        raise ValueError(
            f"The {column} of {name} should be a string, but it is {content!r}. With pandas.read_csv, give "
            f"keep_default_na=False."
        )
    return single_blanks(content)


def single_blanks(text: str) -> str:
    """Replace blanks, tabs and line ends by single blanks between words, and none around them."""
    return " ".join(re.findall(rf"[^{WHITE}]+", text))
