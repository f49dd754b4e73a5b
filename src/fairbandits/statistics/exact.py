"""Tests of the mean of a few bounded values that are valid for every sample size."""

from __future__ import annotations

import math


def falls_below_bound(mean: float, n: float, bound: float, error: float) -> bool:
    """Return whether the true mean lies below a bound, with error probability at most `error`.

    By Hoeffding's inequality in its Chernoff form, n independent values in [0, 1] with a true mean of at least
    `bound` have a mean of at most `mean` with probability at most `exp(-n kl(mean, bound))`.

    Examples
    --------
    None of nine users was rewarded, whereas half of all other users were:

    >>> falls_below_bound(0.0, 9, 0.5, 0.01), falls_below_bound(0.0, 5, 0.5, 0.01)
    (True, False)
    """
    if not (math.isfinite(mean) and bound > 0.0 and mean < bound):
        return False
    return math.exp(-n * _divergence(mean, min(bound, 1.0))) <= error


def exceeds_bound(mean: float, n: float, bound: float, error: float) -> bool:
    """Return whether the true mean lies above a bound, with error probability at most `error`."""
    return falls_below_bound(1.0 - mean, n, 1.0 - bound, error)


def _divergence(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence of Bernoulli distributions with means p < q."""
    first = p * math.log(p / q) if p > 0.0 else 0.0
    return first + ((1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if q < 1.0 else math.inf)
