"""A model while it predicts: finished probabilities, derived from a seating and the weights of its
pools.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..hpyp.pool import Pool
from ..text.vocabulary import Vocabulary
from .derivations import tree_log_probability
from .distributions import Distributions
from .future_cost import tag_chain, word_probabilities
from .likelihood import new_workspace
from .proposals import sampling_task
from .sampling import sample_derivation

# How many configurations the exact sum over a tree's derivations may keep, how many probabilities
# it remembers, and how many particles an estimate is made with.
_AFFORDABLE, _REMEMBERED, _PARTICLES = 10_000, 8192, 1000


class TreeLogProbs(NamedTuple):
    """How probable some sentences are together with their tags and trees, each summed over the
    derivations of its tree.

    log_prob (float64[n]): In nats.
    exact (bool[n]): Whether it is the sum itself and not an estimate. Where a word has very many
        dependents on both sides there are too many derivations to sum up, and a particle filter
        estimates the sum.
    """

    log_prob: np.ndarray
    exact: np.ndarray


def search_model(pools: Sequence[Pool], vocabulary: Vocabulary) -> Distributions:
    """Pools as what a search goes by, with what they say of each word and of the tags that it may
    have.

    pools (Sequence[Pool]): Of the transitions, labels, tags and words.
    """
    transition, label, tag, word = pools
    tags = vocabulary.tag_offsets, vocabulary.candidate_tags
    # What is not generated is not observed either.
    count = len(vocabulary.tags)
    nothing_observed = p_observed = forms = np.ones((1, count))
    if vocabulary.seen and len(word.experts.columns):
        p_observed = np.concatenate([nothing_observed, vocabulary.seen.given(count)])
        if vocabulary.forms:
            forms = np.concatenate([nothing_observed, vocabulary.forms.given(count)])
    rows = len(forms) * np.minimum(vocabulary.observed + 1, len(p_observed) - 1)
    rows += np.minimum(vocabulary.observed_form + 1, len(forms) - 1)
    p_observed = (p_observed[:, None] * forms).reshape(-1, count)
    of_candidates = np.repeat(rows, np.diff(vocabulary.tag_offsets)), vocabulary.candidate_tags
    return Distributions(
        transition=transition,
        label=label,
        tag=tag,
        word=word,
        tag_offsets=vocabulary.tag_offsets,
        candidate_tags=vocabulary.candidate_tags,
        p_word_given_tag=word_probabilities(word, *tags, vocabulary.outcomes)
        * p_observed[of_candidates],
        chain=tag_chain(tag),
        outcomes=vocabulary.outcomes,
        observed=rows,
        p_observed=p_observed,
    )


def tree_log_probs(parser: Distributions, sentences: Sentences, *, seed: int = 0) -> TreeLogProbs:
    """The log-probability of each sentence with its tags and its tree, in nats, summed over the
    tree's derivations.

    The sum is exact where dynamic programming can afford it, and estimated by a particle filter
    elsewhere (for very few sentences, those whose words have very many dependents on both sides).

    sentences (Sentences): Projective trees.
    seed (int): Fixes the estimates.
    """
    work = new_workspace(parser, remembered=_REMEMBERED)
    rng = np.random.default_rng(seed)
    count = len(sentences.offsets) - 1
    found = TreeLogProbs(np.empty(count), np.empty(count, dtype=bool))
    for i, (start, end) in enumerate(zip(sentences.offsets[:-1], sentences.offsets[1:])):
        words, *rows = (part[start:end] for part in sentences[:4])
        rows.insert(0, parser.outcomes[words])
        found.log_prob[i], found.exact[i] = tree_log_probability(parser, *rows, _AFFORDABLE, work)
        if not found.exact[i]:
            task = sampling_task(parser, work, rows[0], _PARTICLES, rows[1:])
            actions, tags = np.empty(2 * (end - start), np.int32), np.empty(end - start, np.int32)
            found.log_prob[i] = sample_derivation(task, rng, actions, tags)
        found.log_prob[i] += np.log(parser.p_observed[parser.observed[words], rows[1]]).sum()
    return found
