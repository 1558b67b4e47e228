"""How far what a Markov chain has visited is from what it should have."""

from collections.abc import Hashable, Mapping, Sequence
from math import pi, sqrt

import numpy as np


def total_variation(
    visited: Sequence[Hashable], exact: Mapping[Hashable, float], batches: int = 50
) -> tuple[float, float]:
    """The total variation between the states that were visited and a distribution, and what it may
    be.

    visited (Sequence): The states of the chain, in order, all of which are in the distribution.
    exact (Mapping): The probability of each state.
    batches (int): A state's standard error is that of the mean of so many batches of successive
        steps, but not below that of independent draws.
    RETURNS (tuple[float, float]): The total variation, and what it is expected to be if the chain
        is right, as normal errors add up, with four standard errors more.
    """
    number = {state: i for i, state in enumerate(exact)}
    places = np.array([number[state] for state in visited])
    distance, mean, variance = 0.0, 0.0, 0.0
    for state, probability in exact.items():
        hits = places == number[state]
        parts = hits[: len(hits) // batches * batches].reshape(batches, -1).mean(axis=1)
        error = max(
            parts.std(ddof=1) / sqrt(batches), sqrt(probability * (1 - probability) / len(hits))
        )
        distance += abs(hits.mean() - probability) / 2
        mean += sqrt(2 / pi) * error / 2
        variance += (1 - 2 / pi) * error**2 / 4
    return distance, mean + 4 * sqrt(variance)
