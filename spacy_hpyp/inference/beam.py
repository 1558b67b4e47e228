"""Beams of weighted derivations, and the arithmetic of their particles."""

from math import exp, floor, inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import compiled


class Beam(NamedTuple):
    """Derivations: their configurations' records (int32[*]), log-weights (float64[*]) and particles (int64[*])."""

    record: np.ndarray
    weight: np.ndarray
    particles: np.ndarray


@compiled
def new_beam(size):
    """Room for a number of derivations."""
    return Beam(np.empty(size, dtype=np.int32), np.empty(size), np.empty(size, dtype=np.int64))


@compiled
def longer(array):
    """A copy with twice the room."""
    copy = np.empty((2 * len(array),) + array.shape[1:], dtype=array.dtype)
    copy[: len(array)] = array
    return copy


@compiled
def with_room(beam, size):
    """The beam with room for at least `size` derivations."""
    while len(beam.record) < size:
        beam = Beam(longer(beam.record), longer(beam.weight), longer(beam.particles))
    return beam


@compiled
def append(beam, size, record, weight, particles):
    """Enter a derivation at place `size`. Returns the new size."""
    beam.record[size] = record
    beam.weight[size] = weight
    beam.particles[size] = particles
    return size + 1


@compiled
def log_sum(weight, size):
    """log of the sum of exp over the first entries of an array."""
    highest = -inf
    for i in range(size):
        highest = max(highest, weight[i])
    if highest == -inf:
        return -inf
    total = 0.0
    for i in range(size):
        total += exp(weight[i] - highest)
    return highest + log(total)


@compiled
def share(particles, probability, mass):
    """How many of the remaining particles the best of the remaining options gets: its share, but at least one.

    probability, mass (float): The option's probability, and the sum of those of the remaining options.
    """
    return max(1, min(particles, np.int64(floor(particles * probability / mass + 0.5))))


@compiled
def select(beam, size, total):
    """Selection step: reallocate K particles in proportion to k * theta, and drop the derivations that get none.

    beam (Beam): The derivations, changed in place.
    total (int): K.
    RETURNS (int): How many derivations are left; where none would be, the best one is kept.
    """
    highest = beam.weight[:size].max()
    mass = 0.0
    for i in range(size):
        mass += beam.particles[i] * exp(beam.weight[i] - highest)
    best, best_share = 0, -1.0
    left = 0
    for i in range(size):
        proportion = beam.particles[i] * exp(beam.weight[i] - highest) / mass
        if proportion > best_share:
            best, best_share = i, proportion
        particles = np.int64(floor(total * proportion))
        if particles > 0:
            left = append(beam, left, beam.record[i], beam.weight[i], particles)
    if left == 0:
        left = append(beam, 0, beam.record[best], beam.weight[best], total)
    return left
