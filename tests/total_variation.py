"""Distance of a Markov chain from its stationary distribution."""

from collections.abc import Hashable, Mapping, Sequence
from math import hypot, pi, sqrt

import numpy as np


def total_variation(
    visited: Sequence[Hashable], exact: Mapping[Hashable, float], batches: int = 50
) -> tuple[float, float]:
    """Total variation between the visited states and a distribution, and its bound for a correct
    chain.

    visited (Sequence): The states of the chain, in order. All of them are in the distribution.
    exact (Mapping): The probability of each state.
    batches (int): A state's standard error is that of the mean of this many batches of successive
        steps, but at least that of independent draws.
    RETURNS (tuple[float, float]): The total variation, and its expected value for a correct chain
        with normal errors, plus four standard errors.
    """
    number = {state: i for i, state in enumerate(exact)}
    places = np.array([number[state] for state in visited])
    distance, mean, variance = 0.0, 0.0, 0.0
    for state, probability in exact.items():
        hits = places == number[state]
        independent = sqrt(probability * (1 - probability) / len(hits))
        error = max(batch_error(hits, batches), independent)
        distance += abs(hits.mean() - probability) / 2
        mean += sqrt(2 / pi) * error / 2
        variance += (1 - 2 / pi) * error**2 / 4
    return distance, mean + 4 * sqrt(variance)


def batch_error(values: np.ndarray, batches: int = 50) -> float:
    """The standard error of a chain's mean, from the means of successive batches."""
    means = values[: len(values) // batches * batches].reshape(batches, -1).mean(axis=1)
    return means.std(ddof=1) / sqrt(batches)


def assert_same_means(names: Sequence[str], drawn: np.ndarray, walked: np.ndarray) -> None:
    """Assert that statistics (float64[draws, statistics]) have the same means in independent draws
    and in a chain, within four standard errors (Geweke 2004).
    """
    for name, forward, chain in zip(names, drawn.T, walked.T):
        error = hypot(forward.std() / sqrt(len(forward)), batch_error(chain))
        assert abs(forward.mean() - chain.mean()) < 4 * error, name
