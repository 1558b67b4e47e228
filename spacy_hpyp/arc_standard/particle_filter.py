"""Algorithm 1 of Buys & Blunsom (2015), a particle filter: weighted derivations of the same words, word by
word.

A beam holds derivations that have generated the same number of words. Each has a log-weight, log theta, and a
number of particles, k: particles that have done the same are entered once. In the search step each derivation
divides its particles between shifting the next word and reducing; the selection step says which derivations
go on, and with how many particles.

The resampling scheme is rounding, as in Algorithm 1, or a beam of fixed size (`inference.rounding`); or
drawing (`inference.drawing`), for posterior sampling. With a path that one particle follows and that is never
dropped, the latter is the conditional filter of particle Gibbs sampling (Andrieu, Doucet & Holenstein 2010).

The continuations of a configuration come from a *task*: `weigh_actions`, `weigh_attachments` and
`weigh_tokens`. Its fields are `options` (Options), `words` (int32[n]), and `passes`, the number of passes
over the beam: one for each word and, if derivations are to be finished, one more.
"""

from math import log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, dispatch, jit, jitable, overwrite, struct
from ..inference.beam import append, log_add, longer_beam, new_beam
from ..inference.drawing import allot_drawn, resample, split
from ..inference.rounding import TOP, allot_rounded, is_pursued, note_arrival, round_shift, select
from .configuration import ROOT, begin, compact, reduce, shift

_SMALLEST = 1024


@struct
class Options(NamedTuple):
    """Continuations of a derivation: attachments, or tags of the next word."""

    outcome: np.ndarray  # int32[*]
    probability: np.ndarray  # float64[*]
    particles: np.ndarray  # int64[*]: how many particles take each
    heuristic: np.ndarray  # float64[*]: estimates of the log-probability of the words after this one, or 0
    priority: np.ndarray  # float64[*]: workspace


@jitable
def new_options(size):
    """Room for a number of options."""
    return Options(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.zeros(size),
        np.empty(size),
    )


@jit
def mass_of(options, count):
    """The sum of the probabilities of the first options."""
    mass = 0.0
    for i in range(count):
        mass += options.probability[i]
    return mass


@dispatch
def weigh_actions(task, records, top, word):
    """The probabilities of shifting `word` and of reducing; their sum is 0 where nothing is possible."""


@dispatch
def weigh_attachments(task, records, top, word, particles):
    """Enter the possible attachments in `task.options`, or those that may get one of the particles; return
    the count.
    """


@dispatch
def weigh_tokens(task, records, top, word, particles):
    """Enter the tags of the next word, with its own probability, in `task.options`.

    RETURNS (tuple[int, float]): How many options there are, and the probability of all tags of the word,
        entered or not.
    """


class Path(NamedTuple):
    """A derivation that one particle follows, or empty: attachments in order, `NONE` for each shift, and
    tags.
    """

    attachments: np.ndarray
    tags: np.ndarray


@jitable
def make_room(records, used, more, beam, waiting, first, size, shifted, shifted_size):
    """Forget the records that no derivation needs any more; if many are needed, take more room.

    At least half of the room is free then, so the time grows with the number of records made. The derivations
    that are needed are those of `shifted`, and those of `beam` up to `waiting` and from `first` up to `size`.
    RETURNS the records and how many are left.
    """
    tops = np.concatenate((beam.record[:waiting], beam.record[first:size], shifted.record[:shifted_size]))
    used = compact(records, used, tops)
    divided = waiting + size - first
    overwrite(beam.record, tops[:waiting])
    overwrite(beam.record[first:size], tops[waiting:divided])
    overwrite(shifted.record, tops[divided:])
    if max(2 * used, used + more) > len(records):
        larger = np.empty((2 * used + more, records.shape[1]), dtype=records.dtype)
        overwrite(larger.reshape(-1), records[:used].reshape(-1))
        records = larger
    return records, used


@jitable
def search_step(
    task, rounding, rng, records, used, beam, first, size, shifted, shifted_size, word, path, held, step
):
    """Search step: divide derivations until they have shifted a word or, behind the last one, are finished.

    rounding (Rounding | None), rng (numpy.random.Generator | None): How to divide particles; one is None.
    beam (Beam), first (int), size (int): The derivations are at places from `first` up to `size`; those that
        reduce are entered behind them, and continued in the same pass.
    shifted (Beam), shifted_size (int): Those that are through are entered behind the first `shifted_size`.
    path (Path), held (int), step (int): What one particle follows, which derivation that is, or `NONE`, and
        how far it has come.
    RETURNS (tuple): `records`, `used`, `beam`, `shifted`, `shifted_size`, `held` among these, and `step`.
    """
    options = task.options
    shifted_held = NONE
    i = first
    while i < size:
        # Each new derivation has a particle at least.
        room = min(beam.particles[i], 2 * len(options.outcome)) + 1
        if used + room > len(records):
            records, used = make_room(records, used, room, beam, first, i, size, shifted, shifted_size)
        while size + room > len(beam.record):
            beam = longer_beam(beam)
        while shifted_size + room > len(shifted.record):
            shifted = longer_beam(shifted)
        top, theta, k, depth = np.int64(beam.record[i]), beam.weight[i], beam.particles[i], beam.depth[i]
        heuristic, is_held = beam.heuristic[i], i == held
        i += 1
        if word == len(task.words) and depth == 1:
            shifted_held = shifted_size if is_held else shifted_held
            shifted_size = append(shifted, shifted_size, top, theta, k, depth, heuristic)
            if rounding is not None:
                if rounding.search.scheme == TOP:
                    note_arrival(rounding, theta, depth, heuristic)
            continue
        if rounding is not None:
            if not is_pursued(rounding, theta, depth, heuristic):
                continue
        p_shift, p_reduce = weigh_actions(task, records, top, word)
        if p_shift + p_reduce == 0.0:
            continue
        follows = np.int64(path.attachments[step]) if is_held else NONE
        step += is_held
        holds_shift = is_held and follows == NONE
        # Numba leaves out a branch whose argument is None.
        k_shift = np.int64(0)
        if rounding is not None:
            k_shift = round_shift(rounding, k, p_shift, p_reduce)
        if rng is not None:
            k_shift = split(k, p_shift, p_reduce, is_held, holds_shift, rng)
        k_reduce = k - k_shift
        if k_reduce > 0:
            count = weigh_attachments(task, records, top, word, k_reduce)
            if rounding is not None:
                allot_rounded(rounding, options, count, k_reduce)
            if rng is not None:
                allot_drawn(options, count, mass_of(options, count), k_reduce, follows, rng)
            for j in range(count):
                if options.particles[j] == 0:
                    continue
                reduce(records, used, top, options.outcome[j])
                held = size if is_held and options.outcome[j] == follows else held
                weight, particles = theta, options.particles[j]
                if rng is not None:
                    weight += log(p_shift + p_reduce)
                if rounding is not None:
                    weight += log(options.probability[j])
                    if rounding.search.apart and depth == 2:
                        # The end of a sentence that running text is made of.
                        rounding.ended[0] = log_add(rounding.ended[0], weight)
                        particles = 0
                size = append(beam, size, used, weight, particles, depth - 1, heuristic)
                used += 1
        if k_shift > 0:
            count, p_tags = weigh_tokens(task, records, top, word, k_shift)
            mass = mass_of(options, count)
            if mass == 0.0:
                continue
            follows = np.int64(path.tags[word]) if holds_shift else NONE
            weight = theta
            if rng is not None:
                allot_drawn(options, count, mass, k_shift, follows, rng)
                weight += log(p_shift + p_reduce) + log(mass)
            if rounding is not None:
                allot_rounded(rounding, options, count, k_shift)
                weight += log(p_shift)
                rounding.sums.tagged[0] = log_add(rounding.sums.tagged[0], theta + log(p_shift * p_tags))
            for j in range(count):
                if options.particles[j] == 0:
                    continue
                shift(records, used, top, options.outcome[j], task.words[word])
                shifted_held = shifted_size if holds_shift and options.outcome[j] == follows else shifted_held
                shifted_weight, promise = weight, options.heuristic[j]
                if rounding is not None:
                    shifted_weight += log(options.probability[j])
                    note_arrival(rounding, shifted_weight, depth + 1, promise)
                shifted_size = append(
                    shifted, shifted_size, used, shifted_weight, options.particles[j], depth + 1, promise
                )
                used += 1
    return records, used, beam, shifted, shifted_size, shifted_held, step


@jitable
def run(task, rounding, particles, path, records, rng):
    """Algorithm 1: pass over the words of a task. Returns the records, the final beam and its size."""
    used = begin(records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    size = append(beam, 0, ROOT, 0.0, particles, 1, 0.0)
    held, step = 0 if len(path.attachments) > 0 else NONE, 0
    # Constants of NumPy, for which nothing is compiled anew.
    start = np.int64(0)
    for word in range(task.passes):
        records, used, shifted, beam, size, held, step = search_step(
            task, rounding, rng, records, used, beam, start, size, shifted, start, word, path, held, step
        )
        is_last = word == task.passes - 1
        if rounding is not None:
            size = select(rounding, beam, size, word, is_last)
        if rng is not None:
            if not is_last and size > 0:
                size, held = resample(beam, size, held, particles, rng)
    return records, beam, size
