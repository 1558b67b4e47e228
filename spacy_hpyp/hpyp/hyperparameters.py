"""Discounts and strengths, slice-sampled from what a tier's seating adds up to.

The likelihood of a seating depends on a tier's discount d and strength theta only through three histograms: customers
of each restaurant, tables of each restaurant, and sizes of tables. They are counted once for each resampling, so that
an evaluation costs a few hundred terms however many restaurants there are. Priors: d ~ Beta(1, 1), that is uniform, and
theta + d ~ Gamma(1, 1). A discount of 0, which makes a tier one of Dirichlet processes, stays as it is, and so does one of 1.
"""

from math import exp, lgamma, log, nan
from typing import NamedTuple

import numpy as np

from ..compiled import compiled
from . import franchise as column
from .franchise import Franchise, walk_cells

#: Below this discount the closed form of the likelihood loses its precision; a slice never goes there.
SMALLEST_DISCOUNT = 1e-6
#: Nor does one of theta + d go below this. Its posterior has a long tail on the log scale where no restaurant has two tables:
#: theta would be -d in floating point, and what such a restaurant has not seen would have the probability 0.
SMALLEST_SUM = 1e-14
_DENSE = 128
# A slice that shrinks has no room left after about a hundred steps, and one that steps out has left the floating-point numbers
# after fewer than a thousand: whoever is still searching then searches for nothing.
_STEPS = 1000
# How many servings are counted at a time.
_PIECE = 2**20


class Histograms(NamedTuple):
    """How often each value occurs in each tier, as sparse triples (tier, value, count) sorted by tier.

    customers, tables, sizes (int64[*, 3]): Customers of a restaurant, tables of a restaurant, customers of a table.
    """

    customers: np.ndarray
    tables: np.ndarray
    sizes: np.ndarray


def histograms(franchise: Franchise) -> Histograms:
    """The sufficient statistics of every tier's hyperparameters; empty restaurants do not count."""
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    tier = restaurants[:, column.TIER]
    one = np.ones(len(tier), dtype=np.int32)
    # Some servings at a time: of all of them, copies of what is counted would need more memory than the seating has.
    pieces = [servings[first : first + _PIECE] for first in range(0, len(servings), _PIECE)]
    sizes = [_sizes(franchise, tier, piece, _PIECE * number) for number, piece in enumerate(pieces)]
    return Histograms(
        customers=_tally(tier, restaurants[:, column.CUSTOMERS], one),
        tables=_tally(tier, restaurants[:, column.TABLES], one),
        sizes=_tally(*np.concatenate([np.empty((0, 3), dtype=np.int64), *sizes]).T),
    )


def _sizes(franchise: Franchise, tier: np.ndarray, servings: np.ndarray, first: int) -> np.ndarray:
    """How often tables have how many customers in each tier, among servings that stand one after the other from the first on."""
    # The customers of a single table, or the cells of a histogram.
    single, several = np.flatnonzero(servings[:, column.OPEN] == 1), np.flatnonzero(servings[:, column.OPEN] > 1)
    kinds, cells = walk_cells(franchise, first + several)
    owner = np.concatenate(
        [servings[single, column.RESTAURANT], np.repeat(servings[several, column.RESTAURANT], kinds)]
    )
    size = np.concatenate([servings[single, column.SERVED], cells[:, column.SIZE]])
    count = np.concatenate([np.ones(len(single), dtype=np.int32), cells[:, column.COUNT]])
    return _tally(tier[owner], size, count)


def _tally(tier: np.ndarray, value: np.ndarray, count: np.ndarray) -> np.ndarray:
    """How often each value but 0 occurs in each tier. Most are small: these are counted without being sorted."""
    is_large = value >= _DENSE
    dense = np.bincount((tier * _DENSE + value)[~is_large], count[~is_large])
    small = np.flatnonzero(dense)
    small = small[small % _DENSE > 0]
    large, place = np.unique(np.stack([tier[is_large], value[is_large]]), axis=1, return_inverse=True)
    counts = np.concatenate([dense[small], np.bincount(place.ravel(), count[is_large], large.shape[1])])
    triples = np.stack([*np.concatenate([np.divmod(small, _DENSE), large], axis=1), counts], axis=1).astype(np.int64)
    return triples[np.lexsort((triples[:, 1], triples[:, 0]))]


@compiled
def log_likelihood(customers, tables, sizes, discount, strength):
    """Log-probability of one tier's seating given its discount and strength, base distributions left out.

    customers, tables, sizes (int64[*, 3]): One tier's rows of `Histograms`.
    RETURNS (float): In nats: sum over restaurants of log [theta|d]_t / [theta|1]_c, with the first table's factor
        cancelled, plus the sum over tables of log [1 - d|1]_(size - 1) (Teh 2006 equation 8).
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
                total += tables[i, 2] * ((tables[i, 1] - 1) * log(discount) + lgamma(ratio + tables[i, 1]) - start)
    start = lgamma(1.0 - discount)
    for i in range(len(sizes)):
        if sizes[i, 1] > 1:
            total += sizes[i, 2] * (lgamma(sizes[i, 1] - discount) - start)
    return total


@compiled
def sample_tier(customers, tables, sizes, discount, strength, rng):
    """One slice-sampling step of a tier's discount and then of its strength (Neal 2003).

    A discount of 0 is not sampled.

    RETURNS (tuple[float, float]): The new discount and strength; NaN if there is no likelihood to be sampled from.
    """
    if discount != 0.0:
        discount = _sample_discount(customers, tables, sizes, discount, strength, rng)
    return discount, _sample_strength(customers, tables, sizes, discount, strength, rng)


@compiled
def _sample_discount(customers, tables, sizes, discount, strength, rng):
    # The discount lives on an interval: shrink from all of it. The prior of theta + d changes with d.
    height = log_likelihood(customers, tables, sizes, discount, strength) - discount + log(1.0 - rng.random())
    # Wherever the discount is now belongs to the slice.
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


@compiled
def _sample_strength(customers, tables, sizes, discount, strength, rng):
    # On the scale x = log(theta + d), whose prior is -exp(x) + x: step out, then shrink.
    here = log(strength + discount)
    height = log_likelihood(customers, tables, sizes, discount, strength) - exp(here) + here
    height += log(1.0 - rng.random())
    low = here - rng.random()
    high = low + 1.0
    lowest = log(SMALLEST_SUM)
    for _ in range(_STEPS):
        if not (
            low > lowest
            and log_likelihood(customers, tables, sizes, discount, exp(low) - discount) - exp(low) + low >= height
        ):
            break
        low -= 1.0
    low = max(low, lowest)
    for _ in range(_STEPS):
        if not log_likelihood(customers, tables, sizes, discount, exp(high) - discount) - exp(high) + high >= height:
            break
        high += 1.0
    else:
        return nan
    for _ in range(_STEPS):
        there = low + (high - low) * rng.random()
        proposal = exp(there) - discount
        if log_likelihood(customers, tables, sizes, discount, proposal) - exp(there) + there >= height:
            return proposal
        if there < here:
            low = there
        else:
            high = there
    return nan


def resample(franchise: Franchise, rng: np.random.Generator) -> None:
    """Slice-sample the discount and strength of every tier, given the present seating.

    Of a tier whose discount is 0 the strength is, and of one whose discount is 1 neither.

    franchise (Franchise): Its `discount` and `strength` are changed in place.
    rng (numpy.random.Generator): The source of randomness.
    RAISES (ValueError): If the seating of a tier has no likelihood with its present discount and strength, or none is found that
        is as likely; they are left as they are then.
    """
    counted = histograms(franchise)
    tiers = np.arange(len(franchise.discount) + 1)
    customers, tables, sizes = (np.searchsorted(rows[:, 0], tiers) for rows in counted)
    for tier in np.flatnonzero(franchise.discount != 1.0):
        discount, strength = franchise.discount[tier], franchise.strength[tier]
        sampled = sample_tier(
            counted.customers[customers[tier] : customers[tier + 1]],
            counted.tables[tables[tier] : tables[tier + 1]],
            counted.sizes[sizes[tier] : sizes[tier + 1]],
            discount,
            strength,
            rng,
        )
        if not np.all(np.isfinite(sampled)):
            expert, level = divmod(int(tier), franchise.columns.shape[1] + 1)
            raise ValueError(
                f"New hyperparameters of expert {expert + 1} for contexts of {level} elements cannot be sampled, because the "
                f"counts have no likelihood with a discount of {discount:g} and a strength of {strength:g}. Go on from a "
                "pipeline that was saved earlier, or train from the beginning."
            )
        franchise.discount[tier], franchise.strength[tier] = sampled
