"""A test of whether the value of a policy differs between the earlier and the later half of a log."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairbandits.statistics.effective_t import StandardError

Floats = NDArray[np.float64]

#: The probability that drift is reported for a stationary log.
LEVEL = 0.015
# With fewer effective units than this, no test is made.
_MIN_UNITS = 20.0

#: The variables of a unit: the number of rows and the doubly robust terms, over all of its rows and over those in
#: the later half.
COLUMNS = ROWS, TERMS, LATER_ROWS, LATER_TERMS = range(4)


@dataclass(frozen=True)
class Drift:
    """A change in the value of a policy.

    Attributes
    ----------
    earlier, later : float
        The value in the earlier and in the later half of the log.
    p_value : float
        The probability of a difference at least this large without drift.
    """

    earlier: float
    later: float
    p_value: float


def find_drift(table: Floats) -> Drift | None:
    """Compare the halves of a log, given the sums of independent units; return None if there is too little data.

    The variance of the difference is cluster-robust, and the degrees of freedom are those of its largest
    contributions, so that a few large weights are not mistaken for drift.
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
