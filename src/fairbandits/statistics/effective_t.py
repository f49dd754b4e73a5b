"""Student's t with the degrees of freedom of the largest contributions."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class StandardError(NamedTuple):
    """The standard error of an estimate.

    Attributes
    ----------
    value : float
        The standard error.
    effective_units : float
        The effective number of units that determine the standard error, `(sum x^2)^2 / sum x^4` of their
        influences. With many units of equal influence it is large. If a few units dominate, it is about their
        number, and Student's t distribution becomes wide.
    """

    value: float
    effective_units: float

    @classmethod
    def of_influences(cls, influence: Floats) -> StandardError:
        """Return the standard error of an estimate from the influence of each independent unit.

        Examples
        --------
        >>> StandardError.of_influences(np.array([0.1, -0.1, 0.1, -0.1]))
        StandardError(value=0.2, effective_units=4.0)
        """
        squares = influence**2
        fourth = float(squares @ squares)
        return cls(math.sqrt(float(squares.sum())), float(squares.sum()) ** 2 / fourth if fourth else 0.0)

    def half_width(self, error: float) -> float:
        """Return the half-width of the interval with this error probability."""
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

        degrees = max(self.effective_units - 1.0, 1.0)
        return self.value * float(stdtrit(degrees, 1.0 - error / 2.0)) if self.value else 0.0

    def p_value(self, estimate: float) -> float:
        """Return the probability of an estimate at least as far from zero if the true value is zero."""
        from scipy.special import stdtr  # noqa: PLC0415 - slow to import

        degrees = max(self.effective_units - 1.0, 1.0)
        return 2.0 * float(stdtr(degrees, -abs(estimate) / self.value)) if self.value else float(estimate == 0.0)


def hull_with_t(
    interval: tuple[float, float, float], terms: Floats, rows: Floats, error: float, bounds: tuple[float, float]
) -> tuple[float, float, float]:
    """Return an interval, widened to include that of Student's t where the estimate rests on few units.

    Parameters
    ----------
    interval : tuple of three floats
        The estimate and its bounds.
    terms, rows : arrays of shape (units,)
        The sum of the estimated variable over the rows of each unit, and the number of these rows.
    error : float
        The error probability.
    bounds : tuple of two floats
        The lowest and the highest possible value.

    Examples
    --------
    >>> terms = np.tile([0.4, 0.6], 50)
    >>> value, low, high = hull_with_t((0.5, 0.49, 0.51), terms, np.ones(100), 0.05, (0.0, 1.0))
    >>> value, round(low, 2), round(high, 2)
    (0.5, 0.48, 0.52)
    """
    value, low, high = interval
    total = float(rows.sum())
    mean = float(terms.sum()) / total
    half = StandardError.of_influences((terms - mean * rows) / total).half_width(error)
    return value, max(min(low, mean - half), bounds[0]), min(max(high, mean + half), bounds[1])
