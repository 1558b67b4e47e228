"""Decoding by Algorithm 1 of Buys & Blunsom (2015): the particle filter of `inference.particle_filter` that divides as
`inference.rounding` says, over arc-standard derivations of which the best actions and tags are pursued (`proposals`). Or by beam
search: then it keeps as `inference.pruning` says.
"""

import numpy as np

from ..annotation.arrays import Blocks, Guides
from ..compiled import compiled, generic_maker, implements, inner_maker
from ..inference.particle_filter import run
from ..inference.pruning import BeamSearch, new_pruning
from ..inference.rounding import Search, new_rounding
from ..inference.running_text import read
from .configuration import FIELDS
from .posterior import choose, find_guides, find_marginals, read_parse, read_posterior
from .proposals import bounds_of, new_decoding

_SMALLEST = 1024


@inner_maker
def only(blocks, block):
    """One of some blocks by itself."""
    start, end = blocks.offsets[block], blocks.offsets[block + 1]
    offsets = np.zeros(2, dtype=np.int64)
    offsets[1] = end - start
    return Blocks(blocks.words[start:end], blocks.tags[start:end], blocks.may_start[start:end], offsets)


@generic_maker
def new_scheme(search, task, syntactic, lexical, log_probability):
    """What a search does with particles, and how many there are, for a task (Decoding).

    syntactic, lexical, log_probability (float64[n]): See `search_block`.
    """


@implements(new_scheme, Search)
@inner_maker
def _algorithm_1(search, task, syntactic, lexical, log_probability):
    return new_rounding(search, syntactic, lexical, log_probability), search.particles


@implements(new_scheme, BeamSearch)
@inner_maker
def _beam_search(search, task, syntactic, lexical, log_probability):
    options = 2 * len(task.options.outcome)
    highest, least = bounds_of(task)
    return new_pruning(search, options, highest, least, syntactic, lexical, log_probability), options


@inner_maker
def search_block(parser, block, search, work, records, syntactic, lexical, log_probability):
    """Algorithm 1, or beam search, on one block of n words.

    block (Blocks): The block by itself.
    search (Search | BeamSearch): K, at least 1, and what limits the search.
    work (Workspace), records (int32[*, FIELDS]): Written on.
    syntactic, lexical, log_probability (float64[n]): Overwritten, see `Parses`.
    RETURNS (tuple): The records (int32[*, FIELDS]), grown as was needed, the final beam (Beam) and its size.
    """
    nothing = np.empty(0, dtype=np.int32)
    task = new_decoding(parser, block, search, work)
    scheme, particles = new_scheme(search, task, syntactic, lexical, log_probability)
    return run(task, scheme, particles, nothing, nothing, records)


@generic_maker
def read_block(search, parser, block, work, records, syntactic, lexical, log_probability):
    """Find the probabilities of the words of one block, whose sentences are searched for apart; see `running_text.read`.

    parser, block, work, records, syntactic, lexical, log_probability: As for `search_block`.
    RETURNS (int32[*, FIELDS]): The records, grown as was needed.
    """


@implements(read_block, Search)
@inner_maker
def _read_block(search, parser, block, work, records, syntactic, lexical, log_probability):
    task = new_decoding(parser, block, search, work)
    return read(task, new_rounding(search, syntactic, lexical, log_probability), records)


@implements(read_block, BeamSearch)
@inner_maker
def _not_apart(search, parser, block, work, records, syntactic, lexical, log_probability):
    return records


@compiled
def decode_blocks(parser, work, blocks, chosen, search, given, parses):
    """Decode some blocks, each by itself; what one block gives does not depend on the others.

    work (Workspace): Written on.
    blocks (Blocks): All blocks.
    chosen (int64[*]): Which of them to decode.
    search (Search): How to search, and what to choose from the final beam.
    given (bool): Whether the heads, labels and tags in `parses` are to be kept, and only their probabilities to be found.
    parses (Parses): Overwritten for the chosen blocks.
    """
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    for block in chosen:
        start, end = blocks.offsets[block], blocks.offsets[block + 1]
        one = only(blocks, block)
        syntactic, lexical = parses.syntactic[start:end], parses.lexical[start:end]
        log_probability = parses.log_probability[start:end]
        if search.apart:
            records = read_block(search, parser, one, work, records, syntactic, lexical, log_probability)
            continue
        records, beam, size = search_block(parser, one, search, work, records, syntactic, lexical, log_probability)
        heads, labels, tags = parses.heads[start:end], parses.labels[start:end], parses.tags[start:end]
        if not search.marginals:
            best = 0
            for i in range(size):
                if beam.weight[i] > beam.weight[best]:
                    best = i
            read_parse(records, beam.record[best], heads, labels, tags)
            continue
        posterior = read_posterior(records, beam, size, end - start, search.temperature)
        if not given:
            choose(posterior, search.consensus, heads, labels, tags)
        find_marginals(posterior, heads, tags, parses.head_probability[start:end], parses.tag_probability[start:end])
        if search.guides:
            guides = parses.guides
            own = Guides(
                guides.heads[start:end],
                guides.head_probability[start:end],
                guides.head_labels[start:end],
                guides.tags[start:end],
                guides.tag_probability[start:end],
            )
            find_guides(posterior, own)


@compiled
def decode_all(parser, work, blocks, block, search):
    """All derivations that the final beam has for one block.

    work (Workspace): Written on.
    block (int): Which of the blocks.
    RETURNS (Posterior): Their trees and probabilities.
    """
    one = only(blocks, block)
    n = len(one.tags)
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    records, beam, size = search_block(parser, one, search, work, records, np.empty(n), np.empty(n), np.empty(n))
    return read_posterior(records, beam, size, n, search.temperature)
