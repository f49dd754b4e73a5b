"""Whether the value of a policy differs between the earlier and the later half of a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.effective_t import StandardError

Floats = NDArray[np.float64]

#: The probability that a stationary log is taken for a drifting one.
LEVEL = 0.015
# With fewer effective units there is no test.
_MIN_UNITS = 20.0

#: The variables of a unit: rows and doubly robust terms, of all its rows and of those in the later half.
COLUMNS = ROWS, TERMS, LATER_ROWS, LATER_TERMS = range(4)


@dataclass(frozen=True)
class Drift:
    """A change of the value of a policy.

    Attributes
    ----------
    earlier, later : float
        The value in the earlier and in the later half of the log.
    p_value : float
        The probability of such a difference without drift.
    """

    earlier: float
    later: float
    p_value: float


def find_drift(table: Floats) -> Drift | None:
    """Compare the halves of a log, given the sums of independent units; None if there is too little to compare.

    The variance of the difference is cluster-robust, and the degrees of freedom are those of its largest
    contributions, so that a few large weights do not make a drift.
    """
    if not len(table):
        return None
    later_rows, later_terms = table[:, LATER_ROWS], table[:, LATER_TERMS]
    earlier_rows, earlier_terms = table[:, ROWS] - later_rows, table[:, TERMS] - later_terms
    if not earlier_rows.any() or not later_rows.any():
        return None
    earlier, later = earlier_terms.sum() / earlier_rows.sum(), later_terms.sum() / later_rows.sum()
    influence = (later_terms - later * later_rows) / later_rows.sum()
    influence -= (earlier_terms - earlier * earlier_rows) / earlier_rows.sum()
    error = StandardError.of_influences(influence)
    if error.effective_units < _MIN_UNITS:
        return None
    return Drift(float(earlier), float(later), error.p_value(float(later - earlier)))
