"""Discriminative weights: they learn from the errors of the beam.

The likelihood of the right derivation *given* the words (`arc_standard.contrast`) is added to that
of both. Weights learn from sentences that the model has not seen: a copy without them parses a part
after the other.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from thinc.api import Adam

from ..annotation.arrays import sentence_blocks
from ..annotation.sentences import join
from ..arc_standard.contrast import add_contrasts
from ..arc_standard.distributions import DISTRIBUTIONS, static_derivations, with_weights
from ..arc_standard.model import JointModel
from ..arc_standard.proposals import new_task
from ..arc_standard.search import Search
from ..hpyp.count_model import GATE_LEARNING_RATE, no_gradient
from ..hpyp.pool import Weights
from .leave_out import held_out_copy
from .treebank import assign_folds

# The best on EWT dev of learning rates 0.001, 0.002 and 0.01, and of shares 0, 0.2, 0.5 and 1 of
# the joint likelihood.
_LEARN_RATE = 0.001
_JOINT = 0.2
_PARTICLES = 30
_FOLDS = 10
_BATCH = 128
_PARTS = 8  # Of a batch, for any number of threads
# Factors of the optimizer's parameters in the parts of `Weights`.
_SCALE = {"bucket": 1.0, "gate": GATE_LEARNING_RATE}


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
    """Fit the weights of pools so that right derivations are more probable than others of the same
    words.

    model (JointModel): With pools, factored transitions, no latent derivations; it stays as it is.
    sentences (Mapping[bytes, int32[4, *]]): By key in the treebank's order; only seated ones count.
    weights (Mapping[str, Weights]): The initial weights, by distribution.
    RETURNS (tuple): Moving averages of the weights, and the mean log-likelihood of a right
        derivation in nats, -10 if the beam lost it. Neither depends on the number of threads.
    """
    search = search._replace(particles=min(search.particles, _PARTICLES), marginals=True)
    parameters = {
        (name, part): (getattr(weights[name], part) / scale).astype(np.float32)
        for name in DISTRIBUTIONS
        for part, scale in _SCALE.items()
    }
    optimizer = Adam(_LEARN_RATE, L2=0.0, grad_clip=0.0, use_averages=True)

    def learn_fold(keys: Sequence[bytes]) -> float:
        """Learn from some sentences; return their log-likelihood. Its memory is free for the next
        fold when it returns.
        """
        chosen = [sentences[keys[i]] for i in rng.permutation(len(keys))]
        gold, total = join(chosen), 0.0
        derivations = static_derivations(gold)
        blocks = sentence_blocks([rows[0] for rows in chosen])
        if given_tags:
            blocks = blocks._replace(tags=gold.tags)
        parser = held_out_copy(model, {key: sentences[key] for key in keys}, rng).frozen

        def contrast(
            now: dict[str, Weights], places: np.ndarray
        ) -> tuple[float, dict[str, Weights]]:
            """Return the log-likelihood of sentences and its gradient, see `add_contrasts`."""
            gradient = no_gradient(now)
            task = new_task(with_weights(parser, now, gradient), blocks, search)
            return add_contrasts(task, places, derivations, _JOINT), gradient

        with ThreadPoolExecutor(threads) as executor:
            for start in range(0, len(chosen), _BATCH):
                end = min(start + _BATCH, len(chosen))
                parts = [np.arange(start + i, end, _PARTS) for i in range(_PARTS)]
                found = [*executor.map(partial(contrast, _weights(parameters)), parts)]
                total += sum(likelihood for likelihood, _ in found)
                for key, values in parameters.items():
                    name, part = key
                    gradient = sum(getattr(gradients[name], part) for _, gradients in found)
                    gradient = (gradient * (-_SCALE[part] / (end - start))).astype(np.float32)
                    parameters[key], _ = optimizer(key, values, gradient)
        return total

    folds = assign_folds([key for key in sentences if model.progress.seated.get(key)], _FOLDS)
    total = sum(map(learn_fold, filter(None, folds)))
    learned = _weights(optimizer.averages) if optimizer.averages else {}
    return {**weights, **learned}, total / max(1, sum(map(len, folds)))


def _weights(parameters: Mapping[tuple[str, str], np.ndarray]) -> dict[str, Weights]:
    return {
        name: Weights(
            *(scale * parameters[name, part].astype(np.float64) for part, scale in _SCALE.items())
        )
        for name in DISTRIBUTIONS
    }
