"""Particles that draw what they do: unbiased sums, and draws from the posterior.

Particles take an option in proportion to its probability among those that are possible, and their weight is multiplied by the sum
of what they could choose from. So the mean of the weights is an unbiased estimate of the probability of the words (Doucet,
de Freitas & Gordon 2001). Where weights have become too unequal, the particles are resampled.

With a particle that follows a given derivation and is never dropped, this is the conditional filter of particle Gibbs sampling
(Andrieu, Doucet & Holenstein 2010): given a derivation from the posterior, it draws another one from the posterior, however
few particles there are.
"""

from math import exp, log
from typing import Any, NamedTuple

from ..compiled import NONE, borrowing, implements, inner
from .beam import log_sum
from .particle_filter import allot, divide, gain, select
from .resampling import resample, split


class Drawing(NamedTuple):
    """Particles that draw at random.

    particles (int): How many there are.
    rng (numpy.random.Generator): The source of randomness.
    """

    particles: int
    rng: Any


@borrowing
def draw(weights, mass, rng):
    """Draw an option in proportion to its weight.

    mass (float): The sum of the weights.
    """
    threshold = rng.random() * mass
    last = 0
    for option in range(len(weights)):
        if weights[option] > 0.0:
            last = option
            threshold -= weights[option]
            if threshold < 0.0:
                break
    return last


@borrowing
def draw_derivation(beam, size, rng):
    """Draw one of the particles of a final beam in proportion to its weight.

    beam (Beam): Overwritten: a derivation's weight becomes the probability of being drawn.
    RETURNS (tuple[int, float]): The derivation, and the log-sum of the particles' weights.
    """
    for i in range(size):
        beam.weight[i] += log(beam.particles[i])
    total = log_sum(beam.weight, size)
    for i in range(size):
        beam.weight[i] = exp(beam.weight[i] - total)
    return draw(beam.weight[:size], beam.weight[:size].sum(), rng), total


@implements(divide, Drawing)
@inner
def _divide(scheme, particles, p_generate, p_attach, is_held, holds_word):
    return split(particles, p_generate, p_attach, is_held, holds_word, scheme.rng)


@implements(allot, Drawing)
@inner
def _allot(scheme, options, count, mass, particles, held):
    options.particles[:count] = 0
    if held != NONE:
        for i in range(count):
            if options.outcome[i] == held:
                options.particles[i] = 1
        particles -= 1
    for _ in range(particles):
        options.particles[draw(options.probability[:count], mass, scheme.rng)] += 1


@implements(gain, Drawing)
@inner
def _gain(scheme, probability, mass):
    return log(mass)


@implements(select, Drawing)
@inner
def _select(scheme, beam, size, held, word, is_last):
    if is_last or size == 0:
        return size, held
    return resample(beam, size, held, scheme.particles, scheme.rng)
