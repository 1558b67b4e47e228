"""Posterior probabilities of the derivations of a final beam, and the parse to choose by them.

The normalised weights of the derivations are taken for the posterior over parses of the words. A
temperature above 1 flattens it.
"""

from math import exp

import numpy as np

from ..annotation.arrays import Posterior
from ..compiled import NONE, jit, jitable, overwrite
from .configuration import derivation, tree_of
from .particle_filter import log_sum


@jitable
def read_parse(records, last, heads, labels, tags):
    """Write the heads, labels and tags (int32[n]) that a configuration sets; others stay."""
    actions = np.empty(2 * len(heads), dtype=np.int32)
    derivation(records, last, actions, tags)
    tree_of(actions, heads, labels)


@jit
def read_posterior(records, beam, n, temperature):
    """Return the Posterior of a final beam of n words; `probability` alone has the temperature."""
    heads = np.empty((len(beam), n), dtype=np.int32)
    labels, tags = np.empty_like(heads), np.empty_like(heads)
    log_weight, probability = np.empty(len(beam)), np.empty(len(beam))
    for i in range(len(beam)):
        read_parse(records, beam[i].record, heads[i], labels[i], tags[i])
        log_weight[i] = beam[i].theta
        probability[i] = log_weight[i] / temperature
    total = log_sum(probability)
    for i in range(len(beam)):
        probability[i] = exp(probability[i] - total)
    return Posterior(heads, labels, tags, log_weight, probability)


@jitable
def find_agreement(probability, one, other, agreement):
    """Find how probable the two outcomes are that each derivation gives a word (float64[m])."""
    m, found = len(probability), 0
    place, example, mass = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m)
    for i in range(m):
        k = 0
        while k < found and (one[example[k]] != one[i] or other[example[k]] != other[i]):
            k += 1
        if k == found:
            example[k], mass[k] = i, 0.0
            found += 1
        mass[k] += probability[i]
        place[i] = k
    for i in range(m):
        agreement[i] = mass[place[i]]


@jitable
def choose(posterior, consensus, heads, labels, tags):
    """Write the best derivation's parse, or with `consensus` the one with the least expected loss
    (Kumar & Byrne 2004), into `heads`, `labels` and `tags` (int32[n]).

    The loss is the number of words with a wrong head or label, so the tree is the one with most in
    common with those of all derivations, in proportion to their probabilities. With `consensus`,
    each word has its most probable tag.
    """
    m, n = posterior.heads.shape
    probability = score = posterior.probability
    agreement = np.empty(m)
    if consensus:
        score = np.zeros(m)
        for word in range(n):
            find_agreement(
                probability, posterior.heads[:, word], posterior.labels[:, word], agreement
            )
            for i in range(m):
                score[i] += agreement[i]
    best = highest(score)
    overwrite(heads, posterior.heads[best])
    overwrite(labels, posterior.labels[best])
    overwrite(tags, posterior.tags[best])
    if consensus:
        for word in range(n):
            find_agreement(probability, posterior.tags[:, word], posterior.tags[:, word], agreement)
            tags[word] = posterior.tags[highest(agreement), word]


@jitable
def highest(values):
    """Return the place of the first of the highest values; Numba's would import SciPy."""
    best = 0
    for i in range(1, len(values)):
        if values[i] > values[best]:
            best = i
    return best


@jitable
def find_marginals(posterior, heads, tags, head_probability, tag_probability):
    """Find the posterior probability of each head and tag of a parse (float64[n])."""
    for word in range(len(heads)):
        p_head, p_tag = 0.0, 0.0
        for i, p in enumerate(posterior.probability):
            p_head += p if posterior.heads[i, word] == heads[word] else 0.0
            p_tag += p if posterior.tags[i, word] == tags[word] else 0.0
        head_probability[word], tag_probability[word] = min(p_head, 1.0), min(p_tag, 1.0)


@jitable
def find_leading(probability, outcomes, mass, leading, share):
    """Find the most probable outcomes, in order; of equals the lower number comes first.

    mass (float64[*]): Zeros for outcomes from `NONE` on; given back as it was.
    leading (int32[k]), share (float32[k]): Overwritten; `NONE` and 0 where there are fewer.
    """
    for i in range(len(outcomes)):
        mass[outcomes[i] - NONE] += probability[i]
    for rank in range(len(leading)):
        leading[rank] = NONE
        highest = 0.0
        for outcome in outcomes:
            value = mass[outcome - NONE]
            if value > highest or (value == highest and value > 0.0 and outcome < leading[rank]):
                leading[rank], highest = outcome, value
        share[rank] = min(highest, 1.0)
        if highest > 0.0:
            mass[leading[rank] - NONE] = 0.0
    for outcome in outcomes:
        mass[outcome - NONE] = 0.0


@jitable
def find_guides(posterior, guides, start):
    """Find the most probable heads of each word, each with its most probable label, and tags.

    guides (Guides): Overwritten from the word `start` on.
    """
    m, n = posterior.heads.shape
    heads, tags = np.zeros(n + 1), np.zeros(posterior.tags.max() + 2)
    labels = np.zeros(posterior.labels.max() + 2)
    label, share = np.empty(1, dtype=np.int32), np.empty(1, dtype=np.float32)
    given_head = np.empty(m)
    for word in range(n):
        own = posterior.heads[:, word]
        row = start + word
        head_probability, probability = guides.head_probability[row], posterior.probability
        find_leading(probability, own, heads, guides.heads[row], head_probability)
        p_tags, own_tags = guides.tag_probability[row], posterior.tags[:, word]
        find_leading(probability, own_tags, tags, guides.tags[row], p_tags)
        for rank in range(guides.heads.shape[1]):
            for i in range(m):
                given_head[i] = probability[i] if own[i] == guides.heads[row, rank] else 0.0
            find_leading(given_head, posterior.labels[:, word], labels, label, share)
            guides.head_labels[row, rank] = label[0] if head_probability[rank] > 0.0 else NONE
