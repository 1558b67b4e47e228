"""What a derivation can be divided between: the best actions, labels and tags of a configuration.

Many derivations of a beam look the same to a distribution; what was found for one is looked up for the others.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled, inner, overwrite
from ..hpyp.franchise import NONE, child, deepest
from ..inference.memo import Memo, new_memo, recall
from ..pools.pool import FrozenPool, Scratch, mixture_probability, new_scratch, product_distribution
from ..pools.view import keep_best, view_probability
from .configuration import (
    DEPTH,
    DIRECTIONS,
    END,
    ENDS,
    FIRST_SYMBOL,
    LEFT_ARCS,
    SHIFT,
    SHIFTS,
    class_of,
    kind_of,
    left_arc,
    right_arc,
)
from .contexts import NEXT, read_context

#: How many labels of a left- or right-arc, and how many tags of a word, a derivation is divided between.
LABELS = 1
TAGS = 3

# How many results are remembered, as powers of two: what is read off one table, and what is multiplied together.
_FEW, _MANY = 1024, 8192


class Parser(NamedTuple):
    """The distributions while they predict, and what is known of the words.

    transition, label, tag, word (FrozenPool): A, T and W of B&B section 3.1, and that of the labels where A has none.
    best_action (int16[*, 4, LABELS]), best_probability (float64[*, 4, LABELS]): For each restaurant of a transition
        distribution with one expert, the best actions of each class; empty with several experts.
    tag_offsets (int64[words + 1]), candidate_tags (int32[*]): The tags that each word may have, likely ones first.
    usual (float64[*]): For each candidate tag, p(word | tag) without further context.
    """

    transition: FrozenPool
    label: FrozenPool
    tag: FrozenPool
    word: FrozenPool
    best_action: np.ndarray
    best_probability: np.ndarray
    tag_offsets: np.ndarray
    candidate_tags: np.ndarray
    usual: np.ndarray


class Workspace(NamedTuple):
    """What one thread writes on.

    action (int32[4, LABELS]), action_probability (float64[4, LABELS]): The best actions of each class.
    transition_row, label_row, tag_key, word_row (int32[*]): Context rows; before the label's stands the direction, before
        the tag's the word and the magnitude of the particles (or the given tag, negated), and behind it what is known of the word's.
    distribution, label_distribution, tag_distribution (float64[alphabet]): Dense distributions.
    transition_scratch, label_scratch, tag_scratch, word_scratch (Scratch): Workspace of the pools.
    directions, labels (Memo): What was found lately.
    tags (Memo): The best tags found lately, with p(tag) p(word | tag); behind these stands the sum of p(tag) over all tags that
        the word may have.
    """

    action: np.ndarray
    action_probability: np.ndarray
    transition_row: np.ndarray
    label_row: np.ndarray
    tag_key: np.ndarray
    word_row: np.ndarray
    distribution: np.ndarray
    label_distribution: np.ndarray
    tag_distribution: np.ndarray
    transition_scratch: Scratch
    label_scratch: Scratch
    tag_scratch: Scratch
    word_scratch: Scratch
    directions: Memo
    labels: Memo
    tags: Memo


@compiled
def new_workspace(parser):
    """A workspace that fits a parser."""
    transition, label, tag = parser.transition, parser.label, parser.tag
    width = 2 + len(tag.elements) + len(parser.word.elements)
    return Workspace(
        np.empty((4, LABELS), dtype=np.int32),
        np.empty((4, LABELS)),
        np.empty(1 + len(transition.elements), dtype=np.int32),
        np.empty(1 + len(label.elements), dtype=np.int32),
        np.empty(width, dtype=np.int32),
        np.empty(len(parser.word.elements), dtype=np.int32),
        np.empty(transition.frozen.alphabet[0]),
        np.empty(label.frozen.alphabet[0]),
        np.empty(tag.frozen.alphabet[0]),
        new_scratch(transition),
        new_scratch(label),
        new_scratch(tag),
        new_scratch(parser.word),
        new_memo(_MANY if is_factored(parser) else 1, 1 + len(transition.elements), 4),
        new_memo(_MANY if is_factored(parser) else 1, 1 + len(label.elements), LABELS),
        new_memo(_FEW if len(tag.weight) == 0 else _MANY, width, TAGS + 1),
    )


@inner
def is_factored(parser):
    """Whether an action is a direction and a label, each with a distribution of its own."""
    return len(parser.transition.possible) > 0


@inner
def best_actions(parser, records, top, work):
    """Find the best actions of each class in a configuration: `work.action` and `work.action_probability`.

    With factored actions the labels are missing yet: each class has its probability, and `best_labels` fills them in.
    """
    if is_factored(parser):
        _directions(parser, records, top, work)
        return
    row = work.transition_row[1:]
    read_context(parser.transition.elements, records, top, 0, row)
    if len(parser.best_action) > 0:
        restaurant = deepest(parser.transition.frozen, 0, row)
        for group in range(DIRECTIONS):
            overwrite(work.action[group], parser.best_action[restaurant, group])
            overwrite(work.action_probability[group], parser.best_probability[restaurant, group])
        return
    distribution = work.distribution
    product_distribution(parser.transition, row, 0, work.transition_scratch, distribution)
    work.action[:] = NONE
    work.action_probability[:] = 0.0
    for action in range(len(distribution)):
        group = class_of(action)
        keep_best(work.action[group], work.action_probability[group], action, distribution[action])


@inner
def _directions(parser, records, top, work):
    kind = kind_of(records[top, DEPTH])
    work.action[:] = NONE
    work.action[SHIFTS, 0], work.action[ENDS, 0] = SHIFT, END
    work.action_probability[:] = 0.0
    if kind == 0:
        work.action_probability[SHIFTS, 0] = 1.0
        return
    work.transition_row[0] = kind
    read_context(parser.transition.elements, records, top, 0, work.transition_row[1:])
    slot, known = recall(work.directions, work.transition_row)
    found = work.directions.probability[slot]
    if not known:
        product_distribution(parser.transition, work.transition_row[1:], kind, work.transition_scratch, found)
    overwrite(work.action_probability[:, 0], found)


@inner
def best_labels(parser, records, top, direction, work):
    """Replace a direction by its best arcs in `work.action`, multiplying its probability by those of the labels."""
    work.label_row[0] = direction
    read_context(parser.label.elements, records, top, direction, work.label_row[1:])
    slot, known = recall(work.labels, work.label_row)
    best, probability = work.labels.outcome[slot], work.labels.probability[slot]
    if not known:
        distribution = work.label_distribution
        product_distribution(parser.label, work.label_row[1:], 0, work.label_scratch, distribution)
        best[:] = NONE
        probability[:] = 0.0
        for label in range(len(distribution)):
            keep_best(best, probability, label, distribution[label])
    share_of_direction = work.action_probability[direction, 0]
    for k in range(LABELS):
        work.action[direction, k] = left_arc(best[k]) if direction == LEFT_ARCS else right_arc(best[k])
        work.action_probability[direction, k] = share_of_direction * probability[k]


@compiled
def usual_probabilities(pool, tag_offsets, candidate_tags):
    """p(word | tag) for every word and candidate tag, as the first expert that begins with the tag has it.

    RETURNS (float64[candidates]): The probabilities, see `Parser`.
    """
    view = pool.frozen
    usual = np.ones(len(candidate_tags))
    for expert in range(view.columns.shape[0]):
        if view.columns.shape[1] > 0 and pool.elements[view.columns[expert, 0], 0] == NEXT:
            for word in range(len(tag_offsets) - 1):
                for i in range(tag_offsets[word], tag_offsets[word + 1]):
                    tagged = child(view, expert, FIRST_SYMBOL + candidate_tags[i])
                    usual[i] = view_probability(view, expert if tagged == NONE else tagged, word)
            break
    return usual


@inner
def best_tags(parser, records, top, word, given, particles, work):
    """Find the best tags of the next word by p(tag) p(word | tag).

    Many derivations of a beam look the same to the tag and word distributions; they are looked up, not computed again.

    word (int): The next word.
    given (int): Its tag where that is known, else `NONE`.
    particles (int): How many particles will be divided: a tag that would not get one need not be found.
    RETURNS (int): Where `work.tags` has them.
    """
    # A few sizes instead of all, so that what is found depends on the look-up key alone.
    magnitude = 1
    while 8.0**magnitude < particles:
        magnitude += 1
    key = work.tag_key
    key[0] = word
    key[1] = magnitude if given == NONE else -given
    tag_row, word_row = key[2 : 2 + len(parser.tag.elements)], key[2 + len(parser.tag.elements) :]
    read_context(parser.tag.elements, records, top, 0, tag_row)
    read_context(parser.word.elements, records, top, given, word_row)
    slot, known = recall(work.tags, key)
    if not known:
        score_tags(parser, records, top, word, given, 0.25 / 8.0**magnitude, tag_row, work, slot)
    return slot


@inner
def score_tags(parser, records, top, word, given, negligible, tag_row, work, slot):
    """Compute what `best_tags` looks up.

    negligible (float): What a tag's share may at least be expected to be, beside the best one's.
    slot (int): Where to write it in `work.tags`.
    """
    tags, probabilities = work.tags.outcome[slot, :TAGS], work.tags.probability[slot]
    distribution = work.tag_distribution
    product_distribution(parser.tag, tag_row, 0, work.tag_scratch, distribution)
    tags[:] = NONE
    probabilities[:] = 0.0
    first, last = parser.tag_offsets[word], parser.tag_offsets[word + 1]
    if given != NONE:
        read_context(parser.word.elements, records, top, given, work.word_row)
        tags[0] = given
        probabilities[TAGS] = distribution[given]
        probabilities[0] = distribution[given] * mixture_probability(
            parser.word, work.word_row, word, work.word_scratch
        )
        return
    likely = 0.0
    for i in range(first, last):
        likely = max(likely, distribution[parser.candidate_tags[i]] * parser.usual[i])
        probabilities[TAGS] += distribution[parser.candidate_tags[i]]
    for i in range(first, last):
        tag = parser.candidate_tags[i]
        if distribution[tag] * parser.usual[i] < negligible * likely:
            continue
        read_context(parser.word.elements, records, top, tag, work.word_row)
        probability = mixture_probability(parser.word, work.word_row, word, work.word_scratch)
        keep_best(tags, probabilities[:TAGS], tag, distribution[tag] * probability)
