"""All derivations of a tree that is given: their sum, and one of them drawn at random (B&B sections 2 and 5).

The probability of a sentence with its tags and its tree is the sum over the derivations of the tree. Its exact value is
found by dynamic programming over the configurations that the non-deterministic oracle leads to. Given the tree, the
words on the stack say which arcs have been added, and so everything that contexts can read but the action before; so
derivations with the same words on their stacks are continued as one.

Where there are too many configurations, and to draw a derivation from the posterior, there is a particle filter that is
constrained to the tree (Doucet, de Freitas & Gordon 2001). Particles choose among the allowed actions as the model
does, and are weighted by the probability that the choice is an allowed one and by that of the word and its tag.
Particles that have done the same have the same weight, so that they are entered as one derivation with a count. With
one particle that follows a given derivation, this is the conditional filter of particle Gibbs sampling (Andrieu, Doucet
& Holenstein 2010): given a derivation from the posterior, it draws another one from the posterior, however few
particles there are.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, compiled, inner
from ..inference.beam import append, log_sum, longer, new_beam
from ..inference.resampling import divide, resample
from .configuration import (
    ACTION,
    BELOW,
    DEPTH,
    FIELDS,
    LAST,
    LEFT_ARCS,
    POSITION,
    ROOT,
    SHIFT,
    begin,
    class_of,
    derivation,
    reduce,
    shift,
)
from .likelihood import action_probability, token_probability
from .oracle import NO_ARC, allowed_actions, gold_tree

_SMALLEST = 1024


@inner
def generate(parser, words, tags, records, used, top, action, queries):
    """Execute an action of a derivation. Writes record `used`.

    RETURNS (float): The log-probability, in nats, of the tag and the word that a shift generates; 0 for an arc.
    """
    if action != SHIFT:
        reduce(records, used, top, action)
        return 0.0
    shifted = records[records[top, LAST], POSITION]
    probability = token_probability(parser, records, top, tags[shifted], words[shifted], queries)
    shift(records, used, top, tags[shifted], words[shifted])
    return log(probability)


class Chart(NamedTuple):
    """Configurations that the same number of actions has led to.

    record (int32[*]): Their records.
    weight (float64[*]): Log-sums over the derivations that lead to each of them.
    signature (uint64[*]): What tells their stacks apart; equal stacks have equal ones.
    slots (int32[2**i]): Open addressing from the signature to the place in the chart, -1 where a slot is empty.
    """

    record: np.ndarray
    weight: np.ndarray
    signature: np.ndarray
    slots: np.ndarray


@compiled
def new_chart(size):
    """Room for a number of configurations."""
    slots = 4
    while slots < 2 * size:
        slots *= 2
    return Chart(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.uint64),
        np.full(slots, -1, dtype=np.int32),
    )


@borrowing
def enter(chart, size, records, record, weight, signature, by_action):
    """Enter a configuration, or add its weight to that of an equal one.

    by_action (bool): Whether configurations also differ if the actions before do.
    RETURNS (int): The new size, the old one if there was an equal configuration.
    """
    last = np.uint64(len(chart.slots) - 1)
    slot = signature & last
    while chart.slots[slot] >= 0:
        i = chart.slots[slot]
        if chart.signature[i] == signature and is_equal(records, chart.record[i], record, by_action):
            higher, lower = max(chart.weight[i], weight), min(chart.weight[i], weight)
            chart.weight[i] = higher + log(1.0 + exp(lower - higher))
            return size
        slot = (slot + np.uint64(1)) & last
    chart.slots[slot] = size
    chart.record[size] = record
    chart.weight[size] = weight
    chart.signature[size] = signature
    return size + 1


@borrowing
def is_equal(records, one, other, by_action):
    """Whether two configurations on the way to the same tree have the same words on the stack."""
    if by_action and records[one, ACTION] != records[other, ACTION]:
        return False
    while one != other:
        if records[one, POSITION] != records[other, POSITION]:
            return False
        one, other = records[one, BELOW], records[other, BELOW]
    return True


@borrowing
def sign(records, signature, top, action, new):
    """The signature of the stack after an action: with the word that was shifted, or without the one that was attached.

    signature (uint64): That of the stack before.
    top, new (int): The records of the configurations before and after the action.
    """
    moved = top
    if action == SHIFT:
        moved = new
    elif class_of(action) == LEFT_ARCS:
        moved = records[top, BELOW]
    mixed = np.uint64(records[moved, POSITION]) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return signature ^ mixed ^ (mixed >> np.uint64(27))


@inner
def reads_action(parser):
    """Whether some context holds the action before."""
    for pool in (parser.transition, parser.label, parser.tag, parser.word):
        for element in pool.elements:
            if element[3] == ACTION:
                return True
    return False


@compiled
def tree_log_probability(parser, words, tags, heads, labels, limit, queries):
    """The exact log-probability of a sentence with its tags and its tree, summed over the derivations of the tree.

    parser (Parser): The model.
    words, tags, heads, labels (int32[n]): The sentence; a head is a position, -1 for the root's.
    limit (int): How many configurations may be kept at a step.
    queries (Queries): Written on, see `new_queries`.
    RETURNS (tuple[float, bool]): The log-probability in nats, and whether the limit was high enough: if not, the former is
        nothing. Heads that are not a projective tree with one root have probability 0.
    """
    tree = gold_tree(heads, labels)
    by_action = reads_action(parser)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    used = begin(records)
    chart = new_chart(1)
    size = enter(chart, 0, records, ROOT, 0.0, np.uint64(0), by_action)
    for _ in range(2 * len(words)):
        while used + 2 * size > len(records):
            records = longer(records)
        following = new_chart(2 * size)
        found = 0
        for i in range(size):
            top = np.int64(chart.record[i])
            arc, may_shift = allowed_actions(tree, records, top)
            for action in (arc, SHIFT):
                if action == NO_ARC or (action == SHIFT and not may_shift):
                    continue
                weight = chart.weight[i] + log(action_probability(parser, records, top, action, queries))
                weight += generate(parser, words, tags, records, used, top, action, queries)
                signature = sign(records, chart.signature[i], top, action, used)
                larger = enter(following, found, records, used, weight, signature, by_action)
                # The record of a configuration that was there already is written over.
                used += larger - found
                found = larger
        chart, size = following, found
        if size > limit:
            return -inf, False
    return log_sum(chart.weight, size), True


@compiled
def sample_derivation(parser, words, tags, heads, labels, particles, retained, rng, queries, actions):
    """Draw a derivation of a tree by a particle filter that is constrained to the tree.

    parser, words, tags, heads, labels, queries: See `tree_log_probability`.
    particles (int): How many particles there are, at least 1.
    retained (int32[2n] | int32[0]): A derivation of the tree that one particle follows and that resampling never drops,
        for particle Gibbs; or empty.
    rng (numpy.random.Generator): The source of randomness.
    actions (int32[2n]): Overwritten with the derivation of one of the final particles, drawn by its weight.
    RETURNS (float): The log of the estimate of what `tree_log_probability` finds, in nats. Without a retained derivation
        the estimate (not its log) is unbiased. Where heads are not a projective tree with one root it is 0, and the
        actions are left as they are.
    """
    n = len(words)
    tree = gold_tree(heads, labels)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    used = begin(records)
    beam, shifted = new_beam(particles), new_beam(particles)
    size = append(beam, 0, ROOT, 0.0, particles)
    held, step = (0, 0) if len(retained) > 0 else (-1, 0)
    # The pass after the last word only reduces; what it leaves in `shifted` are the terminal configurations.
    for word in range(n + 1):
        shifted_size, shifted_held = 0, -1
        for i in range(size):
            top, weight, count = np.int64(beam.record[i]), beam.weight[i], beam.particles[i]
            is_held = i == held
            while count > 0:
                if used + 2 > len(records):
                    records = longer(records)
                if word == n and records[top, DEPTH] == 1:
                    shifted_held = shifted_size if is_held else shifted_held
                    shifted_size = append(shifted, shifted_size, top, weight, count)
                    break
                arc, may_shift = allowed_actions(tree, records, top)
                p_arc = action_probability(parser, records, top, arc, queries) if arc != NO_ARC else 0.0
                p_shift = action_probability(parser, records, top, SHIFT, queries) if may_shift else 0.0
                if p_arc + p_shift == 0.0:
                    break
                weight += log(p_arc + p_shift)
                holds_shift = is_held and retained[step] == SHIFT
                n_shift = divide(count, p_shift, p_arc, is_held, holds_shift, rng)
                if n_shift > 0:
                    generated = generate(parser, words, tags, records, used, top, SHIFT, queries)
                    shifted_held = shifted_size if holds_shift else shifted_held
                    shifted_size = append(shifted, shifted_size, used, weight + generated, n_shift)
                    used += 1
                count -= n_shift
                if count > 0:
                    generate(parser, words, tags, records, used, top, arc, queries)
                    top = used
                    used += 1
                step += is_held
                is_held = is_held and not holds_shift
        beam, shifted, size, held = shifted, beam, shifted_size, shifted_held
        if word < n:
            size, held = resample(beam, size, held, particles, rng)
    if size == 0:
        return -inf
    for i in range(size):
        beam.weight[i] += log(beam.particles[i])
    total = log_sum(beam.weight, size)
    threshold = rng.random()
    chosen = 0
    while chosen < size - 1 and threshold >= exp(beam.weight[chosen] - total):
        threshold -= exp(beam.weight[chosen] - total)
        chosen += 1
    derivation(records, beam.record[chosen], actions, np.empty(n, dtype=np.int32))
    return total - log(particles)
