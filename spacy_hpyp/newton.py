"""Newton's method for penalised log-likelihoods, above all of log-linear models: they are concave,
so that there is one maximum.
"""

from collections.abc import Callable

import numpy as np

_STEPS = 50
# A whole step may go too far, above all the first ones; half of one often enough does not.
_HALVINGS = 30


def maximize(
    objective: Callable[[np.ndarray], float],
    derivatives: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    start: np.ndarray,
    *,
    highest: float = np.inf,
    close: float = 0.0,
    least: float = 0.0,
) -> np.ndarray:
    """Find weights where a concave function is highest.

    objective (Callable): Its value at float64[m].
    derivatives (Callable): Its gradient (float64[m]), and minus its second derivatives (float64[m,
        m]), which can be inverted.
    start (float64[m]): Where to begin.
    highest (float): No weight gets beyond it, on either side of 0.
    close (float): A step that moves no weight further than this is the last one.
    least (float): And so is one that adds less than this to the value.
    RETURNS (float64[m]): The weights.
    """
    weights, value = start, objective(start)
    for _ in range(_STEPS):
        gradient, information = derivatives(weights)
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            moved = np.clip(weights + step, -highest, highest)
            found = objective(moved)
            if found >= value:
                break
            step = step / 2.0
        else:
            break
        added = found - value
        weights, value = moved, found
        if np.abs(step).max(initial=0.0) < close or added < least:
            break
    return weights
