"""Hashed features of the places in a text where tokens and sentences may end.

A text is read with its accents composed and its spelling variants folded (`folding`). It has
margins, so that features can be read anywhere. Polynomial hashes of its prefixes give the hash of
any part in one step.

Features of tokens read no further than the next white space, so that no token depends on the words
that follow. Only a token that may go on behind white space, as "13 819", reads the next chunk, too.
"""

import sys
import unicodedata
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compiled import jit, struct
from .folding import compose, plain

#: Characters before and after a text that features may read.
MARGIN = 6
# Kinds of characters; letters stand together.
KINDS = 19
_SPACE, _LINE_END, _UPPER, _LOWER, _LETTER, _MARK, _DIGIT, _OPENING, _CLOSING = range(9)
_FULL_STOP, _COMMA, _QUOTE, _DASH, _PUNCTUATION, _SYMBOL, _OTHER, _HAN, _HIRAGANA, _KATAKANA = (
    range(9, 19)
)
# Kinds of letters in scripts without spaces, by the beginning of their names in Unicode.
_SCRIPTS = {"CJK": _HAN, "HIRAGANA": _HIRAGANA, "KATAKANA": _KATAKANA}
_BY_CATEGORY = {
    **{"Lu": _UPPER, "Lt": _UPPER, "Ll": _LOWER, "L": _LETTER, "M": _MARK, "N": _DIGIT},
    **{
        "Ps": _OPENING,
        "Pi": _OPENING,
        "Pe": _CLOSING,
        "Pf": _CLOSING,
        "Pd": _DASH,
        "P": _PUNCTUATION,
        "S": _SYMBOL,
    },
}
_BY_CHARACTER = {
    "\n": _LINE_END,
    **dict.fromkeys(".!?…।。！？؟", _FULL_STOP),
    # A dash is between words like a comma; the one in folded text is a hyphen.
    **dict.fromkeys(",;:،、—―", _COMMA),
    **dict.fromkeys("'’\"", _QUOTE),
}
# Arithmetic of hashes is modulo 2^64, where odd numbers have inverses.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))
_MIXER = np.uint64(0xD6E8FEB86659FD93)
_OF_TEMPLATE = np.uint64(0xA0761D6478BD642F)
# The kind of each character, its folded form, and that in lower case, where it has been met;
# elsewhere 0.
_KIND_OF, _PLAIN_OF, _LOWER_OF = np.zeros((3, sys.maxunicode + 1), dtype=np.int64)
# Powers are kept for texts of so many characters.
_USUAL_LENGTH = 1 << 13
#: Numbers of features of tokens, of sentences, and of classes, which come behind either.
TOKEN_TEMPLATES, SENTENCE_TEMPLATES, CLASS_TEMPLATES = 38, 44, 3
# Longer words are not looked for around a character.
_LONGEST_WORD = 8
_TAB = ord("\t")


@struct
class Weights(NamedTuple):
    """What has been learned.

    weight (float32[places, outcomes]): Of hashed features; the places are a power of two.
    words (uint64[*]), often (int8[*]): Hashes of words in lower case and how often they were seen,
        in steps: an open table whose size is a power of two, 0 where it is empty.
    of_class (uint8[*]): The number of each word's class, 0 where it has none; without entries if
        there are no classes.
    joins (bool[kinds, kinds]): The kinds of characters that white space within a token may stand
    between.
    """

    weight: np.ndarray
    words: np.ndarray
    often: np.ndarray
    of_class: np.ndarray
    joins: np.ndarray


@struct
class PaddedText(NamedTuple):
    """A composed text with margins.

    place (int64[n]): The place in the text of each character, and of the end.
    lower, kind (int64[n]): Each character in lower case, and its kind.
    may_end (bool[n]): Whether a token may end with it: a grapheme cluster does, and it is no white
    space. exact, lowered (uint64[n + 1]): Hashes of what stands before each position, as written
    and in lower case. power (uint64[n + 1]): By which the hash of a part is found.
    begin, end (int64[n]): The bounds of what stands between white space, around each character; an
        empty part for white space.
    following (int64[n]): The next character after each that is no white space.
    """

    place: np.ndarray
    lower: np.ndarray
    kind: np.ndarray
    may_end: np.ndarray
    exact: np.ndarray
    lowered: np.ndarray
    power: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    following: np.ndarray


def _kind_of(character: str) -> int:
    if character in _BY_CHARACTER:
        return _BY_CHARACTER[character]
    if character.isspace():
        return _SPACE
    category = unicodedata.category(character)
    if category in ("Lo", "Lm"):
        script = unicodedata.name(character, "").partition(" ")[0]
        return _SCRIPTS.get(script, _LETTER)
    return _BY_CATEGORY.get(category, _BY_CATEGORY.get(category[0], _OTHER))


def pad(text: str) -> PaddedText:
    """Return a text as features read it."""
    margin = "\n" * MARGIN
    text, place, begins = compose(margin + text + margin)
    code = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    for new in set(code[_LOWER_OF[code] == 0].tolist()):
        character = chr(new)
        _KIND_OF[new] = _kind_of(character)
        _PLAIN_OF[new] = new if character in "—―" else ord(plain(character))
        _LOWER_OF[new] = ord(chr(_PLAIN_OF[new]).lower()[0])
    lower, kind = _LOWER_OF[code], _KIND_OF[code]
    may_end = np.append(begins[1:], True) & (kind > _LINE_END)
    return PaddedText(
        place - MARGIN, lower, kind, may_end, *_hashes(_PLAIN_OF[code], lower), *_bounds(kind)
    )


@lru_cache(maxsize=1)
def _powers(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first so many powers of the base, and of its inverse (uint64[count])."""
    base, inverse = (
        np.cumprod(np.append(np.uint64(1), np.full(count - 1, each))) for each in (_BASE, _INVERSE)
    )
    return base, inverse


def _hashes(code: np.ndarray, lower: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`exact`, `lowered` and `power` of `PaddedText`."""
    n = len(code)
    power, inverse = (each[: n + 1] for each in _powers(max(_USUAL_LENGTH, n + 1)))

    def hashes(characters: np.ndarray) -> np.ndarray:
        found = np.zeros(n + 1, dtype=np.uint64)
        np.cumsum((characters + np.uint64(1)) * inverse[1:], out=found[1:])
        found *= power
        return found

    return hashes(code.astype(np.uint64)), hashes(lower.astype(np.uint64)), power


def _bounds(kind: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`begin`, `end` and `following` of `PaddedText`."""
    n, place, white = len(kind), np.arange(len(kind)), kind <= _LINE_END
    begin = np.where(white, place, np.maximum.accumulate(np.where(white, place + 1, 0)))
    end = np.minimum.accumulate(np.where(white, place, n)[::-1])[::-1]
    # The last character of the margin is left for what reads one further.
    nearest = np.minimum.accumulate(np.where(white, n - 2, place)[::-1])[::-1]
    return begin, np.ascontiguousarray(end), np.append(nearest[1:], n - 2)


@jit
def _mixed(number):
    """A hash whose lower bits depend on all bits of a number."""
    number ^= number >> np.uint64(32)
    number *= _MIXER
    return number ^ (number >> np.uint64(29))


@jit
def _part(hashes, power, begin, end):
    return hashes[end] - hashes[begin] * power[end - begin]


@jit
def _place_of(weights, word):
    """Where a word stands in the table, or the empty place where it would."""
    last = np.uint64(len(weights.words) - 1)
    place = _mixed(word) & last
    while weights.words[place] != 0 and weights.words[place] != word:
        place = (place + np.uint64(1)) & last
    return place


def enter_words(
    weights: Weights, words: np.ndarray, often: np.ndarray, of_class: np.ndarray
) -> None:
    """Enter words that are not there yet, each once, into a table with room for them."""
    last = np.uint64(len(weights.words) - 1)
    place, left = _mixed.py_func(words.copy()) & last, np.arange(len(words))
    while len(left):
        at = place[left]
        free = weights.words[at] == 0
        # Of several for one place it is the last one's.
        weights.words[at[free]] = words[left[free]]
        left = left[weights.words[at] != words[left]]
        place[left] = (place[left] + np.uint64(1)) & last
    weights.often[place] = often
    if len(weights.of_class) > 0:
        weights.of_class[place] = of_class


@jit
def may_go_on(weights, padded, i):
    """Whether a token may go on behind a character: in its chunk, or behind one space as in
    training.
    """
    after = i + 1
    if after != padded.end[i]:
        return True
    if (
        padded.kind[after] == _LINE_END
        or padded.lower[after] == _TAB
        or padded.following[i] != after + 1
    ):
        return False
    return weights.joins[padded.kind[i], padded.kind[after + 1]]


def find_joins(padded: PaddedText, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return `joins` of `Weights` for a text, given the bounds of its tokens in composed text."""
    joins = np.zeros((KINDS, KINDS), dtype=np.bool_)
    last = (
        np.flatnonzero(padded.following != np.arange(1, len(padded.kind) + 1))
        if len(ends)
        else ends
    )
    token = np.searchsorted(starts, last, side="right") - 1
    last = last[(token >= 0) & (last < ends[token] - 1)]
    joins[padded.kind[last], padded.kind[padded.following[last]]] = True
    return joins


@jit
def _is_known(weights, padded, begin, end):
    word = _part(padded.lowered, padded.power, begin, end)
    return weights.words[_place_of(weights, word)] != 0


@jit
def _longest_from(weights, padded, begin):
    """The length of the longest known word that begins at a position; 0 if there is none."""
    longest = min(_LONGEST_WORD, padded.end[begin] - begin)
    for length in range(longest, 0, -1):
        if _is_known(weights, padded, begin, begin + length):
            return length
    return 0


@jit
def _longest_to(weights, padded, token, i):
    """The length of the longest known word in the token that ends with a character; 0 if there is
    none.
    """
    for begin in range(max(token, i + 1 - _LONGEST_WORD), i + 1):
        if _is_known(weights, padded, begin, i + 1):
            return i + 1 - begin
    return 0


@jit
def _longest_over(weights, padded, token, i):
    """The length of the longest known word that begins in the token and goes on behind a
    character.
    """
    found = 0
    for begin in range(max(token, i + 2 - _LONGEST_WORD), i + 1):
        longest = min(_LONGEST_WORD, padded.end[begin] - begin)
        for length in range(longest, max(i + 1 - begin, found), -1):
            if _is_known(weights, padded, begin, begin + length):
                found = length
                break
    return found


@jit
def _kinds(padded, first, end):
    """The kinds of the characters from one position to another, as one number."""
    found = np.uint64(0)
    for i in range(first, end):
        found = found * np.uint64(32) + np.uint64(padded.kind[i] + 1)
    return found


@jit
def _hash(places, weights, first):
    """Make features places in the table, different ones for each template, which are numbered from
    `first`.
    """
    mask = np.uint64(len(weights.weight) - 1)
    for template in range(len(places)):
        value = np.uint64(places[template]) + np.uint64(first + template) * _OF_TEMPLATE
        places[template] = np.int64(_mixed(value) & mask)


@jit
def _find_character_features(places, padded, i, stop):
    """Write the features of the characters around one into `places`, none of those from `stop`
    on.
    """
    lower, kind = padded.lower, padded.kind
    exact, lowered, power = padded.exact, padded.lowered, padded.power
    here = np.uint64(kind[i] * 32 + kind[i + 1])
    by_2, by_3, by_4, by_5 = min(i + 2, stop), min(i + 3, stop), min(i + 4, stop), min(i + 5, stop)
    places[0] = np.uint64(0)
    places[1] = _kinds(padded, i - 3, by_4)
    places[2] = _kinds(padded, i - 1, by_3)
    places[3] = here
    places[4] = _part(exact, power, i, i + 1)
    places[5] = _part(exact, power, i + 1, by_2)
    places[6] = _part(exact, power, i, by_2)
    places[7] = _part(exact, power, i - 1, i + 1)
    places[8] = _part(exact, power, i - 1, by_2)
    places[9] = _part(exact, power, i, by_3)
    places[10] = _part(lowered, power, i - 2, by_2)
    places[11] = _part(lowered, power, i - 1, by_3)
    places[12] = _part(lowered, power, i + 1, by_4)
    places[13] = _part(lowered, power, i - 2, i + 1)
    places[14] = _part(lowered, power, i - 3, i + 1)
    places[15] = _part(lowered, power, i + 1, by_5)
    places[16] = _part(lowered, power, i - 2, by_3)
    places[17] = np.uint64(lower[i - 1]) * np.uint64(131) + np.uint64(
        kind[i - 2] * 32 + kind[i + 1]
    )


@jit
def find_token_features(places, weights, padded, i, token, before):
    """Find the places of the features that tell whether a token ends with a character.

    places (int64[templates]): Overwritten.
    i (int): The character; it is no white space.
    token, before (int): Where its token begins, and the one before.
    """
    lower, kind = padded.lower, padded.kind
    exact, lowered, power = padded.exact, padded.lowered, padded.power
    begin, end = padded.begin[i], padded.end[i]
    stop = end if i + 1 < end else padded.end[padded.following[i]]
    own = np.uint64(kind[i])
    here, own_lower = np.uint64(kind[i] * 32 + kind[i + 1]), np.uint64(lower[i])
    so_far, rest = _part(lowered, power, token, i + 1), _part(lowered, power, i + 1, stop)
    previous = _part(lowered, power, before, token)
    place, rest_place = _place_of(weights, so_far), _place_of(weights, rest)
    known, rest_known = np.uint64(weights.often[place]), np.uint64(weights.often[rest_place])
    _find_character_features(places, padded, i, stop)
    # The token so far, and the rest up to white space.
    places[18] = _part(exact, power, token, i + 1)
    places[19] = so_far * np.uint64(31) + np.uint64(lower[i + 1])
    places[20] = so_far * np.uint64(3) + rest
    places[21] = rest
    places[22] = _part(lowered, power, begin, i + 1) * np.uint64(7) + rest
    places[23] = known * np.uint64(8) + rest_known + np.uint64(64) * here
    places[24] = known * np.uint64(1024) + _kinds(padded, i - 1, min(i + 3, stop))
    places[25] = np.uint64(min(i + 1 - token, 12)) * np.uint64(1024) + here
    places[26] = np.uint64(min(stop - i - 1, 8)) * np.uint64(1024) + here
    places[27] = np.uint64(token == begin) * np.uint64(1024) + here
    places[28] = _part(lowered, power, begin, stop)
    places[29] = previous * np.uint64(32) + own_lower
    places[30] = previous * np.uint64(19) + so_far
    # Known words around the character, which need no white space.
    starting = _longest_from(weights, padded, i + 1)
    word_ahead = _part(lowered, power, i + 1, min(i + 1 + max(starting, 1), padded.end[i + 1]))
    starting, ending = np.uint64(starting), np.uint64(_longest_to(weights, padded, token, i))
    crossing = np.uint64(_longest_over(weights, padded, token, i))
    places[31] = (starting * np.uint64(16) + ending) * np.uint64(16) + crossing
    places[32] = (starting * np.uint64(16) + crossing) * np.uint64(1024) + here
    places[33] = (ending * np.uint64(16) + known) * np.uint64(1024) + here
    places[34] = word_ahead
    places[35] = word_ahead * np.uint64(7) + so_far
    places[36] = so_far * np.uint64(41) + np.uint64(kind[i + 1])
    places[37] = own_lower * np.uint64(1009) + np.uint64(kind[i + 1] * 32 + kind[i - 1])
    # Classes of the token so far and of the rest.
    if len(places) > TOKEN_TEMPLATES:
        group, rest_group = (
            np.uint64(weights.of_class[place]),
            np.uint64(weights.of_class[rest_place]),
        )
        places[38] = group * np.uint64(1024) + here
        places[39] = group * np.uint64(4096) + rest_group
        places[40] = rest_group * np.uint64(64) + own
    _hash(places, weights, 1)


@jit
def find_sentence_features(places, weights, padded, i, token, before, length):
    """Find the places of the features that tell whether a sentence ends with a token.

    places (int64[templates]): Overwritten.
    i (int): The token's last character.
    token, before (int): Where the token begins, and the one before in its sentence, or else the
    token itself. length (int): How many tokens of its sentence stand before.
    """
    lower, kind = padded.lower, padded.kind
    exact, lowered, power = padded.exact, padded.lowered, padded.power
    begin, end = padded.begin[i], padded.end[i]
    ends = np.uint64(i + 1 == end)
    # The next chunk, or the rest of this one, and the chunk behind it.
    next_begin = padded.following[i] if i + 1 == end else i + 1
    next_end = max(padded.end[next_begin], next_begin)
    second = padded.following[max(next_end - 1, i)]
    own = np.uint64(kind[i])
    ahead = np.uint64(kind[next_begin])
    here, own_lower = np.uint64(kind[i] * 32 + kind[i + 1]), np.uint64(lower[i])
    so_far = _part(lowered, power, token, i + 1)
    upcoming = _part(lowered, power, next_begin, next_end)
    previous = _part(lowered, power, before, token)
    place, next_place = _place_of(weights, so_far), _place_of(weights, upcoming)
    known, next_known = np.uint64(weights.often[place]), np.uint64(weights.often[next_place])
    sentence = np.uint64(min(length, 20))
    _find_character_features(places, padded, i, i + MARGIN)
    # The token and its chunk.
    places[18] = _part(exact, power, token, i + 1)
    places[19] = so_far * np.uint64(31) + np.uint64(lower[i + 1])
    places[20] = so_far
    places[21] = _part(lowered, power, begin, i + 1) * np.uint64(7) + ends
    places[22] = known * np.uint64(8) + next_known + np.uint64(64) * here
    places[23] = known * np.uint64(1024) + _kinds(padded, i - 1, i + 3)
    places[24] = np.uint64(min(i + 1 - token, 12)) * np.uint64(1024) + here
    places[25] = np.uint64(min(end - i - 1, 8)) * np.uint64(1024) + here
    places[26] = np.uint64(token == begin) * np.uint64(1024) + here
    places[27] = _part(lowered, power, begin, end) * np.uint64(2) + ends
    # What comes next.
    places[28] = upcoming * np.uint64(5) + ends
    places[29] = upcoming * np.uint64(11) + own_lower + ends * np.uint64(77)
    places[30] = so_far * np.uint64(13) + upcoming
    places[31] = (ahead * np.uint64(32) + own) * np.uint64(2) + ends
    more = np.uint64(kind[next_begin + 1] + kind[i] * 1024 + kind[i - 1] * 32768)
    places[32] = (ahead * np.uint64(32) + more) * np.uint64(2) + ends
    places[33] = np.uint64(
        kind[second] * 1024 + kind[next_begin] * 32 + kind[i]
    ) + ends * np.uint64(9999)
    places[34] = np.uint64(lower[second]) * np.uint64(1019) + upcoming + ends
    places[35] = own_lower * np.uint64(1009) + ahead * np.uint64(32) + np.uint64(kind[i - 1])
    places[36] = own_lower * np.uint64(1013) + np.uint64(lower[next_begin])
    places[37] = so_far * np.uint64(41) + ahead + ends * np.uint64(100)
    # The sentence before.
    places[38] = previous * np.uint64(32) + own_lower
    places[39] = previous * np.uint64(19) + so_far
    places[40] = sentence * np.uint64(32) + own + ends * np.uint64(999)
    places[41] = np.uint64(min(length // 5, 8)) * np.uint64(1024) + own * np.uint64(32) + ahead
    places[42] = np.uint64(min(length, 3)) * np.uint64(32768) + ahead * np.uint64(32) + own
    places[43] = previous * np.uint64(23) + upcoming
    # Classes of the token and of the next one.
    if len(places) > SENTENCE_TEMPLATES:
        group, next_group = (
            np.uint64(weights.of_class[place]),
            np.uint64(weights.of_class[next_place]),
        )
        places[44] = group * np.uint64(1024) + here
        places[45] = group * np.uint64(4096) + next_group
        places[46] = next_group * np.uint64(64) + own
    _hash(places, weights, TOKEN_TEMPLATES + CLASS_TEMPLATES + 1)
