"""Discounts and strengths, slice-sampled from what a tier's seating adds up to.

The likelihood of a seating depends on a tier's discount d and strength theta only through three histograms: customers
of each restaurant, tables of each restaurant, and sizes of tables. They are counted once for each resampling, so that
an evaluation costs a few hundred terms however many restaurants there are. Priors: d ~ Beta(1, 1), that is uniform, and
theta + d ~ Gamma(1, 1). A discount of 0, which makes a tier one of Dirichlet processes, stays as it is, and so does one of 1.
"""

from math import exp, lgamma, log, nan
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, compiled, overwrite
from .franchise import (
    CELL,
    COUNT,
    CUSTOMERS,
    LINK,
    N_RESTAURANTS,
    N_SERVINGS,
    OPEN,
    RESTAURANT,
    SERVED,
    SIZE,
    TABLES,
    TIER,
    Franchise,
)

#: Below this discount the closed form of the likelihood loses its precision; a slice never goes there.
SMALLEST_DISCOUNT = 1e-6
#: Nor does one of theta + d go below this. Its posterior has a long tail on the log scale where no restaurant has two tables:
#: theta would be -d in floating point, and what such a restaurant has not seen would have the probability 0.
SMALLEST_SUM = 1e-14
_DENSE = 128
# A slice that shrinks has no room left after about a hundred steps, and one that steps out has left the floating-point numbers
# after fewer than a thousand: whoever is still searching then searches for nothing.
_STEPS = 1000


class Histograms(NamedTuple):
    """How often each value occurs in each tier, as sparse triples (tier, value, count) sorted by tier.

    customers, tables, sizes (int64[*, 3]): Customers of a restaurant, tables of a restaurant, customers of a table.
    """

    customers: np.ndarray
    tables: np.ndarray
    sizes: np.ndarray


def histograms(franchise: Franchise) -> Histograms:
    """The sufficient statistics of every tier's hyperparameters; empty restaurants do not count."""
    tiers = len(franchise.discount)
    restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
    dense, large, filled = _count_sizes(franchise, tiers)
    return Histograms(
        customers=_tally(restaurants[:, TIER], restaurants[:, CUSTOMERS], tiers),
        tables=_tally(restaurants[:, TIER], restaurants[:, TABLES], tiers),
        sizes=_triples(dense, large[:filled]),
    )


def _tally(tier: np.ndarray, value: np.ndarray, tiers: int) -> np.ndarray:
    is_large = value >= _DENSE
    dense = np.bincount((tier * _DENSE + value)[~is_large], minlength=tiers * _DENSE).reshape(tiers, _DENSE)
    dense[:, 0] = 0
    large = np.column_stack([tier[is_large], value[is_large], np.ones(np.count_nonzero(is_large), dtype=np.int64)])
    return _triples(dense, large)


def _triples(dense: np.ndarray, large: np.ndarray) -> np.ndarray:
    tier, value = np.nonzero(dense)
    few = np.column_stack([tier, value, dense[tier, value]])
    many, counts = np.unique(large[:, :2], axis=0, return_inverse=True)
    weights = np.bincount(counts.ravel(), weights=large[:, 2], minlength=len(many)).astype(np.int64)
    triples = np.concatenate([few, np.column_stack([many, weights])])
    return np.ascontiguousarray(triples[np.lexsort((triples[:, 1], triples[:, 0]))])


@compiled
def _count_sizes(franchise, tiers):
    """How often each table size occurs in each tier: the cells of a histogram, or the customers of a single table.

    RETURNS (tuple[int64[tiers, *], int64[*, 3], int]): Small sizes; large ones as triples, of which there are so many.
    """
    dense = np.zeros((tiers, _DENSE), dtype=np.int64)
    large = np.empty((_DENSE, 3), dtype=np.int64)
    filled = 0
    for serving in range(franchise.used[N_SERVINGS]):
        row = franchise.servings[serving]
        tier = franchise.restaurants[row[RESTAURANT], TIER]
        cell = row[CELL]
        size = row[SERVED]
        count = 1 if row[OPEN] == 1 else 0
        while True:
            if cell != NONE:
                size = franchise.cells[cell, SIZE]
                count = franchise.cells[cell, COUNT]
                cell = franchise.cells[cell, LINK]
            if size < _DENSE:
                dense[tier, size] += count
            elif count > 0:
                if filled == len(large):
                    longer = np.empty((2 * filled, 3), dtype=np.int64)
                    for i in range(filled):
                        overwrite(longer[i], large[i])
                    large = longer
                large[filled, 0] = tier
                large[filled, 1] = size
                large[filled, 2] = count
                filled += 1
            if cell == NONE:
                break
    return dense, large, filled


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
