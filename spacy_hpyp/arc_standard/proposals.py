"""The best actions, labels and tags of a configuration, between which Algorithm 1 divides a derivation."""

from collections.abc import Mapping
from math import exp, inf
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jitable, struct
from ..inference.memo import keep_best, recall
from ..inference.rounding import Search
from ..pools.pool import FrozenPool, Weights
from ..pools.prediction import mixture_probability, product_distribution
from . import configuration as column
from .configuration import (
    DIRECTIONS,
    END,
    ENDS,
    LEFT_ARCS,
    POSSIBLE,
    RIGHT_ARCS,
    SHIFT,
    SHIFTS,
    arc_of,
    class_of,
    kind_of,
)
from .contexts import read_context
from .likelihood import Query, is_factored, look_up, new_query
from .lookahead import lookahead_heuristic
from .particle_filter import Options, new_options, weigh_actions, weigh_attachments, weigh_tokens

# How many results are remembered, a power of two: few enough to stay in a processor's cache.
_REMEMBERED = 1024


@struct
class SearchModel(NamedTuple):
    """The frozen distributions (B&B section 3.1), and what is known of the words."""

    transition: FrozenPool
    label: FrozenPool
    tag: FrozenPool
    word: FrozenPool
    tag_offsets: np.ndarray  # int64[words + 1]
    candidate_tags: np.ndarray  # int32[*]: the tags that each word may have, likely ones first
    usual: np.ndarray  # float64[*]: for each candidate tag, p(word | tag) without further context
    chain: np.ndarray  # float64[tags + 1, tags]: see `tag_chain`; or empty
    outcomes: np.ndarray  # int32[words]: their outcomes in the distribution of words
    observed: np.ndarray  # int32[words]: their rows of `told`
    told: np.ndarray  # float64[*, tags]: the probability of other observations; in the first row, of none: 1


@struct
class Workspace(NamedTuple):
    """Workspace of one thread."""

    action: np.ndarray  # int32[4, labels]: the best actions of each class
    action_probability: np.ndarray  # float64[4, labels]
    # Remembered by context and kind: the directions' probabilities, or the best actions of each class.
    transition: Query
    label: Query  # By context and direction: the best labels
    # By both contexts, the word, and the magnitude of the particles (or the given tag, negated): the best
    # tags with p(tag) p(word | tag), and the sum of p(tag) over all tags that the word may have.
    tag: Query
    word: Query
    promise: np.ndarray  # float64[tags]: promises for the words to come, relative to the best one
    occasion: np.ndarray  # int64[1]: the number of words in the blocks before and in this one
    options: Options


def new_workspace(parser: SearchModel, search: Search) -> Workspace:
    """A workspace that fits a parser and a search."""
    labels = min(search.labels_per_arc, int(parser.label.finished.alphabet[0]))
    tags = min(search.tags_per_word, int(parser.tag.finished.alphabet[0]))
    factored = len(parser.transition.possible) > 0
    return Workspace(
        action=np.empty((4, labels), dtype=np.int32),
        action_probability=np.empty((4, labels)),
        transition=new_query(parser.transition, _REMEMBERED, DIRECTIONS * (1 if factored else labels), 0),
        label=new_query(parser.label, _REMEMBERED if factored else 1, labels, 0),
        tag=new_query(parser.tag, _REMEMBERED, tags + 1, len(parser.word.elements)),
        word=new_query(parser.word, 1, 1, 0),
        promise=np.empty(parser.tag.finished.alphabet[0]),
        occasion=np.zeros(1, dtype=np.int64),
        options=new_options(max(2 * labels + 1, tags)),
    )


def with_weights(parser: SearchModel, weights: Mapping[str, Weights]) -> SearchModel:
    """A parser with other weights of its pools, by the names of the distributions."""
    pools = {name: getattr(parser, name)._replace(weights=changed) for name, changed in weights.items()}
    return parser._replace(**pools)


class Decoding(NamedTuple):
    """The task of Algorithm 1: derivations of a block of words, by their best actions and tags."""

    parser: SearchModel
    numbers: np.ndarray  # The words, tags and boundaries, see `Blocks`
    tags: np.ndarray
    may_start: np.ndarray
    words: np.ndarray  # int32[n]: the words as outcomes
    threshold: float  # See `Search.tag_threshold`
    heuristic: np.ndarray  # float64[n, tags]: see `lookahead_heuristic`
    work: Workspace
    options: Options
    passes: int


@jitable
def new_decoding(parser, block, search, work):
    """The task of decoding a block by itself."""
    n, numbers = len(block.tags), block.words
    heuristic = lookahead_heuristic(
        parser.chain, parser.tag_offsets, parser.candidate_tags, parser.usual, block, search.outlook
    )
    words = parser.outcomes[numbers]
    # What is remembered of a word's tags depends on the words to come.
    work.occasion[0] += n
    threshold = search.tag_threshold
    return Decoding(
        parser, numbers, block.tags, block.may_start, words, threshold, heuristic, work, work.options, n + 1
    )


@weigh_actions.register(Decoding)
@jitable
def best_actions(task, records, top, word):
    """Find the best actions of each class: `work.action` and `work.action_probability`. With factored actions
    each class has its probability, and `best_labels` fills in the labels.
    """
    # A call with a whole task as an argument takes time: this is one function, where it might be several.
    parser, work = task.parser, task.work
    action, probability, query = work.action, work.action_probability, work.transition
    kind = kind_of(records[top, column.DEPTH])
    if not is_factored(parser):
        slot, known = look_up(parser.transition, records, top, 0, 0, query)
        best, found = query.memo.outcome[slot], query.memo.probability[slot]
        labels = action.shape[1]
        if not known:
            product_distribution(parser.transition, query.key[2:], 0, query.scratch, query.distribution)
            best[:] = NONE
            found[:] = 0.0
            for outcome in range(len(query.distribution)):
                first = class_of(outcome) * labels
                last = first + labels
                keep_best(best[first:last], found[first:last], outcome, query.distribution[outcome])
        for group in range(DIRECTIONS):
            for k in range(labels):
                action[group, k], probability[group, k] = best[group * labels + k], found[group * labels + k]
    else:
        action[:] = NONE
        action[SHIFTS, 0], action[ENDS, 0] = SHIFT, END
        probability[:] = 0.0
        if kind == 0:
            probability[SHIFTS, 0] = 1.0
        else:
            slot, known = look_up(parser.transition, records, top, 0, kind, query)
            found = query.memo.probability[slot]
            if not known:
                product_distribution(parser.transition, query.key[2:], kind, query.scratch, found)
            for group in range(DIRECTIONS):
                probability[group, 0] = found[group]
    length = len(task.words)
    may_end = word == length or task.may_start[word]
    p_reduce = 0.0
    for group in range(ENDS, DIRECTIONS):
        is_possible = POSSIBLE[kind, group] and (group != ENDS or may_end)
        for k in range(probability.shape[1]):
            if not is_possible:
                probability[group, k] = 0.0
            p_reduce += probability[group, k]
    return probability[SHIFTS, 0] if word < length else 0.0, p_reduce


@weigh_attachments.register(Decoding)
@jitable
def best_attachments(task, records, top, word, particles):
    """Find the best attachments of a configuration, after `best_actions`."""
    work, options = task.work, task.options
    if is_factored(task.parser):
        found = work.action_probability
        most = max(found[ENDS, 0], found[LEFT_ARCS, 0], found[RIGHT_ARCS, 0])
        negligible = min(task.threshold / particles, 1.0) * most
        for direction in (LEFT_ARCS, RIGHT_ARCS):
            if found[direction, 0] < negligible:
                found[direction, 0] = 0.0
            elif found[direction, 0] > 0.0:
                best_labels(task.parser, records, top, direction, work)
    count = 0
    for group in range(ENDS, DIRECTIONS):
        for k in range(work.action.shape[1]):
            if work.action_probability[group, k] > 0.0:
                options.outcome[count] = work.action[group, k]
                options.probability[count] = work.action_probability[group, k]
                options.heuristic[count] = 0.0
                count += 1
    return count


@jitable
def best_labels(parser, records, top, direction, work):
    """Replace a direction by its best arcs, multiplying its probability by those of the labels."""
    query = work.label
    slot, known = look_up(parser.label, records, top, direction, direction, query)
    best, probability = query.memo.outcome[slot], query.memo.probability[slot]
    if not known:
        product_distribution(parser.label, query.key[2:], 0, query.scratch, query.distribution)
        best[:] = NONE
        probability[:] = 0.0
        for label in range(len(query.distribution)):
            keep_best(best, probability, label, query.distribution[label])
    p_direction = work.action_probability[direction, 0]
    for k in range(len(best)):
        work.action[direction, k] = arc_of(direction, best[k])
        work.action_probability[direction, k] = p_direction * probability[k]


@weigh_tokens.register(Decoding)
@jitable
def best_tokens(task, records, top, word, particles):
    """Find the best tags of the next word by p(tag) p(word | tag), and by their promise for the words to
    come.
    """
    parser, options, query, given = task.parser, task.options, task.work.tag, task.tags[word]
    # A few sizes instead of all, so that what is found depends on the look-up key alone.
    magnitude = 1
    while 8.0**magnitude < particles:
        magnitude += 1
    key, elements = query.key, len(parser.tag.elements)
    # Counted from the last word of the block backwards, which no word of another block is.
    key[0] = task.work.occasion[0] - 1 - word
    key[1] = magnitude if given == NONE else -given
    read_context(parser.tag.elements, records, top, 0, key[2 : 2 + elements])
    read_context(parser.word.elements, records, top, given, key[2 + elements :])
    slot, known = recall(query.memo.fingerprint, key)
    heuristic = task.heuristic[word]
    if not known:
        negligible = task.threshold / 8.0**magnitude
        score_tags(parser, records, top, task.numbers[word], given, negligible, heuristic, task.work, slot)
    found, probability = query.memo.outcome[slot], query.memo.probability[slot]
    most = len(probability) - 1
    count = 0
    while count < most and probability[count] > 0.0:
        options.outcome[count] = found[count]
        options.probability[count] = probability[count]
        options.heuristic[count] = heuristic[found[count]]
        count += 1
    return count, probability[most]


@jitable
def score_tags(parser, records, top, word, given, negligible, heuristic, work, slot):
    """Compute a result for `best_tokens`, without tags whose share beside the best one's is `negligible`."""
    memo, distribution, word_row = work.tag.memo, work.tag.distribution, work.word.key[2:]
    most = memo.probability.shape[1] - 1
    tags, probabilities = memo.outcome[slot, :most], memo.probability[slot]
    tag_row = work.tag.key[2 : 2 + len(parser.tag.elements)]
    product_distribution(parser.tag, tag_row, 0, work.tag.scratch, distribution)
    tags[:] = NONE
    probabilities[:] = 0.0
    outcome, told = parser.outcomes[word], parser.told[parser.observed[word]]
    if given != NONE:
        read_context(parser.word.elements, records, top, given, word_row)
        tags[0] = given
        probabilities[most] = distribution[given]
        probability = mixture_probability(parser.word, word_row, outcome, work.word.scratch)
        probabilities[0] = distribution[given] * probability * told[given]
        return
    first, last = parser.tag_offsets[word], parser.tag_offsets[word + 1]
    likely, highest = 0.0, -inf
    for i in range(first, last):
        highest = max(highest, heuristic[parser.candidate_tags[i]])
    for i in range(first, last):
        tag = parser.candidate_tags[i]
        probabilities[most] += distribution[tag]
        work.promise[tag] = exp(heuristic[tag] - highest)
        likely = max(likely, distribution[tag] * parser.usual[i] * work.promise[tag])
    for i in range(first, last):
        tag = parser.candidate_tags[i]
        if distribution[tag] * parser.usual[i] * work.promise[tag] < negligible * likely:
            continue
        read_context(parser.word.elements, records, top, tag, word_row)
        probability = mixture_probability(parser.word, word_row, outcome, work.word.scratch) * told[tag]
        keep_best(tags, probabilities[:most], tag, distribution[tag] * probability * work.promise[tag])
    for i in range(most):
        if tags[i] != NONE:
            probabilities[i] /= work.promise[tags[i]]
