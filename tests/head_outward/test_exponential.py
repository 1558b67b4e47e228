"""Exponentials of arrays, against NumPy's."""

import numpy as np
import pytest

from spacy_hpyp.head_outward.exponential import exponentiate, log_sum

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("scale", [0.0, -30.0, 1e5])
@pytest.mark.parametrize("spread", [1e-9, 1.0, 30.0, 700.0])
def test_exponentials_have_all_bits_but_the_last(spread, scale):
    weights = scale - spread * RANDOM.random(1000)
    # At the bounds of rounding, and what is above the scale.
    weights[:100] = scale + (np.arange(100) - 50) * np.log(2) / 2
    expected = np.exp(weights - scale)
    exponentiate(weights, scale)
    assert np.all(np.abs(weights - expected) <= 2 * np.spacing(expected))


def test_exponentials_of_what_is_too_low_are_zero():
    weights = np.array([0.0, -np.inf, -800.0, -1e308, -745.0, np.log(2.0)])
    exponentiate(weights, 0.0)
    assert np.allclose(weights, [1.0, 0.0, 0.0, 0.0, 0.0, 2.0], rtol=1e-15, atol=0.0)


@pytest.mark.parametrize("length", [1, 2, 7, 100])
def test_log_sums_are_those_of_the_numbers(length):
    weights = RANDOM.normal(-1000.0, 5.0, length)
    weights[1::3] = -np.inf
    assert np.isclose(log_sum(weights.copy()), np.logaddexp.reduce(weights), rtol=1e-15)


@pytest.mark.parametrize("length", [1, 5])
def test_log_sum_of_nothing_is_minus_infinity(length):
    assert log_sum(np.full(length, -np.inf)) == -np.inf
