"""Frozen pools say what the seating says: checked against rows of the franchise read in plain
NumPy.
"""

import numpy as np
import pytest
from compiling import compiled
from seating import PRECISION, freeze_pool

from spacy_hpyp.compiled import NONE
from spacy_hpyp.hpyp.franchise import (
    CUSTOMERS,
    DISH,
    N_RESTAURANTS,
    N_SERVINGS,
    OPEN,
    PARENT,
    RESTAURANT,
    SERVED,
    SYMBOL,
    TABLES,
    TIER,
    new_franchise,
    reserve,
)
from spacy_hpyp.hpyp.pool import Weights, predict, predict_one, workspace
from spacy_hpyp.hpyp.seating import open_restaurants, seat, unseat
from spacy_hpyp.hpyp.table import BUCKETS

open_restaurants, seat, unseat, predict, predict_one, workspace = map(
    compiled, (open_restaurants, seat, unseat, predict, predict_one, workspace)
)

SYMBOLS = 4


class Reference:
    """A random pool, and its probabilities in NumPy. Restaurants and servings are found by looking
    at all rows.
    """

    def __init__(self, alphabet, seed, one_table, experts=0):
        rng = np.random.default_rng(seed)
        self.alphabet = alphabet
        depth, width = int(rng.integers(0, 4)), 5
        self.columns = np.full((experts or int(rng.integers(1, 6)), depth), NONE)
        for row in self.columns:
            length = int(rng.integers(0, depth + 1))
            row[:length] = rng.choice(width, length, replace=False)
        self.gates = rng.choice(width, int(rng.integers(0, 3)), replace=False).astype(np.int32)
        self.possible = np.empty((0, 0), dtype=np.bool_)
        if rng.random() < 0.5:
            self.possible = rng.random((3, alphabet)) < 0.5
            self.possible[:, rng.integers(alphabet)] = True
        self.elements = np.zeros((width, 4), dtype=np.int32)
        self.weights = Weights(
            0.5 + 0.5 * rng.normal(size=(len(self.columns) * (depth + 1), BUCKETS)),
            0.5 * rng.normal(size=(len(self.gates), SYMBOLS, len(self.columns))),
        )
        franchise = reserve(new_franchise(self.columns, alphabet, one_table=one_table), 400)
        franchise.discount[:] = rng.uniform(0.05, 0.95, len(franchise.discount))
        franchise.strength[:] = rng.uniform(0.0, 3.0, len(franchise.strength))
        places = np.empty(len(self.columns), dtype=np.int32)
        for i in range(400):
            # The last symbol is never seen, the first one mostly; half of the dishes are common
            # ones.
            row = np.minimum(rng.geometric(0.6, width) - 1, SYMBOLS - 2).astype(np.int32)
            dish = (
                int(rng.integers(alphabet))
                if i % 2
                else min(int(rng.geometric(0.3)) - 1, alphabet - 1)
            )
            open_restaurants(franchise, row, places)
            for place in places:
                seat(franchise, place, dish, rng)
            if i % 3 == 0:
                assert all(unseat(franchise, place, dish, rng) for place in places)
        self.franchise = franchise
        self.rows = rng.integers(SYMBOLS, size=(12, width)).astype(np.int32)
        self.restaurants = franchise.restaurants[: franchise.used[N_RESTAURANTS]]
        self.servings = franchise.servings[: franchise.used[N_SERVINGS]]

    def expert(self, number, row):
        """p(. | context) of an expert, and the last restaurant on the way that is not empty, or the
        root.
        """
        place = number
        out = np.full(self.alphabet, 1.0 / self.alphabet)
        for level in range(-1, self.columns.shape[1]):
            if level >= 0:
                column = self.columns[number, level]
                found = np.flatnonzero(
                    (self.restaurants[:, PARENT] == place)
                    & (self.restaurants[:, SYMBOL] == row[column])
                )
                if column == NONE or not len(found) or self.restaurants[found[0], CUSTOMERS] == 0:
                    break
                place = found[0]
            here = self.restaurants[place]
            d, theta = self.franchise.discount[here[TIER]], self.franchise.strength[here[TIER]]
            if here[CUSTOMERS]:
                held = np.zeros(self.alphabet)
                mine = self.servings[self.servings[:, RESTAURANT] == place]
                tables = mine[:, OPEN]
                held[mine[:, DISH]] = mine[:, SERVED] - d * tables
                out = (held + (theta + d * here[TABLES]) * out) / (theta + here[CUSTOMERS])
        return out, place

    def all_experts(self, row):
        out, weight = np.empty((len(self.columns), self.alphabet)), np.empty(len(self.columns))
        for m in range(len(self.columns)):
            out[m], place = self.expert(m, row)
            customers = int(self.restaurants[place, CUSTOMERS])
            bucket = min(BUCKETS - 1, int(np.ceil(np.log2(customers))))
            weight[m] = self.weights.bucket[self.restaurants[place, TIER], bucket]
            weight[m] += sum(
                self.weights.gate[g, row[column], m] for g, column in enumerate(self.gates)
            )
        return out, weight

    def product(self, row, kind):
        out, weight = self.all_experts(row)
        log_product = weight @ np.log(out)
        found = np.exp(log_product - log_product.max())
        if len(self.possible):
            found = np.where(self.possible[kind], found, 0.0)
        return found / found.sum()

    def mixture(self, row):
        out, weight = self.all_experts(row)
        return np.exp(weight) @ out / np.exp(weight).sum()

    def frozen(self, *, mixed):
        return freeze_pool(
            self.franchise, self.weights, self.gates, self.possible, self.elements, mixed=mixed
        )

    def plain(self, *, mixed):
        """A pool of one expert."""
        weights = Weights(np.empty((0, BUCKETS)), np.empty((0, SYMBOLS, 1)))
        return freeze_pool(
            self.franchise, weights, self.gates[:0], self.possible, self.elements, mixed=mixed
        )


@pytest.fixture(
    scope="module",
    params=[(alphabet, seed) for alphabet in (1, 2, 7, 40, 300) for seed in range(6)],
    ids=str,
)
def reference(request):
    alphabet, seed = request.param
    return Reference(alphabet, 100 * alphabet + seed, one_table=seed % 2 == 0)


def test_product_is_that_of_the_seating(reference):
    view = reference.frozen(mixed=False)
    scratch, out = workspace(view), np.empty(reference.alphabet)
    for row in reference.rows:
        for kind in range(max(1, len(reference.possible))):
            predict(view, row, kind, scratch, out)
            np.testing.assert_allclose(
                out, reference.product(row, kind), rtol=3 * PRECISION, atol=1e-12
            )


def test_mixture_is_that_of_the_seating(reference):
    view = reference.frozen(mixed=True)
    scratch = workspace(view)
    for row in reference.rows:
        found = np.array(
            [predict_one(view, row, dish, scratch) for dish in range(reference.alphabet)]
        )
        expected = reference.mixture(row)
        np.testing.assert_allclose(found, expected, rtol=PRECISION)


@pytest.mark.parametrize("alphabet", [1, 2, 7, 40])
def test_plain_pool_is_its_only_expert(alphabet):
    reference = Reference(alphabet, alphabet, alphabet % 2 == 0, experts=1)
    out = np.empty(reference.alphabet)
    product, mixture = (reference.plain(mixed=mixed) for mixed in (False, True))
    for row in reference.rows:
        expected = reference.expert(0, row)[0]
        predict(product, row, 0, workspace(product), out)
        np.testing.assert_allclose(out, expected, rtol=PRECISION)
        scratch = workspace(mixture)
        found = [predict_one(mixture, row, dish, scratch) for dish in range(reference.alphabet)]
        np.testing.assert_allclose(found, expected, rtol=PRECISION)
