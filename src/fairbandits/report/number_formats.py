"""Numbers for people, and for files."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def mean_and_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Sum up what the seeds gave; there is no standard deviation of a single one.

    Rounded to twelve digits, so that files do not depend on the order in which sums were added.

    Examples
    --------
    >>> mean_and_sd([0.05, 0.06, 0.07])
    (0.06, 0.01)
    """
    mean = round(float(np.mean(values)), 12)
    return mean, round(float(np.std(values, ddof=1)), 12) if len(values) > 1 else None


def plus_minus(mean: float, sd: float | None) -> str:
    """Write a number over seeds, for a person to read.

    Examples
    --------
    >>> plus_minus(0.06, 0.01)
    '0.060 ± 0.010'
    """
    return f"{mean:.3f}" if sd is None else f"{mean:.3f} ± {sd:.3f}"


def or_none(value: float) -> float | None:
    """Give a number as JSON can hold it: it has no NaN, which is the mean of nothing.

    Examples
    --------
    >>> or_none(0.5), or_none(float("nan"))
    (0.5, None)
    """
    return None if math.isnan(value) else value
