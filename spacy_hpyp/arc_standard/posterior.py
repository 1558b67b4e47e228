"""What the derivations of a final beam say together: posterior probabilities, and the parse to choose by them.

The weights of the derivations, normalised, are taken for the posterior distribution over parses of the words. Several
derivations may stand for the same parse. A model that takes its events for more independent than they are is too sure of its
best parse; a temperature above 1 flattens the distribution.
"""

from math import exp

import numpy as np

from ..annotation.arrays import Posterior
from ..compiled import borrowing, compiled, overwrite
from ..inference.beam import log_sum
from .configuration import derivation, tree_of


@compiled
def read_parse(records, last, heads, labels, tags):
    """Read the parse off a terminal configuration.

    last (int): Its record.
    heads, labels, tags (int32[n]): Overwritten.
    """
    actions = np.empty(2 * len(heads), dtype=np.int32)
    derivation(records, last, actions, tags)
    tree_of(actions, heads, labels)


@compiled
def read_posterior(records, beam, size, n, temperature):
    """The derivations of a final beam.

    beam (Beam): Terminal configurations of n words, at places up to `size`.
    temperature (float): What log-weights are divided by before they are normalised.
    """
    heads = np.empty((size, n), dtype=np.int32)
    labels, tags = np.empty_like(heads), np.empty_like(heads)
    for i in range(size):
        read_parse(records, beam.record[i], heads[i], labels[i], tags[i])
    log_weight = beam.weight[:size].copy()
    tempered = log_weight / temperature
    total = log_sum(tempered, size)
    probability = np.empty(size)
    for i in range(size):
        probability[i] = exp(tempered[i] - total)
    return Posterior(heads, labels, tags, log_weight, probability)


@compiled
def find_agreement(probability, one, other, agreement):
    """How probable it is that a word has the two outcomes that each derivation gives it.

    probability (float64[m]): Of the derivations.
    one, other (int32[m]): What the derivations say.
    agreement (float64[m]): Overwritten.
    """
    m = len(probability)
    place = np.empty(m, dtype=np.int64)
    mass = np.empty(m)
    example = np.empty(m, dtype=np.int64)
    found = 0
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


@compiled
def choose(posterior, consensus, heads, labels, tags):
    """Choose a parse: the best derivation's, or the one with the least expected loss (Kumar & Byrne 2004).

    The loss is the number of words with a wrong head or label, so the tree chosen among the derivations' is the one that has
    most in common with all of them, in proportion to their probabilities; and for each word the most probable tag.

    consensus (bool): Whether to minimise the expected loss.
    heads, labels, tags (int32[n]): Overwritten.
    """
    m, n = posterior.heads.shape
    probability = posterior.probability
    agreement = np.empty(m)
    score = probability
    if consensus:
        score = np.zeros(m)
        for word in range(n):
            find_agreement(probability, posterior.heads[:, word], posterior.labels[:, word], agreement)
            score += agreement
    best = np.argmax(score)
    overwrite(heads, posterior.heads[best])
    overwrite(labels, posterior.labels[best])
    overwrite(tags, posterior.tags[best])
    if consensus:
        for word in range(n):
            find_agreement(probability, posterior.tags[:, word], posterior.tags[:, word], agreement)
            tags[word] = posterior.tags[np.argmax(agreement), word]


@borrowing
def find_marginals(posterior, heads, tags, head_probability, tag_probability):
    """The posterior probability of each word's head and tag.

    heads, tags (int32[n]): The parse that is asked about.
    head_probability, tag_probability (float64[n]): Overwritten.
    """
    m, n = posterior.heads.shape
    head_probability[:] = 0.0
    tag_probability[:] = 0.0
    for i in range(m):
        for word in range(n):
            if posterior.heads[i, word] == heads[word]:
                head_probability[word] += posterior.probability[i]
            if posterior.tags[i, word] == tags[word]:
                tag_probability[word] += posterior.probability[i]
    for word in range(n):
        head_probability[word] = min(head_probability[word], 1.0)
        tag_probability[word] = min(tag_probability[word], 1.0)
