"""Sampling parses: draws from the posterior over the derivations of given words, and unbiased sums over them.

Particles of the filter `inference.particle_filter` choose among all actions that are possible, and among all tags that a word may
have in proportion to p(tag) p(word | tag), by drawing (`inference.drawing`).
"""

from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from ..compiled import NONE, borrowing, by_reference, compiled, implements, inner, maker
from ..inference.drawing import Drawing, draw_derivation
from ..inference.particle_filter import (
    Options,
    new_options,
    run,
    weigh_actions,
    weigh_attachments,
    weigh_tokens,
)
from ..pools.prediction import alphabet_of, predict, predict_one, workspace
from .configuration import (
    DEPTH,
    END,
    ENDS,
    FIELDS,
    FIRST_ARC,
    LEFT_ARCS,
    PREVIOUS,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    SHIFTS,
    derivation,
    kind_of,
    left_arc,
    right_arc,
)
from .contexts import read_context
from .distributions import Distributions
from .proposals import LEAST_SHIFT, is_factored
from .steps import ArcStandard

_SMALLEST = 1024


@by_reference
class Choices(NamedTuple):
    """Workspace: the probabilities of everything that a configuration can be followed by.

    action (float64[actions]): Of the actions; 0 for those that do not exist.
    label (float64[labels]), direction (float64[*]): What they are made of.
    tag (float64[tags]): p(tag).
    transition_row, label_row, tag_row, word_row (int32[*]): Context rows.
    transition_scratch, label_scratch, tag_scratch, word_scratch: Workspace of the pools.
    options (Options): What the next thing can be.
    """

    action: np.ndarray
    label: np.ndarray
    direction: np.ndarray
    tag: np.ndarray
    transition_row: np.ndarray
    label_row: np.ndarray
    tag_row: np.ndarray
    word_row: np.ndarray
    transition_scratch: Any
    label_scratch: Any
    tag_scratch: Any
    word_scratch: Any
    options: Options


@maker
def new_choices(model):
    """Workspace that fits a model."""
    return Choices(
        np.empty(2 + 2 * alphabet_of(model.label)),
        np.empty(alphabet_of(model.label)),
        np.empty(alphabet_of(model.transition)),
        np.empty(alphabet_of(model.tag)),
        np.empty(len(model.transition.elements), dtype=np.int32),
        np.empty(len(model.label.elements), dtype=np.int32),
        np.empty(len(model.tag.elements), dtype=np.int32),
        np.empty(len(model.word.elements), dtype=np.int32),
        workspace(model.transition),
        workspace(model.label),
        workspace(model.tag),
        workspace(model.word),
        new_options(max(2 + 2 * alphabet_of(model.label), alphabet_of(model.tag))),
    )


@inner
def weigh_directions(model, records, top, choices):
    """Find the probabilities of shift and end in `choices.action`, and of the arcs those that are known without a label: in a
    factored model the directions, `choices.direction`, and else all of them.
    """
    depth = records[top, DEPTH]
    action = choices.action
    action[:] = 0.0
    if model.root_tag != NONE and depth < 3:
        # What is shifted is the next word or ROOT.
        choices.direction[:] = 0.0
        if depth == 2:
            read_context(model.tag.elements, records, top, 0, choices.tag_row)
            predict(model.tag, choices.tag_row, 0, choices.tag_scratch, choices.tag)
            action[END] = choices.tag[model.root_tag]
        action[SHIFT] = max(1.0 - action[END], LEAST_SHIFT)
        return
    read_context(model.transition.elements, records, top, 0, choices.transition_row)
    if not is_factored(model):
        predict(model.transition, choices.transition_row, 0, choices.transition_scratch, action)
        if depth < 3:
            action[FIRST_ARC:] = 0.0
        if depth != 2:
            action[END] = 0.0
        return
    if depth == 1:
        choices.direction[:] = 0.0
        action[SHIFT] = 1.0
        return
    predict(model.transition, choices.transition_row, kind_of(depth), choices.transition_scratch, choices.direction)
    action[SHIFT] = choices.direction[SHIFTS]
    action[END] = choices.direction[ENDS]


@inner
def weigh_labels(model, records, top, choices):
    """Divide the directions of a factored model between the arcs: `choices.action` is complete with them."""
    if not is_factored(model):
        return
    for direction in (LEFT_ARCS, RIGHT_ARCS):
        if choices.direction[direction] > 0.0:
            read_context(model.label.elements, records, top, direction, choices.label_row)
            predict(model.label, choices.label_row, 0, choices.label_scratch, choices.label)
            for label in range(len(choices.label)):
                arc = left_arc(label) if direction == LEFT_ARCS else right_arc(label)
                choices.action[arc] = choices.direction[direction] * choices.label[label]


@inner
def weigh_tags(model, records, top, choices):
    """Find the probabilities of the next word's tags in `choices.tag`, after `weigh_directions`: given that ROOT is not shifted, where
    it could be; elsewhere it may have some probability as a tag that no word has.
    """
    read_context(model.tag.elements, records, top, 0, choices.tag_row)
    predict(model.tag, choices.tag_row, 0, choices.tag_scratch, choices.tag)
    if model.root_tag != NONE and records[top, DEPTH] == 2:
        choices.tag[model.root_tag] = 0.0
        for tag in range(len(choices.tag)):
            choices.tag[tag] /= choices.action[SHIFT]


class Sampling(NamedTuple):
    """The task of sampling: derivations of words that are one sentence, or of its first words.

    model (Distributions): What the words are generated from.
    system (ArcStandard): With the words.
    tags (int32[n]): Given tags, `NONE` where the tag is to be found.
    every_tag (bool): Whether to try all tags of each word and not only its candidates.
    choices (Choices), options (Options): Written on.
    length, passes (int): The number of words, and one more if the sentence ends with them.
    """

    model: Distributions
    system: ArcStandard
    tags: np.ndarray
    every_tag: bool
    choices: Choices
    options: Options
    length: int
    passes: int


@implements(weigh_actions, Sampling)
@inner
def _weigh_actions(task, records, top, word):
    choices = task.choices
    weigh_directions(task.model, records, top, choices)
    # A sentence ends after its last word.
    choices.action[SHIFT if word == task.length else END] = 0.0
    if is_factored(task.model):
        arcs = choices.direction[LEFT_ARCS] + choices.direction[RIGHT_ARCS]
    else:
        arcs = choices.action[FIRST_ARC:].sum()
    return choices.action[SHIFT], choices.action[END] + arcs


@implements(weigh_attachments, Sampling)
@inner
def _weigh_attachments(task, records, top, word, particles):
    weigh_labels(task.model, records, top, task.choices)
    action, options = task.choices.action, task.options
    count = 0
    for arc in range(END, len(action)):
        if action[arc] > 0.0:
            options.outcome[count] = arc
            options.probability[count] = action[arc]
            count += 1
    return count


@implements(weigh_tokens, Sampling)
@inner
def _weigh_tokens(task, records, top, word, particles):
    model, choices, options = task.model, task.choices, task.options
    weigh_tags(model, records, top, choices)
    form, given = task.system.words[word], task.tags[word]
    first, last = model.tag_offsets[form], model.tag_offsets[form + 1]
    if given != NONE:
        first, last = 0, 1
    elif task.every_tag:
        first, last = 0, len(choices.tag) if model.root_tag == NONE else model.root_tag
    p_tags = 0.0
    for i in range(first, last):
        tag = given if given != NONE else i if task.every_tag else model.candidate_tags[i]
        read_context(model.word.elements, records, top, tag, choices.word_row)
        p_word = predict_one(model.word, choices.word_row, form, choices.word_scratch)
        options.outcome[i - first] = tag
        options.probability[i - first] = choices.tag[tag] * p_word
        p_tags += choices.tag[tag]
    return last - first, p_tags


@compiled
def sample_parse(
    model, choices, words, tags, to_the_end, particles, retained, retained_tags, every_tag, rng, actions, found
):
    """Draw a derivation of some words, which are one sentence, from its posterior by a particle filter.

    model (Distributions): What the words are generated from.
    choices (Choices): Written on.
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
    passes = len(words) + (1 if to_the_end else 0)
    task = Sampling(model, ArcStandard(words), tags, every_tag, choices, choices.options, len(words), passes)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    scheme = Drawing(particles, rng)
    records, beam, size = run(task, scheme, particles, attachments_of(retained), retained_tags, records)
    if size == 0:
        return -inf
    drawn, total = draw_derivation(beam, size, rng)
    read_path(records, beam.record[drawn], actions, found)
    return total - log(particles)


@compiled
def attachments_of(actions):
    """A derivation as the particle filter follows it: `NONE` in place of each shift."""
    return np.where(actions == SHIFT, NONE, actions).astype(np.int32)


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
def estimate_log_probabilities(model, choices, words, particles, rng, estimates):
    """Estimate the probability of a sentence several times, by particle filters that are independent of each other.

    model (Distributions), choices (Choices), words (int32[n]), particles (int), rng (numpy.random.Generator): See `sample_parse`. All tags are
        tried, so that the estimates (not their logs) are unbiased.
    estimates (float64[replicates]): Overwritten with the logs of the estimates, in nats.
    """
    n = len(words)
    nothing = np.empty(0, dtype=np.int32)
    unknown = np.full(n, NONE, dtype=np.int32)
    actions, tags = np.empty(2 * n, dtype=np.int32), np.empty(n, dtype=np.int32)
    whole, every_tag = np.bool_(True), np.bool_(True)
    for replicate in range(len(estimates)):
        estimates[replicate] = sample_parse(
            model, choices, words, unknown, whole, particles, nothing, nothing, every_tag, rng, actions, tags
        )
