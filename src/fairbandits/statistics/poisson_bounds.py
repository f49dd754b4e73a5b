"""Mid-P bounds of a Poisson mean, as the drop of the log-likelihood from its maximum to the bound.

The mid-P bound includes only half of the probability of the observed number. It is tighter than the exact bound,
whose coverage exceeds its confidence level for small counts. Counts may be fractional, because they are effective
numbers of rewards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

# Smaller counts are treated as zero: their bounds are nearly the same, and cannot be computed.
_NONE = 0.05


def upper_drop(count: float, error: float) -> float:
    """Return the drop of the log-likelihood at the upper bound, which is exceeded with probability `error / 2`.

    Examples
    --------
    For many events, the drop is half a quantile of the chi-squared distribution; for none, it is the logarithm of
    20:

    >>> round(upper_drop(10_000.0, 0.05), 2), round(upper_drop(0.0, 0.05), 2)
    (1.92, 3.0)
    """
    from scipy.special import gammaincc, gammaincinv  # noqa: PLC0415 - slow to import

    if count < _NONE:
        return math.log(1.0 / error)
    low, high = (float(gammaincinv(shape, 1.0 - error / 2.0)) for shape in (count, count + 1.0))
    return _drop(count, lambda mean: gammaincc(count, mean) + gammaincc(count + 1.0, mean) - error, low, high)


def lower_drop(count: float, error: float) -> float:
    """Return the drop of the log-likelihood at the lower bound."""
    from scipy.special import gammainc, gammaincinv  # noqa: PLC0415 - slow to import

    if count < _NONE:
        return math.log(1.0 / error)
    low, high = (float(gammaincinv(shape, error / 2.0)) for shape in (count, count + 1.0))
    return _drop(count, lambda mean: gammainc(count, mean) + gammainc(count + 1.0, mean) - error, low, high)


def _drop(count: float, excess: Callable[[float], Any], low: float, high: float) -> float:
    """Return the drop at the mean, between `low` and `high`, for which the excess error probability is zero."""
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to import

    # The search is on the logarithmic scale, because lower bounds of small counts are tiny.
    logarithm = float(brentq(lambda x: float(excess(math.exp(x))), math.log(low), math.log(high)))
    return math.exp(logarithm) - count - count * (logarithm - math.log(count))
