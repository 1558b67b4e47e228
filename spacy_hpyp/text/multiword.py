"""The words of a token: one as a rule; several where the token is a multiword one, as French *du*
is *de le*.

A rule splits a token: one of its words, the stem, shares characters with it, between a prefix and a
suffix; the other words are always the same. Turkish *evdeki* is *evde ki* by a rule that takes the
suffix *ki* away and puts the word *ki* behind the rest, so that unseen tokens come apart, too. A
log-linear model of the token's characters and of the tokens around it chooses a rule, or none.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

import numpy as np

from .elements import string_number
from .folding import fold
from .segmentation import pack_weights

# The size of the table of hashed features, and the number of passes over all decisions.
_PLACES = 1 << 18
_EPOCHS = 8
_RATE = 0.2
# Nearly correct probabilities are not changed.
_NEGLIGIBLE = 1e-3
_LONGEST_SUFFIX, _LONGEST_PREFIX = 7, 4
# A token that was seen this often, and always as one word, is one word.
_OFTEN = 3
# Rules for multiword tokens give way to a character model if they would miss more than this share.
_MISSED = 0.01
# The number of forms with cached rules.
_KEPT_FORMS = 1 << 16
#: In place of a rule: the token is one word.
_WHOLE = -1


class Rule(NamedTuple):
    """How a token comes apart. All characters are in lower case."""

    prefix: str  # The part of the token before the stem; all of a token without one
    suffix: str  # The part after the stem
    stem: int  # Which of the words the stem is, or -1 if none is
    before: str  # The replacement of the prefix
    after: str  # The replacement of the suffix
    others: tuple[str, ...]  # The other words

    @classmethod
    def of(cls, token: str, words: Sequence[str]) -> "Rule":
        """Return the rule that splits a token into words; the longest common part is the stem."""
        token, words = token.lower(), [word.lower() for word in words]
        matches = [
            SequenceMatcher(None, token, word, autojunk=False).find_longest_match()
            for word in words
        ]
        stem = max(range(len(words)), key=lambda i: matches[i].size)
        begin, own, size = matches[stem]
        if size == 0:
            return cls(token, "", -1, "", "", tuple(words))
        word = words.pop(stem)
        ends = token[:begin], token[begin + size :]
        return cls(*ends, stem, word[:own], word[own + size :], tuple(words))

    def apply(self, token: str) -> list[str] | None:
        """Return the words of a token, or None if the rule does not apply to it.

        The stem keeps its capitals. The first word begins with one if the token does, and all words
        are in capitals if it is, unless it is a single character.
        """
        lower, words = token.lower(), list(self.others)
        if self.stem < 0:
            if lower != self.prefix:
                return None
        else:
            begin, end = len(self.prefix), len(token) - len(self.suffix)
            has_stem = begin < end and len(lower) == len(token)
            if not (has_stem and lower.startswith(self.prefix) and lower.endswith(self.suffix)):
                return None
            words.insert(self.stem, self.before + token[begin:end] + self.after)
        if len(token) > 1 and token.isupper():
            return [word.upper() for word in words]
        if token[:1].isupper():
            words[0] = words[0][:1].upper() + words[0][1:]
        return words


def are_cut(sentences: Iterable[Sequence[tuple[str, Sequence[str]]]]) -> bool:
    """Whether multiword tokens are cut by the model of characters, and not taken apart by rules;
    `sentences` are those of `MultiwordTokens.learn`.

    They are if most of them are the words one after the other, and rules would miss more than one
    in a hundred: as many as belong to a rule that was seen once (Good 1953).
    """
    several = [each for sentence in sentences for each in sentence if len(each[1]) > 1]
    rules = Counter(Rule.of(token, words) for token, words in several)
    once = sum(count == 1 for count in rules.values())
    cuts = sum("".join(words) == token for token, words in several)
    return 2 * cuts > len(several) and once > _MISSED * len(several)


class MultiwordTokens:
    """Model that finds the words of tokens.

    rules (Sequence[Rule]): Ways to split tokens.
    weights (float32[places]): Weights of hashed features of a token together with a rule.
    whole (Iterable[str]): Tokens in lower case that are one word, whatever the rules allow.
    """

    def __init__(
        self, rules: Sequence[Rule], weights: np.ndarray, whole: Iterable[str] = ()
    ) -> None:
        self.rules, self.weights, self.whole = list(rules), weights, frozenset(whole)
        # Rules by the end that a token must have.
        self._by_end: dict[str, list[int]] = {}
        for number, rule in enumerate(self.rules):
            end = rule.suffix if rule.stem >= 0 else rule.prefix
            self._by_end.setdefault(end, []).append(number)
        self._lengths = sorted(set(map(len, self._by_end)))
        self._hashes = np.array([string_number(repr(rule)) for rule in self.rules], dtype=np.int64)
        self._known: dict[str, list[int]] = {}

    @classmethod
    def learn(
        cls, sentences: Iterable[Sequence[tuple[str, Sequence[str]]]], *, seed: int = 0
    ) -> "MultiwordTokens":
        """Learn from the tokens of sentences, each with its words, which are itself or several."""
        sentences = [
            [(fold(token), list(map(fold, words))) for token, words in sentence]
            for sentence in sentences
        ]
        several = [each for sentence in sentences for each in sentence if each[1] != [each[0]]]
        split = {token.lower() for token, _ in several}
        rules = list(dict.fromkeys(Rule.of(token, words) for token, words in several))
        model = cls(rules, np.zeros(_PLACES, dtype=np.float32))
        number = {rule: i for i, rule in enumerate(rules)}
        whole: Counter[str] = Counter()
        decisions = []
        for sentence in sentences:
            tokens = [token for token, _ in sentence]
            for i, (token, words) in enumerate(sentence):
                lower = token.lower()
                # A token that is always one word need not be learned each time.
                if whole[lower] < _OFTEN and (possible := model._possible(token)):
                    right = _WHOLE if words == [token] else number[Rule.of(token, words)]
                    places = model._places(np.array(_features_at(tokens, i)), possible)
                    decisions.append((places, np.array(possible) == right))
                    whole[lower] += lower not in split
        square = np.full(_PLACES, 1e-6, dtype=np.float32)
        rng = np.random.default_rng(seed)
        for _ in range(_EPOCHS):
            for i in rng.permutation(len(decisions)).tolist():
                places, right = decisions[i]
                # One word scores 0.
                scores = np.append(model.weights[places].sum(axis=1), 0.0)
                share = np.exp(scores - scores.max())
                gradients = right - share[:-1] / share.sum()
                for own, gradient in zip(places, gradients.tolist()):
                    if abs(gradient) > _NEGLIGIBLE:
                        square[own] += gradient * gradient
                        model.weights[own] += _RATE * gradient / np.sqrt(square[own])
        # Use the precision of stored weights.
        weights = model.weights.astype(np.float16).astype(np.float32)
        return cls(model.rules, weights, (token for token, n in whole.items() if n >= _OFTEN))

    def words(self, tokens: Sequence[str]) -> list[list[str]]:
        """Return the words of each token of running text; a token that is one word is its own."""
        split, folded = [[token] for token in tokens], list(map(fold, tokens))
        if len(self._known) > _KEPT_FORMS:
            self._known = {}
        # Another thread may replace the cache.
        known = self._known
        for token in folded:
            if token not in known:
                known[token] = [] if token.lower() in self.whole else self._possible(token)
        undecided = [i for i, token in enumerate(folded) if known[token]]
        if not undecided:
            return split
        rules = [known[folded[i]] for i in undecided]
        features = np.array([_features_at(folded, i) for i in undecided])
        places = self._places(features.repeat([*map(len, rules)], axis=0), [*chain(*rules)])
        scores = iter(self.weights[places].sum(axis=1).tolist())
        for i, possible in zip(undecided, rules):
            own = list(islice(scores, len(possible)))
            # One word scores 0.
            if (best := max(own)) > 0.0:
                words = self.rules[possible[own.index(best)]].apply(folded[i])
                split[i] = _as_spelled(words, tokens[i])
        return split

    def _possible(self, token: str) -> list[int]:
        """Return the rules that a token allows."""
        lower = token.lower()
        ends = (lower[len(lower) - length :] for length in self._lengths if length <= len(lower))
        rules = chain.from_iterable(self._by_end.get(end, ()) for end in ends)
        begun = (i for i in rules if lower.startswith(self.rules[i].prefix))
        return [i for i in begun if self.rules[i].apply(token) is not None]

    def _places(self, features: np.ndarray, rules: Sequence[int]) -> np.ndarray:
        """Return the places of features of tokens, alone and with a rule each (int64[rules, *])."""
        own = (features ^ self._hashes[rules, None]) * 0x9E3779B1 >> 7
        return np.hstack([np.broadcast_to(features, own.shape), own]) & (_PLACES - 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the rules, weights and whole tokens by name."""
        rules = [list(rule) for rule in self.rules]
        return {"rules": rules, **pack_weights(self.weights), "whole": sorted(self.whole)}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "MultiwordTokens":
        """Make a model from what `to_dict` returned."""
        rules = [Rule(*row[:-1], tuple(row[-1])) for row in stored["rules"]]
        weights = np.zeros(_PLACES, dtype=np.float32)
        weights[stored["places"]] = stored["weights"]
        return cls(rules, weights, stored["whole"])


def _as_spelled(words: list[str], token: str) -> list[str]:
    """Return the words as the token spells them, if they are cut from it."""
    if token.isascii() or "".join(words) != fold(token) or len(fold(token)) != len(token):
        return words
    ends = accumulate(map(len, words))
    return [token[end - len(word) : end] for word, end in zip(words, ends)]


@lru_cache(_KEPT_FORMS)
def _features_of(token: str) -> list[int]:
    """Return the hashed features of a token by itself."""
    lower = token.lower()
    features = ["", f"token {token}", f"lower {lower}", f"length {min(len(token), 8)}"]
    features.append(f"capital {token[:1].isupper()} {lower[-2:]}")
    for i in range(1, _LONGEST_SUFFIX + 1):
        features.append(f"suffix {lower[-i:]}" if i <= len(lower) else "")
    for i in range(1, _LONGEST_PREFIX + 1):
        features.append(f"prefix {lower[:i]}" if i <= len(lower) else "")
    return [*map(string_number, features)]


def _features_at(tokens: Sequence[str], i: int) -> list[int]:
    """Return the hashed features of a token and of those around it."""
    lower, before = tokens[i].lower(), tokens[i - 1].lower() if i else ""
    after, second = ((tokens[j].lower() if j < len(tokens) else "") for j in (i + 1, i + 2))
    around = [
        f"before {before}",
        f"after {after}",
        f"before, lower {before} {lower}",
        f"lower, after {lower} {after}",
        f"all {before} {lower} {after}",
        f"ends before {before[-3:]} {lower[-3:]}",
        f"ends after {after[-3:]} {lower[-3:]}",
        f"end after {after[-1:]} {lower}",
        f"end after 2 {after[-2:]} {lower}",
        f"second {lower} {second}",
    ]
    return [*_features_of(tokens[i]), *map(string_number, around)]
