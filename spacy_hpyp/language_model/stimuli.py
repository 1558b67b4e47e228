"""Tables of stimuli: CSV or TSV with a header and the columns `item`, perhaps `condition`, and `text` or
`regions`.

In `regions`, the regions of a text are separated by `|`. Other columns are carried through to the table of
surprisals; what is called as a column of that one gets `input_` before its name. Instead of a text there may
be a `prefix` and a `continuation`, which is read after it and is one region.

Tables of words, as corpora of reading times are, have one word a row, and a column that says which text it
belongs to.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any

from .surprisal import PARTS, ROWS, TableRow, TextPassage, capital, carried

#: The names of files that are tables end so.
SUFFIXES = (".csv", ".tsv")
SEPARATOR = "|"
_KEYS = ("item", "condition")
_TEXTS = ("text", "regions")
_CONTINUED = ("prefix", "continuation")
# What a table of surprisals has columns of its own for.
_TAKEN = {
    *(
        "file",
        "sentence",
        "words",
        "tokens",
        "start",
        "end",
        "tag",
        "known",
        "class",
        "log_prob",
        *ROWS,
    ),
    *("surprisal", *PARTS),
    *(f"{kind}_{name}" for kind in ("entropy", "reduction") for name in ("next", "analyses")),
}
# Of a text, so many lines are looked at to see whether it is a table, and a list in prose may look like one
# of fewer lines.
_LOOKED_AT, _LEAST_LINES = 100, 3
_TAB = "\t"
_BYTE_ORDER_MARK = "\ufeff"
# What Excel reads of a first line that no table needs.
_SAID = re.compile(r"sep=([,;\t|])\r?\n", re.IGNORECASE)
_ENDINGS = tuple(".!?:…\"'”’)")


def is_table(path: Path) -> bool:
    """Whether a file is a table, by its name."""
    return path.suffix.lower() in SUFFIXES


def read_stimuli(path: Path, context: str | None = None) -> list[TextPassage]:
    """The passages of a table of stimuli.

    path (Path): A file in UTF-8, perhaps with a byte order mark. A `.tsv` file has tabs between its columns;
        a `.csv` file what its first line says, as "sep=;", or commas, semicolons or tabs, whichever its
        header has.
    RAISES (ValueError): If it is not in UTF-8, has not the columns, or no rows, if a row has more or fewer
        fields than the header, no item or condition, those of another row, or an empty text or region. The
        message says in which line.
    """
    rows = _rows_of(path)
    header = _header(*next(rows), path)
    found: list[TextPassage] = []
    seen: dict[tuple[str, str], str] = {}
    for line, fields in rows:
        name = f"line {line} of '{path}'"
        row = dict(zip(header, fields))
        row |= {key: row[key].strip() for key in _KEYS if key in row}
        for key in _KEYS:
            if row.get(key) == "":
                raise ValueError(
                    f"{capital(name)} has no {key}. Each row needs one, if it is that of the row above, too."
                )
        key = row["item"], row.get("condition", "")
        passage = stimulus({"file": str(path)}, row, name, context)
        if key in seen:
            condition = f" with condition '{key[1]}'" if key[1] else ""
            raise ValueError(
                f"Item '{key[0]}' stands twice{condition}: in {seen[key]} and {name}. Give one of them "
                f"another name."
            )
        seen[key] = name
        found.append(passage)
    return found


def _rows_of(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table that are not empty, and in which line each begins. The first is the header, and the
    others have as many fields.
    """
    text = _decode(path)
    said = _SAID.match(text)
    # Else there is between the columns of a CSV file what its header has most of.
    first = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    delimiter = said[1] if said else _TAB if path.suffix.lower() == ".tsv" else max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    start, rows, width = 1, 0, 0
    if said:
        next(reader)
        start = 2
    try:
        for fields in reader:
            line, start = start, reader.line_num + 1
            if not any(field.strip() for field in fields):
                continue
            rows, width = rows + 1, width or len(fields)
            if len(fields) != width:
                raise ValueError(
                    f"Line {line} of '{path}' has {len(fields)} fields, but the header has {width} columns. "
                    f"A field that has the "
                    "separator in it must be quoted."
                )
            yield line, fields
    except csv.Error as error:
        raise ValueError(
            f"Line {start} of '{path}' cannot be read as a row of a table: {error}. A field that begins with "
            f"a quotation mark ends "
            "with one, and those in it are doubled."
        ) from error
    if rows == 0:
        raise ValueError(f"The table '{path}' is empty: it has not even a header.")
    if rows == 1:
        raise ValueError(f"The table '{path}' has a header, but no rows.")


def read_word_table(path: Path, text_by: str, word: str) -> list[TextPassage]:
    """The texts of a table with one word a row.

    text_by (str): The column that says which text a word belongs to.
    word (str): The column of the words, without white space around them. A row may have none.
    RAISES (ValueError): If it is no such table, see `texts_of_words`. The message says in which line.
    """
    return texts_of_words(_named_rows(path), text_by, word, {"file": str(path)})


def _named_rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """What the rows of a table are called in errors, and their columns."""
    rows = _rows_of(path)
    header = _unique([field.strip() for field in next(rows)[1]], path)
    yield from ((f"line {line} of '{path}'", dict(zip(header, fields))) for line, fields in rows)


def texts_of_words(
    rows: Iterable[tuple[str, Mapping[str, Any]]], text_by: str, word: str, columns: Mapping[str, Any]
) -> list[TextPassage]:
    """The texts of rows with one word each: the words with a space between two. Each is a region.

    rows (Iterable[tuple[str, Mapping[str, Any]]]): What each row is called in errors, and its columns.
    columns (Mapping[str, Any]): What there is to say of all of them.
    RAISES (ValueError): If a column is not there or a word is no string, a row does not say its text, the
        rows of a text do not stand together, or a text has no words.
    """
    found: list[TextPassage] = []
    ended: dict[str, str] = {}
    for text, group in groupby(rows, key=lambda row: _text_of_row(*row, text_by)):
        own = [(name, row, _string(name, row, word)) for name, row in group]
        first = own[0][0]
        if text in ended:
            raise ValueError(
                f"{capital(first)} belongs to the text '{text}', whose rows ended with {ended[text]}. The "
                f"rows of a text must stand "
                "together: sort the table."
            )
        ended[text] = own[-1][0]
        words, ends, table = "", [], []
        for name, row, content in own:
            if "\n" in row[word]:
                # Words that begin and end direct speech would take all between them along.
                raise ValueError(
                    f"The word of {name} goes on in the next line: it begins with a quotation mark that "
                    f"another row ends. Where quotation "
                    "marks belong to words, quote these and double the marks."
                )
            if content:
                words += f" {content}" if words else content
                ends.append(len(words))
            table.append(TableRow(len(ends) if content else 0, dict(row), name))
        if not words:
            raise ValueError(f"The text '{text}', which begins with {first}, has no words.")
        name = f"the text '{text}', which begins with {first}"
        found.append(TextPassage(words, dict(columns), name, ends=tuple(ends), rows=tuple(table)))
    return found


def _text_of_row(name: str, row: Mapping[str, Any], text_by: str) -> str:
    text = str(_cell(name, row, text_by)).strip()
    if not text:
        raise ValueError(
            f"{capital(name)} has nothing in the column '{text_by}'. Each row must say which text it is of."
        )
    return text


def _string(name: str, row: Mapping[str, Any], column: str) -> str:
    content = _cell(name, row, column)
    if not isinstance(content, str):
        raise ValueError(_no_string(column, name, content))
    return " ".join(content.split())


def _cell(name: str, row: Mapping[str, Any], column: str) -> Any:
    if column not in row:
        raise ValueError(
            f"There is no column '{column}' in {name}, but there are: {', '.join(map(str, row))}."
        )
    return row[column]


def _no_string(what: str, name: str, content: Any) -> str:
    # What a table has no value for, or "NA", is a number for pandas.
    return f"The {what} of {name} should be a string, but there is {content!r}. With pandas.read_csv, give keep_default_na=False."


def read_counts(path: Path) -> dict[str, int]:
    """How often words were seen, of a table with the columns `word` and `count`.

    RAISES (ValueError): If there is no such column, or a count is no whole number.
    """
    found: dict[str, int] = {}
    for name, row in _named_rows(path):
        word, count = _cell(name, row, "word").strip(), _cell(name, row, "count").strip()
        if not count.isdecimal():
            raise ValueError(f"The count of {name} should be a whole number, but it is '{count}'.")
        found[word] = found.get(word, 0) + int(count)
    return found


def stimulus(
    columns: Mapping[str, Any], row: Mapping[str, Any], name: str, context: str | None = None
) -> TextPassage:
    """A row of a table as a passage.

    columns (Mapping[str, Any]): Columns that are to come first.
    row (Mapping[str, Any]): The row, with the text as `text` or its regions as `regions`: a string with `|`,
        or a list of strings.
    RAISES (ValueError): If the text or a region is empty or no string, or a column has the name of one of the
        table of surprisals.
    """
    texts = [key for key in row if key in _TEXTS]
    if context is None and not texts and all(key in row for key in _CONTINUED):
        context, *texts = _CONTINUED
    if len(texts) != 1:
        raise ValueError(
            f"{capital(name)} should have either a 'text' or 'regions', but it has {', '.join(row) or 'nothing'}."
        )
    (kind,) = texts
    others = carried({key: value for key, value in row.items() if key not in (kind, context)}, _TAKEN, name)
    columns, content = {**columns, **others}, row[kind]
    is_list = kind == "regions" and not isinstance(content, str) and isinstance(content, Iterable)
    parts = [*content] if is_list else [content]
    if wrong := [part for part in parts if not isinstance(part, str)]:
        raise ValueError(_no_string(kind, name, wrong[0]))
    if kind == "text":
        if not content.strip():
            raise ValueError(f"The text of {name} is empty.")
        passage = TextPassage(" ".join(content.split()), columns, name)
    else:
        if is_list:
            # Of a word and its clitic, which belong together, only a string can say so.
            parts = [f" {part} " if part.strip() else "" for part in parts]
        elif kind == "regions":
            parts = content.split(SEPARATOR)
        passage = _passage(parts, columns, name)
    return passage if context is None else _after(_string(name, row, context), passage)


def _after(context: str, passage: TextPassage) -> TextPassage:
    """A passage with what is read before it. Its places are counted as they were."""
    before = len(context) + bool(context)
    ends = tuple(before + end for end in passage.ends)
    text = f"{context} {passage.text}".strip()
    return passage._replace(text=text, offset=-before, ends=ends, context=before)


def check_prose(file: Iterable[bytes], path: Path) -> None:
    """See that a text is no table: that not all of its lines have the same separators.

    RAISES (ValueError): If it looks like one, or is not in UTF-8.
    """
    # A file that is open for bytes has a line where one ends in "\n", and there may be some that end in "\r".
    first = islice(chain.from_iterable(map(bytes.splitlines, file)), _LOOKED_AT)
    lines = [_text_of(line, number, path) for number, line in enumerate(first, 1)]
    lines = [line.removeprefix(_BYTE_ORDER_MARK) for line in lines if line.strip(_BYTE_ORDER_MARK + " \t")]
    for separator, least, rows in ((_TAB, 2, 2), (";", 3, _LEAST_LINES), (",", 3, _LEAST_LINES)):
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
                f"'{path}' looks like a table: its lines are divided by {what}. Of a table, the name must "
                f"end with .csv or .tsv, and it "
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
                f"Region {number} of {name} is empty. Where a condition lacks words that another one has, "
                f"let them be a part of the region "
                "before or after."
            )
        if text and (part[:1].isspace() or parts[number - 2][-1:].isspace()):
            text += " "
        text += words
        ends.append(len(text))
    return TextPassage(text, columns, name, ends=tuple(ends))


def _header(line: int, fields: list[str], path: Path) -> list[str]:
    header = [field.strip() for field in fields]
    header = [name.lower() if name.lower() in (*_KEYS, *_TEXTS) else name for name in header]
    missing = [name for name in _KEYS[:1] if name not in header]
    if not any(name in header for name in _TEXTS) and not all(name in header for name in _CONTINUED):
        missing.append("text' or 'regions")
    if missing:
        raise ValueError(
            f"The table '{path}' has no column '{missing[0]}'. A table of stimuli has a header with the "
            f"columns item, perhaps condition, "
            f"and text or regions; in line {line} there are: {', '.join(header)}. Of a table with one word a "
            f"row, name "
            "the column of its texts: --text-by."
        )
    if all(name in header for name in _TEXTS):
        raise ValueError(
            f"The table '{path}' has both a column 'text' and a column 'regions'. Leave one out, or rename "
            f"it."
        )
    return _unique(header, path)


def _unique(header: list[str], path: Path) -> list[str]:
    if twice := [name for name in header if header.count(name) > 1 or not name]:
        raise ValueError(
            f"The header of the table '{path}' has a column without a name, or two with the same: "
            f"'{twice[0]}'."
        )
    return header


def _decode(path: Path) -> str:
    lines = path.read_bytes().splitlines(keepends=True)
    return "".join(_text_of(line, number, path) for number, line in enumerate(lines, 1)).removeprefix(
        _BYTE_ORDER_MARK
    )


def _text_of(line: bytes, number: int, path: Path) -> str:
    # What is in UTF-16 without a mark may be valid UTF-8.
    if b"\0" in line:
        raise ValueError(
            f"'{path}' is not text in UTF-8: line {number} has the byte 0x00. It may be UTF-16: save it as "
            f"UTF-8."
        )
    try:
        return line.decode("utf8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"'{path}' is not text in UTF-8: line {number} has the byte {line[error.start]:#04x}. Save it as "
            f"UTF-8 (in Excel, 'CSV "
            "UTF-8')."
        ) from error
