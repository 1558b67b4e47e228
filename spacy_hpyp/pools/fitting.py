"""The weights of a pool that make left-out events most likely, and what another expert would add to it.

Given the experts' leave-one-out predictions, a pool's log-likelihood is a function of its weights alone: one
for each expert and depth that its context was seen to. For a product of experts it is concave; for a mixture,
whose shares are the softmax of the weights, each step maximises the bound of the EM algorithm to second
order. A Gaussian prior around 0 keeps weights in bounds that the events say nothing about.
"""

from math import exp, log
from typing import NamedTuple

import numpy as np

from ..compiled import borrowing, compiled
from ..newton import maximize

# The precision of the prior on the weights.
_PRECISION = 1.0
_STEPS = 12
# A fit ends when a step adds less than this for each event, in nats.
_TOLERANCE = 1e-5
# A candidate's share of a mixture before EM, and what keeps the share defined at depths that do not occur.
_FIRST_SHARE = 0.05
_NO_VISITS = 1e-9


class ExpertPredictions(NamedTuple):
    """What some experts say about the same events without having seen them.

    log_probability (float32[experts, events, width]): Logs in nats, of all outcomes or, for a mixture, of the
        one observed.
    depth (int8[experts, events]): How many elements of each context an expert has seen elsewhere.
    dish (int32[events]): The outcomes observed.
    kind (int32[events]): The kinds of contexts.
    possible (bool[kinds, alphabet]): Which outcomes exist in which kind of context.
    """

    log_probability: np.ndarray
    depth: np.ndarray
    dish: np.ndarray
    kind: np.ndarray
    possible: np.ndarray


def fit_weights(
    predictions: ExpertPredictions, experts: np.ndarray, weights: np.ndarray, *, mixed: bool
) -> tuple[np.ndarray, float]:
    """Maximise a pool's leave-one-out log-likelihood by Newton's method.

    predictions (ExpertPredictions): Of these experts and perhaps others.
    experts (int64[pool]): Which experts the pool has.
    weights (float64[pool, depths]): Where to begin.
    mixed (bool): Whether experts are mixed and not multiplied.
    RETURNS (tuple): The weights (float64[pool, depths]), and the log-likelihood in nats for each event.
    """
    likelihood_of = _mixture_likelihood if mixed else _product_likelihood
    events, shape = len(predictions.dish), weights.shape

    def objective(weights: np.ndarray) -> float:
        likelihood, _, _ = likelihood_of(predictions, experts, weights.reshape(shape), False)
        return likelihood - 0.5 * _PRECISION * float(weights @ weights)

    def derivatives(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        _, gradient, curvature = likelihood_of(predictions, experts, weights.reshape(shape), True)
        return gradient - _PRECISION * weights, curvature + _PRECISION * np.eye(len(weights))

    weights = maximize(objective, derivatives, weights.ravel(), least=_TOLERANCE * events).reshape(shape)
    likelihood, _, _ = likelihood_of(predictions, experts, weights, False)
    return weights, likelihood / max(events, 1)


@borrowing
def _distribution(predictions, experts, weights, event, total):
    """A product pool's probabilities; those of impossible outcomes are 0. Returns the log-probability of what
    was observed.
    """
    total[:] = 0.0
    for m in range(len(experts)):
        weight = weights[m, predictions.depth[experts[m], event]]
        row = predictions.log_probability[experts[m], event]
        for y in range(len(total)):
            total[y] += weight * row[y]
    possible = predictions.possible[predictions.kind[event]]
    highest = -np.inf
    for y in range(len(total)):
        if possible[y]:
            highest = max(highest, total[y])
        else:
            total[y] = -np.inf
    chosen = total[predictions.dish[event]] - highest
    mass = 0.0
    for y in range(len(total)):
        total[y] = exp(total[y] - highest)
        mass += total[y]
    for y in range(len(total)):
        total[y] /= mass
    return chosen - log(mass)


@compiled
def _product_likelihood(predictions, experts, weights, derived):
    """A product pool's log-likelihood, and if it is to be `derived` its gradient and negative Hessian.

    They are what was observed less what was expected of each expert's log-probability, and the covariance of
    these.
    """
    size, depths = weights.shape
    alphabet = predictions.log_probability.shape[2]
    likelihood = 0.0
    gradient, curvature = np.zeros(size * depths), np.zeros((size * depths, size * depths))
    share, centred, place = np.empty(alphabet), np.empty((size, alphabet)), np.empty(size, dtype=np.int64)
    for event in range(len(predictions.dish)):
        likelihood += _distribution(predictions, experts, weights, event, share)
        if not derived:
            continue
        for m in range(size):
            row = predictions.log_probability[experts[m], event]
            place[m] = m * depths + predictions.depth[experts[m], event]
            mean = 0.0
            for y in range(alphabet):
                mean += share[y] * row[y]
            for y in range(alphabet):
                centred[m, y] = row[y] - mean
            gradient[place[m]] += centred[m, predictions.dish[event]]
        for m in range(size):
            for y in range(alphabet):
                centred[m, y] *= share[y]
            for n in range(m, size):
                row = predictions.log_probability[experts[n], event]
                covariance = 0.0
                for y in range(alphabet):
                    covariance += centred[m, y] * row[y]
                curvature[place[m], place[n]] += covariance
                if m != n:
                    curvature[place[n], place[m]] += covariance
    return likelihood, gradient, curvature


@borrowing
def _shares(predictions, experts, weights, event, share, posterior):
    """A mixture's shares before and after the outcome is known. Returns the outcome's log-probability."""
    mass, total = 0.0, 0.0
    for m in range(len(experts)):
        share[m] = exp(weights[m, predictions.depth[experts[m], event]])
        posterior[m] = share[m] * exp(predictions.log_probability[experts[m], event, 0])
        mass += share[m]
        total += posterior[m]
    for m in range(len(experts)):
        share[m] /= mass
        posterior[m] /= total
    return log(total / mass)


@compiled
def _mixture_likelihood(predictions, experts, weights, derived):
    """A mixture's log-likelihood, and if it is to be `derived` its gradient, and the negative Hessian of the
    bound that EM maximises.
    """
    size, depths = weights.shape
    likelihood = 0.0
    gradient, curvature = np.zeros(size * depths), np.zeros((size * depths, size * depths))
    share, posterior, place = np.empty(size), np.empty(size), np.empty(size, dtype=np.int64)
    for event in range(len(predictions.dish)):
        likelihood += _shares(predictions, experts, weights, event, share, posterior)
        if not derived:
            continue
        for m in range(size):
            place[m] = m * depths + predictions.depth[experts[m], event]
            gradient[place[m]] += posterior[m] - share[m]
        for m in range(size):
            curvature[place[m], place[m]] += share[m]
            for n in range(size):
                curvature[place[m], place[n]] -= share[m] * share[n]
    return likelihood, gradient, curvature


def added_gains(
    predictions: ExpertPredictions,
    experts: np.ndarray,
    weights: np.ndarray,
    candidates: np.ndarray,
    *,
    mixed: bool,
) -> np.ndarray:
    """About how much the log-likelihood of a pool would rise with one more expert and the weights of the
    others as they are.

    predictions (ExpertPredictions): Of the pool's experts and the candidates.
    experts (int64[pool]), weights (float64[pool, depths]): The pool. A product without experts is uniform
        over what is possible.
    candidates (int64[candidates]): The experts to try.
    RETURNS (float64[candidates]): The gain of one Newton step or a few steps of EM, in nats for each event;
        of an empty mixture, which predicts nothing, each candidate's own log-likelihood.
    """
    gains_of = _mixture_gains if mixed else _product_gains
    return gains_of(predictions, experts, weights, candidates) / max(len(predictions.dish), 1)


@compiled
def _product_gains(predictions, experts, weights, candidates):
    """The one-step gain g^2 / 2h, for each candidate and depth, of the gradient g and the curvature h at
    weight 0.
    """
    alphabet = predictions.log_probability.shape[2]
    depths = weights.shape[1]
    slope, bend = np.zeros((len(candidates), depths)), np.full((len(candidates), depths), _PRECISION)
    share = np.empty(alphabet)
    for event in range(len(predictions.dish)):
        _distribution(predictions, experts, weights, event, share)
        for c in range(len(candidates)):
            row = predictions.log_probability[candidates[c], event]
            depth = predictions.depth[candidates[c], event]
            mean, square = 0.0, 0.0
            for y in range(alphabet):
                weighted = share[y] * row[y]
                mean += weighted
                square += weighted * row[y]
            slope[c, depth] += row[predictions.dish[event]] - mean
            bend[c, depth] += square - mean * mean
    return np.sum(slope**2 / bend, axis=1) / 2.0


@compiled
def _mixture_gains(predictions, experts, weights, candidates):
    """The gain of the candidate's best constant share at each depth, found by EM."""
    depths = weights.shape[1]
    events = len(predictions.dish)
    gains = np.empty(len(candidates))
    pool, share, posterior = np.zeros(events), np.empty(len(experts)), np.empty(len(experts))
    present = 0.0
    if len(experts) > 0:
        for event in range(events):
            log_probability = _shares(predictions, experts, weights, event, share, posterior)
            pool[event] = exp(log_probability)
            present += log_probability
    for c in range(len(candidates)):
        own = np.exp(predictions.log_probability[candidates[c], :, 0])
        depth = predictions.depth[candidates[c]]
        mine = np.ones(depths)
        if len(experts) > 0:
            mine[:] = _FIRST_SHARE
            for _ in range(_STEPS):
                hits, visits = np.zeros(depths), np.full(depths, _NO_VISITS)
                for event in range(events):
                    share_of_own = mine[depth[event]] * own[event]
                    hits[depth[event]] += share_of_own / (
                        share_of_own + (1.0 - mine[depth[event]]) * pool[event]
                    )
                    visits[depth[event]] += 1.0
                mine = hits / visits
        gains[c] = -present
        for event in range(events):
            gains[c] += log(mine[depth[event]] * own[event] + (1.0 - mine[depth[event]]) * pool[event])
    return gains
