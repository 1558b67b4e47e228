"""The beam after each word: the analyses of the words so far, and what they expect next.

The derivations that Algorithm 1 goes on with after a word are the *analyses* of the prefix. Their
weights, normalised, are taken for the posterior distribution over what has been attached by then.

Before the next word is generated, each of them may attach further words. The next event, a word or
the end of the sentence, is distributed as

    p(next | prefix) ∝ sum over d, and over what d may attach, of theta(d) p(attachments) p(shift)
    sum over tags of p(tag) p(next | tag)

and for the end with p(end) in place of the last factors. The sum is over all words, and over tags
and attachments as long as they have `NEGLIGIBLE` of the whole or more; what is left out below that,
or with labels that are not tried, is shared out among the rest by normalising.
"""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from math import exp, log2
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Blocks, sentence_blocks
from ..compiled import NONE, jit, jitable, overwrite, struct
from ..hpyp.pool import alphabet_of, find_shares
from ..hpyp.table import distribution
from ..memo import mixed
from . import configuration as column
from .configuration import ENDS, ROOT, SHIFT, new_records, reduce
from .contexts import read_context
from .decoding import UNUSED, only
from .distributions import Distributions
from .likelihood import ask_all
from .particle_filter import DERIVATION, append, log_sum, longer, particle_filter, unused_record
from .posterior import read_parse
from .proposals import action_probabilities, best_arcs, new_task
from .search import Search

#: In place of a head: the word has no head yet.
OPEN = -2
#: Continuations below this part of the prefix's probability are left out of the expectation.
NEGLIGIBLE = 1e-6
# The number of labels of an arc to try for the expected next words.
_LABELS = 5
_SMALLEST = 1024
# The number of experts' distributions to gather before summing, a power of two.
_SLOTS = 8192
# Enough particles for exhaustive search.
_ALL = 10**9
# The largest number of heads of one sentence to store, and of labels and tags: 3 GB.
_ROOM = 250_000_000


@struct
class Increments(NamedTuple):
    """The states of a beam after each of the n words of a sentence.

    heads, labels, tags: The arcs and tags of each derivation, as in `Parses`, but `OPEN` for a head
        not yet known; those of later words mean nothing. Without rows unless asked for.
    structure: Expected values over the analyses after a word: words on the stack, arcs attached
        since the word before, and the sum of their lengths in words.
    entropy_next, expected: Before the first word and after each, the distribution of the next
        outcome (word or class), or in the last column of the end of the sentence; and its entropy.
        Unless asked for, one row of `expected`, the last one.
    """

    size: np.ndarray  # int64[n]: how many derivations go on; arrays of K mean nothing behind them
    log_weight: np.ndarray  # float64[n, K]: log-probabilities of the prefix with each, in nats
    analysis: np.ndarray  # uint64[n, K]: numbers, the same for the same tags and arcs
    structure: np.ndarray  # float64[n, 3]
    entropy_next: np.ndarray  # float64[n + 1], in bits
    heads: np.ndarray  # int32[n, K, n]
    labels: np.ndarray  # int32[n, K, n]
    tags: np.ndarray  # int32[n, K, n]
    expected: np.ndarray  # float64[n + 1, words + 1]


@struct
class Gathered(NamedTuple):
    """Weighted distributions of a pool's experts, to be added up: many configurations lead an
    expert to the same restaurant.
    """

    place: np.ndarray  # int64[slots]: the restaurant, `NONE` where a slot is free
    expert: np.ndarray  # int32[slots]
    row: np.ndarray  # int32[slots, elements]: the context that leads there
    weight: np.ndarray  # float64[slots]
    distribution: np.ndarray  # float64[alphabet]: workspace
    used: np.ndarray  # int64[1]: how many slots are not free


@jit
def _note_analyses(found, records, beam, word):
    """Enter the derivations that go on after a word."""
    found.size[word] = len(beam)
    # Numbers of analyses decide in which order these are added up: later words must not matter.
    total, n = log_sum(beam["theta"]), word + 1
    parse = np.empty(3 * n, dtype=np.int32)
    heads, labels, tags = parse[:n], parse[n : 2 * n], parse[2 * n :]
    for i, d in enumerate(beam):
        parse[:] = NONE
        heads[:] = OPEN
        read_parse(records, d.record, heads, labels, tags)
        found.log_weight[word, i] = d.theta
        found.analysis[word, i] = mixed(parse)
        weight = exp(d.theta - total)
        found.structure[word, 0] += weight * (d.depth - 1)
        _add_arcs(records, records[d.record, column.PREVIOUS], weight, found.structure[word])
        if len(found.heads) > 0:
            overwrite(found.heads[word, i], heads)
            overwrite(found.labels[word, i], labels)
            overwrite(found.tags[word, i], tags)


@jitable
def _add_arcs(records, record, weight, structure):
    """Add the arcs between `record` and the shift before it to their expected number and length."""
    while record != ROOT and records[record, column.ACTION] != SHIFT:
        before = records[record, column.PREVIOUS]
        child = records[before, column.POSITION]
        other = records[records[before, column.BELOW], column.POSITION]
        structure[1] += weight
        structure[2] += weight * abs(child - other)
        record = before


@jit
def foresee(ahead, gathered, found, records, beam, word):
    """Find the distribution of what comes next, and its entropy in bits, and enter it in `found`.

    ahead (Task): Words that may end anywhere, one more than there are.
    word (int): How many words the derivations of `beam` have shifted.
    """
    expected = found.expected[min(word, len(found.expected) - 1)]
    work, options, end = ahead.work, ahead.work.options, len(ahead.outcomes)
    # Long sentences have many records. Copy them only if there is no room behind them.
    own, used, room = records, unused_record(beam), len(options.outcome)
    total = log_sum(beam["theta"])
    following = np.empty(max(_SMALLEST, 2 * len(beam)), DERIVATION)
    count, i, entropy = 0, 0, 0.0
    for d in beam:
        count = append(following, count, exp(d.theta - total), 1, 0.0, d.record, d.depth, NONE, 0)
    expected[:] = 0.0
    while i < count:
        top, share, depth = np.int64(following[i].record), following[i].theta, following[i].depth
        i += 1
        p_generate, p_attach = action_probabilities(ahead, own, top, word, end)
        p_end = work.best_probability[ENDS, 0]
        expected[-1] += share * p_end
        if share * (p_attach - p_end) >= NEGLIGIBLE:
            if used + room > len(own):
                own = longer(own)
            if count + room > len(following):
                following = longer(following)
            for j in range(best_arcs(ahead, own, top, _ALL)):
                weight = share * options.probability[j]
                if depth >= 3 and weight >= NEGLIGIBLE:
                    reduce(own, used, top, options.outcome[j])
                    count = append(following, count, weight, 1, 0.0, used, depth - 1, NONE, 0)
                    used += 1
        if share * p_generate >= NEGLIGIBLE:
            _gather_words(ahead, own, top, share * p_generate, gathered, expected)
    _add_up(ahead.model.word, gathered, expected)
    expected /= expected.sum()
    for probability in expected:
        if probability > 0.0:
            entropy -= probability * log2(probability)
    found.entropy_next[word] = entropy


@jitable
def _gather_words(ahead, records, top, share, gathered, expected):
    """Gather the distributions of the words that a configuration may generate."""
    work, pool = ahead.work, ahead.model.word
    scratch, row = work.word.scratch, work.word.key[2:]
    ask_all(ahead.model.tag, records, top, 0, 0, work.tag)
    for tag in range(len(work.tag.distribution)):
        weight = share * work.tag.distribution[tag]
        if weight < NEGLIGIBLE:
            continue
        read_context(pool.elements, records, top, tag, row)
        mass = find_shares(pool, row, scratch)
        for expert in range(len(scratch.weight)):
            place, part = np.int64(scratch.place[expert]), weight * scratch.weight[expert] / mass
            _gather(pool, expert, place, row, part, gathered, expected)


@jitable
def _gather(pool, expert, place, row, weight, gathered, expected):
    """Enter the distribution of an expert, or add its weight to that of an equal one."""
    last = len(gathered.place) - 1
    slot = (place * 0x9E3779B1 >> 8) & last
    while gathered.place[slot] != NONE and gathered.place[slot] != place:
        slot = (slot + 1) & last
    if gathered.place[slot] == place:
        gathered.weight[slot] += weight
        return
    gathered.place[slot], gathered.expert[slot], gathered.weight[slot] = place, expert, weight
    overwrite(gathered.row[slot], row)
    gathered.used[0] += 1
    if 2 * gathered.used[0] > len(gathered.place):
        _add_up(pool, gathered, expected)


@jitable
def _add_up(pool, gathered, expected):
    """Add the gathered distributions times their weights to `expected`, and free the slots."""
    for slot in range(len(gathered.place)):
        if gathered.place[slot] != NONE:
            distribution(
                pool.experts, gathered.expert[slot], gathered.row[slot], gathered.distribution
            )
            for outcome in range(len(gathered.distribution)):
                expected[outcome] += gathered.weight[slot] * gathered.distribution[outcome]
            gathered.place[slot] = NONE
    gathered.used[0] = 0


def follow(
    model: Distributions, blocks: Blocks, search: Search, threads: int = 1, *, parses: bool = True
) -> list[Increments]:
    """Return what the beam of a lexicalised model holds after each word of some sentences.

    blocks (Blocks): The sentences; boundaries inside of a block are not looked for.
    search (Search): How to search; its `future_cost` should be 0, or it knows the words to come.
    threads (int): How many threads share the sentences; the result does not depend on it.
    parses (bool): Whether to tell what has been attached and what is expected, too: memory grows
        with the square of a sentence's length.
    RAISES (ValueError): If those of one sentence would take more than 3 GB.
    """
    blocks = blocks._replace(may_start=np.zeros_like(blocks.may_start))
    search = search._replace(apart=False)
    outcomes = int(alphabet_of(model.word)) + 1
    # Expected next words need more labels than analyses.
    wide = search._replace(labels_per_arc=max(search.labels_per_arc, _LABELS), future_cost=0.0)

    def one(block: int) -> Increments:
        n, k = int(blocks.offsets[block + 1] - blocks.offsets[block]), search.particles
        if parses and n * n * k > _ROOM:
            raise ValueError(
                f"A sentence of {n} words is too long to keep {k} particles' parses at each word. "
                f"Split the text into sentences, or use at most {_ROOM // n**2} particles."
            )
        rows = n if parses else 0
        found = Increments(
            np.zeros(n, dtype=np.int64),
            np.empty((n, k)),
            np.empty((n, k), dtype=np.uint64),
            np.zeros((n, 3)),
            np.empty(n + 1),
            *(np.empty((rows, k, n), dtype=np.int32) for _ in range(3)),
            np.empty((n + 1 if parses else 1, outcomes)),
        )
        gathered = Gathered(
            np.full(_SLOTS, NONE, dtype=np.int64),
            np.empty(_SLOTS, dtype=np.int32),
            np.empty((_SLOTS, len(model.word.elements)), dtype=np.int32),
            np.empty(_SLOTS),
            np.empty(outcomes - 1),
            np.zeros(1, dtype=np.int64),
        )
        ends = sentence_blocks([np.zeros(n + 1, dtype=np.int32)])
        ends = ends._replace(may_start=np.ones(n + 1, dtype=np.bool_))
        task, ahead = new_task(model, only(blocks, block), search), new_task(model, ends, wide)
        beam, records = np.empty(0, DERIVATION), new_records()
        # No word yet, and then the words one by one.
        for first, last in [(0, 0), *pairwise(range(n + 1))]:
            records, beam = particle_filter(task, 0, first, last, beam, records, UNUSED)
            if last > 0:
                _note_analyses(found, records, beam, first)
            foresee(ahead, gathered, found, records, beam, last)
        return found

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(len(blocks.offsets) - 1)))
