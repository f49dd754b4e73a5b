"""Fixed-sample confidence intervals for ratios of means.

The interval combines those of the two means (MOVER-R; Donner and Zou, *Closed-form confidence intervals for
functions of the normal mean and standard deviation*, 2012): its bounds are the ratios `t` at which the MOVER
interval of `mean[i] - t mean[j]` begins and ends at zero. It therefore excludes 1 if and only if the interval of
the difference excludes 0. It is also valid for rare rewards, where the interval of the logarithm of the ratio does
not exist. `benchmarks/audit_adjusted_coverage.py` measures its coverage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbandits.statistics.clusters import Floats


def ratio_bounds(mean: Floats, low: Floats, high: Floats, i: Any, j: Any) -> tuple[Floats, Floats]:
    """Return the bounds of `mean[i] / mean[j]` for independent groups, from the bounds of the means.

    Means must not be negative. The upper bound is infinite if the mean of j may be zero.

    Examples
    --------
    >>> low, high = ratio_bounds(np.array([0.4, 0.5]), np.array([0.35, 0.45]), np.array([0.45, 0.55]), 0, 1)
    >>> print(low.round(3), high.round(3))
    0.679 0.937
    """
    product = mean[..., i] * mean[..., j]
    with np.errstate(all="ignore"):
        # The roots of a t^2 - 2 product t + c = 0, in the form that remains accurate for small a.
        a, c = _gap_of_squares(mean[..., j], high[..., j]), _gap_of_squares(mean[..., i], low[..., i])
        lower = np.where(c > 0.0, c / (product + np.sqrt(np.maximum(product**2 - a * c, 0.0))), 0.0)
        a, c = _gap_of_squares(mean[..., j], low[..., j]), _gap_of_squares(mean[..., i], high[..., i])
        upper = np.where(a > 0.0, (product + np.sqrt(np.maximum(product**2 - a * c, 0.0))) / a, np.inf)
    return lower, upper


def _gap_of_squares(mean: Floats, bound: Floats) -> Floats:
    """Return `mean^2 - (mean - bound)^2`."""
    return bound * (2.0 * mean - bound)
