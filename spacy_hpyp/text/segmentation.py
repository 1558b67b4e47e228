"""Log-linear models that find the ends of tokens and sentences in a text.

From left to right, one model decides at each character whether the token goes on, ends, or one of
its words ends. Behind each token another model decides whether the sentence ends; it also reads the
words that follow.

The weights of hashed features are learned by AdaGrad (Duchi et al. 2011). Some features are dropped
at random, so that the models do not rely on the words of the training data alone.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import jit, jitable
from . import segmentation_features as features
from .folding import QUOTES, fold, plain
from .segmentation_features import MARGIN, PaddedText, Weights, pad

# Decisions at a character. The last column of weights is for sentences.
_GOES_ON, _ENDS, _ENDS_WORD = range(3)
_TOKEN_OUTCOMES, _SENTENCE = 3, 3
# Rows of the table of weights, passes over the training data, and the share of dropped features.
_PLACES, _EPOCHS, _DROPOUT = 1 << 18, 10, 0.1
# AdaGrad's step and its initial sum of squared gradients, for tokens and for sentences. Features of
# sentences are less informative: with initial sums near 0, rare ones would get large weights.
_TOKEN_RATE, _SENTENCE_RATE = (0.05, 0.01), (0.1, 1.0)
# Smaller gradients are ignored.
_NEGLIGIBLE = 1e-3
# The number of steps of a word's class path to read.
_STEPS_OF_PATH = 5
# Lower bounds of the bins of word frequencies. Words seen once are unknown, unless raw text has
# them.
_OFTEN = (2, 5, 50)


class Segments(NamedTuple):
    """The tokens of a text. All positions are in characters."""

    starts: np.ndarray  # int64[tokens]
    ends: np.ndarray  # int64[tokens]
    cuts: np.ndarray  # int64[*]: ends of the words inside tokens, but for the last of each token
    # float32[tokens]: the probability that a sentence ends with each; in annotated text 0, 1, or
    # NaN if it is unknown.
    probability: np.ndarray


@jitable
def _score(weights, places, outcome):
    """Add up the weights of features; those that are dropped have a place below 0."""
    score = 0.0
    for place in places:
        if place >= 0:
            score += weights.weight[place, outcome]
    return score


@jitable
def _descend(weights, places, outcome, gradient, square, rate):
    """A step of AdaGrad; `square` has the sums of squared gradients."""
    if abs(gradient) < _NEGLIGIBLE:
        return
    for place in places:
        if place >= 0:
            square[place, outcome] += gradient * gradient
            step = rate[0] * gradient / np.sqrt(square[place, outcome] + rate[1])
            weights.weight[place, outcome] += step


@jitable
def _drop(places, rng):
    """Drop features; return the factor that makes up for them."""
    for n in range(len(places)):
        if rng.random() < _DROPOUT:
            places[n] = -1
    return 1.0 / (1.0 - _DROPOUT)


@jitable
def _learn_token(weights, places, right, square, rng):
    """Learn the right decision about a token."""
    scale, share = _drop(places, rng), np.empty(_TOKEN_OUTCOMES)
    for outcome in range(_TOKEN_OUTCOMES):
        share[outcome] = scale * _score(weights, places, outcome)
    share = np.exp(share - share.max())
    share /= share.sum()
    for outcome in range(_TOKEN_OUTCOMES):
        gradient = (1.0 if outcome == right else 0.0) - share[outcome]
        _descend(weights, places, outcome, gradient, square, _TOKEN_RATE)


@jitable
def _learn_sentence(weights, places, right, square, rng):
    """Learn whether a sentence ends."""
    score = _drop(places, rng) * _score(weights, places, _SENTENCE)
    gradient = right - 1.0 / (1.0 + np.exp(-score))
    _descend(weights, places, _SENTENCE, gradient, square, _SENTENCE_RATE)


@jit
def _segment(weights, padded, decisions, probability, square, rng):
    """Decide at each character of a text; or follow the right decisions, and learn.

    decisions (int8[n]): The decision at each character with margins: written, or read to learn.
    probability (float32[n]): The same for the probability that a sentence ends behind each.
    square (float32[places, outcomes] | None), rng (numpy.random.Generator | None): For learning,
        see `_descend`; None to decide.
    """
    more = features.CLASS_TEMPLATES if len(weights.of_class) > 0 else 0
    tokens = np.empty(features.TOKEN_TEMPLATES + more, dtype=np.int64)
    sentences = np.empty(features.SENTENCE_TEMPLATES + more, dtype=np.int64)
    limit = len(padded.kind) - MARGIN
    i = padded.following[MARGIN - 1]
    token = before = i
    length = 0
    while i < limit:
        decision = _ENDS
        if features.may_go_on(weights, padded, i):
            decision = _GOES_ON
            if padded.may_end[i]:
                features.find_token_features(tokens, weights, padded, i, token, before)
                if square is None:
                    highest = -np.inf
                    for outcome in range(_TOKEN_OUTCOMES):
                        score = _score(weights, tokens, outcome)
                        if score > highest:
                            decision, highest = outcome, score
                    if decision == _ENDS_WORD and i + 1 == padded.end[i]:
                        decision = _ENDS
                else:
                    _learn_token(weights, tokens, decisions[i], square, rng)
        if square is None:
            decisions[i] = decision
        if decisions[i] == _GOES_ON:
            i += 1
            continue
        length += 1
        if decisions[i] == _ENDS:
            start = before if length > 1 else token
            features.find_sentence_features(sentences, weights, padded, i, token, start, length - 1)
            if square is None:
                score = _score(weights, sentences, _SENTENCE)
                is_last = padded.following[i] >= limit and i + 1 == padded.end[i]
                probability[i] = 1.0 if is_last else 1.0 / (1.0 + np.exp(-score))
            elif not np.isnan(probability[i]):
                _learn_sentence(weights, sentences, probability[i], square, rng)
            if probability[i] > 0.5:
                length = 0
        before, token = token, i + 1 if decisions[i] == _ENDS_WORD else padded.following[i]
        i = token


class Segmenter:
    """Finds the tokens and sentences of texts.

    weights (Weights): The trained model.
    unseen_quotes (str): Spellings of quotes that training did not see: read as the plain ones.
    """

    def __init__(self, weights: Weights, unseen_quotes: str = "") -> None:
        self.weights, self.unseen_quotes = weights, unseen_quotes
        self._plain = str.maketrans({quote: plain(quote) for quote in unseen_quotes})

    @classmethod
    def learn(
        cls,
        texts: Iterable[tuple[str, Segments]],
        classes: Mapping[str, str] | None = None,
        *,
        seed: int = 0,
    ) -> "Segmenter":
        """Learn from texts and their tokens. RAISES (ValueError): If there are no tokens.

        classes (Mapping[str, str] | None): Words of raw text in lower case, each with the path to
            its class, of "0" and "1".
        """
        read: list[tuple[PaddedText, np.ndarray, np.ndarray]] = []
        seen: Counter[str] = Counter()
        unseen_quotes = set(QUOTES)
        joins = np.zeros((features.KINDS, features.KINDS), dtype=np.bool_)
        for text, (starts, ends, cuts, probability) in texts:
            if len(ends):
                bounds = np.sort([[*starts, *cuts], [*ends, *cuts]]).T.tolist()
                seen.update(fold(text[begin:end]).lower() for begin, end in bounds)
                unseen_quotes.difference_update(text)
                padded = pad(text)
                starts = np.searchsorted(padded.place, starts)
                ends, cuts = (
                    np.searchsorted(padded.place, each - 1, side="right") for each in (ends, cuts)
                )
                joins |= features.find_joins(padded, starts, ends)
                decisions = np.zeros(len(padded.kind), dtype=np.int8)
                right = np.zeros(len(decisions), dtype=np.float32)
                decisions[ends - 1], decisions[cuts - 1] = _ENDS, _ENDS_WORD
                right[ends - 1] = probability
                read.append((padded, decisions, right))
        if not read:
            raise ValueError("There are no tokens to learn from.")
        known = {word for word, count in seen.items() if count >= _OFTEN[0]}
        words = sorted({*(classes or ()), *known})
        # With raw text, all bins move up: the first one is then for words seen less than twice.
        often = np.searchsorted(_OFTEN, [seen[word] for word in words], side="right")
        often += classes is not None
        # The first steps of paths are numbered from 1.
        paths = [] if classes is None else [classes.get(word) for word in words]
        of_class = [0 if path is None else int("1" + path[:_STEPS_OF_PATH], 2) for path in paths]
        weights = _new_weights(
            _hash_words(words), often.astype(np.int8), np.array(of_class, dtype=np.uint8), joins
        )
        square, rng = np.zeros_like(weights.weight), np.random.default_rng(seed)
        for _ in range(_EPOCHS):
            for i in rng.permutation(len(read)).tolist():
                _segment(weights, *read[i], square, rng)
        # Use the precision of stored weights.
        weights = weights._replace(weight=weights.weight.astype(np.float16).astype(np.float32))
        return cls(weights, "".join(sorted(unseen_quotes)))

    def segment(self, text: str) -> Segments:
        """Find the tokens and sentences of a text, in time linear in its length."""
        padded = pad(text.translate(self._plain))
        decisions = np.zeros(len(padded.kind), dtype=np.int8)
        probability = np.zeros(len(decisions), dtype=np.float32)
        _segment(self.weights, padded, decisions, probability, None, None)
        last = np.flatnonzero(decisions == _ENDS)
        starts = padded.following[np.append(MARGIN - 1, last[:-1])] if len(last) else last
        return Segments(
            padded.place[starts],
            padded.place[last + 1],
            padded.place[np.flatnonzero(decisions == _ENDS_WORD) + 1],
            probability[last],
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of the model by name, with weights rounded to 16 bits."""
        # Their order in the table depends on the order in which they were entered.
        words = np.flatnonzero(self.weights.words)
        words = words[np.argsort(self.weights.words[words])]
        return {
            **pack_weights(self.weights.weight),
            "words": self.weights.words[words],
            "often": self.weights.often[words],
            "of_class": self.weights.of_class[words[: len(self.weights.of_class)]],
            "joins": self.weights.joins,
            "unseen_quotes": self.unseen_quotes,
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "Segmenter":
        """Make a segmenter of what `to_dict` returned."""
        weights = _new_weights(*(stored[name] for name in ("words", "often", "of_class", "joins")))
        weights.weight[stored["places"]] = stored["weights"]
        return cls(weights, stored["unseen_quotes"])


def pack_weights(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows of weights (float16) that do not round to 0, and their places (uint32)."""
    rounded = weights.astype(np.float16)
    place = np.flatnonzero(rounded.reshape(len(rounded), -1).any(axis=1))
    return {"places": place.astype(np.uint32), "weights": rounded[place]}


def _hash_words(words: Sequence[str]) -> np.ndarray:
    """Return the hash of each word (int64[words])."""
    padded = pad(" ".join(words))
    lengths = np.array([*map(len, words)], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    bounds = (np.searchsorted(padded.place, place) for place in (ends - lengths, ends))
    return features.word_hash.py_func(padded, *bounds)


def _new_weights(
    words: np.ndarray, often: np.ndarray, of_class: np.ndarray, joins: np.ndarray
) -> Weights:
    """Return weights of 0, with a table of words of which at least half is empty."""
    size = 1 << (2 * len(words) + 1).bit_length()
    weights = Weights(
        np.zeros((_PLACES, _TOKEN_OUTCOMES + 1), dtype=np.float32),
        np.zeros(size, dtype=np.int64),
        np.zeros(size, dtype=np.int8),
        np.zeros(size if len(of_class) else 0, dtype=np.uint8),
        joins,
    )
    features.enter_words(weights, words, often, of_class)
    return weights
