"""How much a tag promises of the words to come: the setting `future_cost` says how much it counts.

The beam reads from left to right: a tag that the next words make impossible keeps its derivations
until they have been generated. A chain of tags, the coarsest model that there is, can be summed up
from right to left before the search begins:

    log p(words after i | tag of i) = log of the sum over t' of p(t' | tag of i) p(word i+1 | t')
    p(words after i+1 | t')

with p(word | tag) and p(tag | tag before) as the model has them without further context. The search
goes by it where it divides particles; the weights of derivations do not change.
"""

from math import log

import numpy as np

from ..annotation.arrays import Blocks
from ..compiled import NONE, jit
from ..hpyp.pool import FrozenPool
from ..hpyp.table import FrozenTable, distribution, probability
from .configuration import FIRST_SYMBOL, ROOT_SYMBOL
from .contexts import ELEMENTS, NEXT
from .distributions import Distributions
from .search import Search

# What a chain of tags reads.
_LAST_TAG, _TOP_TAG = ELEMENTS["w1.tag"], ELEMENTS["s1.tag"]
# How often another sentence begins, where it may: a guess, by which nothing but the search goes.
_BEGINS = 0.05


def usual_probabilities(
    pool: FrozenPool, tag_offsets: np.ndarray, candidate_tags: np.ndarray, outcomes: np.ndarray
) -> np.ndarray:
    """Return p(word | tag) for every word and candidate tag (float64[candidates]), by the first
    expert that begins with the tag.
    """
    view = pool.finished
    usual = np.ones(len(candidate_tags))
    for expert, columns in enumerate(view.columns):
        if len(columns) and pool.elements[columns[0], 0] == NEXT:
            words = np.repeat(outcomes[: len(tag_offsets) - 1], np.diff(tag_offsets))
            _first_probabilities(
                _first_level(view), expert, FIRST_SYMBOL + candidate_tags, words, usual
            )
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
    """Return p(tag | the tag before) (float64[tags + 1, tags]), in the last row those of a
    sentence's first word, by the first expert whose most important element is the tag of the last
    word or of the stack's top; without rows if there is none.
    """
    view, tags = pool.finished, int(pool.finished.alphabet[0])
    chain = np.empty((tags + 1, tags))
    for element in (_LAST_TAG, _TOP_TAG):
        for expert, columns in enumerate(view.columns):
            if (
                len(columns)
                and columns[0] != NONE
                and tuple(pool.elements[columns[0], :4]) == element
            ):
                symbols = np.append(np.arange(FIRST_SYMBOL, FIRST_SYMBOL + tags), ROOT_SYMBOL)
                _first_distributions(_first_level(view), expert, symbols, chain)
                return chain
    return chain[:0]


def future_costs(model: Distributions, blocks: Blocks, search: Search) -> np.ndarray:
    """Return the heuristic of each tag of each word, times `search.future_cost`.

    RETURNS (float64[tokens, tags]): The log-probability of the words after each in its block, given
        its tag, in nats, up to a constant of the block; 0 without a chain.
    """
    tags = max(model.chain.shape[1], 1, int(model.candidate_tags.max(initial=0)) + 1)
    heuristic = np.zeros((len(blocks.words), tags))
    if len(model.chain) > 0 and search.future_cost > 0.0:
        _expect_tags(model, blocks, search.future_cost, heuristic)
    return heuristic


@jit
def _expect_tags(model, blocks, future_cost, heuristic):
    chain, tags = model.chain, heuristic.shape[1]
    # Of the word after, relative to its most promising tag.
    ahead, found = np.empty(tags), np.empty(tags)
    for block in range(len(blocks.offsets) - 1):
        ahead[:] = 1.0
        shift = 0.0
        for i in range(blocks.offsets[block + 1] - 2, blocks.offsets[block] - 1, -1):
            word, given = blocks.words[i + 1], blocks.tags[i + 1]
            found[:] = 0.0
            begins, highest, boundary = 0.0, 0.0, _BEGINS if blocks.may_start[i + 1] else 0.0
            for c in range(model.tag_offsets[word], model.tag_offsets[word + 1]):
                tag = model.candidate_tags[c]
                if given != NONE and tag != given:
                    continue
                value = model.p_word_given_tag[c] * ahead[tag]
                begins += chain[tags, tag] * value
                for before in range(tags):
                    found[before] += chain[before, tag] * value
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
                heuristic[i, before] = future_cost * (log(max(ahead[before], 1e-100)) + shift)
