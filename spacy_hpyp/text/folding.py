"""Spelling variants that look-ups take for the same word.

Variants differ in the shape of quotes, apostrophes, dashes and spaces, in characters that are not
seen, or in whether an accent is a character of its own. Texts themselves are never changed.
"""

import re
import unicodedata
from functools import lru_cache

import numpy as np
from spacy.lang.norm_exceptions import BASE_NORMS

# Quotes and dashes by spaCy's norms, those that spaCy leaves out, and spaces.
_PLAIN = {
    **{
        ord(mark): norm
        for mark, norm in BASE_NORMS.items()
        if len(mark) == 1 and mark > "~" and norm in ("'", '"', "-")
    },
    **dict.fromkeys(map(ord, "ʼʹ‚‛′"), "'"),
    **dict.fromkeys(map(ord, "‟″"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒―−﹘﹣－"), "-"),
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
}
#: All spellings of quotes and apostrophes except the plain ones.
QUOTES = "".join(chr(code) for code, norm in _PLAIN.items() if norm in ("'", '"'))
# Soft hyphens, joiners, direction marks, variation selectors, byte order marks, tag characters.
_UNSEEN = "\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_UNSEEN += "\U000e0020-\U000e007f"
_ONE_UNSEEN = re.compile(f"[{_UNSEEN}]")
# After white space, they belong to the next character.
_LEADING = re.compile(rf"(?<!\S)[{_UNSEEN}]+(?=\S)")
_JOINER = 0x200D
#: The number of forms to cache.
_REMEMBERED = 1 << 16


def fold(form: str) -> str:
    """Return the form that stands for all spelling variants of a word; case is kept."""
    return form if form.isascii() else _fold(form)


@lru_cache(_REMEMBERED)
def _fold(form: str) -> str:
    return _normalized(form).translate(_PLAIN)


def _normalized(text: str) -> str:
    return unicodedata.normalize("NFC", _ONE_UNSEEN.sub("", text) or text)


def plain(character: str) -> str:
    """Return the character that stands for the variants of a quote, dash or space."""
    return character.translate(_PLAIN)


def compose(text: str) -> tuple[str, np.ndarray, np.ndarray]:
    """Compose the accents of a text, and leave unseen characters out, except between white space.

    RETURNS (tuple[str, int64[n + 1], bool[n]]): The text; where each of its characters, or its
        changed cluster, begins in the given one, and the length of that; and whether each begins a
        cluster.
    """
    place = np.arange(len(text) + 1)
    if text.isascii():
        return text, place, np.ones(len(text), dtype=bool)
    begins = _begin_clusters(text)
    starts = np.append(np.flatnonzero(begins), len(text))
    longer = np.flatnonzero(np.diff(starts) > 1)
    if unicodedata.is_normalized("NFC", text):
        unseen = [match.start() for match in _ONE_UNSEEN.finditer(text)]
        longer = np.intersect1d(longer, np.searchsorted(starts, unseen, side="right") - 1)
    parts, places, end = [], [], 0
    for first, after in zip(starts[longer].tolist(), starts[longer + 1].tolist()):
        cluster = _normalized(text[first:after])
        parts += [text[end:first], cluster]
        places += [place[end:first], np.full(len(cluster), first)]
        end = after
    if not parts:
        return text, place, begins
    place = np.concatenate([*places, place[end:]])
    is_first = np.diff(place[:-1], prepend=-1) > 0
    return "".join(parts) + text[end:], place, is_first & begins[place[:-1]]


def _begin_clusters(text: str) -> np.ndarray:
    """Whether each character begins a grapheme cluster (bool[n])."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    distinct, which = np.unique(codes, return_inverse=True)
    kinds = np.array([_continues(chr(code)) for code in distinct.tolist()], dtype=np.int8)[which]
    before = np.append(0, codes[:-1])
    begins = (kinds != 1) & (before != _JOINER)
    # Two regional indicators are a flag.
    flags = kinds == 2
    run = np.arange(len(codes)) - np.maximum.accumulate(np.where(flags, -1, np.arange(len(codes))))
    begins &= ~(flags & (run % 2 == 0))
    for match in _LEADING.finditer(text):
        begins[match.start()], begins[match.end()] = True, False
    return begins | (kinds == 3) | (np.append(3, kinds[:-1]) == 3)


@lru_cache(1 << 12)
def _continues(character: str) -> int:
    """Return 1 for continuing a cluster, 2 for a regional indicator, 3 for space, else 0."""
    code = ord(character)
    if character.isspace():
        return 3
    if 0x1F1E6 <= code <= 0x1F1FF:
        return 2
    is_jamo = 0x1160 <= code <= 0x11FF or 0xD7B0 <= code <= 0xD7FB
    is_modifier = 0x1F3FB <= code <= 0x1F3FF or code == 0xE33 or code == 0xEB3
    is_mark = unicodedata.category(character)[0] == "M"
    return int(is_mark or is_jamo or is_modifier or _ONE_UNSEEN.match(character) is not None)
