"""Tables of stimuli: CSV or TSV with a header and the columns `item`, perhaps `condition`, and
`text` or `regions`.

In `regions`, the regions of a text are separated by `|`. Other columns are carried through to the
table of surprisals; a column with a name of that table gets `input_` before its name.

Tables of words, as corpora of reading times are, have one word a row, and a column that says which
text it belongs to.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from operator import eq
from pathlib import Path
from typing import Any, NamedTuple

from .surprisal import PARTS, ROWS, TableRow, TextPassage, carried
from .tables import WHITE, cell, read_table, single_blanks, string_of

SEPARATOR = "|"
_TEXTS = ("text", "regions")
# Columns of SUBTLEX, in lower letters, and their names here.
_SUBTLEX = {"spelling": "word", "word": "word", "freqcount": "count", "count": "count"}
_READERS = "If it has several readers, name the column that says who they are: --reader-by."
# Columns of a table of surprisals.
_TAKEN = {
    *"file sentence words tokens start end tag known class log_prob surprisal".split(),
    *(*ROWS, *PARTS),
    *(f"{kind}_{name}" for kind in ("entropy", "reduction") for name in ("next", "analyses")),
}


class Columns(NamedTuple):
    """The names of columns of a table.

    context (str | None): Of stimuli: what is read before the text, and has no rows.
    text_by (str | None): Of a table with one word a row: the text that a word belongs to.
    word (str), reader_by (str | None): Its words, and its readers if a text has several.
    """

    context: str | None = None
    text_by: str | None = None
    word: str = "word"
    reader_by: str | None = None


def read_passages(path: Path, columns: Columns) -> list[TextPassage]:
    """Read the passages of a table of stimuli, or of one with one word a row if it has a column of
    texts.

    RAISES (ValueError): If it is no such table. The message says in which line.
    """
    if columns.text_by is not None:
        return texts_of_words(read_table(path), columns, {"file": str(path)})
    found = []
    for name, row in read_table(path):
        if "item" not in row:
            raise ValueError(
                f"The table '{path}' has no column 'item', but there are: {', '.join(row)}. A table of "
                f"stimuli has the columns item, perhaps condition, and text or regions. Of a table with one "
                f"word a row, name the column of its texts: --text-by."
            )
        found.append(stimulus({"file": str(path)}, row, name, columns.context))
    return found


def read_counts(path: Path) -> dict[str, int]:
    """Read how often words were seen from a table with the columns `word` and `count`, or with
    those of SUBTLEX.

    RAISES (ValueError): If there is no such column, or a count is no whole number.
    """
    found: Counter[str] = Counter()
    for name, row in read_table(path):
        columns = {_SUBTLEX.get(column.lower(), column): value for column, value in row.items()}
        try:
            found[cell(name, columns, "word").strip()] += int(cell(name, columns, "count"))
        except ValueError as error:
            raise ValueError(f"{name} has no word with a count: {error}") from error
    return found


def texts_of_words(
    rows: Iterable[tuple[str, Mapping[str, Any]]], names: Columns, columns: Mapping[str, Any]
) -> list[TextPassage]:
    """Join the words of rows to texts, with a space between two. Each word is a region; a row may
    have none.

    The text of several readers is that of the one with most words; others may lack some of them.
    Without a column of readers each text has one, whose rows stand together.

    rows (Iterable[tuple[str, Mapping[str, Any]]]): The name of each row in errors, and its columns.
    names (Columns), columns (Mapping[str, Any]): The names of columns, and columns of all texts.
    RAISES (ValueError): If a column is not there, a word is no string, the rows of a text seem to
        be of several readers, or a text has no words.
    """
    _, text_by, word, reader_by = names
    texts: dict[str, dict[str, list[tuple[str, Mapping[str, Any], str]]]] = {}
    last = None
    for name, row in rows:
        text = str(cell(name, row, text_by)).strip()
        content = string_of(name, row, word)
        if "\n" in row[word]:
            # Words that begin and end direct speech would take all between them along.
            raise ValueError(
                f"The word of {name} has a line end in it. Where quotation marks belong to words, quote "
                f"these and double the marks."
            )
        if reader_by is None and text in texts and text != last:
            raise ValueError(
                f"The rows of the text '{text}' do not stand together: it goes on in {name}. {_READERS} If it "
                f"has one, put its rows in the order of reading."
            )
        last, reader = text, "" if reader_by is None else str(cell(name, row, reader_by))
        word_rows = texts.setdefault(text, {}).setdefault(reader, [])
        word_rows.append((name, row, "" if content.isspace() else content))
    passages = []
    for text, readers in texts.items():
        words = max(
            ([content for *_, content in own if content] for own in readers.values()), key=len
        )
        first = f"the text '{text}', which begins with {next(iter(readers.values()))[0][0]}"
        if not words:
            raise ValueError(f"There are no words in {first}.")
        if reader_by is None and _seems_repeated(words):
            raise ValueError(f"The words of {first}, repeat themselves. {_READERS}")
        ends = tuple(accumulate(len(each) + 1 for each in words))
        table = chain.from_iterable(_rows_of_reader(own, words, first) for own in readers.values())
        passage = TextPassage(
            " ".join(words), dict(columns), first, ends=tuple(end - 1 for end in ends)
        )
        passages.append(passage._replace(rows=tuple(table)))
    return passages


def _rows_of_reader(
    rows: Sequence[tuple[str, Mapping[str, Any], str]], words: Sequence[str], text: str
) -> Iterator[TableRow]:
    """Find the word of a text that each row of a reader has."""
    regions = enumerate(words, 1)
    for name, row, content in rows:
        region = (
            next((number for number, each in regions if each == content), None) if content else 0
        )
        if region is None:
            raise ValueError(
                f"The word '{content}' of {name} does not come next in {text}, as another reader has it. Put "
                f"the rows of each reader in the order of reading."
            )
        yield TableRow(region, dict(row), name)


def _seems_repeated(words: Sequence[str]) -> bool:
    """Return whether words are those of a text several times, one after the other or all
    together.
    """
    runs = Counter(zip(words, words[1:], words[2:]))
    repeated = sum(count for count in runs.values() if count > 1)
    return 2 * repeated > max(len(words), 4) or 3 * sum(map(eq, words, words[1:])) > max(
        len(words), 6
    )


def stimulus(
    columns: Mapping[str, Any], row: Mapping[str, Any], name: str, context: str | None = None
) -> TextPassage:
    """Make a passage of a row of a table.

    columns (Mapping[str, Any]): Columns that are to come first.
    row (Mapping[str, Any]): The row, with the text as `text` or its regions as `regions`: a string
        with `|`, or a list of strings.
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
        passage = TextPassage(string_of(name, row, kind), columns, name)
        if not passage.text.strip():
            raise ValueError(f"The text of {name} is empty.")
    elif isinstance(content, Sequence) and not isinstance(content, str):
        # Only a string can say that a word and its clitic belong together.
        passage = _passage(
            [f" {string_of(name, {kind: part}, kind)} " for part in content], columns, name
        )
    else:
        string_of(name, row, kind)
        passage = _passage(content.split(SEPARATOR), columns, name)
    if context is None:
        return passage
    # Places are counted from the beginning of the passage.
    before = string_of(name, row, context)
    length = len(before) + bool(before)
    ends = tuple(length + end for end in passage.ends)
    text = f"{before} {passage.text}".strip()
    return passage._replace(text=text, offset=-length, ends=ends, context=length)


def _passage(parts: Sequence[str], columns: dict[str, Any], name: str) -> TextPassage:
    """Join regions to a passage. Where white space stands beside the border of two, there is a
    space between them.
    """
    text, ends = "", []
    for number, part in enumerate(parts, 1):
        words = single_blanks(part)
        if not words:
            raise ValueError(
                f"Region {number} of {name} is empty: join it with the one before or after."
            )
        if text and (part[0] in WHITE or parts[number - 2][-1] in WHITE):
            text += " "
        text += words
        ends.append(len(text))
    return TextPassage(text, columns, name, ends=tuple(ends))
