"""Confidence intervals of means over independent seeds: Student's t."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of the mean, or None for fewer than two values.

    Examples
    --------
    >>> round(standard_error([0.05, 0.06, 0.07]), 6)
    0.005774
    """
    return None if len(values) < 2 else float(np.std(values, ddof=1)) / len(values) ** 0.5


def t_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return Student's t interval `mean +- t se`, or None for fewer than two values.

    Examples
    --------
    >>> [round(bound, 4) for bound in t_interval([0.05, 0.06, 0.07])]
    [0.0352, 0.0848]
    """
    from scipy.stats import t  # noqa: PLC0415 - slow to import

    error = standard_error(values)
    if error is None:
        return None
    mean, width = float(np.mean(values)), float(t.ppf((1 + confidence) / 2, len(values) - 1)) * error
    return mean - width, mean + width
