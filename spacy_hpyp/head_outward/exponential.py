"""The exponential function of many numbers at once.

A call of the C library's for each of them would take most of the time of a sum over trees. What is here is
arithmetic and no call, so a loop is compiled to instructions for several numbers each.
"""

from math import factorial, inf, log, log2

import numpy as np

from ..compiled import borrowing

# exp(x) = 2^k exp(r), where k is a whole number and |r| is at most log(2) / 2.
_LOG2_OF_E = log2(np.e)
# log(2) in two parts, so that k times the first is exact (Cody & Waite 1980).
_LOG_OF_2, _REST_OF_LOG_OF_2 = float.fromhex("0x1.62e42feep-1"), float.fromhex("0x1.a39ef35793c76p-33")
# A number with this added is rounded to a whole one, which the last bits of the sum are.
_ROUNDING = 1.5 * 2.0**52
# Of a float64: what is added to its exponent, and where that begins.
_BIAS, _EXPONENT = 1023, 52
# Below it exp(x) is taken for 0: it would have fewer bits than other numbers.
_LOWEST = -708.0
# Of Taylor's series; what comes after is less than the error of rounding.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (1.0 / factorial(i) for i in range(2, 14))


@borrowing
def highest(weights):
    """Return the highest of some numbers (float64[*]), at least one."""
    found = weights[0]
    for i in range(1, len(weights)):
        found = max(found, weights[i])
    return found


@borrowing
def exponentiate(weights, scale):
    """Replace logs (float64[*]), at most 700 above a finite scale, by the numbers divided by exp(scale)."""
    for i in range(len(weights)):
        weights[i] = _exp(weights[i] - scale)


@borrowing
def log_sum(weights):
    """Return the log of a sum of numbers whose logs are given (float64[*], at least one; overwritten)."""
    scale = highest(weights)
    if scale == -inf or len(weights) == 1:
        return scale
    exponentiate(weights, scale)
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    return scale + log(total)


@borrowing
def _exp(x):
    is_tiny = not x >= _LOWEST
    x = _LOWEST if is_tiny else x
    rounded = x * _LOG2_OF_E + _ROUNDING
    k = rounded - _ROUNDING
    r = (x - k * _LOG_OF_2) - k * _REST_OF_LOG_OF_2
    # By Horner's rule, in two halves that do not wait for each other.
    power = r * r
    even = ((((_C12 * power + _C10) * power + _C8) * power + _C6) * power + _C4) * power + _C2
    odd = ((((_C13 * power + _C11) * power + _C9) * power + _C7) * power + _C5) * power + _C3
    series = 1.0 + (r + power * (even + r * odd))
    two_to_k = np.int64((np.float64(rounded).view(np.int64) + _BIAS) << _EXPONENT).view(np.float64)
    return 0.0 if is_tiny else series * two_to_k
