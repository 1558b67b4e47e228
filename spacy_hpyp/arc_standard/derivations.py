"""The sum over all derivations of a given tree (B&B sections 2 and 5).

The exact sum is found by dynamic programming over the configurations that the non-deterministic oracle leads
to. Given the tree, the words on the stack say which arcs have been added, and so everything that contexts can
read but the action before; derivations with the same words on their stacks are continued as one.

If there are too many configurations, and to draw a derivation from the posterior, the particle filter is
constrained to the tree, see `sampling`.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import jit, jitable
from . import configuration as column
from .configuration import FIELDS, LEFT_ARCS, ROOT, SHIFT, begin, class_of, execute
from .likelihood import action_probability, token_probability
from .oracle import NO_ARC, allowed_actions, gold_tree
from .particle_filter import log_add, log_sum, longer

_SMALLEST = 1024


class ConfigurationSet(NamedTuple):
    """Configurations that the same number of actions has led to."""

    record: np.ndarray  # int32[*]
    weight: np.ndarray  # float64[*]: log-sums over their derivations
    signature: np.ndarray  # uint64[*]: hashes of their stacks
    slots: np.ndarray  # int32[2**i]: open addressing from the signature to the place in the chart, or -1


@jit
def new_configurations(size):
    """Room for a number of configurations."""
    slots = 4
    while slots < 2 * size:
        slots *= 2
    return ConfigurationSet(
        np.empty(size, dtype=np.int32),
        np.empty(size),
        np.empty(size, dtype=np.uint64),
        np.full(slots, -1, dtype=np.int32),
    )


@jit
def enter(chart, size, records, record, weight, signature, by_action):
    """Enter a configuration, or add its weight to that of an equal one. Returns the new size."""
    last = np.uint64(len(chart.slots) - 1)
    slot = signature & last
    while chart.slots[slot] >= 0:
        i = chart.slots[slot]
        if chart.signature[i] == signature and is_equal(records, chart.record[i], record, by_action):
            chart.weight[i] = log_add(chart.weight[i], weight)
            return size
        slot = (slot + np.uint64(1)) & last
    chart.slots[slot] = size
    chart.record[size] = record
    chart.weight[size] = weight
    chart.signature[size] = signature
    return size + 1


@jit
def is_equal(records, one, other, by_action):
    """Whether configurations of one tree have the same words on the stack and, with `by_action`, the same
    last action.
    """
    if by_action and records[one, column.ACTION] != records[other, column.ACTION]:
        return False
    while one != other:
        if records[one, column.POSITION] != records[other, column.POSITION]:
            return False
        one, other = records[one, column.BELOW], records[other, column.BELOW]
    return True


@jit
def sign(records, signature, top, action, new):
    """The signature of the stack after an action: with the word that was shifted, or without its
    dependent.
    """
    moved = top
    if action == SHIFT:
        moved = new
    elif class_of(action) == LEFT_ARCS:
        moved = records[top, column.BELOW]
    mixed = np.uint64(records[moved, column.POSITION]) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return signature ^ mixed ^ (mixed >> np.uint64(27))


@jitable
def reads_action(parser):
    """Whether some context holds the action before."""
    for pool in (parser.transition, parser.label, parser.tag, parser.word):
        for element in pool.elements:
            if element[3] == column.ACTION:
                return True
    return False


@jit
def tree_log_probability(parser, words, tags, heads, labels, limit, work):
    """Return the exact log-probability of a sentence with its tags and its tree, summed over derivations.

    words, tags, heads, labels (int32[n]): The sentence; a head is a position, -1 for the root's.
    limit (int): How many configurations may be kept at a step.
    RETURNS (tuple[float, bool]): The log-probability in nats, and whether the limit was high enough. Heads
        that are not a projective tree with one root have probability 0.
    """
    tree = gold_tree(heads, labels)
    by_action = reads_action(parser)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    used = begin(records)
    chart = new_configurations(1)
    size = enter(chart, 0, records, ROOT, 0.0, np.uint64(0), by_action)
    for _ in range(2 * len(words)):
        while used + 2 * size > len(records):
            records = longer(records)
        following = new_configurations(2 * size)
        found = 0
        for i in range(size):
            top = np.int64(chart.record[i])
            arc, may_shift = allowed_actions(tree, records, top)
            for action in (arc, SHIFT):
                if action == NO_ARC or (action == SHIFT and not may_shift):
                    continue
                word = min(records[records[top, column.LAST], column.POSITION], len(words) - 1)
                tag, form = np.int64(tags[word]), np.int64(words[word])
                weight = chart.weight[i] + log(action_probability(parser, records, top, action, work))
                if action == SHIFT:
                    weight += log(token_probability(parser, records, top, tag, form, work))
                execute(records, used, top, action, tag, form)
                signature = sign(records, chart.signature[i], top, action, used)
                larger = enter(following, found, records, used, weight, signature, by_action)
                # The record of a configuration that was there already is written over.
                used += larger - found
                found = larger
        chart, size = following, found
        if size > limit:
            return -inf, False
    return log_sum(chart.weight[:size]), True
