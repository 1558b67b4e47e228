"""Derivations: sums over those of a given tree, and draws.

* The sum over all derivations of a tree (B&B sections 2 and 5) is found by dynamic programming over
  the configurations that the non-deterministic oracle leads to. Given the tree, the words on the
  stack say which arcs have been added, and so everything that contexts can read but the action
  before; derivations with the same words on their stacks are continued as one. If there are too
  many configurations, a particle filter constrained to the tree estimates the sum.
* Derivations of given words are drawn from their posterior by a particle filter.
* Sentences are drawn action by action, tag by tag and word by word (B&B section 5.5). If labels are
  part of the actions, some probability falls on actions that a configuration does not have. A
  derivation that draws one is given up and begun again, and so is one that becomes too long.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import NONE, jit, jitable
from ..hpyp.gibbs import draw
from ..hpyp.pool import alphabet_of, find_shares
from ..hpyp.table import distribution
from . import configuration as column
from .configuration import END, FIRST_RECORD, ROOT, SHIFT, derivation, execute, new_records
from .contexts import read_context
from .distributions import Distributions, pools_of
from .likelihood import action_probability, ask_all, is_factored, new_workspace, token_probability
from .oracle import allowed_actions, gold_tree
from .particle_filter import log_add, log_sum, longer, search_block
from .proposals import find_arcs, find_directions, sampling_task

# The largest number of configurations in the exact sum over a tree's derivations, the number of
# probabilities to cache for it, and the number of particles for an estimate.
_AFFORDABLE, _REMEMBERED, _PARTICLES = 10_000, 8192, 1000


class TreeLogProbs(NamedTuple):
    """How probable some sentences are together with their tags and trees, each summed over the
    derivations of its tree.

    Dynamic programming finds the exact sum. Where a word has very many dependents on both sides (in
    very few sentences), there are too many derivations, and a particle filter estimates the sum.
    """

    log_prob: np.ndarray  # float64[n], in nats
    exact: np.ndarray  # bool[n]: whether it is the sum itself and not an estimate


def tree_log_probs(parser: Distributions, sentences: Sentences, *, seed: int = 0) -> TreeLogProbs:
    """Return how probable sentences are with their tags and trees.

    sentences (Sentences): Trees, words as numbers of the vocabulary; -inf if not projective.
    seed (int): Fixes the estimates.
    """
    work = new_workspace(parser, remembered=_REMEMBERED)
    rng = np.random.default_rng(seed)
    count = len(sentences.offsets) - 1
    found = TreeLogProbs(np.empty(count), np.empty(count, dtype=bool))
    for i, (start, end) in enumerate(zip(sentences.offsets[:-1], sentences.offsets[1:])):
        words, *rows = (part[start:end] for part in sentences[:4])
        rows.insert(0, parser.outcomes[words])
        found.log_prob[i], found.exact[i] = tree_log_probability(parser, *rows, _AFFORDABLE, work)
        if not found.exact[i]:
            task = sampling_task(parser, work, rows[0], _PARTICLES, rows[1:])
            actions, tags = np.empty(2 * (end - start), np.int32), np.empty(end - start, np.int32)
            found.log_prob[i] = sample_derivation(task, rng, actions, tags)
        found.log_prob[i] += np.log(parser.p_observed[parser.observed[words], rows[1]]).sum()
    return found


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
    """Whether configurations of a tree have equal stacks and, with `by_action`, last actions."""
    if by_action and records[one, column.ACTION] != records[other, column.ACTION]:
        return False
    while one != other:
        if records[one, column.POSITION] != records[other, column.POSITION]:
            return False
        one, other = records[one, column.BELOW], records[other, column.BELOW]
    return True


@jit
def tree_log_probability(parser, words, tags, heads, labels, limit, work):
    """Return the exact log-probability of a sentence with its tags and its tree, summed over
    derivations.

    words, tags, heads, labels (int32[n]): The sentence, words as outcomes; the root's head is -1.
    limit (int): How many configurations may be kept at a step.
    RETURNS (tuple[float, bool]): The log-probability in nats, and whether the limit was high
        enough; if not, -inf. It is -inf, too, without a projective tree with one root.
    """
    tree, by_action = gold_tree(heads, labels), False
    for pool in pools_of(parser):
        by_action = by_action or np.any(pool.elements[:, 3] == column.ACTION)
    records, used, chart = new_records(), FIRST_RECORD, new_configurations(1)
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
                if action == NONE or (action == SHIFT and not may_shift):
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


def with_every_tag(model: Distributions, tags: int) -> Distributions:
    """Return a model, for sampling only, whose words may have each of so many tags."""
    words = len(model.tag_offsets) - 1
    offsets = np.arange(0, (words + 1) * tags, tags)
    return model._replace(
        tag_offsets=offsets, candidate_tags=np.tile(np.arange(tags, dtype=np.int32), words)
    )


@jit
def sample_derivation(task, rng, actions, tags):
    """Draw a derivation of a sentence from its posterior by a particle filter.

    task (Task): See `sampling_task`.
    actions (int32[2n]), tags (int32[n]): Overwritten with a final particle drawn by its weight.
    RETURNS (float): The log of the estimate of the probability of the words, in nats; with a given
        tree, of the words, tags and tree. Without a retained derivation the estimate (not its log)
        is unbiased. If no particle is left, -inf, and nothing is overwritten.
    """
    records = new_records()
    records, beam = search_block(task, np.int64(0), records, rng)
    if len(beam) == 0:
        return -inf
    weight = np.empty(len(beam))
    for i in range(len(beam)):
        weight[i] = beam[i].theta + log(beam[i].k)
    total = log_sum(weight)
    for i in range(len(beam)):
        weight[i] = exp(weight[i] - total)
    derivation(records, beam[draw(weight, weight.sum(), rng)].record, actions, tags)
    return total - log(task.search.particles)


class Derivation(NamedTuple):
    """A drawn sentence: actions (int32[2n]), tags (int32[n]) and words as outcomes (int32[n])."""

    actions: np.ndarray
    tags: np.ndarray
    words: np.ndarray


@jit
def draw_sentence(model, work, rng, longest):
    """Draw a sentence of at most `longest` words from a frozen, lexicalised model.

    RETURNS (Derivation): The sentence; without words if an action was drawn that does not exist, or
        one word too many.
    """
    query, out = work.word, np.empty(alphabet_of(model.word))
    records, actions = new_records(2 * longest), np.empty(2 * longest, dtype=np.int32)
    tags, words = np.empty(longest, dtype=np.int32), np.empty(longest, dtype=np.int32)
    word = 0
    for step in range(2 * longest):
        top, tag, form = ROOT + step, 0, 0
        find_directions(model, records, top, work)
        find_arcs(model, records, top, work)
        mass = work.actions.sum()
        if not is_factored(model) and rng.random() >= mass:
            break
        action = draw(work.actions, mass, rng)
        if action == SHIFT and word == longest:
            break
        actions[step] = action
        if action == SHIFT:
            ask_all(model.tag, records, top, 0, 0, work.tag)
            tag = draw(work.tag.distribution, 1.0, rng)
            read_context(model.word.elements, records, top, tag, query.key[2:])
            # First an expert, and then one of its words.
            mass = find_shares(model.word, query.key[2:], query.scratch)
            expert = draw(query.scratch.weight, mass, rng)
            distribution(model.word.experts, expert, query.key[2:], out)
            form = draw(out, out.sum(), rng)
            tags[word], words[word] = tag, form
            word += 1
        execute(records, top + 1, top, action, tag, form)
        if action == END:
            return Derivation(actions[: step + 1], tags[:word], words[:word])
    return Derivation(actions[:0], tags[:0], words[:0])
