"""Beam search: after each word so many derivations are kept, the most probable ones (B&B section 5.2).

Where Algorithm 1 divides particles, everything that a derivation can be followed by is tried here. A word's
derivations multiply with the depth of their stacks, but weights never rise: once as many as are to be kept
have generated the word, one that could not catch up with the last of these, whatever it does, is given up.
The most probable ones are continued first, so that no other is continued in vain, and the beam is the same as
if all of them had been.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import implements, inner, inner_maker
from .beam import Sums, add_end, add_word, keep, log_sum, note_tagged, swap
from .particle_filter import allot, arrive, divide, is_pursued, note, put_in, select, take_out
from .rounding import Search, expected_weight


class BeamSearch(Search):
    """How to search with a beam of fixed size: `particles` is how many derivations are kept.

    These are the ones that are best by `lookahead` and `outlook`, too, where these are not 0. `tag_threshold`
    should be 0, as there are no particles that a tag could get a part of; `attachments`, `spread` and, in the
    selection, `temperature` have no meaning.
    """

    __slots__ = ()


class Pruning(NamedTuple):
    """A beam of fixed size at work on n words.

    search (BeamSearch): How many derivations are kept, and what corrects their weights.
    sums (Sums): What the weights say of the words.
    options (int): How many options a derivation has at the most. It has a particle for each, so that none
        goes without, and each option has as many again.
    highest (float64[n + 1]): The highest heuristic that a derivation can have after each pass.
    word (int64[1]): Which word is generated in the present pass.
    best (float64[K]): The highest `expected_weight`s of what has come through the present pass, in order;
        -inf where there are fewer. What is below the last of them cannot be kept.
    """

    search: BeamSearch
    sums: Sums
    options: int
    highest: np.ndarray
    word: np.ndarray
    best: np.ndarray


@inner_maker
def new_pruning(search, options, highest, sums):
    """A beam of fixed size before the first word; for the arguments see `Pruning`."""
    return Pruning(
        search, sums, options, highest, np.zeros(1, dtype=np.int64), np.full(search.particles, -inf)
    )


@implements(divide, Pruning)
@inner
def _divide(scheme, weight, depth, particles, p_generate, p_attach, is_held, holds_word):
    if p_generate == 0.0 or not _can_be_kept(scheme, weight + log(p_generate), depth + 1):
        return 0
    return particles if p_attach == 0.0 else particles // 2


@implements(allot, Pruning)
@inner
def _allot(scheme, options, count, mass, particles, held):
    for i in range(count):
        options.particles[i] = scheme.options if options.probability[i] > 0.0 else 0


@implements(is_pursued, Pruning)
@inner
def _is_pursued(scheme, weight, depth, heuristic):
    # Behind the word, there is one item on the stack at least.
    return _can_be_kept(scheme, weight, 1)


@inner
def _can_be_kept(scheme, weight, depth):
    """Whether a derivation of that weight, with such a stack behind the word, may be among the best, by what
    has come through so far.
    """
    return expected_weight(weight, depth, scheme.highest[scheme.word[0]], scheme.search) >= scheme.best[-1]


@implements(take_out, Pruning)
@inner
def _take_out(scheme, beam, first, size):
    """Those to be continued are a heap, the most probable one first: what it could become does not depend on
    anything else.
    """
    size -= 1
    swap(beam, 0, size)
    place = 0
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and beam.weight[below + 1] > beam.weight[below]:
            below += 1
        if beam.weight[below] <= beam.weight[place]:
            break
        swap(beam, place, below)
        place = below
    return 0, size


@implements(put_in, Pruning)
@inner
def _put_in(scheme, beam, size):
    place = size - 1
    while place > 0 and beam.weight[(place - 1) // 2] < beam.weight[place]:
        swap(beam, place, (place - 1) // 2)
        place = (place - 1) // 2


@implements(note, Pruning)
@inner
def _note(scheme, weight, probability, generated, depth, heuristic):
    note_tagged(scheme.sums, weight + log(probability))


@implements(arrive, Pruning)
@inner
def _arrive(scheme, weight, depth, heuristic):
    best, expected = scheme.best, expected_weight(weight, depth, heuristic, scheme.search)
    place = len(best)
    while place > 0 and best[place - 1] < expected:
        if place < len(best):
            best[place] = best[place - 1]
        place -= 1
    if place < len(best):
        best[place] = expected


@implements(select, Pruning)
@inner
def _select(scheme, beam, size, held, word, is_last):
    """Find what the word adds to the sum of the weights, and keep the best derivations, of equals those that
    were found first.
    """
    prefix = log_sum(beam.weight, size)
    least, room = scheme.best[-1], len(scheme.best)
    for i in range(size):
        room -= expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], scheme.search) > least
    left = 0
    for i in range(size):
        expected = expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], scheme.search)
        if expected > least or (expected == least and room > 0):
            room -= expected == least
            left = keep(beam, i, left, beam.particles[i])
            _put_in(scheme, beam, left)
    kept = log_sum(beam.weight, left)
    if is_last:
        add_end(scheme.sums, word, kept)
    else:
        add_word(scheme.sums, word, prefix, prefix)
        scheme.word[0] += 1
        scheme.best[:] = -inf
    return left, held
