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
from .proposals import new_task
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


@jit
def _read(search, records, beam, parses, start, end):
    """Read the parse of words `start` to `end` - 1 off a final beam."""
    heads, labels, tags = parses.heads[start:end], parses.labels[start:end], parses.tags[start:end]
    if not search.marginals:
        read_parse(records, beam[highest(beam["theta"])].record, heads, labels, tags)
        return
    posterior = read_posterior(records, beam, end - start, search.temperature)
    choose(posterior, search.consensus, heads, labels, tags)
    p_heads, p_tags = parses.head_probability[start:end], parses.tag_probability[start:end]
    find_marginals(posterior, heads, tags, p_heads, p_tags)
    if search.guides:
        find_guides(posterior, parses.guides, start)


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
        most = max(search.particles, min(_TIMES * search.particles, _MANY))
        search = search._replace(particles=most)
    parses = _decode(parser, blocks, search, threads, np.flatnonzero(_is_open(blocks)))
    return cut(blocks, parses.heads), parses


def posteriors(
    parser: Distributions, blocks: Blocks, search: Search, threads: int = 1
) -> tuple[Blocks, list[Posterior]]:
    """Return the sentences of blocks, and all parses of each that are left in the end."""
    sentences, _ = segment(parser, blocks, search, threads)
    return sentences, decode_all(parser, sentences, search, threads)


def mixture(parser: Distributions, blocks: Blocks, search: Search, threads: int = 1) -> list[Share]:
    """Return all parses, left in the end, of each sentence and of plausible pairs of sentences as
    one. The weights of each word sum up to 1.
    """
    sentences, found = posteriors(parser, blocks, search, threads)
    places = np.split(np.arange(len(blocks.tags)), sentences.offsets[1:-1])
    alone = [
        Share(place, posterior, np.ones(len(place))) for place, posterior in zip(places, found)
    ]
    evidence = np.array([log_sum(posterior.log_weight) for posterior in found])
    shares = alone + _pairs(parser, blocks, sentences, evidence, search, threads)
    total = np.zeros(len(blocks.tags))
    for words, _, weight in shares:
        total[words] += weight
    return [Share(words, posterior, weight / total[words]) for words, posterior, weight in shares]


def cut(blocks: Blocks, heads: np.ndarray) -> Blocks:
    """Cut blocks where sentences begin by their heads (int32[tokens], as in `Parses`)."""
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
            records, beam = search_block(task, block, records, UNUSED)
            if not search.apart:
                start, end = blocks.offsets[block : block + 2].tolist()
                _read(search, records, beam, parses, start, end)

    if len(hands) == 1:
        decode_hand(hands[0])
    elif len(hands) > 1:
        with ThreadPoolExecutor(len(hands)) as pool:
            list(pool.map(decode_hand, hands))
    return parses


def decode_all(
    parser: Distributions, blocks: Blocks, search: Search, threads: int = 1
) -> list[Posterior]:
    """Return all derivations of the final beam of each block."""

    def decode_one(i: int) -> Posterior:
        task = new_task(parser, only(blocks, i), search)
        records, beam = search_block(task, 0, new_records(), UNUSED)
        return read_posterior(records, beam, len(task.outcomes), search.temperature)

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
    """Average the probabilities of heads and tags over one sentence and two, as in `mixture`."""
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
    """Return plausible pairs of neighbours as one sentence, with the odds against two."""
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
    found = decode_all(parser, pairs, search, threads)
    shares = []
    for place, posterior, two in zip(np.split(words, pairs.offsets[1:-1]), found, both):
        # Raised to the power of 1 / temperature, like all weights.
        log_odds = (log_sum(posterior.log_weight) - two) / search.temperature
        shares.append(Share(place, posterior, np.full(len(place), np.exp(min(log_odds, _CERTAIN)))))
    return shares


def _joined(sentences: Blocks, left: np.ndarray) -> tuple[Blocks, np.ndarray]:
    """Join sentences to their right neighbours. Returns also their words' places in `sentences`."""
    starts, ends = sentences.offsets[left], sentences.offsets[left + 2]
    words = np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, starts, ends)])
    columns = sentences.words[words], sentences.tags[words], np.zeros(len(words), dtype=bool)
    return Blocks(*columns, offsets_of(ends - starts)), words
