"""Resampling: how many particles each of some weighted derivations goes on with.

Expected numbers are rounded systematically, with one random number for all of them, so that an actual number is never
further than one from the expected one. With a particle that is *held*, numbers are drawn given that this particle goes on:
numbers of its derivation are then more probable in proportion to their size, and never zero (Chopin & Singh 2015,
"On particle Gibbs sampling").
"""

from math import ceil, exp, floor, inf, log

from ..compiled import borrowing, compiled

# Particles are resampled when their effective number falls below this part of them.
_EFFECTIVE = 0.5


@compiled
def offset(expected, is_held, rng):
    """Where the grid of whole numbers begins that an expected number of particles, laid out from 0, is rounded on.

    expected (float): The expected number.
    is_held (bool): Whether one of these particles is held.
    RETURNS (float): At least 0 and less than 1; below the fraction of `expected`, it is rounded up.
    """
    if not is_held:
        return rng.random()
    least = floor(expected)
    rest = expected - least
    if rng.random() * expected < rest * (least + 1.0):
        return rng.random() * rest
    return rest + rng.random() * (1.0 - rest)


@compiled
def split(particles, first, second, is_held, holds_first, rng):
    """Split particles between two options.

    particles (int): How many there are.
    first, second (float): The probabilities of the options, not normalised; one may be 0.
    is_held (bool), holds_first (bool): Whether one of the particles is held, and whether to the first option.
    RETURNS (int): How many take the first option.
    """
    if first == 0.0 or second == 0.0:
        return particles if second == 0.0 else 0
    if is_held and not holds_first:
        expected = particles * (second / (first + second))
        return particles - (floor(expected) + int(offset(expected, True, rng) < expected - floor(expected)))
    expected = particles * (first / (first + second))
    return floor(expected) + int(offset(expected, is_held, rng) < expected - floor(expected))


@borrowing
def resample(beam, size, held, particles, rng):
    """Systematic resampling of a beam, where the weights have become too unequal.

    Afterwards all particles weigh the same; the sum of the particles' weights stays as it was.

    beam (Beam): Derivations with the log-weight of each of their particles, changed in place.
    size (int): How many derivations there are.
    held (int): The derivation of the particle that is held, or -1.
    particles (int): How many particles there are in all of the derivations.
    rng (numpy.random.Generator): The source of randomness.
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
            if i == held:
                new_held = left
            beam.record[left] = beam.record[i]
            beam.particles[left] = beam.particles[i]
            beam.depth[left] = beam.depth[i]
            beam.heuristic[left] = beam.heuristic[i]
            left += 1
    beam.weight[:left] = highest + log(total / particles)
    return left, new_held
