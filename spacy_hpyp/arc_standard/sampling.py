"""Derivations that are drawn: of given words from their posterior, with unbiased sums, or with their words.

Particles choose among all possible actions, and among tags in proportion to p(tag) p(word | tag), by drawing.

Sentences are drawn action by action, tag by tag and word by word (B&B section 5.5). If labels are part of the
actions, some probability falls on actions that a configuration does not have. A derivation that draws one is
given up and begun again, and so is one that becomes too long.
"""

from math import inf, log
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit, jitable
from ..hpyp.table import distribution
from ..inference.drawing import draw, draw_derivation
from ..pools.prediction import alphabet_of, find_shares, predict_one
from . import configuration as column
from .configuration import (
    END,
    ENDS,
    FIELDS,
    FIRST_ARC,
    FIRST_RECORD,
    LEFT_ARCS,
    POSSIBLE,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    SHIFTS,
    arc_of,
    begin,
    class_of,
    derivation,
    kind_of,
    reduce,
    shift,
)
from .contexts import read_context
from .distributions import Distributions
from .likelihood import Queries, ask_all, is_factored
from .particle_filter import Options, Path, run, weigh_actions, weigh_attachments, weigh_tokens

_SMALLEST = 1024


@jitable
def weigh_directions(model, records, top, queries):
    """Find the probabilities of shift, end and unlabelled directions, or of all actions of a model without
    labels.
    """
    depth, action, direction = records[top, column.DEPTH], queries.action, queries.transition.distribution
    action[:] = 0.0
    if not is_factored(model):
        ask_all(model.transition, records, top, 0, 0, queries.transition)
        for outcome in range(len(direction)):
            if POSSIBLE[kind_of(depth), class_of(outcome)]:
                action[outcome] = direction[outcome]
    elif depth == 1:
        direction[:] = 0.0
        action[SHIFT] = 1.0
    else:
        ask_all(model.transition, records, top, 0, kind_of(depth), queries.transition)
        action[SHIFT], action[END] = direction[SHIFTS], direction[ENDS]


@jitable
def weigh_labels(model, records, top, queries):
    """Divide the directions of a factored model between the arcs, which completes `queries.action`."""
    if not is_factored(model):
        return
    share, found = queries.transition.distribution, queries.label.distribution
    for direction in (LEFT_ARCS, RIGHT_ARCS):
        if share[direction] > 0.0:
            ask_all(model.label, records, top, direction, 0, queries.label)
            for label in range(len(found)):
                queries.action[arc_of(direction, label)] = share[direction] * found[label]


class Sampling(NamedTuple):
    """The task of sampling derivations of a sentence."""

    model: Distributions
    words: np.ndarray
    every_tag: bool  # Whether to try all tags of each word and not only its candidates
    queries: Queries
    options: Options
    passes: int


@weigh_actions.register(Sampling)
@jitable
def _weigh_actions(task, records, top, word):
    queries = task.queries
    weigh_directions(task.model, records, top, queries)
    # A sentence ends after its last word.
    queries.action[SHIFT if word == len(task.words) else END] = 0.0
    if is_factored(task.model):
        arcs = queries.transition.distribution[LEFT_ARCS] + queries.transition.distribution[RIGHT_ARCS]
    else:
        arcs = queries.action[FIRST_ARC:].sum()
    return queries.action[SHIFT], queries.action[END] + arcs


@weigh_attachments.register(Sampling)
@jitable
def _weigh_attachments(task, records, top, word, particles):
    weigh_labels(task.model, records, top, task.queries)
    action, options = task.queries.action, task.options
    count = 0
    for arc in range(END, len(action)):
        if action[arc] > 0.0:
            options.outcome[count] = arc
            options.probability[count] = action[arc]
            count += 1
    return count


@weigh_tokens.register(Sampling)
@jitable
def _weigh_tokens(task, records, top, word, particles):
    model, query, options, found = task.model, task.queries.word, task.options, task.queries.tag.distribution
    ask_all(model.tag, records, top, 0, 0, task.queries.tag)
    form = task.words[word]
    first, last = model.tag_offsets[form], model.tag_offsets[form + 1]
    if task.every_tag:
        first, last = 0, len(found)
    p_tags = 0.0
    for i in range(first, last):
        tag = i if task.every_tag else model.candidate_tags[i]
        read_context(model.word.elements, records, top, tag, query.key[2:])
        p_word = predict_one(model.word, query.key[2:], form, query.scratch)
        options.outcome[i - first] = tag
        options.probability[i - first] = found[tag] * p_word
        p_tags += found[tag]
    return last - first, p_tags


@jit
def sample_parse(model, queries, words, particles, retained, retained_tags, every_tag, rng, actions, tags):
    """Draw a derivation of a sentence from its posterior by a particle filter.

    model (Distributions), queries (Queries): The model and its workspace.
    words (int32[n]): The words.
    particles (int): Number of particles.
    retained (int32[2n] | int32[0]), retained_tags (int32[n] | int32[0]): A derivation that one particle
        follows, for particle Gibbs; or empty.
    every_tag (bool): See `Sampling`.
    actions (int32[2n]), tags (int32[n]): Overwritten with one of the final particles, drawn by its weight.
    RETURNS (float): The log of the estimate of the probability of the words, in nats. Without a retained
        derivation the estimate (not its log) is unbiased; with candidate tags only, for the sum over these.
    """
    task = Sampling(model, words, every_tag, queries, queries.options, len(words) + 1)
    return draw_path(task, particles, retained, retained_tags, rng, actions, tags)


@jitable
def draw_path(task, particles, retained, retained_tags, rng, actions, tags):
    """Draw a derivation of a task by a particle filter; see `sample_parse`."""
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    # The filter follows a path with `NONE` in place of each shift.
    attachments = np.where(retained == SHIFT, NONE, retained).astype(np.int32)
    records, beam, size = run(task, None, particles, Path(attachments, retained_tags), records, rng)
    if size == 0:
        return -inf
    drawn, total = draw_derivation(beam, size, rng)
    derivation(records, beam.record[drawn], actions, tags)
    return total - log(particles)


class Derivation(NamedTuple):
    """A drawn sentence: actions (int32[2n]), tags (int32[n]) and words (int32[n])."""

    actions: np.ndarray
    tags: np.ndarray
    words: np.ndarray


@jitable
def draw_word(pool, row, scratch, out, rng):
    """Draw a word from a frozen pool that mixes its experts: first the expert, then one of its words."""
    mass = find_shares(pool, row, 0, scratch)
    expert = draw(scratch.weight, mass, rng)
    distribution(pool.finished, expert, row, out)
    return draw(out, out.sum(), rng)


@jit
def draw_sentence(model, queries, rng, drawn):
    """Draw a sentence with its derivation.

    model (Distributions), queries (Queries): A frozen, lexicalised model, and its workspace.
    drawn (Derivation): Overwritten; its arrays have room for the longest sentence that is wanted.
    RETURNS (int): The length of the sentence, or 0 if an action was drawn that does not exist, or one word
        too many.
    """
    query, p_tag = queries.word, queries.tag.distribution
    out = np.empty(alphabet_of(model.word))
    records = np.empty((FIRST_RECORD + len(drawn.actions), FIELDS), dtype=np.int32)
    top, used = ROOT, begin(records)
    step, word = 0, 0
    while True:
        weigh_directions(model, records, top, queries)
        weigh_labels(model, records, top, queries)
        mass = queries.action.sum()
        if not is_factored(model) and rng.random() >= mass:
            return 0
        action = draw(queries.action, mass, rng)
        if action == SHIFT and word == len(drawn.words):
            return 0
        drawn.actions[step] = action
        step += 1
        if action == SHIFT:
            ask_all(model.tag, records, top, 0, 0, queries.tag)
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
