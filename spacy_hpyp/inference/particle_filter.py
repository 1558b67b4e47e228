"""Algorithm 1 of Buys & Blunsom (2015): decoding by a particle filter that divides instead of sampling.

The beam holds derivations that have shifted the same number of words. Each carries a log-weight, log theta, and a count
of particles, k. A pass divides the particles of each derivation between shifting the next word and reducing first; the
selection that follows reallocates K particles in proportion to k * theta and drops the derivations that get none.

The log-sum of the weights after word i has been shifted is a lower bound of the log-probability of the words up to i
with everything that may precede them, and that of the finished derivations a lower bound of the sentence's.
"""

from math import floor, log
from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from ..hpyp.franchise import NONE, child, deepest
from ..hpyp.pool import FrozenPool, Scratch, mixture_probability, new_scratch, product_distribution
from ..hpyp.view import keep_best, view_probability
from ..transitions.configuration import (
    DEPTH,
    END,
    ENDS,
    FIELDS,
    FIRST_SYMBOL,
    LEFT_ARCS,
    RIGHT_ARCS,
    ROOT,
    SHIFT,
    SHIFTS,
    begin,
    class_of,
    derivation,
    kind_of,
    left_arc,
    reduce,
    right_arc,
    shift,
    tree_of,
)
from ..transitions.contexts import NEXT, read_context
from .beam import append, log_sum, longer, new_beam, select, share, with_room
from .memo import Memo, new_memo, recall

#: How many labels of a left- or right-arc, and how many tags of a word, a derivation is divided between.
LABELS = 1
TAGS = 3

# What one derivation can at most become: two labels of each arc, an end and the tags.
_MOST_RECORDS = 2 * LABELS + 1 + TAGS
_SMALLEST = 1024
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


class Blocks(NamedTuple):
    """Stretches of words that are decoded independently of each other.

    words (int32[tokens, 2]): The number of each word inside a sentence and at its beginning.
    tags (int32[tokens]): Given tags, `NONE` where the tag is to be found.
    may_start (bool[tokens]): Whether a sentence may begin here; the first word of a block always begins one.
    offsets (int64[blocks + 1]): Where each block begins.
    """

    words: np.ndarray
    tags: np.ndarray
    may_start: np.ndarray
    offsets: np.ndarray


class Parses(NamedTuple):
    """The best derivation of every block, as trees.

    heads (int32[tokens]): Positions in the block, -1 for the words attached to ROOT.
    labels (int32[tokens]): -1 for the words attached to ROOT.
    tags (int32[tokens]): The tags.
    log_probability (float64[tokens]): What each word adds to the log-probability of its block, in nats; a block's sum is
        the log of the sum over the final beam. The end of the last sentence is counted with the last word.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    log_probability: np.ndarray


class Workspace(NamedTuple):
    """What one thread writes on.

    action (int32[4, LABELS]), action_probability (float64[4, LABELS]): The best actions of each class.
    tag (int32[TAGS]), tag_probability (float64[TAGS]): The best tags, with p(tag) p(word | tag).
    transition_row, label_row, tag_key, word_row (int32[*]): Context rows; before the label's stands the direction, before
        the tag's the word and the magnitude of the particles, and behind it what is known of the word's.
    distribution, label_distribution, tag_distribution (float64[alphabet]): Dense distributions.
    transition_scratch, label_scratch, tag_scratch, word_scratch (Scratch): Workspace of the pools.
    directions, labels, tags (Memo): What was found lately.
    """

    action: np.ndarray
    action_probability: np.ndarray
    tag: np.ndarray
    tag_probability: np.ndarray
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
        np.empty(TAGS, dtype=np.int32),
        np.empty(TAGS),
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
        new_memo(_FEW if len(tag.weight) == 0 else _MANY, width, TAGS),
    )


@compiled
def is_factored(parser):
    """Whether an action is a direction and a label, each with a distribution of its own."""
    return parser.label.frozen.columns.shape[0] > 0


@compiled
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
        work.action[:] = parser.best_action[restaurant]
        work.action_probability[:] = parser.best_probability[restaurant]
        return
    distribution = work.distribution
    product_distribution(parser.transition, row, 0, work.transition_scratch, distribution)
    work.action[:] = NONE
    work.action_probability[:] = 0.0
    for action in range(len(distribution)):
        group = class_of(action)
        keep_best(work.action[group], work.action_probability[group], action, distribution[action])


@compiled
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
    work.action_probability[:, 0] = found


@compiled
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


@compiled
def best_tags(parser, records, top, word, given, particles, work):
    """Find the best tags of the next word by p(tag) p(word | tag): `work.tag` and `work.tag_probability`.

    Many derivations of a beam look the same to the tag and word distributions; they are looked up, not computed again.

    word (int): The next word.
    given (int): Its tag where that is known, else `NONE`.
    particles (int): How many particles will be divided: a tag that would not get one need not be found.
    """
    # A few sizes instead of all, so that what is found depends on the look-up key alone.
    magnitude = 1
    while 8.0**magnitude < particles:
        magnitude += 1
    key = work.tag_key
    key[0] = word
    key[1] = magnitude
    tag_row, word_row = key[2 : 2 + len(parser.tag.elements)], key[2 + len(parser.tag.elements) :]
    read_context(parser.tag.elements, records, top, 0, tag_row)
    read_context(parser.word.elements, records, top, given, word_row)
    if given != NONE:
        score_tags(parser, records, top, word, given, 0.0, tag_row, work, work.tag, work.tag_probability)
        return
    slot, known = recall(work.tags, key)
    if not known:
        least = 0.25 / 8.0**magnitude
        found, probability = work.tags.outcome[slot], work.tags.probability[slot]
        score_tags(parser, records, top, word, given, least, tag_row, work, found, probability)
    work.tag[:] = work.tags.outcome[slot]
    work.tag_probability[:] = work.tags.probability[slot]


@compiled
def score_tags(parser, records, top, word, given, negligible, tag_row, work, tags, probabilities):
    """Compute what `best_tags` looks up.

    tags (int32[TAGS]), probabilities (float64[TAGS]): Overwritten.
    """
    distribution = work.tag_distribution
    product_distribution(parser.tag, tag_row, 0, work.tag_scratch, distribution)
    tags[:] = NONE
    probabilities[:] = 0.0
    first, last = parser.tag_offsets[word], parser.tag_offsets[word + 1]
    if given != NONE:
        read_context(parser.word.elements, records, top, given, work.word_row)
        tags[0] = given
        probabilities[0] = distribution[given] * mixture_probability(
            parser.word, work.word_row, word, work.word_scratch
        )
        return
    likely = 0.0
    for i in range(first, last):
        likely = max(likely, distribution[parser.candidate_tags[i]] * parser.usual[i])
    for i in range(first, last):
        tag = parser.candidate_tags[i]
        if distribution[tag] * parser.usual[i] < negligible * likely:
            continue
        read_context(parser.word.elements, records, top, tag, work.word_row)
        probability = distribution[tag] * mixture_probability(parser.word, work.word_row, word, work.word_scratch)
        keep_best(tags, probabilities, tag, probability)


@compiled
def divide_reduce(records, used, beam, size, i, n_reduce, work):
    """Divide particles of derivation i between the best left- and right-arcs, and the end where it is possible.

    RETURNS (tuple[int, int]): The new `used` and `size`.
    """
    action, probability = work.action, work.action_probability
    mass = probability[ENDS:].sum()
    while n_reduce > 0:
        group, j = ENDS, 0
        for other in range(ENDS, RIGHT_ARCS + 1):
            for k in range(LABELS):
                if probability[other, k] > probability[group, j]:
                    group, j = other, k
        if probability[group, j] == 0.0:
            break
        given = share(n_reduce, probability[group, j], mass)
        reduce(records, used, beam.record[i], action[group, j])
        size = append(beam, size, used, beam.weight[i] + log(probability[group, j]), given)
        used += 1
        n_reduce -= given
        mass -= probability[group, j]
        probability[group, j] = 0.0
    return used, size


@compiled
def divide_shift(records, used, beam, i, shifted, size, n_shift, word, work):
    """Divide particles of derivation i between the best tags of the word that it shifts.

    RETURNS (tuple[int, int]): The new `used` and the new size of `shifted`.
    """
    mass = work.tag_probability.sum()
    for j in range(TAGS):
        if n_shift == 0 or work.tag_probability[j] == 0.0:
            break
        given = share(n_shift, work.tag_probability[j], mass)
        shift(records, used, beam.record[i], work.tag[j], word)
        theta = beam.weight[i] + log(work.action_probability[SHIFTS, 0]) + log(work.tag_probability[j])
        size = append(shifted, size, used, theta, given)
        used += 1
        n_shift -= given
        mass -= work.tag_probability[j]
    return used, size


@compiled
def forbid(probability, depth, may_end):
    """Set the probabilities of the reduce transitions that do not exist at a stack depth to zero."""
    if depth < 3:
        probability[LEFT_ARCS] = 0.0
        probability[RIGHT_ARCS] = 0.0
    if depth != 2 or not may_end:
        probability[ENDS] = 0.0


@compiled
def decode_block(parser, words, tags, may_start, search, work, records, heads, labels, found, log_probability):
    """Algorithm 1 on one block of words: write the best derivation's tree and each word's log-probability.

    words (int32[n, 2]), tags (int32[n]), may_start (bool[n]): See `Blocks`.
    search (Search): K, and what the selection step expects.
    work (Workspace), records (int32[*, FIELDS]): Written on.
    heads, labels, found (int32[n]), log_probability (float64[n]): Overwritten, see `Parses`; found are the tags.
    RETURNS (int32[*, FIELDS]): The records, grown as was needed.
    """
    n = len(tags)
    used = begin(records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    size = append(beam, 0, ROOT, 0.0, search.particles)
    before = 0.0
    log_probability[:] = 0.0
    # The pass after the last word only reduces; what it leaves in `shifted` are the terminal configurations.
    for word in range(n + 1):
        all_shifted = word == n
        may_end = all_shifted or may_start[word]
        # Search step.
        shifted_size = 0
        i = 0
        while i < size:
            if used + _MOST_RECORDS > len(records):
                records = longer(records)
            beam = with_room(beam, size + _MOST_RECORDS)
            shifted = with_room(shifted, shifted_size + _MOST_RECORDS)
            depth = records[beam.record[i], DEPTH]
            if all_shifted and depth == 1:
                shifted_size = append(shifted, shifted_size, beam.record[i], beam.weight[i], beam.particles[i])
                i += 1
                continue
            best_actions(parser, records, beam.record[i], work)
            forbid(work.action_probability, depth, may_end)
            n_shift = beam.particles[i]
            if all_shifted:
                n_shift = np.int64(0)
            elif work.action_probability[ENDS:].sum() > 0.0:
                n_shift = np.int64(floor(beam.particles[i] * work.action_probability[SHIFTS, 0] + 0.5))
            n_reduce = beam.particles[i] - n_shift
            if n_reduce > 0:
                if is_factored(parser):
                    for direction in (LEFT_ARCS, RIGHT_ARCS):
                        if work.action_probability[direction, 0] > 0.0:
                            best_labels(parser, records, beam.record[i], direction, work)
                used, size = divide_reduce(records, used, beam, size, i, n_reduce, work)
            if n_shift > 0:
                form = words[word, 1 if depth == 1 else 0]
                best_tags(parser, records, beam.record[i], form, tags[word], n_shift, work)
                used, shifted_size = divide_shift(records, used, beam, i, shifted, shifted_size, n_shift, form, work)
            i += 1
        beam, shifted, size = shifted, beam, shifted_size
        prefix = log_sum(beam.weight, size)
        log_probability[min(word, n - 1)] += prefix - before
        before = prefix
        # Selection step.
        if not all_shifted:
            size = select(beam, size, records, search)
    best = 0
    for i in range(size):
        if beam.weight[i] > beam.weight[best]:
            best = i
    actions = np.empty(2 * n, dtype=np.int32)
    derivation(records, beam.record[best], actions, found)
    tree_of(actions, heads, labels)
    return records


@compiled
def decode_blocks(parser, blocks, chosen, search, parses):
    """Decode some blocks, each by itself; what one block gives does not depend on the others.

    blocks (Blocks): All blocks.
    chosen (int64[*]): Which of them to decode.
    search (Search): K, and what the selection step expects.
    parses (Parses): Overwritten for the chosen blocks.
    """
    work = new_workspace(parser)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    for block in chosen:
        start, end = blocks.offsets[block], blocks.offsets[block + 1]
        records = decode_block(
            parser,
            blocks.words[start:end],
            blocks.tags[start:end],
            blocks.may_start[start:end],
            search,
            work,
            records,
            parses.heads[start:end],
            parses.labels[start:end],
            parses.tags[start:end],
            parses.log_probability[start:end],
        )
