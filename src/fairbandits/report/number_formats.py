"""Number formats for tables and files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

# Quantile functions return bounds at zero as the smallest positive numbers.
_UNDERFLOW = 1e-300


def mean_and_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Compute the mean and the standard deviation over seeds; a single seed has no standard deviation.

    Both are rounded to twelve digits, so that files do not depend on the order of summation.

    Examples
    --------
    >>> mean_and_sd([0.05, 0.06, 0.07])
    (0.06, 0.01)
    """
    mean = round(float(np.mean(values)), 12)
    return mean, round(float(np.std(values, ddof=1)), 12) if len(values) > 1 else None


def plus_minus(mean: float, sd: float | None) -> str:
    """Format a mean and its standard deviation.

    Examples
    --------
    >>> plus_minus(0.06, 0.01)
    '0.060 ± 0.010'
    """
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def nan_to_none(value: float) -> float | None:
    """Replace NaN, the mean of no values, with None, because JSON has no NaN.

    Examples
    --------
    >>> nan_to_none(0.5), nan_to_none(float("nan"))
    (0.5, None)
    """
    return None if math.isnan(value) else value


def json_number(value: float) -> float | None:
    """Convert a number for JSON: a non-finite number becomes None, and an underflowed number becomes 0.

    Examples
    --------
    >>> json_number(0.5), json_number(float("inf")), json_number(2.2e-308)
    (0.5, None, 0.0)
    """
    if not math.isfinite(value):
        return None
    return 0.0 if abs(value) < _UNDERFLOW else value
