"""A particle filter over the derivations of given words: unbiased sums, and draws from the posterior.

Unlike Algorithm 1, which divides particles by rounding, every particle here draws what it does at random. Actions are drawn
in proportion to their probabilities among those that are possible, and tags in proportion to p(tag) p(word | tag); a
particle's weight is multiplied by the sum of what it could choose from. The mean of the weights is an unbiased estimate
of the probability of the words (Doucet, de Freitas & Gordon 2001). Particles that have done the same have the same weight and
are entered as one derivation with a count.

With a particle that follows a given derivation and is never dropped, this is the conditional filter of particle Gibbs
sampling (Andrieu, Doucet & Holenstein 2010): given a derivation from the posterior, it draws another one from the
posterior, however few particles there are.
"""

from math import exp, inf, log
from typing import Any, NamedTuple

import numpy as np

from ..compiled import borrowing, compiled, inner
from ..hpyp.franchise import NONE
from ..inference.beam import append, log_sum, longer, longer_beam, new_beam
from ..inference.resampling import resample
from ..pools.prediction import alphabet_of, predict, predict_one, workspace
from .configuration import (
    DEPTH,
    END,
    ENDS,
    FIELDS,
    LEFT_ARCS,
    PREVIOUS,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    SHIFTS,
    begin,
    derivation,
    kind_of,
    left_arc,
    reduce,
    right_arc,
    shift,
)
from .contexts import read_context
from .proposals import is_factored

_SMALLEST = 1024


class Distributions(NamedTuple):
    """What sentences are generated from, frozen (`FrozenPool`) or while it learns (`SeatedPool`).

    transition, label, tag, word: The pools.
    tag_offsets (int64[words + 1]), candidate_tags (int32[*]): The tags that each word may have.
    """

    transition: Any
    label: Any
    tag: Any
    word: Any
    tag_offsets: np.ndarray
    candidate_tags: np.ndarray


class Options(NamedTuple):
    """Workspace: what a particle can choose from.

    action (float64[actions]): The probabilities of the actions that are possible.
    label (float64[labels]), direction (float64[*]): What they are made of.
    tag (float64[tags]): p(tag) p(word | tag).
    tag_only (float64[tags]): p(tag).
    transition_row, label_row, tag_row, word_row (int32[*]): Context rows.
    transition_scratch, label_scratch, tag_scratch, word_scratch: Workspace of the pools.
    """

    action: np.ndarray
    label: np.ndarray
    direction: np.ndarray
    tag: np.ndarray
    tag_only: np.ndarray
    transition_row: np.ndarray
    label_row: np.ndarray
    tag_row: np.ndarray
    word_row: np.ndarray
    transition_scratch: Any
    label_scratch: Any
    tag_scratch: Any
    word_scratch: Any


@compiled
def new_options(model):
    """Workspace that fits a model, to be dropped when the seating changes."""
    return Options(
        np.empty(2 + 2 * alphabet_of(model.label)),
        np.empty(alphabet_of(model.label)),
        np.empty(alphabet_of(model.transition)),
        np.empty(alphabet_of(model.tag)),
        np.empty(alphabet_of(model.tag)),
        np.empty(len(model.transition.elements), dtype=np.int32),
        np.empty(len(model.label.elements), dtype=np.int32),
        np.empty(len(model.tag.elements), dtype=np.int32),
        np.empty(len(model.word.elements), dtype=np.int32),
        workspace(model.transition),
        workspace(model.label),
        workspace(model.tag),
        workspace(model.word),
    )


@inner
def weigh_actions(model, records, top, options):
    """Find the probability of every action that exists in a configuration: `options.action`, 0 for the others."""
    depth = records[top, DEPTH]
    action = options.action
    action[:] = 0.0
    read_context(model.transition.elements, records, top, 0, options.transition_row)
    if not is_factored(model):
        predict(model.transition, options.transition_row, 0, options.transition_scratch, action)
        if depth < 3:
            action[END + 1 :] = 0.0
        if depth != 2:
            action[END] = 0.0
        return
    if depth == 1:
        action[SHIFT] = 1.0
        return
    predict(model.transition, options.transition_row, kind_of(depth), options.transition_scratch, options.direction)
    action[SHIFT] = options.direction[SHIFTS]
    action[END] = options.direction[ENDS]
    for direction in (LEFT_ARCS, RIGHT_ARCS):
        if options.direction[direction] > 0.0:
            read_context(model.label.elements, records, top, direction, options.label_row)
            predict(model.label, options.label_row, 0, options.label_scratch, options.label)
            for label in range(len(options.label)):
                arc = left_arc(label) if direction == LEFT_ARCS else right_arc(label)
                action[arc] = options.direction[direction] * options.label[label]


@inner
def weigh_tags(model, records, top, word, given, every_tag, options):
    """Find p(tag) p(word | tag) of every tag that a word may have: `options.tag`, 0 for the others.

    given (int): The word's tag where that is known, else `NONE`.
    every_tag (bool): Whether to try all tags and not only the word's candidates.
    """
    read_context(model.tag.elements, records, top, 0, options.tag_row)
    predict(model.tag, options.tag_row, 0, options.tag_scratch, options.tag_only)
    options.tag[:] = 0.0
    first, last = model.tag_offsets[word], model.tag_offsets[word + 1]
    if given != NONE:
        first, last = 0, 1
    elif every_tag:
        first, last = 0, len(options.tag)
    for i in range(first, last):
        tag = given if given != NONE else i if every_tag else model.candidate_tags[i]
        read_context(model.word.elements, records, top, tag, options.word_row)
        options.tag[tag] = options.tag_only[tag] * predict_one(model.word, options.word_row, word, options.word_scratch)


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
def draw_counts(weights, mass, count, held, rng, counts):
    """Let each of some particles draw an option.

    count (int): How many there are.
    held (int): What one of them takes without drawing, or `NONE`.
    counts (int64[options]): Overwritten with how many have drawn each.
    """
    counts[:] = 0
    if held != NONE:
        counts[held] += 1
        count -= 1
    for _ in range(count):
        counts[draw(weights, mass, rng)] += 1


@compiled
def sample_parse(model, words, tags, to_the_end, particles, retained, retained_tags, every_tag, rng, actions, found):
    """Draw a derivation of some words, which are one sentence, from its posterior by a particle filter.

    model (Distributions): What the words are generated from.
    words (int32[n]): Their numbers.
    tags (int32[n]): Given tags, `NONE` where the tag is to be found.
    to_the_end (bool): Whether the sentence ends with these words; else they are its first ones.
    particles (int): How many particles there are.
    retained (int32[2n] | int32[0]), retained_tags (int32[n] | int32[0]): A derivation and its tags that one particle
        follows and that is never dropped, for particle Gibbs; or empty.
    every_tag (bool): Whether to try all tags of each word and not only its candidates.
    rng (numpy.random.Generator): The source of randomness.
    actions (int32[2n]), found (int32[n]): Overwritten with the actions and tags of one of the final particles, drawn by its
        weight; of an unfinished sentence the actions so far, `NONE` behind them.
    RETURNS (float): The log of the estimate of the probability of the words (of all sentences that begin with them, if
        this is not the end), in nats. Without a retained derivation the estimate (not its log) is unbiased; with candidate tags
        only, for the sum over these.
    """
    n = len(words)
    options = new_options(model)
    action_counts = np.empty(len(options.action), dtype=np.int64)
    tag_counts = np.empty(len(options.tag), dtype=np.int64)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    used = begin(records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    size = append(beam, 0, ROOT, 0.0, particles)
    held, step = (0, 0) if len(retained) > 0 else (NONE, 0)
    # The pass after the last word only reduces; what it leaves in `shifted` are the terminal configurations.
    for word in range(n + 1 if to_the_end else n):
        all_shifted = word == n
        shifted_size, shifted_held = 0, NONE
        i = 0
        while i < size:
            top, weight, count = np.int64(beam.record[i]), beam.weight[i], beam.particles[i]
            while size + count > len(beam.record):
                beam = longer_beam(beam)
            while shifted_size + count > len(shifted.record):
                shifted = longer_beam(shifted)
            is_held = i == held
            i += 1
            if all_shifted and records[top, DEPTH] == 1:
                shifted_held = shifted_size if is_held else shifted_held
                shifted_size = append(shifted, shifted_size, top, weight, count)
                continue
            weigh_actions(model, records, top, options)
            # A sentence ends after its last word.
            options.action[SHIFT if all_shifted else END] = 0.0
            mass = options.action.sum()
            if mass == 0.0:
                continue
            weight += log(mass)
            chosen = np.int64(retained[step]) if is_held else NONE
            step += is_held
            draw_counts(options.action, mass, count, chosen, rng, action_counts)
            while used + count > len(records):
                records = longer(records)
            for action in range(len(action_counts)):
                if action == SHIFT or action_counts[action] == 0:
                    continue
                reduce(records, used, top, action)
                held = size if action == chosen else held
                size = append(beam, size, used, weight, action_counts[action])
                used += 1
            n_shift = action_counts[SHIFT]
            if n_shift == 0:
                continue
            weigh_tags(model, records, top, words[word], tags[word], every_tag, options)
            mass = options.tag.sum()
            if mass == 0.0:
                continue
            weight += log(mass)
            is_held = chosen == SHIFT
            draw_counts(options.tag, mass, n_shift, retained_tags[word] if is_held else NONE, rng, tag_counts)
            for tag in range(len(tag_counts)):
                if tag_counts[tag] > 0:
                    shift(records, used, top, tag, words[word])
                    shifted_held = shifted_size if is_held and tag == retained_tags[word] else shifted_held
                    shifted_size = append(shifted, shifted_size, used, weight, tag_counts[tag])
                    used += 1
        beam, shifted, size, held = shifted, beam, shifted_size, shifted_held
        if size == 0:
            return -inf
        if word < n - 1:
            size, held = resample(beam, size, held, particles, rng)
    for i in range(size):
        beam.weight[i] += log(beam.particles[i])
    total = log_sum(beam.weight, size)
    for i in range(size):
        beam.weight[i] = exp(beam.weight[i] - total)
    last = beam.record[draw(beam.weight[:size], beam.weight[:size].sum(), rng)]
    read_path(records, last, actions, found)
    return total - log(particles)


@borrowing
def read_path(records, last, actions, tags):
    """The actions and tags that led to a configuration, `NONE` behind them if there is room."""
    steps = 0
    record = last
    while record != ROOT:
        steps += 1
        record = records[record, PREVIOUS]
    actions[steps:] = NONE
    derivation(records, last, actions[:steps], tags)


@compiled
def estimate_log_probabilities(model, words, particles, rng, estimates):
    """Estimate the probability of a sentence several times, by particle filters that are independent of each other.

    model (Distributions), words (int32[n]), particles (int), rng (numpy.random.Generator): See `sample_parse`. All tags are
        tried, so that the estimates (not their logs) are unbiased.
    estimates (float64[replicates]): Overwritten with the logs of the estimates, in nats.
    """
    n = len(words)
    nothing = np.empty(0, dtype=np.int32)
    unknown = np.full(n, NONE, dtype=np.int32)
    actions, tags = np.empty(2 * n, dtype=np.int32), np.empty(n, dtype=np.int32)
    for replicate in range(len(estimates)):
        estimates[replicate] = sample_parse(
            model, words, unknown, True, particles, nothing, nothing, True, rng, actions, tags
        )
