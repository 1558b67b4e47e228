"""Decoding by Algorithm 1 of Buys & Blunsom (2015), or by beam search: of many blocks in several threads, and
of text whose sentences have to be found.

It is the particle filter of `inference.particle_filter` that divides as `inference.rounding` says, over
arc-standard derivations of which the best actions and tags are pursued (`proposals`). For beam search it
keeps as `inference.pruning` says.

By the end of a long block all derivations in a beam share their past, but for the last words: they agree on
it, and are sure of it without reason. So what has no boundaries is decoded more than once:

1. Algorithm 1 finds the boundaries, and the probabilities of the words, which know nothing of what follows.
    It has up to four times the
   particles, as derivations that end a sentence elsewhere have to stay in the beam beside those that differ
   in their trees; but not without `outlook`, where a word's probability must not depend on whether there are
   others after it.
2. Each sentence that was found is decoded by itself. Another sentence may still begin inside of it.
3. Where it is plausible that two neighbours are one sentence, they are decoded as one. The posterior
    probabilities of heads
   and tags are the mean over these possibilities, in proportion to the probabilities that they give to the
   words.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..annotation.arrays import Blocks, Guides, Parses, Posterior, Share, block_starts, no_guides, offsets_of
from ..compiled import NONE, compiled, generic_maker, implements, inner_maker
from ..inference.beam import log_sum, new_sums
from ..inference.particle_filter import run
from ..inference.pruning import BeamSearch, new_pruning
from ..inference.rounding import Search, new_rounding
from ..inference.running_text import read
from .configuration import FIELDS
from .posterior import choose, find_guides, find_marginals, read_parse, read_posterior
from .proposals import SearchModel, highest_heuristics, new_decoding, new_workspace

# Particles that are enough to see whether two sentences may be one, and how many nats less likely that may
# then be.
_QUICK = 10
# Boundaries are looked for with so many times the particles, if these are no more than so many.
_TIMES, _MANY = 4, 200
_IMPLAUSIBLE = 8.0
# The logarithm of odds beyond which nothing changes.
_CERTAIN = 50.0
_SMALLEST = 1024


@inner_maker
def only(blocks, block):
    """One of some blocks by itself."""
    start, end = blocks.offsets[block], blocks.offsets[block + 1]
    offsets = np.zeros(2, dtype=np.int64)
    offsets[1] = end - start
    return Blocks(blocks.words[start:end], blocks.tags[start:end], blocks.may_start[start:end], offsets)


@generic_maker
def new_scheme(search, task, sums):
    """What a search does with particles, and how many there are, for a task (Decoding)."""


@implements(new_scheme, Search)
@inner_maker
def _algorithm_1(search, task, sums):
    return new_rounding(search, sums), search.particles


@implements(new_scheme, BeamSearch)
@inner_maker
def _beam_search(search, task, sums):
    options = 2 * len(task.options.outcome)
    return new_pruning(search, options, highest_heuristics(task), sums), options


@inner_maker
def search_block(parser, block, search, work, records, sums):
    """Algorithm 1, or beam search, on one block of n words.

    block (Blocks): The block by itself.
    search (Search | BeamSearch): K, at least 1, and what limits the search.
    work (Workspace), records (int32[*, FIELDS]): Written on.
    sums (Sums): Overwritten.
    RETURNS (tuple): The records (int32[*, FIELDS]), grown as was needed, the final beam (Beam) and its size.
    """
    nothing = np.empty(0, dtype=np.int32)
    task = new_decoding(parser, block, search, work)
    scheme, particles = new_scheme(search, task, sums)
    return run(task, scheme, particles, nothing, nothing, records, None)


@compiled
def decode_blocks(parser, work, blocks, chosen, search, given, parses):
    """Decode some blocks, each by itself; what one block gives does not depend on the others.

    work (Workspace): Written on.
    blocks (Blocks): All blocks.
    chosen (int64[*]): Which of them to decode.
    search (Search): How to search, and what to choose from the final beam.
    given (bool): Whether the heads, labels and tags in `parses` are to be kept, and only their probabilities
        to be found.
    parses (Parses): Overwritten for the chosen blocks.
    """
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    for block in chosen:
        start, end = blocks.offsets[block], blocks.offsets[block + 1]
        sums = new_sums(
            parses.syntactic[start:end], parses.lexical[start:end], parses.log_probability[start:end]
        )
        records, beam, size = search_block(parser, only(blocks, block), search, work, records, sums)
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
        find_marginals(
            posterior, heads, tags, parses.head_probability[start:end], parses.tag_probability[start:end]
        )
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
def read_blocks(parser, work, blocks, chosen, search, parses):
    """Find the probabilities of the words of some blocks, whose sentences are searched for apart; see
    `running_text.read`.

    parser, work, blocks, chosen: As for `decode_blocks`.
    search (Search): With `apart`.
    parses (Parses): The probabilities of the words are overwritten for the chosen blocks.
    """
    records = np.empty((_SMALLEST, FIELDS), dtype=np.int32)
    for block in chosen:
        start, end = blocks.offsets[block], blocks.offsets[block + 1]
        sums = new_sums(
            parses.syntactic[start:end], parses.lexical[start:end], parses.log_probability[start:end]
        )
        task = new_decoding(parser, only(blocks, block), search, work)
        records = read(task, new_rounding(search, sums), records)


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
    sums = new_sums(np.empty(n), np.empty(n), np.empty(n))
    records, beam, size = search_block(parser, one, search, work, records, sums)
    return read_posterior(records, beam, size, n, search.temperature)


def decode(parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1) -> Parses:
    """Parse blocks of words by Algorithm 1, with sentences that have to be found as the module says.

    blocks (Blocks): What to parse.
    search (Search): K, at least 1, what the selection step expects, and how a parse is chosen.
    threads (int): How many threads share the blocks; the result does not depend on it.
    RETURNS (Parses): The trees that were chosen and the log-probabilities in nats.
    """
    apart = Search(*search)._replace(guides=False) if search.apart else None
    search = search._replace(apart=False)
    if not _is_open(blocks).any():
        return _decode(parser, blocks, search, threads)
    sentences, first = segment(parser, blocks, search, threads)
    if apart is not None:
        first = _decode(parser, blocks, apart, threads, np.flatnonzero(_is_open(blocks)))
    second = _decode(parser, sentences, search, threads)
    in_block = block_starts(sentences.offsets) - block_starts(blocks.offsets)
    guides = second.guides
    second = second._replace(
        guides=guides._replace(heads=_moved(guides.heads, in_block[: len(guides.heads), None]))
    )
    if search.marginals:
        _doubt_boundaries(parser, blocks, sentences, second, search, threads)
    is_open = np.repeat(_is_open(blocks), np.diff(blocks.offsets))
    return second._replace(
        heads=_moved(second.heads, in_block),
        log_probability=np.where(is_open, first.log_probability, second.log_probability),
        syntactic=np.where(is_open, first.syntactic, second.syntactic),
        lexical=np.where(is_open, first.lexical, second.lexical),
    )


def segment(parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1) -> tuple[Blocks, Parses]:
    """Find the sentences of blocks.

    parser, blocks, search, threads: As for `decode`.
    RETURNS (tuple[Blocks, Parses]): The blocks, those in which sentences may begin cut into sentences; and
        the parses by which they were found, which mean nothing for the other blocks.
    """
    search = search._replace(marginals=False, consensus=False, guides=False)
    if search.outlook > 0.0:
        search = search._replace(particles=max(search.particles, min(_TIMES * search.particles, _MANY)))
    parses = _decode(parser, blocks, search, threads, np.flatnonzero(_is_open(blocks)))
    return cut(blocks, parses.heads), parses


def posteriors(
    parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1
) -> tuple[Blocks, list[Posterior]]:
    """All parses of each sentence that are left in the end.

    parser, blocks, threads: As for `decode`.
    search (Search): With `marginals`.
    RETURNS (tuple[Blocks, list[Posterior]]): The sentences, and the parses of each.
    """
    sentences, _ = segment(parser, blocks, search, threads)
    return sentences, _decode_all(parser, sentences, search, threads)


def mixture(parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1) -> list[Share]:
    """All parses of all words that are left in the end: of each sentence, and of plausible pairs of sentences
    as one.

    parser, blocks, threads: As for `decode`.
    search (Search): With `marginals`.
    RETURNS (list[Share]): The weights of each word sum up to 1.
    """
    sentences, found = posteriors(parser, blocks, search, threads)
    evidence = np.array([log_sum(posterior.log_weight, len(posterior.log_weight)) for posterior in found])
    left = _plausible_pairs(parser, blocks, sentences, evidence, search, threads)
    pairs, words = _joined(sentences, left)
    as_one = _decode_all(parser, pairs, search, threads)
    together = np.array([log_sum(posterior.log_weight, len(posterior.log_weight)) for posterior in as_one])
    odds = _odds(together, evidence, left, search)
    total = np.ones(len(blocks.tags))
    np.add.at(total, words, np.repeat(odds, np.diff(pairs.offsets)))
    places = [np.arange(len(total))[a:b] for a, b in zip(sentences.offsets, sentences.offsets[1:])]
    places += [words[a:b] for a, b in zip(pairs.offsets, pairs.offsets[1:])]
    weights = [*np.ones(len(found)), *odds]
    return [
        Share(place, posterior, weight / total[place])
        for place, posterior, weight in zip(places, [*found, *as_one], weights)
    ]


def cut(blocks: Blocks, heads: np.ndarray) -> Blocks:
    """Blocks cut where sentences have been found to begin.

    heads (int32[tokens]): As in `Parses`.
    RETURNS (Blocks): The sentences; where another one might begin inside of one, it still may.
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
    parser: SearchModel,
    blocks: Blocks,
    search: Search,
    threads: int,
    chosen: np.ndarray | None = None,
    given: Parses | None = None,
) -> Parses:
    """Parse some blocks, or all, each by itself; or find how probable given parses are. What is returned for
    other blocks means nothing.
    """
    parses = given or _new_parses(len(blocks.tags), search)
    lengths = np.diff(blocks.offsets)
    chosen = np.arange(len(lengths)) if chosen is None else chosen
    # The longest first, dealt out in turn: the threads finish at about the same time.
    order = chosen[np.argsort(-lengths[chosen], kind="stable")]
    # Copied, as the decoder would be compiled once more for an array with gaps.
    hands = [order[thread::threads].copy() for thread in range(min(threads, len(order)))]

    def decode_hand(hand: np.ndarray) -> None:
        work = new_workspace(parser, search)
        if search.apart:
            read_blocks(parser, work, blocks, hand, search, parses)
        else:
            decode_blocks(parser, work, blocks, hand, search, given is not None, parses)

    if len(hands) == 1:
        decode_hand(hands[0])
    elif len(hands) > 1:
        with ThreadPoolExecutor(len(hands)) as pool:
            list(pool.map(decode_hand, hands))
    return parses


def _new_parses(tokens: int, search: Search) -> Parses:
    """Room for what is found of some tokens."""
    return Parses(
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


def _decode_all(parser: SearchModel, blocks: Blocks, search: Search, threads: int) -> list[Posterior]:
    def decode_one(i: int) -> Posterior:
        return decode_all(parser, new_workspace(parser, search), blocks, i, search)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(decode_one, range(len(blocks.offsets) - 1)))


def _doubt_boundaries(
    parser: SearchModel, blocks: Blocks, sentences: Blocks, parses: Parses, search: Search, threads: int
) -> None:
    """Let the probabilities of heads and tags know that two neighbours may be one sentence, as `mixture` has
    it.

    sentences (Blocks): What was found in `blocks`.
    parses (Parses): Their parses; `head_probability`, `tag_probability` and `guides`, whose heads are
        positions in `blocks`, are overwritten.
    """
    evidence = _sums(parses.log_probability, sentences)
    left = _plausible_pairs(parser, blocks, sentences, evidence, search, threads)
    pairs, words = _joined(sentences, left)
    begins, pair_begins = block_starts(sentences.offsets), words[block_starts(pairs.offsets)]
    given = _new_parses(len(words), search)._replace(
        heads=_moved(parses.heads[words], begins[words] - pair_begins),
        labels=parses.labels[words],
        tags=parses.tags[words],
    )
    rated = _decode(parser, pairs, search, threads, given=given)
    odds = np.repeat(
        _odds(_sums(rated.log_probability, pairs), evidence, left, search), np.diff(pairs.offsets)
    )
    total = np.ones(len(parses.heads))
    np.add.at(total, words, odds)
    for name in ("head_probability", "tag_probability"):
        mean = getattr(parses, name)
        np.add.at(mean, words, odds * getattr(rated, name))
        mean /= total
    if search.guides and len(words):
        in_block = pair_begins - block_starts(blocks.offsets)[words]
        moved = rated.guides._replace(heads=_moved(rated.guides.heads, in_block[:, None]))
        _mix_guides(parses.guides, moved, words, odds)


def _mix_guides(guides: Guides, others: Guides, words: np.ndarray, odds: np.ndarray) -> None:
    """Let guides know of what else some words may be.

    guides (Guides): Of each word, as it is by itself; overwritten.
    others (Guides): Of some words, perhaps of one more than once, as they may be besides, with heads as in
        `guides`.
    words (int64[*]): Which words these are.
    odds (float64[*]): How much more probable than what is in `guides` that is.
    """
    rows, place = np.unique(words, return_inverse=True)
    row, weight = (
        np.concatenate([np.arange(len(rows)), place.ravel()]),
        np.concatenate([np.ones(len(rows)), odds]),
    )
    total = np.bincount(row, weight)
    for number, probability, label in (
        ("heads", "head_probability", "head_labels"),
        ("tags", "tag_probability", None),
    ):
        values, shares, names = (
            np.concatenate([getattr(guides, name)[rows], getattr(others, name)])
            for name in (number, probability, label or number)
        )
        of = np.repeat(row, values.shape[1])
        found = _leading(
            of,
            values.ravel(),
            (shares * (weight / total[row])[:, None]).ravel(),
            names.ravel(),
            values.shape[1],
        )
        for name, part in zip((number, probability, *([label] if label else [])), found):
            getattr(guides, name)[rows] = part


def _leading(
    row: np.ndarray, number: np.ndarray, share: np.ndarray, name: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each row the numbers with the highest sums of shares, with the sums, and the names of their highest
    shares.
    """
    order = np.lexsort((-share, number, row))
    row, number, share, name = (part[order] for part in (row, number, share, name))
    first = np.flatnonzero(np.append(True, (np.diff(row) != 0) | (np.diff(number) != 0)))
    row, number, name, share = row[first], number[first], name[first], np.add.reduceat(share, first)
    order = np.lexsort((number, -share, row))
    row, number, share, name = (part[order] for part in (row, number, share, name))
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    kept = (rank < columns) & (share > 0.0)
    size = int(row[-1]) + 1, columns
    found = np.full(size, NONE, np.int32), np.zeros(size, np.float32), np.full(size, NONE, np.int32)
    for part, values in zip(found, (number, np.minimum(share, 1.0), name)):
        part[row[kept], rank[kept]] = values[kept]
    return found


def _moved(heads: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Heads as positions that are counted from elsewhere."""
    return np.where(heads == NONE, NONE, heads + distance).astype(np.int32)


def _plausible_pairs(
    parser: SearchModel, blocks: Blocks, sentences: Blocks, evidence: np.ndarray, search: Search, threads: int
) -> np.ndarray:
    """The left ones of sentences that may be one with the next. Most boundaries are beyond doubt, as a quick
    look shows.
    """
    left = np.flatnonzero(~np.isin(sentences.offsets[1:-1], blocks.offsets))
    pairs, _ = _joined(sentences, left)
    few = search._replace(
        particles=min(_QUICK, search.particles), marginals=False, consensus=False, guides=False
    )
    together = _sums(_decode(parser, pairs, few, threads).log_probability, pairs)
    return left[together > evidence[left] + evidence[left + 1] - _IMPLAUSIBLE]


def _odds(together: np.ndarray, evidence: np.ndarray, left: np.ndarray, search: Search) -> np.ndarray:
    """How much more probable pairs of sentences are as one, to the power of 1 / temperature as everything is."""
    return np.exp(np.minimum((together - evidence[left] - evidence[left + 1]) / search.temperature, _CERTAIN))


def _joined(sentences: Blocks, left: np.ndarray) -> tuple[Blocks, np.ndarray]:
    """Sentences and their right neighbours as one sentence each, and the place of each word in `sentences`."""
    starts, ends = sentences.offsets[left], sentences.offsets[left + 2]
    words = np.concatenate([np.empty(0, dtype=np.int64), *map(np.arange, starts, ends)])
    pairs = Blocks(
        words=sentences.words[words],
        tags=sentences.tags[words],
        may_start=np.zeros(len(words), dtype=bool),
        offsets=offsets_of(ends - starts),
    )
    return pairs, words


def _sums(values: np.ndarray, blocks: Blocks) -> np.ndarray:
    return np.add.reduceat(values, blocks.offsets[:-1]) if len(values) else np.empty(0)
