"""Discounts and strengths, slice-sampled from sufficient statistics of the seating.

The likelihood of a seating depends on a tier's discount d and strength theta only through three
histograms: customers of each restaurant, tables of each restaurant, and sizes of tables. They are
counted once for each resampling, so that an evaluation costs a few hundred terms however many
restaurants there are. Priors: d ~ Beta(1, 1), that is uniform, and theta + d ~ Gamma(1, 1). A
discount of 0 (a Dirichlet process) or of 1 stays as it is.
"""

from math import exp, lgamma, log, nan

import numpy as np

from ..compiled import NONE, jit, jitable
from . import franchise as column
from .franchise import Franchise

#: Below this discount the closed form of the likelihood loses its precision.
SMALLEST_DISCOUNT = 1e-6
#: Smallest theta + d. Its posterior has a long tail on the log scale where no restaurant has two
#: tables: theta would be -d in floating point, and unseen dishes would have the probability 0.
SMALLEST_SUM = 1e-14
_DENSE = 128
# A shrinking slice is empty after about a hundred steps. A slice that steps out exceeds the range
# of floating-point numbers after fewer than a thousand.
_STEPS = 1000


def histograms(franchise: Franchise) -> list[np.ndarray]:
    """Count the sufficient statistics of all hyperparameters; empty restaurants do not count.

    RETURNS (list[int64[*, 3]]): How often each value occurs in each tier, as sorted triples (tier,
        value, count): customers of a restaurant, tables of a restaurant, customers of a table.
    """
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    cells = franchise.cells[: franchise.used[column.N_CELLS]]
    values = (
        restaurants[:, column.CUSTOMERS],
        restaurants[:, column.TABLES],
        servings[:, column.SERVED],
        cells[:, column.SIZE],
    )
    # Most values are small, and are counted in a dense array; the others are listed.
    small = np.zeros((3, len(franchise.discount), _DENSE), dtype=np.int64)
    large = np.empty((sum(np.count_nonzero(row >= _DENSE) for row in values), 4), dtype=np.int64)
    large = large[: _tally(franchise, small, large)]
    return [_triples(small[kind], large[large[:, 0] == kind, 1:]) for kind in range(3)]


@jit
def _tally(franchise, small, large):
    """Add counts of customers and tables of restaurants, and sizes of tables, to `small` (int64[3,
    tiers, _DENSE]). List other values in `large` (int64[*, 4]: kind, tier, value, count). Returns
    the number of rows of `large`.
    """
    restaurants, servings, cells = franchise.restaurants, franchise.servings, franchise.cells
    listed = 0
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        listed = _count(small, large, listed, 0, row[column.TIER], row[column.CUSTOMERS], 1)
        listed = _count(small, large, listed, 1, row[column.TIER], row[column.TABLES], 1)
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = servings[serving]
        tier, cell = restaurants[row[column.RESTAURANT], column.TIER], row[column.CELL]
        if row[column.OPEN] == 1:
            listed = _count(small, large, listed, 2, tier, row[column.SERVED], 1)
        while cell != NONE:
            size, count = cells[cell, column.SIZE], cells[cell, column.COUNT]
            listed = _count(small, large, listed, 2, tier, size, count)
            cell = cells[cell, column.LINK]
    return listed


@jitable
def _count(small, large, listed, kind, tier, value, count):
    if value < _DENSE:
        small[kind, tier, value] += count
        return listed
    large[listed, 0], large[listed, 1] = kind, tier
    large[listed, 2], large[listed, 3] = value, count
    return listed + 1


def _triples(small: np.ndarray, large: np.ndarray) -> np.ndarray:
    """Return the triples of one kind, without values that are 0."""
    small[:, 0] = 0
    tier, value = np.nonzero(small)
    rows = np.concatenate([np.stack([tier, value, small[tier, value]], axis=1), large])
    keys, place = np.unique(rows[:, :2], axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), rows[:, 2], len(keys))
    return np.column_stack([keys, counts]).astype(np.int64)


@jit
def log_likelihood(customers, tables, sizes, discount, strength):
    """Return the log-probability of one tier's seating given its discount and strength, without
    base distributions.

    customers, tables, sizes (int64[*, 3]): One tier's rows of `histograms`.
    RETURNS (float): In nats: sum over restaurants of log [theta|d]_t / [theta|1]_c, with the first
        table's factor cancelled, plus the sum over tables of log [1 - d|1]_(size - 1) (Teh 2006
        equation 8).
    """
    total = 0.0
    start = lgamma(strength + 1.0)
    for i in range(len(customers)):
        total -= customers[i, 2] * (lgamma(strength + customers[i, 1]) - start)
    if discount == 0.0:
        for i in range(len(tables)):
            total += tables[i, 2] * (tables[i, 1] - 1) * log(strength)
    else:
        ratio = strength / discount
        start = lgamma(ratio + 1.0)
        for i in range(len(tables)):
            if tables[i, 1] > 1:
                total += tables[i, 2] * (
                    (tables[i, 1] - 1) * log(discount) + lgamma(ratio + tables[i, 1]) - start
                )
    start = lgamma(1.0 - discount)
    for i in range(len(sizes)):
        if sizes[i, 1] > 1:
            total += sizes[i, 2] * (lgamma(sizes[i, 1] - discount) - start)
    return total


@jit
def sample_tier(customers, tables, sizes, discount, strength, rng):
    """Slice-sample a tier's discount (below 1), unless it is 0, and its strength (Neal 2003).

    customers, tables, sizes (int64[*, 3]): One tier's rows of `histograms`.
    RETURNS (tuple[float, float]): The new discount and strength; NaN if the likelihood is not a
        number.
    """
    if discount != 0.0:
        discount = _sample_discount(customers, tables, sizes, discount, strength, rng)
    return discount, _sample_strength(customers, tables, sizes, discount, strength, rng)


@jitable
def _sample_discount(customers, tables, sizes, discount, strength, rng):
    """Shrink from the whole interval. The prior of theta + d changes with d."""
    height = log_likelihood(customers, tables, sizes, discount, strength) - discount
    height += log(1.0 - rng.random())
    # The current discount belongs to the slice.
    low, high = min(discount, max(SMALLEST_DISCOUNT, SMALLEST_DISCOUNT - strength)), 1.0
    for _ in range(_STEPS):
        proposal = low + (high - low) * rng.random()
        if log_likelihood(customers, tables, sizes, proposal, strength) - proposal >= height:
            return proposal
        if proposal < discount:
            low = proposal
        else:
            high = proposal
    return nan


@jitable
def _sample_strength(customers, tables, sizes, discount, strength, rng):
    """Step out and shrink on the scale x = log(theta + d), whose log-prior is x - exp(x)."""
    here = log(strength + discount)
    height = log_likelihood(customers, tables, sizes, discount, strength) - exp(here) + here
    height += log(1.0 - rng.random())
    low = here - rng.random()
    high = low + 1.0
    lowest = log(SMALLEST_SUM)
    while low > lowest and _log_posterior(customers, tables, sizes, discount, low) >= height:
        low -= 1.0
    low = max(low, lowest)
    while _log_posterior(customers, tables, sizes, discount, high) >= height:
        high += 1.0
    for _ in range(_STEPS):
        there = low + (high - low) * rng.random()
        if _log_posterior(customers, tables, sizes, discount, there) >= height:
            return exp(there) - discount
        if there < here:
            low = there
        else:
            high = there
    return nan


@jitable
def _log_posterior(customers, tables, sizes, discount, x):
    """Return the log-posterior of x = log(theta + d); NaN or -inf where theta overflows."""
    return log_likelihood(customers, tables, sizes, discount, exp(x) - discount) - exp(x) + x


def resample(franchise: Franchise, rng: np.random.Generator) -> None:
    """Slice-sample the discount and strength of every tier, given the present seating.

    A discount of 0 or 1 stays, and so does the strength beside a discount of 1.

    franchise (Franchise): Its `discount` and `strength` are changed in place.
    RAISES (ValueError): If the seating of a tier has no likelihood.
    """
    counted = histograms(franchise)
    tiers = np.arange(len(franchise.discount) + 1)
    bounds = [np.searchsorted(rows[:, 0], tiers) for rows in counted]
    for tier in np.flatnonzero(franchise.discount != 1.0):
        rows = [rows[at[tier] : at[tier + 1]] for rows, at in zip(counted, bounds)]
        discount, strength = franchise.discount[tier], franchise.strength[tier]
        sampled = sample_tier(*rows, discount, strength, rng)
        if not np.all(np.isfinite(sampled)):
            raise ValueError(
                f"Hyperparameters of tier {tier} cannot be sampled: its counts have no likelihood "
                f"with a discount of {discount:g} and a strength of {strength:g}. Resume "
                "from an earlier pipeline, or train again."
            )
        franchise.discount[tier], franchise.strength[tier] = sampled
