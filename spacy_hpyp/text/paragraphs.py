"""Paragraphs of text: what empty lines separate."""

from collections.abc import Iterable, Iterator

# The longest paragraph in characters, because a pipeline reads it at once.
_LONGEST = 20_000
_BYTE_ORDER_MARK = "\ufeff"


def paragraphs_of(
    lines: Iterable[tuple[int, str]], *, per_line: bool = False
) -> Iterator[tuple[int, str]]:
    """Join the lines of a text to paragraphs.

    An empty or white line ends a paragraph. One of more than 20,000 characters is cut, at white
    space if possible. Line ends stay. A byte order mark at the beginning is left out.

    lines (Iterable[tuple[int, str]]): Each line with its place, the number of characters before it.
    per_line (bool): Whether every line that is not empty is a paragraph, however long.
    YIELDS (tuple[int, str]): The place and the text of each paragraph.
    """
    text, start = "", 0
    for place, line in lines:
        if place == 0 and line.startswith(_BYTE_ORDER_MARK):
            place, line = 1, line[1:]
        if per_line or not line.strip():
            if text:
                yield start, text
            text = ""
            if line.strip():
                yield place, line
            continue
        start = start if text else place
        text += line
        while len(text) > _LONGEST:
            cut = 1 + max(text.rfind(space, 0, _LONGEST) for space in " \n\t")
            cut = cut or _LONGEST
            yield start, text[:cut]
            start += cut
            text = text[cut:]
    if text.strip():
        yield start, text
