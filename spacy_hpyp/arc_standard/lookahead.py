"""How much a tag promises of the words to come: the setting `outlook` says how much it counts.

The beam reads from left to right: a tag that the next words make impossible keeps its derivations until they
have been generated. A chain of tags, the coarsest model that there is, can be summed up from right to left
before the search begins:

    log p(words after i | tag of i) = log of the sum over t' of p(t' | tag of i) p(word i+1 | t') p(words
    after i+1 | t')

with p(word | tag) and p(tag | tag before) as the model has them without further context. The search goes by
it where it divides particles; the weights of derivations do not change.
"""

from math import log

import numpy as np

from ..compiled import NONE, jit, jitable
from ..hpyp.table import FrozenTable, distribution, probability
from ..pools.pool import FrozenPool
from .configuration import FIRST_SYMBOL, ROOT_SYMBOL
from .contexts import ELEMENTS, NEXT

# What a chain of tags reads.
_LAST_TAG, _TOP_TAG = ELEMENTS["w1.tag"], ELEMENTS["s1.tag"]
# How often another sentence begins, where it may: a guess, by which nothing but the search goes.
_BEGINS = 0.05


def usual_probabilities(
    pool: FrozenPool, tag_offsets: np.ndarray, candidate_tags: np.ndarray, outcomes: np.ndarray
) -> np.ndarray:
    """Return p(word | tag) for every word and candidate tag (float64[candidates]), by the first expert that
    begins with the tag.
    """
    view = pool.finished
    usual = np.ones(len(candidate_tags))
    for expert, columns in enumerate(view.columns):
        if len(columns) and pool.elements[columns[0], 0] == NEXT:
            words = np.repeat(outcomes[: len(tag_offsets) - 1], np.diff(tag_offsets))
            _first_probabilities(_first_level(view), expert, FIRST_SYMBOL + candidate_tags, words, usual)
            break
    return usual


def _first_level(view: FrozenTable) -> FrozenTable:
    """A table whose experts read nothing but their most important element."""
    return view._replace(columns=np.ascontiguousarray(view.columns[:, :1]))


@jit
def _first_probabilities(view, expert, symbols, dishes, out):
    """Write p(dish | symbol) under one expert of `_first_level` into `out` (float64[*])."""
    row = np.empty(view.columns[expert, 0] + 1, dtype=np.int32)
    for i in range(len(symbols)):
        row[-1] = symbols[i]
        out[i] = probability(view, expert, row, dishes[i])


@jit
def _first_distributions(view, expert, symbols, out):
    """Write p(. | symbol) under one expert of `_first_level` into `out` (float64[*, alphabet])."""
    row = np.empty(view.columns[expert, 0] + 1, dtype=np.int32)
    for i in range(len(symbols)):
        row[-1] = symbols[i]
        distribution(view, expert, row, out[i])


def tag_chain(pool: FrozenPool) -> np.ndarray:
    """Return p(tag | the tag before) (float64[tags + 1, tags]), in the last row those of a sentence's first
    word, by the first expert whose most important element is the tag of the last word or of the stack's top;
    without rows if there is none.
    """
    view, tags = pool.finished, int(pool.finished.alphabet[0])
    chain = np.empty((tags + 1, tags))
    for element in (_LAST_TAG, _TOP_TAG):
        for expert, columns in enumerate(view.columns):
            if len(columns) and columns[0] != NONE and tuple(pool.elements[columns[0], :4]) == element:
                symbols = np.append(np.arange(FIRST_SYMBOL, FIRST_SYMBOL + tags), ROOT_SYMBOL)
                _first_distributions(_first_level(view), expert, symbols, chain)
                return chain
    return chain[:0]


@jitable
def lookahead_heuristic(chain, tag_offsets, candidate_tags, usual, block, share):
    """The heuristic of every tag of every word of a block, times `share`.

    RETURNS (float64[n, tags]): The log-probability of the words after each, given its tag, in nats, up to a
        constant of the block; 0 without a chain.
    """
    tags = max(chain.shape[1], 1)
    for tag in candidate_tags:
        tags = max(tags, tag + 1)
    n = len(block.words)
    heuristic = np.zeros((n, tags))
    if len(chain) == 0 or share == 0.0:
        return heuristic
    # Of the word after, relative to its most promising tag.
    ahead = np.ones(tags)
    shift = 0.0
    found = np.empty(tags)
    for i in range(n - 2, -1, -1):
        word = block.words[i + 1]
        found[:] = 0.0
        begins = 0.0
        boundary = _BEGINS if block.may_start[i + 1] else 0.0
        first, last = tag_offsets[word], tag_offsets[word + 1]
        given = block.tags[i + 1]
        for c in range(first, last):
            tag = candidate_tags[c]
            if given != NONE and tag != given:
                continue
            value = usual[c] * ahead[tag]
            begins += chain[tags, tag] * value
            for before in range(tags):
                found[before] += chain[before, tag] * value
        highest = 0.0
        for before in range(tags):
            found[before] = (1.0 - boundary) * found[before] + boundary * begins
            highest = max(highest, found[before])
        if highest == 0.0:
            # A given tag that the word was never seen with: nothing can be said.
            found[:] = 1.0
            highest = 1.0
        shift += log(highest)
        for before in range(tags):
            ahead[before] = found[before] / highest
            heuristic[i, before] = share * (log(max(ahead[before], 1e-100)) + shift)
    return heuristic
