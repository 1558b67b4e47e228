"""Algorithm 1 of Buys & Blunsom (2015): particles are divided by rounding instead of sampling.

In the search step the particles of a derivation are divided between generating and attaching by p(shift), and
those of either between its best options in proportion to their probabilities; the derivation's weight is
multiplied by the probability of what it takes. The selection step reallocates K particles in proportion to k
* theta and drops the derivations that get none.
"""

from math import exp, floor, inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, by_reference, compiled, implements, inner, inner_maker
from .beam import Sums, add_end, add_word, keep, log_add, log_sum, note_tagged
from .particle_filter import allot, divide, is_pursued, note, put_in, select


@by_reference
class Search(NamedTuple):
    """How to search.

    particles (int): K, how many particles the beam's derivations share.
    lookahead (float): In nats, what attaching a word that is on the stack can be expected to cost. With 0,
        the selection step is that of Algorithm 1 to the letter.
    marginals (bool): Whether to find the posterior probabilities of heads and tags. The selection step then
        keeps what stands for the posterior, and not only what may still be the best.
    consensus (bool): Whether to choose the parse with the least expected loss and not the best derivation's;
        needs `marginals`.
    temperature (float): With `marginals`, what log-weights are divided by before they are normalised, in the
        selection step and in the end; 1 for the posterior of the model.
    labels_per_arc (int): How many labels of a left- or right-arc a derivation is divided between.
    tags_per_word (int): How many tags of a word a derivation is divided between.
    tag_threshold (float): A tag is not tried if it is expected to get less than this part of a particle
        beside the best one, and no more are the labels of a direction of attaching.
    attachments (int): A derivation is given up when it would have no particle even if it went on to attach so
        many words for nothing, by `lookahead`, see `lead_of_the_last`.
    outlook (float): How much of what a tag promises of the words to come, in nats, counts where particles are
        divided and in the selection step; it never counts in a derivation's weight. With 0, they are those of
        Algorithm 1.
    guides (bool): Whether to find the most probable heads and tags of each word; needs `marginals`.
    spread (int): By how much the particles are multiplied after the selection step: what follows a word is
        divided more finely than what is kept of the words before it.
    apart (bool): Whether only the probabilities of words are to be found, and those of running text by
        `running_text.read`: sentences that begin at different words are searched for apart.
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
    guides: bool = False
    outlook: float = 0.0
    spread: int = 1
    apart: bool = False


class Rounding(NamedTuple):
    """Algorithm 1 at work on n words.

    search (Search): K, what the selection step expects, and what the beam is for.
    sums (Sums): What the weights say of the words.
    lead (float): See `lead_of_the_last`.
    best (float64[1]): The highest `expected_weight` of the present pass.
    ended (float64[1]): With `search.apart`, log of the sum of the weights of the derivations that have ended
        a sentence in the present pass.
    """

    search: Search
    sums: Sums
    lead: float
    best: np.ndarray
    ended: np.ndarray


@inner_maker
def new_rounding(search, sums):
    """Algorithm 1 before the first word."""
    return Rounding(search, sums, lead_of_the_last(search), np.full(1, -inf), np.full(1, -inf))


@implements(divide, Rounding)
@inner
def _divide(scheme, weight, depth, particles, p_generate, p_attach, is_held, holds_word):
    # nShift = round(k p(shift)), where there is a choice.
    return particles if p_attach == 0.0 else np.int64(floor(particles * p_generate + 0.5))


@implements(allot, Rounding)
@inner
def _allot(scheme, options, count, mass, particles, held):
    """Each option in turn, the most promising one first, gets its share of what is left."""
    outcome, probability, heuristic, priority = (
        options.outcome,
        options.probability,
        options.heuristic,
        options.priority,
    )
    # The sum of the priorities, not that of the probabilities.
    highest, left = -inf, 0.0
    for i in range(count):
        highest = max(highest, heuristic[i])
    for i in range(count):
        priority[i] = probability[i] * exp(heuristic[i] - highest)
        left += priority[i]
    for i in range(count):
        if particles == 0:
            options.particles[i] = 0
            continue
        best = i
        for j in range(i + 1, count):
            if priority[j] > priority[best]:
                best = j
        # Those between keep their order: of equals the first one comes first.
        found, p_found, own_heuristic, own_priority = (
            outcome[best],
            probability[best],
            heuristic[best],
            priority[best],
        )
        for j in range(best, i, -1):
            outcome[j], probability[j] = outcome[j - 1], probability[j - 1]
            heuristic[j], priority[j] = heuristic[j - 1], priority[j - 1]
        outcome[i], probability[i], heuristic[i], priority[i] = found, p_found, own_heuristic, own_priority
        options.particles[i] = share(particles, own_priority, left)
        particles -= options.particles[i]
        left -= own_priority


@implements(is_pursued, Rounding)
@inner
def _is_pursued(scheme, weight, depth, heuristic):
    # What is so far behind a derivation that has generated the word would attach, a particle at a time, down
    # to the bottom of its stack, and that for every word of a text in which nothing can be attached.
    return expected_weight(weight, depth, heuristic, scheme.search) >= scheme.best[0] - scheme.lead


@implements(put_in, Rounding)
@inner
def _put_in(scheme, beam, size):
    last = size - 1
    if scheme.search.apart and beam.depth[last] == 1:
        scheme.ended[0] = log_add(scheme.ended[0], beam.weight[last])
        beam.particles[last] = 0


@implements(note, Rounding)
@inner
def _note(scheme, weight, probability, generated, depth, heuristic):
    note_tagged(scheme.sums, weight + log(probability))
    scheme.best[0] = max(scheme.best[0], expected_weight(generated, depth, heuristic, scheme.search))


@implements(select, Rounding)
@inner
def _select(scheme, beam, size, held, word, is_last):
    """Find what the word adds to the sum of the weights, and reallocate the particles."""
    prefix = log_sum(beam.weight, size)
    if is_last:
        add_end(scheme.sums, word, prefix)
        return size, held
    left = reallocate(beam, size, scheme.search.particles, scheme.search)
    add_word(scheme.sums, word, prefix, prefix)
    scheme.best[0] = -inf
    return left, held


@compiled
def share(particles, probability, mass):
    """How many of the remaining particles the best of the remaining options gets: its share, but at least
    one.

    probability, mass (float): The option's probability, and the sum of those of the remaining options.
    """
    return max(1, min(particles, np.int64(floor(particles * probability / mass + 0.5))))


@borrowing
def expected_weight(weight, depth, heuristic, search):
    """The log-weight of a derivation with what its last tag promises of the words to come, less what
    attaching its open words can be expected to cost; see `reallocate`.
    """
    return weight + heuristic - search.lookahead * depth


@borrowing
def lead_of_the_last(search):
    """How far behind the best one, in nats of `expected_weight`, a derivation gets no particle in the
    selection step.

    Selected by k * theta, one particle at best against K, it would need 1 / K of the mass; selected by
    theta ** (1 / temperature), the same without k. A derivation that goes on to attach words gains on the
    others what it does not cost: so much is allowed for `attachments` of them.
    """
    nats = search.temperature if search.marginals else 2.0
    return nats * log(float(search.particles)) + search.attachments * search.lookahead


@borrowing
def reallocate(beam, size, particles, search):
    """Selection step: reallocate K particles in proportion to k * theta, and drop the derivations that get
    none.

    As k has come about in proportion to what theta was before, k * theta counts the past again at each step,
    and soon one derivation has all particles. That serves the search for the best one. For marginals, K
    particles are shared in proportion to theta ** (1 / temperature) alone.

    A word that waits on the stack for its head will still have to be attached. Derivations that put this off
    look better than they are, and where no end of the sentence is in sight the beam would fill up with them;
    so theta is reduced for the comparison by what each open word can be expected to cost.

    beam (Beam): The derivations, changed in place; their weights stay as they are.
    particles (int): K.
    search (Search): The expected cost, and what the beam is for.
    RETURNS (int): How many derivations are left; where none would be, the best one is kept.
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
        own = np.int64(floor(particles * proportion))
        if own > 0:
            left = keep(beam, i, left, own * search.spread)
    return left if left > 0 else keep(beam, best, left, particles * search.spread)


@borrowing
def _multiplicity(beam, i, search):
    return 1 if search.marginals else beam.particles[i]


@borrowing
def _expected(beam, i, search):
    expected = expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], search)
    return expected / search.temperature if search.marginals else expected
