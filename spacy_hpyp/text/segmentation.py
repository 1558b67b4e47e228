"""Where tokens and sentences end in a text, by a log-linear model that is asked at each character.

After a character a token goes on, or ends, or ends together with its sentence. Which of the three is decided from left to right, given
the characters around, their kinds, the token so far, the rest of what stands between white space, the tokens before and after, and whether
training had them; where there are classes of words, whether raw text had them, and of which class they are. Between two letters a token only ends where it did between the same two in training.

The weights of hashed features are learned by AdaGrad (Duchi et al. 2011) with a part of the features left out at random, so that words
that training has are not all that is relied on.
"""

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import borrowing, compiled

#: What can be decided at a character.
GOES_ON, ENDS, ENDS_SENTENCE = range(3)
#: In the place of a decision that is not known: the token ends, and perhaps its sentence.
_ENDS_PERHAPS_SENTENCE = 3
_OUTCOMES = 3

# Places of hashed features, and how often all texts are gone over.
_PLACES = 1 << 18
_EPOCHS = 10
_RATE = 0.05
_DROPOUT = 0.1
# Squared gradients begin with this.
_FIRST_SQUARE = 1e-6
# A weight is not changed where it is nearly right.
_NEGLIGIBLE = 1e-3

# Characters before and after a text that features may read.
_MARGIN = 6
#: Kinds of characters, in this order; letters stand together.
(
    _SPACE,
    _LINE_END,
    _UPPER,
    _LOWER,
    _LETTER,
    _MARK,
    _DIGIT,
    _OPENING,
    _CLOSING,
    _FULL_STOP,
    _COMMA,
    _QUOTE,
    _DASH,
    _PUNCTUATION,
    _SYMBOL,
    _OTHER,
) = range(16)
_BY_CATEGORY = {
    **{"Lu": _UPPER, "Lt": _UPPER, "Ll": _LOWER, "L": _LETTER, "M": _MARK, "N": _DIGIT},
    **{"Ps": _OPENING, "Pi": _OPENING, "Pe": _CLOSING, "Pf": _CLOSING, "Pd": _DASH, "P": _PUNCTUATION, "S": _SYMBOL},
}
_BY_CHARACTER = {
    "\n": _LINE_END,
    **dict.fromkeys(".!?…।。！？؟", _FULL_STOP),
    **dict.fromkeys(",;:،、", _COMMA),
    **dict.fromkeys("'’\"", _QUOTE),
}
# Arithmetic of hashes is modulo 2^64.
_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIXER = np.uint64(0xD6E8FEB86659FD93)
_OF_TEMPLATE = np.uint64(0xA0761D6478BD642F)
_TEMPLATES = 44
# Those that read classes come behind them. Of a class so many steps of its path are told apart: finer ones found no more.
_TEMPLATES_OF_CLASSES = 3
_STEPS_OF_PATH = 5
# How often words have been seen, in steps: words seen once are as good as unknown, unless raw text has them.
_OFTEN = (2, 5, 50)
_PAIRS = 1 << 16


class AnnotatedText(NamedTuple):
    """A text whose tokens are known.

    text (str): The text.
    starts, ends (int64[tokens]): Where the tokens begin and end, in characters.
    last (bool[tokens] | None): Whether each is the last one of its sentence, if that is known.
    """

    text: str
    starts: np.ndarray
    ends: np.ndarray
    last: np.ndarray | None


class Segments(NamedTuple):
    """The tokens of a text.

    starts, ends (int64[tokens]): Where they begin and end, in characters.
    last (bool[tokens]): Whether each ends a sentence.
    probability (float32[tokens]): How probable it is that a sentence ends with it.
    """

    starts: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    probability: np.ndarray


class Weights(NamedTuple):
    """What has been learned.

    weight (float32[places, outcomes]): Of hashed features; the places are a power of two.
    words (uint64[*]), often (int8[*]): Hashes of words in lower case and how often they were seen, in steps: an open table whose size is
        a power of two, 0 where it is empty.
    of_class (uint8[*]): The number of each word's class, 0 where it has none; without entries if there are no classes.
    pairs (bool[*]): Whether a token has ended between two letters, by their hash.
    """

    weight: np.ndarray
    words: np.ndarray
    often: np.ndarray
    of_class: np.ndarray
    pairs: np.ndarray


class _Characters(NamedTuple):
    """A text with margins.

    lower, kind (int64[n]): Each character in lower case, and its kind.
    exact, lowered (uint64[n + 1]): Hashes of what stands before each position, as written and in lower case.
    power (uint64[n + 1]): By which the hash of a part is found.
    begin, end (int64[n]): The bounds of what stands between white space, around each character; an empty part for white space.
    following (int64[n]): The next character after each that is no white space.
    """

    lower: np.ndarray
    kind: np.ndarray
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
    return _BY_CATEGORY.get(category, _BY_CATEGORY.get(category[0], _OTHER))


def _characters(text: str) -> _Characters:
    margin = "\n" * _MARGIN
    code = np.frombuffer((margin + text + margin).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    distinct, place = np.unique(code, return_inverse=True)
    different = list(map(chr, distinct.tolist()))
    kind = np.array(list(map(_kind_of, different)), dtype=np.int64)[place]
    lower = np.array([ord(character.lower()[0]) for character in different], dtype=np.int64)[place]
    return _Characters(lower, kind, *_hashes(code.astype(np.int64), lower), *_bounds(kind))


@compiled
def _hashes(code, lower):
    """`exact`, `lowered` and `power` of `_Characters`."""
    n = len(code)
    exact, lowered, power = np.zeros(n + 1, np.uint64), np.zeros(n + 1, np.uint64), np.ones(n + 1, np.uint64)
    for i in range(n):
        exact[i + 1] = exact[i] * _BASE + np.uint64(code[i] + 1)
        lowered[i + 1] = lowered[i] * _BASE + np.uint64(lower[i] + 1)
        power[i + 1] = power[i] * _BASE
    return exact, lowered, power


@compiled
def _bounds(kind):
    """`begin`, `end` and `following` of `_Characters`."""
    n = len(kind)
    begin, end, following = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    first = 0
    for i in range(n):
        begin[i] = i if kind[i] <= _LINE_END else first
        first = i + 1 if kind[i] <= _LINE_END else first
    # The last character of the margin is left for what reads one further.
    last, nearest = n, n - 2
    for i in range(n - 1, -1, -1):
        following[i] = nearest
        last = i if kind[i] <= _LINE_END else last
        end[i] = last
        nearest = nearest if kind[i] <= _LINE_END else i
    return begin, end, following


@borrowing
def _mixed(number):
    """A hash whose lower bits depend on all bits of a number."""
    number ^= number >> np.uint64(32)
    number *= _MIXER
    return number ^ (number >> np.uint64(29))


@borrowing
def _part(hashes, power, begin, end):
    """The hash of the characters from one position to another."""
    return hashes[end] - hashes[begin] * power[end - begin]


@borrowing
def _place_of(weights, word):
    """Where a word stands in the table, or the empty place where it would."""
    last = np.uint64(len(weights.words) - 1)
    place = _mixed(word) & last
    while weights.words[place] != 0 and weights.words[place] != word:
        place = (place + np.uint64(1)) & last
    return place


@compiled
def _enter(weights, words, often, of_class):
    """Enter words that are not there yet into a table with room for them."""
    for i in range(len(words)):
        place = _place_of(weights, words[i])
        weights.words[place], weights.often[place] = words[i], often[i]
        if len(weights.of_class) > 0:
            weights.of_class[place] = of_class[i]


@borrowing
def _pair(characters, i):
    """The place of a character and the next one in `Weights.pairs`."""
    both = np.uint64(characters.lower[i]) * np.uint64(1_000_003) + np.uint64(characters.lower[i + 1])
    return _mixed(both) & np.uint64(_PAIRS - 1)


@compiled
def _mark_pairs(characters, ends, pairs):
    """Enter between which letters tokens have ended, into `pairs`."""
    for i in ends:
        if _is_letter(characters.kind[i]) and _is_letter(characters.kind[i + 1]):
            pairs[_pair(characters, i)] = True


@borrowing
def _is_letter(kind):
    return _UPPER <= kind <= _MARK


@borrowing
def _kinds(characters, first, last):
    """The kinds of the characters from one position to another, as one number."""
    found = np.uint64(0)
    for i in range(first, last + 1):
        found = found * np.uint64(17) + np.uint64(characters.kind[i] + 1)
    return found


@borrowing
def _put(places, template, value, mask):
    places[template] = np.int64(_mixed(value + np.uint64(template + 1) * _OF_TEMPLATE) & mask)


@borrowing
def _find_features(places, weights, characters, i, token, before, length):
    """The places of the features at a character.

    places (int64[templates]): Overwritten.
    i (int): The character; it is no white space.
    token (int): Where its token begins.
    before (int): Where the token before begins, or where this one does if it is the first of its sentence.
    length (int): How many tokens of its sentence stand before.
    """
    lower, kind = characters.lower, characters.kind
    exact, lowered, power = characters.exact, characters.lowered, characters.power
    mask = np.uint64(len(weights.weight) - 1)
    begin, end = characters.begin[i], characters.end[i]
    ends = np.uint64(i + 1 == end)
    # What would be next if the token ended: the rest up to white space, or else what follows it.
    next_begin = characters.following[i] if i + 1 == end else i + 1
    next_end = max(characters.end[next_begin], next_begin)
    second = characters.following[max(next_end - 1, i)]
    own = np.uint64(kind[i])
    ahead = np.uint64(kind[next_begin])
    here, own_lower = np.uint64(kind[i] * 17 + kind[i + 1]), np.uint64(lower[i])
    so_far, rest = _part(lowered, power, token, i + 1), _part(lowered, power, i + 1, max(end, i + 1))
    upcoming = _part(lowered, power, next_begin, next_end)
    previous = _part(lowered, power, before, token)
    place, rest_place = _place_of(weights, so_far), _place_of(weights, rest)
    known, rest_known = np.uint64(weights.often[place]), np.uint64(weights.often[rest_place])
    sentence = np.uint64(min(length, 20))
    _put(places, 0, np.uint64(0), mask)
    # The characters around: kinds, as they are, and in lower case.
    _put(places, 1, _kinds(characters, i - 3, i + 3), mask)
    _put(places, 2, _kinds(characters, i - 1, i + 2), mask)
    _put(places, 3, here, mask)
    _put(places, 4, _part(exact, power, i, i + 1), mask)
    _put(places, 5, _part(exact, power, i + 1, i + 2), mask)
    _put(places, 6, _part(exact, power, i, i + 2), mask)
    _put(places, 7, _part(exact, power, i - 1, i + 1), mask)
    _put(places, 8, _part(exact, power, i - 1, i + 2), mask)
    _put(places, 9, _part(exact, power, i, i + 3), mask)
    _put(places, 10, _part(lowered, power, i - 2, i + 2), mask)
    _put(places, 11, _part(lowered, power, i - 1, i + 3), mask)
    _put(places, 12, _part(lowered, power, i + 1, i + 4), mask)
    _put(places, 13, _part(lowered, power, i - 2, i + 1), mask)
    _put(places, 14, _part(lowered, power, i - 3, i + 1), mask)
    _put(places, 15, _part(lowered, power, i + 1, i + 5), mask)
    _put(places, 16, _part(lowered, power, i - 2, i + 3), mask)
    _put(places, 17, np.uint64(lower[i - 1]) * np.uint64(131) + np.uint64(kind[i - 2] * 17 + kind[i + 1]), mask)
    # The token so far, and the rest up to white space.
    _put(places, 18, _part(exact, power, token, i + 1), mask)
    _put(places, 19, so_far * np.uint64(31) + np.uint64(lower[i + 1]), mask)
    _put(places, 20, so_far * np.uint64(3) + rest, mask)
    _put(places, 21, rest, mask)
    _put(places, 22, _part(lowered, power, begin, i + 1) * np.uint64(7) + rest, mask)
    _put(places, 23, known * np.uint64(8) + rest_known + np.uint64(64) * here, mask)
    _put(places, 24, known * np.uint64(17 * 17) + _kinds(characters, i - 1, i + 2), mask)
    _put(places, 25, np.uint64(min(i + 1 - token, 12)) * np.uint64(17 * 17) + here, mask)
    _put(places, 26, np.uint64(min(end - i - 1, 8)) * np.uint64(17 * 17) + here, mask)
    _put(places, 27, np.uint64(token == begin) * np.uint64(17 * 17) + here, mask)
    _put(places, 28, _part(lowered, power, begin, end) * np.uint64(2) + ends, mask)
    # What comes next.
    _put(places, 29, upcoming * np.uint64(5) + ends, mask)
    _put(places, 30, upcoming * np.uint64(11) + own_lower + ends * np.uint64(77), mask)
    _put(places, 31, (so_far * np.uint64(13) + upcoming) * ends, mask)
    _put(places, 32, (ahead * np.uint64(17) + own) * np.uint64(2) + ends, mask)
    more = np.uint64(kind[next_begin + 1] + kind[i] * 289 + kind[i - 1] * 4913)
    _put(places, 33, (ahead * np.uint64(17) + more) * np.uint64(2) + ends, mask)
    _put(places, 34, np.uint64(kind[second] * 289 + kind[next_begin] * 17 + kind[i]) + ends * np.uint64(9999), mask)
    _put(places, 35, np.uint64(lower[second]) * np.uint64(1019) + upcoming + ends, mask)
    _put(places, 36, own_lower * np.uint64(1009) + ahead * np.uint64(17) + np.uint64(kind[i - 1]), mask)
    _put(places, 37, own_lower * np.uint64(1013) + np.uint64(lower[next_begin]), mask)
    _put(places, 38, so_far * np.uint64(41) + ahead + ends * np.uint64(100), mask)
    # The sentence before.
    _put(places, 39, previous * np.uint64(17) + own_lower, mask)
    _put(places, 40, previous * np.uint64(19) + so_far, mask)
    _put(places, 41, sentence * np.uint64(17) + own + ends * np.uint64(999), mask)
    _put(places, 42, np.uint64(min(length // 5, 8)) * np.uint64(289) + own * np.uint64(17) + ahead, mask)
    _put(places, 43, np.uint64(min(length, 3)) * np.uint64(4913) + ahead * np.uint64(17) + own, mask)
    # Classes of the token so far and of the rest.
    if len(places) > _TEMPLATES:
        group, rest_group = np.uint64(weights.of_class[place]), np.uint64(weights.of_class[rest_place])
        _put(places, 44, group * np.uint64(289) + here, mask)
        _put(places, 45, group * np.uint64(4096) + rest_group, mask)
        _put(places, 46, rest_group * np.uint64(64) + own, mask)


@borrowing
def _probabilities(weight, places, kept, share):
    """The probabilities of the outcomes, into `share`, where each feature counts as much as `kept` says."""
    highest = -np.inf
    for outcome in range(_OUTCOMES):
        score = 0.0
        for template in range(len(places)):
            score += weight[places[template], outcome] * kept[template]
        share[outcome] = score
        highest = max(highest, score)
    total = 0.0
    for outcome in range(_OUTCOMES):
        share[outcome] = np.exp(share[outcome] - highest)
        total += share[outcome]
    for outcome in range(_OUTCOMES):
        share[outcome] /= total


@borrowing
def _descend(weight, square, places, kept, share, right, rate):
    """A step of AdaGrad from what is predicted, `share`, towards what is right; `square` has the sums of squared gradients."""
    ended = share[ENDS] + share[ENDS_SENTENCE]
    for outcome in range(_OUTCOMES):
        target = 1.0 if outcome == right else 0.0
        if right == _ENDS_PERHAPS_SENTENCE and outcome != GOES_ON and ended > 0.0:
            target = share[outcome] / ended
        gradient = target - share[outcome]
        if abs(gradient) < _NEGLIGIBLE:
            continue
        for template in range(len(places)):
            if kept[template] > 0.0:
                place = places[template]
                square[place, outcome] += gradient * gradient
                weight[place, outcome] += rate * gradient / np.sqrt(square[place, outcome] + _FIRST_SQUARE)


@compiled
def _pass(weights, characters, decisions, probability, square, rate, dropout, rng):
    """Decide at each character of a text; or go the right way, and learn.

    decisions (int8[n]): What is decided at each character with margins, written here; where it is learned, what is right.
    probability (float32[n]): How probable it is that a sentence ends after each, written here.
    square (float32[places, outcomes]): See `_descend`; without places nothing is learned.
    """
    templates = _TEMPLATES + (_TEMPLATES_OF_CLASSES if len(weights.of_class) > 0 else 0)
    places, share, kept = np.empty(templates, np.int64), np.empty(_OUTCOMES), np.ones(templates)
    learning = len(square) > 0
    limit = len(characters.kind) - _MARGIN
    i = characters.following[_MARGIN - 1]
    token = before = i
    length = 0
    while i < limit:
        kind = characters.kind
        decision = np.int8(GOES_ON)
        right = decisions[i]
        asked = kind[i] > _LINE_END
        if asked and _is_letter(kind[i]) and _is_letter(kind[i + 1]):
            asked = weights.pairs[_pair(characters, i)]
        if asked:
            _find_features(places, weights, characters, i, token, before, length)
            if learning and dropout > 0.0:
                for template in range(len(places)):
                    kept[template] = 0.0 if rng.random() < dropout else 1.0 / (1.0 - dropout)
            _probabilities(weights.weight, places, kept, share)
            if learning:
                _descend(weights.weight, square, places, kept, share, right, rate)
            for outcome in range(1, _OUTCOMES):
                if share[outcome] > share[decision]:
                    decision = np.int8(outcome)
            probability[i] = share[ENDS_SENTENCE]
        if characters.following[i] >= limit and i + 1 == characters.end[i]:
            decision, probability[i] = np.int8(ENDS_SENTENCE), np.float32(1.0)
        if learning:
            decision = right
        else:
            decisions[i] = decision
        if decision == GOES_ON:
            i += 1
            continue
        length = 0 if decision == ENDS_SENTENCE else length + 1
        following = characters.following[i]
        before = following if decision == ENDS_SENTENCE else token
        i = token = following


class Segmenter:
    """Finds the tokens and sentences of texts.

    weights (Weights): What it has learned.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    @classmethod
    def learn(
        cls, texts: Sequence[AnnotatedText], classes: Mapping[str, str] | None = None, *, seed: int = 0
    ) -> "Segmenter":
        """Learn from annotated texts.

        texts (Sequence[AnnotatedText]): The texts. The end of each is that of a sentence.
        classes (Mapping[str, str] | None): Words of raw text in lower case, each with the path to its class, of "0" and "1".
        seed (int): Fixes what is learned.
        RAISES (ValueError): If there are no tokens.
        """
        read = [(_characters(each.text), _right_decisions(each)) for each in texts if len(each.ends)]
        if not read:
            raise ValueError("There are no tokens to learn from.")
        seen: Counter[int] = Counter()
        pairs = np.zeros(_PAIRS, dtype=bool)
        for each, (characters, _) in zip((text for text in texts if len(text.ends)), read):
            seen.update(_words(characters, each))
            _mark_pairs(characters, each.ends - 1 + _MARGIN, pairs)
        seen = Counter({word: count for word, count in seen.items() if count >= _OFTEN[0]})
        numbers = None if classes is None else _class_numbers(classes)
        words = np.array(sorted({*seen, *(numbers or {})}), dtype=np.uint64)
        often = np.searchsorted(_OFTEN, [seen[word] for word in words.tolist()], side="right") + (numbers is not None)
        of_class = [] if numbers is None else [numbers.get(word, 0) for word in words.tolist()]
        weights = _new_weights(words, often.astype(np.int8), np.array(of_class, dtype=np.uint8), pairs)
        square = np.zeros_like(weights.weight)
        rng = np.random.default_rng(seed)
        for _ in range(_EPOCHS):
            for i in rng.permutation(len(read)).tolist():
                characters, right = read[i]
                probability = np.zeros(len(right), np.float32)
                _pass(weights, characters, right, probability, square, _RATE, _DROPOUT, rng)
        # As they are stored.
        return cls(weights._replace(weight=weights.weight.astype(np.float16).astype(np.float32)))

    def segment(self, text: str) -> Segments:
        """The tokens and sentences of a text, in time that grows with its length.

        text (str): Any text.
        """
        characters = _characters(text)
        decisions = np.zeros(len(characters.kind), np.int8)
        probability = np.zeros(len(decisions), np.float32)
        nothing, rng = np.empty((0, _OUTCOMES), np.float32), np.random.default_rng(0)
        _pass(self.weights, characters, decisions, probability, nothing, 0.0, 0.0, rng)
        last = np.flatnonzero(decisions != GOES_ON)
        starts = characters.following[np.append(_MARGIN - 1, last[:-1])] if len(last) else last
        return Segments(
            starts - _MARGIN, last + 1 - _MARGIN, decisions[last] == ENDS_SENTENCE, probability[last].copy()
        )

    def to_dict(self) -> dict[str, Any]:
        """What has been learned, as NumPy's arrays by name: weights are rounded to 16 bits, and places without any left out."""
        words = np.flatnonzero(self.weights.words)
        return {
            **pack_weights(self.weights.weight),
            "words": self.weights.words[words],
            "often": self.weights.often[words],
            "of_class": self.weights.of_class[words] if len(self.weights.of_class) else self.weights.of_class,
            "pairs": np.flatnonzero(self.weights.pairs).astype(np.uint32),
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Segmenter":
        """Make a segmenter of what `to_dict` has stored.

        RAISES (ValueError | TypeError | LookupError): If it is something else.
        """
        pairs, often, known = (np.asarray(stored[name]) for name in ("pairs", "often", "words"))
        # Files of earlier versions have no classes.
        of_class = np.asarray(stored.get("of_class", np.empty(0, np.uint8)))
        if pairs.dtype != np.uint32 or max([0, *pairs]) >= _PAIRS:
            raise ValueError("the pairs of letters are none")
        if known.dtype != np.uint64 or often.dtype != np.int8 or known.shape != often.shape or known.ndim != 1:
            raise ValueError("the words are none")
        if of_class.dtype != np.uint8 or of_class.shape not in {(0,), known.shape}:
            raise ValueError("the classes of words are none")
        between = np.zeros(_PAIRS, dtype=bool)
        between[pairs] = True
        weights = _new_weights(known, often, of_class, between)
        unpack_weights(stored, weights.weight)
        return cls(weights)


def pack_weights(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of hashed features as they are stored: rounded to 16 bits, and places without any left out."""
    rounded = weights.astype(np.float16)
    place = np.flatnonzero(rounded.reshape(len(rounded), -1).any(axis=1))
    return {"places": place.astype(np.uint32), "weights": rounded[place]}


def unpack_weights(stored: dict[str, Any], weights: np.ndarray) -> None:
    """Write what `pack_weights` has stored into weights of 0.

    RAISES (ValueError | TypeError | LookupError): If it is something else.
    """
    place, found = np.asarray(stored["places"]), np.asarray(stored["weights"])
    fits = found.shape == (len(place), *weights.shape[1:]) and max([0, *place]) < len(weights)
    if place.dtype != np.uint32 or found.dtype != np.float16 or not fits or not np.isfinite(found).all():
        raise ValueError("the weights are none")
    weights[place] = found


def _right_decisions(each: AnnotatedText) -> np.ndarray:
    """What is to be decided at each character of a text with margins (int8[n])."""
    right = np.zeros(len(each.text) + 2 * _MARGIN, dtype=np.int8)
    ends = _ENDS_PERHAPS_SENTENCE if each.last is None else np.where(each.last, ENDS_SENTENCE, ENDS)
    right[each.ends - 1 + _MARGIN] = ends
    return right


def _words(characters: _Characters, each: AnnotatedText) -> list[int]:
    """The hashes of the tokens of a text, in lower case."""
    starts, ends = each.starts + _MARGIN, each.ends + _MARGIN
    with np.errstate(over="ignore"):
        words = characters.lowered[ends] - characters.lowered[starts] * characters.power[ends - starts]
    return words.tolist()


def _class_numbers(classes: Mapping[str, str]) -> dict[int, int]:
    """The number of a coarse class of each word, from 1 on, by the word's hash."""
    ends = np.cumsum([len(word) for word in classes], dtype=np.int64)
    all_words = AnnotatedText("".join(classes), ends - [len(word) for word in classes], ends, None)
    hashes = _words(_characters(all_words.text), all_words)
    return {word: int("1" + path[:_STEPS_OF_PATH], 2) for word, path in zip(hashes, classes.values())}


def _new_weights(known: np.ndarray, often: np.ndarray, of_class: np.ndarray, pairs: np.ndarray) -> Weights:
    """Weights of 0, with a table of words, half of whose places at least are empty."""
    size = 2
    while size < 2 * len(known) + 2:
        size *= 2
    groups = np.zeros(size if len(of_class) else 0, dtype=np.uint8)
    weights = Weights(
        np.zeros((_PLACES, _OUTCOMES), np.float32), np.zeros(size, np.uint64), np.zeros(size, np.int8), groups, pairs
    )
    _enter(weights, known, often, of_class)
    return weights
