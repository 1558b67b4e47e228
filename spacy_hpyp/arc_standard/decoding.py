"""Decoding of many blocks in several threads, and of text whose sentences have to be found.

By the end of a long block all derivations in a beam share their past, but for the last words: they agree on it, and are sure of
it without reason. So what has no boundaries is decoded more than once:

1. Algorithm 1 finds the boundaries, and the probabilities of the words, which know nothing of what follows. It has up to four times the
   particles, as derivations that end a sentence elsewhere have to stay in the beam beside those that differ in their trees; but not
   without `outlook`, where a word's probability must not depend on whether there are others after it.
2. Each sentence that was found is decoded by itself. Another sentence may still begin inside of it.
3. Where it is plausible that two neighbours are one sentence, they are decoded as one. The posterior probabilities of heads
   and tags are the mean over these possibilities, in proportion to the probabilities that they give to the words.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..annotation.arrays import Blocks, Guides, Parses, Posterior, Share, block_starts, no_guides, offsets_of
from ..arc_standard.proposals import SearchModel, new_workspace
from ..compiled import NONE
from ..inference.beam import log_sum
from ..inference.rounding import Search
from .block_search import decode_all, decode_blocks

# Particles that are enough to see whether two sentences may be one, and how many nats less likely that may then be.
_FEW = 10
# Boundaries are looked for with so many times the particles, if these are no more than so many.
_TIMES, _MANY = 4, 200
_IMPLAUSIBLE = 8.0
# The logarithm of odds beyond which nothing changes.
_CERTAIN = 50.0


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
    second = second._replace(guides=guides._replace(heads=_moved(guides.heads, in_block[: len(guides.heads), None])))
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
    RETURNS (tuple[Blocks, Parses]): The blocks, those in which sentences may begin cut into sentences; and the parses by which
        they were found, which mean nothing for the other blocks.
    """
    search = search._replace(marginals=False, consensus=False, guides=False)
    if search.outlook > 0.0:
        search = search._replace(particles=max(search.particles, min(_TIMES * search.particles, _MANY)))
    parses = _decode(parser, blocks, search, threads, np.flatnonzero(_is_open(blocks)))
    return cut(blocks, parses.heads), parses


def posteriors(parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1) -> tuple[Blocks, list[Posterior]]:
    """All parses of each sentence that are left in the end.

    parser, blocks, threads: As for `decode`.
    search (Search): With `marginals`.
    RETURNS (tuple[Blocks, list[Posterior]]): The sentences, and the parses of each.
    """
    sentences, _ = segment(parser, blocks, search, threads)
    return sentences, _decode_all(parser, sentences, search, threads)


def mixture(parser: SearchModel, blocks: Blocks, search: Search, threads: int = 1) -> list[Share]:
    """All parses of all words that are left in the end: of each sentence, and of plausible pairs of sentences as one.

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
    """Parse some blocks, or all, each by itself; or find how probable given parses are. What is returned for other blocks means nothing."""
    tokens = len(blocks.tags)
    parses = given or Parses(
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
    lengths = np.diff(blocks.offsets)
    chosen = np.arange(len(lengths)) if chosen is None else chosen
    # The longest first, dealt out in turn: the threads finish at about the same time.
    order = chosen[np.argsort(-lengths[chosen], kind="stable")]
    # Copied, as the decoder would be compiled once more for an array with gaps.
    hands = [order[thread::threads].copy() for thread in range(min(threads, len(order)))]

    def decode_hand(hand: np.ndarray) -> None:
        decode_blocks(parser, new_workspace(parser, search), blocks, hand, search, given is not None, parses)

    if len(hands) == 1:
        decode_hand(hands[0])
    elif len(hands) > 1:
        with ThreadPoolExecutor(len(hands)) as pool:
            list(pool.map(decode_hand, hands))
    return parses


def _decode_all(parser: SearchModel, blocks: Blocks, search: Search, threads: int) -> list[Posterior]:
    def decode_one(i: int) -> Posterior:
        return decode_all(parser, new_workspace(parser, search), blocks, i, search)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(decode_one, range(len(blocks.offsets) - 1)))


def _doubt_boundaries(
    parser: SearchModel, blocks: Blocks, sentences: Blocks, parses: Parses, search: Search, threads: int
) -> None:
    """Let the probabilities of heads and tags know that two neighbours may be one sentence, as `mixture` has it.

    sentences (Blocks): What was found in `blocks`.
    parses (Parses): Their parses; `head_probability`, `tag_probability` and `guides`, whose heads are positions in `blocks`, are
        overwritten.
    """
    evidence = _sums(parses.log_probability, sentences)
    left = _plausible_pairs(parser, blocks, sentences, evidence, search, threads)
    pairs, words = _joined(sentences, left)
    begins, pair_begins = block_starts(sentences.offsets), words[block_starts(pairs.offsets)]
    given = Parses(
        heads=_moved(parses.heads[words], begins[words] - pair_begins),
        labels=parses.labels[words],
        tags=parses.tags[words],
        log_probability=np.zeros(len(words)),
        syntactic=np.zeros(len(words)),
        lexical=np.zeros(len(words)),
        head_probability=np.empty(len(words)),
        tag_probability=np.empty(len(words)),
        guides=no_guides(len(words) if search.guides else 0),
    )
    rated = _decode(parser, pairs, search, threads, given=given)
    odds = np.repeat(_odds(_sums(rated.log_probability, pairs), evidence, left, search), np.diff(pairs.offsets))
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
    others (Guides): Of some words, perhaps of one more than once, as they may be besides, with heads as in `guides`.
    words (int64[*]): Which words these are.
    odds (float64[*]): How much more probable than what is in `guides` that is.
    """
    rows, place = np.unique(words, return_inverse=True)
    row, weight = np.concatenate([np.arange(len(rows)), place.ravel()]), np.concatenate([np.ones(len(rows)), odds])
    total = np.bincount(row, weight)
    for number, probability, label in (("heads", "head_probability", "head_labels"), ("tags", "tag_probability", None)):
        values, shares, names = (
            np.concatenate([getattr(guides, name)[rows], getattr(others, name)])
            for name in (number, probability, label or number)
        )
        of = np.repeat(row, values.shape[1])
        found = _leading(
            of, values.ravel(), (shares * (weight / total[row])[:, None]).ravel(), names.ravel(), values.shape[1]
        )
        for name, part in zip((number, probability, *([label] if label else [])), found):
            getattr(guides, name)[rows] = part


def _leading(
    row: np.ndarray, number: np.ndarray, share: np.ndarray, name: np.ndarray, columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of each row the numbers with the highest sums of shares, with the sums, and the names of their highest shares."""
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
    """The left ones of sentences that may be one with the next. Most boundaries are beyond doubt, as a quick look shows."""
    left = np.flatnonzero(~np.isin(sentences.offsets[1:-1], blocks.offsets))
    pairs, _ = _joined(sentences, left)
    few = search._replace(particles=min(_FEW, search.particles), marginals=False, consensus=False, guides=False)
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
