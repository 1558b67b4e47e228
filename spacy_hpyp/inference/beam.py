"""Beams: weighted derivations that share particles."""

from math import exp, inf, log, log1p
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, compiled, overwrite


class Beam(NamedTuple):
    """Derivations.

    record (int32[*]): Their configurations.
    weight (float64[*]): Their log-weights.
    particles (int64[*]): Their particles.
    depth (int32[*]): How many items their stacks have.
    heuristic (float64[*]): What can be said of the log-probability of the words to come, see `Options`.
    """

    record: np.ndarray
    weight: np.ndarray
    particles: np.ndarray
    depth: np.ndarray
    heuristic: np.ndarray


@compiled
def new_beam(size):
    """Room for a number of derivations."""
    return Beam(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.empty(size, dtype=np.int32),
        np.empty(size),
    )


@compiled
def longer(array):
    """A copy with twice the room."""
    copy = np.empty((2 * len(array),) + array.shape[1:], dtype=array.dtype)
    overwrite(copy.reshape(-1), array.reshape(-1))
    return copy


@compiled
def longer_beam(beam):
    """A copy with room for twice as many derivations."""
    return Beam(
        longer(beam.record), longer(beam.weight), longer(beam.particles), longer(beam.depth), longer(beam.heuristic)
    )


@borrowing
def append(beam, size, record, weight, particles, depth, heuristic):
    """Enter a derivation at place `size`. Returns the new size."""
    beam.record[size] = record
    beam.weight[size] = weight
    beam.particles[size] = particles
    beam.depth[size] = depth
    beam.heuristic[size] = heuristic
    return size + 1


@borrowing
def swap(beam, one, other):
    """Let two derivations change places."""
    beam.record[one], beam.record[other] = beam.record[other], beam.record[one]
    beam.weight[one], beam.weight[other] = beam.weight[other], beam.weight[one]
    beam.particles[one], beam.particles[other] = beam.particles[other], beam.particles[one]
    beam.depth[one], beam.depth[other] = beam.depth[other], beam.depth[one]
    beam.heuristic[one], beam.heuristic[other] = beam.heuristic[other], beam.heuristic[one]


@borrowing
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


@borrowing
def log_add(total, weight):
    """Log of the sum of the exp of two numbers; -inf stands for nothing."""
    highest = max(total, weight)
    if highest == -inf:
        return -inf
    return highest + log1p(exp(min(total, weight) - highest))


@compiled
def part(beam, first, last):
    """The derivations at places from `first` up to `last`, in the same memory."""
    return Beam(
        beam.record[first:last],
        beam.weight[first:last],
        beam.particles[first:last],
        beam.depth[first:last],
        beam.heuristic[first:last],
    )
