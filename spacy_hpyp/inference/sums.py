"""What the weights of a beam say of the words, one after the other: the probability of each given those before it.

The log-sum of the weights after word i has been generated is a lower bound of the log-probability of the words up to i with
everything that may precede them. What the word adds to it has two parts: that it is generated and which tag it has, and the
word itself (Roark et al. 2009).
"""

from math import inf
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, inner_maker
from .beam import log_add

# Two sums of the same numbers in another order may differ by so much, in logs.
_ROUNDING = 1e-12


class Sums(NamedTuple):
    """The sums over n words.

    syntactic, lexical, log_probability (float64[n]): Overwritten, see `Parses`.
    tagged (float64[1]): Log of the sum of the weights that generate the present word with any tag.
    before (float64[1]): Log of the sum of the weights after the word before.
    """

    syntactic: np.ndarray
    lexical: np.ndarray
    log_probability: np.ndarray
    tagged: np.ndarray
    before: np.ndarray


@inner_maker
def new_sums(syntactic, lexical, log_probability):
    """The sums before the first word."""
    return Sums(syntactic, lexical, log_probability, np.full(1, -inf), np.zeros(1))


@borrowing
def note_tagged(sums, weight):
    """Take note of a derivation that generates the word.

    weight (float): Its log-weight, with the probability that it generates and of all tags that the word may have.
    """
    sums.tagged[0] = log_add(sums.tagged[0], weight)


@borrowing
def add_word(sums, word, prefix, after):
    """A word has been generated.

    prefix (float): Log of the sum of the weights.
    after (float): The same of what the next word is predicted from.
    """
    # Nothing is added on the way, and where there is no choice nothing is lost: what is above 0 has been rounded.
    tagged = sums.tagged[0]
    sums.syntactic[word] = min(tagged - sums.before[0], 0.0)
    sums.lexical[word] = prefix - tagged if prefix - tagged < -_ROUNDING else 0.0
    sums.log_probability[word] = sums.syntactic[word] + sums.lexical[word]
    sums.before[0] = after
    sums.tagged[0] = -inf


@borrowing
def add_end(sums, word, total):
    """The derivations are finished: the end belongs to the last of `word` words.

    total (float): Log of the sum of the weights.
    """
    sums.log_probability[word - 1] += min(total - sums.before[0], 0.0)
