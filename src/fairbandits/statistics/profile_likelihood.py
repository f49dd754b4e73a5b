"""The profile of an empirical likelihood, by Newton's method on its dual (Owen, *Empirical Likelihood*, 2001)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel

Floats = NDArray[np.float64]

# The weight of rows that were not observed: enough for them to be possible, but too little to affect the estimate.
_UNOBSERVED = 1e-3
# Below this, the likelihood of such a row is considered negative.
_BARRIER = 1e-6
_MAX_STEPS, _TOLERANCE, _SHORTEST = 60, 1e-7, 1e-9
# The relative precision of a bound's distance from the estimate, and the absolute precision of a bound.
_PRECISION, _RESOLUTION = 1e-3, 1e-9
# A value at which the likelihood has dropped by this multiple of the allowed drop certainly lies outside.
_FAR = 9.0


class ProfileLikelihood:
    """The empirical likelihood of a mean, maximised over all distributions that meet the moment conditions.

    Parameters
    ----------
    rows, values : arrays of shape (units,)
        The number of rows, and the sum of the variable whose mean per row is estimated.
    moments : array of shape (units, any)
        Variables whose expectation is zero.
    unobserved : sequence of tuples
        The value and the first moments of rows that were not observed; their other moments are zero.
    bounds : tuple of two floats
        The lowest and the highest possible mean.

    Attributes
    ----------
    value : float
        The estimate of the mean.
    """

    def __init__(
        self,
        rows: Floats,
        values: Floats,
        moments: Floats,
        unobserved: Sequence[tuple[float, ...]],
        bounds: tuple[float, float],
    ) -> None:
        n, extra = rows.size, len(unobserved)
        self._rows = np.concatenate([rows, np.ones(extra)])
        self._values = np.concatenate([values, [value for value, *_ in unobserved]])
        self._count = np.concatenate([np.ones(n), np.full(extra, _UNOBSERVED)])
        self._edge = np.concatenate([np.full(n, 1.0 / n), np.full(extra, _BARRIER)])
        scale = np.sqrt((moments**2).mean(axis=0))
        further = np.zeros((extra, moments.shape[1]))
        further[:, : len(unobserved[0]) - 1] = [first for _, *first in unobserved]
        columns = np.vstack([moments, further])
        # A moment that is always zero is uninformative. The others are scaled, so that Newton steps behave well.
        self._columns = columns[:, scale > 0.0] / scale[scale > 0.0]
        self._fitted, self._multiplier = self._maximum(self._columns, np.zeros(self._columns.shape[1]), np.inf)
        z = 1.0 + self._columns @ self._multiplier
        shares = self._count * np.where(z >= self._edge, 1.0 / np.maximum(z, self._edge), 2.0 / self._edge)
        self.value = float(np.clip(shares @ self._values / (shares @ self._rows), *bounds))

    def bound(self, end: float, drop: float) -> float:
        """Return the value between the estimate and an end at which the log-likelihood has dropped by `drop`.

        The square root of the drop is nearly linear in the value, so the secant method needs only a few steps.
        Where it is not linear, because the likelihood is steep near the end, bisection helps.
        """
        # The target is raised slightly, so that the result lies slightly outside the interval rather than inside.
        goal = math.sqrt(drop) * (1.0 + _PRECISION)
        inside, outside = (self.value, 0.0), (end, math.inf)
        start = np.concatenate([[0.0], self._multiplier])
        trial = self.value + math.copysign(self._radius(drop), end - self.value)
        while True:
            trial = trial if abs(trial - self.value) < abs(end - self.value) else end
            root, multiplier = self._drop_root(trial, start, drop)
            if abs(root / goal - 1.0) < _PRECISION or (trial == end and root <= goal):
                return trial
            if root < goal:
                inside, start = (trial, root), multiplier
            else:
                outside = (trial, root)
            if abs(outside[0] - inside[0]) < _RESOLUTION:
                return outside[0]
            further = trial + (trial - self.value) * min(1.1 * goal / max(root, 1e-9) - 1.0, 1.0)
            trial = _between(inside, outside, goal) if math.isfinite(outside[1]) else further

    def _radius(self, drop: float) -> float:
        """Return the distance to the bound of a normal estimate, which is a multiple of its standard error."""
        residual = self._values - self.value * self._rows
        residual = residual - self._columns @ np.linalg.lstsq(self._columns, residual, rcond=None)[0]
        total = float(self._count @ self._rows)
        return max(math.sqrt(2.0 * drop * float(self._count @ residual**2)), drop) / total

    def _drop_root(self, value: float, start: Floats, drop: float) -> tuple[float, Floats]:
        """Return the square root of the drop of the log-likelihood at a value, and the multipliers."""
        moments = np.column_stack([self._values - value * self._rows, self._columns])
        found, multiplier = self._maximum(moments, start, self._fitted + _FAR * drop)
        return math.sqrt(max(found - self._fitted, 0.0)), multiplier

    def _maximum(self, moments: Floats, start: Floats, enough: float) -> tuple[float, Floats]:
        """Return the maximum of the sum of `log(1 + moments . multiplier)` over multipliers, and its location.

        The search ends early if the sum is large enough.
        """
        multiplier = start
        found, gradient, hessian = _derivatives(moments, self._count, self._edge, multiplier)
        for _ in range(_MAX_STEPS if multiplier.size else 0):
            size = float(np.trace(hessian))
            if not size:  # if all moments are zero, any multipliers will do
                break
            step = np.linalg.solve(hessian + 1e-12 * size * np.eye(multiplier.size), gradient)
            decrement = float(gradient @ step)
            if decrement < _TOLERANCE or found > enough:
                break
            length = 1.0
            while True:
                trial = multiplier + length * step
                new = _derivatives(moments, self._count, self._edge, trial)
                if new[0] >= found + 1e-4 * length * decrement or length < _SHORTEST:
                    break
                length /= 2.0
            multiplier, (found, gradient, hessian) = trial, new
        return found, multiplier


def _between(inside: tuple[float, float], outside: tuple[float, float], goal: float) -> float:
    """Return a value between two others: that of the secant method, unless it is close to an end."""
    share = (goal - inside[1]) / (outside[1] - inside[1])
    # If the likelihood is steep, all secants fall on one side.
    share = share if 0.1 < share < 0.9 or outside[1] < 1.5 * goal else 0.5
    return inside[0] + share * (outside[0] - inside[0])


@kernel()
def _derivatives(moments: Floats, count: Floats, edge: Floats, multiplier: Floats) -> tuple[float, Floats, Floats]:
    """Return the sum of logarithms, its gradient, and minus its Hessian.

    Below an edge, the logarithm is continued as a parabola (Owen), so that it is defined everywhere and concave.
    """
    n, k = moments.shape
    total, gradient, hessian = 0.0, np.zeros(k), np.zeros((k, k))
    for i in range(n):
        z = 1.0
        for a in range(k):
            z += moments[i, a] * multiplier[a]
        if z >= edge[i]:
            value, first, second = np.log(z), 1.0 / z, 1.0 / (z * z)
        else:
            ratio = z / edge[i]
            value = np.log(edge[i]) - 1.5 + 2.0 * ratio - 0.5 * ratio * ratio
            first, second = (2.0 - ratio) / edge[i], 1.0 / (edge[i] * edge[i])
        total += count[i] * value
        for a in range(k):
            gradient[a] += count[i] * first * moments[i, a]
            for b in range(a + 1):
                hessian[a, b] += count[i] * second * moments[i, a] * moments[i, b]
    for a in range(k):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
    return total, gradient, hessian
