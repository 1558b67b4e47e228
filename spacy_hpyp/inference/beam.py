"""Beams of weighted derivations, and the arithmetic of their particles."""

from math import exp, floor, inf, log, log1p
from typing import NamedTuple

import numpy as np

from ..arc_standard.configuration import DEPTH
from ..compiled import borrowing, compiled, overwrite

# How many words a derivation that is behind may still attach before the next one is shifted.
_ATTACHMENTS = 10


class Search(NamedTuple):
    """How to search.

    particles (int): K, how many particles the beam's derivations share.
    lookahead (float): In nats, what attaching a word that is on the stack can be expected to cost. With 0, the selection
        step is that of Algorithm 1 to the letter.
    marginals (bool): Whether to find the posterior probabilities of heads and tags. The selection step then keeps what
        stands for the posterior, and not only what may still be the best.
    consensus (bool): Whether to choose the parse with the least expected loss and not the best derivation's; needs
        `marginals`.
    temperature (float): With `marginals`, what log-weights are divided by before they are normalised, in the selection step
        and in the end; 1 for the posterior of the model.
    labels_per_arc (int): How many labels of a left- or right-arc a derivation is divided between.
    tags_per_word (int): How many tags of a word a derivation is divided between.
    tag_threshold (float): A tag is not tried if it is expected to get less than this part of a particle beside the best one.
    attachments (int): A derivation is given up when it would have no particle even if it went on to attach so many words for
        nothing, by `lookahead`, see `lead_of_the_last`.
    """

    particles: int
    lookahead: float
    marginals: bool = False
    consensus: bool = False
    temperature: float = 1.0
    labels_per_arc: int = 1
    tags_per_word: int = 3
    tag_threshold: float = 0.25
    attachments: int = 10


class Beam(NamedTuple):
    """Derivations.

    record (int32[*]): Their configurations.
    weight (float64[*]): Their log-weights.
    particles (int64[*]): Their particles.
    """

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
    overwrite(copy.reshape(-1), array.reshape(-1))
    return copy


@compiled
def longer_beam(beam):
    """A copy with room for twice as many derivations."""
    return Beam(longer(beam.record), longer(beam.weight), longer(beam.particles))


@borrowing
def append(beam, size, record, weight, particles):
    """Enter a derivation at place `size`. Returns the new size."""
    beam.record[size] = record
    beam.weight[size] = weight
    beam.particles[size] = particles
    return size + 1


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
def share(particles, probability, mass):
    """How many of the remaining particles the best of the remaining options gets: its share, but at least one.

    probability, mass (float): The option's probability, and the sum of those of the remaining options.
    """
    return max(1, min(particles, np.int64(floor(particles * probability / mass + 0.5))))


@borrowing
def expected_weight(beam, i, records, search):
    """The log-weight of a derivation, less what attaching its open words can be expected to cost; see `select`."""
    return beam.weight[i] - search.lookahead * records[beam.record[i], DEPTH]


@borrowing
def lead_of_the_last(search):
    """How far behind the best one, in nats of `expected_weight`, a derivation gets no particle in the selection step.

    Selected by k * theta, one particle at best against K, it would need 1 / K of the mass; selected by
    theta ** (1 / temperature), the same without k. A derivation that goes on to attach words gains on the others what it does
    not cost: so much is allowed for `_ATTACHMENTS` of them.
    """
    nats = search.temperature if search.marginals else 2.0
    return nats * log(float(search.particles)) + _ATTACHMENTS * search.lookahead


@borrowing
def select(beam, size, records, search):
    """Selection step: reallocate K particles in proportion to k * theta, and drop the derivations that get none.

    As k has come about in proportion to what theta was before, k * theta counts the past again at each step, and soon one
    derivation has all particles. That serves the search for the best one. For marginals, K particles are shared in
    proportion to theta ** (1 / temperature) alone.

    A word that waits on the stack for its head will still have to be attached. Derivations that put this off look better
    than they are, and where no end of the sentence is in sight the beam would fill up with them; so theta is reduced for
    the comparison by what each open word can be expected to cost.

    beam (Beam): The derivations, changed in place; their weights stay as they are.
    records (int32[*, FIELDS]): Their configurations.
    search (Search): K, the expected cost, and what the beam is for.
    RETURNS (int): How many derivations are left; where none would be, the best one is kept.
    """
    highest = -inf
    for i in range(size):
        highest = max(highest, _expected(beam, i, records, search))
    mass = 0.0
    for i in range(size):
        mass += _claim(beam, i, search) * exp(_expected(beam, i, records, search) - highest)
    best, best_share = 0, -1.0
    left = 0
    for i in range(size):
        proportion = _claim(beam, i, search) * exp(_expected(beam, i, records, search) - highest) / mass
        if proportion > best_share:
            best, best_share = i, proportion
        particles = np.int64(floor(search.particles * proportion))
        if particles > 0:
            left = append(beam, left, beam.record[i], beam.weight[i], particles)
    if left == 0:
        left = append(beam, 0, beam.record[best], beam.weight[best], search.particles)
    return left


@borrowing
def _claim(beam, i, search):
    return 1 if search.marginals else beam.particles[i]


@borrowing
def _expected(beam, i, records, search):
    expected = expected_weight(beam, i, records, search)
    return expected / search.temperature if search.marginals else expected
