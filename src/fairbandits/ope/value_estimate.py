"""Estimates of the value of a policy, with skewness-corrected confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# This bounds the correction for skewness: the longer side of an interval becomes at most twice as long.
_MAX_CORRECTION = 0.5


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """An estimate and the moments that determine its confidence interval.

    Attributes
    ----------
    value : float
        The estimate.
    standard_error : float
        Its standard error.
    skewness : float
        The skewness of its distribution. Large weights are rare, so a weighted estimate is more often slightly too
        low than too high.
    degrees_of_freedom : float
        The degrees of freedom of the standard error.
    confidence : float
        The confidence level of the interval.

    Examples
    --------
    >>> estimate = ValueEstimate(0.5, standard_error=0.02, skewness=0.0, degrees_of_freedom=1e6)
    >>> round(estimate.low, 4), round(estimate.high, 4)
    (0.4608, 0.5392)
    """

    value: float
    standard_error: float
    skewness: float
    degrees_of_freedom: float
    confidence: float = 0.95

    @property
    def low(self) -> float:
        """The lower end of the confidence interval."""
        return self.value - self.standard_error * skewed_quantile(self._t_quantile(), self.skewness)

    @property
    def high(self) -> float:
        """The upper end of the confidence interval."""
        return self.value - self.standard_error * skewed_quantile(-self._t_quantile(), self.skewness)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval excludes zero."""
        return self.low > 0.0 or self.high < 0.0

    def minus(self, other: ValueEstimate) -> ValueEstimate:
        """Return the difference from an independent estimate, such as one from other rows.

        Examples
        --------
        >>> one, two = ValueEstimate(0.6, 0.03, 0.0, 50), ValueEstimate(0.5, 0.04, 0.0, 80)
        >>> difference = one.minus(two)
        >>> round(difference.value, 6), round(difference.standard_error, 6)
        (0.1, 0.05)
        """
        variance = self.standard_error**2 + other.standard_error**2
        third = self.skewness * self.standard_error**3 - other.skewness * other.standard_error**3
        # Welch-Satterthwaite
        denominator = (
            self.standard_error**4 / self.degrees_of_freedom + other.standard_error**4 / other.degrees_of_freedom
        )
        return ValueEstimate(
            self.value - other.value,
            math.sqrt(variance),
            third / cube if (cube := variance**1.5) else 0.0,
            variance**2 / denominator if denominator else self.degrees_of_freedom + other.degrees_of_freedom,
            self.confidence,
        )

    def negated(self) -> ValueEstimate:
        """Return the estimate with its sign reversed."""
        return replace(self, value=-self.value, skewness=-self.skewness)

    def with_added_variance(self, variance: float) -> ValueEstimate:
        """Return the estimate with an independent, symmetric source of error added."""
        standard_error = math.sqrt(self.standard_error**2 + variance)
        skewness = self.skewness * (self.standard_error / standard_error) ** 3 if standard_error else 0.0
        return replace(self, standard_error=standard_error, skewness=skewness)

    def rescaled(self, factor: float, offset: float = 0.0) -> ValueEstimate:
        """Return the estimate in other units: `offset + factor * value`."""
        return replace(self, value=offset + factor * self.value, standard_error=factor * self.standard_error)

    def to_dict(self) -> dict[str, float]:
        """Return the estimate as JSON values."""
        return {"value": self.value, "low": self.low, "high": self.high, "standard_error": self.standard_error}

    def _t_quantile(self) -> float:
        # Imported here because it is slow to import.
        from scipy.special import stdtrit  # noqa: PLC0415

        return float(stdtrit(self.degrees_of_freedom, (1.0 + self.confidence) / 2.0))


def skewed_quantile(quantile: float, skewness: float) -> float:
    """Return the quantile of a studentised estimate with a skewed distribution.

    Hall (*On the removal of skewness by transformation*, JRSS B 1992) shows that for an estimate with skewness s,
    `T + s (2 T^2 + 1) / 6 + s^2 T^3 / 27` is normal to a higher order than T itself. This function solves the
    cubic for T to second order in s; the solution is monotone and, unlike the root, stable in the tails.
    Skewness beyond a bound is not corrected, because no interval is reliable with so few rows.

    Examples
    --------
    >>> round(skewed_quantile(1.96, 0.0), 3), round(skewed_quantile(1.96, 0.3), 3)
    (1.96, 1.661)
    >>> round(skewed_quantile(-1.96, 0.3), 3)
    -2.549
    """
    w = quantile - skewness / 6.0
    z = min(max(skewness * w / 3.0, -_MAX_CORRECTION), _MAX_CORRECTION)
    return w * (1.0 - z + 5.0 / 3.0 * z * z)
