"""What a franchise has counted."""

import numpy as np

from ..compiled import NONE
from .franchise import DISH, N_SERVINGS, RESTAURANT, SERVED, TIER, Franchise


def dish_counts(franchise: Franchise) -> np.ndarray:
    """How often each dish is seated by the first expert (int64[dishes])."""
    servings = franchise.servings[: franchise.used[N_SERVINGS]]
    tier = franchise.restaurants[servings[:, RESTAURANT], TIER]
    # Each customer of an expert sits in one of its most specific restaurants.
    own = servings[tier == np.count_nonzero(franchise.columns[0] != NONE)]
    return np.bincount(own[:, DISH], own[:, SERVED], int(franchise.alphabet[0])).astype(np.int64)
