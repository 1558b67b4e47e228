"""Algorithm 1 of Buys & Blunsom (2015) divides particles by rounding instead of sampling.

In the search step the particles of a derivation are divided between generating and attaching by p(shift), and
those of either between its best options in proportion to their probabilities; its weight is multiplied by the
probability of the option. The selection step reallocates K particles in proportion to k * theta and drops the
derivations that get none.

With the scheme `TOP`, the paper's baseline, every option is taken, and the K best derivations go on.
"""

from math import exp, floor, inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import jit, jitable, struct
from .beam import Sums, add_end, add_word, keep, log_sum

#: Schemes: Algorithm 1, or a beam of fixed size (B&B section 5.2).
ROUND, TOP = range(2)
# A derivation that is behind is kept while attaching so many words for nothing could bring it a particle.
_ATTACHMENTS = 10


@struct
class Search(NamedTuple):
    """How to search."""

    particles: int  # K, how many particles the beam's derivations share
    # The expected cost in nats of attaching a word that is on the stack. With 0, the selection step is that
    # of Algorithm 1 to the letter.
    lookahead: float
    # Whether to find the posterior probabilities of heads and tags. The selection step then keeps derivations
    # that stand for the posterior, and not only those that may still be the best.
    marginals: bool = False
    consensus: bool = False  # Whether to choose the parse with the least expected loss; needs `marginals`
    temperature: float = 1.0  # With `marginals`, log-weights are divided by it before they are normalised
    labels_per_arc: int = 1  # How many labels of an arc a derivation is divided between
    tags_per_word: int = 3
    # A tag, or a direction of an arc, needs the expectation of this part of a particle beside the best one.
    tag_threshold: float = 0.5
    guides: bool = False  # Whether to find the most probable heads and tags; needs `marginals`
    # How much the promise of a tag for the words to come counts where particles are divided; it never counts
    # in a derivation's weight.
    outlook: float = 0.0
    spread: int = 1  # By how much the particles are multiplied after the selection step
    apart: bool = False  # Whether to find the probabilities of words only, by `running_text.read`
    scheme: int = ROUND


class Rounding(NamedTuple):
    """A search at work."""

    search: Search
    sums: Sums
    lead: float  # How far a derivation may be behind the best one, see `_lead_of_the_last`
    best: (
        np.ndarray
    )  # float64[*]: highest `expected_weight` of this pass, or with `TOP` the K highest, in order
    ended: (
        np.ndarray
    )  # float64[1]: with `apart`, log-sum of the weights that have ended a sentence in this pass


@jitable
def new_rounding(search, sums):
    """A search before the first word."""
    size = search.particles if search.scheme == TOP else 1
    return Rounding(search, sums, _lead_of_the_last(search), np.full(size, -inf), np.full(1, -inf))


@jit
def expected_weight(weight, depth, heuristic, search):
    """The log-weight of a derivation with its tag's promise, less the expected cost of attaching its open
    words.
    """
    return weight + heuristic - search.lookahead * depth


@jitable
def _lead_of_the_last(search):
    """How far behind the best one, in nats of `expected_weight`, a derivation gets no particle in selection.
    By k * theta, one particle against K, it needs 1 / K of the mass; by theta ** (1 / temperature), the same
    without k.
    """
    nats = search.temperature if search.marginals else 2.0
    return nats * log(float(search.particles)) + _ATTACHMENTS * search.lookahead


@jitable
def is_pursued(rounding, weight, depth, heuristic):
    """Whether a derivation may still be selected: a hopeless one would attach, a particle at a time, down to
    the bottom of its stack.
    """
    if rounding.search.scheme == TOP:
        # Behind the word, there is one item on the stack at least.
        return expected_weight(weight, 1, heuristic, rounding.search) >= rounding.best[-1]
    expected = expected_weight(weight, depth, heuristic, rounding.search)
    return expected >= rounding.best[0] - rounding.lead


@jitable
def note_arrival(rounding, weight, depth, heuristic):
    """Enter a derivation that is through with the pass into `rounding.best`."""
    best, expected = rounding.best, expected_weight(weight, depth, heuristic, rounding.search)
    if len(best) == 1:
        best[0] = max(best[0], expected)
        return
    place = len(best)
    while place > 0 and best[place - 1] < expected:
        if place < len(best):
            best[place] = best[place - 1]
        place -= 1
    if place < len(best):
        best[place] = expected


@jitable
def round_shift(rounding, particles, p_shift, p_reduce):
    """How many of a derivation's particles shift: nShift = round(k p(shift)), where there is a choice."""
    if p_shift == 0.0 or p_reduce == 0.0:
        return 0 if p_shift == 0.0 else particles
    if rounding.search.scheme == TOP:
        return particles // 2
    return np.int64(floor(particles * p_shift + 0.5))


@jitable
def allot_rounded(rounding, options, count, particles):
    """Give each option, the most promising one first, its share of the particles left; the options change
    their order.
    """
    if rounding.search.scheme == TOP:
        for i in range(count):
            options.particles[i] = 2 * len(options.outcome) if options.probability[i] > 0.0 else 0
        return
    outcome, probability, heuristic = options.outcome, options.probability, options.heuristic
    priority, highest, left = options.priority, -inf, 0.0
    for i in range(count):
        highest = max(highest, heuristic[i])
    for i in range(count):
        priority[i] = probability[i] * exp(heuristic[i] - highest)
        left += priority[i]
    for i in range(count):
        best = i
        for j in range(i + 1, count):
            if priority[j] > priority[best]:
                best = j
        # Those between keep their order: of equals the first one comes first.
        for j in range(best, i, -1):
            outcome[j], outcome[j - 1] = outcome[j - 1], outcome[j]
            probability[j], probability[j - 1] = probability[j - 1], probability[j]
            heuristic[j], heuristic[j - 1] = heuristic[j - 1], heuristic[j]
            priority[j], priority[j - 1] = priority[j - 1], priority[j]
        options.particles[i] = share(particles, priority[i], left) if particles > 0 else 0
        particles -= options.particles[i]
        left -= priority[i]


@jit
def share(particles, probability, mass):
    """The best option's share of the remaining particles, at least one."""
    return max(1, min(particles, np.int64(floor(particles * probability / mass + 0.5))))


@jitable
def select(rounding, beam, size, word, is_last):
    """Selection step: find how much the word adds to the sum of the weights, and which derivations go on, and
    return how many. In the last pass, `is_last`, derivations have been finished.
    """
    search, prefix = rounding.search, log_sum(beam.weight, size)
    left = size
    if search.scheme == TOP:
        left = keep_best(beam, size, rounding)
    elif not is_last:
        left = reallocate(beam, size, search.particles, search)
    if is_last:
        add_end(rounding.sums, word, log_sum(beam.weight, left))
    else:
        add_word(rounding.sums, word, prefix)
    rounding.best[:] = -inf
    return left


@jitable
def keep_best(beam, size, rounding):
    """Keep the K best derivations, of equals those that were found first. Returns how many there are."""
    least, room = rounding.best[-1], len(rounding.best)
    for i in range(size):
        room -= expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], rounding.search) > least
    left = 0
    for i in range(size):
        expected = expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], rounding.search)
        if expected > least or (expected == least and room > 0):
            room -= expected == least
            left = keep(beam, i, left, beam.particles[i])
    return left


@jit
def reallocate(beam, size, particles, search):
    """Reallocate K particles in proportion to k * theta, and drop the derivations that get none.

    k * theta counts the past again at each step, and soon one derivation has all particles. That serves the
    search for the best one; for marginals, K particles are shared by theta ** (1 / temperature) alone.
    Derivations that delay attachments are under-penalised, so theta is reduced by the expected cost of each
    open word. RETURNS how many derivations are left, at least one.
    """
    highest = -inf
    for i in range(size):
        highest = max(highest, _expected(beam, i, search))
    mass = 0.0
    for i in range(size):
        mass += _multiplicity(beam, i, search) * exp(_expected(beam, i, search) - highest)
    best, best_share = 0, -1.0
    left = 0
    for i in range(size):
        proportion = _multiplicity(beam, i, search) * exp(_expected(beam, i, search) - highest) / mass
        if proportion > best_share:
            best, best_share = i, proportion
        count = np.int64(floor(particles * proportion))
        if count > 0:
            left = keep(beam, i, left, count * search.spread)
    return left if left > 0 else keep(beam, best, left, particles * search.spread)


@jit
def _multiplicity(beam, i, search):
    return 1 if search.marginals else beam.particles[i]


@jit
def _expected(beam, i, search):
    expected = expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], search)
    return expected / search.temperature if search.marginals else expected
