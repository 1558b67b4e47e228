"""Tables of stimuli: CSV or TSV with a header and the columns `item`, perhaps `condition`, and `text` or `regions`.

In `regions`, the regions of a text are separated by `|`. Other columns are carried through to the table of surprisals; what is called as a
column of that one gets `input_` before its name.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from .surprisal import MIXED, ROWS, TextPassage

#: The names of files that are tables end so.
SUFFIXES = (".csv", ".tsv")
SEPARATOR = "|"
_KEYS = ("item", "condition")
_TEXTS = ("text", "regions")
# What a table of surprisals has columns of its own for, and how those of stimuli are called then.
_INPUT = "input_"
_TAKEN = {
    *("file", "sentence", "words", "tokens", "start", "end", "tag", "known", "class", "log_prob", *ROWS, *MIXED),
    *("surprisal", "surprisal_lexical", "surprisal_syntactic"),
    *(f"{kind}_{name}" for kind in ("entropy", "reduction") for name in ("next", "analyses")),
}
# Of a text, so many lines are looked at to see whether it is a table, and a list in prose may look like one of fewer lines.
_LOOKED_AT, _FEW = 100, 3
_TAB = "\t"
_BYTE_ORDER_MARK = "\ufeff"
# What Excel reads of a first line that no table needs.
_SAID = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)
_ENDINGS = tuple(".!?:…\"'”’)")


def is_table(path: Path) -> bool:
    """Whether a file is a table, by its name."""
    return path.suffix.lower() in SUFFIXES


def read_stimuli(path: Path) -> list[TextPassage]:
    """The passages of a table of stimuli.

    path (Path): A file in UTF-8, perhaps with a byte order mark. A `.tsv` file has tabs between its columns; a `.csv` file what its first
        line says, as "sep=;", or commas, semicolons or tabs, whichever its header has.
    RAISES (ValueError): If it is not in UTF-8, has not the columns, or no rows, if a row has more or fewer fields than the header, no
        item or condition, those of another row, or an empty text or region. The message says in which line.
    """
    text = _decode(path)
    said = _SAID.match(text)
    delimiter = said[1] if said else _TAB if path.suffix.lower() == ".tsv" else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    found: list[TextPassage] = []
    seen: dict[tuple[str, str], str] = {}
    header: list[str] | None = None
    start = 1
    if said:
        next(reader)
        start = 2
    while True:
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"Line {start} of '{path}' cannot be read as a row of a table: {error}. A field that begins with a quotation mark ends "
                "with one, and those in it are doubled."
            ) from error
        if fields is None:
            break
        line, start = start, reader.line_num + 1
        if not any(field.strip() for field in fields):
            continue
        if header is None:
            header = _header(fields, path, line)
            continue
        name = f"line {line} of '{path}'"
        if len(fields) != len(header):
            raise ValueError(
                f"{_capital(name)} has {len(fields)} fields, but the header has {len(header)} columns. A field that has the "
                "separator in it must be quoted."
            )
        row = dict(zip(header, fields))
        row |= {key: row[key].strip() for key in _KEYS if key in row}
        for key in _KEYS:
            if row.get(key) == "":
                raise ValueError(
                    f"{_capital(name)} has no {key}. Each row needs one, if it is that of the row above, too."
                )
        key = row["item"], row.get("condition", "")
        passage = stimulus({"file": str(path)}, row, name)
        if key in seen:
            condition = f" with condition '{key[1]}'" if key[1] else ""
            raise ValueError(
                f"Item '{key[0]}' stands twice{condition}: in {seen[key]} and {name}. Give one of them another name."
            )
        seen[key] = name
        found.append(passage)
    if header is None:
        raise ValueError(f"The table '{path}' is empty: it has not even a header.")
    if not found:
        raise ValueError(f"The table '{path}' has a header, but no rows.")
    return found


def stimulus(columns: Mapping[str, Any], row: Mapping[str, Any], name: str) -> TextPassage:
    """A row of a table as a passage.

    columns (Mapping[str, Any]): Columns that are to come first.
    row (Mapping[str, Any]): The row, with the text as `text` or its regions as `regions`: a string with `|`, or a list of strings.
    name (str): What it is called in errors.
    RAISES (ValueError): If the text or a region is empty or no string, or a column has the name of one of the table of surprisals.
    """
    texts = [key for key in row if key in _TEXTS]
    if len(texts) != 1:
        raise ValueError(
            f"{_capital(name)} should have either a 'text' or 'regions', but it has {', '.join(row) or 'nothing'}."
        )
    others = {f"{_INPUT}{key}" if key in _TAKEN else key: value for key, value in row.items() if key not in _TEXTS}
    if len(others) < len(row) - 1:
        raise ValueError(
            f"{_capital(name)} has a column with the name of one of the result, and one with '{_INPUT}' before it. Rename one."
        )
    carried = {**columns, **others}
    content = row[texts[0]]
    parts = (
        [content] if texts[0] == "text" or isinstance(content, str) or not isinstance(content, Iterable) else [*content]
    )
    # What a table has no value for, or "NA", is a number for pandas.
    if wrong := [part for part in parts if not isinstance(part, str)]:
        raise ValueError(
            f"The {texts[0]} of {name} should be a string, but there is {wrong[0]!r}. With pandas.read_csv, give keep_default_na=False."
        )
    if texts[0] == "text":
        text = " ".join(content.split())
        if not text:
            raise ValueError(f"The text of {name} is empty.")
        return TextPassage(text, carried, name)
    return _passage(content.split(SEPARATOR) if isinstance(content, str) else _with_spaces(parts), carried, name)


def check_prose(file: Iterable[bytes], path: Path) -> None:
    """See that a text is no table: that not all of its lines have the same separators.

    file (Iterable[bytes]): Its lines.
    path (Path): Its name, for errors.
    RAISES (ValueError): If it looks like one, or is not in UTF-8.
    """
    first = islice(file, _LOOKED_AT)
    lines = [_text_of(line, number, path).strip("\r\n") for number, line in enumerate(first, 1)]
    lines = [line.removeprefix(_BYTE_ORDER_MARK) for line in lines if line.strip(_BYTE_ORDER_MARK + " \t")]
    for separator, least, rows in ((_TAB, 2, 2), (";", 3, _FEW), (",", 3, _FEW)):
        # A tab that a paragraph begins with is none between columns.
        cells = [_cells(line.strip(), separator) for line in lines]
        names = [cell.strip().lower() for cell in cells[0]] if lines else []
        is_header = len(names) > 1 and any(key in names for key in _KEYS)
        alike = len(lines) >= rows and len({*map(len, cells)}) == 1 and len(names) >= least
        # Sentences have a space behind a comma, and a mark at their end.
        spaced = any(cell[:1] == " " for row in cells for cell in row[1:]) and separator != _TAB
        if is_header or (alike and not (spaced and lines[0].endswith(_ENDINGS))):
            what = {_TAB: "tabs", ",": "commas", ";": "semicolons"}[separator]
            raise ValueError(
                f"'{path}' looks like a table: its lines are divided by {what}. Of a table, the name must end with .csv or .tsv, and it "
                "has the columns item, condition, and text or regions. If it is prose, "
                f"{'write spaces for tabs' if separator == _TAB else 'end its first line with a full stop, and have spaces behind ' + what}."
            )


def _cells(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator))
    except csv.Error:
        # A line of prose may be longer than a cell.
        return line.split(separator)


def _passage(parts: Sequence[str], columns: dict[str, Any], name: str) -> TextPassage:
    """Regions as a passage. Where white space stands beside the border of two, there is a space between them."""
    text, ends = "", []
    for number, part in enumerate(parts, 1):
        words = " ".join(part.split())
        if not words:
            raise ValueError(
                f"Region {number} of {name} is empty. Where a condition lacks words that another one has, let them be a part of the region "
                "before or after."
            )
        if text and (part[:1].isspace() or parts[number - 2][-1:].isspace()):
            text += " "
        text += words
        ends.append(len(text))
    return TextPassage(text, columns, name, ends=tuple(ends))


def _with_spaces(parts: Iterable[str]) -> list[str]:
    """Regions of a list: of a word and its clitic, which belong together, only a string can say so."""
    return [f" {part} " if part.strip() else "" for part in parts]


def _header(fields: list[str], path: Path, line: int) -> list[str]:
    header = [field.strip() for field in fields]
    lower = [name.lower() for name in header]
    header = [low if low in (*_KEYS, *_TEXTS) else name for name, low in zip(header, lower)]
    missing = [name for name in _KEYS[:1] if name not in header]
    if not any(name in header for name in _TEXTS):
        missing.append("text' or 'regions")
    if missing:
        raise ValueError(
            f"The table '{path}' has no column '{missing[0]}'. A table of stimuli has a header with the columns item, perhaps condition, "
            f"and text or regions; in line {line} there are: {', '.join(header)}."
        )
    if all(name in header for name in _TEXTS):
        raise ValueError(
            f"The table '{path}' has both a column 'text' and a column 'regions'. Leave one out, or rename it."
        )
    if twice := [name for name in header if header.count(name) > 1 or not name]:
        raise ValueError(
            f"The header of the table '{path}' has a column without a name, or two with the same: '{twice[0]}'."
        )
    return header


def _delimiter(text: str) -> str:
    """What is between the columns of a CSV file: what its header has most of."""
    first = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    return max(",;\t", key=first.count)


def _decode(path: Path) -> str:
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    return "".join(_text_of(line, number, path) for number, line in enumerate(lines, 1)).removeprefix(_BYTE_ORDER_MARK)


def _text_of(line: bytes, number: int, path: Path) -> str:
    # What is in UTF-16 without a mark may be valid UTF-8.
    if b"\0" in line:
        raise ValueError(
            f"'{path}' is not text in UTF-8: line {number} has the byte 0x00. It may be UTF-16: save it as UTF-8."
        )
    try:
        return line.decode("utf8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"'{path}' is not text in UTF-8: line {number} has the byte {line[error.start]:#04x}. Save it as UTF-8 (in Excel, 'CSV "
            "UTF-8')."
        ) from error


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]
