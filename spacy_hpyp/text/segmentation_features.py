"""Hashed features of the positions where tokens and sentences may end.

A text is read with composed accents and folded spelling variants (`folding`), between margins.
Polynomial hashes of its prefixes give the hash of any span in one step, modulo 2^64. A *chunk* is
what stands between white space.

Features of tokens stop at the end of the chunk, so that no token depends on later words. Only a
token that may go on behind a space, as "13 819", reads the next chunk too.
"""

import sys
import unicodedata
from typing import NamedTuple

import numpy as np

from ..compiled import jit, jitable, struct
from .folding import compose, plain

#: Characters before and after a text that features may read.
MARGIN = 6
#: Number of kinds of characters; those of white space come first.
KINDS = 19
_SPACE, _LINE_END, _UPPER, _LOWER, _LETTER, _MARK, _DIGIT, _OPENING, _CLOSING = range(9)
_FULL_STOP, _COMMA, _QUOTE, _DASH, _PUNCTUATION, _SYMBOL, _OTHER, _HAN, _HIRAGANA, _KATAKANA = (
    range(9, KINDS)
)
# Letters of scripts without spaces, by the beginning of their names in Unicode.
_SCRIPTS = {"CJK": _HAN, "HIRAGANA": _HIRAGANA, "KATAKANA": _KATAKANA}
_BY_CATEGORY = {
    **dict.fromkeys(("Lu", "Lt"), _UPPER),
    **dict.fromkeys(("Ps", "Pi"), _OPENING),
    **dict.fromkeys(("Pe", "Pf"), _CLOSING),
    **{"Ll": _LOWER, "L": _LETTER, "M": _MARK, "N": _DIGIT},
    **{"Pd": _DASH, "P": _PUNCTUATION, "S": _SYMBOL},
}
_BY_CHARACTER = {
    "\n": _LINE_END,
    **dict.fromkeys(".!?…।。！？؟", _FULL_STOP),
    # These dashes separate words like a comma; features do not fold them to a hyphen.
    **dict.fromkeys(",;:،、—―", _COMMA),
    **dict.fromkeys("'’\"", _QUOTE),
}
# Odd numbers, which are invertible modulo 2^64.
_BASE, _MIXER, _OF_TEMPLATE = 0x1E3779B97F4A7C15, 0x56E8FEB86659FD93, 0x20761D6478BD642F
# The kind, the folded form and the lower case of each character; 0 before the first look-up.
_KIND_OF, _PLAIN_OF, _LOWER_OF = np.zeros((3, sys.maxunicode + 1), dtype=np.int64)
_TAB = ord("\t")
# The longest word to look up around a character.
_LONGEST_WORD = 8
# Spans around a character that features read as written, and in lower case.
_EXACT_SPANS = np.array([(0, 1), (1, 2), (0, 2), (-1, 1), (-1, 2), (0, 3)])
_LOWER_SPANS = np.array([(-2, 2), (-1, 3), (1, 4), (-2, 1), (-3, 1), (1, 5), (-2, 3)])
_CHARACTER_TEMPLATES = 5 + len(_EXACT_SPANS) + len(_LOWER_SPANS)
#: Numbers of features of tokens, of sentences, and of classes, which follow either.
TOKEN_TEMPLATES, SENTENCE_TEMPLATES = _CHARACTER_TEMPLATES + 20, _CHARACTER_TEMPLATES + 32
CLASS_TEMPLATES = 3
# Features of sentences are hashed after those of tokens and their classes.
_FIRST_OF_SENTENCES = 1 + TOKEN_TEMPLATES + CLASS_TEMPLATES


@struct
class Weights(NamedTuple):
    """A trained model, and what it knows of words: an open hash table of them."""

    weight: np.ndarray  # float32[places, outcomes], of hashed features; `places` is a power of two
    words: np.ndarray  # int64[power of two]: hashes of known words in lower case; 0 where empty
    often: np.ndarray  # int8[*]: the frequency of each in steps
    of_class: np.ndarray  # uint8[*]: the class of each, 0 for none; empty without word classes
    joins: np.ndarray  # bool[kinds, kinds]: of characters around white space within tokens


@struct
class PaddedText(NamedTuple):
    """A composed text with margins, of n characters."""

    place: np.ndarray  # int64[n + 1]: position of each, and of the end, in the given text
    lower: np.ndarray  # int64[n]: each in lower case
    kind: np.ndarray  # int64[n]
    may_end: np.ndarray  # bool[n]: the end of a grapheme cluster, outside of white space
    exact: np.ndarray  # int64[n + 1]: hashes of all prefixes as written
    lowered: np.ndarray  # int64[n + 1]: hashes of all prefixes in lower case
    power: np.ndarray  # int64[n + 1]: powers of the base of these hashes
    begin: np.ndarray  # int64[n]: the beginning of the chunk around each; white space is empty
    end: np.ndarray  # int64[n]: its end
    following: np.ndarray  # int64[n]: the next that is no white space, n - 2 if there is none


def _kind_of(character: str) -> int:
    if character in _BY_CHARACTER:
        return _BY_CHARACTER[character]
    if character.isspace():
        return _SPACE
    category = unicodedata.category(character)
    if category in ("Lo", "Lm"):
        return _SCRIPTS.get(unicodedata.name(character, "").partition(" ")[0], _LETTER)
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
    exact, lowered, power = np.zeros((3, len(code) + 1), dtype=np.int64)
    begin, end, following = np.zeros((3, len(code)), dtype=np.int64)
    padded = PaddedText(
        place - MARGIN, lower, kind, may_end, exact, lowered, power, begin, end, following
    )
    _scan(padded, _PLAIN_OF[code])
    return padded


@jit
def _scan(padded, code):
    """Fill in the hashes of prefixes, `power`, the bounds of chunks, and `following`."""
    n = len(code)
    padded.power[0] = 1
    for i in range(n):
        padded.exact[i + 1] = padded.exact[i] * _BASE + code[i] + 1
        padded.lowered[i + 1] = padded.lowered[i] * _BASE + padded.lower[i] + 1
        padded.power[i + 1] = padded.power[i] * _BASE
        goes_on = i > 0 and padded.kind[i] > _LINE_END and padded.kind[i - 1] > _LINE_END
        padded.begin[i] = padded.begin[i - 1] if goes_on else i
    # The last character of the margin is for features that read one further.
    end, following = n, n - 2
    for i in range(n - 1, -1, -1):
        padded.following[i] = following
        if padded.kind[i] <= _LINE_END:
            end = i
        else:
            following = i
        padded.end[i] = end


@jitable
def _span(padded, begin, end):
    """Hash the characters of a span, as written."""
    return padded.exact[end] - padded.exact[begin] * padded.power[end - begin]


@jit
def word_hash(padded, begin, end):
    """Hash the characters of a span in lower case."""
    return padded.lowered[end] - padded.lowered[begin] * padded.power[end - begin]


@jitable
def _join(first, second):
    """Hash a pair of numbers or hashes."""
    return first * _BASE + second


@jitable
def _mixed(number):
    """A hash whose lower bits depend on all bits of a number."""
    number ^= number >> 32
    number *= _MIXER
    return number ^ (number >> 29)


@jitable
def _place_of(words, word):
    """The place of a word in the table, or the empty one where it would be."""
    last = len(words) - 1
    place = _mixed(word) & last
    while words[place] != 0 and words[place] != word:
        place = (place + 1) & last
    return place


@jit
def enter_words(weights, words, often, of_class):
    """Enter hashes of words, their frequencies and classes into a table with room for them."""
    for i in range(len(words)):
        place = _place_of(weights.words, words[i])
        weights.words[place] = words[i]
        weights.often[place] = often[i]
        if len(weights.of_class) > 0:
            weights.of_class[place] = of_class[i]


@jitable
def may_go_on(weights, padded, i):
    """Whether a token may go on past a character: in its chunk, or past a space as in training."""
    after = i + 1
    if after != padded.end[i]:
        return True
    if padded.kind[after] == _LINE_END or padded.lower[after] == _TAB:
        return False
    return (
        padded.following[i] == after + 1 and weights.joins[padded.kind[i], padded.kind[after + 1]]
    )


def find_joins(padded: PaddedText, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return `joins` of `Weights` for a text, given the bounds of its tokens in the padded text."""
    joins = np.zeros((KINDS, KINDS), dtype=np.bool_)
    last = np.flatnonzero(padded.following != np.arange(1, len(padded.kind) + 1))
    token = np.searchsorted(starts, last, side="right") - 1
    last = last[(token >= 0) & (last < ends[token] - 1)]
    joins[padded.kind[last], padded.kind[padded.following[last]]] = True
    return joins


@jitable
def _is_known(weights, padded, begin, end):
    return weights.words[_place_of(weights.words, word_hash(padded, begin, end))] != 0


@jitable
def _longest_from(weights, padded, begin, shortest):
    """Return the length of the longest known word that begins here, if over `shortest`, or 0."""
    for length in range(min(_LONGEST_WORD, padded.end[begin] - begin), shortest, -1):
        if _is_known(weights, padded, begin, begin + length):
            return length
    return 0


@jitable
def _longest_to(weights, padded, token, i):
    """The length of the longest known word in the token that ends with a character, or 0."""
    for begin in range(max(token, i + 1 - _LONGEST_WORD), i + 1):
        if _is_known(weights, padded, begin, i + 1):
            return i + 1 - begin
    return 0


@jitable
def _longest_over(weights, padded, token, i):
    """The length of the longest known word in the token that goes on behind a character, or 0."""
    found = 0
    for begin in range(max(token, i + 2 - _LONGEST_WORD), i + 1):
        found = max(found, _longest_from(weights, padded, begin, max(i + 1 - begin, found)))
    return found


@jitable
def _kinds(padded, first, end):
    """The kinds of the characters of a span, as one number."""
    found = 0
    for i in range(first, end):
        found = found * 32 + padded.kind[i] + 1
    return found


@jitable
def _write(places, first, features):
    for n in range(len(features)):
        places[first + n] = features[n]


@jitable
def _write_character_features(places, padded, i, stop):
    """Write features of the characters around one, none of those from `stop` on."""
    kind = padded.kind
    features = (
        0,
        _kinds(padded, i - 3, min(i + 4, stop)),
        _kinds(padded, i - 1, min(i + 3, stop)),
        kind[i] * 32 + kind[i + 1],
        _join(padded.lower[i - 1], kind[i - 2] * 32 + kind[i + 1]),
    )
    _write(places, 0, features)
    n = len(features)
    for begin, end in _EXACT_SPANS:
        places[n] = _span(padded, i + begin, min(i + end, stop))
        n += 1
    for begin, end in _LOWER_SPANS:
        places[n] = word_hash(padded, i + begin, min(i + end, stop))
        n += 1


@jitable
def _finish(places, weights, first, templates, words, here, own):
    """Write features of the classes of a word and the next, which have the places `words` in the
    table of words; map all features to places.

    first (int), templates (int): The number of the first template, and how many read no classes.
    """
    if len(places) > templates:
        group = np.int64(weights.of_class[words[0]])
        following = np.int64(weights.of_class[words[1]])
        classes = (_join(group, here), _join(group, following), _join(following, own))
        _write(places, templates, classes)
    for n in range(len(places)):
        places[n] = _mixed(places[n] + (first + n) * _OF_TEMPLATE) & (len(weights.weight) - 1)


@jitable
def find_token_features(places, weights, padded, i, token, before):
    """Find the features that tell whether a token or word ends with a character.

    places (int64[templates]): Overwritten by the rows of the features in the table of weights.
    i (int): The character; it is no white space.
    token, before (int): The beginnings of its word and of the word before; tokens may have several.
    """
    lower, kind = padded.lower, padded.kind
    begin, end = padded.begin[i], padded.end[i]
    stop = end if i + 1 < end else padded.end[padded.following[i]]
    here = kind[i] * 32 + kind[i + 1]
    so_far, rest = word_hash(padded, token, i + 1), word_hash(padded, i + 1, stop)
    previous = word_hash(padded, before, token)
    place, rest_place = _place_of(weights.words, so_far), _place_of(weights.words, rest)
    known, rest_known = np.int64(weights.often[place]), np.int64(weights.often[rest_place])
    # Known words around the character, which need no white space.
    starting = _longest_from(weights, padded, i + 1, 0)
    ending = _longest_to(weights, padded, token, i)
    crossing = _longest_over(weights, padded, token, i)
    ahead = word_hash(padded, i + 1, min(i + 1 + max(starting, 1), padded.end[i + 1]))
    features = (
        # The token so far, and the rest of the chunk.
        _span(padded, token, i + 1),
        _join(so_far, lower[i + 1]),
        _join(so_far, kind[i + 1]),
        _join(so_far, rest),
        rest,
        _join(word_hash(padded, begin, i + 1), rest),
        word_hash(padded, begin, stop),
        _join(here, known * 8 + rest_known),
        _join(known, _kinds(padded, i - 1, min(i + 3, stop))),
        _join(here, min(i + 1 - token, 12)),
        _join(here, min(stop - i - 1, 8)),
        _join(here, np.int64(token == begin)),
        _join(lower[i], kind[i + 1] * 32 + kind[i - 1]),
        _join(previous, lower[i]),
        _join(previous, so_far),
        (starting * 16 + ending) * 16 + crossing,
        _join(here, starting * 16 + crossing),
        _join(here, ending * 16 + known),
        ahead,
        _join(ahead, so_far),
    )
    _write_character_features(places, padded, i, stop)
    _write(places, _CHARACTER_TEMPLATES, features)
    _finish(places, weights, 1, TOKEN_TEMPLATES, (place, rest_place), here, kind[i])


@jitable
def find_sentence_features(places, weights, padded, i, token, before, length):
    """Find the features that tell whether a sentence ends with a token.

    places (int64[templates]): Overwritten as in `find_token_features`.
    i (int): The token's last character.
    token, before (int): The beginnings of its last word and of the word before in its sentence, if
        any; else both are the same.
    length (int): The number of words before the last one in its sentence.
    """
    lower, kind = padded.lower, padded.kind
    begin, end = padded.begin[i], padded.end[i]
    ends = np.int64(i + 1 == end)
    # The next chunk, or the rest of this one, and the chunk behind it.
    next_begin = padded.following[i] if i + 1 == end else i + 1
    next_end = max(padded.end[next_begin], next_begin)
    second = padded.following[max(next_end - 1, i)]
    own, ahead = kind[i], kind[next_begin]
    here, around = own * 32 + kind[i + 1], (ahead * 32 + own) * 2 + ends
    so_far = word_hash(padded, token, i + 1)
    previous = word_hash(padded, before, token)
    upcoming = word_hash(padded, next_begin, next_end)
    later = word_hash(padded, second, max(padded.end[second], second))
    # In scripts without spaces, the next known word.
    longest = _longest_from(weights, padded, next_begin, 0)
    word = word_hash(padded, next_begin, next_begin + max(longest, np.int64(next_begin < next_end)))
    place, next_place = _place_of(weights.words, so_far), _place_of(weights.words, upcoming)
    known, next_known = np.int64(weights.often[place]), np.int64(weights.often[next_place])
    features = (
        # The token and its chunk.
        _span(padded, token, i + 1),
        so_far,
        _join(so_far, lower[i + 1]),
        _join(so_far, around),
        _join(word_hash(padded, begin, i + 1), ends),
        _join(word_hash(padded, begin, end), ends),
        _join(here, known * 8 + next_known),
        _join(known, _kinds(padded, i - 1, i + 3)),
        _join(here, min(i + 1 - token, 12)),
        _join(here, min(end - i - 1, 8)),
        _join(here, np.int64(token == begin)),
        # The following characters.
        _join(upcoming, ends),
        _join(upcoming, lower[i] * 2 + ends),
        _join(upcoming, lower[second] * 2 + ends),
        _join(so_far, upcoming),
        word,
        _join(word, so_far),
        later,
        _join(upcoming, later),
        _join(_join(so_far, upcoming), later),
        around,
        _join(around, (kind[next_begin + 1] * 32 + kind[i - 1]) * 32),
        _join(around, kind[second]),
        _join(lower[i], kind[i - 1] * 32 + ahead),
        _join(lower[i], lower[next_begin]),
        # The sentence so far.
        _join(previous, lower[i]),
        _join(previous, so_far),
        _join(previous, upcoming),
        _join(_join(previous, so_far), upcoming),
        _join(around, min(length, 20)),
        _join(around, 1000 + min(length // 5, 8)),
        _join(here, min(length, 3)),
    )
    _write_character_features(places, padded, i, i + MARGIN)
    _write(places, _CHARACTER_TEMPLATES, features)
    words = place, next_place
    _finish(places, weights, _FIRST_OF_SENTENCES, SENTENCE_TEMPLATES, words, here, own)
