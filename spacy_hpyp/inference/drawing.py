"""Particles that draw: unbiased sums, and draws from the posterior.

Particles take an option in proportion to its probability, and their weight is multiplied by the sum over the
options. So the mean of the weights is an unbiased estimate of the probability of the words (Doucet, de
Freitas & Gordon 2001). If weights have become too unequal, the particles are resampled systematically.

With a particle that is *held*, as it follows a given derivation, this is the conditional filter of particle
    Gibbs sampling (Andrieu, Doucet & Holenstein 2010). The numbers of particles are drawn given that it goes
    on: those of its derivation are more probable in proportion to their size, and never zero (Chopin & Singh
    2015, "On particle Gibbs sampling").
"""

from math import ceil, exp, floor, inf, log

from ..compiled import NONE, jit
from .beam import keep, log_sum

# Particles are resampled when their effective number falls below this part of them.
_EFFECTIVE = 0.5


@jit
def draw(weights, mass, rng):
    """Draw an option in proportion to its weight; `mass` is the sum of the weights."""
    threshold = rng.random() * mass
    last = 0
    for option in range(len(weights)):
        if weights[option] > 0.0:
            last = option
            threshold -= weights[option]
            if threshold < 0.0:
                break
    return last


@jit
def draw_derivation(beam, size, rng):
    """Draw a particle of a final beam in proportion to its weight: its derivation, and the log-sum of all
    weights. The weights of the beam become probabilities.
    """
    for i in range(size):
        beam.weight[i] += log(beam.particles[i])
    total = log_sum(beam.weight, size)
    for i in range(size):
        beam.weight[i] = exp(beam.weight[i] - total)
    return draw(beam.weight[:size], beam.weight[:size].sum(), rng), total


@jit
def offset(expected, is_held, rng):
    """Return where the grid of whole numbers begins on which an expected number of particles, laid out from
    0, is rounded: below the fraction of `expected`, it is rounded up. One of the particles may be held.
    """
    if not is_held:
        return rng.random()
    least = floor(expected)
    rest = expected - least
    if rng.random() * expected < rest * (least + 1.0):
        return rng.random() * rest
    return rest + rng.random() * (1.0 - rest)


@jit
def split(particles, first, second, is_held, holds_first, rng):
    """Split particles between two options. Returns how many take the first one.

    first, second (float): The probabilities of the options, not normalised; one may be 0.
    is_held (bool), holds_first (bool): Whether one of the particles is held, and whether to the first option.
    """
    if first == 0.0 or second == 0.0:
        return particles if second == 0.0 else 0
    if is_held and not holds_first:
        expected = particles * (second / (first + second))
        return particles - (floor(expected) + int(offset(expected, True, rng) < expected - floor(expected)))
    expected = particles * (first / (first + second))
    return floor(expected) + int(offset(expected, is_held, rng) < expected - floor(expected))


@jit
def allot_drawn(options, count, mass, particles, held, rng):
    """Let particles draw among the first `count` options: `options.particles`; one of them takes `held`."""
    options.particles[:count] = 0
    if held != NONE:
        for i in range(count):
            if options.outcome[i] == held:
                options.particles[i] = 1
        particles -= 1
    for _ in range(particles):
        options.particles[draw(options.probability[:count], mass, rng)] += 1


@jit
def resample(beam, size, held, particles, rng):
    """Systematic resampling of a beam if the weights have become too unequal. Afterwards all particles weigh
    the same.

    held (int): The derivation of the particle that is held, or -1.
    particles (int): How many particles there are in all of the derivations.
    RETURNS (tuple[int, int]): How many derivations are left, and where the held one is.
    """
    highest = -inf
    for i in range(size):
        highest = max(highest, beam.weight[i])
    total, squares = 0.0, 0.0
    for i in range(size):
        weight = exp(beam.weight[i] - highest)
        total += beam.particles[i] * weight
        squares += beam.particles[i] * weight * weight
    if total * total >= _EFFECTIVE * particles * squares:
        return size, held
    # Around the circle, from the held derivation on: where it begins makes no difference to the rest.
    first = max(held, 0)
    expected = particles * beam.particles[first] * exp(beam.weight[first] - highest) / total
    start = offset(expected, held >= 0, rng)
    end, given = 0.0, 0
    for k in range(size):
        i = (first + k) % size
        end += particles * beam.particles[i] * exp(beam.weight[i] - highest) / total
        reached = particles if k == size - 1 else min(particles, ceil(end - start))
        beam.particles[i] = reached - given
        given = reached
    left, new_held = 0, -1
    for i in range(size):
        if beam.particles[i] > 0:
            new_held = left if i == held else new_held
            left = keep(beam, i, left, beam.particles[i])
    beam.weight[:left] = highest + log(total / particles)
    return left, new_held
