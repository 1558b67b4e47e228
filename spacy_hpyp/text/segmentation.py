"""Where tokens and sentences end in a text, by a log-linear model that is asked at each character.

After a character a token goes on, or ends, or ends together with its sentence, or one of its words ends.
Which of these is decided from left to right, given the characters around, their kinds, the token so far, the
rest of what stands between white space, the tokens before and after, and whether training had them; where
there are classes of words, whether raw text had them, and of which class they are. Known words that begin,
end or go on at a character are found where there is no white space, too.


The weights of hashed features are learned by AdaGrad (Duchi et al. 2011) with a part of the features left out
at random, so that words that training has are not all that is relied on.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import jit
from .segmentation_features import (
    MARGIN,
    TEMPLATES,
    TEMPLATES_OF_CLASSES,
    PaddedText,
    Weights,
    enter_words,
    find_features,
    may_end,
    must_end,
    pad,
)

#: What can be decided at a character.
GOES_ON, ENDS, ENDS_SENTENCE, ENDS_WORD = range(4)
#: In the place of a decision that is not known: the token ends, and perhaps its sentence.
_ENDS_PERHAPS_SENTENCE = 4
_OUTCOMES = 4

# Places of hashed features, and how often all texts are gone over.
_PLACES = 1 << 18
_EPOCHS = 10
_RATE = 0.05
_DROPOUT = 0.1
# Squared gradients begin with this.
_FIRST_SQUARE = 1e-6
# A weight is not changed where it is nearly right.
_NEGLIGIBLE = 1e-3

# Of a class so many steps of its path are told apart: finer ones found no more.
_STEPS_OF_PATH = 5
# How often words have been seen, in steps: words seen once are as good as unknown, unless raw text has them.
_OFTEN = (2, 5, 50)


class AnnotatedText(NamedTuple):
    """A text whose tokens are known.

    text (str): The text.
    starts, ends (int64[tokens]): Where the tokens begin and end, in characters.
    last (bool[tokens] | None): Whether each is the last one of its sentence, if that is known.
    cuts (int64[*]): Where words inside tokens end, but for the last of each token.
    """

    text: str
    starts: np.ndarray
    ends: np.ndarray
    last: np.ndarray | None
    cuts: np.ndarray


class Segments(NamedTuple):
    """The tokens of a text.

    starts, ends (int64[tokens]): Where they begin and end, in characters.
    last (bool[tokens]): Whether each ends a sentence.
    probability (float32[tokens]): How probable it is that a sentence ends with it.
    cuts (int64[*]): As of `AnnotatedText`.
    """

    starts: np.ndarray
    ends: np.ndarray
    last: np.ndarray
    probability: np.ndarray
    cuts: np.ndarray


@jit
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


@jit
def _descend(weight, square, places, kept, share, right):
    """A step of AdaGrad from what is predicted, `share`, towards what is right; `square` has the sums of
    squared gradients.
    """
    ended = share[ENDS] + share[ENDS_SENTENCE]
    for outcome in range(_OUTCOMES):
        target = 1.0 if outcome == right else 0.0
        if right == _ENDS_PERHAPS_SENTENCE and ENDS <= outcome <= ENDS_SENTENCE and ended > 0.0:
            target = share[outcome] / ended
        gradient = target - share[outcome]
        if abs(gradient) < _NEGLIGIBLE:
            continue
        for template in range(len(places)):
            if kept[template] > 0.0:
                place = places[template]
                square[place, outcome] += gradient * gradient
                weight[place, outcome] += _RATE * gradient / np.sqrt(square[place, outcome] + _FIRST_SQUARE)


def _room(weights: Weights) -> tuple[np.ndarray, ...]:
    """What `_pass` writes on: `places` (int64[templates]), `share` (float64[outcomes]) and `kept`
    (float64[templates]).
    """
    templates = TEMPLATES + (TEMPLATES_OF_CLASSES if len(weights.of_class) else 0)
    return np.empty(templates, np.int64), np.empty(_OUTCOMES), np.ones(templates)


@jit
def _pass(weights, padded, decisions, probability, places, share, kept, square, rng):
    """Decide at each character of a text; or go the right way, and learn.

    decisions (int8[n]): What is decided at each character with margins, written here; where it is learned,
        what is right.
    probability (float32[n]): How probable it is that a sentence ends after each, written here.
    places, share, kept: See `_room`.
    square (float32[places, outcomes] | None), rng (numpy.random.Generator | None): See `_descend`; without
        them nothing is learned, nor is what learns compiled.
    """
    limit = len(padded.kind) - MARGIN
    i = padded.following[MARGIN - 1]
    token = before = i
    length = 0
    while i < limit:
        decision = np.int8(GOES_ON)
        right = decisions[i]
        if may_end(padded, i):
            find_features(places, weights, padded, i, token, before, length)
            if square is not None:
                for template in range(len(places)):
                    kept[template] = 0.0 if rng.random() < _DROPOUT else 1.0 / (1.0 - _DROPOUT)
            _probabilities(weights.weight, places, kept, share)
            if square is not None:
                _descend(weights.weight, square, places, kept, share, right)
            for outcome in range(1, _OUTCOMES):
                if share[outcome] > share[decision]:
                    decision = np.int8(outcome)
            if (decision == GOES_ON and must_end(padded, i)) or (
                decision == ENDS_WORD and i + 1 == padded.end[i]
            ):
                decision = np.int8(ENDS)
            probability[i] = share[ENDS_SENTENCE]
        if padded.following[i] >= limit and i + 1 == padded.end[i]:
            decision, probability[i] = np.int8(ENDS_SENTENCE), np.float32(1.0)
        if square is not None:
            decision = right
        else:
            decisions[i] = decision
        if decision == GOES_ON:
            i += 1
            continue
        length = 0 if decision == ENDS_SENTENCE else length + 1
        following = i + 1 if decision == ENDS_WORD else padded.following[i]
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
        classes (Mapping[str, str] | None): Words of raw text in lower case, each with the path to its class,
            of "0" and "1".
        seed (int): Fixes what is learned.
        RAISES (ValueError): If there are no tokens.
        """
        read: list[tuple[PaddedText, np.ndarray]] = []
        seen: Counter[int] = Counter()
        for each in texts:
            if len(each.ends):
                padded = pad(each.text)
                read.append((padded, _right_decisions(each)))
                seen.update(_words(padded, each))
        if not read:
            raise ValueError("There are no tokens to learn from.")
        seen = Counter({word: count for word, count in seen.items() if count >= _OFTEN[0]})
        numbers = None if classes is None else _class_numbers(classes)
        words = np.array(sorted({*seen, *(numbers or {})}), dtype=np.uint64)
        often = np.searchsorted(_OFTEN, [seen[word] for word in words.tolist()], side="right") + (
            numbers is not None
        )
        of_class = [] if numbers is None else [numbers.get(word, 0) for word in words.tolist()]
        weights = _new_weights(words, often.astype(np.int8), np.array(of_class, dtype=np.uint8))
        square, room = np.zeros_like(weights.weight), _room(weights)
        rng = np.random.default_rng(seed)
        for _ in range(_EPOCHS):
            for i in rng.permutation(len(read)).tolist():
                padded, right = read[i]
                _pass(weights, padded, right, np.zeros(len(right), np.float32), *room, square, rng)
        # As they are stored.
        return cls(weights._replace(weight=weights.weight.astype(np.float16).astype(np.float32)))

    def segment(self, text: str) -> Segments:
        """The tokens and sentences of any text, in time that grows with its length."""
        padded = pad(text)
        decisions = np.zeros(len(padded.kind), np.int8)
        probability = np.zeros(len(decisions), np.float32)
        _pass(self.weights, padded, decisions, probability, *_room(self.weights), None, None)
        last = np.flatnonzero((decisions == ENDS) | (decisions == ENDS_SENTENCE))
        starts = padded.following[np.append(MARGIN - 1, last[:-1])] if len(last) else last
        return Segments(
            starts - MARGIN,
            last + 1 - MARGIN,
            decisions[last] == ENDS_SENTENCE,
            probability[last].copy(),
            np.flatnonzero(decisions == ENDS_WORD) + 1 - MARGIN,
        )

    def to_dict(self) -> dict[str, Any]:
        """What has been learned, as NumPy's arrays by name: weights are rounded to 16 bits, and places
        without any left out.
        """
        # Where they stand depends on the order in which they were entered.
        words = np.flatnonzero(self.weights.words)
        words = words[np.argsort(self.weights.words[words])]
        return {
            **pack_weights(self.weights.weight),
            "words": self.weights.words[words],
            "often": self.weights.often[words],
            "of_class": self.weights.of_class[words] if len(self.weights.of_class) else self.weights.of_class,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Segmenter":
        """Make a segmenter of what `to_dict` has stored."""
        often, known, of_class = (stored[name] for name in ("often", "words", "of_class"))
        weights = _new_weights(known, often, of_class)
        unpack_weights(stored, weights.weight)
        return cls(weights)


def pack_weights(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of hashed features as they are stored: rounded to 16 bits, and places without any left out."""
    rounded = weights.astype(np.float16)
    place = np.flatnonzero(rounded.reshape(len(rounded), -1).any(axis=1))
    return {"places": place.astype(np.uint32), "weights": rounded[place]}


def unpack_weights(stored: dict[str, Any], weights: np.ndarray) -> None:
    """Write what `pack_weights` has stored into weights of 0."""
    weights[stored["places"]] = stored["weights"]


def _right_decisions(each: AnnotatedText) -> np.ndarray:
    """What is to be decided at each character of a text with margins (int8[n])."""
    right = np.zeros(len(each.text) + 2 * MARGIN, dtype=np.int8)
    ends = _ENDS_PERHAPS_SENTENCE if each.last is None else np.where(each.last, ENDS_SENTENCE, ENDS)
    right[each.ends - 1 + MARGIN] = ends
    right[each.cuts - 1 + MARGIN] = ENDS_WORD
    return right


def _words(padded: PaddedText, each: AnnotatedText) -> list[int]:
    """The hashes of the words of a text, in lower case."""
    starts, ends = (np.sort(np.append(bounds, each.cuts)) + MARGIN for bounds in (each.starts, each.ends))
    with np.errstate(over="ignore"):
        words = padded.lowered[ends] - padded.lowered[starts] * padded.power[ends - starts]
    return words.tolist()


def _class_numbers(classes: Mapping[str, str]) -> dict[int, int]:
    """The number of a coarse class of each word, from 1 on, by the word's hash."""
    ends = np.cumsum([len(word) for word in classes], dtype=np.int64)
    all_words = AnnotatedText("".join(classes), ends - [len(word) for word in classes], ends, None, ends[:0])
    hashes = _words(pad(all_words.text), all_words)
    return {word: int("1" + path[:_STEPS_OF_PATH], 2) for word, path in zip(hashes, classes.values())}


def _new_weights(known: np.ndarray, often: np.ndarray, of_class: np.ndarray) -> Weights:
    """Weights of 0, with a table of words, half of whose places at least are empty."""
    size = 1 << (2 * len(known) + 1).bit_length()
    groups = np.zeros(size if len(of_class) else 0, dtype=np.uint8)
    weight = np.zeros((_PLACES, _OUTCOMES), np.float32)
    weights = Weights(weight, np.zeros(size, np.uint64), np.zeros(size, np.int8), groups)
    enter_words(weights, known, often, of_class)
    return weights
