"""Metropolis-Hastings steps for sentences whose trees are latent.

A sentence leaves all distributions; a tree is drawn from the chart, which holds the counts fixed, and labels for its arcs; and it is
accepted or not, see `spacy_hpyp.inference.metropolis`. What is drawn does not depend on the tree before: trees are proposed
independently, and what leaves the posterior as it is is as in `spacy_hpyp.arc_standard.latent`.
"""

from typing import NamedTuple

import numpy as np

from ..annotation.arrays import Sentences
from ..compiled import by_reference, implements, inner_maker
from ..inference.metropolis import derivation_of, pools_of, propose, read_all
from .chart import inside, sample_tree
from .contexts import CASE, CHILDREN, DISTANCE, LABEL, TAG, WORD
from .distributions import HeadOutwardDistributions
from .events import events_of
from .scoring import chart_scores, find_labels


@by_reference
class LatentTrees(NamedTuple):
    """Sentences whose trees are latent, for `inference.metropolis`.

    model (HeadOutwardDistributions): The pools, while they learn.
    sentences (Sentences): Their trees are overwritten. Words are cased.
    """

    model: HeadOutwardDistributions
    sentences: Sentences


@implements(pools_of, LatentTrees)
@inner_maker
def _pools_of(latent):
    model = latent.model
    return model.tag, model.word, model.case, model.children, model.distance, model.label


@implements(derivation_of, LatentTrees)
@inner_maker
def _derivation_of(latent, number):
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    return latent.sentences.heads[start:end], latent.sentences.labels[start:end]


@implements(read_all, LatentTrees)
@inner_maker
def _read_all(latent, number):
    model, sizes = latent.model, latent.model.sizes
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    words, tags = latent.sentences.words[start:end], latent.sentences.tags[start:end]
    heads, labels = _derivation_of(latent, number)
    return (
        events_of(model.tag, np.int64(TAG), words, tags, heads, labels, sizes),
        events_of(model.word, np.int64(WORD), words, tags, heads, labels, sizes),
        events_of(model.case, np.int64(CASE), words, tags, heads, labels, sizes),
        events_of(model.children, np.int64(CHILDREN), words, tags, heads, labels, sizes),
        events_of(model.distance, np.int64(DISTANCE), words, tags, heads, labels, sizes),
        events_of(model.label, np.int64(LABEL), words, tags, heads, labels, sizes),
    )


@implements(propose, LatentTrees)
@inner_maker
def _propose(latent, number, old, rng):
    start, end = latent.sentences.offsets[number], latent.sentences.offsets[number + 1]
    words, tags = latent.sentences.words[start:end], latent.sentences.tags[start:end]
    heads, labels = _derivation_of(latent, number)
    scores = chart_scores(latent.model, words, tags)
    heads[:] = sample_tree(scores, inside(scores), rng)
    find_labels(latent.model, words, tags, heads, rng, labels)
