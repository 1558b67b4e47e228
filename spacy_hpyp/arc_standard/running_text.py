"""The probabilities of the words of running text: sums over the places where its sentences end.

With α(s) for the probability of the words before word s and that a sentence ends there,

    α(t) = sum over s of α(s) p(words s to t - 1 are a sentence)
    p(words up to t) = sum over s of α(s) p(words s to t begin a sentence)

where α(0) = 1. For each s there is a beam of Algorithm 1 that holds the last factor: in one beam for all, a
    sentence that is improbable for a word or two would lose all of its particles.
"""

from math import ceil, exp, inf, sqrt

import numpy as np

from ..compiled import NONE, jit, jitable
from ..inference.beam import add_end, add_word, append, log_add, log_sum, new_beam, part
from ..inference.rounding import expected_weight, reallocate
from .configuration import ROOT, begin
from .particle_filter import Path, search_step

#: A sentence that may have begun at a word is given up when it has less of the probability of all of them.
NEGLIGIBLE = 1e-3
# So many can be left, besides the next one; and their bounds need one place more.
_MOST = int(1.0 / NEGLIGIBLE) + 2
_SMALLEST = 1024


@jitable
def read(task, rounding, records):
    """Pass over the words of a task, and find what each of them adds to the sum: `rounding.sums`. Returns the
    records.
    """
    search, ended, length = rounding.search, rounding.ended, len(task.words)
    used = begin(records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    # The beams of all sentences are parts of one, between two bounds each. The first is that of the sentence
    # that the next word begins.
    bounds, shifted_bounds = np.arange(_MOST), np.arange(_MOST)
    append(beam, 0, ROOT, 0.0, search.particles, 1, 0.0)
    sentences = 1
    path = Path(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32))
    none, start = np.int64(NONE), np.int64(0)
    for word in range(task.passes):
        ended[0] = 0.0 if word == 0 else -inf
        shifted_size = append(shifted, 0, ROOT, -inf, search.particles, 1, 0.0)
        begun = 1
        # The last one first: what it is followed by is entered behind it. When it is the first one's turn,
        # all others have ended.
        for sentence in range(sentences - 1, -1, -1):
            first, size = bounds[sentence], bounds[sentence + 1]
            if sentence == 0:
                beam.weight[0] = ended[0]
            rounding.best[0] = -inf
            records, used, beam, shifted, shifted_size, _, _ = search_step(
                task,
                rounding,
                None,
                records,
                used,
                beam,
                first,
                size,
                shifted,
                shifted_size,
                word,
                path,
                none,
                start,
            )
            begun += 1
            shifted_bounds[begun] = shifted_size
        if word == length:
            break
        prefix = log_sum(shifted.weight, shifted_size)
        beam, shifted = shifted, beam
        bounds, shifted_bounds = shifted_bounds, bounds
        sentences = _select(beam, bounds, begun, search)
        add_word(rounding.sums, word, prefix)
    add_end(rounding.sums, length, ended[0])
    return records


@jitable
def _select(beam, bounds, sentences, search):
    """Selection step: each sentence that is not given up gets particles of its own, and more than in
    proportion to its probability, as it may become the probable one. Returns how many are left.
    """
    total = _expected_sum(part(beam, 0, bounds[sentences]), search)
    left, end = 1, bounds[1]
    for sentence in range(1, sentences):
        start, end = end, bounds[sentence + 1]
        derivations = part(beam, start, end)
        share = exp(_expected_sum(derivations, search) - total)
        if share < NEGLIGIBLE:
            continue
        particles = np.int64(ceil(search.particles * sqrt(share)))
        size = reallocate(derivations, len(derivations.record), particles, search)
        first = bounds[left]
        for i in range(size):
            append(
                beam,
                first + i,
                derivations.record[i],
                derivations.weight[i],
                derivations.particles[i],
                derivations.depth[i],
                derivations.heuristic[i],
            )
        left += 1
        bounds[left] = first + size
    return left


@jit
def _expected_sum(beam, search):
    """Log of the sum of exp over the `expected_weight`s of some derivations."""
    total = -inf
    for i in range(len(beam.record)):
        total = log_add(total, expected_weight(beam.weight[i], beam.depth[i], beam.heuristic[i], search))
    return total
