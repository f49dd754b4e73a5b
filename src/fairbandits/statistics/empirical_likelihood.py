"""Empirical likelihood intervals of a mean reward under importance weights.

The data are sums over independent units (rows, or users): the number of rows `n`, the sum of their weights `w`,
and the sum of weighted rewards `s`. The mean weight is 1, and rewards lie in [0, 1]. A value v is in the interval
if some distribution, under which the expectations of `s - v n`, of `w - n` and of further control variates are
zero, is not much less likely than the observed one (Owen, *Empirical Likelihood*, 2001). As in Karampatziakis,
Langford and Mineiro (*Empirical likelihood for contextual bandits*, NeurIPS 2020), the distribution may also have
mass on rows of the largest possible weight, rewarded or not, that were not observed. This keeps the interval
honest where rewards or large weights are rare.

The threshold for "not much less likely" is usually taken from the chi-squared distribution, which is accurate if
many rewards were observed. Here it is taken from the mid-P Poisson interval for the effective number of rewarded
units. Without any reward, the upper bound is close to that of the binomial distribution; with many rewards, the
two thresholds agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.poisson_bounds import lower_drop, upper_drop
from fairbandits.statistics.profile_likelihood import ProfileLikelihood

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WeightedUnits:
    """Sums over the rows of independent units.

    Attributes
    ----------
    rows, weights, rewards : arrays of shape (units,)
        The number of rows, the sum of their weights, and the sum of weight times reward; rewards lie in [0, 1].
    controls : array of shape (units, any)
        Sums of further variables whose expectation is zero.
    max_weight : float
        The largest possible weight of a row.
    """

    rows: Floats
    weights: Floats
    rewards: Floats
    controls: Floats
    max_weight: float

    @classmethod
    def logged(cls, rows: Floats, rewards: Floats) -> WeightedUnits:
        """Return the units of the logging policy, whose weights are 1, given the sums of logged rewards."""
        return cls(rows, rows, rewards, np.empty((len(rows), 0)), 1.0)

    @property
    def terms(self) -> Floats:
        """The doubly robust terms: weighted rewards minus controls."""
        return np.asarray(self.rewards - self.controls.sum(axis=1))


def kish(values: Floats) -> float:
    """Return the effective number of values, `(sum x)^2 / sum x^2`, or 0 if all are zero.

    Examples
    --------
    >>> kish(np.array([1.0, 1.0, 0.0])), round(kish(np.array([9.0, 1.0])), 2)
    (2.0, 1.22)
    """
    squares = float((values * values).sum())
    return float(values.sum()) ** 2 / squares if squares else 0.0


def likelihood_interval(units: WeightedUnits, error: float) -> tuple[float, float, float]:
    """Return the estimate of the mean reward, and its bounds with error probability `error`.

    Examples
    --------
    None of 100 rows was rewarded:

    >>> one = np.ones(100)
    >>> _, low, high = likelihood_interval(WeightedUnits(one, one, 0.0 * one, np.empty((100, 0)), 1.0), 0.05)
    >>> low, round(high, 3)
    (0.0, 0.03)
    """
    successes, failures = _effective_rewards(units)
    low = max(lower_drop(successes, error), upper_drop(failures, error))
    high = max(upper_drop(successes, error), lower_drop(failures, error))
    top = units.max_weight
    moments = np.column_stack([units.weights - units.rows, units.controls])
    # Rows that were not observed: those of the largest weight, rewarded and not, and those of weight zero.
    unobserved = [(top, top - 1.0), (0.0, top - 1.0), (0.0, -1.0)]
    profile = ProfileLikelihood(units.rows, units.rewards, moments, unobserved, (0.0, 1.0))
    return profile.value, profile.bound(0.0, low), profile.bound(1.0, high)


def difference_interval(first: WeightedUnits, second: WeightedUnits, error: float) -> tuple[float, float, float]:
    """Return the estimate of the mean reward under the first weights minus that under the second, and its bounds.

    Both are sums over the same rows, so their common part cancels out.
    """
    if np.allclose(first.weights, second.weights, rtol=1e-9) and np.allclose(first.rewards, second.rewards):
        return 0.0, 0.0, 0.0  # both are the same policy
    rewarded = min(_effective_rewards(first)[0], _effective_rewards(second)[0])
    drop = max(lower_drop(rewarded, error), upper_drop(rewarded, error))
    moments = np.column_stack(
        [first.weights - first.rows, second.weights - second.rows, first.controls, second.controls]
    )
    unobserved = [
        ((one - two) * reward, one - 1.0, two - 1.0)
        for one in _extreme_weights(first)
        for two in _extreme_weights(second)
        for reward in (1.0, 0.0)
    ]
    profile = ProfileLikelihood(first.rows, first.rewards - second.rewards, moments, unobserved, (-1.0, 1.0))
    return profile.value, profile.bound(-1.0, drop), profile.bound(1.0, drop)


def _extreme_weights(units: WeightedUnits) -> tuple[float, ...]:
    # Weights that cannot exceed 1 are all 1, which means that they are those of the logging policy.
    return (units.max_weight, 0.0) if units.max_weight > 1.0 else (1.0,)


def _effective_rewards(units: WeightedUnits) -> tuple[float, float]:
    """Return the effective number of rewarded units, and that of the units' weights that were not rewarded.

    These numbers are at most the corresponding shares of the effective number of units, because many rewards with
    small weights carry no information about the units with large weights.
    """
    total, size = float(units.weights.sum()), kish(units.weights)
    value = float(units.rewards.sum()) / total if total else 0.0
    successes, failures = kish(units.rewards), kish(units.weights - units.rewards)
    return min(successes, value * size), min(failures, (1.0 - value) * size)
