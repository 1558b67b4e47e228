"""Spaces between generated words."""

import unicodedata
from collections.abc import Sequence

_APOSTROPHES = "'’"
_OPENING, _CLOSING, _CURRENCY = ("Ps", "Pi"), ("Pe", "Pf"), "Sc"
# Marks that follow a word immediately, and quotation marks as treebanks write them.
_FOLLOWING = frozenset(".,;:!?…%")
_BEGIN_QUOTE, _QUOTE = "``", '"'


def spaces_between(words: Sequence[str], *, separated: bool = True) -> list[bool]:
    """Guess whether there is a space after each word, by common rules of punctuation.

    Straight quotes open and close in turn.

    words (Sequence[str]): The words, none of them empty.
    separated (bool): Whether the writing system separates words.
    RETURNS (list[bool]): One value for each word; the last is False.
    """
    if not separated:
        return [False] * len(words)
    closes, opens = [], []
    in_quotes = False
    for word in words:
        closes.append(_closes(word) or (word == _QUOTE and in_quotes))
        opens.append(_opens(word) or (word == _QUOTE and not in_quotes))
        in_quotes ^= word == _QUOTE
    return [i + 1 < len(words) and not opens[i] and not closes[i + 1] for i in range(len(words))]


def _closes(word: str) -> bool:
    is_mark = unicodedata.category(word[0]) in _CLOSING or _FOLLOWING.issuperset(word)
    return is_mark or word[0] in _APOSTROPHES or word.lower() in ("n't", "n’t")


def _opens(word: str) -> bool:
    category = unicodedata.category(word[-1])
    is_elided = len(word) > 1 and word[-1] in _APOSTROPHES and word[0].isalpha()
    is_mark = category in _OPENING or (category == _CURRENCY and len(word) == 1)
    return word == _BEGIN_QUOTE or is_elided or is_mark
