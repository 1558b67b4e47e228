"""Log-linear models that find the ends of tokens and sentences in a text.

From left to right, one model decides at each character whether the token goes on, or it ends, or
one of its words ends. It reads the characters around, the token so far, the rest of the chunk
between white space, and known words. Behind each token another model decides whether the sentence
ends. It reads the words that follow, too. Where there are classes of words, both read these.

The weights of hashed features are learned by AdaGrad (Duchi et al. 2011). A part of the features is
left out at random, so that the models do not rely on the words of the training data alone.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import jit
from .segmentation_features import (
    CLASS_TEMPLATES,
    KINDS,
    MARGIN,
    SENTENCE_TEMPLATES,
    TOKEN_TEMPLATES,
    PaddedText,
    Weights,
    enter_words,
    find_joins,
    find_sentence_features,
    find_token_features,
    may_go_on,
    pad,
)

#: Decisions at a character.
GOES_ON, ENDS, ENDS_WORD, ENDS_SENTENCE = range(4)
#: In the place of a decision: the token ends, and it is not known whether its sentence does.
_ENDS_PERHAPS_SENTENCE = 4
# The first decisions are about tokens; the last column of the weights is for sentences.
_OUTCOMES, _SENTENCE = 3, 3

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
# How often words have been seen, in steps: words seen once are as good as unknown, unless raw text
# has them.
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


class Features(NamedTuple):
    """Places of features in the table, and how much each counts.

    places (int64[templates]), kept (float64[templates]): Where some are left out, the others count
    more.
    """

    places: np.ndarray
    kept: np.ndarray


@jit
def _score(weights, features, outcome):
    score = 0.0
    for template in range(len(features.places)):
        score += weights.weight[features.places[template], outcome] * features.kept[template]
    return score


@jit
def _descend(weights, features, outcome, gradient, square):
    """A step of AdaGrad; `square` has the sums of squared gradients."""
    if abs(gradient) < _NEGLIGIBLE:
        return
    for template in range(len(features.places)):
        if features.kept[template] > 0.0:
            place = features.places[template]
            square[place, outcome] += gradient * gradient
            step = _RATE * gradient / np.sqrt(square[place, outcome] + _FIRST_SQUARE)
            weights.weight[place, outcome] += step


@jit
def _drop(features, rng):
    for template in range(len(features.kept)):
        features.kept[template] = 0.0 if rng.random() < _DROPOUT else 1.0 / (1.0 - _DROPOUT)


@jit
def _decide_token(weights, features, share, right, square):
    """The most probable decision about a token, which the model learns to be `right` if there is
    `square`.
    """
    highest, total, decision = -np.inf, 0.0, np.int8(GOES_ON)
    for outcome in range(_OUTCOMES):
        share[outcome] = _score(weights, features, outcome)
        if share[outcome] > highest:
            highest, decision = share[outcome], np.int8(outcome)
    if square is not None:
        for outcome in range(_OUTCOMES):
            share[outcome] = np.exp(share[outcome] - highest)
            total += share[outcome]
        right = right if right <= ENDS_WORD else ENDS
        for outcome in range(_OUTCOMES):
            gradient = (1.0 if outcome == right else 0.0) - share[outcome] / total
            _descend(weights, features, outcome, gradient, square)
    return decision


@jit
def _pass(weights, padded, decisions, probability, tokens, sentences, share, square, rng):
    """Decide at each character of a text; or take the right decisions, and learn.

    decisions (int8[n]): The decision at each character with margins: written, or right where it is
    learned. probability (float32[n]): The probability that a sentence ends after each, written
    here. tokens, sentences (Features), share (float64[outcomes]): Overwritten.
    square (float32[places, outcomes] | None), rng (numpy.random.Generator | None): See `_descend`;
        without them nothing is learned.
    """
    limit = len(padded.kind) - MARGIN
    i = padded.following[MARGIN - 1]
    token = before = i
    length = 0
    while i < limit:
        right, decision = decisions[i], np.int8(ENDS)
        if may_go_on(weights, padded, i):
            decision = np.int8(GOES_ON)
            if padded.may_end[i]:
                find_token_features(tokens.places, weights, padded, i, token, before)
                if square is not None:
                    _drop(tokens, rng)
                decision = _decide_token(weights, tokens, share, right, square)
                if decision == ENDS_WORD and i + 1 == padded.end[i]:
                    decision = np.int8(ENDS)
        if square is not None:
            decision = min(right, np.int8(ENDS_SENTENCE))
        if decision == GOES_ON:
            i += 1
            continue
        if decision != ENDS_WORD:
            start = before if length > 0 else token
            find_sentence_features(sentences.places, weights, padded, i, token, start, length)
            if square is not None:
                _drop(sentences, rng)
            probability[i] = 1.0 / (1.0 + np.exp(-_score(weights, sentences, _SENTENCE)))
            if square is not None and right != _ENDS_PERHAPS_SENTENCE:
                gradient = (1.0 if right == ENDS_SENTENCE else 0.0) - probability[i]
                _descend(weights, sentences, _SENTENCE, gradient, square)
            if padded.following[i] >= limit and i + 1 == padded.end[i]:
                probability[i] = 1.0
            if square is None:
                decision = np.int8(ENDS_SENTENCE if probability[i] > 0.5 else ENDS)
                decisions[i] = decision
        elif square is None:
            decisions[i] = decision
        length = 0 if decision == ENDS_SENTENCE else length + 1
        before, token = token, i + 1 if decision == ENDS_WORD else padded.following[i]
        i = token


class Segmenter:
    """Finds the tokens and sentences of texts.

    weights (Weights): What it has learned.
    """

    def __init__(self, weights: Weights) -> None:
        self.weights = weights

    @classmethod
    def learn(
        cls,
        texts: Sequence[AnnotatedText],
        classes: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
    ) -> "Segmenter":
        """Learn from annotated texts.

        texts (Sequence[AnnotatedText]): The texts. The end of each is that of a sentence.
        classes (Mapping[str, str] | None): Words of raw text in lower case, each with the path to
            its class, of "0" and "1".
        seed (int): Fixes what is learned.
        RAISES (ValueError): If there are no tokens.
        """
        read: list[tuple[PaddedText, np.ndarray]] = []
        seen: Counter[int] = Counter()
        joins = np.zeros((KINDS, KINDS), dtype=np.bool_)
        for each in texts:
            if len(each.ends):
                padded = pad(each.text)
                starts, ends, cuts = _bounds_in(padded, each)
                read.append((padded, _right_decisions(padded, ends, cuts, each.last)))
                seen.update(_words(padded, starts, ends, cuts))
                joins |= find_joins(padded, starts, ends)
        if not read:
            raise ValueError("There are no tokens to learn from.")
        seen = Counter({word: count for word, count in seen.items() if count >= _OFTEN[0]})
        numbers = None if classes is None else _class_numbers(classes)
        words = np.array(sorted({*seen, *(numbers or {})}), dtype=np.uint64)
        often = np.searchsorted(_OFTEN, [seen[word] for word in words.tolist()], side="right") + (
            numbers is not None
        )
        of_class = [] if numbers is None else [numbers.get(word, 0) for word in words.tolist()]
        weights = _new_weights(
            words, often.astype(np.int8), np.array(of_class, dtype=np.uint8), joins
        )
        square, room = np.zeros_like(weights.weight), _room(weights)
        rng = np.random.default_rng(seed)
        for _ in range(_EPOCHS):
            for i in rng.permutation(len(read)).tolist():
                padded, right = read[i]
                _pass(weights, padded, right, np.zeros(len(right), np.float32), *room, square, rng)
        # As they are stored.
        return cls(weights._replace(weight=weights.weight.astype(np.float16).astype(np.float32)))

    def segment(self, text: str) -> Segments:
        """Find the tokens and sentences of any text, in time that grows with its length."""
        padded = pad(text)
        decisions = np.zeros(len(padded.kind), np.int8)
        probability = np.zeros(len(decisions), np.float32)
        _pass(self.weights, padded, decisions, probability, *_room(self.weights), None, None)
        last = np.flatnonzero((decisions == ENDS) | (decisions == ENDS_SENTENCE))
        starts = padded.following[np.append(MARGIN - 1, last[:-1])] if len(last) else last
        return Segments(
            padded.place[starts],
            padded.place[last + 1],
            decisions[last] == ENDS_SENTENCE,
            probability[last].copy(),
            padded.place[np.flatnonzero(decisions == ENDS_WORD) + 1],
        )

    def to_dict(self) -> dict[str, Any]:
        """What has been learned, as NumPy's arrays by name: weights are rounded to 16 bits, and
        places without any left out.
        """
        # Where they stand depends on the order in which they were entered.
        words = np.flatnonzero(self.weights.words)
        words = words[np.argsort(self.weights.words[words])]
        return {
            **pack_weights(self.weights.weight),
            "words": self.weights.words[words],
            "often": self.weights.often[words],
            "of_class": self.weights.of_class[words]
            if len(self.weights.of_class)
            else self.weights.of_class,
            "joins": self.weights.joins,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Segmenter":
        """Make a segmenter of what `to_dict` has stored."""
        often, known, of_class = (stored[name] for name in ("often", "words", "of_class"))
        weights = _new_weights(known, often, of_class, stored["joins"])
        unpack_weights(stored, weights.weight)
        return cls(weights)


def pack_weights(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Weights of hashed features as they are stored: rounded to 16 bits, and places without any
    left out.
    """
    rounded = weights.astype(np.float16)
    place = np.flatnonzero(rounded.reshape(len(rounded), -1).any(axis=1))
    return {"places": place.astype(np.uint32), "weights": rounded[place]}


def unpack_weights(stored: dict[str, Any], weights: np.ndarray) -> None:
    """Write what `pack_weights` has stored into weights of 0."""
    weights[stored["places"]] = stored["weights"]


def _bounds_in(padded: PaddedText, each: AnnotatedText) -> list[np.ndarray]:
    """Return the starts, ends and cuts of a text as places in the composed text with margins
    (int64[*]).
    """
    starts = np.searchsorted(padded.place, each.starts)
    return [
        starts,
        *(np.searchsorted(padded.place, ends - 1, side="right") for ends in (each.ends, each.cuts)),
    ]


def _right_decisions(
    padded: PaddedText, ends: np.ndarray, cuts: np.ndarray, last: np.ndarray | None
) -> np.ndarray:
    """Return the right decision at each character (int8[n])."""
    right = np.zeros(len(padded.kind), dtype=np.int8)
    right[ends - 1] = (
        _ENDS_PERHAPS_SENTENCE if last is None else np.where(last, ENDS_SENTENCE, ENDS)
    )
    right[cuts - 1] = ENDS_WORD
    return right


def _words(padded: PaddedText, starts: np.ndarray, ends: np.ndarray, cuts: np.ndarray) -> list[int]:
    """Return the hashes of the words of a text, in lower case."""
    starts, ends = np.sort(np.append(starts, cuts)), np.sort(np.append(ends, cuts))
    with np.errstate(over="ignore"):
        words = padded.lowered[ends] - padded.lowered[starts] * padded.power[ends - starts]
    return words.tolist()


def _class_numbers(classes: Mapping[str, str]) -> dict[int, int]:
    """Return the number of a coarse class of each word, from 1 on, by the word's hash."""
    lengths = np.array([*map(len, classes)], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    padded = pad(" ".join(classes))
    words = AnnotatedText("", ends - lengths, ends, None, ends[:0])
    hashes = _words(padded, *_bounds_in(padded, words))
    return {
        word: int("1" + path[:_STEPS_OF_PATH], 2) for word, path in zip(hashes, classes.values())
    }


def _new_weights(
    known: np.ndarray, often: np.ndarray, of_class: np.ndarray, joins: np.ndarray
) -> Weights:
    """Weights of 0, with a table of words, half of whose places at least are empty."""
    size = 1 << (2 * len(known) + 1).bit_length()
    groups = np.zeros(size if len(of_class) else 0, dtype=np.uint8)
    weight = np.zeros((_PLACES, _OUTCOMES + 1), np.float32)
    weights = Weights(weight, np.zeros(size, np.uint64), np.zeros(size, np.int8), groups, joins)
    enter_words(weights, known, often, of_class)
    return weights


def _room(weights: Weights) -> tuple[Features, Features, np.ndarray]:
    """Return the arrays that `_pass` overwrites: `tokens`, `sentences` and `share`."""
    more = CLASS_TEMPLATES if len(weights.of_class) else 0
    tokens, sentences = (
        Features(np.empty(templates + more, np.int64), np.ones(templates + more))
        for templates in (TOKEN_TEMPLATES, SENTENCE_TEMPLATES)
    )
    return tokens, sentences, np.empty(_OUTCOMES)
