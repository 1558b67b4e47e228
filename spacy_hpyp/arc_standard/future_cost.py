"""How much a tag promises of the words to come: the setting `future_cost` says how much it counts.

The beam reads from left to right: a tag that the next words make impossible keeps its derivations
until they have been generated. A chain of tags, the coarsest model that there is, can be summed up
from right to left before the search begins:

    log p(words after i | tag of i) = log of the sum over t' of p(t' | tag of i) p(word i+1 | t')
    p(words after i+1 | t')

with p(word | tag) and p(tag | tag before) as the model has them without further context. The search
goes by it where it divides particles; the weights of derivations do not change.
"""

from collections.abc import Iterator, Sequence
from math import log

import numpy as np

from ..annotation.arrays import Blocks
from ..compiled import NONE, jit
from ..hpyp.pool import Pool
from ..hpyp.table import distribution
from ..text.vocabulary import Vocabulary
from .configuration import FIRST_SYMBOL, ROOT_SYMBOL
from .contexts import ELEMENTS
from .distributions import Distributions
from .search import Search

# A guess of how often another sentence begins at a possible place. It affects only the search.
_BEGINS = 0.05


def word_probabilities(pool: Pool, vocabulary: Vocabulary) -> np.ndarray:
    """Return p(word | tag) for every word and candidate tag (float64[candidates]), by the first
    expert whose most important element is the tag; 1 if there is none.
    """
    candidate_tags = vocabulary.candidate_tags
    found = np.ones(len(candidate_tags))
    expert = _expert_of(pool, "next.tag")
    if expert != NONE:
        counts = np.diff(vocabulary.tag_offsets)
        words = np.repeat(vocabulary.outcomes[: len(counts)], counts)
        tags = np.unique(candidate_tags)
        for tag, given_tag in zip(tags, _given_first(pool, expert, FIRST_SYMBOL + tags)):
            own = candidate_tags == tag
            found[own] = given_tag[words[own]]
    return found


def tag_chain(pool: Pool) -> np.ndarray:
    """Return p(tag | the tag before) (float64[tags + 1, tags]), in the last row those of a
    sentence's first word, by the first expert whose most important element is the tag of the last
    word or of the stack's top; without rows if there is none.
    """
    tags = int(pool.experts.alphabet[0])
    for name in ("w1.tag", "s1.tag"):
        expert = _expert_of(pool, name)
        if expert != NONE:
            symbols = [*range(FIRST_SYMBOL, FIRST_SYMBOL + tags), ROOT_SYMBOL]
            return np.array([row.copy() for row in _given_first(pool, expert, symbols)])
    return np.empty((0, tags))


def _expert_of(pool: Pool, name: str) -> int:
    """Return the first expert with a given most important element, or `NONE`."""
    for expert, columns in enumerate(pool.experts.columns):
        if len(columns) and columns[0] != NONE:
            if tuple(pool.elements[columns[0], :4]) == ELEMENTS[name]:
                return expert
    return NONE


def _given_first(pool: Pool, expert: int, symbols: Sequence[int]) -> Iterator[np.ndarray]:
    """Yield p(. | symbol) by an expert's most important element alone, always in one array."""
    table = pool.experts._replace(columns=np.ascontiguousarray(pool.experts.columns[:, :1]))
    row, out = np.empty(len(pool.elements), dtype=np.int32), np.empty(int(table.alphabet[0]))
    for symbol in symbols:
        row[table.columns[expert, 0]] = symbol
        distribution(table, expert, row, out)
        yield out


def future_costs(model: Distributions, blocks: Blocks, search: Search) -> np.ndarray:
    """Return the heuristic of each tag of each word.

    RETURNS (float64[tokens, tags]): `search.future_cost` times the log-probability, in nats, of the
        words after each in its block given its tag; 0 without a chain. A word that the chain makes
        impossible is passed over.
    """
    tags = max(model.chain.shape[1], 1, int(model.candidate_tags.max(initial=0)) + 1)
    heuristic = np.zeros((len(blocks.words), tags))
    if len(model.chain) > 0 and search.future_cost > 0.0:
        _expect_tags(model, blocks, search.future_cost, heuristic)
    return heuristic


@jit
def _expect_tags(model, blocks, future_cost, heuristic):
    chain, tags = model.chain, heuristic.shape[1]
    # For the next word, relative to its most promising tag.
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
                # The word was never seen with its given tag: nothing is known.
                found[:] = 1.0
                highest = 1.0
            shift += log(highest)
            for before in range(tags):
                ahead[before] = found[before] / highest
                heuristic[i, before] = future_cost * (log(max(ahead[before], 1e-100)) + shift)
