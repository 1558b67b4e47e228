"""Weights that learn from what the beam gets wrong.

The weights of pools are fitted to the likelihood of derivations first, words included. A sum of that and of
the likelihood of the right derivation *given* the words (`arc_standard.contrast`) makes them better at
telling derivations apart, and little worse at predicting words. As with all that is learned of weights, the
model must not have seen the sentence: a part of the sentences after the other is taken out of a copy of the
seating and parsed by what is left.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from thinc.api import Adam

from ..annotation.arrays import Blocks, sentence_blocks
from ..annotation.documents import join
from ..arc_standard.contrast import add_contrasts
from ..arc_standard.distributions import DISTRIBUTIONS
from ..arc_standard.events import Derivations, static_derivations
from ..arc_standard.proposals import SearchModel, new_workspace, with_weights
from ..inference.rounding import Search
from ..models.joint_model import JointModel
from ..models.parameters import GATE_PACE, no_gradient
from ..pools.pool import Weights
from .leave_out import without
from .treebank import deal_out

#: In smaller treebanks weights are not contrasted: on 400 Tamil sentences they became worse, on EWT better;
#: between them nothing was
#: tried.
LEAST_TOKENS = 100_000

# What was best on EWT dev: of 0.001, 0.002 and 0.01, and of 0, 0.2, 0.5 and 1. Other numbers of particles
# were not tried.
_LEARN_RATE = 0.001
_JOINT = 0.2
_PARTICLES = 30
_FOLDS = 10
_BATCH = 128
# A batch is divided into so many parts, however many threads there are: so the result does not depend on it.
_PARTS = 8


def learn_contrasts(
    model: JointModel,
    sentences: Mapping[bytes, np.ndarray],
    weights: Mapping[str, Weights],
    search: Search,
    rng: np.random.Generator,
    *,
    threads: int,
    given_tags: bool,
) -> tuple[dict[str, Weights], float]:
    """Fit the weights of pools so that right derivations are more probable than others of the same words.

    model (JointModel): A model of pools, with factored transitions; it stays as it is.
    sentences (Mapping[bytes, int32[4, *]]): Words, tags, heads and labels of sentences of the treebank, in
        their order, by what identifies them. They are taken out in stretches, as new text is not from among
        what was learned either.
    weights (Mapping[str, Weights]): What to begin with, by distribution.
    search (Search): How to search; with few particles, as what is a little less probable than the right
        derivation matters most.
    threads (int): How many threads share the work; the result does not depend on it.
    RETURNS (tuple): The mean of the weights over all steps, by distribution; and the mean log-likelihood of a
        right derivation, in nats.
    """
    search = search._replace(particles=min(search.particles, _PARTICLES), marginals=True)
    bucket = {name: weights[name].bucket.astype(np.float32) for name in DISTRIBUTIONS}
    gate = {name: (weights[name].gate / GATE_PACE).astype(np.float32) for name in DISTRIBUTIONS}
    optimizer = Adam(_LEARN_RATE, L2=0.0, grad_clip=0.0, use_averages=True)
    folds = deal_out([key for key in sentences if model.progress.seated.get(key)], _FOLDS)
    total = 0.0
    for keys in folds:
        if not keys:
            continue
        chosen = [sentences[keys[i]] for i in rng.permutation(len(keys))]
        part = join(chosen)
        derivations = static_derivations(part)
        blocks = sentence_blocks([rows[0] for rows in chosen])
        if given_tags:
            blocks = blocks._replace(tags=part.tags)
        parser = without(model, {key: sentences[key] for key in keys}, rng, threads=threads).frozen
        with ThreadPoolExecutor(threads) as executor:
            for start in range(0, len(chosen), _BATCH):
                now = {
                    name: Weights(_exact(bucket[name]), GATE_PACE * _exact(gate[name]))
                    for name in DISTRIBUTIONS
                }
                contrast = partial(_contrast, with_weights(parser, now), blocks, derivations, search)
                end = min(start + _BATCH, len(chosen))
                found = list(
                    executor.map(contrast, [np.arange(start + i, end, _PARTS) for i in range(_PARTS)])
                )
                total += sum(likelihood for likelihood, _ in found)
                for name in DISTRIBUTIONS:
                    for part_of, scale, number in ((bucket, 1.0, 0), (gate, GATE_PACE, 1)):
                        gradient = sum(gradients[name][number] for _, gradients in found) * (
                            -scale / (end - start)
                        )
                        key = number, name
                        part_of[name], _ = optimizer(key, part_of[name], gradient.astype(np.float32))
        # The views of this fold take memory that those of the next one need.
        del parser, contrast
    means = optimizer.averages or {}
    learned = {
        name: Weights(_exact(means[0, name]), GATE_PACE * _exact(means[1, name]))
        for name in DISTRIBUTIONS
        if means
    }
    return {**weights, **learned}, total / max(1, sum(map(len, folds)))


def _contrast(
    parser: SearchModel, blocks: Blocks, derivations: Derivations, search: Search, chosen: np.ndarray
) -> tuple[float, dict[str, Weights]]:
    """The log-likelihood of some sentences and its gradient, see `add_contrasts`."""
    pools = {name: getattr(parser, name).weights for name in DISTRIBUTIONS}
    gradient = no_gradient(pools)
    likelihood = add_contrasts(
        parser,
        new_workspace(parser, search),
        blocks,
        chosen,
        derivations,
        search,
        _JOINT,
        tuple(gradient.values()),
    )
    return likelihood, gradient


def _exact(numbers: np.ndarray) -> np.ndarray:
    return numbers.astype(np.float64)
