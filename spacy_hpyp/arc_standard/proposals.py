"""The actions and tags that the particle filter may take, with their probabilities.

Decoding asks for the best labels of an arc and the best tags of a word. Sampling (`SYSTEMATIC`)
tries all of them. A gold tree leaves only the actions that lead to it.
"""

from math import exp, inf
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Blocks, Parses, sentence_blocks
from ..compiled import NONE, jitable, struct
from ..hpyp.pool import alphabet_of, predict, predict_one
from ..memo import keep_best, recall
from . import configuration as system
from .contexts import read_context
from .distributions import Derivations, Distributions
from .future_cost import future_costs
from .likelihood import (
    Workspace,
    action_probability,
    ask_all,
    is_factored,
    look_up,
    new_workspace,
    token_probability,
)
from .oracle import GoldTree, allowed_actions, gold_tree
from .search import SYSTEMATIC, Search

# The number of results to cache, a power of two: few enough for a processor's cache.
_REMEMBERED = 1024


@struct
class Sums(NamedTuple):
    """The parts of the log-probabilities of words, see `Parses`, and their state in one block."""

    syntactic: np.ndarray  # float64[tokens]
    lexical: np.ndarray  # float64[tokens]
    log_probability: np.ndarray  # float64[tokens]
    tagged: np.ndarray  # float64[1]: log-sum of the weights after the tag, before the word itself
    before: np.ndarray  # float64[1]: the log-sum of the weights after the word before


@struct
class Task(NamedTuple):
    """Blocks of words to find derivations of. Positions are those of all blocks together."""

    model: Distributions
    work: Workspace
    search: Search
    sums: Sums
    blocks: Blocks
    outcomes: np.ndarray  # int32[tokens]: the words as outcomes
    heuristic: np.ndarray  # float64[tokens, tags]: see `future_costs`; 0 for sampling
    #: Of the only block, if its tree is given; else empty.
    gold: GoldTree = GoldTree(*[np.empty(0, np.int32)] * 4)
    #: Of the only block: what one particle follows; else `NONE`.
    retained: Derivations = Derivations(*[np.full(1, NONE, np.int32)] * 2)


def new_task(
    model: Distributions,
    blocks: Blocks,
    search: Search,
    parses: Parses | None = None,
    heuristic: np.ndarray | None = None,
) -> Task:
    """Make the task of decoding some blocks by a frozen model, for one thread.

    parses (Parses | None): Where the parts of log-probabilities are written.
    heuristic (float64[tokens, tags] | None): If it is known already.
    """
    labels = min(search.labels_per_arc, int(alphabet_of(model.label)))
    tags = min(search.tags_per_word, int(alphabet_of(model.tag)))
    parts = np.empty((3, len(blocks.tags)))
    if parses is not None:
        parts = parses.syntactic, parses.lexical, parses.log_probability
    return Task(
        model,
        new_workspace(model, labels, tags, remembered=_REMEMBERED),
        search,
        Sums(*parts, np.empty(1), np.empty(1)),
        blocks,
        outcomes=model.outcomes[blocks.words],
        heuristic=future_costs(model, blocks, search) if heuristic is None else heuristic,
    )


def sampling_task(
    model: Distributions,
    work: Workspace,
    words: np.ndarray,
    particles: int,
    tree: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> Task:
    """Make the task of drawing derivations of one sentence.

    words (int32[n]): The words as outcomes, by which their candidate tags are found, too.
    tree (tuple[int32[n], int32[n], int32[n]] | None): Tags, heads and labels, if they are given.
    RETURNS (Task): Its caller writes a derivation to retain into `task.retained`.
    """
    n = len(words)
    task = Task(
        model,
        work,
        Search(particles, 0.0, scheme=SYSTEMATIC),
        # Nothing is added for the words.
        Sums(*np.empty((5, 1))),
        sentence_blocks([words]),
        outcomes=words,
        heuristic=np.zeros((n, int(alphabet_of(model.tag)))),
        retained=Derivations(np.full(2 * n, NONE, np.int32), np.full(n, NONE, np.int32)),
    )
    if tree is None:
        return task
    return task._replace(blocks=task.blocks._replace(tags=tree[0]), gold=gold_tree(*tree[1:]))


@jitable
def action_probabilities(task, records, top, word, end):
    """Return the probabilities of shifting `word` and of reducing, 0 if impossible.

    end (int): The position behind the last word of the block, at which nothing can be shifted.
    """
    if len(task.gold.heads) > 0:
        return _gold_actions(task, records, top, word)
    if task.search.scheme == SYSTEMATIC:
        return _all_actions(task, records, top, word, end)
    return _best_actions(task, records, top, word, end)


@jitable
def best_arcs(task, records, top, particles):
    """Enter in `task.work.options` the arcs that may get particles, after `action_probabilities`.

    RETURNS (int): How many there are.
    """
    work, options, count = task.work, task.work.options, 0
    if len(task.gold.heads) > 0:
        return 1
    if task.search.scheme == SYSTEMATIC:
        find_arcs(task.model, records, top, work)
        for action in range(system.END, len(work.actions)):
            if work.actions[action] > 0.0:
                options.outcome[count], options.probability[count] = action, work.actions[action]
                count += 1
        return count
    found = work.best_probability
    if is_factored(task.model):
        most = max(found[system.ENDS, 0], found[system.LEFT_ARCS, 0], found[system.RIGHT_ARCS, 0])
        negligible = min(task.search.tag_threshold / particles, 1.0) * most
        for direction in (system.LEFT_ARCS, system.RIGHT_ARCS):
            if found[direction, 0] < negligible:
                found[direction, 0] = 0.0
            elif found[direction, 0] > 0.0:
                _best_labels(task.model, records, top, direction, work)
    for group in range(system.ENDS, system.DIRECTIONS):
        for k in range(found.shape[1]):
            if found[group, k] > 0.0:
                options.outcome[count] = work.best_action[group, k]
                options.probability[count] = options.priority[count] = found[group, k]
                count += 1
    return count


@jitable
def best_tags(task, records, top, word, particles):
    """Enter the tags that may get one of the particles in `task.work.options`.

    RETURNS (tuple[int, float]): How many there are; and p(tag) summed over all tags that the word
        may have, entered or not; 1 with a gold tree.
    """
    options, query, given = task.work.options, task.work.tag, task.blocks.tags[word]
    if len(task.gold.heads) > 0:
        options.outcome[0], outcome = given, np.int64(task.outcomes[word])
        options.probability[0] = token_probability(
            task.model, records, top, np.int64(given), outcome, task.work
        )
        return 1, 1.0
    if task.search.scheme == SYSTEMATIC:
        return _all_tags(task, records, top, word)
    # Use a few sizes instead of all, so that the result depends only on the look-up key.
    magnitude = 1
    while 8.0**magnitude < particles:
        magnitude += 1
    key, split = query.key, 2 + len(task.model.tag.elements)
    # The result depends on later words, so it is valid only at this place.
    key[0] = word
    key[1] = magnitude if given == NONE else -given
    read_context(task.model.tag.elements, records, top, 0, key[2:split])
    read_context(task.model.word.elements, records, top, given, key[split:])
    slot, known = recall(query.memo.fingerprint, key)
    if not known:
        _score_tags(task, records, top, word, task.search.tag_threshold / 8.0**magnitude, slot)
    found, probability = query.memo.outcome[slot], query.memo.probability[slot]
    heuristic, most, highest, count = task.heuristic[word], len(probability) - 1, -inf, 0
    while count < most and probability[count] > 0.0:
        options.outcome[count], options.probability[count] = found[count], probability[count]
        highest = max(highest, heuristic[found[count]])
        count += 1
    for i in range(count):
        options.priority[i] = probability[i] * exp(heuristic[found[i]] - highest)
    return count, probability[most]


# Decoding.


@jitable
def _best_actions(task, records, top, word, end):
    """Find the best actions of each class: `work.best_action` and `work.best_probability`.

    If actions are factored each class has its probability, and `_best_labels` fills in the labels.
    """
    work, query = task.work, task.work.transition
    kind, labels = system.kind_of(records[top, system.DEPTH]), work.best_action.shape[1]
    slot, known = look_up(task.model.transition, records, top, 0, kind, query)
    best, found = query.memo.outcome[slot], query.memo.probability[slot]
    if not known:
        predict(task.model.transition, query.key[2:], kind, query.scratch, query.distribution)
        best[:] = NONE
        found[:] = 0.0
        for outcome in range(len(query.distribution)):
            # Directions are numbered like their classes.
            first = labels * system.class_of(outcome)
            last = first + labels
            keep_best(best[first:last], found[first:last], outcome, query.distribution[outcome])
    may_end = word == end or task.blocks.may_start[word]
    p_reduce = 0.0
    for group in range(system.DIRECTIONS):
        is_possible = system.POSSIBLE[kind, group] and (group != system.ENDS or may_end)
        for k in range(labels):
            probability = found[group * labels + k] if is_possible else 0.0
            work.best_action[group, k] = best[group * labels + k]
            work.best_probability[group, k] = probability
            p_reduce += probability if group != system.SHIFTS else 0.0
    return work.best_probability[system.SHIFTS, 0] if word < end else 0.0, p_reduce


@jitable
def _best_labels(model, records, top, direction, work):
    """Replace a direction by its best arcs, multiplying its probability by those of the labels."""
    query = work.label
    slot, known = look_up(model.label, records, top, direction, direction, query)
    best, probability = query.memo.outcome[slot], query.memo.probability[slot]
    if not known:
        predict(model.label, query.key[2:], 0, query.scratch, query.distribution)
        best[:] = NONE
        probability[:] = 0.0
        for label in range(len(query.distribution)):
            keep_best(best, probability, label, query.distribution[label])
    p_direction = work.best_probability[direction, 0]
    for k in range(len(best)):
        work.best_action[direction, k] = system.arc_of(direction, best[k])
        work.best_probability[direction, k] = p_direction * probability[k]


@jitable
def _score_tags(task, records, top, word, negligible, slot):
    """Compute the result of `best_tags` in a slot of the memo.

    Tags are chosen by p(tag) p(word | tag) and their promise for the words to come. Those below
    `negligible` of the best one, with p(word | tag) without further context, are left out.
    """
    model, work, heuristic = task.model, task.work, task.heuristic[word]
    memo, distribution, word_row = work.tag.memo, work.tag.distribution, work.word.key[2:]
    most = memo.probability.shape[1] - 1
    tags, probabilities = memo.outcome[slot, :most], memo.probability[slot]
    tag_row = work.tag.key[2 : 2 + len(model.tag.elements)]
    predict(model.tag, tag_row, 0, work.tag.scratch, distribution)
    tags[:] = NONE
    probabilities[:] = 0.0
    form, outcome, given = task.blocks.words[word], task.outcomes[word], task.blocks.tags[word]
    p_observed = model.p_observed[model.observed[form]]
    if given != NONE:
        read_context(model.word.elements, records, top, given, word_row)
        tags[0] = given
        probabilities[most] = distribution[given]
        probability = predict_one(model.word, word_row, outcome, work.word.scratch)
        probabilities[0] = distribution[given] * probability * p_observed[given]
        return
    first, last = model.tag_offsets[form], model.tag_offsets[form + 1]
    likely, highest, usual = 0.0, -inf, model.p_word_given_tag
    for i in range(first, last):
        highest = max(highest, heuristic[model.candidate_tags[i]])
    for i in range(first, last):
        tag = model.candidate_tags[i]
        probabilities[most] += distribution[tag]
        work.promise[tag] = exp(heuristic[tag] - highest)
        likely = max(likely, distribution[tag] * usual[i] * work.promise[tag])
    for i in range(first, last):
        tag = model.candidate_tags[i]
        if distribution[tag] * usual[i] * work.promise[tag] < negligible * likely:
            continue
        read_context(model.word.elements, records, top, tag, word_row)
        p_word = predict_one(model.word, word_row, outcome, work.word.scratch) * p_observed[tag]
        score = distribution[tag] * p_word * work.promise[tag]
        keep_best(tags, probabilities[:most], tag, score)
    for i in range(most):
        if tags[i] != NONE:
            probabilities[i] /= work.promise[tags[i]]


# Sampling.


@jitable
def find_directions(model, records, top, work):
    """Find `work.actions`; in a factored model, the first two arcs stand for the directions."""
    kind, found = system.kind_of(records[top, system.DEPTH]), work.transition.distribution
    ask_all(model.transition, records, top, 0, kind, work.transition)
    work.actions[:] = 0.0
    for outcome in range(len(found)):
        if system.POSSIBLE[kind, system.class_of(outcome)]:
            work.actions[outcome] = found[outcome]


@jitable
def find_arcs(model, records, top, work):
    """Complete `work.actions` by a factored model's arcs, p(direction) p(label | direction)."""
    if not is_factored(model):
        return
    share, found = work.transition.distribution, work.label.distribution
    for direction in (system.LEFT_ARCS, system.RIGHT_ARCS):
        if share[direction] > 0.0:
            ask_all(model.label, records, top, direction, 0, work.label)
            for label in range(len(found)):
                work.actions[system.arc_of(direction, label)] = share[direction] * found[label]


@jitable
def _all_actions(task, records, top, word, end):
    actions = task.work.actions
    find_directions(task.model, records, top, task.work)
    # A sentence ends after its last word.
    actions[system.SHIFT if word == end else system.END] = 0.0
    return actions[system.SHIFT], actions[system.END] + actions[system.FIRST_ARC :].sum()


@jitable
def _all_tags(task, records, top, word):
    model, query = task.model, task.work.word
    options, found = task.work.options, task.work.tag.distribution
    ask_all(model.tag, records, top, 0, 0, task.work.tag)
    form, p_tags = task.blocks.words[word], 0.0
    first, last = model.tag_offsets[form], model.tag_offsets[form + 1]
    for i in range(first, last):
        tag = model.candidate_tags[i]
        read_context(model.word.elements, records, top, tag, query.key[2:])
        p_word = predict_one(model.word, query.key[2:], form, query.scratch)
        options.outcome[i - first], options.probability[i - first] = tag, found[tag] * p_word
        p_tags += found[tag]
    return last - first, p_tags


# A given tree.


@jitable
def _gold_actions(task, records, top, word):
    """Return p(shift) and p(arc) on the way to the gold tree; enter the arc as the only option."""
    arc, may_shift = allowed_actions(task.gold, records, top)
    model, work, shift = task.model, task.work, np.int64(system.SHIFT)
    p_shift = action_probability(model, records, top, shift, work) if may_shift else 0.0
    p_arc = action_probability(model, records, top, arc, work) if arc != NONE else 0.0
    work.options.outcome[0], work.options.probability[0] = arc, p_arc
    return p_shift, p_arc
