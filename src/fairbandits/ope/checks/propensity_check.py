"""A test of whether the propensities of a log fit the chosen arms, with a controlled false-alarm rate.

If an arm is on offer in n rows and its propensities are correct, the sum of 1 / propensity over the rows in which
it was chosen is n in expectation, whatever the logging policy does. Arms may come and go, so an arm is tested on
the rows between its first and its last appearance. These two appearances themselves are left out, because they
were selected for being the first and the last.

The sum is compared with the Poisson distribution that has the same effective number of rows. The arms are tested
one by one and all together, at one joint level. Where propensities vary widely, the sum tends to be too small,
because most logs lack some rows of very small propensity. The largest observed weight indicates how much may be
missing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.jit import kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: The probability that correct propensities are called into question.
LEVEL = 0.015
# Arms that are expected to have fewer effective rows than this are only tested together.
_MIN_ROWS = 25.0
# Smaller deviations, such as those due to rounding, do no harm, however significant they are.
_MATERIAL = 0.03
# The number of rows of the largest weight that may be missing by chance.
_MISSING_ROWS = 10.0
# The sums of an arm: its rows, their weights 1 / propensity, the squared weights, and the rows in which it is on
# offer.
_COUNT, _WEIGHT, _SQUARE, _EXPECTED = range(4)


@dataclass(frozen=True)
class PropensityMismatch:
    """An arm, or all arms together, whose propensities do not fit the log.

    Attributes
    ----------
    arm : int or None
        The number of the arm; None for all arms together.
    share : float
        The share of the rows with the arm on offer in which it was chosen.
    expected : float
        The share that its propensities imply.
    """

    arm: int | None
    share: float
    expected: float


class PropensityCheck:
    """The sums of all arms.

    Parameters
    ----------
    n_arms : int
        The number of arms.
    """

    def __init__(self, n_arms: int) -> None:
        self._sums = np.zeros((n_arms, 3))
        # The rows of the first and the last appearance, and the weights in these rows.
        self._rows = np.full((n_arms, 2), -1, np.int64)
        self._ends = np.zeros((n_arms, 2))
        self._top = np.zeros(n_arms)
        self._expected: Floats | None = None

    def add(self, arm: Ints, propensity: Floats, numbers: Ints) -> None:
        """Add rows, in the order of the log."""
        _add_rows(arm, 1.0 / propensity, numbers, self._sums, self._rows, self._ends, self._top)

    def merge(self, later: PropensityCheck) -> None:
        """Add the sums of a later part of the log."""
        self._sums += later._sums
        self._top = np.maximum(self._top, later._top)
        if later._expected is not None:
            self._expected = later._expected if self._expected is None else self._expected + later._expected
        seen = later._rows[:, 0] >= 0
        is_new = seen & (self._rows[:, 0] < 0)
        self._rows[is_new, 0], self._ends[is_new, 0] = later._rows[is_new, 0], later._ends[is_new, 0]
        self._rows[seen, 1], self._ends[seen, 1] = later._rows[seen, 1], later._ends[seen, 1]

    def add_all_arms(self, arm: Ints, propensities: Floats) -> None:
        """Add rows with the propensities of all arms, which determine how often each arm is expected."""
        if self._expected is None:
            self._expected = np.zeros(len(self._sums))
        self._expected += propensities.sum(axis=0)
        self._sums[:, _COUNT] += np.bincount(arm, minlength=len(self._sums))

    def mismatch(self) -> PropensityMismatch | None:
        """Return the arm that contradicts its propensities most clearly, or None if none does."""
        table, top, numbers = self._between() if self._expected is None else self._counted(self._expected)
        # For the total of all arms, the largest weight of any arm is used.
        tested = np.vstack([table, table.sum(axis=0)])
        count, weight, square, expected = tested.T
        p_values = contradiction(count, weight, square, expected, np.append(top, top.max(initial=0.0)))
        worst = int(np.nanargmin(np.append(p_values, 1.0)))
        if worst == len(p_values) or p_values[worst] * np.isfinite(p_values).sum() > LEVEL:
            return None
        share = count[worst] / expected[worst]
        arm = None if worst == len(table) else numbers[worst]
        return PropensityMismatch(arm, float(share), float(share * expected[worst] / weight[worst]))

    def _between(self) -> tuple[Floats, Floats, list[int]]:
        """Return the sums of each arm between its two appearances, its largest weight, and its number."""
        # An arm with two rows is included: given its first and its last appearance, it has no rows in between by
        # chance.
        inner = self._sums[:, _COUNT] >= 2
        table = np.zeros((int(inner.sum()), 4))
        table[:, :_EXPECTED] = self._sums[inner]
        table[:, _COUNT] -= 2.0
        table[:, _WEIGHT] -= self._ends[inner].sum(axis=1)
        table[:, _SQUARE] -= (self._ends[inner] ** 2).sum(axis=1)
        table[:, _EXPECTED] = self._rows[inner, 1] - self._rows[inner, 0] - 1
        return table, self._top[inner], np.flatnonzero(inner).tolist()

    def _counted(self, expected: Floats) -> tuple[Floats, Floats, list[int]]:
        """Return the sums of each arm, which are its number of rows, and the expected number."""
        count = self._sums[:, _COUNT]
        return np.column_stack([count, count, count, expected]), np.zeros(len(count)), list(range(len(count)))


def contradiction(count: Floats, weight: Floats, square: Floats, expected: Floats, top: Floats) -> Floats:
    """Return p-values of sums of weights against their expectations.

    Parameters
    ----------
    count, weight, square : arrays
        The number of rows, the sum of their weights, and the sum of the squared weights.
    expected : array
        The expected sum.
    top : array
        The largest weight.

    Returns
    -------
    array
        NaN where there are too few rows for a test, and 1 where the deviation does not matter.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        effective = expected * weight / square
        deviation = weight / expected - 1.0
        # The more the weights vary, the more of them exceed the largest observed weight.
        missing = _MISSING_ROWS * count * square / weight**2 * top / weight
        p_values = _poisson_p_values(weight, square, expected)
    is_material = (deviation > _MATERIAL) | (deviation < -_MATERIAL - missing)
    return np.where(effective >= _MIN_ROWS, np.where(is_material, p_values, 1.0), np.nan)


def _poisson_p_values(weight: Floats, square: Floats, expected: Floats) -> Floats:
    from scipy.special import gammainc, gammaincc  # noqa: PLC0415 - slow to import

    scale = square / weight
    observed, mean = weight / scale, expected / scale
    above = gammainc(np.maximum(observed, 1e-9), mean)
    below = gammaincc(observed + 1.0, mean)
    p_values: Floats = np.minimum(2.0 * np.minimum(above, below), 1.0)
    return p_values


@kernel()
def _add_rows(
    arm: Ints, weight: Floats, numbers: Ints, sums: Floats, rows: Ints, ends: Floats, top: Floats
) -> None:
    for i in range(len(arm)):
        a = arm[i]
        sums[a, 0] += 1.0
        sums[a, 1] += weight[i]
        sums[a, 2] += weight[i] * weight[i]
        top[a] = max(top[a], weight[i])
        if rows[a, 0] < 0:
            rows[a, 0], ends[a, 0] = numbers[i], weight[i]
        rows[a, 1], ends[a, 1] = numbers[i], weight[i]
