"""What the tag of a word promises of the words to come.

The beam reads from left to right: a tag that the next words make impossible keeps its derivations until they have been generated, and
they take the place of better ones. A chain of tags, the coarsest model that there is, can be summed up from right to left before the
search begins:

    log p(words after i | tag of i) = log of the sum over t' of p(t' | tag of i) p(word i+1 | t') p(words after i+1 | t')

with p(word | tag) and p(tag | tag before) as the model has them without further context. The search goes by it where it
divides particles; the weights of derivations do not change.
"""

from math import log

import numpy as np

from ..compiled import NONE, inner_maker

# How often another sentence begins, where it may: a guess, by which nothing but the search goes.
_BEGINS = 0.05


@inner_maker
def lookahead_heuristic(chain, tag_offsets, candidate_tags, usual, block, share):
    """The heuristic of every tag of every word of a block.

    chain (float64[tags + 1, tags]): See `SearchModel`; without rows nothing is promised.
    tag_offsets (int64[*]), candidate_tags (int32[*]), usual (float64[*]): See `SearchModel`.
    block (Blocks): The block by itself.
    share (float): How much of the logs.
    RETURNS (float64[n, tags]): The log-probability of the words after each, given its tag, in nats; its differences mean something, in
        one row and from row to row.
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
