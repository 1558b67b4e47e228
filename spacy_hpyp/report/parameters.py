"""What the distributions of a model have learned besides counts: discounts and strengths of tiers, weights of
experts.
"""

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

    expert (int): Its number, from 1.
    context (tuple[str, ...]): What the expert is conditioned on, most important first.
    depth (int): Of how many elements the contexts of the restaurants are.
    discount, strength (float): The hyperparameters that they share.
    restaurants, customers (int): How many there are, and how many customers they have together.
    weights (tuple[float, ...]): The weight of the expert where a context leads here, by the restaurant's
        bucket; empty where there are no weights.
    """

    expert: int
    context: tuple[str, ...]
    depth: int
    discount: float
    strength: float
    restaurants: int
    customers: int
    weights: tuple[float, ...]


class Learned(NamedTuple):
    """What a distribution has learned: its experts, which are mixed or else multiplied, each from the empty
    context to the whole one.
    """

    name: str
    mixed: bool
    experts: list[list[Tier]]


def learned_parameters(
    conditionals: Mapping[str, Conditional],
    franchises: Mapping[str, Franchise],
    weights: Mapping[str, Weights],
) -> list[Learned]:
    """What the distributions of a model have learned, those that have experts; all is given by distribution."""
    return [
        Learned(name, each.mixed and not each.is_plain, _experts(each, franchises[name], weights[name]))
        for name, each in conditionals.items()
        if each.experts
    ]


def _experts(conditional: Conditional, franchise: Franchise, weights: Weights) -> list[list[Tier]]:
    depth = franchise.columns.shape[1]
    used = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    tier_of, customers = used[:, TIER], used[:, CUSTOMERS].astype(np.int64)
    tiers = len(franchise.discount)
    columns = (
        franchise.discount.tolist(),
        franchise.strength.tolist(),
        np.bincount(tier_of[customers > 0], minlength=tiers).tolist(),
        np.bincount(tier_of, customers, minlength=tiers).astype(np.int64).tolist(),
        [()] * tiers if conditional.is_plain else list(map(tuple, weights.bucket.tolist())),
    )
    rows = list(zip(*columns))
    experts = []
    for number, context in enumerate(conditional.experts):
        first = number * (depth + 1)
        last = first + int(np.sum(franchise.columns[number] != NONE))
        own = enumerate(rows[first : last + 1])
        experts.append([Tier(number + 1, context, depth_of, *row) for depth_of, row in own])
    return experts
