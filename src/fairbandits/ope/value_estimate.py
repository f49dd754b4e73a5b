"""A number from a log that says how sure it is."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

# How far the skewness may bend an interval: its longer side becomes at most twice as long.
_BEND = 0.5


@dataclass(frozen=True, slots=True)
class ValueEstimate:
    """An estimate, and all that its interval is made of.

    Attributes
    ----------
    value : float
        The estimate.
    error : float
        Its standard error.
    skew : float
        The skewness of its distribution: large weights are rare, so an estimate by weights is more often a
        little too low than a little too high, and then by less.
    freedom : float
        The degrees of freedom of the standard error.
    confidence : float
        The probability with which the interval is to cover the truth.

    Examples
    --------
    >>> estimate = ValueEstimate(0.5, error=0.02, skew=0.0, freedom=1e6)
    >>> round(estimate.low, 4), round(estimate.high, 4)
    (0.4608, 0.5392)
    """

    value: float
    error: float
    skew: float
    freedom: float
    confidence: float = 0.95

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.error * unskewed(self._quantile(), self.skew)

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value - self.error * unskewed(-self._quantile(), self.skew)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval leaves no doubt about the sign."""
        return self.low > 0.0 or self.high < 0.0

    def minus(self, other: ValueEstimate) -> ValueEstimate:
        """Give the difference to an estimate from other rows of the log: the two are independent.

        Examples
        --------
        >>> one, two = ValueEstimate(0.6, 0.03, 0.0, 50), ValueEstimate(0.5, 0.04, 0.0, 80)
        >>> difference = one.minus(two)
        >>> round(difference.value, 6), round(difference.error, 6)
        (0.1, 0.05)
        """
        variance = self.error**2 + other.error**2
        third = self.skew * self.error**3 - other.skew * other.error**3
        # Welch and Satterthwaite: the degrees of freedom of a sum of variances.
        doubt = self.error**4 / self.freedom + other.error**4 / other.freedom
        return ValueEstimate(
            self.value - other.value,
            math.sqrt(variance),
            third / cube if (cube := variance**1.5) else 0.0,
            variance**2 / doubt if doubt else self.freedom + other.freedom,
            self.confidence,
        )

    def widened(self, variance: float) -> ValueEstimate:
        """Give the estimate with an independent source of error added, which has no skew."""
        error = math.sqrt(self.error**2 + variance)
        return replace(self, error=error, skew=self.skew * (self.error / error) ** 3 if error else 0.0)

    def to_dict(self) -> dict[str, float]:
        """Give what JSON holds of it."""
        return {"value": self.value, "low": self.low, "high": self.high, "error": self.error}

    def _quantile(self) -> float:
        # Imported where it is used: it is only needed when somebody asks for an interval.
        from scipy.special import stdtrit  # noqa: PLC0415

        return float(stdtrit(self.freedom, (1.0 + self.confidence) / 2.0))


def unskewed(quantile: float, skew: float) -> float:
    """Give the quantile of a studentised estimate whose distribution is skewed.

    Hall (*On the removal of skewness by transformation*, JRSS B 1992) finds that, where the estimate has the
    skewness s, `T + s (2 T^2 + 1) / 6 + s^2 T^3 / 27` is normal to a higher order than T itself. This is that
    cubic solved for T, to second order in s: monotone and, unlike the root itself, not wild far out. Skewness
    beyond a bound is not corrected: there are too few rows then for any interval.

    Examples
    --------
    >>> round(unskewed(1.96, 0.0), 3), round(unskewed(1.96, 0.3), 3), round(unskewed(-1.96, 0.3), 3)
    (1.96, 1.661, -2.549)
    """
    w = quantile - skew / 6.0
    z = min(max(skew * w / 3.0, -_BEND), _BEND)
    return w * (1.0 - z + 5.0 / 3.0 * z * z)
