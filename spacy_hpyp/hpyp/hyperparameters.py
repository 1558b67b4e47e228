"""Discounts and strengths, slice-sampled from what a tier's seating adds up to.

The likelihood of a seating depends on a tier's discount d and strength theta only through three
histograms: customers of each restaurant, tables of each restaurant, and sizes of tables. They are
counted once for each resampling, so that an evaluation costs a few hundred terms however many
restaurants there are. Priors: d ~ Beta(1, 1), that is uniform, and theta + d ~ Gamma(1, 1). A
discount of 0, which makes a tier one of Dirichlet processes, stays as it is, and so does one of 1.
"""

from math import exp, lgamma, log, nan
from typing import NamedTuple

import numpy as np

from ..compiled import NONE, jit
from . import franchise as column
from .franchise import Franchise, tables_of

#: Below this discount the closed form of the likelihood loses its precision; a slice never goes
#: there.
SMALLEST_DISCOUNT = 1e-6
#: Nor does one of theta + d go below this. Its posterior has a long tail on the log scale where no
#: restaurant has two tables:
#: theta would be -d in floating point, and what such a restaurant has not seen would have the
#: probability 0.
SMALLEST_SUM = 1e-14
_DENSE = 128
# A slice that shrinks has no room left after about a hundred steps, and one that steps out has left
# the floating-point numbers after fewer than a thousand: whoever is still searching then searches
# for nothing.
_STEPS = 1000


class Histograms(NamedTuple):
    """How often each value occurs in each tier, as sparse triples (tier, value, count) sorted by
    tier.

    customers, tables, sizes (int64[*, 3]): Customers of a restaurant, tables of a restaurant,
        customers of a table.
    """

    customers: np.ndarray
    tables: np.ndarray
    sizes: np.ndarray


def histograms(franchise: Franchise) -> Histograms:
    """The sufficient statistics of every tier's hyperparameters; empty restaurants do not count."""
    restaurants = franchise.restaurants[: franchise.used[column.N_RESTAURANTS]]
    servings = franchise.servings[: franchise.used[column.N_SERVINGS]]
    cells = franchise.cells[: franchise.used[column.N_CELLS]]
    values = (
        restaurants[:, column.CUSTOMERS],
        restaurants[:, column.TABLES],
        servings[:, column.SERVED],
        cells[:, column.SIZE],
    )
    # Most are small, and have a number of how often they occur; the others are noted one by one.
    small = np.zeros((3, len(franchise.discount), _DENSE), dtype=np.int64)
    large = np.empty((sum(np.count_nonzero(each >= _DENSE) for each in values), 4), dtype=np.int64)
    large = large[: _tally(franchise, small, large)]
    return Histograms(*(_triples(small[kind], large[large[:, 0] == kind, 1:]) for kind in range(3)))


@jit
def _tally(franchise, small, large):
    """Count customers of restaurants, their tables, and sizes of tables.

    small (int64[3, tiers, _DENSE]): How often each value occurs is added.
    large (int64[*, 4]): Overwritten with other values: which of the three they are, tiers, values,
        and how often.
    RETURNS (int): How many of these there are.
    """
    restaurants, servings, cells = franchise.restaurants, franchise.servings, franchise.cells
    noted = 0
    for restaurant in range(franchise.used[column.N_RESTAURANTS]):
        row = restaurants[restaurant]
        noted = _note(small, large, noted, 0, row[column.TIER], row[column.CUSTOMERS], 1)
        noted = _note(small, large, noted, 1, row[column.TIER], row[column.TABLES], 1)
    for serving in range(franchise.used[column.N_SERVINGS]):
        row = servings[serving]
        tier = restaurants[row[column.RESTAURANT], column.TIER]
        if tables_of(row) == 1:
            noted = _note(small, large, noted, 2, tier, row[column.SERVED], 1)
        cell = row[column.CELL] if len(row) > column.CELL else NONE
        while cell != NONE:
            noted = _note(
                small, large, noted, 2, tier, cells[cell, column.SIZE], cells[cell, column.COUNT]
            )
            cell = cells[cell, column.LINK]
    return noted


@jit
def _note(small, large, noted, kind, tier, value, count):
    if value < _DENSE:
        small[kind, tier, value] += count
        return noted
    large[noted, 0], large[noted, 1], large[noted, 2], large[noted, 3] = kind, tier, value, count
    return noted + 1


def _triples(small: np.ndarray, large: np.ndarray) -> np.ndarray:
    """What `_tally` has counted of one kind, as `Histograms` have it: without those values that are
    0.
    """
    tier, value = np.nonzero(small[:, 1:])
    keys, place = np.unique(large[:, :2].T, axis=1, return_inverse=True)
    counts = np.concatenate(
        [small[tier, value + 1], np.bincount(place.ravel(), large[:, 2], keys.shape[1])]
    )
    triples = np.stack([*np.concatenate([[tier, value + 1], keys], axis=1), counts], axis=1).astype(
        np.int64
    )
    return triples[np.lexsort((triples[:, 1], triples[:, 0]))]


@jit
def log_likelihood(customers, tables, sizes, discount, strength):
    """Log-probability of one tier's seating given its discount and strength, base distributions
    left out.

    customers, tables, sizes (int64[*, 3]): One tier's rows of `Histograms`.
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
    """One slice-sampling step of a tier's discount and then of its strength (Neal 2003).

    A discount of 0 is not sampled.

    RETURNS (tuple[float, float]): The new discount and strength; NaN if there is no likelihood to
        be sampled from.
    """
    if discount != 0.0:
        discount = _sample_discount(customers, tables, sizes, discount, strength, rng)
    return discount, _sample_strength(customers, tables, sizes, discount, strength, rng)


@jit
def _sample_discount(customers, tables, sizes, discount, strength, rng):
    # The discount lives on an interval: shrink from all of it. The prior of theta + d changes with
    # d.
    height = (
        log_likelihood(customers, tables, sizes, discount, strength)
        - discount
        + log(1.0 - rng.random())
    )
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


@jit
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
            and log_likelihood(customers, tables, sizes, discount, exp(low) - discount)
            - exp(low)
            + low
            >= height
        ):
            break
        low -= 1.0
    low = max(low, lowest)
    for _ in range(_STEPS):
        if (
            not log_likelihood(customers, tables, sizes, discount, exp(high) - discount)
            - exp(high)
            + high
            >= height
        ):
            break
        high += 1.0
    else:
        return nan
    for _ in range(_STEPS):
        there = low + (high - low) * rng.random()
        proposal = exp(there) - discount
        if (
            log_likelihood(customers, tables, sizes, discount, proposal) - exp(there) + there
            >= height
        ):
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
    RAISES (ValueError): If the seating of a tier has no likelihood with its present discount and
        strength, or none is found that is as likely; they are left as they are then.
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
            raise ValueError(
                f"Hyperparameters of tier {tier} cannot be sampled: its counts have no likelihood with a "
                f"discount of "
                f"{discount:g} and a strength of {strength:g}. Go on from an earlier pipeline, or train "
                f"again."
            )
        franchise.discount[tier], franchise.strength[tier] = sampled
