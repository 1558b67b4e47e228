"""Tables in CSV and TSV: stimuli, words with reading times, counts, and values of other models.

A table of stimuli has the columns `item`, perhaps `condition`, and `text` or `regions`, which are
separated by `|`. A table of words, such as a corpus of reading times, has one word a row and a
column that names the text of each word. Other columns are carried through.
"""

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

#: A row: its columns in their order.
Row = dict[str, Any]
# A row of a table, after its name in errors.
_NamedRow = tuple[str, Mapping[str, Any]]

_UTF16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
_ADVICE = (
    "In R, write the table with write.csv(x, file, row.names = FALSE, fileEncoding = 'UTF-8'); in "
    "pandas, with to_csv(file, index=False)."
)
_READERS = "If several readers read it, name the column of readers: --reader-by."
# Columns of SUBTLEX, in lower case, and their names here.
_SUBTLEX = {"spelling": "word", "word": "word", "freqcount": "count", "count": "count"}
# Columns of the result; those of stimuli get other names, see `carried`.
_RESULT = {
    *"file region sentence word words token tokens start end tag known class log_prob".split(),
    *"surprisal surprisal_lexical surprisal_syntactic surprisal_letters".split(),
    *"entropy_next entropy_analyses reduction_next reduction_analyses".split(),
    *"stack_depth arcs arc_length".split(),
}
# Marks of sub-words, and tokens without text.
_MARKS = re.compile(r"^##|[\sĠĊ▁]|^<[^<>]+>$|^\[(?:CLS|SEP|PAD)\]$")
_MISSING = {"", "na", "nan", "none", "null"}
# The largest number of characters to skip in another table.
_WINDOW = 1000


class Passage(NamedTuple):
    """A text that is read by itself. Places in it count characters."""

    text: str
    columns: Row  # The columns of all of its rows, such as its item and condition
    name: str  # Its name in errors
    offset: int = 0  # The characters of the file before it, or minus `context` for stimuli
    ends: tuple[int, ...] = ()  # The ends of its regions
    # The rows of a table of words: the region, from 1, or 0 for a row without a word; the columns;
    # and the name in errors.
    rows: tuple[tuple[int, Row, str], ...] = ()
    context: int = 0  # The characters at the beginning that are read, but have no rows


def is_table(path: Path) -> bool:
    """Return whether a file is a table, by its name."""
    return path.suffix.lower() in (".csv", ".tsv")


def decode_table(path: Path) -> tuple[str, str]:
    """Return the text of a table and its delimiter, by its header: a comma, semicolon or tab.

    RAISES (ValueError): If it is not in UTF-8, or in UTF-16 with a byte order mark.
    """
    data = path.read_bytes()
    try:
        text = data.decode("utf-16" if data.startswith(_UTF16) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not text in UTF-8 ({error}). {_ADVICE}") from error
    head = text.lstrip("\r\n").split("\n", 1)[0]
    is_tsv = path.suffix.lower() == ".tsv" and "\t" in head
    delimiter = "\t" if is_tsv else max(",;\t", key=head.count)
    if '\\"' in text:
        # R escapes quotation marks by a backslash.
        try:
            list(_reader(text, delimiter))
        except csv.Error:
            text = text.replace('\\"', '""')
    return text, delimiter


def read_table(path: Path) -> Iterator[_NamedRow]:
    """Yield the rows of a table that are not empty, each with its name in errors.

    Row names of R, the index of pandas, and empty last columns are dropped.

    RAISES (ValueError): If the table cannot be read. The message names the line.
    """
    reader = _reader(*decode_table(path))
    rows = (fields for fields in reader if any(map(str.strip, fields)))
    try:
        header = [field.strip() for field in next(rows, [])]
        while header and not header[-1]:
            header.pop()
        name = f"line {reader.line_num} of '{path}'"
        if len(set(header)) < len(header) or "" in header[1:]:
            raise ValueError(f"A column in {name} is there twice or has no name. {_ADVICE}")
        for fields in rows:
            name = f"line {reader.line_num} of '{path}'"
            if len(fields) < len(header) or any(fields[len(header) :]):
                raise ValueError(
                    f"{name} has {len(fields)} fields, but the header has {len(header)}. Quote "
                    f"fields that contain the separator. {_ADVICE}"
                )
            yield name, {column: field for column, field in zip(header, fields) if column}
    except csv.Error as error:
        raise ValueError(
            f"Line {reader.line_num} of '{path}' cannot be read: {error}. Close each quoted field, "
            f"and double the quotation marks in it. {_ADVICE}"
        ) from error


def _reader(text: str, delimiter: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)


def _cell(name: str, row: Mapping[str, Any], column: str) -> Any:
    if column not in row:
        columns = ", ".join(row)
        raise ValueError(f"There is no column '{column}' in {name}. Its columns are: {columns}.")
    return row[column]


def _string(name: str, row: Mapping[str, Any], column: str) -> str:
    """Return a cell with single spaces. A no-break space stays."""
    content = _cell(name, row, column)
    if not isinstance(content, str):
        # Pandas reads empty cells and "NA" as numbers.
        raise ValueError(
            f"The {column} of {name} should be a string, not {content!r}. With pandas.read_csv, "
            f"use keep_default_na=False."
        )
    return " ".join(re.findall(r"[^ \t\r\n]+", content))


def carried(columns: Mapping[str, Any], taken: Container[str], name: str) -> Row:
    """Put `input_` before the names of columns that the result has, too.

    RAISES (ValueError): If two columns then have the same name.
    """
    names = [f"input_{column}" if column in taken else column for column in columns]
    if len(set(names)) < len(names):
        raise ValueError(f"Two columns of {name} are called the same after 'input_'. Rename one.")
    return dict(zip(names, columns.values()))


def read_counts(path: Path) -> Counter[str]:
    """Read the counts of words from the columns `word` and `count`, or from those of SUBTLEX.

    RAISES (ValueError): If a column is missing, or a count is not a whole number.
    """
    counts: Counter[str] = Counter()
    for name, row in read_table(path):
        columns = {_SUBTLEX.get(column.lower(), column): value for column, value in row.items()}
        try:
            counts[_cell(name, columns, "word").strip()] += int(_cell(name, columns, "count"))
        except ValueError as error:
            raise ValueError(f"{name} has no word with a count: {error}") from error
    return counts


# Passages


def read_passages(path: Path, *, text_by: str | None = None, **columns: Any) -> list[Passage]:
    """Read a table, see `make_passages`. RAISES (ValueError): If it has no rows or no `item`."""
    rows = list(read_table(path))
    if not rows:
        raise ValueError(f"There are no rows in '{path}'.")
    if text_by is None and "item" not in rows[0][1]:
        raise ValueError(
            f"The table '{path}' has no column 'item'. Its columns are: {', '.join(rows[0][1])}. A "
            f"table of stimuli has the columns item, perhaps condition, and text or regions. For a "
            f"table with one word a row, name the column of texts: --text-by."
        )
    return make_passages(rows, text_by=text_by, **columns, file=str(path))


def make_passages(
    rows: Iterable[_NamedRow],
    *,
    context: str | None = None,
    text_by: str | None = None,
    word: str = "word",
    reader_by: str | None = None,
    **columns: Any,
) -> list[Passage]:
    """Make passages from the rows of a table of stimuli, or of words if it has a column of texts.

    rows (Iterable[tuple[str, Mapping[str, Any]]]): The name of each row in errors, and its columns.
    context (str | None): The column of the text before a stimulus, which has no rows.
    text_by, word, reader_by (str | None): The columns of texts, words and readers.
    columns (Any): Columns that come before those of the rows.
    RAISES (ValueError): If a column is missing, a text, region or word is not a string, a text or
        region is empty, or the rows of a text are out of order or seem to be of several readers.
    """
    if text_by is not None:
        return _join_words(rows, text_by, word, reader_by, columns)
    return [_stimulus(columns, row, name, context) for name, row in rows]


def _stimulus(columns: Row, row: Mapping[str, Any], name: str, context: str | None) -> Passage:
    if ("text" in row) == ("regions" in row):
        raise ValueError(f"{name} needs either a 'text' or 'regions'. It has {', '.join(row)}.")
    kind = "text" if "text" in row else "regions"
    content = row[kind]
    if isinstance(content, list | tuple):
        content = " | ".join(_string(name, {kind: part}, kind) for part in content)
    content = _string(name, {kind: content}, kind)
    text, ends = "", []
    for number, part in enumerate(content.split("|") if kind == "regions" else [content], 1):
        if not part.strip():
            raise ValueError(f"{kind.rstrip('s').capitalize()} {number} of {name} is empty.")
        is_apart = part.startswith(" ") or text.endswith(" ")
        text = text.rstrip(" ") + (" " if text and is_apart else "") + part.lstrip(" ")
        ends.append(len(text.rstrip(" ")))
    # Offsets count from the beginning of the stimulus.
    before = "" if context is None else _string(name, row, context)
    length = len(before) + bool(before)
    others = {key: value for key, value in row.items() if key not in (kind, context)}
    return Passage(
        f"{before} {text}".strip(" "),
        {**columns, **carried(others, _RESULT, name)},
        name,
        offset=-length,
        ends=tuple(length + end for end in ends) if kind == "regions" else (),
        context=length,
    )


def _join_words(
    rows: Iterable[_NamedRow], text_by: str, word: str, reader_by: str | None, columns: Row
) -> list[Passage]:
    """Join words to texts, with a space between words. Each word is a region.

    The text of several readers is that of the reader with the most words; others may lack some.
    """
    texts: dict[str, dict[str, list[tuple[str, Mapping[str, Any], str]]]] = {}
    last = None
    for name, row in rows:
        text, content = str(_cell(name, row, text_by)).strip(), _string(name, row, word)
        if "\n" in row[word]:
            # Words that begin and end direct speech would take all words between them along.
            raise ValueError(
                f"The word of {name} contains a line end. Quote words that contain quotation "
                f"marks, and double the marks."
            )
        if reader_by is None and text in texts and text != last:
            raise ValueError(
                f"The rows of the text '{text}' do not stand together: it goes on in {name}. "
                f"{_READERS} Otherwise put its rows in the order of reading."
            )
        last, reader = text, "" if reader_by is None else str(_cell(name, row, reader_by))
        own = texts.setdefault(text, {}).setdefault(reader, [])
        own.append((name, row, content.strip() and content))
    passages = []
    for text, readers in texts.items():
        words = max(([each[2] for each in own if each[2]] for own in readers.values()), key=len)
        called = f"the text '{text}', which begins with {next(iter(readers.values()))[0][0]}"
        if not words:
            raise ValueError(f"There are no words in {called}.")
        if reader_by is None and _is_repeated(words):
            raise ValueError(f"Words repeat themselves in {called}. {_READERS}")
        ends = tuple(end - 1 for end in accumulate(len(each) + 1 for each in words))
        of_readers = chain.from_iterable(_find(own, words, called) for own in readers.values())
        passages.append(Passage(" ".join(words), columns, called, 0, ends, tuple(of_readers)))
    return passages


def _find(
    rows: Sequence[tuple[str, Mapping[str, Any], str]], words: Sequence[str], text: str
) -> Iterator[tuple[int, Row, str]]:
    """Find the word of a text in each row of a reader."""
    regions = enumerate(words, 1)
    for name, row, content in rows:
        region = next((number for number, each in regions if each == content), 0) if content else 0
        if content and not region:
            raise ValueError(
                f"The word '{content}' of {name} does not come next in {text}, as another reader "
                f"read it. Put the rows of each reader in the order of reading."
            )
        yield region, dict(row), name


def _is_repeated(words: Sequence[str]) -> bool:
    """Return whether a text seems to be there several times, text by text or word by word."""
    runs = Counter(zip(words, words[1:], words[2:]))
    repeated = sum(count for count in runs.values() if count > 1)
    doubled = sum(map(eq, words, words[1:]))
    return 2 * repeated > max(len(words), 4) or 3 * doubled > max(len(words), 6)


class Alignment:
    """The table of another model, beside the rows of this one.

    Texts are matched by their characters, whatever their case. A row gets the sum of its sub-words,
    or None if a value is missing, a word crosses its border, or the texts differ there.

    path (Path): A table with a row for each word or sub-word, in the order of the text, as minicons
        and pangoling write them.
    word (str): The column of words, or else `token` or `word`.
    value (str): The column of numbers that add up over the sub-words of a word.
    RAISES (ValueError): If a column is missing, or a value is not a number.
    """

    def __init__(self, path: Path, word: str, value: str) -> None:
        self.column, self._values = f"{path.stem}_{value}", []
        self._rows = self._unaligned = self._place = 0
        # The number of words before each place where a word begins or ends.
        self._number, texts, length = {0: 0}, [], 0
        for name, row in read_table(path):
            column = next((each for each in (word, "token", "word") if each in row), word)
            number = _cell(name, row, value).strip()
            if text := _folded(_cell(name, row, column)):
                try:
                    self._values.append(None if number.lower() in _MISSING else float(number))
                except ValueError as error:
                    raise ValueError(f"The {value} of {name} is no number: {number}.") from error
                texts.append(text)
                length += len(text)
                self._number[length] = len(self._values)
        self._text = "".join(texts)

    def take(self, texts: Iterable[str]) -> list[float | None]:
        """Return the values of the texts of the next rows."""
        folded, values = list(map(_folded, texts)), []
        for text, following in zip(folded, [*folded[1:], ""]):
            start = self._place
            if not self._text.startswith(text, start):
                start = self._text.find(text + following, start, start + _WINDOW)
            self._place = self._place if start < 0 else start + len(text)
            first, last = self._number.get(start), self._number.get(start + len(text))
            words = [None] if None in (first, last) else self._values[first:last]
            values.append(None if not words or None in words else sum(words))
        self._rows += len(values)
        self._unaligned += values.count(None)
        return values

    def message(self) -> tuple[str, bool]:
        """Return how many rows have no value, and whether they are more than 5 %."""
        share = self._unaligned / max(self._rows, 1)
        return f"{self._unaligned:,} of {self._rows:,} rows have no {self.column}.", share > 0.05


def _folded(text: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKC", text)).casefold()
