"""Derivations that are drawn: of given words from their posterior, with unbiased sums, or with
their words.

Sentences are drawn action by action, tag by tag and word by word (B&B section 5.5). If labels are
part of the actions, some probability falls on actions that a configuration does not have. A
derivation that draws one is given up and begun again, and so is one that becomes too long.
"""

from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import jit, jitable
from ..hpyp.gibbs import draw
from ..hpyp.pool import alphabet_of, find_shares
from ..hpyp.table import distribution
from .configuration import (
    END,
    FIELDS,
    FIRST_RECORD,
    ROOT,
    SHIFT,
    begin,
    derivation,
    new_records,
    reduce,
    shift,
)
from .contexts import read_context
from .distributions import Distributions
from .likelihood import ask_all, is_factored
from .particle_filter import log_sum, search_block
from .proposals import find_arcs, find_directions


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


@jitable
def draw_word(pool, row, scratch, out, rng):
    """Draw a word from a frozen pool that mixes its experts: first the expert, then one of its
    words; `out` (float64[alphabet]) is overwritten.
    """
    mass = find_shares(pool, row, scratch)
    expert = draw(scratch.weight, mass, rng)
    distribution(pool.experts, expert, row, out)
    return draw(out, out.sum(), rng)


@jit
def draw_sentence(model, work, rng, drawn):
    """Draw a sentence with its derivation.

    model (Distributions), work (Workspace): A frozen, lexicalised model, and its workspace.
    drawn (Derivation): Overwritten; its arrays have room for the longest sentence that is wanted.
    RETURNS (int): The length of the sentence, or 0 if an action was drawn that does not exist, or
        one word too many.
    """
    query, p_tag = work.word, work.tag.distribution
    out = np.empty(alphabet_of(model.word))
    records = np.empty((FIRST_RECORD + len(drawn.actions), FIELDS), dtype=np.int32)
    top, used = ROOT, begin(records)
    step, word = 0, 0
    while True:
        find_directions(model, records, top, work)
        find_arcs(model, records, top, work)
        mass = work.actions.sum()
        if not is_factored(model) and rng.random() >= mass:
            return 0
        action = draw(work.actions, mass, rng)
        if action == SHIFT and word == len(drawn.words):
            return 0
        drawn.actions[step] = action
        step += 1
        if action == SHIFT:
            ask_all(model.tag, records, top, 0, 0, work.tag)
            tag = draw(p_tag, 1.0, rng)
            read_context(model.word.elements, records, top, tag, query.key[2:])
            form = draw_word(model.word, query.key[2:], query.scratch, out, rng)
            drawn.tags[word], drawn.words[word] = tag, form
            word += 1
            shift(records, used, top, tag, form)
        else:
            reduce(records, used, top, action)
        top = used
        used += 1
        if action == END:
            return word
