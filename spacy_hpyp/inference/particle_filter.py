"""The particle filter: weighted derivations of the same words, word by word.

A beam holds derivations that have generated the same number of words. Each carries a log-weight, log theta,
and a count of particles, k: particles that have done the same have the same weight and are entered once. A
pass divides the particles of each derivation between generating the next word and attaching first; a
selection follows. The loop is `run`. What differs is handed to it:

* the *task*: what is derived. `weigh_actions`, `weigh_attachments` and `weigh_tokens` say what a
  configuration can be followed by and how probable it is; its transition *system* does it, by `attach` and
  `generate`;
* the resampling *scheme*: how many particles take which option, what that makes of their weight, and which go
  on after a word. Algorithm 1 rounds (`rounding`), posterior sampling draws (`drawing`), and a beam of fixed
  size tries everything and prunes it (`pruning`).

A *watcher* may look at the beam after each word. With a derivation that one particle follows and that is
never dropped, `run` is the conditional filter of particle Gibbs sampling (Andrieu, Doucet & Holenstein 2010).
"""

from math import log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, generic, generic_default, inner_maker, maker, overwrite
from .beam import append, longer_beam, new_beam

_SMALLEST = 1024


@by_reference
class Options(NamedTuple):
    """What a derivation can go on with.

    outcome (int32[*]): Which attachments, or which tokens.
    probability (float64[*]): How probable each is.
    particles (int64[*]): How many particles take it.
    heuristic (float64[*]): Of tokens, what can be said of the log-probability of the words to come after this
        one, in nats; 0 where nothing can be. A search may give particles by it; it is no part of any
        probability.
    priority (float64[*]): Workspace.
    """

    outcome: np.ndarray
    probability: np.ndarray
    particles: np.ndarray
    heuristic: np.ndarray
    priority: np.ndarray


@maker
def new_options(size):
    """Room for a number of options."""
    return Options(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.int64),
        np.zeros(size),
        np.empty(size),
    )


@borrowing
def mass_of(options, count):
    """The sum of the probabilities of the first options."""
    mass = 0.0
    for i in range(count):
        mass += options.probability[i]
    return mass


# What a transition system does.


@generic
def begin(system, records):
    """Write the records that every derivation starts from.

    RETURNS (tuple[int, int]): How many there are, and which of them is the initial configuration.
    """


@generic
def compact(system, records, used, tops):
    """Forget the records that some configurations were not derived by, and move the others to the front.

    tops (int32[m]): The configurations that are still needed; overwritten with where they are now.
    RETURNS (int): How many records are left.
    """


@generic
def attach(system, records, used, top, outcome):
    """Execute an attachment. Writes record `used`."""


@generic
def generate(system, records, used, top, word, outcome):
    """Generate a word. Writes record `used`."""


# What a task does. Its fields are the transition `system`, `options` (Options), `length`, the number of
# words, and `passes`, how many times `run` passes over the beam: once for each word and, if the derivations
# are to be finished, once more.


@generic
def weigh_actions(task, records, top, word):
    """How probable it is to generate next, and to attach.

    word (int): Which word is generated next; behind the last one there is nothing to generate.
    RETURNS (tuple[float, float]): The two probabilities; their sum is 0 where nothing is possible.
    """


@generic
def weigh_attachments(task, records, top, word, particles):
    """Enter the attachments that are possible in `task.options`. Returns how many there are.

    particles (int): How many particles will be divided: what would not get one need not be found.
    """


@generic
def weigh_tokens(task, records, top, word, particles):
    """Enter what the next word can be generated as in `task.options`.

    particles (int): How many particles will be divided: what would not get one need not be found.
    RETURNS (tuple[int, float]): How many options there are, and the probability of all tags of the word,
        entered or not.
    """


@generic_default
def watch(watcher, task, records, used, beam, size, word):
    """Look at the derivations that go on after a word. `records` and `beam` must stay as they are.

    watcher (NamedTuple | None): Who looks.
    used (int): How many records there are.
    """


# What a resampling scheme does.


@generic_default
def is_pursued(scheme, weight, depth, heuristic):
    """Whether a derivation with a log-weight, a depth of the stack and a heuristic may still count."""
    return True


@generic_default
def take_out(scheme, beam, first, size):
    """Take the derivation at place `first` out of those that are still to be continued.

    beam (Beam), first (int), size (int): They are at places from `first` up to `size`; their order may
        change.
    RETURNS (tuple[int, int]): `first` and `size` of the rest. The one to be continued next is at place
        `first`.
    """
    return first + 1, size


@generic_default
def put_in(scheme, beam, size):
    """Let a derivation that has been entered at the last place, `size` - 1, take its turn among those to be
    continued.
    """


@generic
def divide(scheme, weight, depth, particles, p_generate, p_attach, is_held, holds_word):
    """How many of a derivation's particles generate the next word; the others attach.

    weight (float), depth (int): Its log-weight and the depth of its stack.
    is_held, holds_word (bool): Whether one of them follows a given derivation, and whether that generates.
    """


@generic
def allot(scheme, options, count, mass, particles, held):
    """Give particles to the first options: `options.particles`. The options may change their order.

    count (int): How many options there are.
    mass (float): The sum of their probabilities.
    particles (int): How many particles there are.
    held (int): The outcome that one of them takes in any case, or `NONE`.
    """


@generic_default
def gain(scheme, probability, mass):
    """The factor of the weight, as a log, of a particle that took an option out of some with a sum of
    probabilities.
    """
    return log(probability)


@generic_default
def note(scheme, weight, probability, generated, depth, heuristic):
    """Take note of a derivation that generates the next word.

    weight (float): Its log-weight before.
    probability (float): That it generates, and a tag that the word may have.
    generated (float), depth (int), heuristic (float): Log-weight, depth of the stack and heuristic once it
        has generated the word as the first of the options.
    """


@generic_default
def arrive(scheme, weight, depth, heuristic):
    """Take note of a derivation that is through with the pass: it has generated the word, or is finished at
    last.
    """


@generic
def select(scheme, beam, size, held, word, is_last):
    """End a pass: say which derivations go on, with how many particles.

    beam (Beam): Changed in place.
    held (int): The derivation that one particle follows, or `NONE`.
    word (int): Which word has been generated.
    is_last (bool): Whether this was the last pass, in which derivations have been finished.
    RETURNS (tuple[int, int]): How many derivations are left, and which of them is held.
    """


@inner_maker
def make_room(system, records, used, more, beam, waiting, first, size, shifted, shifted_size):
    """Forget the records that no derivation in the beam needs any more; where many are needed, take more
    room.

    At least half of the room is free then, so that the time that this takes grows with the number of records
    that are made, and the room with what the derivations in the beam have to remember, which is mostly the
    same.

    records (int32[*, FIELDS]), used (int), more (int): The records, how many there are, and how many are to
        follow.
    beam (Beam), waiting (int), first (int), size (int): The derivations at places up to `waiting`, and from
        `first` up to `size`, which are still to be divided.
    shifted (Beam), shifted_size (int): Those that have generated the next word.
    RETURNS (tuple[int32[*, FIELDS], int]): The records, and how many are left. The beams refer to them.
    """
    tops = np.concatenate((beam.record[:waiting], beam.record[first:size], shifted.record[:shifted_size]))
    used = compact(system, records, used, tops)
    divided = waiting + size - first
    overwrite(beam.record, tops[:waiting])
    overwrite(beam.record[first:size], tops[waiting:divided])
    overwrite(shifted.record, tops[divided:])
    if max(2 * used, used + more) > len(records):
        larger = np.empty((2 * used + more, records.shape[1]), dtype=records.dtype)
        overwrite(larger.reshape(-1), records[:used].reshape(-1))
        records = larger
    return records, used


class Path(NamedTuple):
    """A derivation that one particle follows.

    attachments (int32[*]): In order, `NONE` where it generates a word; or empty, if there is none.
    tokens (int32[n]): What it generates the words as; or empty.
    """

    attachments: np.ndarray
    tokens: np.ndarray


@inner_maker
def search_step(
    task, scheme, records, used, beam, first, size, shifted, shifted_size, word, path, held, step
):
    """Search step: divide derivations until they have generated a word or, behind the last one, are finished.

    records (int32[*, FIELDS]), used (int): Written on.
    beam (Beam), first (int), size (int): The derivations are at places from `first` up to `size`. Those that
        attach are entered behind them, and so continued in the same pass; places before `first` stay as they
        are.
    shifted (Beam), shifted_size (int): Those that are through are entered behind the first `shifted_size`.
    word (int): Which word it is.
    path (Path), held (int), step (int): What one particle follows, which derivation that is, or `NONE`, and
        how far it has come.
    RETURNS (tuple[records, int, Beam, Beam, int, int, int]): `records` and `used`, both beams, grown as was
        needed, `shifted_size`, the derivation there that one particle follows, and `step`.
    """
    system, options = task.system, task.options
    shifted_held = NONE
    i = first
    while i < size:
        # Each new derivation has a particle at least.
        room = min(beam.particles[i], 2 * len(options.outcome)) + 1
        if used + room > len(records):
            records, used = make_room(
                system, records, used, room, beam, first, i, size, shifted, shifted_size
            )
        while size + room > len(beam.record):
            beam = longer_beam(beam)
        while shifted_size + room > len(shifted.record):
            shifted = longer_beam(shifted)
        top, theta, k, depth = np.int64(beam.record[i]), beam.weight[i], beam.particles[i], beam.depth[i]
        heuristic = beam.heuristic[i]
        is_held = i == held
        i, size = take_out(scheme, beam, i, size)
        if word == task.length and depth == 1:
            shifted_held = shifted_size if is_held else shifted_held
            shifted_size = append(shifted, shifted_size, top, theta, k, depth, heuristic)
            arrive(scheme, theta, depth, heuristic)
            continue
        if not is_pursued(scheme, theta, depth, heuristic):
            continue
        p_generate, p_attach = weigh_actions(task, records, top, word)
        if p_generate + p_attach == 0.0:
            continue
        follows = np.int64(path.attachments[step]) if is_held else NONE
        step += is_held
        k_generate = divide(
            scheme, theta, depth, k, p_generate, p_attach, is_held, is_held and follows == NONE
        )
        k_attach = k - k_generate
        if k_attach > 0:
            count = weigh_attachments(task, records, top, word, k_attach)
            allot(scheme, options, count, mass_of(options, count), k_attach, follows)
            for j in range(count):
                if options.particles[j] == 0:
                    continue
                attach(system, records, used, top, options.outcome[j])
                held = size if is_held and options.outcome[j] == follows else held
                weight = theta + gain(scheme, options.probability[j], p_generate + p_attach)
                size = append(beam, size, used, weight, options.particles[j], depth - 1, heuristic)
                put_in(scheme, beam, size)
                used += 1
        if k_generate > 0:
            generated = theta + gain(scheme, p_generate, p_generate + p_attach)
            count, p_tags = weigh_tokens(task, records, top, word, k_generate)
            mass = mass_of(options, count)
            if mass == 0.0:
                continue
            holds = is_held and follows == NONE
            follows = np.int64(path.tokens[word]) if holds else NONE
            allot(scheme, options, count, mass, k_generate, follows)
            begun = shifted_size
            for j in range(count):
                if options.particles[j] == 0:
                    continue
                generate(system, records, used, top, word, options.outcome[j])
                shifted_held = shifted_size if holds and options.outcome[j] == follows else shifted_held
                weight = generated + gain(scheme, options.probability[j], mass)
                heuristic = options.heuristic[j]
                shifted_size = append(
                    shifted, shifted_size, used, weight, options.particles[j], depth + 1, heuristic
                )
                arrive(scheme, weight, depth + 1, heuristic)
                used += 1
            note(
                scheme, theta, p_generate * p_tags, shifted.weight[begun], depth + 1, shifted.heuristic[begun]
            )
    return records, used, beam, shifted, shifted_size, shifted_held, step


@inner_maker
def run(task, scheme, particles, retained, retained_tokens, records, watcher):
    """Pass over the words of a task.

    particles (int): K, at least 1.
    retained (int32[*]), retained_tokens (int32[n]): The derivation that one particle follows, see `Path`; or
        empty.
    records (int32[*, FIELDS]): Written on.
    watcher (NamedTuple | None): See `watch`.
    RETURNS (tuple[records, Beam, int]): The records, grown as was needed, the final beam and its size.
    """
    used, top = begin(task.system, records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    size = append(beam, 0, top, 0.0, particles, 1, 0.0)
    path, held, step = Path(retained, retained_tokens), 0 if len(retained) > 0 else NONE, 0
    # Constants of NumPy, for which nothing is compiled anew.
    start = np.int64(0)
    for word in range(task.passes):
        records, used, shifted, beam, size, held, step = search_step(
            task, scheme, records, used, beam, start, size, shifted, start, word, path, held, step
        )
        size, held = select(scheme, beam, size, held, word, word == task.passes - 1)
        watch(watcher, task, records, used, beam, size, word)
    return records, beam, size
