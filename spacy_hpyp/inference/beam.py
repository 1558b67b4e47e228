"""Beams: weighted derivations that share particles, and the sums of their weights.

The log-sum of the weights after word i is a lower bound of the log-probability of the words up to i. A word
adds two parts to it: that it is generated and its tag, and the word itself (Roark et al. 2009).
"""

from math import exp, inf, log, log1p
from typing import NamedTuple

import numpy as np

from ..compiled import jit, jitable, overwrite

# Two sums of the same numbers in another order may differ by so much, in logs.
_ROUNDING = 1e-12


class Beam(NamedTuple):
    """Derivations."""

    record: np.ndarray  # int32[*]: their configurations
    weight: np.ndarray  # float64[*]: their log-weights
    particles: np.ndarray  # int64[*]
    depth: np.ndarray  # int32[*]: the depths of their stacks
    heuristic: np.ndarray  # float64[*]: see `Options`


@jit
def new_beam(size):
    """Room for a number of derivations."""
    return Beam(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int32),
        np.empty(size),
    )


@jit
def longer(array):
    """A copy with twice the room."""
    copy = np.empty((2 * len(array),) + array.shape[1:], dtype=array.dtype)
    overwrite(copy.reshape(-1), array.reshape(-1))
    return copy


@jit
def longer_beam(beam):
    """A copy with room for twice as many derivations."""
    return Beam(
        longer(beam.record),
        longer(beam.weight),
        longer(beam.particles),
        longer(beam.depth),
        longer(beam.heuristic),
    )


@jit
def append(beam, size, record, weight, particles, depth, heuristic):
    """Enter a derivation at place `size`. Returns the new size."""
    beam.record[size] = record
    beam.weight[size] = weight
    beam.particles[size] = particles
    beam.depth[size] = depth
    beam.heuristic[size] = heuristic
    return size + 1


@jit
def keep(beam, i, left, particles):
    """Move a derivation to place `left`, with a number of particles. Returns the size with it."""
    return append(beam, left, beam.record[i], beam.weight[i], particles, beam.depth[i], beam.heuristic[i])


@jit
def log_sum(weight, size):
    """Log of the sum of exp over the first entries of an array."""
    highest = -inf
    for i in range(size):
        highest = max(highest, weight[i])
    if highest == -inf:
        return -inf
    total = 0.0
    for i in range(size):
        total += exp(weight[i] - highest)
    return highest + log(total)


@jit
def log_add(total, weight):
    """Log of the sum of the exp of two numbers; -inf stands for nothing."""
    highest = max(total, weight)
    if highest == -inf:
        return -inf
    return highest + log1p(exp(min(total, weight) - highest))


@jit
def part(beam, first, last):
    """The derivations at places from `first` up to `last`, in the same memory."""
    return Beam(
        beam.record[first:last],
        beam.weight[first:last],
        beam.particles[first:last],
        beam.depth[first:last],
        beam.heuristic[first:last],
    )


class Sums(NamedTuple):
    """The sums over n words."""

    syntactic: np.ndarray  # float64[n], see `Parses`
    lexical: np.ndarray  # float64[n]
    log_probability: np.ndarray  # float64[n]
    tagged: np.ndarray  # float64[1]: log of the sum of the weights that generate this word with any tag
    before: np.ndarray  # float64[1]: log of the sum of the weights after the word before


@jitable
def new_sums(syntactic, lexical, log_probability):
    """The sums before the first word."""
    return Sums(syntactic, lexical, log_probability, np.full(1, -inf), np.zeros(1))


@jit
def add_word(sums, word, prefix):
    """Enter the parts of a word that has been generated; `prefix` is the log-sum of the weights."""
    # Nothing is added on the way, and where there is no choice nothing is lost: a number above 0 has been
    # rounded.
    tagged = sums.tagged[0]
    sums.syntactic[word] = min(tagged - sums.before[0], 0.0)
    sums.lexical[word] = prefix - tagged if prefix - tagged < -_ROUNDING else 0.0
    sums.log_probability[word] = sums.syntactic[word] + sums.lexical[word]
    sums.before[0] = prefix
    sums.tagged[0] = -inf


@jit
def add_end(sums, word, total):
    """Let the end of the sentence belong to the last of `word` words; `total` is the final log-sum."""
    sums.log_probability[word - 1] += min(total - sums.before[0], 0.0)
