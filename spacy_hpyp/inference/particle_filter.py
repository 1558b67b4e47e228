"""Algorithm 1 of Buys & Blunsom (2015): decoding by a particle filter that divides instead of sampling.

The beam holds derivations that have shifted the same number of words. Each carries a log-weight, log theta, and a count
of particles, k. A pass divides the particles of each derivation between shifting the next word and reducing first; the
selection that follows reallocates K particles in proportion to k * theta and drops the derivations that get none.

The log-sum of the weights after word i has been shifted is a lower bound of the log-probability of the words up to i
with everything that may precede them, and that of the finished derivations a lower bound of the sentence's.
"""

from collections.abc import Sequence
from math import floor, inf, log
from typing import NamedTuple

import numpy as np

from ..arc_standard.configuration import DEPTH, ENDS, FIELDS, LEFT_ARCS, RIGHT_ARCS, ROOT, SHIFTS, begin, reduce, shift
from ..arc_standard.posterior import choose, find_marginals, read_parse, read_posterior
from ..arc_standard.proposals import LABELS, TAGS, best_actions, best_labels, best_tags, is_factored, new_workspace
from ..compiled import borrowing, compiled, inner
from ..hpyp.franchise import NONE
from .beam import (
    append,
    expected_weight,
    lead_of_the_last,
    log_add,
    log_sum,
    longer,
    longer_beam,
    new_beam,
    select,
    share,
)

# Two sums of the same numbers in another order may differ by so much, in logs.
_ROUNDING = 1e-12

# What one derivation can at most become: the labels of two arcs, an end and the tags.
_MOST_RECORDS = 2 * LABELS + 1 + TAGS
_SMALLEST = 1024


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


def sentence_blocks(sentences: Sequence[np.ndarray]) -> Blocks:
    """Untagged sentences, each as a block of its own.

    sentences (Sequence[int32[*]]): The numbers of their words.
    """
    words = np.concatenate(sentences)
    return Blocks(
        words=np.stack([words, words], axis=1),
        tags=np.full(len(words), NONE, dtype=np.int32),
        may_start=np.zeros(len(words), dtype=bool),
        offsets=np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])]).astype(np.int64),
    )


class Parses(NamedTuple):
    """The parses that were chosen for all blocks, with what the beam says of them.

    heads (int32[tokens]): Positions in the block, -1 for the words attached to ROOT.
    labels (int32[tokens]): -1 for the words attached to ROOT.
    tags (int32[tokens]): The tags.
    log_probability (float64[tokens]): What each word adds to the log-probability of its block, in nats; a block's sum is
        the log of the sum over the final beam. The end of the last sentence is counted with the last word.
    syntactic, lexical (float64[tokens]): The log of the ratio of two successive prefix probabilities, in nats, in two
        parts (Roark et al. 2009). Where no end is counted they add up to `log_probability`. The syntactic part is that of
        the words before and a tag that the word may have: the sum, over the derivations that shift it, of all of these tags,
        whether they are tried or not. So it does not depend on how many are. The lexical part is the rest: which of the
        words with such a tag it is.
    head_probability, tag_probability (float64[tokens]): Of the chosen arc without its label and of the chosen tag, the
        posterior probability in the final beam; not a number unless asked for.
    """

    heads: np.ndarray
    labels: np.ndarray
    tags: np.ndarray
    log_probability: np.ndarray
    syntactic: np.ndarray
    lexical: np.ndarray
    head_probability: np.ndarray
    tag_probability: np.ndarray


@inner
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


@inner
def divide_shift(records, used, beam, i, shifted, size, n_shift, word, found, work):
    """Divide particles of derivation i between the best tags of the word that it shifts.

    found (int): Where `work.tags` has them.
    RETURNS (tuple[int, int]): The new `used` and the new size of `shifted`.
    """
    tag, probability = work.tags.outcome[found], work.tags.probability[found]
    mass = probability[:TAGS].sum()
    for j in range(TAGS):
        if n_shift == 0 or probability[j] == 0.0:
            break
        given = share(n_shift, probability[j], mass)
        shift(records, used, beam.record[i], tag[j], word)
        theta = beam.weight[i] + log(work.action_probability[SHIFTS, 0]) + log(probability[j])
        size = append(shifted, size, used, theta, given)
        used += 1
        n_shift -= given
        mass -= probability[j]
    return used, size


@borrowing
def forbid(probability, depth, may_end):
    """Set the probabilities of the reduce transitions that do not exist at a stack depth to zero."""
    if depth < 3:
        probability[LEFT_ARCS] = 0.0
        probability[RIGHT_ARCS] = 0.0
    if depth != 2 or not may_end:
        probability[ENDS] = 0.0


@compiled
def only(blocks, block):
    """One of some blocks by itself."""
    start, end = blocks.offsets[block], blocks.offsets[block + 1]
    return Blocks(
        blocks.words[start:end], blocks.tags[start:end], blocks.may_start[start:end], np.array([0, end - start])
    )


@compiled
def search(parser, block, settings, work, records, syntactic, lexical, log_probability):
    """Algorithm 1 on one block of n words.

    block (Blocks): The block by itself.
    settings (Search): K, at least 1, and what the selection step expects.
    work (Workspace), records (int32[*, FIELDS]): Written on.
    syntactic, lexical, log_probability (float64[n]): Overwritten, see `Parses`.
    RETURNS (tuple): The records (int32[*, FIELDS]), grown as was needed, the final beam (Beam) and its size.
    """
    words, tags, may_start = block.words, block.tags, block.may_start
    n = len(tags)
    used = begin(records)
    beam, shifted = new_beam(_SMALLEST), new_beam(_SMALLEST)
    size = append(beam, 0, ROOT, 0.0, settings.particles)
    before = 0.0
    # What is so far behind a derivation that has shifted is not pursued: it would reduce, a particle at a time, down to the
    # bottom of its stack, and that for every word of a text in which nothing can be attached.
    hopeless = lead_of_the_last(settings)
    # The pass after the last word only reduces; what it leaves in `shifted` are the terminal configurations.
    for word in range(n + 1):
        all_shifted = word == n
        may_end = all_shifted or may_start[word]
        # Search step.
        shifted_size = 0
        tagged = -inf
        best = -inf
        i = 0
        while i < size:
            if used + _MOST_RECORDS > len(records):
                records = longer(records)
            if size + _MOST_RECORDS > len(beam.record):
                beam = longer_beam(beam)
            if shifted_size + _MOST_RECORDS > len(shifted.record):
                shifted = longer_beam(shifted)
            depth = records[beam.record[i], DEPTH]
            if all_shifted and depth == 1:
                shifted_size = append(shifted, shifted_size, beam.record[i], beam.weight[i], beam.particles[i])
                i += 1
                continue
            if expected_weight(beam, i, records, settings) < best - hopeless:
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
                first = shifted_size
                found = best_tags(parser, records, beam.record[i], form, tags[word], n_shift, work)
                mass = work.action_probability[SHIFTS, 0] * work.tags.probability[found, TAGS]
                tagged = log_add(tagged, beam.weight[i] + log(mass))
                used, shifted_size = divide_shift(
                    records, used, beam, i, shifted, shifted_size, n_shift, form, found, work
                )
                if shifted_size > first:
                    best = max(best, expected_weight(shifted, first, records, settings))
            i += 1
        beam, shifted, size = shifted, beam, shifted_size
        prefix = log_sum(beam.weight, size)
        if all_shifted:
            log_probability[n - 1] += min(prefix - before, 0.0)
            break
        # Nothing is added on the way, and where there is no choice nothing is lost: what is above 0 has been rounded.
        syntactic[word] = min(tagged - before, 0.0)
        lexical[word] = prefix - tagged if prefix - tagged < -_ROUNDING else 0.0
        log_probability[word] = syntactic[word] + lexical[word]
        before = prefix
        # Selection step.
        size = select(beam, size, records, settings)
    return records, beam, size


@compiled
def decode_blocks(parser, blocks, chosen, settings, given, parses):
    """Decode some blocks, each by itself; what one block gives does not depend on the others.

    blocks (Blocks): All blocks.
    chosen (int64[*]): Which of them to decode.
    settings (Search): How to search, and what to choose from the final beam.
    given (bool): Whether the heads, labels and tags in `parses` are to be kept, and only their probabilities to be found.
    parses (Parses): Overwritten for the chosen blocks.
    """
    work = new_workspace(parser)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    for block in chosen:
        start, end = blocks.offsets[block], blocks.offsets[block + 1]
        records, beam, size = search(
            parser,
            only(blocks, block),
            settings,
            work,
            records,
            parses.syntactic[start:end],
            parses.lexical[start:end],
            parses.log_probability[start:end],
        )
        heads, labels, tags = parses.heads[start:end], parses.labels[start:end], parses.tags[start:end]
        if not settings.marginals:
            best = 0
            for i in range(size):
                if beam.weight[i] > beam.weight[best]:
                    best = i
            read_parse(records, beam.record[best], heads, labels, tags)
            continue
        posterior = read_posterior(records, beam, size, end - start, settings.temperature)
        if not given:
            choose(posterior, settings.consensus, heads, labels, tags)
        find_marginals(posterior, heads, tags, parses.head_probability[start:end], parses.tag_probability[start:end])


@compiled
def decode_all(parser, blocks, block, settings):
    """All derivations that the final beam has for one block.

    block (int): Which of the blocks.
    RETURNS (Posterior): Their trees and probabilities.
    """
    one = only(blocks, block)
    n = len(one.tags)
    work, records = new_workspace(parser), np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    records, beam, size = search(parser, one, settings, work, records, np.empty(n), np.empty(n), np.empty(n))
    return read_posterior(records, beam, size, n, settings.temperature)
