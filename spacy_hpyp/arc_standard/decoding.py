"""Decoding by Algorithm 1 of Buys & Blunsom (2015): of many blocks in several threads, and of
running text.

By the end of a long block all derivations in a beam share their past. So a block without boundaries
is decoded more than once:

1. Algorithm 1 finds the boundaries and, unless `apart`, the probabilities of the words. It has up
to four times the particles, as derivations that end a sentence elsewhere have to stay in the beam;
but not without `future_cost`, when a word's probability must not depend on the words to come.
2. Each sentence is decoded by itself.
3. With `marginals`, neighbours that may plausibly be one sentence are decoded as one. The posterior
probabilities of heads and tags are the mean over these possibilities, in proportion to the
probabilities of the words.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..annotation.arrays import (
    Blocks,
    Parses,
    Posterior,
    Share,
    block_starts,
    no_guides,
    offsets_of,
)
from ..compiled import NONE, jit
from .configuration import new_records
from .distributions import Distributions
from .future_cost import future_costs
from .particle_filter import log_sum, search_block
from .posterior import choose, find_guides, find_marginals, highest, read_parse, read_posterior
from .proposals import Task, new_task
from .search import Search

# The number of particles for a quick test whether two sentences may be one, and the difference in
# nats at which that becomes implausible.
_QUICK = 10
_IMPLAUSIBLE = 8.0
# The factor of particles in the search for boundaries, and the limit of their product.
_TIMES, _MANY = 4, 200
# Log odds beyond which nothing changes.
_CERTAIN = 50.0
#: A random generator that decoding does not use.
UNUSED = np.random.default_rng(0)


def only(blocks: Blocks, block: int) -> Blocks:
    """Return one of some blocks by itself."""
    start, end = blocks.offsets[block], blocks.offsets[block + 1]
    return Blocks(*(part[start:end] for part in blocks[:3]), np.array([0, end - start]))


def decode_block(task: Task, block: int, parses: Parses, records: np.ndarray) -> np.ndarray:
    """Decode a block into `parses` and `task.sums`; with `search.apart` only into the latter.

    RETURNS (int32[*, 16]): The records, for the next block.
    """
    records, beam = search_block(task, block, records, UNUSED)
    if not task.search.apart:
        start, end = task.blocks.offsets[block : block + 2].tolist()
        _read(task.search, records, beam, parses, start, end)
    return records


@jit
def _read(search, records, beam, parses, start, end):
    """Read the parse of words `start` to `end` - 1 off a final beam."""
    heads, labels = parses.heads[start:end], parses.labels[start:end]
    tags = parses.tags[start:end]
    if not search.marginals:
        read_parse(records, beam[highest(beam["theta"])].record, heads, labels, tags)
        return
    posterior = read_posterior(records, beam, end - start, search.temperature)
    choose(posterior, search.consensus, heads, labels, tags)
    p_heads, p_tags = parses.head_probability[start:end], parses.tag_probability[start:end]
    find_marginals(posterior, heads, tags, p_heads, p_tags)
    if search.guides:
        find_guides(posterior, parses.guides, start)


def decode_all(task: Task) -> Posterior:
    """Return all derivations of the final beam of the only block (Posterior)."""
    records, beam = search_block(task, 0, new_records(), UNUSED)
    return read_posterior(records, beam, len(task.outcomes), task.search.temperature)


def decode(parser: Distributions, blocks: Blocks, search: Search, threads: int = 1) -> Parses:
    """Parse blocks of words by Algorithm 1 and a frozen model, the same for any `threads`."""
    reading = search._replace(guides=False)
    search = search._replace(apart=False)
    is_open = _is_open(blocks)
    if not is_open.any():
        return _decode(parser, blocks, search, threads)
    sentences, first = segment(parser, blocks, search, threads)
    if reading.apart:
        first = _decode(parser, blocks, reading, threads, np.flatnonzero(is_open))
    parses = _decode(parser, sentences, search, threads)
    in_block = block_starts(sentences.offsets) - block_starts(blocks.offsets)
    if search.marginals:
        _doubt_boundaries(parser, blocks, sentences, parses, search, threads)
    of_open = np.repeat(is_open, np.diff(blocks.offsets))
    guides = parses.guides
    return parses._replace(
        heads=_moved(parses.heads, in_block),
        guides=guides._replace(heads=_moved(guides.heads, in_block[: len(guides.heads), None])),
        **{
            name: np.where(of_open, getattr(first, name), getattr(parses, name))
            for name in ("log_probability", "syntactic", "lexical")
        },
    )


def segment(
    parser: Distributions, blocks: Blocks, search: Search, threads: int = 1
) -> tuple[Blocks, Parses]:
    """Find the sentences of blocks; not with `search.apart`, which finds no parses.

    RETURNS (tuple[Blocks, Parses]): The blocks cut into sentences; and the parses by which they
        were found, valid for blocks inside of which sentences may begin.
    """
    search = search._replace(marginals=False, consensus=False, guides=False)
    if search.future_cost > 0.0:
        search = search._replace(
            particles=max(search.particles, min(_TIMES * search.particles, _MANY))
        )
    parses = _decode(parser, blocks, search, threads, np.flatnonzero(_is_open(blocks)))
    return cut(blocks, parses.heads), parses


def posteriors(
    parser: Distributions, blocks: Blocks, search: Search, threads: int = 1
) -> tuple[Blocks, list[Posterior]]:
    """Return the sentences of blocks, and all parses of each that are left in the end."""
    sentences, _ = segment(parser, blocks, search, threads)
    return sentences, _decode_all(parser, sentences, search, threads)


def mixture(parser: Distributions, blocks: Blocks, search: Search, threads: int = 1) -> list[Share]:
    """Return all parses of each sentence, and of plausible pairs of sentences as one, that are left
    in the end. The weights of each word sum up to 1.
    """
    sentences, found = posteriors(parser, blocks, search, threads)
    places = np.split(np.arange(len(blocks.tags)), sentences.offsets[1:-1])
    alone = [
        Share(place, posterior, np.ones(len(place))) for place, posterior in zip(places, found)
    ]
    shares = alone + _pairs(
        parser, blocks, sentences, np.array(list(map(_evidence, found))), search, threads
    )
    total = np.zeros(len(blocks.tags))
    for words, _, weight in shares:
        total[words] += weight
    return [Share(words, posterior, weight / total[words]) for words, posterior, weight in shares]


def cut(blocks: Blocks, heads: np.ndarray) -> Blocks:
    """Cut blocks where sentences have been found to begin, by heads (int32[tokens]) as in
    `Parses`.
    """
    roots = np.where(heads == NONE, np.arange(len(heads)), heads + block_starts(blocks.offsets))
    while np.any(roots[roots] != roots):
        roots = roots[roots]
    begins = np.zeros(len(heads), dtype=bool)
    begins[1:] = roots[1:] != roots[:-1]
    begins &= blocks.may_start
    begins[blocks.offsets[:-1]] = True
    return blocks._replace(offsets=np.append(np.flatnonzero(begins), len(heads)).astype(np.int64))


def _is_open(blocks: Blocks) -> np.ndarray:
    """Whether another sentence may begin inside of each block (bool[blocks])."""
    inside = blocks.may_start.copy()
    inside[blocks.offsets[:-1]] = False
    return np.diff(np.concatenate([[0], np.cumsum(inside)])[blocks.offsets]) > 0


def _decode(
    parser: Distributions,
    blocks: Blocks,
    search: Search,
    threads: int,
    chosen: np.ndarray | None = None,
) -> Parses:
    """Parse some blocks, or all, each by itself. Parses of other blocks mean nothing."""
    tokens, lengths = len(blocks.tags), np.diff(blocks.offsets)
    parses = Parses(
        heads=np.full(tokens, NONE, dtype=np.int32),
        labels=np.full(tokens, NONE, dtype=np.int32),
        tags=np.zeros(tokens, dtype=np.int32),
        log_probability=np.zeros(tokens),
        syntactic=np.zeros(tokens),
        lexical=np.zeros(tokens),
        head_probability=np.full(tokens, np.nan),
        tag_probability=np.full(tokens, np.nan),
        guides=no_guides(tokens if search.guides else 0),
    )
    chosen = np.arange(len(lengths)) if chosen is None else chosen
    # Deal out the longest first, so that the threads finish at about the same time.
    order = chosen[np.argsort(-lengths[chosen], kind="stable")]

    heuristic = future_costs(parser, blocks, search)
    hands = [order[thread::threads] for thread in range(min(threads, len(order)))]

    def decode_hand(hand: np.ndarray) -> None:
        task, records = new_task(parser, blocks, search, parses, heuristic), new_records()
        for block in hand.tolist():
            records = decode_block(task, block, parses, records)

    if len(hands) == 1:
        decode_hand(hands[0])
    elif len(hands) > 1:
        with ThreadPoolExecutor(len(hands)) as pool:
            list(pool.map(decode_hand, hands))
    return parses


def _decode_all(
    parser: Distributions, blocks: Blocks, search: Search, threads: int
) -> list[Posterior]:
    def decode_one(i: int) -> Posterior:
        return decode_all(new_task(parser, only(blocks, i), search))

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(decode_one, range(len(blocks.offsets) - 1)))


def _doubt_boundaries(
    parser: Distributions,
    blocks: Blocks,
    sentences: Blocks,
    parses: Parses,
    search: Search,
    threads: int,
) -> None:
    """Let the probabilities of heads and tags be means over one sentence and two, as in
    `mixture`.
    """
    evidence = np.add.reduceat(parses.log_probability, sentences.offsets[:-1])
    total = np.ones(len(parses.heads))
    starts = block_starts(sentences.offsets)
    for words, posterior, odds in _pairs(parser, blocks, sentences, evidence, search, threads):
        heads = _moved(parses.heads[words], starts[words] - words[0])
        total[words] += odds
        for found, mean, chosen in (
            (posterior.heads, parses.head_probability, heads),
            (posterior.tags, parses.tag_probability, parses.tags[words]),
        ):
            mean[words] += odds * np.minimum(posterior.probability @ (found == chosen), 1.0)
    parses.head_probability[:] /= total
    parses.tag_probability[:] /= total


def _moved(heads: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Heads as positions that are counted from elsewhere."""
    return np.where(heads == NONE, NONE, heads + distance).astype(np.int32)


def _pairs(
    parser: Distributions,
    blocks: Blocks,
    sentences: Blocks,
    evidence: np.ndarray,
    search: Search,
    threads: int,
) -> list[Share]:
    """Neighbouring sentences as one, where that is plausible, with the odds against their being
    two.
    """
    left = np.flatnonzero(~np.isin(sentences.offsets[1:-1], blocks.offsets))
    both = evidence[left] + evidence[left + 1]
    few = search._replace(
        particles=min(_QUICK, search.particles), marginals=False, consensus=False, guides=False
    )
    pairs, _ = _joined(sentences, left)
    if len(left):
        quick = _decode(parser, pairs, few, threads).log_probability
        is_plausible = np.add.reduceat(quick, pairs.offsets[:-1]) > both - _IMPLAUSIBLE
        left, both = left[is_plausible], both[is_plausible]
    pairs, words = _joined(sentences, left)
    found = _decode_all(parser, pairs, search, threads)
    # Raised to the power of 1 / temperature, like all weights.
    odds = [
        np.exp(min((_evidence(posterior) - two) / search.temperature, _CERTAIN))
        for posterior, two in zip(found, both)
    ]
    return [
        Share(place, posterior, np.full(len(place), ratio))
        for place, posterior, ratio in zip(np.split(words, pairs.offsets[1:-1]), found, odds)
    ]


def _evidence(posterior: Posterior) -> float:
    return log_sum(posterior.log_weight)


def _joined(sentences: Blocks, left: np.ndarray) -> tuple[Blocks, np.ndarray]:
    """Sentences and their right neighbours as one sentence each, and the place of each word in
    `sentences`.
    """
    starts, ends = sentences.offsets[left], sentences.offsets[left + 2]
    words = np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, starts, ends)])
    pairs = Blocks(
        words=sentences.words[words],
        tags=sentences.tags[words],
        may_start=np.zeros(len(words), dtype=bool),
        offsets=offsets_of(ends - starts),
    )
    return pairs, words
