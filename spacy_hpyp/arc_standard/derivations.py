"""The sum over all derivations of a given tree (B&B sections 2 and 5).

The exact sum is found by dynamic programming over the configurations that the non-deterministic
oracle leads to. Given the tree, the words on the stack say which arcs have been added, and so
everything that contexts can read but the action before; derivations with the same words on their
stacks are continued as one.

If there are too many configurations, and to draw a derivation from the posterior, the particle
filter is constrained to the tree, see `sampling`.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable
from . import configuration as column
from .configuration import ROOT, SHIFT, begin, execute, new_records
from .likelihood import action_probability, token_probability
from .oracle import NO_ARC, allowed_actions, gold_tree
from .particle_filter import log_add, log_sum, longer


class ConfigurationSet(NamedTuple):
    """Configurations that the same number of actions has led to."""

    record: np.ndarray  # int32[*]
    weight: np.ndarray  # float64[*]: log-sums over their derivations
    slots: np.ndarray  # int32[2**i]: open addressing by the stack to the place here, or `NONE`


@jitable
def new_configurations(size):
    """Room for a number of configurations."""
    slots = 4
    while slots < 2 * size:
        slots *= 2
    return ConfigurationSet(
        np.empty(size, dtype=np.int32), np.empty(size), np.full(slots, NONE, dtype=np.int32)
    )


@jitable
def enter(chart, size, records, record, weight, by_action):
    """Enter a configuration, or add its weight to that of an equal one. Returns the new size."""
    slot, item = 0, record
    while item > ROOT:
        slot = (slot + records[item, column.POSITION]) * 0x9E3779B1
        item = records[item, column.BELOW]
    slot = (slot >> 8) & (len(chart.slots) - 1)
    while chart.slots[slot] != NONE:
        i = chart.slots[slot]
        if is_equal(records, chart.record[i], record, by_action):
            chart.weight[i] = log_add(chart.weight[i], weight)
            return size
        slot = (slot + 1) & (len(chart.slots) - 1)
    chart.slots[slot] = size
    chart.record[size], chart.weight[size] = record, weight
    return size + 1


@jitable
def is_equal(records, one, other, by_action):
    """Whether configurations of one tree have the same words on the stack and, with `by_action`,
    the same last action.
    """
    if by_action and records[one, column.ACTION] != records[other, column.ACTION]:
        return False
    while one != other:
        if records[one, column.POSITION] != records[other, column.POSITION]:
            return False
        one, other = records[one, column.BELOW], records[other, column.BELOW]
    return True


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
    """Return the exact log-probability of a sentence with its tags and its tree, summed over
    derivations.

    words, tags, heads, labels (int32[n]): The sentence, words as outcomes; the root's head is -1.
    limit (int): How many configurations may be kept at a step.
    RETURNS (tuple[float, bool]): The log-probability in nats, and whether the limit was high
        enough; if not, -inf. It is -inf, too, without a projective tree with one root.
    """
    tree = gold_tree(heads, labels)
    by_action = reads_action(parser)
    records = new_records()
    used = begin(records)
    chart = new_configurations(1)
    size = enter(chart, 0, records, ROOT, 0.0, by_action)
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
                weight = chart.weight[i] + log(
                    action_probability(parser, records, top, action, work)
                )
                if action == SHIFT:
                    weight += log(token_probability(parser, records, top, tag, form, work))
                execute(records, used, top, action, tag, form)
                larger = enter(following, found, records, used, weight, by_action)
                # A duplicate configuration's record is overwritten.
                used += larger - found
                found = larger
        chart, size = following, found
        if size > limit:
            return -inf, False
    return log_sum(chart.weight[:size]), True
