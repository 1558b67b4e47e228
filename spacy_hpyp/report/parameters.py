"""What the distributions of a model have learned besides counts: discounts and strengths of tiers, weights of experts."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..compiled import NONE
from ..hpyp.franchise import CUSTOMERS, N_RESTAURANTS, TIER, Franchise
from ..pools.conditional import Conditional
from ..pools.pool import Weights
from ..pools.view import BUCKETS

#: How many customers a restaurant of each bucket has.
BUCKET_NAMES = (
    "1",
    "2",
    *(f"{2 ** (i - 1) + 1}–{2**i}" for i in range(2, BUCKETS - 1)),
    f"{2 ** (BUCKETS - 2) + 1}+",
)


class Tier(NamedTuple):
    """The restaurants of one expert at one depth.

    depth (int): Of how many elements their contexts are.
    discount, strength (float): The hyperparameters that they share.
    restaurants, customers (int): How many there are, and how many customers they have together.
    weights (tuple[float, ...]): The weight of the expert where a context leads here, by the restaurant's bucket; empty where there
        are no weights.
    """

    depth: int
    discount: float
    strength: float
    restaurants: int
    customers: int
    weights: tuple[float, ...]


class Expert(NamedTuple):
    """An expert of a distribution.

    context (tuple[str, ...]): What it is conditioned on, most important first.
    tiers (list[Tier]): From the empty context to the whole one.
    """

    context: tuple[str, ...]
    tiers: list[Tier]


class Learned(NamedTuple):
    """What a distribution has learned.

    name (str): Its name.
    mixed (bool): Whether its experts are mixed; else they are multiplied.
    experts (list[Expert]): Its experts.
    """

    name: str
    mixed: bool
    experts: list[Expert]

    @property
    def has_weights(self) -> bool:
        """Whether its experts have weights."""
        return any(tier.weights for expert in self.experts for tier in expert.tiers)


def learned_parameters(
    conditionals: Mapping[str, Conditional], franchises: Mapping[str, Franchise], weights: Mapping[str, Weights]
) -> list[Learned]:
    """What the distributions of a model have learned.

    conditionals (Mapping[str, Conditional]), franchises (Mapping[str, Franchise]), weights (Mapping[str, Weights]): By distribution.
    RETURNS (list[Learned]): Of the distributions that have experts.
    """
    return [
        Learned(
            name, conditional.mixed and not conditional.is_plain, _experts(conditional, franchises[name], weights[name])
        )
        for name, conditional in conditionals.items()
        if conditional.experts
    ]


def _experts(conditional: Conditional, franchise: Franchise, weights: Weights) -> list[Expert]:
    depth = franchise.columns.shape[1]
    used = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    tier_of, customers = used[:, TIER], used[:, CUSTOMERS].astype(np.int64)
    tiers = len(franchise.discount)
    restaurants = np.bincount(tier_of[customers > 0], minlength=tiers)
    seated = np.bincount(tier_of, customers, minlength=tiers)
    experts = []
    for number, context in enumerate(conditional.experts):
        first = number * (depth + 1)
        last = first + int(np.sum(franchise.columns[number] != NONE))
        experts.append(
            Expert(
                context,
                [
                    Tier(
                        depth=tier - first,
                        discount=float(franchise.discount[tier]),
                        strength=float(franchise.strength[tier]),
                        restaurants=int(restaurants[tier]),
                        customers=int(seated[tier]),
                        weights=() if conditional.is_plain else tuple(weights.bucket[tier].tolist()),
                    )
                    for tier in range(first, last + 1)
                ],
            )
        )
    return experts
