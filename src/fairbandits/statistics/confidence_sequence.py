"""A confidence sequence for means: anytime-valid confidence intervals.

A fixed-sample 95% confidence interval covers the true value with probability 95% at a single look. Anyone who
watches a stream, and acts the first time an interval excludes zero, will sooner or later find "unfairness" in fair
data. A confidence sequence is just wide enough that the probability of an error at any look is 5%.

The sequence used here is the empirical Bernstein sequence with the gamma-exponential mixture (Howard, Ramdas,
McAuliffe, Sekhon: Time-uniform, nonparametric, nonasymptotic confidence sequences, Annals of Statistics 2021,
Theorem 4 and Proposition 9). It assumes only that rewards lie in a known range. They need not be independent or
identically distributed; those of a learning policy never are. Its estimand is the average, over the rounds so
far, of the conditional expectation of each reward.

Its variance process is the sum of `(x_i - prediction_i)^2` with the mean of the earlier rewards as the prediction,
so it depends on the order of the rewards. Here it is bounded from above using only the count and the sum of
squared deviations, so that records can be merged and the interval remains valid: since
`m2_i - m2_(i-1) = (1 - 1/i) (x_i - mean_(i-1))^2`, the sum is at most `1/4 + m2 + min(m2, ln n)` for rewards in
[0, 1].
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# The variance (in units of the squared range) at which the sequence is tightest: that of about 700 rewards with
# the spread in the paper's experiments. Elsewhere the sequence is slightly wider, but still valid.
_TIGHTEST_AT = 20.0
_MOST_STEPS = 50


def confidence_radius(count: Any, m2: Any, confidence: Any = 0.95, reward_range: float = 1.0) -> Floats:
    """Return the half-width of an anytime-valid confidence interval for a mean.

    Parameters
    ----------
    count : array-like
        Number of rewards.
    m2 : array-like
        Sum of their squared deviations from their mean.
    confidence : float, or array-like
        The simultaneous confidence level for all times; one for all means, or one for each mean.
    reward_range : float
        Highest minus lowest possible reward.

    Returns
    -------
    array
        The half-widths, which are at most the reward range, and equal to it where the count is 0.

    Examples
    --------
    >>> count = np.array([10, 1_000, 100_000])
    >>> confidence_radius(count, 0.03 * count).round(3)
    array([0.691, 0.022, 0.002])
    """
    levels = np.asarray(confidence)
    if not ((levels > 0.0) & (levels < 1.0)).all():
        raise ValueError(f"confidence must be a number above 0 and below 1, got {confidence!r}")
    n, squares = np.broadcast_arrays(np.asarray(count, float), np.asarray(m2, float) / reward_range**2)
    seen = n > 0
    n_seen, squares = n[seen], np.maximum(squares[seen], 0.0)
    variance = 0.25 + squares + np.minimum(squares, np.log(n_seen))
    radius = np.full(n.shape, float(reward_range))
    # Each tail gets half of the error probability.
    error = (1.0 - levels[seen]) / 2.0 if levels.ndim else (1.0 - confidence) / 2.0
    radius[seen] = np.minimum(bernstein_boundary(variance, error) / n_seen, 1.0) * reward_range
    return radius


def bernstein_boundary(variance: Floats, error: float | Floats) -> Floats:
    """Return the sum of deviations that a process of this variance exceeds with probability at most `error`.

    At this sum, the mixture supermartingale reaches 1 / error. The deviations must be at least -1, and the
    variance is the sum of the squared errors of predictions that are made before each value is known.

    The logarithm of the mixture is convex and increasing in the sum, so Newton's method descends to the root from
    the right, whatever its starting point.
    """
    rho, prior, log_error = _mixtures(error)
    s = 1.0 + np.sqrt(variance)
    for _ in range(_MOST_STEPS):
        value, slope = _log_mixture(s, variance, rho, prior)
        step = (value + log_error) / slope
        s = s - step
        if np.all(np.abs(step) <= 1e-12 * s):
            break
    return s


def _log_mixture(s: Floats, v: Floats, rho: Any, prior: Any) -> tuple[Floats, Floats]:
    """Return the logarithm of the gamma-exponential mixture for rewards in [0, 1] (c = 1), and its slope."""
    # Imported here, because it is needed only when an interval is requested.
    from scipy.special import gammainc, gammaln  # noqa: PLC0415

    shape, rate = v + rho, s + v + rho
    mass = gammainc(shape, rate)
    log_gamma, log_rate = gammaln(shape), np.log(rate)
    value = prior + log_gamma + np.log(mass) - shape * log_rate + s + v
    slope = 1.0 - shape / rate + np.exp((shape - 1.0) * log_rate - rate - log_gamma) / mass
    return value, slope


def _mixtures(error: float | Floats) -> tuple[Any, Any, Any]:
    """Return the result of `_mixture` for one error probability, or for each of several."""
    if not isinstance(error, np.ndarray):
        return _mixture(error)
    rho, prior, log_error = np.array([_mixture(each) for each in error.tolist()]).reshape(-1, 3).T
    return rho, prior, log_error


@lru_cache(maxsize=256)
def _mixture(error: float) -> tuple[float, float, float]:
    """Return the mixture's parameter, the logarithm of its normalising constant, and that of the error."""
    from scipy.special import gammainc, gammaln  # noqa: PLC0415

    tail = 2.0 * math.log(1.0 / error)
    rho = _TIGHTEST_AT / (tail + math.log1p(tail))
    constant = rho * math.log(rho) - gammaln(rho) - math.log(gammainc(rho, rho))
    return rho, float(constant), math.log(error)
